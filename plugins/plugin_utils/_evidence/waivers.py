# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory variable ``zpower_waivers``: accepted differences, each with reason, owner and last day.

Every mistake is one sentence; an entry with a mistake waives nothing.
"""

import datetime
import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import cast

from .._records.checks import show
from .shapes import WaiverUse

VARIABLE, LONGEST_DAYS, BROAD = "zpower_waivers", "zpower_waiver_days", "zpower_broad_waivers"
KEYS = ("tuning", "subject", "hosts", "reason", "owner", "until")
LONGEST = 500
SUBJECTS = {
    "rps": ("hsi0", "eth1", "enc1000", "ib2", "bond-sap"),
    "qeth": ("0.0.f500", "0.0.1000", "0.1.0a00"),
    "sap_profile": ("/usr/sap/PRD/SYS/profile/PRD_D00", "/sapmnt/Q1A/profile/DEFAULT.PFL"),
}
OTHER_SUBJECTS = ("SMT", "dispatching", "vm.max_map_count", "s390.topology", "PRD_00", "ent0", "/dev/shm")
HOSTS = ("app1", "sapdb-prd.example.com", "LPAR7", "192.0.2.1")
"""Names that have nothing in common: a pattern that fits all of them fits every one."""
SOON_DAYS = 30
DAY = datetime.datetime.now(datetime.timezone.utc).date()
"""The day of this run (UTC), for all its tasks: Ansible reads this file once, before it forks."""


def broad(waiver: WaiverUse) -> str:
    """Return ``every subject and every host`` if the patterns fit them, however they are spelt; empty otherwise."""
    patterns, names = waiver["hosts"], SUBJECTS.get(waiver["tuning"], OTHER_SUBJECTS)
    everyone = waiver.get("everyone") or any(all(fnmatchcase(name, pattern) for name in HOSTS) for pattern in patterns)
    fits = {
        "every subject": all(fnmatchcase(name, waiver["subject"]) for name in names),
        "every host": everyone or fits_any("all", patterns),
    }
    return " and ".join(words for words, found in fits.items() if found)


def fits_any(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _fit_everyone(patterns: Collection[str], groups: Mapping[str, Collection[str]]) -> bool:
    """Whether patterns fit every host of an inventory, without naming each one."""
    known = {*groups.get("all", ())}
    if len(known) < 2 or known.issuperset(patterns):
        return False
    members = {name for group in groups if fits_any(group, patterns) for name in groups[group]}
    return all(name in members or fits_any(name, patterns) for name in known)


def parse(
    value: object,
    tunings: Collection[str] = (),
    latest: str = "",
    broad_ones: bool = True,
    groups: Mapping[str, Collection[str]] | None = None,
    today: datetime.date | None = None,
) -> tuple[list[WaiverUse], list[str]]:
    """Return the waivers of one value of the variable, and one sentence for each mistake, also of a limit of the site.

    ``tunings``: the known names, to tell misspelt ones; empty if unknown. ``latest``: the last day that a waiver may
    name (ISO 8601), empty for any. ``broad_ones``: whether a waiver may fit every subject or every host. ``groups``: of
    the inventory, unless this controller knows a part of it only. ``today``: by default :data:`DAY`.
    """
    if value is None:
        return [], []
    if not isinstance(value, (list, tuple)):
        return [], [f"{VARIABLE} is {show(value)}; it must be a list of waivers"]
    found: dict[int, WaiverUse] = {}
    mistakes: list[str] = []
    for number, item in enumerate(value, 1):
        where = f"{VARIABLE}, entry {number}"
        waiver, wrong = _waiver(item, tunings, groups or {}, today or DAY)
        fits = "" if broad_ones or waiver is None else broad(waiver)
        if waiver and latest and waiver["until"] > latest:
            wrong.append(f"until is {waiver['until']}; {LONGEST_DAYS} allows {latest} at the latest")
        if fits:
            wrong.append(f"it fits {fits}, and {BROAD} is fail; name what it is for")
        if waiver is None or wrong:
            mistakes += [f"{where}: {sentence}" for sentence in wrong]
        elif same := [known for known, one in found.items() if one == waiver]:
            mistakes.append(f"{where} is the same as entry {same[0]}; remove one of them")
        else:
            found[number] = waiver
    return [*found.values()], mistakes


def _waiver(
    item: object, tunings: Collection[str], groups: Mapping[str, Collection[str]], today: datetime.date
) -> tuple[WaiverUse | None, list[str]]:
    if not isinstance(item, Mapping):
        return None, [f"it is {show(item)}; it must be an object with {', '.join(KEYS)}"]
    wrong = [_unknown(str(key)) for key in item if key not in KEYS]
    missing = [key for key in KEYS if item.get(key) is None]
    if missing:
        wrong.append(f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    texts = {}
    for key in ("tuning", "subject", "reason", "owner"):
        value = item.get(key)
        if value is None:
            continue
        if not isinstance(value, str) or not value.strip() or len(value) > LONGEST:
            wrong.append(f"{key} is {show(value)}; it must be a text of 1 to {LONGEST} characters")
        else:
            texts[key] = str.__str__(value).strip()
    name = texts.get("tuning", "")
    if name and tunings and name not in tunings:
        near = difflib.get_close_matches(name, tunings, 1)
        meant = f"is {near[0]} meant? " if near else ""
        wrong.append(f"tuning is {show(name)}; {meant}known: {', '.join(sorted(tunings))}")
    hosts = _hosts(item.get("hosts"), wrong)
    until = _day(item.get("until"), wrong)
    if wrong or until is None:
        return None, wrong
    left = (until - today).days
    waiver = {**texts, "hosts": hosts, "until": until.isoformat(), "days_left": left, "soon": 0 <= left <= SOON_DAYS}
    waiver |= {"state": "unused", "rows": 0, **({"everyone": True} if _fit_everyone(hosts, groups) else {})}
    return cast(WaiverUse, waiver), []


def _unknown(key: str) -> str:
    near = difflib.get_close_matches(key, KEYS, 1)
    return f"{show(key)} is not a field of a waiver; " + (
        f"is {near[0]} meant?" if near else f"known: {', '.join(KEYS)}"
    )


def _hosts(value: object, wrong: list[str]) -> list[str]:
    if value is None:
        return []
    patterns: Sequence[object] = value if isinstance(value, (list, tuple)) else [value]
    if not patterns or not all(isinstance(pattern, str) and pattern.strip() for pattern in patterns):
        wrong.append(f"hosts is {show(value)}; it must be a name or pattern of hosts or groups, or a list of them")
        return []
    for pattern in patterns:
        if str(pattern).startswith(("!", "&", "~")) or "," in str(pattern):
            wrong.append(f"hosts has {show(pattern)}; only names and shell patterns (*, ?, [0-9]) work here, as a list")
    return [str.__str__(str(pattern)).strip() for pattern in patterns]


def _day(value: object, wrong: list[str]) -> datetime.date | None:
    """YAML gives a date for 2027-01-31 without quotes, and text with them."""
    if value is None:
        return None
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value
    if isinstance(value, str) and len(value.strip()) == 10:
        try:
            return datetime.date.fromisoformat(value.strip())
        except ValueError:
            pass
    wrong.append(f"until is {show(str(value))}; it must be the last day of the waiver, such as 2027-01-31")
    return None
