# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence of one run: every host of the play with its outcome, its rows, totals and waivers, as one dict.

Schema zpower.sap_tuning/evidence/1. Nothing here reads a clock or a file: the same data give the same document.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from .._answers.rows import LONGEST_TEXT
from .._pages.text import natural, one_line, plural, shorten
from .._records.checks import VERDICTS
from . import waiving
from .shapes import OUTCOMES, SCHEMA, Document, Host, HostWaiver, RunFields, Totals, WaivedRow, WaiverUse

LOST = ("failed", "unreachable", "not_reached")
"""Outcomes after which nobody knows all values of a host."""
RESULTS = ("compliant", "drift", "error", "unfinished", "nothing", "unknown", "partial")
WANTED = {
    "verify": "compliant",
    "site": "as requested",
    "rollback": "taken back",
    "rollout": "as requested",
    "confirm": "confirmed",
}
"""How a host should be after a run."""
MOST_FACTS = 20_000


Found = tuple[Host, Iterable[HostWaiver], Sequence[str]]
"""A host of the run, its waivers, and the mistakes in them."""


def build(run: RunFields, found: Iterable[Found]) -> Document:
    """Return the document of a run from all hosts of its plays."""
    setting = run["kind"] in ("rollback", "rollout")
    hosts: list[Host] = []
    problems: list[str] = []
    waivers = []
    for host, own, wrong in sorted(found, key=lambda item: natural(item[0]["host"])):
        rows = [row for row in host["rows"] if not (setting and nothing_used(row))]
        hosts.append({**host, "message": _text(host["message"]), "rows": rows})
        waivers.append((hosts[-1], own))
        problems += map(_text, wrong)
    # only verify looks at everything for which there are waivers
    partial = bool(run["kind"] != "verify" or run["limit"] or run["tags"] or run["skip_tags"])
    return assemble(run, hosts, waiving.summarize(waivers, partial), [*dict.fromkeys(problems)])


def assemble(run: RunFields, hosts: list[Host], waivers: list[WaiverUse], problems: list[str]) -> Document:
    """The document of hosts and waivers as :func:`build` leaves them, with the totals and the result."""
    totals = _totals(hosts, failing(run["kind"], run["check"])[1:])
    partial = sum(any(map(waiving.reported, host["rows"])) for host in hosts)
    result = _result(run, totals, partial)
    about: RunFields = {**run, "check": run["check"] or run["kind"] == "verify", "inventory": _text(run["inventory"])}
    about["limit"] = _text(run["limit"]) if run["limit"] else None
    about["tags"], about["skip_tags"] = ([_text(tag) for tag in run[name]] for name in ("tags", "skip_tags"))
    if stopped := run.get("stopped"):
        about["stopped"] = _text(stopped)
    return {
        "schema": SCHEMA,
        "run": about,
        "result": result,
        "headline": _headline(run, totals, result, partial),
        "totals": totals,
        "hosts": hosts,
        "waivers": waivers,
        "problems": problems,
    }


def failing(kind: str, check: bool) -> tuple[str, ...]:
    """The verdicts of rows that are not as requested, the gravest first; kind and check as of :class:`RunFields`.

    After what sets values, a value that waits for a restart is what the run left on purpose; ``confirm`` follows it.
    """
    looked = kind == "verify" or (kind == "rollback" and check)
    return ("failed", "drifted", "pending_restart") if looked else ("failed", "drifted")


def looked(run: RunFields) -> bool:
    """Whether a run only looked: the values after are predictions, the values before are the current ones."""
    return bool(run["check"] or run["kind"] == "confirm")


def nothing_used(record: WaivedRow) -> bool:
    """Whether a record only says that there is nothing of its tuning to take back."""
    return bool(record["subject"] == "all" and record["verdict"] == "compliant")


def failing_rows(document: Document) -> list[tuple[str, WaivedRow]]:
    """The failing rows with their hosts: the gravest verdict first, then by host."""
    bad = failing(document["run"]["kind"], document["run"]["check"])
    found = [(host["host"], row) for host in document["hosts"] for row in host["rows"] if row["verdict"] in bad]
    return sorted(found, key=lambda pair: bad.index(pair[1]["verdict"]))


def lost_hosts(document: Document) -> list[Host]:
    """The hosts that were not checked to the end: failed, unreachable, not reached, skipped."""
    order = (*LOST, "skipped")
    return sorted((h for h in document["hosts"] if h["outcome"] in order), key=lambda h: order.index(h["outcome"]))


def _text(value: object) -> str:
    return shorten(one_line(value), LONGEST_TEXT)


def _totals(hosts: Sequence[Host], drift: Sequence[str]) -> Totals:
    outcomes = Counter(host["outcome"] for host in hosts)
    verdicts = Counter(row["verdict"] for host in hosts for row in host["rows"])
    return {
        "hosts": len(hosts),
        "outcomes": {name: outcomes[name] for name in OUTCOMES},
        "rows": verdicts.total(),
        "verdicts": {name: verdicts[name] for name in VERDICTS},
        "drifting_hosts": sum(any(row["verdict"] in drift for row in host["rows"]) for host in hosts),
    }


def _result(run: RunFields, totals: Totals, partial: int) -> str:
    """``partial``: the number of hosts with values that are only reported."""
    outcomes, verdicts = totals["outcomes"], totals["verdicts"]
    if run["ended"] is None:
        return "unfinished"
    if run.get("stopped") or verdicts["failed"] or any(outcomes[name] for name in LOST):
        return "error"
    if totals["drifting_hosts"]:
        return "drift"
    if verdicts["unknown"]:
        return "unknown"
    if partial:
        return "partial"
    # a rollback of a host that was never tuned has no rows
    return "compliant" if totals["rows"] or (run["kind"] == "rollback" and outcomes["ok"]) else "nothing"


def _headline(run: RunFields, totals: Totals, result: str, partial: int) -> str:
    outcomes, hosts = totals["outcomes"], totals["hosts"]
    if result == "nothing":
        return "No tuning was checked." if hosts else "No host was in the play."
    parts = []
    if result == "unfinished":
        parts.append("The run did not end: its controller was stopped, or it is still running")
    if stopped := run.get("stopped"):
        parts.append(_text(stopped).removesuffix("."))
    if totals["drifting_hosts"]:
        verb = "is" if totals["drifting_hosts"] == 1 else "are"
        parts.append(f"{totals['drifting_hosts']:,} of {plural(hosts, 'host')} {verb} not {WANTED[run['kind']]}")
    failed = totals["verdicts"]["failed"]
    if failed:
        what = "read" if run["kind"] in ("verify", "confirm") else "set"
        parts.append(f"{plural(failed, 'value', 'values')} could not be {what}")
    lost = [(outcomes[name], name.replace("_", " ")) for name in LOST if outcomes[name]]
    if lost:
        (count, word), *others = lost
        parts.append(", ".join([f"{plural(count, 'host')} {word}", *(f"{more:,} {other}" for more, other in others)]))
    if parts:
        sentence = "; ".join(parts)
        return sentence[:1].upper() + sentence[1:] + "."
    verdicts = totals["verdicts"]
    extra = [
        f"{verdicts[name]:,} {words}"
        for name, words in (
            ("changed", "changed"),
            ("pending_restart", "waiting for a restart"),
            ("observed", "only observed"),
            ("waived", "waived"),
            ("unsupported", "not supported by the machine"),
            ("unknown", "unknown"),
        )
        if verdicts[name]
    ]
    rest = f" Of {plural(totals['rows'], 'row')}, {', '.join(extra)}." if extra else ""
    if partial:
        who = f"{partial:,} of {plural(hosts, 'host')} {'has' if partial == 1 else 'have'}"
        return f"{who} values that are not as requested and only reported.{rest}"
    count = outcomes["ok"]
    who = f"All {count:,} hosts" if count == hosts and count != 1 else plural(count, "host")
    skipped = f", {outcomes['skipped']:,} skipped" if outcomes["skipped"] else ""
    as_far = " as far as could be seen" if verdicts["unknown"] else ""
    return f"{who} {'is' if count == 1 else 'are'} {WANTED[run['kind']]}{as_far}{skipped}.{rest}"
