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
from .rows import RowsError, Table

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
Key = tuple[str, ...]
"""Change, host, peer, workload and phase: a state whose rounds belong together."""


class Imported(NamedTuple):
    """Records in the order of their first rows, and a sentence for each row that cannot be used."""

    records: list[Values]
    problems: list[str]
    last_in_order: list[Values]
    """The last record of each state whose rounds are numbered in the order of their rows."""


Placed = tuple[str, Values]
"""The place of a row in words, and the record of its run."""


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
    placed: list[Placed] = []
    for row in table.rows:
        try:
            placed.append((row.where, _record(merged(defaults, parse(row.values)))))
        except FieldError as error:
            problems.append(f"{row.where}: {error}.")
    _decide(placed, problems)
    in_order = _number(placed, problems)
    records = []
    last: dict[Key, Values] = {}
    for (key, _round), group in by_key(((_key(item[1]), item[1]["round"]), item) for item in placed).items():
        if found := _disagreement(group):
            problems.append(found)
            continue
        records.append(_joined([record for _where, record in group]))
        if key in in_order:
            last[key] = records[-1]
    return Imported(records, problems, list(last.values()))


def _key(record: Values) -> Key:
    """The state to which the record of a round belongs."""
    return record["change"], record["host"], record["peer"], record["workload"]["name"], record["phase"]


def _check(values: Values) -> None:
    """Complete the values of a row; FieldError says why it cannot be used."""
    for name in REQUIRED:
        if name not in values:
            raise FieldError(f"{name} is missing")
    if "kind" not in values.get("source", {}):
        raise FieldError("source.kind is missing: where do these figures come from?")
    if not {"file", "text"} & set(values["source"]):
        raise FieldError("source has neither file nor text: where can these figures be looked up?")
    if values["source"]["kind"] == "other" and "text" not in values["source"]:
        raise FieldError("source.kind is other; source.text must say what it is")
    if values.get("warmup") and "round" not in values:
        raise FieldError("a warm-up run belongs to a round, and round is missing")
    _check_times(values)
    for side in SIDES:
        _one_way(values, side)
    values["metrics"] = _metrics(values) if values["ok"] else {}
    values["metric"] = _metric(values) if values["ok"] else _declared(values)


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
        raise FieldError("ok is false; error must say why")


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
        raise FieldError("there is neither elapsed_s nor latency_us; metric.name must say which figure decides")
    if name not in there:
        raise FieldError(f"{name} decides (metric.name), but is missing in the row")
    if there[name] <= 0:
        raise FieldError(f"{name} decides and is {show(there[name])}; it must be above 0")
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


def _decide(placed: Sequence[Placed], problems: list[str]) -> None:
    """Give a workload of a change one metric for all states, also where all runs of a round failed."""
    first: dict[tuple[str, str], tuple[str, Values]] = {}
    for where, record in placed:
        new = record["workload"]["metric"]
        if record["runs"][0]["ok"]:
            other, old = first.setdefault((record["change"], record["workload"]["name"]), (where, new))
            if old != new:
                problems.append(
                    f"{where}: {new['name']} in {new['unit']} decides here ({new['better']} is better), in"
                    f" {other}, which has the same workload, {old['name']} in {old['unit']} ({old['better']})."
                )
    for _where, record in placed:
        _other, metric = first.get((record["change"], record["workload"]["name"]), ("", record["workload"]["metric"]))
        record["workload"]["metric"] = metric


def _number(placed: Sequence[Placed], problems: list[str]) -> set[Key]:
    """Make each row of a state without any round a round, in their order; the keys of these states."""
    in_order = set()
    for key, state in by_key((_key(item[1]), item) for item in placed).items():
        without = [item for item in state if item[1]["round"] is None]
        if without and len(without) < len(state):
            problems.append(f"{without[0][0]}: round is missing, and other rows of this state have one.")
        if len(without) > MOST_ROUNDS:
            problems.append(f"{without[MOST_ROUNDS][0]}: more than {MOST_ROUNDS} rounds of one state.")
        for number, (_where, record) in enumerate(without, 1):
            record["round"] = number
            in_order.add(key)
    return in_order


def _disagreement(group: Sequence[Placed]) -> str | None:
    """Why these rows are not the runs of one round; None if they are."""
    place, first = group[0]
    for where, record in group:
        for name, value in _common(record).items():
            if value != _common(first)[name]:
                return f"{where}: {name} differs from {place}, which has the same round."
    if len(group) > MOST_RUNS:
        return f"{group[MOST_RUNS][0]}: more than {MOST_RUNS} runs of one round."
    begins: dict[str, str] = {}
    for where, record in group:
        started = record["started"]
        if started in begins:
            return f"{where}: began when {begins[started]} did; the same run cannot count twice."
        begins.update({} if started is None else {started: where})
    return None


def _common(record: Values) -> Values:
    """The fields that all runs of a round share, by their names in a row."""
    names = ("unit", "params", "context", "source", "bytes", "loops", "connections", "control", *SIDES)
    known = {**record, **record["workload"], **record["fingerprint"]}
    return {name: known.get(name) for name in names}


def _joined(records: Sequence[Values]) -> Values:
    """The record of a round, from those of its runs."""
    runs = [{**record["runs"][0], "run": number} for number, record in enumerate(records)]
    warmup = sum(run["warmup"] for run in runs)
    sources = {side: next(filter(None, (record["cpu_source"][side] for record in records)), None) for side in SIDES}
    return {
        **records[0],
        # The number of rounds is unknown: rows may be added to a file.
        "protocol": {"name": TOOL, "runs": len(runs) - warmup, "warmup": warmup},
        "started": min((record["started"] for record in records if record["started"]), default=None),
        "finished": max((record["finished"] for record in records if record["finished"]), default=None),
        "runs": runs,
        "cpu_source": sources,
    }


def _record(values: Values) -> Values:
    """The record of one run from the values of its row; FieldError says why they cannot be used."""
    _check(values)
    cpu = {side: _cpu(values, side) for side in SIDES}
    run = {
        "warmup": values.get("warmup", False),
        "ok": values["ok"],
        "error": values.get("error"),
        "started": values.get("started"),
        "elapsed_s": values.get("elapsed_s"),
        "metrics": values["metrics"],
        "cpu": cpu if values["ok"] and any(cpu.values()) else None,
        "net": None,
    }
    return {
        "schema": MEASUREMENT,
        **{name: values[name] for name in ("change", "phase", "host", "source")},
        "round": values.get("round"),
        "peer": values.get("peer", PEER),
        "workload": {
            "name": values["workload"],
            "tool": TOOL,
            "version": None,
            "argv": [],
            "bytes": values.get("bytes", 0),
            "loops": values.get("loops", 0),
            "connections": values.get("connections", 1),
            "control": values.get("control", False),
            "params": values.get("params", {}),
            "metric": values["metric"],
            **({"unit": values["unit"]} if "unit" in values else {}),
        },
        "started": values.get("started"),
        "finished": values.get("finished"),
        "runs": [run],
        "idle": None,
        "fingerprint": {side: _fingerprint(values.get(side, {})) for side in SIDES},
        "context": values.get("context", {}),
        "cpu_source": {side: "given" if cpu[side] else None for side in SIDES},
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
