# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as one HTML file: no script, nothing loaded, one style sheet that the security policy names by hash.

Up to :data:`FLEET_FROM` comparisons everything is shown. Above, a fleet view comes first, the worst comparisons are
shown in full, all others as one line each in folded tables, and the page says what it left to the other files.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jinja2
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import charts, text, view
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report.text import Item, Report, Runs
from markupsafe import Markup

FLEET_FROM = 60  # comparisons, controls not counted
WORST = 40  # comparisons drawn and shown in full in a fleet
CHARTS = 24  # run charts in a fleet
DENSE_ROWS = 8000  # one-line rows of a fleet, about 250 bytes each
GROUPS = 200  # different outcomes or fingerprint lines
SENTENCES = 200  # warnings or problems
LONGEST = 2000  # characters of one text

CPU_METRIC = "cpu_us_per_round_trip"

SECTIONS = (
    ("next", "What to do next"),
    ("overview", "Result at a glance"),
    ("pairs", "Results by host pair"),
    ("cpu", "CPU time and ITR"),
    ("changes", "What changed"),
    ("comparability", "Comparability and warnings"),
    ("runs", "Every run in time order"),
    ("not-measured", "Not measured"),
    ("method", "Method and limits"),
    ("data", "Raw data"),
)


def lines(report: Report, runs: Runs) -> Iterator[str]:
    """The page in pieces; joined they are the file."""
    page = environment().get_template("page.html.j2")
    yield from page.generate(**_context(report, runs))


@functools.cache
def environment() -> jinja2.Environment:
    """Templates with autoescape on; every value that is printed is cleaned and cut to :data:`LONGEST` first."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        finalize=_printed,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.ChainableUndefined,
    )
    forms = {"percent": text.percent, "number": text.number}
    env.filters.update(
        css=lambda item: text.verdict_of(item).css,
        symbol=lambda item: text.verdict_of(item).symbol,
        word=text.verdict_word,
        pair=view.pair_name,
        ways=view.ways,
        metric=view.metric_words,
        interval=text.interval,
        shown=lambda value, form: forms[form](value),
        plural=lambda count, *words: text.plural(count if isinstance(count, int) else 0, *words),
        number=text.number,
        measured=text.measured,
        percent=text.percent,
        gain=text.gain,
        probability=text.probability,
        moment=text.moment,
        opaque=lambda value: text.opaque(None if isinstance(value, jinja2.Undefined) else value)[:100],
        conflict=text.conflict_words,
        listed=text.listed,
    )
    return env


def _printed(value: object) -> object:
    if isinstance(value, Markup):
        return value
    if value is None or isinstance(value, jinja2.Undefined):
        return ""
    return text.shorten(text.clean(value), LONGEST)


@functools.cache
def _style() -> tuple[Markup, str]:
    css = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    digest = hashlib.sha256(css.encode()).digest()
    return Markup(css), base64.b64encode(digest).decode("ascii")


def _context(report: Report, runs: Runs) -> dict[str, Any]:
    css, css_hash = _style()
    comparisons = [item for item in report.get("comparisons") or () if not item.get("control")]
    everything = view.ordered(report.get("comparisons") or ())
    fleet = len(comparisons) > FLEET_FROM
    material = float(report["thresholds"]["material_pct"])
    plotted = view.worst_first(comparisons)[:WORST] if fleet else everything
    changes, comparability = view.change_groups(report), view.comparability_groups(report)
    drawn = plotted[:CHARTS] if fleet else everything
    counts = report["counts"]
    cpu_items = plotted if fleet else [item for item in everything if not item.get("control")]
    return {
        "report": report,
        "css": css,
        "css_hash": css_hash,
        "arrow": text.ARROW,
        "dash": text.DASH,
        "level": text.percent(report["thresholds"].get("confidence_pct", 95.0), 0),
        "sections": SECTIONS,
        "tally": [(verdict, counts.get(word, 0)) for word, verdict in text.VERDICTS.items()],
        "fleet": fleet,
        "comparisons": everything,
        "judged": len(comparisons),
        "plotted": plotted,
        "intervals": charts.interval_plot("plot", plotted, material, "flat" if fleet else "wide") if plotted else "",
        "intervals_narrow": charts.interval_plot("plot-narrow", plotted, material, "narrow") if plotted else "",
        "pairs": view.by_pair(everything),
        "cpu_rows": [row for item in cpu_items for row in cpu_rows(item)],
        "cpu_left_out": len(comparisons) - len(cpu_items),
        "shared_kernel": any((item.get("kpi") or {}).get("shared_kernel") for item in everything),
        "changes": changes[:GROUPS],
        "changes_left_out": max(0, len(changes) - GROUPS),
        "comparability": comparability[:GROUPS],
        "comparability_left_out": max(0, len(comparability) - GROUPS),
        "warnings": _first(report.get("warnings") or ()),
        "problems": _first(report.get("problems") or ()),
        "charts": _charts(runs, drawn),
        "charts_left_out": len(everything) - len(drawn),
        "not_measured": view.not_measured_groups(report)[:GROUPS],
        **(_fleet_context(everything, comparisons, material) if fleet else {}),
    }


def _fleet_context(everything: Sequence[Item], comparisons: Sequence[Item], material: float) -> dict[str, Any]:
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


def _charts(runs: Runs, items: Sequence[Item]) -> list[dict[str, Any]]:
    found_runs = view.runs_of(runs, (view.key_of(item) for item in items))
    found = []
    for index, item in enumerate(items):
        mine = found_runs[view.key_of(item)]
        if not mine:
            continue
        failed = sum(1 for run in mine if not run.get("ok"))
        high = [
            run["value"] for run in mine if run.get("ok") and run.get("value") is not None and not run.get("warmup")
        ]
        note = text.plural(len(mine), "run") + (f", {failed} failed" if failed else "")
        if high:
            note += f"; {text.number(min(high))} to {text.number(max(high))} {item.get('unit') or ''} without warm-up"
        if len(mine) > charts.RUNS_DRAWN:
            note += f"; the first {charts.RUNS_DRAWN:,} are drawn, all are in report.csv"
        found.append({"item": item, "note": note, "svg": charts.run_chart(f"runs-{index}", item, mine)})
    return found


def cpu_rows(item: Item) -> list[dict[str, Any]]:
    """One row for each end of a comparison that has CPU figures, then one for each further secondary metric."""
    kpi = item.get("kpi") or {}
    secondary = {str(entry.get("metric")): entry for entry in item.get("secondary") or ()}
    rows = []
    for end in ("client", "server"):
        found = secondary.pop(f"{CPU_METRIC}_{end}", None) or secondary.pop(CPU_METRIC, None)
        values = kpi.get(end)
        if not values and not found:
            continue
        before, after = ((values or {}).get(phase) or {} for phase in ("before", "after"))
        measured = found or {}
        rows.append(
            {
                "item": item,
                "what": "both, one kernel" if kpi.get("shared_kernel") else end,
                "unit": "\u00b5s",
                "before": measured.get("before", before.get(CPU_METRIC)),
                "after": measured.get("after", after.get(CPU_METRIC)),
                "ratio": measured.get("ratio"),
                "p": measured.get("p_holm"),
                "flag": measured.get("flag"),
                "kpi_before": before,
                "kpi_after": after,
            }
        )
    for name, entry in secondary.items():
        row = {key: entry.get(key) for key in ("unit", "before", "after", "ratio", "flag")}
        rows.append(
            {
                "item": item,
                "what": view.metric_words(name),
                **row,
                "p": entry.get("p_holm"),
                "kpi_before": {},
                "kpi_after": {},
            }
        )
    return rows
