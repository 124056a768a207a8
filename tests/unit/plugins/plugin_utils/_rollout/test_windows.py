# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Change windows: forms of times, time zones, days on which the clocks change, and controllers without time zones."""

from __future__ import annotations

import zoneinfo
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import windows
from hypothesis import given, settings
from hypothesis import strategies as st

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"


def utc(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=timezone.utc)


NOW = utc("2026-11-23 12:00")


def parsed(before: object, after: object = "", zone: object = BERLIN, now: datetime = NOW) -> tuple[Any, Any]:
    window = windows.parse(before, after, zone, now)
    return window["not_before"], window["not_after"]


def refused(before: object, after: object = "", zone: object = BERLIN) -> str:
    with pytest.raises(ValueError) as error:
        windows.parse(before, after, zone, NOW)
    return str(error.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-28 22:00", "2026-11-28T21:00:00Z"),
        (" 2026-11-28 22:00:30 ", "2026-11-28T21:00:30Z"),
        ("2026-07-28T22:00", "2026-07-28T20:00:00Z"),
        ("2026-11-28T22:00Z", "2026-11-28T22:00:00Z"),
        ("2026-11-28 22:00:00 Z", "2026-11-28T22:00:00Z"),
        ("2026-11-28T22:00:00+0200", "2026-11-28T20:00:00Z"),
        ("2026-11-28T22:00-05:30", "2026-11-29T03:30:00Z"),
        ("2026-11-28T22:00+02", "2026-11-28T20:00:00Z"),
        (datetime(2026, 11, 28, 22, 0), "2026-11-28T21:00:00Z"),
        (datetime(2026, 11, 28, 22, 0, tzinfo=timezone.utc), "2026-11-28T22:00:00Z"),
    ],
)
def test_forms(text: object, expected: str) -> None:
    assert parsed(text) == (expected, None)


@pytest.mark.parametrize("nothing", ["", "  ", None])
def test_an_open_window(nothing: object) -> None:
    window = windows.parse(nothing, nothing, nothing, NOW)
    assert window == {"not_before": None, "not_after": None, "time_zone": "UTC"}
    assert (windows.closed(window, NOW), windows.describe(window)) == ("", "always open")


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        *(
            (text, "", f"before is {text!r}; it must be a time such as")
            for text in (
                "tonight",
                "2026-11-28",
                "24:00",
                "2026-02-30 10:00",
                "2026-11-28T22:00+25:00",
                "10 pm",
                "9999",
                "59",
                "24",
            )
        ),
        ("", "28.11.2026 22:00", "after is '28.11.2026 22:00'; it must be a time such as"),
        (22, "", 'before is the number 22; write a time of day in quotes: "22:00"'),
        ("", "7", 'after is the number 7; write a time of day in quotes: "7:00"'),
        (1320, "", 'before is the number 1320; write a time of day in quotes: "22:00"'),
        ("", "605", 'after is the number 605; write a time of day in quotes: "10:05"'),
        ("22:00", "22:00", "before and rollout_not_after are both 22:00"),
        ("22:00", "2026-11-29 04:00", "before is '22:00' and rollout_not_after '2026-11-29 04:00'; give both"),
        ("2026-11-29 04:00", "2026-11-29 04:00", "before and rollout_not_after are both 2026-11-29 04:00"),
        ("2026-11-29 04:00", "2026-11-28 22:00", "after is not later than rollout_not_before"),
    ],
)
def test_mistakes(before: object, after: object, words: str) -> None:
    assert refused(before, after).startswith(f"rollout_not_{words}")


@pytest.mark.parametrize(
    ("before", "after", "now", "expected"),
    [
        # in it, before it and behind it
        ("20:00", "23:00", "2026-11-23 20:30", ("2026-11-23T19:00:00Z", "2026-11-23T22:00:00Z")),
        ("20:00", "23:00", "2026-11-23 12:00", ("2026-11-23T19:00:00Z", "2026-11-23T22:00:00Z")),
        ("20:00", "23:00", "2026-11-23 22:00", ("2026-11-24T19:00:00Z", "2026-11-24T22:00:00Z")),
        # over midnight, on both sides of it
        ("22:00", "04:00", "2026-11-23 21:30", ("2026-11-23T21:00:00Z", "2026-11-24T03:00:00Z")),
        ("22:00", "04:00", "2026-11-23 02:30", ("2026-11-22T21:00:00Z", "2026-11-23T03:00:00Z")),
        ("22:00", "04:00", "2026-11-23 03:00", ("2026-11-23T21:00:00Z", "2026-11-24T03:00:00Z")),
        # the local day decides: it is the 24th in Berlin already
        ("00:30", "04:00", "2026-11-23 23:15", ("2026-11-23T23:30:00Z", "2026-11-24T03:00:00Z")),
        ("9:05", "4:00:30", "2026-11-23 12:00", ("2026-11-23T08:05:00Z", "2026-11-24T03:00:30Z")),
        # a night is shorter or longer where the clocks change
        ("22:00", "04:00", "2026-03-28 22:00", ("2026-03-28T21:00:00Z", "2026-03-29T02:00:00Z")),
        ("22:00", "04:00", "2026-10-24 22:00", ("2026-10-24T20:00:00Z", "2026-10-25T03:00:00Z")),
        # midnight is the other end
        ("22:00", "", "2026-11-23 12:00", ("2026-11-23T21:00:00Z", "2026-11-23T23:00:00Z")),
        ("00:30", "", "2026-11-23 23:15", ("2026-11-23T23:30:00Z", "2026-11-24T23:00:00Z")),
        ("", "04:00", "2026-11-23 02:00", ("2026-11-22T23:00:00Z", "2026-11-23T03:00:00Z")),
        ("", "04:00", "2026-11-23 12:00", ("2026-11-23T23:00:00Z", "2026-11-24T03:00:00Z")),
        ("00:00", "", "2026-11-23 12:00", ("2026-11-22T23:00:00Z", "2026-11-23T23:00:00Z")),
        ("", "00:00", "2026-11-23 12:00", ("2026-11-22T23:00:00Z", "2026-11-23T23:00:00Z")),
    ],
)
def test_daily(before: str, after: str, now: str, expected: tuple[Any, Any]) -> None:
    assert parsed(before, after, now=utc(now)) == expected


@pytest.mark.parametrize(
    ("zone", "text", "first", "last"),
    [
        (BERLIN, "2026-03-29 02:30", "2026-03-29T01:30:00Z", "2026-03-29T00:30:00Z"),  # skipped
        (NEW_YORK, "2026-03-08 02:00", "2026-03-08T07:00:00Z", "2026-03-08T06:00:00Z"),
        (BERLIN, "2026-10-25 02:30", "2026-10-25T01:30:00Z", "2026-10-25T00:30:00Z"),  # repeated
        (NEW_YORK, "2026-11-01 01:00", "2026-11-01T06:00:00Z", "2026-11-01T05:00:00Z"),
        *(
            (zone, text, moment, moment)
            for zone, text, moment in (
                (BERLIN, "2026-03-29 01:59", "2026-03-29T00:59:00Z"),
                (BERLIN, "2026-03-29 03:00", "2026-03-29T01:00:00Z"),
                (NEW_YORK, "2026-11-01 02:00", "2026-11-01T07:00:00Z"),
                (NEW_YORK, "2026-11-01 01:00-04:00", "2026-11-01T05:00:00Z"),
            )
        ),
    ],
)
def test_where_the_clocks_change_the_window_gets_shorter(zone: str, text: str, first: str, last: str) -> None:
    assert parsed(text, "", zone) == (first, None)
    assert parsed("", text, zone) == (None, last)


def test_a_window_without_length_at_a_clock_change() -> None:
    assert "not later than rollout_not_before" in refused("2026-10-25 02:15", "2026-10-25 02:45")
    # a daily one leaves that day out
    day_before, next_day = utc("2026-10-24 12:00"), ("2026-10-26T01:15:00Z", "2026-10-26T01:45:00Z")
    assert parsed("02:15", "02:45", now=day_before) == next_day
    spring = utc("2026-03-28 12:00")
    assert parsed("02:15", "02:45", now=spring) == ("2026-03-30T00:15:00Z", "2026-03-30T00:45:00Z")


@given(
    st.integers(0, 24 * 60 - 1),
    st.integers(0, 24 * 60 - 1),
    st.sampled_from([BERLIN, NEW_YORK, "Australia/Lord_Howe", "UTC", "Asia/Kathmandu"]),
    st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1)),
)
@settings(deadline=None)
def test_a_daily_window_is_open_exactly_at_its_local_times(begin: int, end: int, zone: str, moment: datetime) -> None:
    if begin == end:
        return
    now = moment.replace(tzinfo=timezone.utc, second=0, microsecond=0)
    texts = [f"{minute // 60:02}:{minute % 60:02}" for minute in (begin, end)]
    window = windows.parse(texts[0], texts[1], zone, now)
    first, last = window["not_before"], window["not_after"]
    assert first and last and first < last
    assert windows.stamp(now) < last < windows.stamp(now + timedelta(hours=24 * 3 + 2))
    if not windows.closed(window, now):
        local = now.astimezone(windows.zone_of(zone))
        minute = local.hour * 60 + local.minute
        inside = begin <= minute < end if begin < end else minute >= begin or minute < end
        assert inside or _changes(now, zone)
    # what is stored means the same
    assert windows.parse(first, last, zone, now + timedelta(days=9)) == window


def _changes(now: datetime, zone: str) -> bool:
    local = [(now + timedelta(days=days)).astimezone(windows.zone_of(zone)).utcoffset() for days in (-1, 1)]
    return local[0] != local[1]


def test_a_window_is_closed_before_and_after() -> None:
    window = windows.parse("22:00", "04:00", BERLIN, utc("2026-11-28 20:00"))
    assert windows.closed(window, utc("2026-11-28 20:00")) == (
        "The change window opens 2026-11-28 22:00 CET (21:00 UTC); it is 2026-11-28 21:00 CET (20:00 UTC) now."
    )
    assert windows.closed(window, utc("2026-11-28 21:00")) == ""
    assert windows.closed(window, utc("2026-11-29 02:59")) == ""
    assert windows.closed(window, utc("2026-11-29 03:00")).startswith(
        "The change window closed 2026-11-29 04:00 CET (03:00 UTC)"
    )
    # the day in UTC if it is another, and UTC is said once
    window = windows.parse("2026-11-28 22:00", "", NEW_YORK, NOW)
    assert windows.describe(window) == "from 2026-11-28 22:00 EST (2026-11-29 03:00 UTC)"
    assert windows.describe(windows.parse("", "2026-11-28 22:00", "", NOW)) == "until 2026-11-28 22:00 UTC"


class TestZones:
    @pytest.mark.parametrize(
        "zone", ["Europe/Frankfurt", "../etc/passwd", "/etc/localtime", "Europe", "x\0y", "CET+1h"]
    )
    def test_an_unknown_one(self, zone: str) -> None:
        assert refused("22:00", zone=zone).startswith(f"rollout_time_zone is {zone!r}, which is not a time zone here")

    @pytest.fixture
    def no_zones(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        """A controller without zone files and without the package tzdata."""
        monkeypatch.setattr("importlib.resources.open_binary", _missing, raising=False)
        monkeypatch.setattr("importlib.resources.files", _missing)
        zoneinfo.reset_tzpath([])
        zoneinfo.ZoneInfo.clear_cache()
        yield
        zoneinfo.reset_tzpath()
        zoneinfo.ZoneInfo.clear_cache()

    def test_a_controller_without_any(self, no_zones: None) -> None:
        said = refused("22:00")
        assert "this controller has no time zones; install the Python package tzdata (PyPI)" in said
        assert parsed("22:00", "23:00", zone="UTC") == ("2026-11-23T22:00:00Z", "2026-11-23T23:00:00Z")


def _missing(*_args: Any, **_more: Any) -> Any:
    raise ModuleNotFoundError("No module named 'tzdata'")
