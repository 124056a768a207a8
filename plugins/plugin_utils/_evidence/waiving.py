# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge the rows of a host by its waivers, and sum up the effect of each waiver in a run."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import cast

from .._answers.rows import Row
from .._pages.text import plural
from .shapes import Host, HostWaiver, WaivedRow, WaiverUse
from .waivers import broad, fits_any

WAIVABLE = ("drifted", "pending_restart")
"""With what is only reported. An error is never accepted: nobody knows the value."""
REPORTED = ("observed", "unsupported")
"""Verdicts of values that are not as requested and fail nothing, unless the variable zpower_<verdict> is fail."""


def reported(row: Row) -> bool:
    """Whether a value is not as requested, and nothing fails for it. Unsupported is one only if it was asked for."""
    wanted = row["wanted"]
    asked = isinstance(wanted, Mapping) and bool(wanted) and wanted.get("state") != "observe"
    return row["verdict"] == "observed" or (row["verdict"] == "unsupported" and asked)


def judge(
    rows: Iterable[Row], waivers: Iterable[WaiverUse], names: Collection[str], strict: Collection[str]
) -> tuple[list[WaivedRow], list[HostWaiver], list[str]]:
    """Return the final rows of a host, the waivers with their effect on them, and why it fails in every run.

    ``names``: the host and its groups. ``strict``: the verdicts that would only be reported and count as drift here. Of
    several waivers for one row, the first that has not expired counts.
    """
    uses: list[HostWaiver] = [
        {**waiver, "here": any(fits_any(name, waiver["hosts"]) for name in names), "uses": {}} for waiver in waivers
    ]
    here, judged, demanded = [waiver for waiver in uses if waiver["here"]], [], []
    for row in cast(Iterable[WaivedRow], map(dict, rows)):
        enforced = row["verdict"] in strict and reported(row)
        if enforced:
            row["reason"] += f" (zpower_{row['verdict']} is fail)"
            row["verdict"] = "drifted"
        _waive(
            row, [one for one in here if one["tuning"] == row["name"] and fnmatchcase(row["subject"], one["subject"])]
        )
        demanded += [row["reason"]] if enforced and row["verdict"] == "drifted" else []
        judged.append(row)
    return judged, uses, demanded


def _waive(row: WaivedRow, fitting: Sequence[HostWaiver]) -> None:
    """Waive a row in place with the waivers that fit it, and note the effect of each on the row."""
    needed = row["verdict"] in WAIVABLE or reported(row)
    valid = next((waiver for waiver in fitting if needed and waiver["days_left"] >= 0), None)
    other = "lost" if row["verdict"] == "failed" else "expired" if needed and not valid else "needless"
    for waiver in fitting:
        waiver["uses"][row["subject"]] = "applied" if waiver is valid else other
    if needed and fitting:
        named = valid or fitting[0]
        row["waiver"] = {
            "owner": named["owner"],
            "reason": named["reason"],
            "until": named["until"],
            "expired": valid is None,
            "verdict": row["verdict"],
        }
    if valid:
        row["verdict"] = "waived"


def summarize(found: Iterable[tuple[Host, Iterable[HostWaiver]]], partial: bool) -> list[WaiverUse]:
    """Return each waiver of the hosts with its state, in the order of the inventory.

    ``partial``: a limit or tags left something out, so a waiver without a row proves nothing.
    """
    known: dict[str, tuple[HostWaiver, Counter[str]]] = {}
    for host, waivers in found:
        rows = {(row["name"], row["subject"]) for row in host["rows"]}
        for waiver in waivers:
            use = known.setdefault(repr({**waiver, "here": 0, "uses": 0}), (waiver, Counter()))[1]
            use["lost"] += waiver["here"] and host["outcome"] != "ok"
            use.update(word for subject, word in waiver["uses"].items() if (waiver["tuning"], subject) in rows)
    return [_used(waiver, use, partial) for waiver, use in known.values()]


def _used(waiver: HostWaiver, use: Counter[str], partial: bool) -> WaiverUse:
    without_rows = "not_checked" if partial or use["lost"] else "unused"
    state = next((name for name in ("expired", "applied", "needless") if use[name]), without_rows)
    found = {name: value for name, value in waiver.items() if name not in ("here", "uses")}
    return cast(WaiverUse, {**found, "state": state, "rows": use[state]})


def sentence(waiver: WaiverUse) -> str:
    """A remark on a waiver; empty if it is applied, is valid for a long time and does not fit everything."""
    left = waiver["days_left"]
    what = f"waiver of {waiver['owner']} for {waiver['tuning']} {waiver['subject']} on {', '.join(waiver['hosts'])}"
    last = f"its last day {'was' if left < 0 else 'is'} {waiver['until']}"
    fits = broad(waiver)
    what += f", which fits {fits}" if fits else ""
    if waiver["state"] == "expired":
        return f"{what}: expired, {last}; the rows count as drift"
    if waiver["state"] == "unused":
        return f"{what}: fits nothing on the checked hosts; remove it, or correct its pattern"
    if waiver["state"] == "needless":
        return f"{what}: no row needs it; remove it if that is permanent"
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
