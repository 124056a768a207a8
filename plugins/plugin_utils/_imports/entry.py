# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One imported row as a whole: required fields, contradictions, and the deciding figure."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from .._records.round import SIDES, microseconds
from .fields import FieldError, merged, parse, show
from .rows import Row

PEER = "local"
"""The peer of a row that names none."""

REQUIRED = ("change", "host", "phase", "workload")
METRICS = {"elapsed_s": ("s", "lower"), "latency_us": ("µs", "lower")}
"""Figures of a row that can decide, with their unit and direction; any other is one of its ``metrics``."""
OWN_METRICS = {name: name for name in ("elapsed_s", "latency_us", "units")}
OWN_METRICS |= {f"utilization_pct_{side}": f"{side}.utilization_pct" for side in SIDES}
"""Metrics that are fields of their own in a row."""

Values = dict[str, Any]
Key = tuple[str, str, str, str, str]  # change, host, peer, workload, phase


class Entry(NamedTuple):
    """A checked row; ``number`` is its round."""

    where: str
    values: Values
    number: int = 0

    @property
    def key(self) -> Key:
        """The state whose rounds it belongs to."""
        values = self.values
        return values["change"], values["host"], values.get("peer", PEER), values["workload"], values["phase"]


def entry_of(row: Row, defaults: Mapping[str, Any]) -> Entry:
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
    _elapsed(values)
    _succeeded(values)
    for side in SIDES:
        _one_way(values, side)
    if values["ok"]:
        values["metrics"] = _metrics(values)
        values["metric"] = _metric(values)
    return Entry(row.where, values)


def _elapsed(values: Values) -> None:
    """Fill in ``elapsed_s`` from begin and end, or check that the three agree."""
    begin, end = microseconds(values.get("started")), microseconds(values.get("finished"))
    if begin is None or end is None:
        return
    if end <= begin:
        raise FieldError("finished is not after started")
    between = (end - begin) / 1e6
    elapsed = values.setdefault("elapsed_s", between)
    # Times of job logs are whole seconds, and so are both ends.
    if abs(elapsed - between) > max(2.0, 0.01 * between):
        raise FieldError(f"elapsed_s is {elapsed:g}, but from started to finished it is {between:g}")


def _succeeded(values: Values) -> None:
    if "error" in values and values.get("ok"):
        raise FieldError("ok is true, and there is an error")
    values.setdefault("ok", "error" not in values)
    if not values["ok"] and "error" not in values:
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
