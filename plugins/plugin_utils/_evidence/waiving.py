# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waivers applied to the rows of a run: a waived row says so and by whom, and every waiver says how it was used."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, timezone

from .._answers.rows import Row
from .._pages.text import plural
from .shapes import Host, WaivedRow, WaiverUse
from .waivers import SOON_DAYS, Waiver, broad

WAIVABLE = ("drifted", "pending_restart")
"""With what is only reported. An error is never accepted: nobody knows the value."""
REPORTED = ("observed", "unsupported")
"""Verdicts of values that are not as requested and fail nothing, unless the variable zpower_<verdict> is fail."""

DAY = datetime.now(timezone.utc).date()
"""The day of this run (UTC), for all its tasks and its evidence: Ansible reads this file once, before it forks."""


def reported(row: Row) -> bool:
    """Whether a value is not as requested, and nothing fails for it. Unsupported is one only if it was asked for."""
    wanted = row["wanted"]
    asked = isinstance(wanted, Mapping) and bool(wanted) and wanted.get("state") != "observe"
    return row["verdict"] == "observed" or (row["verdict"] == "unsupported" and asked)


def enforce(rows: Iterable[WaivedRow], strict: Collection[str]) -> list[WaivedRow]:
    """The rows that would only be reported and have a verdict in ``strict``: in place they become drift."""
    found = [row for row in rows if row["verdict"] in strict and reported(row)]
    for row in found:
        row["reason"] = f"{row['reason']} (zpower_{row['verdict']} is fail)"
        row["verdict"] = "drifted"
    return found


def apply(
    hosts: Sequence[Host],
    by_host: Mapping[str, Sequence[Waiver]],
    groups: Mapping[str, Sequence[str]],
    today: date,
    partial: bool,
) -> list[WaiverUse]:
    """Waive rows of ``hosts`` in place; return each waiver with its state, in the order of the inventory.

    Of several waivers for one row, the first that has not expired counts. ``partial``: a limit or tags left something
    out, so a waiver without a row proves nothing.
    """
    uses: dict[Waiver, Counter[str]] = {}
    for host in hosts:
        name = host["host"]
        known = by_host.get(name, ())
        uses.update({waiver: Counter() for waiver in known if waiver not in uses})
        fitting = [waiver for waiver in known if waiver.fits_host(name, groups.get(name, ()))]
        for waiver in fitting:
            uses[waiver]["lost"] += host["outcome"] != "ok"
        for row in host["rows"] if fitting else ():
            _waive(row, [waiver for waiver in fitting if waiver.fits(row)], uses, today)
    return [_told(waiver, use, today, partial) for waiver, use in uses.items()]


def _waive(row: WaivedRow, fitting: list[Waiver], uses: dict[Waiver, Counter[str]], today: date) -> None:
    """Waive a row with the waivers that fit it, and count for each what it was to the row."""
    if row["verdict"] not in WAIVABLE and not reported(row):
        for waiver in fitting:
            uses[waiver]["lost" if row["verdict"] == "failed" else "needless"] += 1
        return
    valid = next((waiver for waiver in fitting if waiver.until >= today), None)
    for waiver in fitting:
        late = valid is None and waiver.until < today
        uses[waiver]["applied" if waiver is valid else "expired" if late else "needless"] += 1
    named = valid or next(iter(fitting), None)
    if named:
        row["waiver"] = {
            "owner": named.owner,
            "reason": named.reason,
            "until": named.until.isoformat(),
            "expired": valid is None,
            "verdict": row["verdict"],
        }
    if valid:
        row["verdict"] = "waived"


def _told(waiver: Waiver, use: Counter[str], today: date, partial: bool) -> WaiverUse:
    without_rows = "not_checked" if partial or use["lost"] else "unused"
    state = next((name for name in ("expired", "applied", "needless") if use[name]), without_rows)
    left = (waiver.until - today).days
    return {
        "tuning": waiver.tuning,
        "subject": waiver.subject,
        "hosts": list(waiver.hosts),
        "reason": waiver.reason,
        "owner": waiver.owner,
        "until": waiver.until.isoformat(),
        "days_left": left,
        "soon": 0 <= left <= SOON_DAYS,
        "state": state,
        "rows": use["applied"] or use["expired"] or use["needless"],
        **({"everyone": True} if waiver.everyone else {}),  # type: ignore[typeddict-item]
    }


def sentence(waiver: WaiverUse) -> str:
    """What there is to say about a waiver; empty if it is applied, lasts for long and does not fit everything."""
    left = waiver["days_left"]
    what = f"waiver of {waiver['owner']} for {waiver['tuning']} {waiver['subject']} on {', '.join(waiver['hosts'])}"
    last = f"its last day {'was' if left < 0 else 'is'} {waiver['until']}"
    fits = broad(waiver["tuning"], waiver["subject"], waiver["hosts"], waiver.get("everyone") or False)
    what += f", which fits {fits}" if fits else ""
    if waiver["state"] == "expired":
        return f"{what}: expired, {last}; the rows count as drift"
    if waiver["state"] == "unused":
        return f"{what}: fits nothing on the checked hosts; remove it, or correct its pattern"
    if waiver["state"] == "needless":
        return f"{what}: no row needs it; remove it if this is to stay so"
    if waiver["soon"]:
        return f"{what}: {last}, {'in ' + plural(left, 'day') if left else 'today'}"
    return f"{what}: {last}" if fits and waiver["state"] == "applied" else ""


def words(row: WaivedRow) -> str:
    """``waived by NAME until 2027-01-31: reason`` of a row; empty without a waiver."""
    waiver = row.get("waiver")
    if not waiver:
        return ""
    if waiver["expired"]:
        return f"the waiver of {waiver['owner']} expired after {waiver['until']}"
    return f"waived by {waiver['owner']} until {waiver['until']}: {waiver['reason']}"
