# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as a page: a function for each section, in the order of a reader's questions.

Up to :data:`results.FLEET_FROM` comparisons everything is shown. Above, a fleet view comes first, the worst comparisons
are shown in full, all others as one line each in folded tables, and the page says what is only in the other files.
"""

from collections.abc import Iterator, Sequence

from .._compare.shapes import Comparison, Part, Report
from .._pages import blocks as ui
from .._pages import text
from .._pages.svg import AFTER, BEFORE
from .._pages.text import DASH, Runs, Style, gain, listed, natural, number, opaque, plural
from . import view
from .charts import RatioAxis
from .costs import make_costs
from .results import DRAWN, Shown, choose, make_figures, make_overview, show_interval
from .run_chart import RUNS_DRAWN, run_chart

CHARTS = 24  # run charts in a fleet
LEVELS = ("Level", "Settings", ("Comparisons", "num"), DRAWN, ("Gain", "num"), ("Interval", "num"), "Verdict")
PLACES = (("running", "running"), ("stored", "stored"), ("next_boot", "at next boot"))
EFFECTS = {"True": Style("yes", "\u2713", ""), "False": Style("no", "\u2717", "regressed")}
UNKNOWN_CHANGE = (
    "No tuning of this collection was recorded for this change: this report does not know the change between the"
    " phases, nor whether it took effect."
)
RUN_KEY = ui.Key(
    [
        ({"before": BEFORE}, "before (B)"),
        ({"after": AFTER}, "after (A), tinted"),
        ({"median": "M2 7h18"}, "median of the round"),
        ({"warmup": "M7 7h8m-4-4v8"}, "warm-up, not counted"),
        ({"failed": "M7 3l8 8m0-8l-8 8"}, "failed"),
        ({"beyond": "M5 2l5 9h-10zM16 11l5-9h-10z"}, "above or below the axis"),
    ]
)


def make_page(report: Report, runs: Runs) -> ui.Page:
    """The page; ``runs`` are asked only for the charts of single runs."""
    change, experiment, shown = report["change"], report["experiment"], choose(report)
    return ui.Page(
        ["Experiment " if experiment else "Before/after report of change ", ui.Code(change)],
        report["headline"],
        [
            ui.Section("What to do next", [ui.Steps(report["next_steps"] or ["Nothing to do."])], "next"),
            ui.Section("The experiment", [*_experiment(shown, experiment or {})], "experiment"),
            make_overview(shown),
            make_figures(shown),
            make_costs(shown),
            ui.Section("What changed", _changes(report), "changes"),
            ui.Section("Settings of the application", [*_context(report)], "context"),
            ui.Section("Comparability and warnings", [*_comparability(report)], "comparability"),
            ui.Section("Not measured", [_not_measured(report)], "not-measured"),
            ui.Section("Method and limits", [ui.Items(report["method"])], "method"),
            ui.Section("Raw data", [*_data(report)], "data"),
            ui.Section("Annex: every run", [ui.Group(lambda: _runs(shown, runs))], "runs", "annex"),
        ],
        f"Written by zpower.sap_tuning from the records of change {change}. The same records give the same bytes.",
        text.verdict_style(report),
        view.decision(report),
        "Single comparisons:",
        [(style, report["counts"].get(word, 0)) for word, style in text.VERDICT_STYLES.items()],
        rest="report.json",
        css=shown.axis.css("ratio"),
        tally_links="#only-" if shown.fleet else "",
    )


def _experiment(shown: Shown, experiment: Part) -> Iterator[ui.Block]:
    if not experiment:
        return
    progress, levels, winner = experiment["progress"], experiment["levels"], experiment["winner"]
    last = (progress.get("sessions") or [{}])[-1]
    done = f"{progress['done']:,} of {progress['steps']:,} steps{'' if progress['complete'] else ', not complete'}"
    design = f"{plural(experiment['rounds'], 'round')} of each of {len(levels)} levels in random order"
    found = [("Winner", _winner(winner, last)), ("Progress", done), ("Design", f"{design}, seed {experiment['seed']}")]
    yield ui.Facts(found)
    behind = [host for host in progress["hosts"] if host["done"] != progress["steps"]]
    if behind:
        told = listed([f"{host['host']} {host['done']} of {host['steps']}" for host in behind], 20)
        yield ui.Paragraph(f"Not complete: {told}. The same command continues the experiment.")
    if failures := last.get("failures"):
        yield ui.Paragraph("The last session ended early:")
        yield ui.Items([f"{host}: {reason}" for host, reason in sorted(failures.items())])
    factors = "; ".join(f"{item['name']}: {', '.join(map(str, item['levels']))}" for item in experiment["factors"])
    rows = [_level(level, winner, shown.axis) for level in view.levels_of(shown.report)]
    yield ui.Table("Levels", LEVELS, rows, f"Baseline: {experiment['baseline']}. {factors}", "wide")
    several = f" It is wider than that of one level alone, because {len(levels) - 1} levels are compared at once."
    yield ui.Paragraph(
        f"Each level is compared with the baseline: all workloads together, with the interval."
        f"{several if len(levels) > 2 else ''} Right is better; the shaded band is not material. Below, before is the"
        " baseline and after is the level."
    )


def _winner(winner: str | None, last: Part) -> ui.Text:
    if winner:
        kept = ", kept on the hosts" if last.get("kept") == winner else ", not kept" if last.get("ended") else ""
        return [Style(winner, "\u2605", "improved"), kept]
    as_found = last.get("ended") and not last.get("kept") and not last.get("failures")
    return f"none{'; the hosts were left as they were found' if as_found else ''}"


def _level(level: Part, winner: str | None, axis: RatioAxis) -> ui.Row:
    won = level["name"] == winner
    name = (Style(level["name"], "\u2605", ""), "winner") if won else level["name"]
    as_found = "as found" if level.get("found") else DASH
    cells = [name, ui.Lines(opaque(level["vars"])) if level.get("vars") else as_found]
    if level["baseline"]:
        return ui.Row([*cells, DASH, "", DASH, DASH, "baseline"], css="winner" if won else "")
    counts = ", ".join(f"{count} {word.lower()}" for word, count in sorted((level.get("verdicts") or {}).items()))
    guards = [[ui.Bold("Guard:"), f" {guard}"] for guard in level["guards"]]
    more = f"and {len(guards) - 3} more, at the single comparisons" if len(guards) > 3 else ""
    told = (text.verdict_style(level), counts, *guards[:3], more)
    drawn = axis.show({**level, "scope": "site"})
    figures = [number(level.get("comparisons")), drawn, gain(level["ratio"]), show_interval(level)]
    return ui.Row([*cells, *figures, told], css="winner" if won else "")


def _changes(report: Report) -> list[ui.Block]:
    """Each tuning with the same outcome on its hosts."""
    groups = view.change_groups(report)
    return [_change(group.item, group.members) for group in groups] or [ui.Paragraph(UNKNOWN_CHANGE)]


def _change(item: Part, hosts: Sequence[str]) -> ui.Group:
    known = {
        "Host" if len(hosts) == 1 else "Hosts": ui.Members(hosts),
        "Expected": ui.Lines(opaque(item["wanted"])),
        "Took effect": EFFECTS.get(str(item["took_effect"]), "unknown"),
        "Verdict of the tuning": ": ".join(filter(None, (item["verdict"], item["reason"]))),
        "Also set by": "; ".join(map(text.conflict_words, item["conflicts"] or ())),
        "Remarks": "; ".join(item.get("remarks") or ()),
        "Undo": item.get("undo"),
        "Sources": "; ".join(item.get("sources") or ()),
    }
    sides = [item[side] or {} for side in ("before", "after")]
    values = [ui.Row([name, *(ui.Lines(opaque(side.get(place))) for side in sides)]) for place, name in PLACES]
    knob = f"{item['name']} on {item['subject']}" if item["subject"] else item["name"]
    title = ", ".join(filter(None, (knob, item["contrast"])))
    table = ui.Table(f"{title} before and after", ("Value", "Before", "After"), values)
    return ui.Group([ui.Facts([fact for fact in known.items() if fact[1]], "terms"), table], "card", title)


def _context(report: Report) -> Iterator[ui.Block]:
    if report["declared"]:
        allowed = ", ".join(report["declared"])
        yield ui.Paragraph(f"Declared beforehand as allowed to differ: {allowed}. Everything else must match.")
    rows = [_setting(item) for item in report["context"]]
    if rows or report["declared"]:
        sub = "Settings outside the tunings of this collection, and the sources of imported figures."
        none = "No setting was stored with the records."
        yield ui.Table("Stored with the records", ("Setting", "Values", "Result"), rows, sub, otherwise=none)


def _setting(item: Part) -> ui.Row:
    """One value if all states share it, otherwise the values by state."""
    known = {state: ", ".join(map(str, values)) for state, values in item["values"].items()}
    alone = next(iter(known)) if len(known) == 1 else ""
    same = not alone and len({*known.values()}) == 1 and not any(len(values) > 1 for values in item["values"].values())
    states = sorted(known, key=lambda state: (state != "before", natural(state)))
    lines = [known[states[0]]] if same else [f"{state}: {known[state]}" for state in states]
    reading = "the same" if same else f"known only for {alone}" if alone else "differs"
    name = item["name"], "source" if item["kind"] == "source" else ""
    return ui.Row([name, ui.Lines(lines), Style(reading, "=" if same else "\u2260", "")])


def _comparability(report: Report) -> Iterator[ui.Block]:
    yield ui.Group([ui.Items(report["warnings"])], title="Warnings")
    yield ui.Group([ui.Items(report["problems"])], title="Problems with the data")
    if not report["warnings"] and not report["problems"]:
        yield ui.Paragraph("There are no warnings, and every record could be read.")
    rows = []
    for group in view.comparability_groups(report):
        values = [ui.Lines(opaque(group.item[side])) for side in ("before", "after")]
        members = ui.Members(group.members, "pair")
        rows.append(ui.Row([group.item["item"], *values, _fingerprint(group.item), members]))
    columns = ("Item", "Before", "After", "Result", "Host pairs")
    same = "The fingerprints of both ends are the same before and after."
    yield ui.Table("Fingerprints before and after", columns, rows, otherwise=same)


def _fingerprint(item: Part) -> Style:
    if item["before"] == item["after"]:
        return Style("the same", "=", "")
    if item["declared"] or not item["must_match"]:
        return Style("declared" if item["declared"] else "differs, shown only", "\u2260", "")
    return Style("must match", "\u2260", "incomparable")


def _not_measured(report: Report) -> ui.Block:
    groups = view.not_measured_groups(report)
    rows = [ui.Row([group.item["reason"], len(group.members), ui.Members(group.members)]) for group in groups]
    columns = ("Reason", ("Hosts", "num"), "Names")
    return ui.Table("Hosts without a measurement", columns, rows, otherwise="Every expected host was measured.")


def _data(report: Report) -> Iterator[ui.Block]:
    each = "One file for each host, phase, round, workload and peer is stored beside this report: "
    name = ui.Code("<host>/<phase>-<round>-<workload>-<peer>.json")
    yield ui.Paragraph([each, name, ", with every run and the raw output in it."])
    files = {"json": "holds this whole report", "csv": "one row per run", "md": "the text for a ticket"}
    yield ui.Items([[ui.Code(f"report.{form}"), f": {told}"] for form, told in files.items()])
    yield ui.Group([ui.Command(report["repeat"])] if report["repeat"] else [], title="Command to repeat")


def _runs(shown: Shown, runs: Runs) -> list[ui.Block]:
    """The charts of every run, in a fleet those of the comparisons to look at first."""
    items = shown.items[:CHARTS] if shown.fleet else shown.items
    found = view.runs_of(runs, (view.key_of(item) for item in items))
    drawn = []
    for index, item in enumerate(items):
        states = view.states_of(shown.report, item)
        mine = [{**run, "phase": states[run["phase"]]} for run in found[view.key_of(item)] if run["phase"] in states]
        if mine:
            unit = f" in {item['unit']}" if item["unit"] else ""
            caption = [ui.Bold(view.workload_name(item)), f"{unit}, {view.pair_name(item)}"]
            drawn.append(ui.Chart(run_chart(f"runs-{index}", item, mine), (caption, _note(item, mine))))
    if not drawn:
        return [ui.Paragraph("There are no runs to show.")]
    others = len(shown.report["comparisons"]) - len(items)
    left = (
        f"Drawn for the {len(drawn)} comparisons to look at first. The runs of {plural(others, 'other comparison')} are"
        " not drawn here; report.csv and report.json hold every run."
    )
    return [RUN_KEY, *([ui.Paragraph(left)] if others else []), ui.Group(drawn, "charts")]


def _note(item: Comparison, mine: Sequence[Part]) -> str:
    """How many runs a chart has, and within which values."""
    failed = sum(1 for run in mine if not run["ok"])
    values = [run["value"] for run in mine if run["ok"] and run["value"] is not None and not run["warmup"]]
    note = plural(len(mine), "run") + (f", {failed} failed" if failed else "")
    if values:
        note += f"; {number(min(values))} to {number(max(values))} {item['unit'] or ''} without warm-up"
    if len(mine) > RUNS_DRAWN:
        note += f"; the first {RUNS_DRAWN:,} are drawn, all are in report.csv"
    return note
