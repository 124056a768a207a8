# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the formats for people show of the evidence: groups of equal rows, and hosts by tunings."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from .._pages.text import DASH, Style, moment, natural
from .._records.grouping import Group, by_key, grouped
from . import waiving
from .document import LOST, failing_rows, lost_hosts
from .shapes import STATES, Document, Host, WaivedRow
from .table import ORDER, word
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


def title(document: Document) -> str:
    """``Check of 2026-11-20 10:00:00 UTC``."""
    run = document["run"]
    check = " in check mode" if run["check"] and run["kind"] != "verify" else ""
    return f"{TITLES[run['kind']]}{check} of {moment(run['begun'])}"


def facts(document: Document) -> list[tuple[str, str]]:
    """What identifies the run."""
    run, slices = document["run"], document.get("slices") or []
    found = [f"{moment(use['begun'])} on {use['controller']}{' (late)' if use['late'] else ''}" for use in slices]
    return [
        ("Begun", moment(run["begun"])),
        ("Ended", moment(run["ended"]) if run["ended"] else "not ended"),
        ("Collection", f"zpower.sap_tuning {run['collection']}"),
        ("Ansible", f"ansible-core {run['ansible_core']}"),
        ("Inventory", run["inventory"] or DASH),
        ("Limit", run["limit"] or "none"),
        ("Tags", ", ".join([*run["tags"], *(f"without {tag}" for tag in run["skip_tags"])]) or "none"),
        *([("Slices", ", ".join(found))] if slices else []),
    ]


def failing_groups(document: Document) -> list[Group[WaivedRow]]:
    """The failing rows, the gravest and then the most frequent first."""
    groups = _groups(failing_rows(document))
    return sorted(groups, key=lambda group: (ORDER.index(group.item["verdict"]), -len(group.members)))


def reported_groups(document: Document) -> list[Group[WaivedRow]]:
    """The rows that are not as requested and fail nothing."""
    return _groups((host["host"], row) for host in document["hosts"] for row in host["rows"] if waiving.reported(row))


def groups_of(document: Document, verdicts: Collection[str]) -> list[Group[WaivedRow]]:
    """The rows with one of these verdicts, without those of :func:`reported_groups`."""
    rows = ((host["host"], row) for host in document["hosts"] for row in host["rows"])
    return _groups((host, row) for host, row in rows if row["verdict"] in verdicts and not waiving.reported(row))


def _groups(rows: Iterable[tuple[str, WaivedRow]]) -> list[Group[WaivedRow]]:
    return grouped(rows, lambda row: (row["verdict"], row["name"], row["subject"], *places(row), reason(row)))


def lost_groups(document: Document) -> list[Group[Host]]:
    """The hosts that were not checked to the end, by outcome and message."""
    lost = ((host["host"], host) for host in lost_hosts(document))
    return grouped(lost, lambda host: (host["outcome"], host["message"]))


def reason(row: WaivedRow) -> str:
    """The reason of a row, and what its waiver says."""
    return "; ".join(part for part in (row["reason"], waiving.words(row)) if part)


def waiver_sentences(document: Document) -> list[str]:
    """Mistakes in the variable, then the waivers that need attention."""
    waivers = sorted(document["waivers"], key=lambda item: STATES.index(item["state"]))
    return [*document["problems"], *filter(None, map(waiving.sentence, waivers))]


class Cell(NamedTuple):
    """One tuning on one host: its gravest verdict, and how many of its rows have it.

    ``extent``: ``2 of 5`` if not all rows have the verdict, the number of rows if there are several.
    """

    verdict: str
    extent: str


@dataclass(frozen=True)
class MatrixRow:
    """One host with a cell for each tuning, None for one without rows. ``marks``: all its verdicts and its outcome."""

    host: str
    outcome: str
    cells: list[Cell | None]
    marks: list[str]


def tunings(document: Document) -> list[str]:
    """The names of all tunings of the run; ``platform`` last."""
    names = {row["name"] for host in document["hosts"] for row in host["rows"]}
    return sorted(names, key=lambda name: (name == "platform", natural(name)))


def matrix(document: Document, names: list[str]) -> list[MatrixRow]:
    """Hosts with the gravest trouble first, then by name."""
    rank = {name: place for place, name in enumerate(("lost", *ORDER))}
    rows = []
    for host in document["hosts"]:
        verdicts = by_key((row["name"], row["verdict"]) for row in host["rows"])
        cells = [_cell(verdicts[name], rank) if name in verdicts else None for name in names]
        marks = sorted({verdict for found in verdicts.values() for verdict in found}, key=lambda name: rank[name])
        lost = host["outcome"] in LOST
        gravest = "lost" if lost else (*marks, "not_applicable")[0]
        marks = list(dict.fromkeys([*marks, host["outcome"]]))
        rows.append((rank[gravest], MatrixRow(host["host"], host["outcome"], cells, marks)))
    return [row for _rank, row in sorted(rows, key=lambda pair: pair[0])]


def _cell(verdicts: list[str], rank: Mapping[str, int]) -> Cell:
    gravest = min(verdicts, key=lambda verdict: rank[verdict])
    count, rows = verdicts.count(gravest), len(verdicts)
    return Cell(gravest, f"{count} of {rows}" if count < rows else f"{rows}" if rows > 1 else "")
