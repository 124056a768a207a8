# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a rollout, for a change manager."""

from collections.abc import Iterator, Mapping

from .._pages import blocks as ui
from .._pages.text import DASH, listed, moment, plural
from . import summary
from .checking import Document

BATCHES = ("Batch", "State", "Attempt", "Began", "Ended", "Duration", ("Changed", "num"), "Values")
HOSTS = ("Hosts", "Outcome", "Values", ("Changed", "num"))
GUARD = ("Host", "Workload", ("Before", "num"), ("After", "num"), ("Gain", "num"), "Verdict")
RUNS = ("Began", "Ended", "Controller", "ansible-core", "Evidence")
COMPARISONS = 100  # of each batch


def make_page(document: Document, links: Mapping[str, str] | None = None) -> ui.Page:
    """The page of a rollout. ``links``: the addresses of reports, by the path that the document has."""
    batches = summary.batches(document)
    now = summary.state(document)
    unended = "a batch that has begun and not ended is running, or its run was interrupted"
    sub = "" if now in ("complete", "stopped") else unended
    course = ui.Table("All batches of the plan, in their order", BATCHES, [*map(_batch, batches)], sub, "course")
    runs, none = [*map(_run, summary.runs(document))], "The rollout has not been started."
    files = [
        *("Beside this page, ", ui.Code("rollout.json"), " holds everything, and the next start reads it; "),
        *(ui.Code("rollout.md"), " is the text for a ticket. The evidence of each run has all values of each host."),
    ]
    return ui.Page(
        ["Rollout of change ", ui.Code(document["change"])],
        document["headline"],
        [
            ui.Section("What to do next", [ui.Steps(summary.steps(document))], "next"),
            ui.Section("Batches", [ui.Group(lambda: [_strip(batches)]), course], "batches"),
            ui.Section(
                "Hosts, batch by batch", [_hosts(batch, links or {}) for batch in batches if batch["begun"]], "hosts"
            ),
            ui.Section("Plan", [ui.Facts(summary.conditions(document), "terms")], "plan"),
            ui.Section("Runs", [ui.Table("Every start of this rollout", RUNS, runs, otherwise=none)], "runs"),
            ui.Section("Files", [ui.Paragraph(files)], "files"),
        ],
        f"Written by zpower.sap_tuning {document['collection']} after each stage. The same state gives the same bytes.",
        summary.RESULTS[now],
        counted="Values of the hosts:",
        tally=summary.tally(document),
        facts=summary.facts(document),
        rest="rollout.json",
    )


def _strip(batches: list[summary.Batch]) -> ui.Items:
    """All batches at a glance, those that have begun with a link to their hosts."""
    items = []
    for batch in batches:
        name = ui.Link(batch["title"], f"#batch-{batch['number']}") if batch["begun"] else batch["title"]
        items.append([(name, plural(len(batch["names"]), "host")), summary.STATES[batch["state"]]])
    return ui.Items(items, "strip")


def _batch(batch: summary.Batch) -> ui.Row:
    begun, ended = batch["begun"], batch["ended"]
    values = ", ".join(f"{count:,} {summary.VALUES[name]}" for name, count in batch["tally"])
    times = moment(batch["began"]), "not ended" if begun and not ended else moment(ended), batch["lasted"]
    state = summary.STATES[batch["state"]], batch["at"]
    attempt, changed = (batch["attempt"], batch["changed"]) if begun else (DASH, DASH)
    return ui.Row([(batch["title"], listed(batch["names"], 6)), state, attempt, *times, changed, values])


def _hosts(batch: summary.Batch, links: Mapping[str, str]) -> ui.Group:
    rows = []
    for group in batch["groups"]:
        host = group.item
        fate = summary.OUTCOMES[host["outcome"]], summary.VALUES[host["values"]], host["changed"]
        rows.append(ui.Row([ui.Members(group.members), *fate], host["reasons"]))
    blocks = [
        ui.Items(batch["reasons"], "reasons"),
        ui.Table(f"Hosts of batch {batch['number']}", HOSTS, rows, css="fates"),
        *_guard(batch, links),
    ]
    title = [f"{batch['title']}: ", summary.STATES[batch["state"]]]
    return ui.Group(blocks, title=title, ident=f"batch-{batch['number']}")


def _guard(batch: summary.Batch, links: Mapping[str, str]) -> Iterator[ui.Block]:
    guard = batch["guard"]
    if not guard:
        return
    report, name = guard["report"], f"report of {guard['change']}"
    where = [ui.Link(name, links[report]) if report in links else name, " (", ui.Code(report), ")"] if report else []
    yield ui.Paragraph(["Guard: measured before and after this batch", "; " if where else "", *where, "."])
    yield ui.Items(batch["sentences"], "reasons")
    yield ui.Items(guard.get("notes", ()))
    measured = [ui.Row([host, (workload, metric), *others]) for host, workload, metric, *others in batch["measured"]]
    title = f"Measurements of the guard, batch {batch['number']}"
    yield ui.Table(title, GUARD, measured, "a gain above 0 is better", most=COMPARISONS)


def _run(run: list[str]) -> ui.Row:
    began, ended, reason, *others, evidence = run
    return ui.Row([began, (ended, reason), *others, evidence if evidence == DASH else ui.Code(evidence)])
