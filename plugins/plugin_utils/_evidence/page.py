# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of evidence: what is not as requested, who was not reached, hosts by tunings with filters, the waivers."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from .._pages import blocks as ui
from .._pages.text import DASH, Style, conflict_words, moment, natural, plural
from .._records.grouping import Group, by_key, grouped
from . import waiving
from .document import LOST, WANTED, failing, failing_rows, looked, lost_hosts
from .shapes import OUTCOMES, STATES, Document, WaivedRow
from .table import ORDER, TONES, word
from .values import places

STYLES = {
    name: Style(word(name), symbol, css)
    for name, symbol, css in (
        ("failed", "\u2716", "regressed"),
        ("drifted", "\u25bc", "regressed"),
        ("pending_restart", "\u21bb", "inconclusive"),
        ("observed", "\u25c9", "inconclusive"),
        ("unknown", "?", "inconclusive"),
        ("changed", "\u25b2", "improved"),
        ("unsupported", "\u2260", "unchanged"),
        ("waived", "\u25cb", "incomparable"),
        ("compliant", "\u2713", "improved"),
        ("not_applicable", DASH, "nodata"),
        ("unreachable", "\u2205", "regressed"),
        ("not_reached", "?", "inconclusive"),
        ("skipped", "\u00bb", "nodata"),
        ("ok", "\u2713", "improved"),
    )
}
TITLES = {
    "verify": "Check",
    "site": "Tuning",
    "rollback": "Rollback",
    "rollout": "Rollout",
    "confirm": "Confirmation",
}
UNMET = ("Tuning", "Hosts", "Running", "Stored", "Next boot", "Verdict")
HIDDEN = "@media screen {{ .filters:has(#{}) ~ .scroll .matrix {} {{ display: none; }} }}\n"
"""A rule of a filter. It tests the field itself: what surrounds the table would be tested again for each row."""


def make_page(document: Document) -> ui.Page:
    """The page of one run."""
    run, totals = document["run"], document["totals"]
    stem, wanted = run["kind"], WANTED[run["kind"]]
    names = {row["name"] for host in document["hosts"] for row in host["rows"]}
    tunings = sorted(names, key=lambda name: (name == "platform", natural(name)))
    choices = _choices(document)
    hidden = [HIDDEN.format(f"{ident}:checked", f"tbody tr:not(.m-{ident[5:]})") for ident, *_more in choices[1:]]
    hidden += [HIDDEN.format(f"tuning-{place}:not(:checked)", f".t{place}") for place in range(len(tunings))]
    outcomes = ", ".join(f"{totals['outcomes'][name]:,} {word(name)}" for name in OUTCOMES if totals["outcomes"][name])
    result = {"compliant": wanted, "nothing": "nothing checked"}.get(document["result"], document["result"])
    tone = STYLES[TONES.get(document["result"], "failed")]
    return ui.Page(
        [_title(document), *([", inventory ", ui.Code(run["inventory"])] if run["inventory"] else [])],
        document["headline"],
        [
            ui.Section(f"Not {wanted}", _unmet(document, wanted, bool(tunings)), "failing"),
            ui.Section("Hosts that were not checked", _lost(document), "lost"),
            ui.Section("Hosts and tunings", _hosts(document, tunings, choices), "hosts"),
            ui.Section("Waivers and problems", _waivers(document), "waivers"),
            ui.Section("Files beside this page", [_files(stem)], "files"),
        ],
        f"Written by zpower.sap_tuning {run['collection']}. The same evidence gives the same bytes.",
        Style(result, tone.symbol, tone.css),
        counted=f"{plural(totals['rows'], 'row')}{':' if totals['rows'] else ''}",
        tally=[(STYLES[name], totals["verdicts"][name]) for name in ORDER if totals["verdicts"][name]],
        facts=[("Hosts", outcomes or "none"), *_facts(document)],
        rest=f"{stem}.json and {stem}.csv",
        css="".join(hidden),
    )


def _title(document: Document) -> str:
    """``Check of 2026-11-20 10:00:00 UTC``."""
    run = document["run"]
    check = " in check mode" if run["check"] and run["kind"] != "verify" else ""
    return f"{TITLES[run['kind']]}{check} of {moment(run['begun'])}"


def _facts(document: Document) -> list[tuple[str, str]]:
    """What identifies the run, besides its title."""
    run, slices = document["run"], document.get("slices") or []
    found = [f"{moment(use['begun'])} on {use['controller']}{' (late)' if use['late'] else ''}" for use in slices]
    return [
        ("Begun", moment(run["begun"])),
        ("Ended", moment(run["ended"]) if run["ended"] else "not ended"),
        ("Collection", f"zpower.sap_tuning {run['collection']}"),
        ("Ansible", f"ansible-core {run['ansible_core']}"),
        ("Limit", run["limit"] or "none"),
        ("Tags", ", ".join([*run["tags"], *(f"without {tag}" for tag in run["skip_tags"])]) or "none"),
        *([("Slices", ", ".join(found))] if slices else []),
    ]


def _unmet(document: Document, wanted: str, checked: bool) -> list[ui.Block]:
    """The rows that are not as requested, the gravest and then the most frequent first; below, those only reported."""
    failed = _groups(failing_rows(document))
    failed.sort(key=lambda group: (ORDER.index(group.item["verdict"]), -len(group.members)))
    reported = _groups((name, row) for name, row in _rows(document) if waiving.reported(row))
    arrow = "wanted" if looked(document["run"]) else "set"
    sub = f"identical rows of several hosts are printed once; an arrow leads from the value found to the one {arrow}"
    other = "other value" if reported else "value"
    every = f"Every {other} that was checked is {wanted}, waived, or not for this machine."
    none = every if checked else "No value was checked."
    only = "Values that are not as requested and only reported: nothing fails for them"
    return [
        ui.Table(f"Values that are not {wanted}", UNMET, [*map(_value, failed)], sub, "wide groups", otherwise=none),
        ui.Table(only, UNMET, [*map(_value, reported)], sub, "wide groups"),
    ]


def _value(group: Group[WaivedRow]) -> ui.Row:
    row = group.item
    values = [ui.Lines([cell]) for cell in places(row)]
    conflicts = [f"also set elsewhere: {conflict_words(entry)}" for entry in row["conflicts"]]
    cells = [*_named(group), *values, STYLES[row["verdict"]]]
    return ui.Row(cells, [_reason(row), *conflicts, *row["remarks"]])


def _named(group: Group[WaivedRow]) -> list[ui.Text]:
    """The tuning with its subject, and the hosts of a group."""
    return [(group.item["name"], group.item["subject"]), ui.Members(group.members, every=True)]


def _lost(document: Document) -> list[ui.Block]:
    """The hosts that were not checked to the end, by outcome and message."""
    lost = ((host["host"], host) for host in lost_hosts(document))
    groups = grouped(lost, lambda host: (host["outcome"], host["message"]))
    rows = [
        ui.Row([STYLES[group.item["outcome"]], ui.Members(group.members, every=True), group.item["message"] or DASH])
        for group in groups
    ]
    title = "Hosts without a complete result, by reason"
    return [ui.Table(title, ("Outcome", "Hosts", "Message"), rows)] if rows else []


def _rows(document: Document) -> Iterable[tuple[str, WaivedRow]]:
    return ((host["host"], row) for host in document["hosts"] for row in host["rows"])


def _groups(rows: Iterable[tuple[str, WaivedRow]]) -> list[Group[WaivedRow]]:
    return grouped(rows, lambda row: (row["verdict"], row["name"], row["subject"], *places(row), _reason(row)))


def _groups_of(document: Document, verdicts: Collection[str]) -> list[Group[WaivedRow]]:
    """The rows with one of these verdicts, without those that are only reported."""
    rows = _rows(document)
    return _groups((host, row) for host, row in rows if row["verdict"] in verdicts and not waiving.reported(row))


def _reason(row: WaivedRow) -> str:
    """The reason of a row, and what its waiver says."""
    return "; ".join(part for part in (row["reason"], waiving.words(row)) if part)


def _hosts(document: Document, tunings: list[str], choices: Sequence[tuple[str, str, int | None]]) -> list[ui.Block]:
    """Hosts by tunings, for the page, and why tunings do not apply."""

    def matrix() -> list[ui.Block]:
        columns = ["Host", *((name, f"t{place}") for place, name in enumerate(tunings))]
        title = "The worst verdict of each tuning on each host"
        sub = "hosts with trouble first; a number counts the subjects, such as interfaces"
        filters = [ui.Filters("Hosts to show", choices)] if len(choices) > 2 else []
        boxes = [(f"tuning-{place}", name, None) for place, name in enumerate(tunings)]
        filters += [ui.Filters("Tunings to show", boxes, several=True)] if len(boxes) > 1 else []
        rows = _matrix(document, tunings)
        return [*filters, ui.Table(title, columns, rows, sub, "matrix", "cap-hosts", most=len(rows))]

    groups = _groups_of(document, ["unknown", "unsupported", "not_applicable"])
    idle = [ui.Row([*_named(group), STYLES[group.item["verdict"]], group.item["reason"] or DASH]) for group in groups]
    title = "What is unknown, not supported or does not apply, and why"
    found = [ui.Group(matrix), ui.Table(title, ("Tuning", "Hosts", "Verdict", "Reason"), idle, ident="cap-idle")]
    return found if document["hosts"] else [ui.Paragraph("No host was in the play.")]


def _bad(document: Document) -> set[str]:
    """Verdicts and outcomes that are trouble."""
    return {*failing(document["run"]["kind"], document["run"]["check"]), "unreachable", "not_reached"}


def _choices(document: Document) -> list[tuple[str, str, int]]:
    """Filters with the number of hosts that each shows, only of what occurs."""
    marks = [{host["outcome"], *(row["verdict"] for row in host["rows"])} for host in document["hosts"]]
    counts = {name: sum(name in found for found in marks) for name in dict.fromkeys((*ORDER, *OUTCOMES))}
    failed = sum(not found.isdisjoint(_bad(document)) for found in marks)
    found = [("show-all", "all", len(marks)), *([("show-bad", "any trouble", failed)] if failed else [])]
    return found + [(f"show-{name}", word(name), count) for name, count in counts.items() if count and name != "ok"]


def _matrix(document: Document, tunings: list[str]) -> list[ui.Row]:
    """Hosts with the gravest trouble first, then by name. The classes of a row: its verdicts and its outcome."""
    rank = {name: place for place, name in enumerate(("lost", *ORDER))}
    bad = _bad(document)
    rows = []
    for host in document["hosts"]:
        verdicts = by_key((row["name"], row["verdict"]) for row in host["rows"])
        marks = sorted({verdict for found in verdicts.values() for verdict in found}, key=lambda name: rank[name])
        gravest = "lost" if host["outcome"] in LOST else (*marks, "not_applicable")[0]
        name: ui.Text = host["host"] if host["outcome"] == "ok" else (host["host"], STYLES[host["outcome"]])
        cells = [_cell(verdicts[tuning], rank) if tuning in verdicts else "" for tuning in tunings]
        known = dict.fromkeys([*marks, host["outcome"], *(["bad"] if bad & {*marks, host["outcome"]} else [])])
        rows.append((rank[gravest], ui.Row([name, *cells], css=" ".join(f"m-{mark}" for mark in known))))
    return [row for _rank, row in sorted(rows, key=lambda pair: pair[0])]


def _cell(verdicts: list[str], rank: Mapping[str, int]) -> ui.Text:
    """The gravest verdict; ``2 of 5`` if not all rows have it, the number of rows if there are several."""
    gravest = min(verdicts, key=lambda verdict: rank[verdict])
    count, rows = verdicts.count(gravest), len(verdicts)
    return STYLES[gravest], f"{count} of {rows}" if count < rows else f"{rows}" if rows > 1 else ""


def _waivers(document: Document) -> list[ui.Block]:
    """Mistakes in the variable, the waivers that need attention, then the rows that are waived."""
    waivers = sorted(document["waivers"], key=lambda item: STATES.index(item["state"]))
    told = [*document["problems"], *filter(None, map(waiving.sentence, waivers))]
    rows = []
    for group in _groups_of(document, ["waived"]):
        waiver = group.item["waiver"]
        cells = [*_named(group), waiver["owner"], waiver["until"], waiver["reason"]]
        rows.append(ui.Row(cells, [group.item["reason"]]))
    hold = "All waivers of the inventory hold, and no value needed one."
    none = hold if document["waivers"] else "No waiver of the inventory counted in this run."
    columns = ("Tuning", "Hosts", "Owner", "Last day", "Reason")
    return [ui.Items(told), ui.Table("Waived values", columns, rows, otherwise="" if told else none)]


def _files(stem: str) -> ui.Facts:
    holds = {
        "json": "everything, with all values of each host",
        "csv": "one row per value",
        "xml": "the rows as JUnit test cases",
        "prom": "figures for the textfile collector of the node exporter",
        "md": "the text for a ticket",
    }
    return ui.Facts([(f"{stem}.{form}", told) for form, told in holds.items()], "terms")
