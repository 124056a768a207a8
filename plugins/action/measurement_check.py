# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check what a measurement needs before anything is changed; documented in plugins/modules/measurement_check.py."""

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ..module_utils._measure.errors import MeasureError
from ..module_utils._measure.locks import enq_request
from ..module_utils._measure.net import niping, niping_request, request
from ..module_utils._measure.round import entry_point
from ..module_utils._measure.round.tools import SETS
from ..module_utils._measure.workloads.options import check_options
from ..modules.measurement_check import DOCUMENTATION
from ..plugin_utils._actions.controller import ControllerAction, argument_spec, check_tags, of_role
from ..plugin_utils._actions.measuring import check_writable, encoded
from ..plugin_utils._pages.text import shorten
from ..plugin_utils._records import record_files
from ..plugin_utils._records.checks import check_change_name
from ..plugin_utils._sessions.continuing import declared
from ..plugin_utils._sessions.schedules import check_added, check_most
from ..plugin_utils._statistics.looks import PHASES

Options = dict[str, Any]
"""Those of the role measure, variables, or the result."""
WHAT = {
    "niping": "round trips",
    "network": "network workloads",
    "enqueue": "locks",
    "fio": "disks",
    "openssl": "cryptography",
    "command": "programs",
}
PEERS = {"niping": "peer", "network": "peer", "enqueue": "enqueue_peer", "command": "command_peer"}
"""The option that names the peer of a workload. It is not measured without one, except ``command``."""

RUN_SECONDS = {"enqueue": "enqueue_run_seconds", "command": "command_run_seconds"}
"""The option with the length of a run, if it is not ``run_seconds``."""

SERIES = {
    **{kind: [f"{kind}_{name}" for name in SETS[kind].LISTS] for kind in SETS if kind != "command"},
    **{"niping": ["bytes"], "enqueue": ["enqueue_loads"], "command": ["commands"]},
}
"""The lists; each combination of their values is one workload in a round."""

LIMITS = {
    "niping": niping_request.LIMITS,
    **{
        kind: {f"{kind}_{name}": limits for name, limits in found.LIMITS.items()}
        for kind, found in {**SETS, "enqueue": enq_request}.items()
        if kind != "command"
    },
}
"""The lowest and the highest value of numbers of each workload."""

OF_ROLE = of_role("measure")


class ActionModule(ControllerAction):
    ARGUMENTS = {**OF_ROLE, **argument_spec(DOCUMENTATION)}
    VARIABLES = {name: f"measure_{name}" for name in OF_ROLE}

    def act(self, options: Options, variables: Options) -> Options:
        host = str(variables["inventory_hostname"])
        known = (variables.get("groups") or {}).get("all") or ()
        check_tags(variables.get("ansible_run_tags") or ["all"])
        check_change(options, host)
        check_workloads(options)
        against = {
            kind: options[PEERS[kind]] for kind in options["workloads"] if kind in PEERS and options[PEERS[kind]]
        }
        for kind, peer in against.items():
            if peer not in {str(name) for name in known} or peer == host:
                wrong = f"measure_{PEERS[kind]} is {shorten(peer, 60)}"
                raise ValueError(f"{wrong}; it must be the inventory name of another host")
        found = chosen(options, against)
        return {
            "changed": False,
            "host": host,
            "peers": [*dict.fromkeys(against.values())],
            "against": against,
            **found,
            "measures": bool(found["workloads"]),
            **{name: options[name] for name in ("rounds", "runs", "throttle", "calibration")},
            "most": max(options["rounds"], options["max_rounds"] or 0),
            "minutes": options["max_minutes"],
            "seconds": seconds(options, dict.fromkeys(workload["name"] for workload in found["workloads"])),
            "at": time.time(),
        }


def seconds(options: Options, workloads: Iterable[str]) -> float:
    """About how long a round of this host takes: idle windows, warm-up and runs of its workloads and of the control."""
    runs, total = options["runs"] + options["warmup"], 0.0
    for kind in workloads:
        each = options[RUN_SECONDS.get(kind, "run_seconds")]
        count = math.prod(len(options[name]) for name in SERIES[kind])
        total += options["idle_seconds"] + runs * each * count
    return total + (runs * options["run_seconds"] if total and options["control"] else 0.0)


def chosen(options: Options, against: Mapping[str, str]) -> Options:
    """The workloads that this host measures, with their task files, and those whose server stays for all rounds.

    Servers that would share a fixed port start for one round each. Each load of the enqueue server is a call of its
    own. Ansible measures on all hosts at once only where they have the same entries, so their peers stand apart.
    """
    alone = bool(options["port"]) and len(against) > 1
    workloads = [
        {"name": name, "load": load, "what": WHAT[name], "tasks": "own_server" if alone and name in against else "call"}
        for name in options["workloads"]
        if name in against or name not in PEERS or name == "command"
        for load in (options["enqueue_loads"] if name == "enqueue" else [""])
    ]
    first = {workload["name"]: workload for workload in reversed(workloads)}
    return {"workloads": workloads, "servers": [] if alone else [first[name] for name in against]}


def check_change(options: Options, host: str) -> None:
    """ValueError if no records of this change can be stored for the host."""
    if not options["change"]:
        raise ValueError("zpower_change is empty: name the change, for example with -e zpower_change=rps-2026-11")
    check_change_name("zpower_change", options["change"])
    folder = record_files.change_folder(Path(options["results"]), options["change"]) / record_files.file_slug(host)
    check_writable(folder)
    if options["new"] and any(path.is_file() for path in folder.glob("*.json")):
        raise ValueError(f"{folder} holds records already: name another change, or move that folder away")
    done = options["first_round"] - 1
    if done > 0 and options["rounds"] > 0 and options["phase"] in PHASES and folder.is_dir():
        known = declared(record_files.load_change(options["results"], options["change"]))
        check_added(done, done + options["rounds"], known)


def check_workloads(options: Options) -> None:
    """ValueError if there is nothing to measure with."""
    rounds, workloads = options["rounds"], options["workloads"]
    if rounds < 1 or not workloads:
        raise ValueError(
            f"measure_rounds is {rounds} and measure_workloads {workloads}; "
            "it takes at least one round and one workload"
        )
    if len(set(workloads)) != len(workloads):
        raise ValueError(f"measure_workloads is {workloads}; name each only once")
    if 0 < (options["max_rounds"] or 0) < rounds:
        raise ValueError(f"measure_max_rounds is {options['max_rounds']}, less than measure_rounds, which is {rounds}")
    check_most("measure_max_rounds", options["max_rounds"] or rounds, rounds)
    check_numbers(options)
    check_tools(options)
    if "fio" in workloads and not options["fio_directory"]:
        raise ValueError("measure_fio_directory is empty: name a directory on the file system to measure")
    if "command" in workloads:
        check_commands(options["commands"])


def check_numbers(options: Options) -> None:
    """ValueError for a number that a host would refuse, after others were measured and perhaps changed."""
    common = {**options, "round": options["first_round"], "session": None, "calibrated": None}
    prefix = "measure_"
    try:
        entry_point.check(common)  # type: ignore[no-untyped-call]
        for kind in options["workloads"]:
            lists = SERIES[kind] if kind != "command" else ()
            check_options(options, LIMITS.get(kind, {}), lists)  # type: ignore[no-untyped-call]
        niping_request.check_rate(options["tool"], options["rate"], prefix)  # type: ignore[no-untyped-call]
        if "enqueue" in options["workloads"]:
            prefix = "measure_enqueue_"
            own = {name: options[f"enqueue_{name}"] for name in ("run_seconds", "timeout")}
            entry_point.check({**common, **own})  # type: ignore[no-untyped-call]
    except MeasureError as error:
        raise ValueError(f"{prefix}{error}") from None


def check_tools(options: Options) -> None:
    """ValueError for a tool that cannot do what is asked of it, which a host would say only in the first round."""
    tool, kind = options["tool"], options["transport"]
    wanted = {"transport": kind, "kinds": options["network_kinds"], "connections": options["network_connections"]}
    variable = "measure_tool"
    try:
        if "niping" in options["workloads"] and tool == niping.TOOL:
            request.check_transport(tool, kind)  # type: ignore[no-untyped-call]
        if "network" in options["workloads"]:
            variable = "measure_network_tool"
            request.check(options["network_tool"], wanted)  # type: ignore[no-untyped-call]
    except MeasureError as error:
        raise ValueError(f"{variable}: {error}") from None


def check_commands(given: Sequence[Any]) -> None:
    """ValueError if the programs of the workload command cannot be measured as they are described."""
    if not given:
        raise ValueError("measure_commands is empty: describe the program to measure")
    spec = {"measure_commands": {"type": "list", "elements": "dict", "options": SETS["command"].OPTIONS}}
    checked = ArgumentSpecValidator(spec).validate({"measure_commands": [encoded(item) for item in given]})
    if checked.error_messages:
        raise ValueError(f"measure_commands: {'; '.join(checked.error_messages)}")
    try:
        SETS["command"].check(checked.validated_parameters["measure_commands"])
    except MeasureError as error:
        raise ValueError(f"measure_commands: {error}") from None
