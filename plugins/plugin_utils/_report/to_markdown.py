# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as Markdown for a ticket: verdict, next steps and tables; everything that comes from hosts is escaped."""

from collections.abc import Iterator, Sequence

from .._compare.shapes import Comparison, Finding, Report
from .._pages import text
from .._pages.markdown import ROWS, bullets, escape, section, sentence, table
from .._pages.text import Runs
from . import pooled, view


def lines(report: Report, _runs: Runs | None = None) -> Iterator[str]:
    """The document, one section per piece."""
    parts = (_head, _pooled, _experiment, _results, _costs, _changes, _warnings, _not_measured)
    for part in parts:
        yield from part(report)
    yield from section("Method and limits", bullets(report["method"]))
    repeat = report["repeat"]
    if repeat:
        # an indented block, because nothing within a line can end it as backquotes end a fenced one
        block = "\n".join("    " + text.one_line(line) for line in str(repeat).splitlines())
        yield from section("How to repeat it", [block, "\n"])


def _head(report: Report) -> Iterator[str]:
    verdict = text.verdict_of(report)
    yield f"# {verdict.symbol} {text.verdict_word(report)}: change {escape(report['change'])}\n\n"
    yield f"{escape(report['headline'])}\n\n"
    if view.decision(report):
        yield f"**{view.decision(report)}**\n\n"
    hosts, protocol, period = report["hosts"], report["protocol"], report["period"]
    facts = {
        "Hosts": f"{hosts.get('measured')} measured, {hosts.get('not_measured')} not measured",
        "Period": f"{text.moment(period.get('first'))} to {text.moment(period.get('last'))}",
        "Measured with": ", ".join(report["tools"]) or text.DASH,
        "Protocol": f"{', '.join(protocol.get('names') or ()) or text.DASH}; {protocol.get('evidence') or text.DASH}",
        "Material limit": text.percent(report["thresholds"].get("material_pct")),
    }
    yield from (f"- **{name}:** {escape(value)}\n" for name, value in facts.items())
    steps = report["next_steps"]
    yield from section("What to do next", [f"{place}. {sentence(step)}\n" for place, step in enumerate(steps, 1)])


def _experiment(report: Report) -> Iterator[str]:
    experiment = report["experiment"]
    if not experiment:
        return
    progress = experiment["progress"]
    facts = [
        f"- **Winner:** {escape(experiment.get('winner') or 'none')}\n",
        f"- **Progress:** {progress.get('done')} of {progress.get('steps')} steps\n",
        f"- **Baseline:** {escape(experiment.get('baseline'))}; seed {escape(experiment.get('seed'))}\n",
    ]
    ended = (progress.get("sessions") or [{}])[-1].get("failures") or {}
    failures = [f"{host}: {reason}" for host, reason in sorted(ended.items())]
    facts += [f"- **Ended early:** {escape('; '.join(failures))}\n"] * bool(failures) + ["\n"]
    rows = [
        [
            level["name"],
            "; ".join(text.opaque(level.get("vars") or {})),
            "baseline" if level["baseline"] else f"{text.verdict_of(level).symbol} {text.verdict_word(level)}",
            text.gain(level["ratio"]),
            text.interval(level),
            " · ".join(level["guards"] or ()),
        ]
        for level in view.levels_of(report)[:ROWS]
    ]
    header = ("Level", "Settings", "Verdict", "Gain", "Interval", "Guards")
    yield from section("The experiment", [*facts, *table(header, rows)])


def _pooled(report: Report) -> Iterator[str]:
    """The rows that decide and the hosts that a reader must see first."""
    rows = pooled.shown(report)
    body = [
        [
            f"{pooled.title(row)} ({pooled.extent(row)})",
            text.gain(row["ratio"]),
            f"{text.interval(row)} ({pooled.level(row)})" if row["low"] or row["high"] else text.DASH,
            f"{text.verdict_of(row).symbol} {text.verdict_word(row)}",
            _said(row, pooled.deviations(row), pooled.control(row)),
        ]
        for row in rows
    ]
    left_out = pooled.host_counts(pooled.of_hosts(report))
    told = table(("Pooled", "Gain", "Interval", "Verdict", "Reason"), body)
    yield from section("All workloads together", [*told, *([f"\n{left_out}\n"] if left_out else [])])


def _said(item: Finding, *more: str) -> str:
    """Reason, further sentences, guards and flags in one cell."""
    parts = [str(item["reason"] or ""), *more, *item["guards"], *item["flags"]]
    return " · ".join(filter(None, parts))


def _results(report: Report) -> Iterator[str]:
    comparisons = report["comparisons"]
    rows = [
        [word.symbol + " " + word.word, text.number(report["counts"].get(word.word, 0))]
        for word in text.VERDICT_STYLES.values()
    ]
    yield from section("Single comparisons", table(("Verdict", "Comparisons"), rows))
    if not comparisons:
        return
    fleet = len(comparisons) > ROWS
    shown = _shown(comparisons)
    if fleet:
        judged = sum(1 for item in comparisons if not item["control"])
        yield f"\nThe {len(shown)} comparisons to look at first, of {judged:,}; all are in report.json.\n"
    header = ("Host pair", "Workload", "Before", "After", "Gain", "Interval", "p", "Verdict", "Reason")
    yield from ["\n", *table(header, [_row(item) for item in shown])]


def _shown(items: Sequence[Comparison]) -> list[Comparison]:
    """All comparisons in their order, or the most important ones if a ticket has no room for all."""
    return view.worst_first(items)[:ROWS] if len(items) > ROWS else view.ordered(items)


def _row(item: Comparison) -> list[object]:
    unit, way = item["unit"] or "", view.ways(item)
    medians = [text.measured(side["median"], unit) for side in (item["before"], item["after"])]
    return [
        view.pair_name(item),
        f"{view.workload_name(item)}{' (control)' if item['control'] else ''}",
        *medians,
        text.gain(item["ratio"]),
        text.interval(item),
        text.probability(item["p"]),
        f"{text.verdict_of(item).symbol} {text.verdict_word(item)}",
        _said(item, f"Transport: {way}." if way else ""),
    ]


def _costs(report: Report) -> Iterator[str]:
    """CPU costs of the comparisons that are in the results."""
    rows = [
        [
            view.pair_name(row["item"]),
            view.workload_name(row["item"]),
            row["what"],
            text.measured(row["before"], row["unit"]),
            text.measured(row["after"], row["unit"]),
            text.gain(row["ratio"]),
            *(view.itr(row[state]) for state in ("kpi_before", "kpi_after")),
        ]
        for item in _shown([item for item in report["comparisons"] if not item["control"]])
        for row in view.cpu_rows(item)
    ]
    sides = ("CPU before", "CPU after", "Gain", "ITR per hour before", "ITR per hour after")
    yield from section("CPU time per unit of work", table(("Host pair", "Workload", "End", *sides), rows))


def _changes(report: Report) -> Iterator[str]:
    rows: list[list[object]] = []
    for group in view.change_groups(report)[:ROWS]:
        item = group.item
        before, after = (", ".join(text.opaque((item.get(side) or {}).get("running"))) for side in ("before", "after"))
        effect = {"True": "yes", "False": "NO"}.get(str(item["took_effect"]), "unknown")
        knob = f"{item['name']} {item['subject'] or ''}"
        rows.append([text.listed(group.members, 6), knob, before, after, item["verdict"], effect, item["reason"]])
    header = ("Hosts", "Tuning", "Running before", "Running after", "Verdict of the tuning", "Took effect", "Reason")
    yield from section("What changed", table(header, rows))


def _warnings(report: Report) -> Iterator[str]:
    sentences = [*report["warnings"], *report["problems"]]
    yield from section("Warnings and problems", bullets(sentences))
    differing = [g for g in view.comparability_groups(report) if g.item["before"] != g.item["after"]]
    rows = [
        [
            group.item["item"],
            ", ".join(text.opaque(group.item["before"])),
            ", ".join(text.opaque(group.item["after"])),
            "declared" if group.item["declared"] else "must match" if group.item["must_match"] else "shown only",
            text.listed(group.members, 6),
        ]
        for group in differing[:ROWS]
    ]
    yield from section(
        "Differences between the phases", table(("Item", "Before", "After", "Result", "Host pairs"), rows)
    )


def _not_measured(report: Report) -> Iterator[str]:
    groups = view.not_measured_groups(report)[:ROWS]
    rows = [[group.item["reason"], len(group.members), text.listed(group.members, 20)] for group in groups]
    yield from section(
        "Not measured", table(("Reason", "Hosts", "Names"), rows) or ["Every expected host was measured.\n"]
    )
