# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The change window of a rollout: two moments, read in the site's time zone and kept in UTC.

A time of day means each day; a window over midnight belongs to the day on which it opens, and midnight is the other end
if only one is given. A local time that the clocks skip or repeat is read so that the window gets shorter. Nothing here
reads a clock.
"""

import re
import zoneinfo
from collections.abc import Callable
from datetime import datetime, time, timedelta, timezone, tzinfo
from typing import TypedDict

from .._records.shapes import Stamp

UTC = timezone.utc
BEFORE, AFTER, ZONE = "rollout_not_before", "rollout_not_after", "rollout_time_zone"

_DAY_TIME = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d))?")
_FULL = re.compile(r"(20\d\d-\d\d-\d\d)[T ]((?:[01]\d|2[0-3]):\d\d(?::\d\d)?)\s*(?:(Z)|([+-]\d\d):?(\d\d)?)?")
_FORMS = "it must be a time such as 2026-11-28 22:00, 2026-11-28T22:00+01:00 or 22:00"


class Times(TypedDict):
    """The change window of a run: when batches may begin; None leaves that side open."""

    not_before: Stamp | None
    not_after: Stamp | None
    time_zone: str


def closed(window: Times, now: datetime) -> str:
    """The sentence that says why no batch may begin at ``now``; empty if one may."""
    first, last = window["not_before"], window["not_after"]
    at, here = stamp(now), _words(stamp(now), window)
    if first and at < first:
        return f"The change window opens {_words(first, window)}; it is {here} now."
    if last and at >= last:
        return f"The change window closed {_words(last, window)}; it is {here} now."
    return ""


def describe(window: Times) -> str:
    """When batches may begin."""
    parts = [("from", window["not_before"]), ("until", window["not_after"])]
    return " ".join(f"{word} {_words(moment, window)}" for word, moment in parts if moment) or "always open"


def _words(moment: str, window: Times) -> str:
    utc = datetime.fromisoformat(moment[:-1]).replace(tzinfo=UTC)
    there = utc.astimezone(zone_of(window["time_zone"]))
    if not there.utcoffset():
        return f"{utc:%Y-%m-%d %H:%M} UTC"
    form = "%H:%M" if utc.date() == there.date() else "%Y-%m-%d %H:%M"
    return f"{there:%Y-%m-%d %H:%M %Z} ({utc.strftime(form)} UTC)"


def stamp(moment: datetime) -> str:
    """A moment as files have it: ``2026-11-28T21:00:00Z``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse(not_before: object, not_after: object, time_zone: object, now: datetime) -> Times:
    """The window; empty text or None leaves a side open. ValueError is one sentence.

    Of a daily window the day that is open at ``now`` is taken, else the next one.
    """
    name = str(time_zone or "").strip() or "UTC"
    zone = zone_of(name)
    begin, end = _parse_time(not_before, BEFORE), _parse_time(not_after, AFTER)
    if begin is not None and begin == end:
        raise ValueError(f"{BEFORE} and {AFTER} are both {str(not_after).strip()}; the window has no length")
    if not isinstance(begin, datetime) and not isinstance(end, datetime) and (begin, end) != (None, None):
        first, last = _daily(begin or time(), end or time(), zone, now)
        return {"not_before": stamp(first), "not_after": stamp(last), "time_zone": name}
    if isinstance(begin, time) or isinstance(end, time):
        raise ValueError(
            f"{BEFORE} is {str(not_before).strip()!r} and {AFTER} {str(not_after).strip()!r}; give both with their day,"
            " or both as a time of day"
        )
    opens = stamp(_utc(begin, zone, max)) if begin else None
    closes = stamp(_utc(end, zone, min)) if end else None
    if opens and closes and opens >= closes:
        raise ValueError(f"{AFTER} is not later than {BEFORE}; the window would never be open")
    return {"not_before": opens, "not_after": closes, "time_zone": name}


def zone_of(name: str) -> tzinfo:
    """The time zone of this name; ValueError if it is unknown, or this controller has no time zones."""
    if name in ("", "UTC"):
        return UTC
    try:
        return zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # ZoneInfoNotFoundError is a KeyError; a folder such as Europe an OSError
        pass
    if not zoneinfo.available_timezones():
        raise ValueError(
            f"{ZONE} is {name!r}, and this controller has no time zones; install the Python package tzdata (PyPI), or"
            " give the times in UTC"
        )
    raise ValueError(f"{ZONE} is {name!r}, which is not a time zone here; it must be a name such as Europe/Berlin")


def _parse_time(value: object, name: str) -> datetime | time | None:
    """The time as it was written: with a zone only if it has one."""
    text = "" if value is None else str(value).strip()
    if not text:
        return None
    hour, minute = divmod(int(text), 60) if len(text) > 2 and text.isdecimal() else (text, 0)
    if text.isdecimal() and int(hour) < 24:  # YAML reads 22:00 as the number 1320
        raise ValueError(f'{name} is the number {text}; write a time of day in quotes: "{hour}:{minute:02}"')
    daily, full = _DAY_TIME.fullmatch(text), _FULL.fullmatch(text)
    try:
        if daily:
            return time(int(daily[1]), int(daily[2]), int(daily[3] or 0))
        if full:
            day, clock, utc, hours, minutes = full.groups()
            offset = "+00:00" if utc else f"{hours}:{minutes or '00'}" if hours else ""
            return datetime.fromisoformat(f"{day}T{clock}{offset}")
    except ValueError:
        pass
    raise ValueError(f"{name} is {text[:60]!r}; {_FORMS}")


def _daily(begin: time, end: time, zone: tzinfo, now: datetime) -> tuple[datetime, datetime]:
    """The window of the first day that is not over yet."""
    # from yesterday, whose window may end today; one day may have no window where the clocks change
    for ahead in range(-1, 4):
        day = now.astimezone(zone).date() + timedelta(days=ahead)
        first = _utc(datetime.combine(day, begin), zone, max)
        last = _utc(datetime.combine(day + timedelta(days=end <= begin), end), zone, min)
        if first < last and now < last:
            return first, last
    raise AssertionError  # two days after now a window has not closed


def _utc(local: datetime, zone: tzinfo, choose: Callable[..., datetime]) -> datetime:
    """A time without an offset as a moment; ``choose`` takes one of two where the clocks change."""
    if local.tzinfo:
        return local.astimezone(UTC)
    return choose(local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
