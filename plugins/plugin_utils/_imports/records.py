# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From rows of figures measured elsewhere to measurement records: the same rows give the same records."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .._records import kpi
from .._records.checks import MOST_ROUNDS, microseconds
from .._records.grouping import by_key
from .._records.reading import MEASUREMENT, MOST_RUNS, Reader
from .._records.round import MUST_MATCH, SIDES, Round
from .._statistics.ranks import PRINTED, median, short
from .fields import FieldError, Values, merged, parse, show
from .rows import Placed, RowsError, Table

TOOL = "import"
PEER = "local"
"""The peer of a row that names none."""

REQUIRED = ("change", "host", "phase", "workload")
COMMON = ("unit", "params", "context", "source", "bytes", "loops", "connections", "control")
"""Fields that all runs of a round share, besides those of the fingerprints of both ends."""
METRICS = {"elapsed_s": ("s", "lower"), "latency_us": ("µs", "lower")}
"""Figures of a row that can decide, with their unit and direction; any other is one of its ``metrics``."""
OWN_METRICS = {name: name for name in ("elapsed_s", "latency_us", "units")}
OWN_METRICS |= {f"utilization_pct_{side}": f"{side}.utilization_pct" for side in SIDES}
"""Metrics that are fields of their own in a row."""
ABSENT: Values = {
    **dict.fromkeys(("round", "error", "started", "finished", "elapsed_s", "unit")),
    **{"peer": PEER, "warmup": False, "bytes": 0, "loops": 0, "connections": 1, "control": False},
    **{name: {} for name in ("source", "metric", "metrics", "params", "context", *SIDES)},
}
"""The values of fields that a row does not have."""

Key = tuple[str, ...]
"""Change, host, peer, workload and phase: a state whose rounds belong together."""


class Imported(NamedTuple):
    """Records in the order of their first rows, and a sentence for each row that cannot be used."""

    records: list[Values]
    problems: list[str]
    last_in_order: list[Values]
    """The last record of each state whose rounds are numbered in the order of their rows."""


def records_of(table: Table, *given: Values) -> Imported:
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
    for where, row in table.rows:
        try:
            placed.append((where, _complete(merged(defaults, parse(row)))))
        except FieldError as error:
            problems.append(f"{where}: {error}.")
    _decide(placed, problems)
    in_order = _number(placed, problems)
    records = []
    last: dict[Key, Values] = {}
    for (key, _round), group in by_key(((_key(item[1]), item[1]["round"]), item) for item in placed).items():
        if found := _disagreement(group):
            problems.append(found)
            continue
        records.append(_record([values for _where, values in group]))
        if key in in_order:
            last[key] = records[-1]
    return Imported(records, problems, list(last.values()))


def _key(values: Values) -> Key:
    """The state to which the round of a row belongs."""
    return values["change"], values["host"], values["peer"], values["workload"], values["phase"]


def _complete(given: Values) -> Values:
    """The values of a row with those that follow from them; FieldError says why it cannot be used."""
    for name in REQUIRED:
        if name not in given:
            raise FieldError(f"{name} is missing")
    values = {**ABSENT, **given}
    if "kind" not in values["source"]:
        raise FieldError("source.kind is missing: where do these figures come from?")
    if not {"file", "text"} & set(values["source"]):
        raise FieldError("source has neither file nor text: where can these figures be looked up?")
    if values["source"]["kind"] == "other" and "text" not in values["source"]:
        raise FieldError("source.kind is other; source.text must say what it is")
    if values["warmup"] and values["round"] is None:
        raise FieldError("a warm-up run belongs to a round, and round is missing")
    _check_times(values)
    for side in SIDES:
        _one_way(values, side)
    values["metrics"] = _metrics(values) if values["ok"] else {}
    values["metric"] = _metric(values) if values["ok"] else _declared(values)
    return values


def _check_times(values: Values) -> None:
    """Fill in ``elapsed_s`` from begin and end, or check that the three agree; ``ok`` from ``error``."""
    begin, end = microseconds(values["started"]), microseconds(values["finished"])
    if begin is not None and end is not None:
        between = (end - begin) / 1e6
        if between <= 0:
            raise FieldError("finished is not after started")
        elapsed = values["elapsed_s"] = values["elapsed_s"] or between
        if abs(elapsed - between) > _slack(between):
            raise FieldError(f"elapsed_s is {elapsed:g}, but from started to finished it is {between:g}")
    if values["error"] and values.get("ok"):
        raise FieldError("ok is true, and there is an error")
    if not values.setdefault("ok", not values["error"]) and not values["error"]:
        raise FieldError("ok is false; error must say why")


def _slack(seconds: float) -> float:
    """How far other figures may be off an elapsed time: times of job logs are whole seconds, and so are both ends."""
    return max(2.0, 0.01 * seconds)


def _one_way(values: Values, side: str) -> None:
    """CPU time is given in one of three ways; two of them could contradict each other."""
    end = values[side]
    parts = [name for name in ("user_s", "system_s") if name in end]
    if len(parts) == 1:
        raise FieldError(f"{side}.{parts[0]} is given without the other one of user_s and system_s")
    ways = [name for name in ("utilization_pct", "cpu_s") if name in end] + parts[:1]
    if len(ways) > 1:
        raise FieldError(f"{side}.{ways[0]} and {side}.{ways[1]} both give the CPU time; give one of them")
    if ways and values["elapsed_s"] is None:
        raise FieldError(f"{side}.{ways[0]} needs elapsed_s")
    if "steal_s" in end and not ways:
        raise FieldError(f"{side}.steal_s is given without CPU time")
    cpus, elapsed = end.get("cpus_online"), values["elapsed_s"]
    used = sum(end.get(name, 0.0) for name in ("cpu_s", "user_s", "system_s", "steal_s"))
    if cpus and ways and used > cpus * (elapsed + _slack(elapsed)):
        raise FieldError(
            f"{side} has {used:g} s of CPU time, but {cpus} CPUs have {cpus * elapsed:g} s in {elapsed:g} s"
        )


def _metrics(values: Values) -> Values:
    metrics: Values = dict(values["metrics"])
    for name, field in OWN_METRICS.items():
        if name in metrics:
            raise FieldError(f"metrics.{name} is a field of its own: {field}")
        head, _point, part = field.partition(".")
        found = values.get(head, {}).get(part) if part else values.get(head)
        metrics |= {} if found is None else {name: found}
    return metrics


def _metric(values: Values) -> Values:
    """The figure that decides, with its unit and direction."""
    metric: Values = dict(values["metric"])
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


def _declared(values: Values) -> Values:
    """The metric of a workload without a successful run: that of the row, else the elapsed time."""
    metric = values["metric"]
    name = metric.get("name", "elapsed_s")
    unit, better = METRICS.get(name, (None, None))
    found = {"name": name, "unit": metric.get("unit", unit), "better": metric.get("better", better)}
    return found if None not in found.values() else {"name": "elapsed_s", "unit": "s", "better": "lower"}


def _decide(placed: Sequence[Placed], problems: list[str]) -> None:
    """Give a workload of a change one metric for all states, also where all runs of a round failed."""
    first: dict[tuple[str, str], Placed] = {}
    for where, values in placed:
        new = values["metric"]
        if values["ok"]:
            other, old = first.setdefault((values["change"], values["workload"]), (where, new))
            if old != new:
                problems.append(
                    f"{where}: {new['name']} in {new['unit']} decides here ({new['better']} is better), in"
                    f" {other}, which has the same workload, {old['name']} in {old['unit']} ({old['better']})."
                )
    for _where, values in placed:
        values["metric"] = first.get((values["change"], values["workload"]), ("", values["metric"]))[1]


def _number(placed: Sequence[Placed], problems: list[str]) -> set[Key]:
    """Make each row of a state without any round a round, in their order; the keys of these states."""
    in_order = set()
    for key, state in by_key((_key(item[1]), item) for item in placed).items():
        without = [item for item in state if item[1]["round"] is None]
        if without and len(without) < len(state):
            problems.append(f"{without[0][0]}: round is missing, and other rows of this state have one.")
        if len(without) > MOST_ROUNDS:
            problems.append(f"{without[MOST_ROUNDS][0]}: more than {MOST_ROUNDS} rounds of one state.")
        for number, (_where, values) in enumerate(without, 1):
            values["round"] = number
            in_order.add(key)
    return in_order


def _disagreement(group: Sequence[Placed]) -> str | None:
    """Why these rows are not the runs of one round; None if they are."""
    place, first = group[0]
    begins: dict[str, str] = {}
    for where, values in group:
        for name in COMMON:
            if values[name] != first[name]:
                return f"{where}: {name} differs from {place}, which has the same round."
        for side in SIDES:
            if _fingerprint(values[side]) != _fingerprint(first[side]):
                return f"{where}: {side} differs from {place}, which has the same round."
    if len(group) > MOST_RUNS:
        return f"{group[MOST_RUNS][0]}: more than {MOST_RUNS} runs of one round."
    for where, values in group:
        if (started := values["started"]) in begins:
            return f"{where}: began when {begins[started]} did; the same run cannot count twice."
        begins |= {} if started is None else {started: where}
    return None


def _record(rows: Sequence[Values]) -> Values:
    """The record of a round from the values of its runs."""
    first, runs, given = rows[0], [], set()
    for number, values in enumerate(rows):
        cpu = {side: _cpu(values, side) for side in SIDES}
        given |= {side for side in SIDES if cpu[side]}
        own = {name: values[name] for name in ("warmup", "ok", "error", "started", "elapsed_s", "metrics")}
        runs.append({"run": number, **own, "cpu": cpu if values["ok"] and any(cpu.values()) else None, "net": None})
    warmup = sum(run["warmup"] for run in runs)
    return {
        "schema": MEASUREMENT,
        **{name: first[name] for name in ("change", "phase", "host", "peer", "round", "source", "context")},
        "workload": {
            **{"name": first["workload"], "tool": TOOL, "version": None, "argv": []},
            **{name: first[name] for name in ("bytes", "loops", "connections", "control", "params", "metric")},
            **({"unit": first["unit"]} if first["unit"] else {}),
        },
        # The number of rounds is unknown: rows may be added to a file.
        "protocol": {"name": TOOL, "runs": len(runs) - warmup, "warmup": warmup},
        "started": min((values["started"] for values in rows if values["started"]), default=None),
        "finished": max((values["finished"] for values in rows if values["finished"]), default=None),
        "runs": runs,
        "idle": None,
        "fingerprint": {side: _fingerprint(first[side]) for side in SIDES},
        "cpu_source": {side: "given" if side in given else None for side in SIDES},
    }


def _cpu(values: Values, side: str) -> Values | None:
    """CPU time of one end over the run; a share of an unknown number of CPUs stays a share."""
    end, elapsed = values[side], values["elapsed_s"]
    share, seconds, user, system = (end.get(name) for name in ("utilization_pct", "cpu_s", "user_s", "system_s"))
    if elapsed is None or {share, seconds, user, system} == {None}:
        return None
    ncpu = end.get("cpus_online")
    window: Values = {"elapsed_s": elapsed, "ncpu": ncpu, "steal_s": end.get("steal_s")}
    if share is not None:
        known = {"busy_pct": share} if ncpu is None else {"busy_s": short(share / 100.0 * ncpu * elapsed, PRINTED)}
    elif seconds is None and ncpu is not None:
        known = {"user_s": user, "system_s": system}
    else:
        known = {"busy_s": seconds or short(user + system, PRINTED)}
    return {**window, **known}


def _fingerprint(end: Values) -> Values:
    return {name: end[name] for name in MUST_MATCH if name in end}


def states_of(records: Iterable[Values]) -> list[Values]:
    """A line for each change, host, peer, workload and phase, in the order of their first records."""
    states = by_key(
        ((item["change"], item["host"], item["peer"], item["workload"]["name"], item["phase"]), item)
        for item in records
    )
    reader = Reader()
    return [_state(names, state, [reader.measurement(record) for record in state]) for names, state in states.items()]


def _state(names: Sequence[str], records: Sequence[Values], rounds: Sequence[Round]) -> Values:
    counted = [run for record in records for run in record["runs"] if not run["warmup"]]
    good = [run for run in counted if run["ok"]]
    medians = [item.median for item in rounds if item.median is not None]
    return {
        **dict(zip(("change", "host", "peer", "workload", "phase"), names, strict=True)),
        "rounds": len(rounds),
        "runs_ok": len(good),
        "runs_failed": len(counted) - len(good),
        "metric": records[0]["workload"]["metric"],
        "median": median(medians) if medians else None,
        "etr_per_h": etr_per_h(good),
        **{side: _end(good, rounds, index) for index, side in enumerate(SIDES)},
    }


def etr_per_h(runs: Iterable[Values]) -> float | None:
    """Units of work per hour of elapsed time, as a ratio of sums; None if a run lacks one of them."""
    units = elapsed = 0.0
    for run in runs:
        done, time = run["metrics"].get("units"), run["elapsed_s"]
        if done is None or time is None:
            return None
        units += done
        elapsed += time
    return short(3600.0 * units / elapsed, PRINTED) if elapsed else None


def _end(runs: Sequence[Values], rounds: Sequence[Round], index: int) -> Values | None:
    """CPU time and KPIs of one end; None if a run lacks its CPU time."""
    given = [(run["cpu"] or {}).get(SIDES[index]) for run in runs]
    windows = [found for found in map(kpi.background, given) if found is not None]
    if not windows or len(windows) < len(given):
        return None
    sums = [found for found in (item.cpu[index] for item in rounds) if found is not None]
    known = kpi.kpi(kpi.add(sums), None) if sums else None
    share_only = any("busy_pct" in (window or {}) for window in given)
    return {
        "utilization_pct": short(kpi.idle_pct(windows), PRINTED),
        "cpu_s": None if share_only else short(sum(window.busy_s for window in windows), PRINTED),
        "cpu_us_per_unit": known and short(known.cpu_us_per_unit, PRINTED),
        "itr_per_h": known and short(known.itr_per_h, PRINTED),
        "itr_reason": known.itr_reason if known else "the units of work are not known",
    }
