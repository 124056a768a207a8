# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs between two runs ("what changed since Monday") or two hosts of one ("why is app7 not like app3").

Compared are outcome, platform facts, interfaces and other parts of a host, and per subject of a tuning the verdict,
the request, the values running, stored and at the next boot, and the conflicts. A host that was lost in a run has no
values there, so it is never called equal.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

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
THINGS = [area for area, _names in PARTS.values()]
AREAS = ("host", "platform", *THINGS, "tuning")
NAMES = ("outcome", "verdict")
VALUES = ("", *NAMES, "wanted", *PLACES, "conflicts")
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

Key = tuple[str, str, str, str, str]  # area, tuning, subject, one of VALUES, item
Change = dict[str, Any]
Difference = dict[str, Any]


class State(NamedTuple):
    """What one host is like. The value of a place as a whole, such as ``present``, has no name and no item."""

    checked: bool
    facts: bool
    values: dict[Key, Any]
    reasons: dict[Key, str]


def of_runs(one: Document, other: Document, only: str | None = None) -> Difference:
    """The differences between two documents, by host; of one host only, if named. ValueError if neither has it."""
    first, second = _hosts(one), _hosts(other)
    if only is not None:
        _check_known(only, {**first, **second}, "neither run has a host")
        first, second = ({only: hosts[only]} if only in hosts else {} for hosts in (first, second))
    names = [{row["name"] for host in _hosts(run).values() for row in host.get("rows") or ()} for run in (one, other)]
    unasked: set[str] = set()
    notes, limits = [], []
    for name in ("collection", "ansible_core"):
        old, new = (_short(document["run"][name]) for document in (one, other))  # type: ignore[literal-required]
        notes += [] if old == new else [f"{name.replace('_', '-')} {old} {ARROW} {new}"]
    alone = [sorted(a.keys() - b.keys(), key=natural) for a, b in ((first, second), (second, first))]
    for word, run, lacking, hosts in (
        ("first", one["run"], names[1] - names[0], alone[1]),
        ("second", other["run"], names[0] - names[1], alone[0]),
    ):
        if lacking and (run.get("tags") or run.get("skip_tags")):
            unasked |= lacking
            words = _listed(sorted(lacking, key=natural), NAMED)
            notes.append(f"not compared, because the tags of the {word} run left this out: {words}")
        if hosts and run.get("limit"):
            limits.append(f"the {word} run was limited to {_short(run['limit'])}, which left hosts out")
    states = {
        name: (_state(first[name], one, unasked), _state(second[name], other, unasked))
        for name in sorted(first.keys() & second.keys(), key=natural)
    }
    return _difference("runs", f"{_title(one)} {ARROW} {_title(other)}", states, alone, [*notes, *limits])


def of_hosts(document: Document, one: str, other: str) -> Difference:
    """The differences between two hosts of one document. ValueError if it lacks one of them, or they are one."""
    hosts = _hosts(document)
    for name in (one, other):
        _check_known(name, hosts, "this run has no host")
    if one == other:
        raise ValueError(f"{_short(one)} is compared with itself; give the names of two hosts")
    both = f"{_short(one)} {ARROW} {_short(other)}"
    states = {both: (_state(hosts[one], document, own=one), _state(hosts[other], document, own=other))}
    return _difference("hosts", f"{both} in {_title(document)}", states, [[], []], [])


def _hosts(document: Document) -> dict[str, Host]:
    return {host["host"]: host for host in document.get("hosts") or ()}


def _check_known(name: str, hosts: Collection[str], complaint: str) -> None:
    if name not in hosts:
        known = _listed(sorted(hosts, key=natural), NAMED_ALONE)
        raise ValueError(f"{complaint} {_short(name)}; known: {known or 'none'}")


def _title(document: Document) -> str:
    run = document["run"]
    check = " in check mode" if run["check"] and run["kind"] != "verify" else ""
    return _short(f"{run['kind']}{check} of {moment(run['begun'])}")


def _state(host: Host, document: Document, unasked: Collection[str] = (), own: str = "") -> State:
    """What a host is like in a document. ``own``: its name, if it is compared with another host."""
    checked, whole = host["outcome"] == "ok", ("", "")
    values: dict[Key, Any] = {("host", "", "", *whole): "", ("host", "", "", "outcome", ""): host["outcome"]}
    reasons = {} if checked else {("host", "", "", *whole): _short(host["message"])}
    facts, owned = plain(host.get("platform"), MOST_FACTS), [own]
    if isinstance(facts, dict):
        skipped = VOLATILE | IDENTITY if own else VOLATILE
        things = [(area, *pair) for path, (area, names) in PARTS.items() for pair in _take(facts, path, names)]
        for area, name, thing in [*things, ("platform", "", facts)]:
            values[(area, "", name, *whole)] = "present" if area in THINGS else ""
            for path, leaf in _flat(thing):
                if not any((area, " ".join(path[:length])) in skipped for length in (1, 2)):
                    values[area, "", name, "", " ".join(path)] = leaf
            if area == "SAP instance":
                owned.append(str(thing.get("host") or ""))
    for row in (row for row in host.get("rows") or () if row["name"] not in unasked):
        place = "tuning", _short(row["name"]), _without_name(_short(row["subject"]), owned if own else ())
        values[(*place, *whole)] = values[(*place, "verdict", "")] = row["verdict"]
        reasons[(*place, *whole)] = _short(row["reason"]) if row["verdict"] == "failed" else ""
        values |= {(*place, name, item): leaf for name, item, leaf in _of_row(row, looked(document["run"]))}
    return State(checked, isinstance(facts, dict), values, reasons)


def _of_row(row: WaivedRow, check: bool) -> Iterator[tuple[str, str, Any]]:
    """What was requested, the values and the conflicts of a row: one of VALUES, an item of it, and its value."""
    found = current({**row, "before": plain(row["before"]), "after": plain(row["after"])}, check)
    for name, content in {"wanted": plain(row["wanted"]), **{place: found.get(place) for place in PLACES}}.items():
        yield from ((name, " ".join(path), leaf) for path, leaf in _flat(content))
    yield "conflicts", "", "; ".join(conflicts({**row, "conflicts": plain(row["conflicts"])})) or None


def _without_name(subject: str, names: Iterable[str]) -> str:
    """The profiles ``PRD_D00_app3`` and ``PRD_D00_app7`` of two hosts are one subject."""
    own = next((name for name in names if name and subject.endswith(f"_{name}")), None)
    return subject if own is None else subject[: -len(own)] + OWN_NAME


def _take(facts: dict[str, Any], path: Sequence[str], names: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Take the things at a path out of the facts, each with its name; nothing if they are not as expected."""
    holder: Any = facts
    for key in path[:-1]:
        holder = holder.get(key) if isinstance(holder, dict) else None
    things = holder.get(path[-1]) if isinstance(holder, dict) else None
    entries = list(things.values()) if isinstance(things, dict) else things
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return
    del holder[path[-1]]
    labels = [" ".join(str(entry[key]) for key in names if entry.get(key) is not None) for entry in entries]
    yield from zip(map(_short, things if isinstance(things, dict) else labels), entries, strict=True)


def _flat(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """The leaves of nested objects with their paths; a list is a leaf."""
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _flat(entry, (*path, str(key)))
    elif value is not None and (path or value != ""):
        yield path, value


def _difference(
    kind: str, title: str, states: Mapping[str, tuple[State, State]], alone: Sequence[list[str]], notes: list[str]
) -> Difference:
    """The changes of each host, how many hosts have none, and which of these are unknown."""
    found = {name: sorted(_changes(*both), key=_rank) for name, both in states.items()}
    hosts = [{"host": name, "changes": changes} for name, changes in found.items() if changes]
    unknown = [name for name, (a, b) in states.items() if not found[name] and not (a.checked and b.checked)]
    bare = [name for name, (a, b) in states.items() if a.facts != b.facts and a.checked and b.checked]
    if bare:
        names = _listed(bare, NAMED)
        notes = [*notes, f"platform facts are not compared, because only one side has them: {names}"]
    return {
        "of": kind,
        "title": title,
        "hosts": hosts,
        "same": len(states) - len(hosts) - len(unknown),
        "unknown": unknown,
        "only_before": alone[0],
        "only_after": alone[1],
        "notes": notes,
    }


def _changes(one: State, other: State) -> Iterator[Change]:
    for key in one.values.keys() | other.values.keys():
        area, whole, value = key[0], (*key[:3], "", ""), key[3]
        if area not in ("host", "tuning") and not (one.facts and other.facts):
            continue
        # of what came or went, only the whole is told
        alone = (whole in one.values) != (whole in other.values)
        if alone != (key == whole) or (alone and area == "tuning" and not (one.checked and other.checked)):
            continue
        before, after = one.values.get(key), other.values.get(key)
        if before != after:
            reason = other.reasons.get(whole, "") if alone or value in NAMES else ""
            names = dict(zip(("area", "tuning", "subject", "value", "item"), key, strict=True))
            yield {**names, "before": before, "after": after, "reason": reason}


def _rank(change: Change) -> tuple[Any, ...]:
    tuning, subject, item = (natural(change[key]) for key in ("tuning", "subject", "item"))
    return AREAS.index(change["area"]), tuning, subject, VALUES.index(change["value"]), item


def lines(difference: Difference) -> Iterator[str]:
    """The differences as text, by subject; what is the same on many hosts is printed once with their names."""
    yield difference["title"]
    yield from difference["notes"]
    for key, words in (("only_before", "only in the first"), ("only_after", "only in the second")):
        if difference[key]:
            yield f"{words}: {_listed(difference[key], NAMED_ALONE)}"
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
    alike = by_key((_sentence(change), change) for change in changes)
    for (heading, value, what), same in alike.items():
        items = listed((_short(change["item"]) for change in same if change["item"]), NAMED_ITEMS)
        named = " ".join(part for part in (value.replace("_", " "), items) if part)
        yield _rank(same[0]), heading, shorten(f"{named}{': ' if named else ''}{what}", LONGEST)


def _sentence(change: Change) -> tuple[str, str, str]:
    """Heading, value and what it was and is."""
    first = change["tuning"] if change["area"] == "tuning" else change["area"]
    what = f"{_words(change, 'before')} {ARROW} {_words(change, 'after')}"
    return (
        f"{first} {change['subject']}".strip(),
        change["value"],
        f"{what}: {change['reason']}" if change["reason"] else what,
    )


def _words(change: Change, side: str) -> str:
    value, whole = change[side], not (change["value"] or change["item"])
    if value is not None:
        words = one_line(", ".join(opaque(value))) or "empty"
        return words.replace("_", " ") if whole or change["value"] in NAMES else words
    return ("not checked" if change["area"] == "tuning" else "absent") if whole else NOTHING


def _summary(difference: Difference) -> str:
    hosts, unknown = difference["hosts"], _listed(difference["unknown"], NAMED_ALONE)
    if difference["of"] == "hosts":
        told = plural(sum(len(host["changes"]) for host in hosts), "difference")
        return f"not compared, because one of them was not checked to the end: {unknown}" if unknown else told
    lost = [f"not checked to the end in at least one of the runs: {unknown}"] if unknown else []
    return ", ".join([f"{plural(len(hosts), 'host')} with differences", f"{difference['same']:,} without", *lost])


def _listed(names: Iterable[str], most: int) -> str:
    return listed(map(_short, names), most)


def _short(text: object) -> str:
    return shorten(one_line(text), LONGEST_NAME)
