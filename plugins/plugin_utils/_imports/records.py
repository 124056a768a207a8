# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From rows of figures measured elsewhere to measurement records: the same rows give the same records."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .._records.checks import MOST_ROUNDS
from .._records.grouping import by_key
from .._records.reading import MEASUREMENT, MOST_RUNS
from .._records.round import MUST_MATCH, SIDES
from .._statistics.ranks import PRINTED, short
from .entry import METRICS, Entry, Key, Values, entry_of
from .fields import FieldError, merged, parse
from .rows import RowsError, Table

TOOL = "import"


class Imported(NamedTuple):
    """Records in the order of their first rows, and a sentence for each row that cannot be used."""

    records: list[Values]
    problems: list[str]
    last_in_order: list[Values]
    """The last record of each state whose rounds are numbered in the order of their rows."""


def records_of(table: Table, *given: Mapping[str, Any]) -> Imported:
    """Records of all rows. ``given``: defaults; later ones win over earlier ones, the table's own over all.

    RowsError if one of the defaults is wrong. If there are problems, the records are incomplete and must not be used.
    """
    problems: list[str] = []
    defaults: Values = {}
    layers = [("the defaults", values) for values in given]
    for where, values in [*layers, ("the defaults of the file", table.defaults)]:
        try:
            defaults = merged(defaults, parse(values))
        except FieldError as error:
            raise RowsError(f"{where}: {error}") from error
    entries = []
    for row in table.rows:
        try:
            entries.append(entry_of(row, defaults))
        except FieldError as error:
            problems.append(f"{row.where}: {error}.")
    deciding = _deciding(entries, problems)
    rounds = by_key(((entry.key, entry.number), entry) for entry in _numbered(entries, problems))
    records = []
    last: dict[Key, Values] = {}
    for group in rounds.values():
        found = _disagreement(group)
        if found:
            problems.append(found)
        else:
            records.append(_record(group, deciding.get(_workload_of(group[0]))))
            if "round" not in group[0].values:
                last[group[0].key] = records[-1]
    return Imported(records, problems, list(last.values()))


def _declared(values: Mapping[str, Any]) -> Values:
    """The metric of a workload without a successful run: that of the row, else the elapsed time."""
    metric = values.get("metric", {})
    name = metric.get("name", "elapsed_s")
    unit, better = METRICS.get(name, (None, None))
    found = {"name": name, "unit": metric.get("unit", unit), "better": metric.get("better", better)}
    return found if None not in found.values() else {"name": "elapsed_s", "unit": "s", "better": "lower"}


def _numbered(entries: Sequence[Entry], problems: list[str]) -> list[Entry]:
    """Each row with its round: as given, or, if no row of a state has one, one round per row in their order."""
    states = by_key((entry.key, entry) for entry in entries)
    numbers: dict[str, int] = {}
    for state in states.values():
        without = [entry for entry in state if "round" not in entry.values]
        if without and len(without) < len(state):
            problems.append(f"{without[0].where}: round is missing, and other rows of this state have one.")
        if len(without) > MOST_ROUNDS:
            problems.append(f"{without[MOST_ROUNDS].where}: more than {MOST_ROUNDS} rounds of one state.")
        numbers.update((entry.where, number) for number, entry in enumerate(without, 1))
    return [entry._replace(number=entry.values.get("round") or numbers[entry.where]) for entry in entries]


def _workload_of(entry: Entry) -> tuple[str, str]:
    return entry.values["change"], entry.values["workload"]


def _deciding(entries: Sequence[Entry], problems: list[str]) -> dict[tuple[str, str], Values]:
    """The metric of each workload of a change; it is the same for all states, even if all runs of a round failed."""
    found: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        if entry.values["ok"]:
            first = found.setdefault(_workload_of(entry), entry)
            old, new = first.values["metric"], entry.values["metric"]
            if old != new:
                problems.append(
                    f"{entry.where}: {new['name']} in {new['unit']} decides here ({new['better']} is better), in"
                    f" {first.where}, which has the same workload, {old['name']} in {old['unit']} ({old['better']})."
                )
    return {workload: entry.values["metric"] for workload, entry in found.items()}


def _disagreement(group: Sequence[Entry]) -> str | None:
    """Why these rows are not the runs of one round; None if they are."""
    first = group[0]
    for entry in group:
        for name, value in _common(entry).items():
            if value != _common(first)[name]:
                return f"{entry.where}: {name} differs from {first.where}, which has the same round."
    if len(group) > MOST_RUNS:
        return f"{group[MOST_RUNS].where}: more than {MOST_RUNS} runs of one round."
    begins: dict[str, Entry] = {}
    for entry in group:
        started = entry.values.get("started")
        if started is not None:
            if started in begins:
                return f"{entry.where}: began when {begins[started].where} did; the same run cannot count twice."
            begins[started] = entry
    return None


def _common(entry: Entry) -> Values:
    """The fields that all runs of a round share."""
    values = entry.values
    names = ("unit", "params", "context", "source", "bytes", "loops", "connections", "control")
    common: Values = {name: values.get(name) for name in names}
    common.update((side, _fingerprint(values.get(side, {}))) for side in SIDES)
    return common


def _record(group: Sequence[Entry], metric: Mapping[str, Any] | None) -> Values:
    first = group[0]
    values = first.values
    change, host, peer, workload, phase = first.key
    runs = [_run(index, entry) for index, entry in enumerate(group)]
    starts = [run["started"] for run in runs if run["started"]]
    ends = [entry.values["finished"] for entry in group if "finished" in entry.values]
    warmup = sum(run["warmup"] for run in runs)
    record: Values = {
        "schema": MEASUREMENT,
        "change": change,
        "phase": phase,
        "round": first.number,
        "host": host,
        "peer": peer,
        "workload": {
            "name": workload,
            "tool": TOOL,
            "version": None,
            "argv": [],
            "bytes": values.get("bytes", 0),
            "loops": values.get("loops", 0),
            "connections": values.get("connections", 1),
            "control": values.get("control", False),
            "params": values.get("params", {}),
        },
        # The number of rounds is unknown: rows may be added to a file.
        "protocol": {"name": TOOL, "runs": len(runs) - warmup, "warmup": warmup},
        "started": min(starts, default=None),
        "finished": max(ends, default=None),
        "runs": runs,
        "idle": None,
        "fingerprint": {side: _fingerprint(values.get(side, {})) for side in SIDES},
        "context": values.get("context", {}),
        "source": values["source"],
        "cpu_source": {side: "given" if any(_cpu(entry.values, side) for entry in group) else None for side in SIDES},
    }
    record["workload"]["metric"] = dict(metric or _declared(values))
    if "unit" in values:
        record["workload"]["unit"] = values["unit"]
    return record


def _run(index: int, entry: Entry) -> Values:
    values = entry.values
    cpu = {side: _cpu(values, side) for side in SIDES}
    return {
        "run": index,
        "warmup": values.get("warmup", False),
        "ok": values["ok"],
        "error": values.get("error"),
        "started": values.get("started"),
        "elapsed_s": values.get("elapsed_s"),
        "metrics": values["metrics"] if values["ok"] else {},
        "cpu": cpu if values["ok"] and any(cpu.values()) else None,
        "net": None,
    }


def _cpu(values: Mapping[str, Any], side: str) -> Values | None:
    """CPU time of one end over the run; a share of an unknown number of CPUs stays a share."""
    end, elapsed = values.get(side, {}), values.get("elapsed_s")
    known = {name: end.get(name) for name in ("utilization_pct", "cpu_s", "user_s", "system_s")}
    if elapsed is None or set(known.values()) == {None}:
        return None
    ncpu = end.get("cpus_online")
    window: Values = {"elapsed_s": elapsed, "ncpu": ncpu, "steal_s": end.get("steal_s")}
    share = known["utilization_pct"]
    if share is not None:
        return {
            **window,
            **({"busy_pct": share} if ncpu is None else {"busy_s": short(share / 100.0 * ncpu * elapsed, PRINTED)}),
        }
    if known["cpu_s"] is None and ncpu is not None:
        return {**window, "user_s": known["user_s"], "system_s": known["system_s"]}
    return {**window, "busy_s": known["cpu_s"] or short(known["user_s"] + known["system_s"], PRINTED)}


def _fingerprint(end: Mapping[str, Any]) -> Values:
    return {name: end[name] for name in MUST_MATCH if name in end}
