# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a rollout, for a change manager."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from .._pages import blocks as ui
from .._pages.text import DASH, Style, gain, listed, measured, moment, plural, verdict_of
from .._records.grouping import grouped
from . import plan as plans
from .checking import BatchState, Comparison, Document, PlannedBatch
from .steps import state, steps, values_of
from .windows import describe

RESULTS = {
    "complete": Style("complete", "\u2713", "improved"),
    "stopped": Style("stopped", "\u2716", "regressed"),
    "running": Style("running or interrupted", "?", "inconclusive"),
    "planned": Style("planned", DASH, "nodata"),
}
STATES = {
    "good": Style("good", "\u2713", "improved"),
    "stopped": Style("stopped", "\u2716", "regressed"),
    "running": Style("begun, not ended", "?", "inconclusive"),
    "waiting": Style("not begun", DASH, "nodata"),
}
OUTCOMES = {
    "failed": Style("failed", "\u2716", "regressed"),
    "lost": Style("lost", "\u2205", "regressed"),
    "left out": Style("left out", "\u2205", "nodata"),
    "ok": Style("ok", "\u2713", "improved"),
    "waiting": Style("waiting", DASH, "nodata"),
}
"""Those with trouble first."""
VALUES = {
    "confirmed": Style("confirmed", "\u2713", "improved"),
    "left": Style("left in force", "\u25cf", "inconclusive"),
    "taken back": Style("taken back", "\u21a9", "unchanged"),
    "probation": Style("on probation", "\u21bb", "inconclusive"),
    "unknown": Style("unknown", "?", "regressed"),
    "unchanged": Style("unchanged", DASH, "nodata"),
}
BATCHES = ("Batch", "State", "Attempt", "Began", "Ended", "Duration", ("Changed", "num"), "Values")
HOSTS = ("Hosts", "Outcome", "Values", ("Changed", "num"))
GUARD = ("Host", "Workload", ("Before", "num"), ("After", "num"), ("Gain", "num"), "Verdict")
RUNS = ("Began", "Ended", "Controller", "ansible-core", "Evidence")
COMPARISONS = 100  # of each batch


def make_page(document: Document, links: Mapping[str, str] | None = None) -> ui.Page:
    """The page of a rollout. ``links``: the addresses of reports, by the path that the document has."""
    plan, now = document["plan"], state(document)
    batches = [*zip(plan["batches"], document["batches"], strict=True)]
    unended = "a batch that has begun and not ended is running, or its run was interrupted"
    sub = "" if now in ("complete", "stopped") else unended
    course = ui.Table(
        "All batches of the plan, in their order", BATCHES, [_batch(*both) for both in batches], sub, "course"
    )
    of_hosts = [_hosts(*both, links or {}) for both in batches if both[1]["state"] != "waiting"]
    about = [
        ("Fingerprint of the plan", plan["fingerprint"]),
        ("Collection", f"zpower.sap_tuning {document['collection']}"),
    ]
    none = "The rollout has not been started."
    files = [
        *("Beside this page, ", ui.Code("rollout.json"), " holds everything, and the next start reads it; "),
        *(ui.Code("rollout.md"), " is the text for a ticket. The evidence of each run has all values of each host."),
    ]
    return ui.Page(
        ["Rollout of change ", ui.Code(document["change"])],
        document["headline"],
        [
            ui.Section("What to do next", [ui.Steps([*steps(document)])], "next"),
            ui.Section("Batches", [ui.Group(lambda: [_strip(batches)]), course], "batches"),
            ui.Section("Hosts, batch by batch", of_hosts, "hosts"),
            ui.Section("Plan", [ui.Facts([*plans.tunings(plan), *plans.conditions(plan), *about], "terms")], "plan"),
            ui.Section(
                "Runs", [ui.Table("Every start of this rollout", RUNS, _runs(document), otherwise=none)], "runs"
            ),
            ui.Section("Files", [ui.Paragraph(files)], "files"),
        ],
        f"Written by zpower.sap_tuning {document['collection']} after each stage. The same state gives the same bytes.",
        RESULTS[now],
        counted="Values of the hosts:",
        tally=_tally(document["batches"]),
        facts=_facts(document),
        rest="rollout.json",
    )


def _facts(document: Document) -> list[tuple[str, str]]:
    """Hosts and times of the whole rollout."""
    plan, runs = document["plan"], document["runs"]
    hosts = sum(len(batch["hosts"]) for batch in plan["batches"])
    canaries = sum(len(batch["hosts"]) for batch in plan["batches"] if batch["canary"])
    of_these = f", of these {plural(canaries, 'canary', 'canaries')}"
    good = sum(batch["state"] == "good" for batch in document["batches"])
    return [
        ("Hosts", f"{hosts:,}{of_these if canaries else ''}"),
        ("Batches", f"{good:,} of {len(plan['batches']):,} good"),
        ("Runs", f"{len(runs):,}"),
        ("First run began", moment(runs[0]["began"]) if runs else DASH),
        ("Last run ended", (moment(runs[-1]["ended"]) if runs[-1]["ended"] else "not ended") if runs else DASH),
        ("Change window", describe(plan["window"])),
    ]


def _tally(batches: Iterable[BatchState]) -> list[tuple[Style, int]]:
    """How many hosts have values of each kind."""
    counts = Counter(values_of(batch, host) for batch in batches for host in batch["hosts"])
    return [(style, counts[name]) for name, style in VALUES.items() if counts[name]]


def _title(planned: PlannedBatch) -> str:
    about = ", ".join(filter(None, ("canaries" if planned["canary"] else "", planned["group"])))
    return f"Batch {planned['number']}{f' ({about})' if about else ''}"


def _strip(batches: Iterable[tuple[PlannedBatch, BatchState]]) -> ui.Items:
    """All batches at a glance, those that have begun with a link to their hosts."""
    items = []
    for planned, batch in batches:
        title, size = _title(planned), plural(len(planned["hosts"]), "host")
        name = title if batch["state"] == "waiting" else ui.Link(title, f"#batch-{batch['number']}")
        items.append([(name, size), STATES[batch["state"]]])
    return ui.Items(items, "strip")


def _batch(planned: PlannedBatch, batch: BatchState) -> ui.Row:
    """``soaking, since 2026-11-20 10:00:00 UTC`` of a batch without an end, ``while verifying`` of a stopped one."""
    begun, began, ended, stage = batch["state"] != "waiting", batch["began"], batch["ended"], batch["stage"]
    at = f"while {stage}" if batch["state"] == "stopped" and stage else ""
    at = f"{stage}, since {moment(batch['since'])}" if batch["state"] == "running" else at
    lasted = DASH
    if began and ended:
        lasted = plans.duration(max(1, round((_time(ended) - _time(began)).total_seconds())))
    times = moment(began), "not ended" if begun and not ended else moment(ended), lasted
    changed = sum(host["changed"] for host in batch["hosts"].values())
    values = ", ".join(f"{count:,} {style}" for style, count in _tally([batch]))
    name, state = (_title(planned), listed(planned["hosts"], 6)), (STATES[batch["state"]], at)
    return ui.Row([name, state, batch["attempt"] if begun else DASH, *times, changed if begun else DASH, values])


def _time(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp[:-1])


def _hosts(planned: PlannedBatch, batch: BatchState, links: Mapping[str, str]) -> ui.Group:
    """The hosts of a batch by their outcome, those with trouble first."""
    found = batch["hosts"]
    groups = grouped(
        ((name, name) for name in planned["hosts"]),
        lambda name: (found[name]["outcome"], found[name]["values"], *found[name]["reasons"]),
    )
    order = [*OUTCOMES]
    groups.sort(key=lambda one: (order.index(found[one.item]["outcome"]), found[one.item]["values"] != "unknown"))
    rows = []
    for group in groups:
        host, changed = found[group.item], sum(found[name]["changed"] for name in group.members)
        fate = OUTCOMES[host["outcome"]], VALUES[values_of(batch, group.item)], changed
        rows.append(ui.Row([ui.Members(group.members), *fate], host["reasons"]))
    blocks = [
        ui.Items(batch["reasons"], "reasons"),
        ui.Table(f"Hosts of batch {batch['number']}", HOSTS, rows, css="fates"),
        *_guard(batch, links),
    ]
    return ui.Group(blocks, title=[f"{_title(planned)}: ", STATES[batch["state"]]], ident=f"batch-{batch['number']}")


def _guard(batch: BatchState, links: Mapping[str, str]) -> Iterator[ui.Block]:
    guard = batch["guard"]
    if not guard:
        return
    report, name = guard["report"], f"report of {guard['change']}"
    where = [ui.Link(name, links[report]) if report in links else name, " (", ui.Code(report), ")"] if report else []
    yield ui.Paragraph(["Guard: measured before and after this batch", "; " if where else "", *where, "."])
    yield ui.Items([text for text in guard["sentences"] if text not in batch["reasons"]], "reasons")
    yield ui.Items(guard.get("notes", ()))
    title = f"Measurements of the guard, batch {batch['number']}"
    rows = [*map(_measured, guard["comparisons"])]
    yield ui.Table(title, GUARD, rows, "a gain above 0 is better", most=COMPARISONS)


def _measured(entry: Comparison) -> ui.Row:
    effect, unit, peer = entry.get("effect_pct"), entry.get("unit"), entry.get("peer")
    named = [f"{entry['host']}{f' with {peer}' if peer else ''}", (entry["workload"], entry["metric"])]
    figures = [measured(entry.get("before"), unit), measured(entry.get("after"), unit)]
    return ui.Row([*named, *figures, DASH if effect is None else gain(1 + effect / 100), verdict_of(entry)])


def _runs(document: Document) -> list[ui.Row]:
    last = len(document["runs"]) - 1
    rows = []
    for place, run in enumerate(document["runs"]):
        ended = moment(run["ended"]) if run["ended"] else "interrupted" if place < last else "not ended"
        where = f"{run['controller']['host']}, process {run['controller']['pid']}"
        evidence = ui.Code(run["evidence"]) if run["evidence"] else DASH
        rows.append(ui.Row([moment(run["began"]), (ended, run["reason"]), where, run["ansible_core"], evidence]))
    return rows
