# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence of one run: every host of the play with its outcome, its rows, totals and waivers, as one dict.

Schema zpower.sap_tuning/evidence/1. Nothing here reads a clock or a file: the same data give the same document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from .._records.reading import VERDICTS
from .._report.text import natural, one_line, plural, shorten
from . import waiving
from .rows import LONGEST_TEXT, plain, rows_of
from .waivers import Waiver

SCHEMA = "zpower.sap_tuning/evidence/1"
KINDS = ("verify", "site", "rollback", "rollout", "confirm")
OUTCOMES = ("ok", "failed", "unreachable", "skipped", "not_reached")
LOST = ("failed", "unreachable", "not_reached")
"""Outcomes after which nobody knows all values of a host."""
RESULTS = ("compliant", "drift", "error", "unfinished", "nothing", "unknown")
WANTED = {
    "verify": "compliant",
    "site": "as requested",
    "rollback": "taken back",
    "rollout": "as requested",
    "confirm": "confirmed",
}
"""How a host should be after a run."""
MOST_FACTS = 20_000

Document = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """One run of a playbook. Times are UTC in ISO 8601 with Z; ``ended`` is None until the run has ended."""

    kind: str
    begun: str
    ended: str | None
    collection: str
    ansible_core: str
    inventory: str
    limit: str | None = None
    tags: Sequence[str] = ()
    skip_tags: Sequence[str] = ()
    check: bool = False
    """A run in check mode. Always so for ``verify``; a check after a rollback is ``rollback`` with this."""
    stopped: str = ""
    """Why a rollout stopped: no error of any host."""


@dataclass(frozen=True)
class HostResult:
    """What is known of one host. A host that failed only because drift is reported as a failure is ``ok``."""

    outcome: str
    message: str = ""
    rows: object = None  # the key ``tuning`` of the module's result
    platform: object = None  # the fact ``zpower_platform``


@dataclass(frozen=True)
class Waived:
    """The waivers of an inventory: by host, because the variable may differ, and the groups of each host."""

    by_host: Mapping[str, Sequence[Waiver]] = field(default_factory=dict)
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    mistakes: Sequence[str] = ()


def build(
    run: Run, planned: Iterable[str], results: Mapping[str, HostResult], waived: Waived | None = None
) -> Document:
    """The document. Each planned host without a result was not reached. The day of the run's begin decides on waivers.

    ValueError for an unknown kind or outcome, or a time that is none.
    """
    day = check(run)
    waived = waived if waived and run.kind != "rollback" else Waived()  # taking back needs no exception
    hosts = [_host(name, results.get(name)) for name in sorted({*planned, *results}, key=natural)]
    if run.kind in ("rollback", "rollout"):
        for host in hosts:
            host["rows"] = [row for row in host["rows"] if not nothing_used(row)]
    # only verify looks at everything for which there are waivers
    partial = bool(run.kind != "verify" or run.limit or run.tags or run.skip_tags)
    waivers = waiving.apply(hosts, waived.by_host, waived.groups, day, partial)
    return assemble(run, hosts, waivers, [_text(sentence) for sentence in waived.mistakes])


def assemble(run: Run, hosts: list[dict[str, Any]], waivers: list[dict[str, Any]], problems: list[str]) -> Document:
    """The document of hosts and waivers as :func:`build` leaves them, with the totals and the result."""
    totals = _totals(hosts, failing(run.kind, run.check)[1:])
    result = _result(run, totals)
    return {
        "schema": SCHEMA,
        "run": {
            "kind": run.kind,
            "check": run.check or run.kind == "verify",
            "begun": run.begun,
            "ended": run.ended,
            "collection": run.collection,
            "ansible_core": run.ansible_core,
            "inventory": _text(run.inventory),
            "limit": _text(run.limit) if run.limit else None,
            "tags": [_text(tag) for tag in run.tags],
            "skip_tags": [_text(tag) for tag in run.skip_tags],
            **({"stopped": _text(run.stopped)} if run.stopped else {}),
        },
        "result": result,
        "headline": _headline(run, totals, result),
        "totals": totals,
        "hosts": hosts,
        "waivers": waivers,
        "problems": problems,
    }


def check(run: Run) -> date:
    """The day on which the run began; ValueError says what is wrong with the run."""
    if run.kind not in KINDS:
        raise ValueError(f"kind is {run.kind!r}; one of {', '.join(KINDS)} belongs there")
    for name, stamp in (("begun", run.begun), ("ended", run.ended)):
        if stamp is not None:
            _moment(name, stamp)
    return _moment("begun", run.begun).date()


def _moment(name: str, stamp: str) -> datetime:
    try:
        return datetime.fromisoformat(stamp.removesuffix("Z")) if stamp.endswith("Z") else _refuse(name, stamp)
    except ValueError:
        return _refuse(name, stamp)


def _refuse(name: str, stamp: object) -> datetime:
    raise ValueError(f"{name} is {stamp!r}; a time such as 2026-11-20T10:00:00Z belongs there") from None


def failing(kind: str, check: bool) -> tuple[str, ...]:
    """The verdicts of rows that are not as requested, the gravest first; kind and check as of :class:`Run`.

    After what sets values, a value that waits for a restart is what the run left on purpose; ``confirm`` follows it.
    """
    looked = kind == "verify" or (kind == "rollback" and check)
    return ("failed", "drifted", "pending_restart") if looked else ("failed", "drifted")


def looked(run: Mapping[str, Any]) -> bool:
    """Whether a run only looked: the values after are predictions, the values before are the current ones."""
    return bool(run["check"] or run["kind"] == "confirm")


def nothing_used(record: Mapping[str, Any]) -> bool:
    """Whether a record only says that there is nothing of its tuning to take back."""
    return bool(record["subject"] == "all" and record["verdict"] == "compliant")


def observed(record: Mapping[str, Any]) -> bool:
    """Whether a record names a difference that its tuning is asked to observe and not to set."""
    wanted = record["wanted"]
    observes = isinstance(wanted, Mapping) and wanted.get("state") == "observe"
    return bool(observes and record["verdict"] == "compliant" and record["reason"])


def failing_rows(document: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The failing rows with their hosts: the gravest verdict first, then by host."""
    bad = failing(document["run"]["kind"], document["run"]["check"])
    found = [(host["host"], row) for host in document["hosts"] for row in host["rows"] if row["verdict"] in bad]
    return sorted(found, key=lambda pair: bad.index(pair[1]["verdict"]))


def lost_hosts(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The hosts that were not checked to the end: failed, unreachable, not reached, skipped."""
    order = (*LOST, "skipped")
    return sorted((h for h in document["hosts"] if h["outcome"] in order), key=lambda h: order.index(h["outcome"]))


def _host(name: str, result: HostResult | None) -> dict[str, Any]:
    if result is None:
        result = HostResult("not_reached")
    if result.outcome not in OUTCOMES:
        raise ValueError(f"the outcome of {name} is {result.outcome!r}; one of {', '.join(OUTCOMES)} belongs there")
    facts = plain(result.platform, MOST_FACTS) if isinstance(result.platform, Mapping) else None
    return {
        "host": str.__str__(name),
        "outcome": result.outcome,
        "message": _text(result.message),
        "rows": rows_of(result.rows),
        "platform": facts,
    }


def _text(value: object) -> str:
    return shorten(one_line(value), LONGEST_TEXT)


def _totals(hosts: Sequence[Mapping[str, Any]], drift: Sequence[str]) -> dict[str, Any]:
    verdicts = dict.fromkeys(VERDICTS, 0)
    outcomes = dict.fromkeys(OUTCOMES, 0)
    drifting = 0
    for host in hosts:
        outcomes[host["outcome"]] += 1
        for row in host["rows"]:
            verdicts[row["verdict"]] += 1
        drifting += any(row["verdict"] in drift for row in host["rows"])
    return {
        "hosts": len(hosts),
        "outcomes": outcomes,
        "rows": sum(verdicts.values()),
        "verdicts": verdicts,
        "drifting_hosts": drifting,
    }


def _result(run: Run, totals: Mapping[str, Any]) -> str:
    outcomes, verdicts = totals["outcomes"], totals["verdicts"]
    if run.ended is None:
        return "unfinished"
    if run.stopped or verdicts["failed"] or any(outcomes[name] for name in LOST):
        return "error"
    if totals["drifting_hosts"]:
        return "drift"
    if verdicts["unknown"]:
        return "unknown"
    # a rollback of a host that was never tuned has no rows
    return "compliant" if totals["rows"] or (run.kind == "rollback" and outcomes["ok"]) else "nothing"


def _headline(run: Run, totals: Mapping[str, Any], result: str) -> str:
    outcomes, hosts = totals["outcomes"], totals["hosts"]
    if result == "nothing":
        return "No tuning was checked." if hosts else "No host was in the play."
    parts = []
    if result == "unfinished":
        parts.append("The run did not end: its controller was stopped, or it is still running")
    if run.stopped:
        parts.append(_text(run.stopped).removesuffix("."))
    if totals["drifting_hosts"]:
        verb = "is" if totals["drifting_hosts"] == 1 else "are"
        parts.append(f"{totals['drifting_hosts']:,} of {plural(hosts, 'host')} {verb} not {WANTED[run.kind]}")
    failed = totals["verdicts"]["failed"]
    if failed:
        what = "read" if run.kind in ("verify", "confirm") else "set"
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
            ("waived", "waived"),
            ("unsupported", "not supported by the machine"),
            ("unknown", "unknown"),
        )
        if verdicts[name]
    ]
    rest = f" Of {plural(totals['rows'], 'row')}, {', '.join(extra)}." if extra else ""
    count = outcomes["ok"]
    who = f"All {count:,} hosts" if count == hosts and count != 1 else plural(count, "host")
    skipped = f", {outcomes['skipped']:,} skipped" if outcomes["skipped"] else ""
    as_far = " as far as captures show" if verdicts["unknown"] else ""
    return f"{who} {'is' if count == 1 else 'are'} {WANTED[run.kind]}{as_far}{skipped}.{rest}"
