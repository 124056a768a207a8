# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table at the end of a run: what it says, line by line, without colour and without a terminal.

Failing rows come first, every host is counted, and a reason that many hosts share is printed once.
"""

from collections.abc import Iterator, Sequence

from .._pages.text import in_columns, listed, natural, one_line, plural, shorten
from .._records.grouping import by_key, grouped
from . import waiving
from .document import lost_hosts, nothing_used
from .shapes import OUTCOMES, STATES, Document, WaivedRow
from .values import LONGEST_CELL, NOTHING, conflicts, places

COLUMNS = ("host", "tuning", "subject", "running", "stored", "next boot", "verdict")
FOLDED = ("compliant", "not_applicable")
ORDER = ("failed", "drifted", "pending_restart", "observed", "unknown", "changed", "unsupported", "waived", *FOLDED)
TONES = {
    "compliant": "compliant",
    "drift": "drifted",
    "partial": "observed",
    "unknown": "unknown",
    "nothing": "skipped",
}
"""By the result of the run; failed for any other."""
NAMED, FEW = 6, 3  # hosts that a note names, and a row
LONGEST_NOTE = 2000


Line = tuple[str, str]
"""The text of a line, and the verdict or outcome by which a caller colours it; "" for plain text."""


def lines(document: Document, verbose: bool = False) -> list[Line]:
    """The whole table; ``verbose`` shows compliant and not applicable rows, too."""
    shown = _shown(document, verbose)
    rows = [
        (host, (row["name"], row["subject"], *places(row), word(row["verdict"]), row["verdict"])) for host, row in shown
    ]
    # the last item of each row is its tone
    cells = [*_lost(document), *_once(rows)]
    cells = [(*COLUMNS, ""), *cells] if cells else []
    found = [(text, row[-1]) for text, row in zip(in_columns([row[:-1] for row in cells]), cells, strict=True)]
    if stopped := document["run"].get("stopped"):
        found.append((shorten(one_line(stopped), LONGEST_NOTE), "failed"))
    found += [*((note, "") for note in _notes(document, shown)), *_waivers(document)]
    verdicts = document["totals"]["verdicts"]
    folded = {name: verdicts[name] for name in FOLDED if verdicts[name] and not verbose}
    if folded:
        words = " and ".join(f"{folded[name]:,} {word(name)}" for name in FOLDED if folded.get(name))
        found.append((f"{words} {'row is' if sum(folded.values()) == 1 else 'rows are'} not shown; -v shows them", ""))
    tone = TONES.get(document["result"], "failed")
    return [*found, (totals(document), tone)]


def totals(document: Document) -> str:
    """``12 hosts: 9 ok, 1 failed, 2 unreachable. 84 rows: 3 drifted, 1 waived, 80 compliant.``"""
    counts = document["totals"]
    hosts = ", ".join(f"{counts['outcomes'][name]:,} {word(name)}" for name in OUTCOMES if counts["outcomes"][name])
    rows = ", ".join(f"{counts['verdicts'][name]:,} {word(name)}" for name in ORDER if counts["verdicts"][name])
    unfinished = "Unfinished. " if document["run"]["ended"] is None else ""
    return (
        f"{unfinished}{plural(counts['hosts'], 'host')}{f': {hosts}' if hosts else ''}."
        f" {plural(counts['rows'], 'row')}{f': {rows}' if rows else ''}."
    )


def word(name: str) -> str:
    """A verdict or outcome as it is written for people."""
    return name.replace("_", " ")


def _shown(document: Document, verbose: bool) -> list[tuple[str, WaivedRow]]:
    """The rows that are shown with their hosts, the gravest first."""
    rows = ((host["host"], row) for host in document["hosts"] for row in host["rows"])
    found = [(host, row) for host, row in rows if verbose or row["verdict"] not in FOLDED]
    return sorted(found, key=lambda pair: ORDER.index(pair[1]["verdict"]))


def _once(rows: Sequence[tuple[str, tuple[str, ...]]]) -> list[tuple[str, ...]]:
    """The rows with their hosts in front; identical rows of more than :data:`NAMED` hosts are printed once."""
    hosts = by_key((cells, one_line(host)) for host, cells in rows)
    shown = []
    for host, cells in rows:
        names = hosts[cells]
        if len(names) <= NAMED or one_line(host) == names[0]:
            first = one_line(host) if len(names) <= NAMED else listed(names, FEW)
            shown.append(
                (*(shorten(one_line(cell), LONGEST_CELL) or NOTHING for cell in (first, *cells[:-1])), cells[-1])
            )
    return shown


def _lost(document: Document) -> list[tuple[str, ...]]:
    """The hosts that were not checked to the end and have no failed row, with their outcome as verdict and tone."""
    blank = [NOTHING] * (len(COLUMNS) - 2)
    lost = [host for host in lost_hosts(document) if all(row["verdict"] != "failed" for row in host["rows"])]
    return _once([(host["host"], (*blank, word(host["outcome"]), host["outcome"])) for host in lost])


def _notes(document: Document, shown: Sequence[tuple[str, WaivedRow]]) -> Iterator[str]:
    """Reasons, conflicts and remarks, each once with its hosts: first those of lost hosts."""
    what = "nothing to take back" if document["run"]["kind"] == "rollback" else "no tuning was checked"
    lost = {host["host"]: host["message"] for host in lost_hosts(document) if host["message"]}
    notes = [*lost.items()]
    notes += [(name, note) for name, row in shown for note in row_notes(row) if note not in lost.get(name, "")]
    notes += [(host["host"], what) for host in document["hosts"] if host["outcome"] == "ok" and not host["rows"]]
    for host in document["hosts"]:
        if unused := [row["name"] for row in host["rows"] if nothing_used(row)]:
            notes.append((host["host"], f"nothing to take back of {', '.join(sorted(unused))}"))
    for group in grouped(notes, str):
        names = listed(sorted({*map(one_line, group.members)}, key=natural), NAMED)
        yield shorten(f"{names}: {one_line(group.item)}", LONGEST_NOTE)


def row_notes(row: WaivedRow) -> list[str]:
    """The sentences on one row: reason unless it is as requested, waiver, conflicts, remarks."""
    reason = "" if row["verdict"] in ("compliant", "changed") else row["reason"]
    said = ["; ".join(part for part in (reason, waiving.words(row)) if part)]
    title = f"{row['name']} {row['subject']}"
    said += [f"{title}: also set elsewhere: {conflict}" for conflict in conflicts(row)]
    said += [f"{title}: {remark}" for remark in row["remarks"]]
    return [one_line(sentence) for sentence in said if sentence]


def _waivers(document: Document) -> Iterator[Line]:
    for sentence in document["problems"]:
        yield one_line(sentence), "failed"
    for waiver in sorted(document["waivers"], key=lambda item: STATES.index(item["state"])):
        if sentence := waiving.sentence(waiver):
            yield shorten(one_line(sentence), LONGEST_NOTE), "drifted" if waiver["state"] == "expired" else ""
