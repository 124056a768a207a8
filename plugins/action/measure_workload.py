# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the module measure_workload, niping or enqt, keep its records; documented in plugins/modules, in a file each."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ..module_utils._measure.round import entry_point, rounds
from ..modules import enqt, measure_workload, niping
from ..plugin_utils._actions.controller import HonestAction
from ..plugin_utils._actions.measuring import (
    calibrated_loops,
    check_writable,
    collector,
    encoded,
    hidden,
    lost,
    revealed,
    summarize,
    without_raw,
    without_server,
)
from ..plugin_utils._actions.role_options import templated
from ..plugin_utils._answers.answers import OF_SERVER_OR_ROUND, RENAMED, Answer
from ..plugin_utils._pages.text import one_line, shorten
from ..plugin_utils._records import record_files
from ..plugin_utils._records.checks import check_slug, plain_json

LONGEST_MESSAGE = 4000
LONGEST_LIFETIME = 7 * 86400
"""Seconds after which a server ends at the latest."""

IDS = ("change", "phase", "peer", "results", "protocol")
"""Options that stay on the controller."""

Values = dict[str, Any]
"""Options, variables, or a record."""
MODULES: Values = {"enqt": enqt, "measure_workload": measure_workload, "niping": niping}
OF_KIND = {"niping": ("niping", "measure_"), "enqueue": ("enqt", "measure_enqueue_")}
"""The module of a workload of the role measure, if it is not measure_workload, and the prefix of its variables."""


def names(module: str, options: Values) -> list[str]:
    """The workloads that a call of a module with these checked options measures."""
    tools, own = entry_point.chosen(MODULES[module].TOOLS, options)  # type: ignore[no-untyped-call]
    return [str(name) for name in tools.names(own, (options["session"] or {}).get("tool", ""))]


def of_role(given: Values, value_of: Callable[[str], Any], side: str) -> tuple[str, Values]:
    """The module and the options for a task of the role measure, from the variables of the role.

    An option has the value that follows from several variables, else the variable of the workload, else that of all
    workloads. If that is empty, the option is not given.
    """
    workload = value_of("__measure_workload")
    kind = workload["name"]
    module, own = OF_KIND.get(kind, ("measure_workload", "measure_"))
    known = computed(workload, given, value_of, side)

    def values(wanted: Iterable[str], begin: str) -> Values:
        variables = {
            name: next((one + name for one in (begin, "measure_") if one + name in given), "") for name in wanted
        }
        found = {name: known[name] if name in known else value_of(variable) for name, variable in variables.items()}
        return without_empty(found)

    spec = {**entry_point.ARGUMENTS, **MODULES[module].ARGUMENTS}
    options = values(spec, own)
    if spec.get(kind, {}).get("type") == "dict":
        options[kind] = values(spec[kind]["options"], f"measure_{kind}_")
    return module, options


def without_empty(options: Values) -> Values:
    return {name: value for name, value in options.items() if value not in (None, "", {})}


def computed(workload: dict[str, str], given: Values, value_of: Callable[[str], Any], side: str) -> Values:
    """The options that follow from several variables. A server has the path and the transport of its own host."""
    kind = workload["name"]
    peer = value_of("__measure_ready")["against"].get(kind, "")
    path = f"measure_{'' if kind == 'niping' else kind + '_'}path"
    protocol = {name: value_of(f"measure_{name}") for name in ("rounds", "design")}
    options = {
        "workload": kind,
        "side": side,
        "peer": peer,
        "load": workload["load"],
        "path": value_of(path),
        "round": (value_of("__measure_round") or {}).get("number"),
        # every round has measure_lifetime seconds
        "lifetime": min(int(value_of("measure_lifetime")) * int(value_of("__measure_total")), LONGEST_LIFETIME),
        "protocol": {"name": value_of("measure_protocol"), **protocol, **(value_of("__measure_drawn") or {})},
    }
    other = given["hostvars"][peer] if peer else {}
    reached = other.get("measure_address", other.get("ansible_host", peer))
    if side == "client":
        session = (value_of("__measure_sessions") or {}).get(kind)
        return {**options, "address": reached, "session": session, "command": value_of("measure_commands")}
    variables = {"transport": "measure_transport", "path": path}
    own = {name: other[variable] for name, variable in variables.items() if variable in other}
    # the environment of a program may hold secrets, which no other host gets
    return {**options, **own, "address": other.get("measure_listen") or reached, "command": []}


class ActionModule(HonestAction):
    module = ""
    """The name of the module, without that of the collection."""

    def perform(self, given: Values) -> Mapping[str, Any]:
        name = self._task.action.rpartition(".")[2]
        self.module = RENAMED.get(name, name)
        in_role = "__measure_workload" in given and {*self._task.args} <= {"side"}
        if in_role:
            side = self._task.args.get("side", "client")
            self.module, self._task.args = of_role(given, templated(self._templar, given), side)
        spec = {**entry_point.ARGUMENTS, **MODULES[self.module].ARGUMENTS}
        _result, options = self.validate_argument_spec(argument_spec=spec, required_by={"change": "phase"})
        arguments = {name: value for name, value in self._task.args.items() if name not in IDS}
        if (options["session"] or {}).get("token"):
            session = options["session"]
            arguments["session"] = {**session, "token": revealed(session["token"])}
        if options["side"] != "client":
            answer = self._module(arguments, given)
            if in_role and answer.get("session", {}).get("token"):
                # the role keeps the session as a fact, and the result of its task is shown
                answer["session"]["token"] = hidden(str(answer["session"]["token"]))
            return answer
        ids = self._ids(options, given)
        if ids["change"] is not None:
            self._prepare(arguments, options, ids)
        outcome = self._module(arguments, given)
        records = self._records_of(outcome.pop("records", []), ids, options["protocol"])
        # the role measure starts a server again, but only once per round
        if given.get("__measure_again") is False and (gone := without_server(records)):
            return {**outcome, "failed": True, "server_gone": True, "msg": f"nothing was measured: {gone}"}
        return {**outcome, **(self._keep(records, options["results"], ids) if records else {})}

    def _prepare(self, arguments: Values, options: Values, ids: Values) -> None:
        """Add what earlier records of the change determine; ValueError if this round was measured already."""
        results = Path(options["results"])

        def place(name: str, peer: str) -> Path:
            return record_files.record_path(results, {**ids, "workload": {"name": name}, "peer": peer})

        folder = record_files.change_folder(results, ids["change"]) / record_files.file_slug(ids["host"])
        check_writable(folder)
        paths = (place(name, ids["peer"]) for name in names(self.module, options))
        if path := next((path for path in paths if path.exists()), None):
            raise ValueError(f"{path} exists already: name another round or change, or move it away")
        if place(rounds.CONTROL_NAME, rounds.CONTROL_PEER).exists():
            arguments["control"] = False
        if not options["calibrated"]:
            arguments["calibrated"] = calibrated_loops(folder, ids["peer"])

    def _module(self, arguments: Values, variables: Values) -> Answer:
        given = arguments.get("command")
        if isinstance(given, list):
            arguments = {**arguments, "command": [encoded(command) for command in given]}
        # a server starts and stops at once, but a round takes its time
        limit = self.limit(variables) if arguments.get("side", "client") != "client" else 0
        return self.ask(f"zpower.sap_tuning.{self.module}", arguments, variables, OF_SERVER_OR_ROUND, limit)

    def _ids(self, options: Values, variables: Values) -> Values:
        """The fields that tie a record to its change; ValueError if they cannot be names of files."""
        change, phase = (options[name] or None for name in ("change", "phase"))
        if change is not None:
            check_slug("change", change)
            check_slug("phase", phase)
        return {
            "change": change,
            "phase": phase,
            "round": options["round"],
            "host": str(variables["inventory_hostname"]),
            "peer": options["peer"] or options["address"] or rounds.LOCAL_PEER,
        }

    def _records_of(self, given: list[Any], ids: Values, protocol: Values) -> list[Values]:
        """The records that the host returned, with the ids and the collector; ValueError if one is not sound.

        A host says nothing about the ids, but that a workload went to none of the hosts: which record is whose is
        known here.
        """
        part_of = {name: value for name, value in protocol.items() if value is not None}
        complete = []
        for record in given:
            wrong = "it is not an object"
            if isinstance(record, dict):
                near = record.get("peer") in (rounds.CONTROL_PEER, rounds.LOCAL_PEER)
                own = {**ids, **({"peer": record["peer"]} if near else {}), "collector": collector()}
                if isinstance(record.get("protocol"), dict):
                    own["protocol"] = {**record["protocol"], **part_of}
                complete.append(plain_json({**record, **own}))
                named = {name: complete[-1][name] or "none" for name in ("change", "phase")}
                wrong = record_files.validate({**complete[-1], **named}) or ""
            if wrong:
                raise ValueError(f"{ids['host']} returned a record that cannot be used: {one_line(wrong)}")
        return complete

    def _keep(self, records: list[Values], results: str, ids: Values) -> Values:
        """Store the records; the part of the result that tells about them, failed where it has to be."""
        lines = [summarize(record) for record in records]
        kept: Values = {"summary": lines, "records": [without_raw(record) for record in records]}
        unstored: dict[str, list[str]] = {}
        if ids["change"] is not None:
            for record, line in zip(records, lines, strict=True):
                line["record"] = None
                try:
                    line["record"] = str(record_files.write_record(results, record))
                except (OSError, ValueError) as error:
                    reason = getattr(error, "strerror", None) or str(error)
                    unstored.setdefault(reason, []).append(line["workload"])
            kept = {"summary": lines, "paths": [line["record"] for line in lines if line["record"]]}
        what = f"measured, but not stored below {results}"
        problems = [f"{what}: {', '.join(names)}: {reason}" for reason, names in unstored.items()] + lost(lines)
        problems += dict.fromkeys(record["left_behind"] for record in records if record.get("left_behind"))
        if problems:
            # it goes to a terminal, and a host has said a part of it
            kept.update(failed=True, msg=shorten(one_line("; ".join(problems)), LONGEST_MESSAGE))
        return kept
