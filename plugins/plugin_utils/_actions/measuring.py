# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a measuring module on the host and keep its records on the controller: what its action plugins have in common."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.release import __version__ as ansible_core_version

from ...module_utils._measure.round import entry_point, rounds
from .._records import record_files
from .._records.collection import collection_version
from .._records.round import ROUND_TRIP
from .._report.text import one_line, shorten
from .._statistics.ranks import median

FACT = "zpower_measurements"
LONGEST_MESSAGE = 4000
IDS = ("change", "phase", "peer", "results", "protocol")
"""Options that stay on the controller."""


def calibrated_loops(folder: Path, peer: str) -> dict[str, int]:
    """Loops by workload name, from the oldest record of each workload with this peer (or loopback) below ``folder``.

    The oldest, so that every later round of the change repeats the first. Files that are no sound records do not count.
    """
    oldest: dict[str, tuple[str, int]] = {}
    for path in sorted(folder.glob("*.json")):
        if path.name.startswith(record_files.TUNINGS_PREFIX):
            continue
        try:
            record = record_files.read_json(path)
        except (OSError, ValueError, RecursionError):
            continue
        if record_files.validate(record) is not None or record["peer"] not in (peer, rounds.CONTROL_PEER):
            continue
        workload, started = record["workload"], str(record.get("started"))
        # A round whose calibration failed has 0 loops.
        if workload["loops"] and (workload["name"] not in oldest or started < oldest[workload["name"]][0]):
            oldest[workload["name"]] = (started, workload["loops"])
    return {name: loops for name, (_started, loops) in oldest.items()}


def summarize(record: Mapping[str, Any]) -> dict[str, Any]:
    """One line of the result: medians over the runs that count, how many succeeded, the first error."""
    counted = [run for run in record["runs"] if not run["warmup"]]
    good = [run["metrics"] for run in counted if run["ok"]]
    errors = [run["error"] for run in record["runs"] if run.get("error")]
    line: dict[str, Any] = {"workload": record["workload"]["name"], "peer": record["peer"]}
    line.update(_medians((record["workload"].get("metric") or {}).get("name") or ROUND_TRIP[0], good))
    links = sorted({link.get("mode") or "unknown" for run in counted for link in run.get("links") or ()})
    line.update({"links": links} if links else {})
    line.update(control=record["workload"]["control"], runs_ok=len(good), runs_failed=len(counted) - len(good))
    line.update(error=errors[0] if errors else None)
    return line


def _medians(primary: str, good: list[Mapping[str, Any]]) -> dict[str, float | None]:
    """The metric that decides, and tr2 beside av2; None if no run that counts has it."""
    names = [primary, *(["tr2_kib_per_s"] if primary == "av2_us" else [])]
    known = {name: [metrics[name] for metrics in good if metrics.get(name) is not None] for name in names}
    return {name: median(values) if values else None for name, values in known.items()}


def lost(lines: list[dict[str, Any]]) -> list[str]:
    """One sentence for each reason why workloads have no result: what keeps all of them off is said once."""
    found: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        if not line["control"] and not line["runs_ok"]:
            found.setdefault((line["peer"], str(line["error"])), []).append(line["workload"])
    return [
        f"every run of {', '.join(names)}{'' if peer == rounds.LOCAL_PEER else f' with {peer}'} failed: {error}"
        for (peer, error), names in found.items()
    ]


def without_server(records: list[dict[str, Any]]) -> str | None:
    """The error of a round that did not begin because its server was gone; None for any other round."""
    ours = [record for record in records if record["peer"] not in (rounds.CONTROL_PEER, rounds.LOCAL_PEER)]
    if not ours or any(record["fingerprint"]["server"] or run["ok"] for record in ours for run in record["runs"]):
        return None
    return one_line(str(ours[0]["runs"][0]["error"])).removeprefix("not begun: ")


def check_writable(folder: Path) -> None:
    """ValueError where no record could be written into ``folder``, which need not be there yet."""
    there = folder.absolute()
    while not there.exists():
        there = there.parent
    if not there.is_dir():
        raise ValueError(f"no record can be written below {folder}: {there} is no directory")
    if not os.access(there, os.W_OK | os.X_OK):
        raise ValueError(f"no record can be written below {folder}: {there} is not writable")


def merged_facts(known: Any, lines: list[dict[str, Any]], phase: str | None, number: int) -> dict[str, Any]:
    """The fact of this host: what was there, with the lines of this round in their places."""
    facts: dict[str, Any] = {}
    if isinstance(known, Mapping):
        facts = {name: dict(peers) for name, peers in known.items() if isinstance(peers, Mapping)}
    for line in lines:
        left_out = ("workload", "peer", "control", "error", "links")
        entry = {name: value for name, value in line.items() if name not in left_out}
        entry.update(phase=phase, round=number, record=line.get("record"))
        facts.setdefault(line["workload"], {})[line["peer"]] = entry
    return facts


def without_raw(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record for the result of a task, where the raw output of every run would be too much."""
    runs = [{name: value for name, value in run.items() if name != "raw"} for run in record["runs"]]
    return {**record, "runs": runs}


class MeasuringAction(ActionBase):
    """The action plugin of a measuring module; a subclass names the module, its options and the workloads of a call."""

    TRANSFERS_FILES = False
    MODULE = ""
    OPTIONS: Mapping[str, Any] = {}
    _supports_check_mode = True

    def names(self, options: Mapping[str, Any]) -> list[str]:
        """The workloads that a call with these options measures; ValueError if one cannot be measured."""
        raise NotImplementedError

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        variables = task_vars or {}
        spec = {**entry_point.ARGUMENTS, **self.OPTIONS}
        _result, options = self.validate_argument_spec(argument_spec=spec, required_by={"change": "phase"})
        arguments = {name: value for name, value in self._task.args.items() if name not in IDS}
        if options["side"] != "client":
            return {**result, **self._module(arguments, variables)}
        ids = self._ids(options, variables)
        if ids["change"] is not None:
            self._prepare(arguments, options, ids)
        outcome = self._module(arguments, variables)
        records = self._records_of(outcome.pop("records", []), ids, options["protocol"])
        result.update(outcome)
        # the role measure starts a server again, but only once per round
        if variables.get("__measure_again") is False and (gone := without_server(records)):
            return {**result, "failed": True, "server_gone": True, "msg": f"nothing was measured: {gone}"}
        if records:
            result.update(self._keep(records, options["results"], ids, variables))
        return result

    def _prepare(self, arguments: dict[str, Any], options: Mapping[str, Any], ids: dict[str, Any]) -> None:
        """Add what earlier records of the change determine; AnsibleActionFail if this round was measured already."""
        results = Path(options["results"])
        try:
            folder = record_files.change_folder(results, ids["change"]) / record_files.file_slug(ids["host"])
            check_writable(folder)
            names = self.names(options)
            there = [name for name in names if self._place(ids, results, name, ids["peer"]).exists()]
        except ValueError as error:
            # ansible-core 2.21 would print a cause behind the sentence once more
            raise AnsibleActionFail(str(error)) from None
        if there:
            path = self._place(ids, results, there[0], ids["peer"])
            raise AnsibleActionFail(f"{path} exists already: name another round or change, or move it away")
        if self._place(ids, results, rounds.CONTROL_NAME, rounds.CONTROL_PEER).exists():
            arguments["control"] = False
        if not options["calibrated"]:
            arguments["calibrated"] = calibrated_loops(folder, ids["peer"])

    def _place(self, ids: dict[str, Any], results: Path, name: str, peer: str) -> Path:
        return record_files.record_path(results, {**ids, "workload": {"name": name}, "peer": peer})

    def _module(self, arguments: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        outcome: dict[str, Any] = self._execute_module(
            module_name=self.MODULE, module_args=arguments, task_vars=variables
        )
        return outcome

    def _ids(self, options: Mapping[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        """The fields that tie a record to its change; AnsibleActionFail if they cannot be names of files."""
        change, phase = (options[name] or None for name in ("change", "phase"))
        try:
            for name, value in (("change", change), ("phase", phase)):
                if change is not None:
                    record_files.check_slug(name, value)
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
        return {
            "change": change,
            "phase": phase,
            "round": options["round"],
            "host": str(variables["inventory_hostname"]),
            "peer": options["peer"] or options["address"] or rounds.LOCAL_PEER,
        }

    def _records_of(self, given: Any, ids: dict[str, Any], protocol: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The records that the host returned; AnsibleActionFail if one is not sound."""
        # ansible-core 2.19 and later hand over subclasses of str and int; a record holds plain JSON
        part_of = json.loads(json.dumps({name: value for name, value in protocol.items() if value is not None}))
        complete = []
        for record in given if isinstance(given, list) else [given]:
            wrong = "it is no object"
            if isinstance(record, dict):
                complete.append(self._complete(record, ids))
                if isinstance(complete[-1].get("protocol"), dict):
                    complete[-1]["protocol"].update(part_of)
                named = {name: complete[-1][name] or "none" for name in ("change", "phase")}
                wrong = record_files.validate({**complete[-1], **named}) or ""
            if wrong:
                raise AnsibleActionFail(f"{ids['host']} returned a record that cannot be used: {one_line(wrong)}")
        return complete

    def _complete(self, record: dict[str, Any], ids: dict[str, Any]) -> dict[str, Any]:
        """A record of the module with the ids and the collector.

        A host says nothing about the ids, but that a workload went to none of the hosts: which record is whose is
        known here.
        """
        if record.get("peer") in (rounds.CONTROL_PEER, rounds.LOCAL_PEER):
            ids = {**ids, "peer": record["peer"]}
        collector = {
            "collection": collection_version(Path(__file__).resolve().parents[2]),
            "ansible_core": ansible_core_version,
        }
        # ansible-core 2.19 and later hand over subclasses of str and int; a record holds plain JSON.
        complete: dict[str, Any] = json.loads(json.dumps({**record, **ids, "collector": collector}))
        return complete

    def _keep(
        self, records: list[dict[str, Any]], results: str, ids: dict[str, Any], variables: dict[str, Any]
    ) -> dict[str, Any]:
        """Store the records; the part of the result that tells about them, failed where it has to be."""
        lines = [summarize(record) for record in records]
        kept: dict[str, Any] = {"summary": lines}
        problems = []
        if ids["change"] is None:
            kept["records"] = [without_raw(record) for record in records]
        else:
            problems = self._store(records, lines, results)
            kept["paths"] = [line["record"] for line in lines if line["record"]]
        known = (variables.get("ansible_facts") or {}).get(FACT)
        kept["ansible_facts"] = {FACT: merged_facts(known, lines, ids["phase"], ids["round"])}
        problems += lost(lines)
        problems += dict.fromkeys(record["left_behind"] for record in records if record.get("left_behind"))
        if problems:
            # it goes to a terminal, and a host has said a part of it
            kept.update(failed=True, msg=shorten(one_line("; ".join(problems)), LONGEST_MESSAGE))
        return kept

    def _store(self, records: list[dict[str, Any]], lines: list[dict[str, Any]], results: str) -> list[str]:
        """Write every record that can be written and note its path in its line; sentences for the others."""
        problems: dict[str, list[str]] = {}
        for record, line in zip(records, lines, strict=True):
            line["record"] = None
            try:
                line["record"] = str(record_files.store(results, record))
            except OSError as error:
                reason = error.strerror or str(error)
                problems.setdefault(reason, []).append(line["workload"])
            except ValueError as error:
                problems.setdefault(str(error), []).append(line["workload"])
        return [
            f"measured, but not stored below {results}: {', '.join(names)}: {reason}"
            for reason, names in problems.items()
        ]
