# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section of the report about CPU time per unit of work and ITR."""

from collections.abc import Iterator
from typing import NamedTuple

from markupsafe import Markup

from .._compare.shapes import Comparison, Part
from .._pages import blocks as ui
from .._pages.svg import AFTER, BEFORE, Axis, circle, diamond, el, strip
from .._pages.text import ARROW, gain, listed, measured, number, percent, plural, probability
from . import view
from .results import Shown

COLUMNS = ("Host pair", "Workload", "End", ("CPU", "num"), ("Before and after", "drawn"))
FIGURES = ("Gain", "p (Holm)", "Utilization", "Softirq", "Steal", "ETR per hour", "ITR per hour")
CPU_METRIC = "cpu_us_per_unit"
SHARES = ("utilization_pct", "softirq_pct", "steal_pct")
MICROSECONDS = "\u00b5s"
WIDTH = 120  # of a drawing
KEY = ui.Key([({"before": BEFORE}, "before"), ({"after": AFTER}, "after")])
LOGARITHMIC_FROM = 30.0  # times the smallest cost; below, a linear axis from 0 is the honest one


class Cost(NamedTuple):
    """A secondary metric of a comparison before and after, with the KPI of its end, if it has one."""

    item: Comparison
    what: str
    entry: Part
    kpis: list[Part]

    def figures(self) -> list[object]:
        """The values of the metric in both states."""
        states = zip(("before", "after"), self.kpis, strict=True)
        return [self.entry.get(state, kpi.get(CPU_METRIC)) for state, kpi in states]

    def known(self) -> list[float]:
        """CPU time before and after; empty unless both are known."""
        found = [value for value in self.figures() if isinstance(value, (int, float)) and value > 0]
        return found if len(found) == 2 and self.entry.get("unit", MICROSECONDS) == MICROSECONDS else []


def costs_of(item: Comparison) -> Iterator[Cost]:
    """Those of each end that has CPU figures, then the other secondary metrics."""
    kpi, secondary = item["kpi"], {str(entry["metric"]): entry for entry in item["secondary"]}
    for end in ("client", "server"):
        entry = secondary.pop(f"{CPU_METRIC}_{end}", None) or secondary.pop(CPU_METRIC, None) or {}
        values = kpi.get(end) or {}
        if values or entry:
            what = "both, one kernel" if kpi.get("shared_kernel") else end
            yield Cost(item, what, entry, [values.get(state) or {} for state in ("before", "after")])
    yield from (Cost(item, view.metric_words(name), entry, [{}, {}]) for name, entry in secondary.items())


def make_costs(shown: Shown) -> ui.Section:
    """The section, with a row for each end of the comparisons that are shown in full."""
    title, items = "CPU time and ITR", [item for item in shown.items if not item["control"]]
    costs = [cost for item in items for cost in costs_of(item)]
    if not costs:
        return ui.Section(title, [ui.Paragraph("No record holds CPU times.")], "cpu")
    units = sorted({str(item["unit_of_work"]) for item in items if item["unit_of_work"]}) or ["unit"]
    meaning = (
        f"CPU time per unit of work ({listed(units, 4)}) is a ratio of sums, net of the idle background. ETR is units"
        " per hour of elapsed time; ITR is ETR divided by utilization, and is given only where the net utilization is"
        " 5 % or more."
    )
    shared = "Where both ends run on one kernel, the figures are those of the whole machine and are shown once."
    left = len(shown.judged) - len(items)
    more = f"Shown for the comparisons to look at first; {plural(left, 'comparison')} more in report.json."
    told = [meaning, *([shared] if any(item["kpi"].get("shared_kernel") for item in items) else [])]
    axis = make_axis(costs)
    scale = f"the drawings share an axis, which {'is logarithmic' if axis.log else 'begins at 0'}; less is better"
    columns = [*COLUMNS, *((name, "num") for name in FIGURES)]
    rows = [_row(cost, len(units) > 1, axis) for cost in costs]
    table = ui.Table("CPU time per unit of work", columns, rows, scale, "wide", most=len(rows))
    blocks = [*map(ui.Paragraph, [*told, *([more] if left else [])]), ui.Group(lambda: [KEY]), table]
    return ui.Section(title, blocks, "cpu")


def make_axis(costs: list[Cost]) -> Axis:
    """The axis that all drawings share."""
    values = [value for cost in costs for value in cost.known()] or [1.0]
    axis = Axis(values, 8, WIDTH - 8, log=max(values) / min(values) > LOGARITHMIC_FROM)
    axis.low = axis.low if axis.log else 0.0
    return axis


def draw(cost: Cost, axis: Axis) -> Markup:
    """Both values on a line; empty if one is missing."""
    places = [axis.at(value) for value in cost.known()]
    if not places:
        return Markup("")
    line = el("path", d=f"M{places[0]:.1f} 12H{places[1]:.1f}", cls="run change")
    before = el("path", d=circle(places[0], 12, 4), cls="run before")
    return strip(line, before, el("path", d=diamond(places[1], 12, 5), cls="run after"), width=WIDTH)


def _row(cost: Cost, units: bool, axis: Axis) -> ui.Row:
    item, entry, kpis = cost.item, cost.entry, cost.kpis
    end = cost.what, f"per {item['unit_of_work']}" if units and item["unit_of_work"] else "", entry.get("flag")
    values = _change(*(measured(value, entry.get("unit", MICROSECONDS)) for value in cost.figures()))
    tested = gain(entry.get("ratio")), probability(entry.get("p_holm"))
    shares = [_change(*(percent(kpi.get(key)) for kpi in kpis)) for key in SHARES]
    etr = _change(*(number(kpi.get("etr_per_h")) for kpi in kpis))
    weak = (f"{number(kpi.get('itr_per_h'))}{' (weak)' if kpi.get('itr_weak') else ''}" for kpi in kpis)
    notes = [
        f"{title}: {'; '.join(reasons)}."
        for title, key in (("No ITR", "itr_reason"), ("Weak ITR", "itr_weak"))
        if (reasons := [*dict.fromkeys(filter(None, (kpi.get(key) for kpi in kpis)))])
    ]
    named = [view.pair_name(item), view.workload_name(item), end]
    return ui.Row([*named, values, draw(cost, axis), *tested, *shares, etr, _change(*weak)], notes)


def _change(before: str, after: str) -> ui.Text:
    return before, f"{ARROW} {after}"
