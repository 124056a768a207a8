# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a rollout: which hosts in which batches, a digest of what was planned, and the plan for people.

Every host of the play is in exactly one batch. Nothing here reads a clock or a file.
"""

import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from .._pages.text import listed, one_line, plural
from .._records.checks import show
from .windows import Times, closed, describe

CANARIES, BATCHES, BY = "rollout_canaries", "rollout_batches", "rollout_by"
LEAVE_OUT = "rollout_leave_out"
DEFAULT_BATCHES = ("25%",)
"""If nothing is given."""

MOST_DIFFERENCES = 5
MOST_CHOICES = 4
MOST_NAMES = 10
"""Hosts of one batch that are named; of the others only the number is told."""

PROGRESS = {"waiting": "", "good": "; good", "stopped": "; stopped", "running": "; begun, not ended"}

Batch = dict[str, Any]
Plan = Mapping[str, Any]


def build(
    hosts: list[str], groups: Mapping[str, Sequence[str]], canaries: object, batches: object, by: object = ()
) -> list[Batch]:
    """The batches of these hosts, which stay in the inventory's order. ValueError is one sentence.

    ``groups`` may hold hosts that are not in the play. A host in two groups of ``by`` goes with the first one; hosts in
    none come last.
    """
    first = _canaries(hosts, groups, canaries)
    found: list[Batch] = [{"number": 1, "canary": True, "group": None, "hosts": first}] if first else []
    sizes = _sizes(batches)
    for group, members in _grouped([host for host in hosts if host not in set(first)], groups, by):
        for cut in _cut(members, sizes):
            found.append({"number": len(found) + 1, "canary": False, "group": group, "hosts": cut})
    return found


def _entries(value: object) -> list[Any]:
    """A list as it is, and text as the list that its commas make of it."""
    if value is None:
        return []
    if isinstance(value, str):
        return [entry.strip() for entry in value.split(",") if entry.strip()]
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _canaries(hosts: list[str], groups: Mapping[str, Sequence[str]], value: object) -> list[str]:
    entries = _entries(value)
    text = str(entries[0]) if len(entries) == 1 else ""
    if text and text not in hosts and text not in groups and re.fullmatch(r"[+-]?[0-9.]+\s*%?|True|False", text):
        size = _size(entries[0])
        if size is None:
            raise ValueError(
                f"{CANARIES} is {show(entries[0])}; it must be a whole number from 0, a percentage from 0% to "
                "100%, or names of hosts and groups"
            )
        count = _length(size, len(hosts))
        if count > len(hosts):
            raise ValueError(f"{CANARIES} is {count}, and the play has only {plural(len(hosts), 'host')}")
        return hosts[:count]
    named = set()
    for entry in map(str, entries):
        members = {entry} if entry in hosts else set(groups.get(entry, ())) & set(hosts)
        if not members:
            what = "has no host in this play" if entry in groups else "is neither a host nor a group of this play"
            raise ValueError(f"{CANARIES} names {show(entry)}, which {what}")
        named |= members
    return [host for host in hosts if host in named]


def _size(value: object) -> tuple[int, bool] | None:
    """Number and whether it is a percentage; None if it is neither."""
    found = re.fullmatch(r"([0-9]{1,9})(?:\s*(%))?", str(value).strip())
    if isinstance(value, (bool, float)) or not found or (found[2] and int(found[1]) > 100):
        return None
    return int(found[1]), bool(found[2])


def _length(size: tuple[int, bool], total: int) -> int:
    """How many of these hosts a size is; a percentage of some hosts is at least 1."""
    number, percent = size
    return max(number * total // 100, min(number, 1)) if percent else number


def _sizes(value: object) -> list[tuple[int, bool]]:
    sizes = []
    for entry in _entries(value) or DEFAULT_BATCHES:
        size = _size(entry)
        if size is None or not size[0]:
            raise ValueError(
                f"{BATCHES} holds {show(entry)}; it must be a whole number from 1 or a percentage from 1% to 100%"
            )
        sizes.append(size)
    return sizes


def _grouped(
    hosts: list[str], groups: Mapping[str, Sequence[str]], value: object
) -> Iterator[tuple[str | None, list[str]]]:
    left = hosts
    for group in dict.fromkeys(map(str, _entries(value))):
        if group not in groups:
            raise ValueError(f"{BY} names {show(group)}, which is not a group of the inventory")
        members = set(groups[group])
        yield group, [host for host in left if host in members]
        left = [host for host in left if host not in members]
    yield None, left


def _cut(hosts: list[str], sizes: Sequence[tuple[int, bool]]) -> Iterator[list[str]]:
    """As Ansible's serial: a percentage is one of all these hosts; the last size repeats."""
    start = 0
    for size in itertools.chain(sizes, itertools.repeat(sizes[-1])):
        if start >= len(hosts):
            return
        yield hosts[start : (start := start + _length(size, len(hosts)))]


def left_out(value: object) -> dict[str, str]:
    """Why each host of rollout_leave_out is left out, with its owner. ValueError is one sentence."""
    found = {}
    for number, entry in enumerate(_entries(value), 1):
        item = entry if isinstance(entry, Mapping) else {}
        texts = [str(item.get(key) or "").strip() for key in ("host", "owner", "reason")]
        if not all(texts) or len(item) != len(texts):
            raise ValueError(
                f"{LEAVE_OUT}, entry {number} is {show(entry)}; it must be an object with host, owner, reason"
            )
        host, owner, reason = texts
        found[host] = f"left out by {owner}: {reason}"
    return found


def wanted(options: Mapping[str, Any]) -> str:
    """A digest of the options of one host's tunings. The number 6 and the text 6 are the same."""
    return _digest(_plain(options))


def fingerprint(plan: Plan) -> str:
    """A digest of everything that a resumed rollout must find unchanged: all of the plan but its window.

    The order of the hosts within a batch does not count, nor does that of a host's tunings.
    """
    kept = {name: value for name, value in plan.items() if name not in ("fingerprint", "window", "collection")}
    kept["batches"] = [{**batch, "hosts": sorted(batch["hosts"])} for batch in plan["batches"]]
    kept["tunings"] = {host: sorted(names) for host, names in plan["tunings"].items()}
    return _digest(_plain(kept))


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if value is None or isinstance(value, bool) else str(value)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def differences(old: Plan, new: Plan) -> list[str]:
    """Sentences on what is different in the new plan; both have the version of the collection, too."""
    found = list(_differences(old, new))
    if len(found) > MOST_DIFFERENCES:
        found[MOST_DIFFERENCES:] = [f"and {len(found) - MOST_DIFFERENCES} more"]
    return found


def _differences(old: Plan, new: Plan) -> Iterator[str]:
    before, after = (list(_hosts(plan)) for plan in (old, new))
    for word, more, less in (("joined", after, set(before)), ("left", before, set(after))):
        names = [host for host in more if host not in less]
        if names:
            yield f"{listed(map(one_line, names), 3)} {'has' if len(names) == 1 else 'have'} {word}"
    if set(before) == set(after):
        yield from _batches_differ(old["batches"], new["batches"])
    if old["collection"] != new["collection"]:
        yield f"the collection is {new['collection']}, and was {old['collection']}"
    for (term, text), (_term, former) in zip(conditions(new), conditions(old), strict=True):
        if text != former:
            yield f"{term}: {text} (was: {former})"
    for host in (host for host in after if host in set(before)):
        ran, runs = (set(plan["tunings"].get(host, ())) for plan in (old, new))
        if runs - ran:
            yield f"{host} also gets {listed(map(one_line, sorted(runs - ran)), 3)}"
        if ran - runs:
            yield f"{host} no longer gets {listed(map(one_line, sorted(ran - runs)), 3)}"
        if ran == runs and old["wanted"].get(host) != new["wanted"].get(host):
            yield f"the wanted values of {host} are others"


def _batches_differ(old: Sequence[Batch], new: Sequence[Batch]) -> Iterator[str]:
    sizes = [" + ".join(str(len(batch["hosts"])) for batch in batches) for batches in (old, new)]
    if sizes[0] != sizes[1]:
        yield f"the batches have {sizes[1]} hosts, and had {sizes[0]}"
        return
    for before, after in zip(old, new, strict=True):
        same = set(before["hosts"]) == set(after["hosts"])
        if not same or (before["canary"], before["group"]) != (after["canary"], after["group"]):
            yield f"batch {after['number']} has other {'groups' if same else 'hosts'}"


def duration(seconds: object) -> str:
    """``1 h 30 min``, ``45 s``, ``none`` for 0."""
    if not isinstance(seconds, int) or seconds <= 0:
        return "none"
    parts = ((seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count)


def _hosts(plan: Plan) -> Iterator[str]:
    for batch in plan["batches"]:
        yield from batch["hosts"]


def lines(rollout: Mapping[str, Any], window: Times, now: datetime) -> list[str]:
    """The plan of a rollout for people, from the document of its state file. ``window``: that of this run."""
    plan = rollout["plan"]
    sizes = f"{plural(len(list(_hosts(plan))), 'host')} in {plural(len(plan['batches']), 'batch', 'batches')}"
    found = [f"Rollout {rollout['change']}: {sizes}"]
    for batch, state in zip(plan["batches"], rollout["batches"], strict=True):
        kind = "canaries" if batch["canary"] else batch["group"] or ""
        head = f"  Batch {batch['number']}{f' ({one_line(kind)})' if kind else ''}"
        size, progress = plural(len(batch["hosts"]), "host"), PROGRESS[state["state"]]
        found.append(f"{head}, {size}: {listed(map(one_line, batch['hosts']), MOST_NAMES)}{progress}")
        for host, one in state["hosts"].items():
            found += [f"    {one_line(host)}: {one_line(one['reasons'][0])}"] if one["outcome"] == "left out" else []
    found += [f"{name}: {text}" for name, text in tunings(plan)]
    shut = closed(window, now)
    found += [f"Window: {describe(window)}", *([f"  {shut}"] if shut else [])]
    return [*found, *(f"{name}: {text}" for name, text in conditions(plan))]


def tunings(plan: Plan) -> list[tuple[str, str]]:
    """Which tunings the hosts get, the most frequent choice first: pairs of a term and its text."""
    choices = Counter(tuple(sorted(plan["tunings"].get(host, ()))) for host in _hosts(plan)).most_common()
    one = len(choices) == 1
    found = [
        ("Tunings" if one else f"Tunings on {plural(count, 'host')}", listed(map(one_line, names), 20) or "none")
        for names, count in choices
    ]
    if len(found) > MOST_CHOICES:
        found[MOST_CHOICES:] = [("Other hosts", f"{plural(len(found) - MOST_CHOICES, 'other choice')} of tunings")]
    return found


def conditions(plan: Plan) -> list[tuple[str, str]]:
    """What the plan says beside hosts, tunings and window: pairs of a term and its text."""
    guard, lease, measures = plan["guard"], duration(plan["confirm_within_s"]), "off"
    if guard:
        workloads, expected = (", ".join(map(str, guard.get(part, ()))) for part in ("workloads", "expected_change"))
        limits = [f"at most {guard['cpu_pct']:g} % more CPU time"]
        limits += [f"report_material_pct {guard['material_pct']:g}"] if "material_pct" in guard else []
        limits += [f"report_expected_change {expected}"] if expected else []
        measures = f"measures before and after each batch{': ' if workloads else ''}{workloads}; {', '.join(limits)};"
        measures += " slower times do not count while the load drifts, because a drift looks like an effect"
    limited = f"a host takes its batch's values back by itself after {lease}, unless the batch is confirmed"
    unlimited = "without a time limit; a host does not take values back by itself"
    fate = "is taken back" if plan["on_failure"] == "back" else "keeps its values"
    return [
        ("Soak", duration(plan["soak_s"])),
        ("Guard", measures),
        ("Probation", limited if plan["confirm_within_s"] else unlimited),
        ("On failure", f"the batch {fate}, later batches stay untouched"),
    ]
