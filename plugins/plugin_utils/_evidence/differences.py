# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs between two runs ("what changed since Monday") or two hosts of one ("why is app7 not like app3").

Compared are outcome, platform facts, interfaces and other parts of a host, and per subject of a tuning the verdict,
the request, the values running, stored and at the next boot, and the conflicts. A host that was lost in a run has no
values there, so it is never called equal.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from .._answers.rows import PLACES, plain
from .._pages.text import ARROW, listed, moment, natural, one_line, opaque, plural, shorten
from .._records.checks import LONGEST_NAME
from .._records.grouping import by_key
from .document import MOST_FACTS, looked
from .shapes import Document, Host, WaivedRow
from .values import NOTHING, conflicts, current

PARTS: dict[tuple[str, ...], tuple[str, tuple[str, ...]]] = {
    ("interfaces",): ("interface", ()),
    ("sap_instances",): ("SAP instance", ("sid", "name")),
    ("smc", "devices"): ("SMC device", ("type", "name", "port")),
    ("conflicts",): ("service", ("service",)),
}
"""Facts on several things of one kind: the word for one of them and, if they are a list, the fields that name it."""
AREAS = ("host", "platform", *(area for area, _names in PARTS.values()), "tuning")
NAMES = ("outcome", "verdict")
VALUES = (*NAMES, "wanted", *PLACES, "conflicts")
VOLATILE = frozenset({("platform", "smc sockets"), ("platform", "smc stats"), ("SMC device", "in_use")})
"""Facts that differ at each look."""
IDENTITY = frozenset(
    {
        ("platform", "lpar name"),
        ("platform", "lpar number"),
        ("SAP instance", "host"),
        ("SAP instance", "profile"),
        ("SMC device", "pci_id"),
    }
)
"""Facts in which two hosts must differ."""
OWN_NAME = "<host>"
NAMED = 6  # hosts of a message
NAMED_ALONE = 20  # hosts of only one run
NAMED_ITEMS = 3
LONGEST = 300
MOST_LINES = 300

Part = tuple[str, str, str]  # area, tuning, subject
Key = tuple[str, str, str, str, str]  # a part, then one of VALUES or "", then the item
Change = dict[str, Any]
Difference = dict[str, Any]


def of_runs(one: Document, other: Document, only: str | None = None) -> Difference:
    """The differences between two documents, by host; of one host only, if named. ValueError if neither has it."""
    first, second = _hosts(one), _hosts(other)
    if only is not None:
        _check_known(only, {**first, **second}, "neither run has a host")
        first, second = ({only: hosts[only]} if only in hosts else {} for hosts in (first, second))
    unasked, notes = _unasked(one, other)
    states = {
        name: (_State(first[name], one, unasked), _State(second[name], other, unasked))
        for name in sorted(first.keys() & second.keys(), key=natural)
    }
    alone = [sorted(a.keys() - b.keys(), key=natural) for a, b in ((first, second), (second, first))]
    for word, document, missing in (("first", one, alone[1]), ("second", other, alone[0])):
        limit = document["run"].get("limit")
        if missing and limit:
            notes.append(f"the {word} run was limited to {_short(limit)}, which left hosts out")
    return {
        "of": "runs",
        "title": f"{_title(one)} {ARROW} {_title(other)}",
        **_compared(states),
        "only_before": alone[0],
        "only_after": alone[1],
        "notes": [*_versions(one, other), *notes, *_without_facts(states)],
    }


def of_hosts(document: Document, one: str, other: str) -> Difference:
    """The differences between two hosts of one document. ValueError if it lacks one of them, or they are one."""
    hosts = _hosts(document)
    for name in (one, other):
        _check_known(name, hosts, "this run has no host")
    if one == other:
        raise ValueError(f"{_short(one)} is compared with itself; the names of two hosts belong there")
    both = f"{_short(one)} {ARROW} {_short(other)}"
    states = {both: tuple(_State(hosts[name], document, own=name) for name in (one, other))}
    return {
        "of": "hosts",
        "title": f"{both} in {_title(document)}",
        **_compared(states),
        "only_before": [],
        "only_after": [],
        "notes": _without_facts(states),
    }


def _hosts(document: Document) -> dict[str, Host]:
    return {host["host"]: host for host in document.get("hosts") or ()}


def _check_known(name: str, hosts: Collection[str], complaint: str) -> None:
    if name not in hosts:
        known = listed(map(_short, sorted(hosts, key=natural)), NAMED_ALONE)
        raise ValueError(f"{complaint} {_short(name)}; known: {known or 'none'}")


def _title(document: Document) -> str:
    run = document["run"]
    check = " in check mode" if run["check"] and run["kind"] != "verify" else ""
    return _short(f"{run['kind']}{check} of {moment(run['begun'])}")


def _versions(one: Document, other: Document) -> list[str]:
    before, after = one["run"], other["run"]
    pairs = (
        (name.replace("_", "-"), before[name], after[name])  # type: ignore[literal-required]
        for name in ("collection", "ansible_core")
    )
    return [f"{word} {_short(old)} {ARROW} {_short(new)}" for word, old, new in pairs if _short(old) != _short(new)]


def _unasked(one: Document, other: Document) -> tuple[set[str], list[str]]:
    """The tunings that the tags of a run left out there, and a note on each such run."""
    names = [{row["name"] for host in _hosts(run).values() for row in host.get("rows") or ()} for run in (one, other)]
    unasked: set[str] = set()
    notes = []
    for word, document, missing in (("first", one, names[1] - names[0]), ("second", other, names[0] - names[1])):
        if missing and (document["run"].get("tags") or document["run"].get("skip_tags")):
            unasked |= missing
            words = listed(map(_short, sorted(missing, key=natural)), NAMED)
            notes.append(f"not compared, because the tags of the {word} run left this out: {words}")
    return unasked, notes


def _without_facts(states: Mapping[str, tuple["_State", ...]]) -> list[str]:
    bare = [name for name, (a, b) in states.items() if a.facts != b.facts and a.outcome == b.outcome == "ok"]
    names = listed(map(_short, bare), NAMED)
    return [f"platform facts are not compared, because only one side has them: {names}"] if bare else []


class _State:
    """What one host is like: values by their place, and the parts that it has."""

    def __init__(self, host: Host, document: Document, unasked: Collection[str] = (), own: str = "") -> None:
        self.outcome: str = host["outcome"]
        self.values: dict[Key, Any] = {("host", "", "", "outcome", ""): self.outcome}
        self.parts: dict[Part, str] = {}  # with a word that stands for the whole part
        self.reasons: dict[Part, str] = {}
        if self.outcome != "ok":
            self.reasons["host", "", ""] = _short(host["message"])
        facts = plain(host.get("platform"), MOST_FACTS)
        self.facts = isinstance(facts, dict)
        self._own = [own] if own else []
        if isinstance(facts, dict):
            self._add_facts(facts, VOLATILE | IDENTITY if own else VOLATILE)
        for row in host.get("rows") or ():
            if row["name"] not in unasked:
                self._add_row(row, looked(document["run"]))

    def _add_facts(self, facts: dict[str, Any], skipped: Collection[tuple[str, str]]) -> None:
        for path, (area, names) in PARTS.items():
            for name, thing in _taken(facts, path, names):
                self.parts[area, "", name] = "present"
                self._add_leaves((area, "", name), thing, skipped)
                if self._own and area == "SAP instance":
                    self._own.append(str(thing.get("host") or ""))
        self._add_leaves(("platform", "", ""), facts, skipped)

    def _add_leaves(self, part: Part, facts: Mapping[str, Any], skipped: Collection[tuple[str, str]]) -> None:
        for path, leaf in _flat(facts):
            if not any((part[0], " ".join(path[:length])) in skipped for length in (1, 2)):
                self.values[(*part, "", " ".join(path))] = leaf

    def _add_row(self, row: WaivedRow, check: bool) -> None:
        part = ("tuning", _short(row["name"]), self._without_own_name(_short(row["subject"])))
        self.parts[part] = row["verdict"]
        self.values[(*part, "verdict", "")] = row["verdict"]
        if row["verdict"] == "failed":
            self.reasons[part] = _short(row["reason"])
        found = current({**row, "before": plain(row["before"]), "after": plain(row["after"])}, check)
        for value, content in (("wanted", plain(row["wanted"])), *((place, found.get(place)) for place in PLACES)):
            for path, leaf in _flat(content):
                self.values[(*part, value, " ".join(path))] = leaf
        also = conflicts({**row, "conflicts": plain(row["conflicts"])})
        self.values[(*part, "conflicts", "")] = "; ".join(also) or None

    def _without_own_name(self, subject: str) -> str:
        """The profiles ``PRD_D00_app3`` and ``PRD_D00_app7`` of two hosts are one subject."""
        for name in self._own:
            if name and subject.endswith(f"_{name}"):
                return subject[: -len(name)] + OWN_NAME
        return subject


def _taken(facts: dict[str, Any], path: Sequence[str], names: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Take the things at a path out of the facts, each with its name; nothing if they are not as expected."""
    holder: Any = facts
    for key in path[:-1]:
        holder = holder.get(key) if isinstance(holder, dict) else None
    things = holder.get(path[-1]) if isinstance(holder, dict) else None
    entries = list(things.values()) if isinstance(things, dict) else things
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return
    del holder[path[-1]]
    if isinstance(things, dict):
        labels = list(things)
    else:
        labels = [" ".join(str(entry[key]) for key in names if entry.get(key) is not None) for entry in entries]
    yield from zip(map(_short, labels), entries, strict=True)


def _flat(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """The leaves of nested objects with their paths; a list is a leaf."""
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _flat(entry, (*path, str(key)))
    elif value is not None and (path or value != ""):
        yield path, value


def _compared(states: Mapping[str, tuple[_State, ...]]) -> dict[str, Any]:
    """The changes of each host, how many hosts have none, and which of these are unknown."""
    hosts, unknown = [], []
    for name, (one, other) in states.items():
        changes = _changes(one, other)
        if changes:
            hosts.append({"host": name, "changes": changes})
        elif not one.outcome == other.outcome == "ok":
            unknown.append(name)
    return {"hosts": hosts, "same": len(states) - len(hosts) - len(unknown), "unknown": unknown}


def _changes(one: _State, other: _State) -> list[Change]:
    rows = one.outcome == other.outcome == "ok"
    facts = one.facts and other.facts
    alone = one.parts.keys() ^ other.parts.keys()
    found = [
        _change((*part, "", ""), one.parts.get(part), other)
        for part in alone
        if (rows if part[0] == "tuning" else facts)
    ]
    for key in one.values.keys() | other.values.keys():
        if key[:3] in alone or not (facts or key[0] in ("host", "tuning")):
            continue
        if one.values.get(key) != other.values.get(key):
            found.append(_change(key, one.values.get(key), other))
    return sorted(found, key=_rank)


def _change(key: Key, before: object, other: _State) -> Change:
    part = key[:3]
    whole = not key[3] and not key[4]
    return {
        **dict(zip(("area", "tuning", "subject", "value", "item"), key, strict=True)),
        "before": before,
        "after": other.parts.get(part) if whole else other.values.get(key),
        "reason": other.reasons.get(part, "") if whole or key[3] in ("outcome", "verdict") else "",
    }


def _rank(change: Change) -> tuple[Any, ...]:
    tuning, subject, item = (natural(change[key]) for key in ("tuning", "subject", "item"))
    value = VALUES.index(change["value"]) if change["value"] else -1
    return AREAS.index(change["area"]), tuning, subject, value, item


def lines(difference: Difference) -> Iterator[str]:
    """The differences as text, by subject; what is the same on many hosts stands once with their names."""
    yield difference["title"]
    yield from difference["notes"]
    for key, words in (("only_before", "only in the first"), ("only_after", "only in the second")):
        if difference[key]:
            yield f"{words}: {listed(map(_short, difference[key]), NAMED_ALONE)}"
    found = list(_grouped(difference))
    yield from found[:MOST_LINES]
    if len(found) > MOST_LINES:
        names = ", ".join(_short(host["host"]) for host in difference["hosts"])
        more = f"{len(found) - MOST_LINES:,} more lines are left out; the result of the task has all differences"
        yield f"{more}: {names}"
    yield _summary(difference)


def _grouped(difference: Difference) -> Iterator[str]:
    hosts = by_key((key, _short(host["host"])) for host in difference["hosts"] for key in _sentences(host["changes"]))
    last = None
    for rank, heading, sentence in sorted(hosts):
        if rank[:3] != last:
            last = rank[:3]
            yield heading
        names = f" ({', '.join(hosts[rank, heading, sentence])})" if difference["of"] == "runs" else ""
        yield f"  {sentence}{names}"


def _sentences(changes: Iterable[Change]) -> Iterator[tuple[tuple[Any, ...], str, str]]:
    """Place, heading and text; items of one subject that changed in the same way stand in one sentence."""
    alike: dict[tuple[str, ...], list[Change]] = {}
    for change in changes:
        if change["area"] == "tuning":
            heading = f"{change['tuning']} {change['subject']}"
        else:
            heading = f"{change['area']} {change['subject']}".strip()
        words = (_words(change, "before"), _words(change, "after"), change["reason"])
        alike.setdefault((heading, change["value"], *words), []).append(change)
    for (heading, value, before, after, reason), same in alike.items():
        items = listed((_short(change["item"]) for change in same if change["item"]), NAMED_ITEMS)
        what = " ".join(part for part in (value.replace("_", " "), items) if part)
        text = f"{what}{': ' if what else ''}{before} {ARROW} {after}{': ' if reason else ''}{reason}"
        yield _rank(same[0]), heading, shorten(text, LONGEST)


def _words(change: Change, side: str) -> str:
    value = change[side]
    if value is not None:
        words = one_line(", ".join(opaque(value))) or "empty"
        return words.replace("_", " ") if change["value"] in NAMES or not (change["value"] or change["item"]) else words
    if change["value"] or change["item"]:
        return NOTHING
    return "not checked" if change["area"] == "tuning" else "absent"


def _summary(difference: Difference) -> str:
    hosts, unknown = difference["hosts"], listed(map(_short, difference["unknown"]), NAMED_ALONE)
    if difference["of"] == "hosts":
        count = sum(len(host["changes"]) for host in hosts)
        return (
            f"not compared, because one of them was not checked to the end: {unknown}"
            if unknown
            else plural(count, "difference")
        )
    lost = f"not checked to the end in at least one of the runs: {unknown}" if unknown else ""
    return ", ".join(
        filter(None, [f"{plural(len(hosts), 'host')} with differences", f"{difference['same']:,} without", lost])
    )


def _short(text: object) -> str:
    return shorten(one_line(text), LONGEST_NAME)
