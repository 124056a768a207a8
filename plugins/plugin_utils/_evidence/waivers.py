# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory variable ``zpower_waivers``: accepted differences, each with reason, owner and last day.

Every mistake is one sentence; an entry with a mistake waives nothing.
"""

import datetime
import difflib
import fnmatch
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._answers.rows import Row
from .._records.checks import show

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


@dataclass(frozen=True)
class Waiver:
    """One accepted difference. Patterns are those of a shell; ``until`` is the last day on which it holds."""

    tuning: str
    subject: str
    hosts: tuple[str, ...]
    reason: str
    owner: str
    until: datetime.date
    everyone: bool = False
    """Whether it fits every host of the inventory."""

    def fits_host(self, host: str, groups: Iterable[str]) -> bool:
        """Whether a pattern fits the host's name or one of its groups."""
        return any(_fits_any(name, self.hosts) for name in (host, *groups))

    def fits(self, row: Row) -> bool:
        return row["name"] == self.tuning and fnmatch.fnmatchcase(row["subject"], self.subject)


class WaiverLimits(NamedTuple):
    """What a site accepts: ``latest`` is the last day that a waiver may name (ISO 8601), empty for any."""

    latest: str = ""
    broad: bool = True
    """Whether a waiver may fit every subject or every host."""
    everyone: tuple[tuple[str, ...], ...] = ()
    """The ``hosts`` that fit every host of the inventory, as :func:`of_everyone` returns them."""

    @classmethod
    def of(cls, items: Sequence[Any]) -> "WaiverLimits":
        """The limits from a list that has been JSON."""
        return cls(*items[:2], *(tuple(map(tuple, last)) for last in items[2:3]))


NO_LIMITS = WaiverLimits()


def broad(tuning: str, subject: str, hosts: Iterable[str], everyone: bool = False) -> str:
    """``every subject and every host`` if the patterns fit them, however they are spelt; empty if they do not.

    ``everyone``: they fit every host of the inventory.
    """
    patterns, names = [*hosts], SUBJECTS.get(tuning, OTHER_SUBJECTS)
    everyone |= any(all(fnmatch.fnmatchcase(name, pattern) for name in HOSTS) for pattern in patterns)
    everyone |= any(fnmatch.fnmatchcase("all", pattern) for pattern in patterns)
    fits = {"every subject": all(fnmatch.fnmatchcase(name, subject) for name in names), "every host": everyone}
    return " and ".join(words for words, found in fits.items() if found)


def of_everyone(value: object, groups: Mapping[str, Collection[str]]) -> list[list[str]]:
    """The ``hosts`` of waivers that fit every host of an inventory, and do not name each one."""
    known = {*groups.get("all", ())}
    if not isinstance(value, (list, tuple)) or len(known) < 2:
        return []
    given = {_hosts(item.get("hosts"), []) for item in value if isinstance(item, Mapping)}
    return [[*patterns] for patterns in sorted(given) if not known.issuperset(patterns) and _all_fit(patterns, groups)]


def _all_fit(patterns: Sequence[str], groups: Mapping[str, Collection[str]]) -> bool:
    members = {name for group in groups if _fits_any(group, patterns) for name in groups[group]}
    return all(name in members or _fits_any(name, patterns) for name in groups["all"])


def _fits_any(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def gather(
    values: Mapping[str, object], tunings: Collection[str] = (), limits: Mapping[str, WaiverLimits] | None = None
) -> tuple[dict[str, list[Waiver]], list[str]]:
    """The waivers of each host from the variable of each host, and the mistakes, each told once.

    ``tunings``: the known names, to tell misspelt ones; empty if unknown. ``limits``: those of each host. Most hosts
    have the same variable, so it is read once for each distinct value.
    """
    read: dict[tuple[str, WaiverLimits], tuple[list[Waiver], list[str]]] = {}
    found: dict[str, list[Waiver]] = {}
    for host, value in values.items():
        key = repr(value), (limits or {}).get(host, NO_LIMITS)
        if key not in read:
            read[key] = parse(value, tunings, key[1])
        found[host] = read[key][0]
    return found, list(dict.fromkeys(sentence for _waivers, wrong in read.values() for sentence in wrong))


def parse(
    value: object, tunings: Collection[str] = (), limits: WaiverLimits = NO_LIMITS
) -> tuple[list[Waiver], list[str]]:
    """The waivers of one value of the variable, and one sentence for each mistake, also if it is beyond a limit."""
    if value is None:
        return [], []
    if not isinstance(value, (list, tuple)):
        return [], [f"{VARIABLE} is {show(value)}; a list of waivers belongs there"]
    waivers: list[Waiver] = []
    mistakes: list[str] = []
    for number, item in enumerate(value, 1):
        where = f"{VARIABLE}, entry {number}"
        waiver, wrong = _waiver(item, tunings, limits)
        wrong += _beyond(waiver, limits) if waiver else []
        if waiver is None or wrong:
            mistakes += [f"{where}: {sentence}" for sentence in wrong]
        elif waiver in waivers:
            mistakes.append(f"{where} is the same as entry {list(waivers).index(waiver) + 1}; remove one of them")
        else:
            waivers.append(waiver)
    return waivers, mistakes


def _waiver(item: object, tunings: Collection[str], limits: WaiverLimits) -> tuple[Waiver | None, list[str]]:
    if not isinstance(item, Mapping):
        return None, [f"it is {show(item)}; an object with {', '.join(KEYS)} belongs there"]
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
            wrong.append(f"{key} is {show(value)}; a text of 1 to {LONGEST} characters belongs there")
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
    return Waiver(hosts=hosts, until=until, everyone=hosts in limits.everyone, **texts), []


def _beyond(waiver: Waiver, limits: WaiverLimits) -> list[str]:
    wrong, fits = [], "" if limits.broad else broad(waiver.tuning, waiver.subject, waiver.hosts, waiver.everyone)
    if limits.latest and waiver.until.isoformat() > limits.latest:
        wrong.append(f"until is {waiver.until}; {LONGEST_DAYS} allows {limits.latest} at the latest")
    if fits:
        wrong.append(f"it fits {fits}, and {BROAD} is fail; name what it is for")
    return wrong


def _unknown(key: str) -> str:
    near = difflib.get_close_matches(key, KEYS, 1)
    return f"{show(key)} is no field of a waiver; " + (f"is {near[0]} meant?" if near else f"known: {', '.join(KEYS)}")


def _hosts(value: object, wrong: list[str]) -> tuple[str, ...]:
    if value is None:
        return ()
    patterns: Sequence[object] = value if isinstance(value, (list, tuple)) else [value]
    if not patterns or not all(isinstance(pattern, str) and pattern.strip() for pattern in patterns):
        wrong.append(f"hosts is {show(value)}; a name or pattern of hosts or groups, or a list of them, belongs there")
        return ()
    for pattern in patterns:
        if str(pattern).startswith(("!", "&", "~")) or "," in str(pattern):
            wrong.append(f"hosts has {show(pattern)}; only names and shell patterns (*, ?, [0-9]) work here, as a list")
    return tuple(str.__str__(str(pattern)).strip() for pattern in patterns)


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
    wrong.append(f"until is {show(str(value))}; the last day of the waiver, such as 2027-01-31, belongs there")
    return None
