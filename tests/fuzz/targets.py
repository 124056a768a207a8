# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The targets of the fuzzer: each makes a random input and gives it to the collection's code."""

from __future__ import annotations

import ast
import json
import os
import platform
import random
import re
import socket
import struct
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import captured
import machines
import mutation
import pr_sm
import smckernel
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
from ansible_collections.zpower.sap_tuning.plugins.module_utils._aix import devices, startup, system, tunables
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import cpu_lists, drop_ins, netlink
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import kernel as running_kernel
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import (
    boot_sources,
    diag_204,
    facts,
    hardware,
    other_settings,
    services,
    smc_facts,
    smc_sockets,
    tools,
)
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.reading import ReadingHost
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import processes, wire
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.cpu import counters
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.host import command, figures, fio, openssl
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.locks import enq_admin, enq_statistics, enqt
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net import niping
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net.network import KINDS
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net.request import NETWORK_TOOLS
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap import instances, profile, realtime, sapcontrol
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings import cpu_polarization
from ansible_collections.zpower.sap_tuning.plugins.modules import platform_info, platform_settings_info
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports import nmon, sysstat
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports import rows as _import_rows
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports.cpu_window import CpuFileError
from kinds import faster
from records_factory import Plan, change_tunings, make_change, write_change

UNIT = Path(__file__).resolve().parents[1] / "unit"
FIXTURES = UNIT / "fixtures"
OWN = (InputError, HostError, MeasureError)
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
    """A new folder that the owners of the files in it can reach, because code works with their rights."""
    folder = Path(tempfile.mkdtemp(dir=parent))
    for one in (folder, parent, parent.parent):
        if one.stat().st_mode & 0o077 == 0:
            one.chmod(0o711)
    return folder


def strings(room: str) -> list[bytes]:
    """All longer texts in the unit tests of a room, as a corpus for its parsers."""
    found = set()
    for path in (UNIT / "plugins" / room).rglob("test_*.py"):
        texts = [node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]
        found |= {text.encode() for text in texts if isinstance(text, str) and len(text) > 7}
    if not found:
        raise ValueError(f"no unit test in {room}")
    return sorted(found)


def files(pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(FIXTURES.glob(pattern))]


def of_text(function: Callable[[str], object], corpus: Sequence[bytes]) -> Callable[..., object]:
    """A parser of text, decoded as a Host does."""

    def run(chance: random.Random, folder: Path) -> object:
        return function(mutation.mutated(chance.choice(corpus), chance, corpus).decode("utf-8", "replace"))

    return run


def of_bytes(function: Callable[[bytes], object], corpus: Sequence[bytes]) -> Callable[..., object]:
    def run(chance: random.Random, folder: Path) -> object:
        return function(mutation.mutated(chance.choice(corpus), chance, corpus)[:200000])

    return run


# parsers


def of_file(function: Callable[[Host], object], corpus: Sequence[bytes], path: str) -> Callable[..., object]:
    """A parser of one file of a host; what it yields is read to the end."""

    def run(chance: random.Random, folder: Path) -> object:
        target = folder / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(mutation.mutated(chance.choice(corpus), chance, corpus))
        found = function(Host(str(folder)))
        return list(found) if isinstance(found, Iterator) else found

    return run


def whole_profile(data: bytes) -> object:
    """All functions that the tuning calls with a profile's bytes."""
    one = profile.Profile(data)
    found = [(name, one.text(name), one.value(name), one.active(name)) for name in one.names()[:50]]
    for name, text, _value, _active in found:
        profile.value_of(text)
        wanted = one.wanted(name, "4711")
        if wanted is None:
            raise AssertionError(f"nothing is wanted of {name!r}")
    return found


def values_of(text: str) -> object:
    return sapcontrol.parse_values(text, ["rdisp/wp_no_dia", "rdisp/wp_no_btc"])


def instances_of(host: Host) -> object:
    found = instances.instances(host)
    return [instances.profile_folder(host, one.sid) for one in found]


def netlink_attributes(data: bytes) -> object:
    return {kind: netlink.text(value) for kind, value in netlink.attributes(data).items()}


def smc_stats(data: bytes) -> object:
    found = smc_facts.stats([data], [data])
    return smc_facts.sentences({"devices": smc_facts.devices("SMCR", [data]), "stats": found})


def wire_object(data: bytes) -> object:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(5)
        theirs.setblocking(False)
        theirs.send(data[:100000].replace(b"\n", b" ") + b"\n")
        theirs.shutdown(socket.SHUT_WR)
        return wire.Lines(ours).read_object()


def network_tool(kind: type[Any], name: str) -> Callable[[str], object]:
    """What reads the output of a network tool in a workload of this name."""
    workload = kind("/usr/bin/tool", "1", ("10.0.0.2", 1), KINDS[name], 1)
    return lambda text: workload.read([text])


def nmon_snapshots(text: str) -> object:
    return list(nmon.Reader(text.splitlines(keepends=True)).samples())


def sysstat_samples(text: str) -> object:
    try:
        return list(sysstat.Reader(text).samples())
    except OverflowError as error:  # as window_of() says it
        raise CpuFileError(str(error)) from error


NETLINK = [
    smckernel.smc_socket(),
    smckernel.roce_device(),
    smckernel.ism_device(),
    smckernel.counters(client_v1=1, errors=2),
    smckernel.fallback(0x03010000, 3, 4, 5, "server"),
    struct.pack("=IHHII", 20, 2, 0, 1, 0) + struct.pack("=i", -2),
    struct.pack("=IHHII", 16, 3, 0, 1, 0),
]
DIAG_204 = pr_sm.file_of([pr_sm.lpar("A", [pr_sm.core()] * 8)], physical=pr_sm.machine((pr_sm.IFL, 16, 2)))
SYSINFO = [
    text.encode()
    for name in captured.names()
    for path, text in captured.entries(name).items()
    if path == "/proc/sysinfo"
]
ROOMS = ("_aix", "_sap", "_tunings", "_machine", "_measure")
OF_AIX, SAP, TUNINGS, MACHINE, MEASURE = (strings(f"module_utils/{room}") for room in ROOMS)
IMPORTS = strings("plugin_utils/_imports")
AIX = [
    *OF_AIX,
    *TUNINGS,
    b"sb_max,1048576,1048576,1048576,4096,9223372036854775807,byte,D,\n",
    b'# x\nvmo:\n\nno:\n\tsb_max = "1"  # y\n\nno:\n\tsb_max = DEFAULT\n',
    b"en0: flags=1e084863,814c0<UP,RUNNING>\n\t tcp_sendspace 262144 rfc1323 1\n",
]
NETWORK, FIO, PROFILES = files("network/*.txt"), files("fio/*.txt"), files("profiles/*")
JSONS = [*files("sysstat/*.json"), *FIO, b"[]", b"{}"]
CPU_LISTS = [b"0-3,8", b"0", b"0-63,96-199", b"ff,ffffffff", b"00000003", b"0,2,4-8"]
OS_RELEASE = [b'NAME="SLES"\nVERSION="15-SP6"\nID="sles"\nPRETTY_NAME="SUSE Linux Enterprise Server 15 SP6"\n']
CPUPLUGD = [b"cpuplugd: Linux on System z CPU hotplug daemon version 2.35.0-build"]
COMMAND_LINE = [b"root=/dev/dasda1 topology=on smt=2"]
CHDEV = [b"chdev -l smcr0 -a enabled=1 -a 'port_range=3200 x'", *AIX]
OPENSSL = [b"OpenSSL 3.0.15 3 Sep 2024 (Library: OpenSSL 3.0.15)"]
Allowed = tuple[type[BaseException], ...]
NONE: Allowed = ()
NUMBERS: Allowed = (ValueError,)
SYSTEM: Allowed = (OSError,)
HOST: Allowed = (HostError,)
CPU_FILE: Allowed = (CpuFileError,)
ROWS: Allowed = (_import_rows.RowsError,)

# name: (parser, corpus, the exceptions that are messages for the user)
OF_TEXT: dict[str, tuple[Callable[[str], object], Sequence[bytes], Allowed]] = {
    "cpu_lists.parse_list": (cpu_lists.parse_list, CPU_LISTS, NUMBERS),
    "cpu_lists.parse_mask": (cpu_lists.parse_mask, CPU_LISTS, NUMBERS),
    "hardware.parse_sysinfo": (hardware.parse_sysinfo, SYSINFO, NONE),
    "kernel.parse_option": (lambda text: running_kernel.parse_option(text, "topology"), COMMAND_LINE, NONE),
    "kernel.parse_os_release": (running_kernel.parse_os_release, OS_RELEASE, NONE),
    "facts.kernel_parameters": (facts.kernel_parameters, COMMAND_LINE, NONE),
    "services.parse_cpuplugd_version": (services.parse_cpuplugd_version, CPUPLUGD, NONE),
    "_aix.system.parse_level": (system.parse_level, [b"7200-02-01-1731\n", b"7300-01\n", *AIX], NONE),
    "_aix.devices.parse_devices": (devices.parse_devices, AIX, NONE),
    "_aix.devices.parse_listing": (devices.parse_listing, AIX, NONE),
    "_aix.devices.parse_legal": (lambda text: devices.allows(devices.parse_legal(text), "12"), AIX, NONE),
    "_aix.devices.second_pair": (devices.second_pair, AIX, NONE),
    "_aix.startup.parse_chdev": (startup.parse_chdev, CHDEV, NONE),
    "_aix.startup.parse_tunables": (
        lambda text: startup.parse_tunables("no", text),
        [b"no -p -o 'a=1' -o b=2; vmo -o c=3", *AIX],
        NONE,
    ),
    "_aix.tunables.parse_row": (lambda text: tunables.parse_row(text, "sb_max"), AIX, HOST),
    "_aix.tunables.without_line": (lambda text: tunables.without_line(text, "no", "sb_max"), AIX, NONE),
    "_aix.tunables.parse_interfaces": (tunables.parse_interfaces, AIX, NONE),
    "_sap.sapcontrol.parse_answer": (lambda text: sapcontrol.parse_processes(sapcontrol.parse_answer(text)), SAP, OWN),
    "_sap.sapcontrol.parse_script_value": (sapcontrol.parse_script_value, SAP, NONE),
    "_sap.sapcontrol.parse_values": (values_of, [b"10\n12\n", *SAP], HOST),
    "_sap.sapcontrol.parse_check": (lambda text: sapcontrol.parse_check(1, text), SAP, NONE),
    "_sap.instances.parse_services": (instances.parse_services, SAP, NONE),
    "_sap.instances.parse_enqueue": (instances.parse_enqueue, PROFILES, NONE),
    "niping": (lambda text: niping.parse(text, 1000), files("niping/*.txt"), OWN),
    "niping version": (lambda text: re.search(niping.VERSION[1], text), files("niping/*.txt"), NONE),
    "enqt rates": (enqt.parse_rates, MEASURE, OWN),
    "enqt entries": (enqt.parse_entries, MEASURE, OWN),
    "enq_admin": (enq_admin.parse, MEASURE, OWN),
    "enq_admin info": (enq_admin.release_of, MEASURE, NONE),
    "enq_statistics": (enq_statistics.parse, MEASURE, OWN),
    "fio": (lambda text: fio.parse(text, False), FIO, OWN),
    "figure by pointer": (lambda text: figures.by_pointer(text, "/jobs/0/read/iops"), FIO, OWN),
    "figure by pattern": (lambda text: figures.by_pattern(text, r"^\+R:(?P<value>[^:]+)"), files("openssl/*.txt"), OWN),
    "environment": (command.variables, [b'{"A": "b"}', b"eyJBIjogImIifQ=="], OWN),
    "openssl": (lambda text: openssl.parse(text, "aes-128-gcm", 1024, 1), files("openssl/*.txt"), OWN),
    "openssl version": (lambda text: re.search(openssl.VERSION[1], text), OPENSSL, NONE),
    **{
        f"{name} {kind}": (network_tool(tool.Workload, kind), NETWORK, OWN)
        for name, tool in NETWORK_TOOLS.items()
        for kind in ("latency", "strWrite")
    },
    "counters cpu": (lambda text: counters.parse_cpu(text, 100), MEASURE, NONE),
    "counters retransmits": (counters.parse_retransmits, MEASURE, NONE),
    "counters rps": (counters.parse_received_rps, MEASURE, NONE),
    "counters process": (lambda text: counters.parse_process(text, 100), MEASURE, NONE),
    "mounts": (lambda text: fio.parse_mount(text, "8:1"), MEASURE, NONE),
    "ps etime": (processes.parse_etime, [b"1-02:03:04", b"03:04", b" 11:12:13 "], NONE),
    "nmon": (nmon_snapshots, files("nmon/*.nmon"), CPU_FILE),
    "sysstat": (sysstat_samples, JSONS, CPU_FILE),
    "rows of CSV": (_import_rows.from_csv, IMPORTS, ROWS),
    "rows of YAML": (_import_rows.from_yaml, [*IMPORTS, *JSONS[-2:]], ROWS),
}
OF_BYTES: dict[str, tuple[Callable[[bytes], object], Sequence[bytes], Allowed]] = {
    "diag_204.parse": (diag_204.parse, [pr_sm.HERCULES, DIAG_204], NUMBERS),
    "smc_sockets.parse": (smc_sockets.parse, NETLINK[:1], SYSTEM),
    "netlink.messages": (netlink.messages, NETLINK, SYSTEM),
    "netlink.attributes": (netlink_attributes, NETLINK, SYSTEM),
    "smc_facts.stats": (smc_stats, NETLINK, SYSTEM),
    "_sap.profile": (whole_profile, PROFILES, (InputError,)),
    "control protocol": (wire_object, [b'{"op": "start", "size": 1000}', b'{"ok": true}'], (*OWN, EOFError)),
}
# name: (reader of a host, corpus, the file)
OF_FILES: dict[str, tuple[Callable[[Host], object], Sequence[bytes], str]] = {
    "boot_sources.sysctls": (
        lambda host: boot_sources.sysctls(host, "/proc/sys/net/core/rps_default_mask"),
        TUNINGS,
        "/etc/sysctl.d/a.conf",
    ),
    "tools.sapconf_writes": (tools.sapconf_writes, SAP, "/etc/sysconfig/sapconf"),
    "other_settings.udev_rules": (
        lambda host: other_settings.udev_rules(host, "rps_cpus"),
        TUNINGS,
        "/etc/udev/rules.d/a.rules",
    ),
    "other_settings.tmpfiles": (other_settings.tmpfiles, TUNINGS, "/etc/tmpfiles.d/a.conf"),
    "other_settings.ini_files": (
        lambda host: other_settings.ini_files(host, "systemd/network", ".link"),
        TUNINGS,
        "/etc/systemd/network/a.link",
    ),
    "other_settings.boot_scripts": (
        lambda host: other_settings.boot_scripts(host, re.compile("rps_cpus")),
        MACHINE,
        "/etc/sysconfig/network/if-up.d/a",
    ),
    "drop_ins.assignments": (lambda host: drop_ins.assignments(host, "/etc/x.conf"), SAP, "/etc/x.conf"),
    "_sap.instances": (instances_of, SAP, "/usr/sap/sapservices"),
    "_sap.realtime.session_limit": (
        lambda host: realtime.session_limit(host, "prdadm"),
        SAP,
        "/etc/security/limits.conf",
    ),
    "_sap.realtime.unit_limit": (
        lambda host: realtime.unit_limit(host, "SAPPRD_00.service"),
        SAP,
        "/etc/systemd/system/SAPPRD_00.service",
    ),
}


# arguments


def specification(module: Any) -> dict[str, Any]:
    """The argument spec that a module gives to AnsibleModule."""
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
    """A tuning's module in check mode on a tree, with random arguments."""
    kept: list[machines.Machine] = []

    def run(chance: random.Random, folder: Path) -> object:
        if not kept:
            kept.append(machines.make(kind, open_folder(folder.parent)))
        given = mutation.arguments(specification(kind.module), chance.choice(kept[0].requests), chance)
        return answered(kept[0].call(given, check=True))

    return run


def answered(result: dict[str, Any]) -> dict[str, Any]:
    """A result must be JSON for Ansible."""
    json.dumps(result)
    return result


def validated(specification: dict[str, Any], given: dict[str, Any]) -> dict[str, Any] | None:
    """The options as a module gets them; None if ansible-core refuses them."""
    try:
        found = ArgumentSpecValidator(specification).validate(given)
    except OverflowError:
        return None  # ansible-core's own, of an infinite number
    return None if found.error_messages else found.validated_parameters


def measure_arguments(chance: random.Random, folder: Path) -> object:
    """The options of the workloads, from a playbook and as checked by a module."""
    tool = chance.choice([fio, openssl, command])
    if tool is command:
        figure = mutation.arguments(command.FIGURE, {"name": "rate", "pattern": "(?P<value>[0-9]+)"}, chance)
        usual = {"name": "x", "argv": ["true"], "figures": [figure]}
        options = validated(command.OPTIONS, mutation.arguments(command.OPTIONS, usual, chance))
        return options and command.check([options])
    options = validated(tool.OPTIONS, mutation.arguments(tool.OPTIONS, {"directory": "/tmp"}, chance))
    # sound options end with the error that the program is not there
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
    """platform_info, platform_settings_info and the tunings on a damaged tree of a real kernel."""
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
        return None  # a folder in the place of a file: such a tree cannot exist
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
    """verify and rollback with a damaged journal; modules may refuse it, but must not raise an exception."""
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
    """A report on a change whose files were damaged."""
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
    """measurement_import of a damaged file."""
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
    """cpu_import of a damaged file."""
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
# An action fails with AnsibleError.
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
