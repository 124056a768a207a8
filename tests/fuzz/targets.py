# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The targets of the fuzzer: each makes a random input and gives it to the collection's code."""

from __future__ import annotations

import json
import os
import platform
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import captured
import machines
import mutation
from actions import run_action
from ansible.errors import AnsibleError
from ansible.module_utils import basic
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.zpower.sap_tuning.plugins.action import (
    cpu_import,
    measurement_import,
    measurement_report,
    measurement_scaling,
    measurement_trend,
    record_tunings,
)
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.reading import ReadingHost
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.host import command, fio, openssl
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings import cpu_polarization
from ansible_collections.zpower.sap_tuning.plugins.modules import platform_info, platform_settings_info
from kinds import faster
from parsers import FIXTURES, OF_BYTES, OF_FILES, OF_TEXT, OWN, files
from records_factory import Plan, change_tunings, make_change, write_change

CHANGE = "rps-2026-11"


@dataclass(frozen=True)
class Target:
    """run(chance, folder): one input; allowed: the exceptions that are messages for the user."""

    name: str
    group: str
    count: int
    run: Callable[[random.Random, Path], object]
    allowed: tuple[type[BaseException], ...] = OWN


def open_folder(parent: Path) -> Path:
    """Return a new folder that the owners of the files in it can reach, because code works with their rights."""
    folder = Path(tempfile.mkdtemp(dir=parent))
    for one in (folder, parent, parent.parent):
        if one.stat().st_mode & 0o077 == 0:
            one.chmod(0o711)
    return folder


def of_text(function: Callable[[str], object], corpus: Sequence[bytes]) -> Callable[..., object]:
    """Return a target for a parser of text, decoded as a Host does."""

    def run(chance: random.Random, folder: Path) -> object:
        return function(mutation.mutated(chance.choice(corpus), chance, corpus).decode("utf-8", "replace"))

    return run


def of_bytes(function: Callable[[bytes], object], corpus: Sequence[bytes]) -> Callable[..., object]:
    def run(chance: random.Random, folder: Path) -> object:
        return function(mutation.mutated(chance.choice(corpus), chance, corpus)[:200000])

    return run


def of_file(function: Callable[[Host], object], corpus: Sequence[bytes], path: str) -> Callable[..., object]:
    """Return a target for a parser of one file of a host; generators are read to the end."""

    def run(chance: random.Random, folder: Path) -> object:
        target = folder / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(mutation.mutated(chance.choice(corpus), chance, corpus))
        found = function(Host(str(folder)))
        return list(found) if isinstance(found, Iterator) else found

    return run


# arguments


def specification(module: Any) -> dict[str, Any]:
    """Return the argument spec that a module passes to AnsibleModule."""
    found: dict[str, Any] = {}

    class Caught(BaseException):
        pass

    def catch(argument_spec: dict[str, Any], **_rules: Any) -> None:
        found.update(argument_spec)
        raise Caught

    kept, basic.AnsibleModule = basic.AnsibleModule, catch
    try:
        module.main()
    except Caught:
        pass
    finally:
        basic.AnsibleModule = kept
    return found


def tuning_arguments(kind: type[machines.Machine]) -> Callable[..., object]:
    """Return a target that calls a tuning's module in check mode on a tree, with random arguments."""
    kept: list[machines.Machine] = []

    def run(chance: random.Random, folder: Path) -> object:
        if not kept:
            kept.append(machines.make(kind, open_folder(folder.parent)))
        given = mutation.arguments(specification(kind.module), chance.choice(kept[0].requests), chance)
        return answered(kept[0].call(given, check=True))

    return run


def answered(result: dict[str, Any]) -> dict[str, Any]:
    """Return the result, which must be valid JSON for Ansible."""
    json.dumps(result)
    return result


def validated(specification: dict[str, Any], given: dict[str, Any]) -> dict[str, Any] | None:
    """Return the options as a module gets them; None if ansible-core refuses them."""
    try:
        found = ArgumentSpecValidator(specification).validate(given)
    except OverflowError:
        return None  # raised by ansible-core itself for an infinite number
    return None if found.error_messages else found.validated_parameters


def measure_arguments(chance: random.Random, folder: Path) -> object:
    """Check the options of the workloads, from a playbook and as validated by a module."""
    tool = chance.choice([fio, openssl, command])
    if tool is command:
        figure = mutation.arguments(command.FIGURE, {"name": "rate", "pattern": "(?P<value>[0-9]+)"}, chance)
        usual = {"name": "x", "argv": ["true"], "figures": [figure]}
        options = validated(command.OPTIONS, mutation.arguments(command.OPTIONS, usual, chance))
        return options and command.check([options])
    options = validated(tool.OPTIONS, mutation.arguments(tool.OPTIONS, {"directory": "/tmp"}, chance))
    # valid options end with the error that the program is missing
    return options and (tool.names(options, ""), tool.workloads(options, {"path": ""}, str(folder)))


def report_arguments(chance: random.Random, folder: Path) -> object:
    action = chance.choice(
        [measurement_report, measurement_trend, measurement_scaling, record_tunings, cpu_import, measurement_import]
    )
    usual = {"change": CHANGE, "src": str(FIXTURES / "nmon/linux_16.nmon"), "x": "connections", "changes": [CHANGE]}
    usual = {name: usual[name] for name in usual if name in action.ActionModule.ARGUMENTS}
    given = mutation.arguments(action.ActionModule.ARGUMENTS, usual, chance)
    return run_action(action, {**given, "results": str(folder / "results")}, check=True)


# trees


def captured_tree(chance: random.Random, folder: Path) -> object:
    """Run platform_info, platform_settings_info and the tunings on a damaged tree of a real kernel."""
    entries = captured.entries(chance.choice(captured.names()))
    corpus = [text.encode("utf-8", "surrogateescape") for text in entries.values() if isinstance(text, str)]
    for path in chance.sample(sorted(entries), chance.randint(1, 5)):
        kind = chance.randrange(10)
        if kind == 0:
            del entries[path]
        elif kind == 1:
            entries[path] = {
                "link": chance.choice(["nowhere", path, "../" * 30 + "proc/sysinfo", os.path.basename(path)])
            }
        elif isinstance(entries[path], str):
            text = mutation.mutated(entries[path].encode("utf-8", "surrogateescape"), chance, corpus)
            entries[path] = text.decode("utf-8", "surrogateescape")
    try:
        captured.grow(folder, entries)
    except OSError:
        return None  # a folder in place of a file: such a tree cannot exist
    host = Host(str(folder))
    for top in ("proc", "sys"):
        (folder / top).mkdir(exist_ok=True)
    platform.system = lambda: "Linux"
    answered(machines.call(platform_info, host, {"root": str(folder)}))
    kept = platform_settings_info.host_and_system
    platform_settings_info.host_and_system = lambda root: (ReadingHost(str(folder)), "Linux")
    try:
        answered(
            machines.call(platform_settings_info, host, {"threads_per_core": 2, "database_host": "db1"}, check=True)
        )
    finally:
        platform_settings_info.host_and_system = kept
    cpu_polarization.time = faster()
    for kind in (machines.RpsTree, machines.Topology, machines.Polarization, machines.SmcSysctls):
        more = {"wait_timeout": 1} if kind is machines.Polarization else {}
        answered(machines.call(kind.module, host, {**chance.choice(kind.requests), **more}, check=True))
    return None


# journals


def journal(kind: type[machines.Machine]) -> Callable[..., object]:
    """Return a target for verify and rollback with a damaged journal; modules may refuse it, but must not raise."""
    kept: list[Any] = []

    def run(chance: random.Random, folder: Path) -> object:
        if not kept:
            machine = machines.make(kind, open_folder(folder.parent))
            machine.call(machine.requests[0])
            texts = {path: path.read_bytes() for path in machine.journals().glob("*.json")}
            kept.append((machine, texts, machine.memory.read_bytes() if machine.memory.exists() else None))
        machine, texts, memory = kept[0]
        path, text = next(iter(texts.items()))
        path.parent.mkdir(parents=True, exist_ok=True)
        if chance.random() < 0.7:
            path.write_text(json.dumps(mutation.damaged(json.loads(text), chance)))
        else:
            path.write_bytes(mutation.mutated(text, chance, list(texts.values())))
        answered(machine.call(machine.requests[0], check=True))
        answered(machine.call({"state": "restored"}, check=True))
        answered(machine.call({"state": "restored", "force": chance.random() < 0.5}))
        # undo its changes
        machine.reset()
        if memory is not None:
            machine.memory.write_bytes(memory)
        machine.call(machine.requests[0])
        return None

    return run


# record folders and imports


def record_folder(chance: random.Random, folder: Path) -> object:
    """Report on a change whose files were damaged."""
    plan = Plan(change=CHANGE, rounds=2, runs=3, seed=chance.randrange(100))
    results = folder / "results"
    records = (record | {"histogram_us": "340:10,50,12 412:1"} for record in make_change(plan))
    write_change(results, records, change_tunings(plan))
    paths = sorted((results / CHANGE).glob("*/*.json"))
    for path in chance.sample(paths, chance.randint(1, 3)):
        data = path.read_bytes()
        if chance.random() < 0.7:
            path.write_text(json.dumps(mutation.damaged(json.loads(data), chance)))
        else:
            path.write_bytes(mutation.mutated(data, chance, [data]))
    if chance.random() < 0.2:
        (results / CHANGE / "experiment.json").write_bytes(mutation.mutated(b'{"schema": 1, "change": "x"}', chance))
    action, more = chance.choice(
        [
            (measurement_report, {"change": CHANGE}),
            (measurement_trend, {"changes": [CHANGE]}),
            (measurement_scaling, {"change": CHANGE, "x": "params.bytes"}),
        ]
    )
    form = chance.choice(action.ActionModule.ARGUMENTS["formats"]["choices"])
    return run_action(action, {"results": str(results), "formats": [form], **more})


def imported(chance: random.Random, folder: Path) -> object:
    """Run measurement_import on a damaged file."""
    table = (
        "phase,started,elapsed_s,units,client.utilization_pct,client.cpus_online,server.utilization_pct\n"
        "before,2026-11-09T22:00:00+01:00,9399,60000000,80,128,44\nafter,2026-11-10T22:00:00+01:00,9008,60000000,83,128,46\n"
    )
    rows = [
        dict(zip(table.splitlines()[0].split(","), line.split(","), strict=True)) for line in table.splitlines()[1:]
    ]
    texts = {"csv": table, "yaml": json.dumps(rows), "json": json.dumps({"defaults": {"host": "app1"}, "rows": rows})}
    name = chance.choice(sorted(texts))
    given: dict[str, Any] = {"change": CHANGE, "results": str(folder / "results")}
    if chance.random() < 0.5:
        source = folder / f"figures.{name}"
        source.write_bytes(mutation.mutated(texts[name].encode(), chance, [text.encode() for text in texts.values()]))
        given["src"] = str(source)
    else:
        given["rows"] = mutation.damaged(rows, chance)
    defaults = {
        "host": "app1",
        "peer": "db1",
        "workload": "settlement",
        "source": {"kind": "sap_job_log", "text": "log"},
    }
    given["defaults"] = defaults if chance.random() < 0.7 else mutation.damaged(defaults, chance)
    if chance.random() < 0.3:
        # the same rows were imported before, and the stored records are damaged
        usual = {"change": CHANGE, "results": str(folder / "results"), "rows": rows, "defaults": defaults}
        run_action(measurement_import, usual)
        path = chance.choice(sorted((folder / "results").glob("*/*/*.json")))
        path.write_text(json.dumps(mutation.damaged(json.loads(path.read_text()), chance)))
        given = {**usual, "replace": chance.random() < 0.5}
    return run_action(measurement_import, given)


def cpu_imported(chance: random.Random, folder: Path) -> object:
    """Run cpu_import on a damaged file."""
    corpus = [*files("nmon/*.nmon"), *files("sysstat/*.json")]
    source = folder / "cpu"
    source.write_bytes(mutation.mutated(chance.choice(corpus), chance, corpus))
    given: dict[str, Any] = {"src": str(source), "results": str(folder / "results")}
    if chance.random() < 0.5:
        given.update(change=CHANGE, utc_offset=chance.choice(["+01:00", "Z", "x"]))
    if chance.random() < 0.3:
        given.update(begin=chance.choice(["23:59:49", "2026-11-20 01:00:00", "x"]), cpus=chance.choice([1, 0.5, 1e300]))
    return run_action(cpu_import, given)


TREES = [kind for kind in machines.MACHINES if kind is not machines.RpsReal]
# Actions fail with AnsibleError.
ACTIONS = (AnsibleError,)
TARGETS: list[Target] = [
    *(Target(name, "parsers", 100, of_text(parse, corpus), ok) for name, (parse, corpus, ok) in OF_TEXT.items()),
    *(Target(name, "parsers", 100, of_bytes(parse, corpus), ok) for name, (parse, corpus, ok) in OF_BYTES.items()),
    *(Target(name, "parsers", 100, of_file(read, corpus, path)) for name, (read, corpus, path) in OF_FILES.items()),
    *(Target(f"arguments of {kind.name}", "arguments", 300, tuning_arguments(kind)) for kind in TREES),
    Target("options of the workloads", "arguments", 300, measure_arguments),
    Target("arguments of the actions", "arguments", 300, report_arguments, ACTIONS),
    Target("captured trees", "captured trees", 400, captured_tree),
    *(Target(f"journal of {kind.name}", "journals", 150, journal(kind)) for kind in TREES),
    Target("record folders", "record folders", 400, record_folder, ACTIONS),
    Target("measurement_import", "imports", 400, imported, ACTIONS),
    Target("cpu_import", "imports", 400, cpu_imported, ACTIONS),
]
