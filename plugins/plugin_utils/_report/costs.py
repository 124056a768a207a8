# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section of the report about CPU time per unit of work and ITR."""

from markupsafe import Markup

from .._compare.shapes import Part
from .._pages import blocks as ui
from .._pages.svg import AFTER, BEFORE, Axis, circle, diamond, el, strip
from .._pages.text import ARROW, gain, listed, measured, number, percent, plural, probability
from . import view
from .results import Shown

COLUMNS = ("Host pair", "Workload", "End", ("CPU", "num"), ("Before and after", "drawn"))
FIGURES = ("Gain", "p (Holm)", "Utilization", "Softirq", "Steal", "ETR per hour", "ITR per hour")
SHARES = ("utilization_pct", "softirq_pct", "steal_pct")
WIDTH = 120
KEY = ui.Key([({"before": BEFORE}, "before"), ({"after": AFTER}, "after")])
LOGARITHMIC_FROM = 30.0  # times the smallest cost; below, a linear axis from 0 is the honest one


def make_costs(shown: Shown) -> ui.Section:
    """The section, with a row for each end of the comparisons that are shown in full."""
    title, items = "CPU time and ITR", [item for item in shown.items if not item["control"]]
    rows = [row for item in items for row in view.cpu_rows(item)]
    if not rows:
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
    axis = _axis(rows)
    scale = f"the drawings share an axis, which {'is logarithmic' if axis.log else 'begins at 0'}; less is better"
    columns = [*COLUMNS, *((name, "num") for name in FIGURES)]
    lines = [_row(row, len(units) > 1, axis) for row in rows]
    table = ui.Table("CPU time per unit of work", columns, lines, scale, "wide", most=len(lines))
    blocks = [*map(ui.Paragraph, [*told, *([more] if left else [])]), ui.Group(lambda: [KEY]), table]
    return ui.Section(title, blocks, "cpu")


def _costs(row: Part) -> list[float]:
    """CPU time before and after; empty unless both are known."""
    found = [row[state] for state in ("before", "after") if isinstance(row[state], (int, float)) and row[state] > 0]
    return found if len(found) == 2 and row["unit"] == "\u00b5s" else []


def _axis(rows: list[Part]) -> Axis:
    costs = [cost for row in rows for cost in _costs(row)] or [1.0]
    axis = Axis(costs, 8, WIDTH - 8, log=max(costs) / min(costs) > LOGARITHMIC_FROM)
    axis.low = axis.low if axis.log else 0.0
    return axis


def draw_costs(row: Part, axis: Axis) -> Markup:
    """Both costs of a row on a line; empty if one is missing."""
    places = [axis.at(cost) for cost in _costs(row)]
    if not places:
        return Markup("")
    line = el("path", d=f"M{places[0]:.1f} 12H{places[1]:.1f}", cls="run change")
    before = el("path", d=circle(places[0], 12, 4), cls="run before")
    return strip(line, before, el("path", d=diamond(places[1], 12, 5), cls="run after"), width=WIDTH)


def _row(row: Part, units: bool, axis: Axis) -> ui.Row:
    item, before, after = row["item"], row["kpi_before"], row["kpi_after"]
    cost, *changes = [
        [measured(row[side], row["unit"]) for side in ("before", "after")],
        *([percent(side.get(key)) for side in (before, after)] for key in SHARES),
        [number(side.get("etr_per_h")) for side in (before, after)],
        [view.itr(side) for side in (before, after)],
    ]
    end = row["what"], f"per {row['unit_of_work']}" if units and row["unit_of_work"] else "", row["flag"]
    named = [view.pair_name(item), view.workload_name(item), end]
    figures = [_change(*cost), draw_costs(row, axis), gain(row["ratio"]), probability(row["p"])]
    notes = [
        f"{title}: {'; '.join(reasons)}."
        for title, key in (("No ITR", "itr_reason"), ("Weak ITR", "itr_weak"))
        if (reasons := [*dict.fromkeys(filter(None, (before.get(key), after.get(key))))])
    ]
    return ui.Row([*named, *figures, *(_change(*change) for change in changes)], notes)


def _change(before: str, after: str) -> ui.Text:
    return before, f"{ARROW} {after}"
