# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as one HTML file: no script, nothing loaded, one style sheet that the security policy names by hash.

Up to :data:`FLEET_FROM` comparisons everything is shown. Above, a fleet view comes first, the worst comparisons are
shown in full, all others as one line each in folded tables, and the page says which content is only in the other files.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .._compare.shapes import Comparison, Report
from .._pages import text
from .._pages.html import page
from .._pages.text import Runs
from . import charts, pooled, view
from .cpu_chart import cpu_chart
from .run_chart import RUNS_DRAWN, run_chart

FLEET_FROM = 60  # comparisons, controls not counted
WORST = 40  # comparisons drawn and shown in full in a fleet
CHARTS = 24  # run charts in a fleet
DENSE_ROWS = 8000  # one-line rows of a fleet, about 250 bytes each
GROUPS = 200  # different outcomes or fingerprint lines
SENTENCES = 200  # warnings or problems

SECTIONS = (
    ("next", "What to do next"),
    ("experiment", "The experiment"),
    ("overview", "Result at a glance"),
    ("pairs", "Results in figures"),
    ("cpu", "CPU time and ITR"),
    ("changes", "What changed"),
    ("context", "Settings of the application"),
    ("comparability", "Comparability and warnings"),
    ("not-measured", "Not measured"),
    ("method", "Method and limits"),
    ("data", "Raw data"),
    ("runs", "Annex: every run"),
)
HEADINGS = {"data": "Raw data and how to repeat it", "runs": "Annex: every run in time order"}
"""Of sections whose heading is longer than their title in the list of sections."""


def lines(report: Report, runs: Runs) -> Iterator[str]:
    yield from page(Path(__file__).parent, "report.html.j2", _context(report, runs), pooled, view)


def _context(report: Report, runs: Runs) -> dict[str, Any]:
    comparisons = [item for item in report["comparisons"] if not item["control"]]
    everything = view.ordered(report["comparisons"])
    fleet = len(comparisons) > FLEET_FROM
    material = float(report["thresholds"]["material_pct"])
    plotted = view.worst_first(comparisons)[:WORST] if fleet else everything
    together, hosts = pooled.shown(report), pooled.of_hosts(report)
    known = any(item["ratio"] for item in [*together, *plotted])
    changes, comparability = view.change_groups(report), view.comparability_groups(report)
    drawn = plotted[:CHARTS] if fleet else everything
    against = [level for level in view.levels_of(report) if not level["baseline"]]
    cpu_items = plotted if fleet else [item for item in everything if not item["control"]]
    costs = [row for item in cpu_items for row in view.cpu_rows(item)]
    return {
        "report": report,
        "sections": sections(report),
        "headings": HEADINGS | {"overview": "The fleet at a glance"} if fleet else HEADINGS,
        "tally": [(verdict, report["counts"].get(word, 0)) for word, verdict in text.VERDICT_STYLES.items()],
        "fleet": fleet,
        "comparisons": everything,
        "judged": len(comparisons),
        "plotted": plotted,
        "pooled": together,
        "pooled_left_out": pooled.host_counts(hosts),
        "intervals": [
            charts.interval_plot(f"plot-{form}", plotted, material, form, together)
            for form in ("flat" if fleet else "wide", "narrow")
            if known
        ],
        "domain": view.common_domain(plotted),
        "cpu_rows": costs,
        "cpu_plot": cpu_chart("cpu-plot", costs) if costs else "",
        "cpu_plot_narrow": cpu_chart("cpu-plot-narrow", costs, "narrow") if costs else "",
        "cpu_left_out": len(comparisons) - len(cpu_items),
        "units": sorted({str(item["unit_of_work"]) for item in cpu_items if item["unit_of_work"]}) or ["unit"],
        "shared_kernel": any(item["kpi"].get("shared_kernel") for item in everything),
        "changes": changes[:GROUPS],
        "changes_left_out": max(0, len(changes) - GROUPS),
        "comparability": comparability[:GROUPS],
        "comparability_left_out": max(0, len(comparability) - GROUPS),
        "warnings": _first(report["warnings"]),
        "problems": _first(report["problems"]),
        "charts": _charts(report, runs, drawn),
        "charts_left_out": len(everything) - len(drawn),
        "not_measured": view.not_measured_groups(report)[:GROUPS],
        "context_rows": view.context_rows(report)[:GROUPS],
        "level_plots": [
            charts.level_plot(f"levels-{form}", against, material, form) for form in ("wide", "narrow") if against
        ],
        **(_fleet_context(everything, comparisons, material) if fleet else {}),
    }


def sections(report: Report) -> list[tuple[str, str]]:
    """The sections that this report has."""
    known = {
        "experiment": report["experiment"],
        "context": report["context"] or report["declared"],
    }
    return [section for section in SECTIONS if known.get(section[0], True)]


def _fleet_context(
    everything: Sequence[Comparison], comparisons: Sequence[Comparison], material: float
) -> dict[str, Any]:
    workloads = view.by_workload(everything)
    share = max(1, DENSE_ROWS // len(workloads))
    return {
        "distribution": charts.distribution_plot("spread", comparisons, material),
        "workloads": workloads,
        "dense": [(row.comparisons if row.control else view.worst_first(row.comparisons))[:share] for row in workloads],
    }


def _first(sentences: Sequence[str]) -> list[str]:
    more = len(sentences) - SENTENCES
    return [*sentences[:SENTENCES], *([f"{more:,} more in report.json."] if more > 0 else [])]


def _charts(report: Report, runs: Runs, items: Sequence[Comparison]) -> list[dict[str, Any]]:
    found_runs = view.runs_of(runs, (view.key_of(item) for item in items))
    found = []
    for index, item in enumerate(items):
        states = view.states_of(report, item)
        mine = [
            {**run, "phase": states[run["phase"]]} for run in found_runs[view.key_of(item)] if run["phase"] in states
        ]
        if not mine:
            continue
        failed = sum(1 for run in mine if not run["ok"])
        high = [run["value"] for run in mine if run["ok"] and run["value"] is not None and not run["warmup"]]
        note = text.plural(len(mine), "run") + (f", {failed} failed" if failed else "")
        if high:
            note += f"; {text.number(min(high))} to {text.number(max(high))} {item['unit'] or ''} without warm-up"
        if len(mine) > RUNS_DRAWN:
            note += f"; the first {RUNS_DRAWN:,} are drawn, all are in report.csv"
        found.append({"item": item, "note": note, "svg": run_chart(f"runs-{index}", item, mine)})
    return found
