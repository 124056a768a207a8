# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From rows of figures measured elsewhere to measurement records: the same rows give the same records."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .._records.checks import MOST_ROUNDS
from .._records.grouping import by_key
from .._records.reading import MEASUREMENT, MOST_RUNS
from .._records.round import MUST_MATCH, SIDES, microseconds
from .._statistics.ranks import PRINTED, short
from .fields import FieldError, merged, parse, show
from .rows import Row, RowsError, Table

TOOL = "import"
PEER = "local"
"""The peer of a row that names none."""

REQUIRED = ("change", "host", "phase", "workload")
METRICS = {"elapsed_s": ("s", "lower"), "latency_us": ("µs", "lower")}
"""Figures of a row that can decide, with their unit and direction; any other is one of its ``metrics``."""
OWN_METRICS = {name: name for name in ("elapsed_s", "latency_us", "units")}
OWN_METRICS |= {f"utilization_pct_{side}": f"{side}.utilization_pct" for side in SIDES}
"""Metrics that are fields of their own in a row."""

Values = dict[str, Any]


class Imported(NamedTuple):
    """Records in the order of their first rows, and a sentence for each row that cannot be used."""

    records: list[Values]
    problems: list[str]
    last_in_order: list[Values]
    """The last record of each state whose rounds are numbered in the order of their rows."""


class Entry(NamedTuple):
    """A checked row; ``number`` is its round."""

    where: str
    values: Values
    number: int = 0

    @property
    def key(self) -> tuple[str, ...]:
        """The state whose rounds it belongs to: change, host, peer, workload and phase."""
        values = self.values
        return values["change"], values["host"], values.get("peer", PEER), values["workload"], values["phase"]


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
            entries.append(_entry(row, defaults))
        except FieldError as error:
            problems.append(f"{row.where}: {error}.")
    deciding = _deciding(entries, problems)
    rounds = by_key(((entry.key, entry.number), entry) for entry in _numbered(entries, problems))
    records = []
    last: dict[tuple[str, ...], Values] = {}
    for group in rounds.values():
        found = _disagreement(group)
        if found:
            problems.append(found)
        else:
            records.append(_record(group, deciding.get(_workload_of(group[0]))))
            if "round" not in group[0].values:
                last[group[0].key] = records[-1]
    return Imported(records, problems, list(last.values()))


def _entry(row: Row, defaults: Mapping[str, Any]) -> Entry:
    """A checked row; FieldError says why it cannot be used."""
    values = merged(defaults, parse(row.values))
    for name in REQUIRED:
        if name not in values:
            raise FieldError(f"{name} is missing")
    if "kind" not in values.get("source", {}):
        raise FieldError("source.kind is missing: where do these figures come from?")
    if not {"file", "text"} & set(values["source"]):
        raise FieldError("source has neither file nor text: where can these figures be looked up?")
    if values["source"]["kind"] == "other" and "text" not in values["source"]:
        raise FieldError("source.kind is other; source.text has to say what it is")
    if values.get("warmup") and "round" not in values:
        raise FieldError("a warm-up run belongs to a round, and round is missing")
    _check_times(values)
    for side in SIDES:
        _one_way(values, side)
    if values["ok"]:
        values["metrics"] = _metrics(values)
        values["metric"] = _metric(values)
    return Entry(row.where, values)


def _check_times(values: Values) -> None:
    """Fill in ``elapsed_s`` from begin and end, or check that the three agree; ``ok`` from ``error``."""
    begin, end = microseconds(values.get("started")), microseconds(values.get("finished"))
    if begin is not None and end is not None:
        between = (end - begin) / 1e6
        if between <= 0:
            raise FieldError("finished is not after started")
        elapsed = values.setdefault("elapsed_s", between)
        # Times of job logs are whole seconds, and so are both ends.
        if abs(elapsed - between) > max(2.0, 0.01 * between):
            raise FieldError(f"elapsed_s is {elapsed:g}, but from started to finished it is {between:g}")
    if "error" in values and values.get("ok"):
        raise FieldError("ok is true, and there is an error")
    if not values.setdefault("ok", "error" not in values) and "error" not in values:
        raise FieldError("ok is false; error has to say why")


def _one_way(values: Values, side: str) -> None:
    """CPU time is given in one of three ways; two of them could contradict each other."""
    end = values.get(side, {})
    parts = [name for name in ("user_s", "system_s") if name in end]
    if len(parts) == 1:
        raise FieldError(f"{side}.{parts[0]} is given without the other one of user_s and system_s")
    ways = [name for name in ("utilization_pct", "cpu_s") if name in end] + parts[:1]
    if len(ways) > 1:
        raise FieldError(f"{side}.{ways[0]} and {side}.{ways[1]} both give the CPU time; give one of them")
    if ways and "elapsed_s" not in values:
        raise FieldError(f"{side}.{ways[0]} needs elapsed_s")


def _metrics(values: Mapping[str, Any]) -> Values:
    metrics: Values = dict(values.get("metrics", {}))
    for name, field in OWN_METRICS.items():
        if name in metrics:
            raise FieldError(f"metrics.{name} is a field of its own: {field}")
        head, _point, part = field.partition(".")
        found = values.get(head, {}).get(part) if part else values.get(head)
        metrics |= {} if found is None else {name: found}
    return metrics


def _metric(values: Mapping[str, Any]) -> Values:
    """The figure that decides, with its unit and direction."""
    metric: Values = dict(values.get("metric", {}))
    there = values["metrics"]
    if "name" not in metric:
        metric["name"] = next((name for name in METRICS if name in there), None)
    name = metric["name"]
    if name is None:
        raise FieldError("there is neither elapsed_s nor latency_us; metric.name has to say which figure decides")
    if name not in there:
        raise FieldError(f"{name} decides (metric.name), but is missing in the row")
    if there[name] <= 0:
        raise FieldError(f"{name} decides and is {show(there[name])}; a number above 0 belongs there")
    unit, better = METRICS.get(name, (None, None))
    for part, known in (("unit", unit), ("better", better)):
        if metric.setdefault(part, known) is None:
            raise FieldError(f"metric.{part} of {name} is missing")
        if part == "better" and known not in (None, metric[part]):
            raise FieldError(f"metric.better of {name} is {metric[part]}; less of it is better")
    return metric


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
