# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slices of one run: several processes, each with some of the hosts, united in one folder of the evidence.

Each process replaces only its own file in ``slices/``. Whoever holds the lock of the folder then writes the united
files from all that are there, so the last one to do so has seen every slice.
"""

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .._pages import to_json
from .._pages.text import listed, natural, one_line
from .._pages.writing import Written, write_formats
from .._records.checks import check_slug
from .._records.files import LOCK, folder_below, locked
from . import files
from .document import assemble
from .shapes import Document, RunFields, WaiverUse

VARIABLE = "zpower_run"
PREFIX = "run-"
FOLDER = "slices"
PATIENCE_S = 60.0
"""How long to wait for another slice that writes the united files."""
MOST_NAMES = 5
STATES = ("expired", "applied", "needless", "not_checked", "unused")
"""The state of a waiver in a run is the first of these that it has in a slice."""


class NotUnitedError(ValueError):
    """The slice is written, but the lock of the folder cannot be had."""


@dataclass(frozen=True)
class Slice:
    """One process of a run; ``name`` begins with the time at which it began."""

    folder: Path
    name: str

    @property
    def path(self) -> Path:
        return self.folder / FOLDER / f"{self.name}.json"


def run_name(value: object) -> str:
    """The name of the run that a variable gives, also as a number; empty if none is given. ValueError if it is none."""
    number = isinstance(value, int) and not isinstance(value, bool)
    return check_slug(VARIABLE, str(value) if number else value) if value is not None and value != "" else ""


def folder_of(results: Path, kind: str, run: str) -> Path:
    return results / kind / (PREFIX + run)


def new_slice(results: Path, kind: str, run: str, begun: str) -> Slice:
    """A slice in ``<results>/<kind>/run-<run>/``, which is made if absent."""
    folder = folder_of(results, kind, run)
    with folder_below(folder / FOLDER, results):
        return Slice(folder, f"{files.stamp(begun)}-{secrets.token_hex(4)}")


def write(document: Document, one: Slice) -> Written:
    """Write the file of the slice, then the united files. NotUnitedError if only the first could be done; other errors
    as :func:`files.write`."""
    write_formats({"json": to_json.lines}, (document,), (one.path.parent, one.name), ["json"], check=False)
    return unite(one.folder, document["run"]["kind"])[1]


def unite(folder: Path, kind: str, by_hand: bool = False, check: bool = False) -> tuple[Document, Written]:
    """Write the files of the run from its slices. ValueError if there is none. A person who unites ``by_hand`` needs no
    lock where the file system has none. With ``check`` nothing is written."""
    if not (folder / FOLDER).is_dir():
        raise ValueError(f"{folder} has no slices; the name of a run that has some belongs there")
    with contextlib.nullcontext() if check else _locked(folder, by_hand):
        document = united(kind, *_read(folder, kind))
        return document, files.write(document, folder, check=check)


def begun(folder: Path) -> str:
    """When the first slice of a folder began, as in the names of folders; empty without slices."""
    try:
        names = [entry.name for entry in os.scandir(folder / FOLDER) if entry.name.endswith(".json")]
    except OSError:
        return ""
    return min(names, default="").partition("-")[0]


@contextlib.contextmanager
def _locked(folder: Path, by_hand: bool) -> Iterator[None]:
    """Hold the lock of the folder. NotUnitedError if another slice keeps it, or the file system has no locks."""
    with contextlib.ExitStack() as stack:
        try:
            refused = stack.enter_context(locked(folder, folder.parent, PATIENCE_S))
        except TimeoutError:
            raise NotUnitedError(f"another slice has kept {folder / LOCK} for {PATIENCE_S:.0f} s") from None
        if refused and not by_hand:
            raise NotUnitedError(refused)
        yield


def _read(folder: Path, kind: str) -> tuple[list[Document], list[str]]:
    """The slices of a folder, the earliest first, and a sentence for each file that is none of this kind."""
    names = sorted(path.name for path in (folder / FOLDER).iterdir() if path.suffix == ".json")
    found, wrong = [], []
    for path in (folder / FOLDER / name for name in names):
        try:
            document = files.read(path)
        except OSError as error:
            wrong.append(f"{path} is left out: {error.strerror}")
        except ValueError as error:
            wrong.append(f"left out: {error}")
        else:
            other = document["run"]["kind"]
            if other == kind:
                found.append(document)
            else:
                wrong.append(f"{path} is left out: it is of {other}; only slices of {kind} belong there")
    if not found:
        raise ValueError("; ".join([f"{folder / FOLDER} holds no slice of {kind}", *wrong]))
    return sorted(found, key=lambda document: str(document["run"]["begun"])), wrong


def united(kind: str, slices: Sequence[Document], wrong: Sequence[str] = ()) -> Document:
    """One document from those of the slices, the earliest first. ``wrong``: what was left out, and why; the run then
    counts as unfinished, because nobody knows its hosts."""
    last = {host["host"]: number for number, document in enumerate(slices) for host in document["hosts"]}
    # a slice whose hosts were all run again, such as one that was killed, no longer counts
    counting = [
        document
        for number, document in enumerate(slices)
        if not document["hosts"] or any(last[host["host"]] == number for host in document["hosts"])
    ]
    hosts = [
        host for number, document in enumerate(slices) for host in document["hosts"] if last[host["host"]] == number
    ]
    runs = [document["run"] for document in counting]
    problems = [*wrong, *_twice(slices), *_different(runs)]
    problems += [sentence for document in counting for sentence in document.get("problems") or ()]
    return assemble(
        _run(kind, runs, min(document["run"]["begun"] for document in slices), not wrong),
        sorted(hosts, key=lambda host: natural(host["host"])),
        _waivers(counting),
        list(dict.fromkeys(map(one_line, problems))),
    )


def _run(kind: str, runs: Sequence[RunFields], begun: str, complete: bool) -> RunFields:
    ended = [run["ended"] for run in runs if run["ended"] is not None]
    limits = [run["limit"] for run in runs if run["limit"] is not None]
    return {
        "kind": kind,
        "begun": begun,
        "ended": max(ended) if complete and len(ended) == len(runs) else None,
        "collection": ", ".join(_all(run["collection"] for run in runs)),
        "ansible_core": ", ".join(_all(run["ansible_core"] for run in runs)),
        "inventory": ", ".join(_all(run["inventory"] for run in runs)),
        "limit": ",".join(dict.fromkeys(limits)) if len(limits) == len(runs) else None,
        "tags": list(dict.fromkeys(tag for run in runs for tag in run["tags"])),
        "skip_tags": list(dict.fromkeys(tag for run in runs for tag in run["skip_tags"])),
        "check": all(run["check"] for run in runs),
    }


def _all(values: Iterable[str]) -> list[str]:
    """The different values of a field."""
    return sorted(set(values), key=natural)


def _different(runs: Sequence[RunFields]) -> Iterator[str]:
    """What makes slices doubtful parts of one run."""
    versions = _all(run["collection"] for run in runs)
    if len(versions) > 1:
        yield f"the slices ran with different versions of the collection: {', '.join(versions)}"
    checks, tags = [run["check"] for run in runs], [run["tags"] for run in runs]
    for words, differ in (
        ("with and without check mode", any(check != checks[0] for check in checks)),
        ("with different tags", any(some != tags[0] for some in tags)),
    ):
        if differ:
            yield f"the slices ran {words}; slices of one run have the same options"


def _twice(slices: Sequence[Document]) -> Iterator[str]:
    """A sentence on the hosts that are in several slices."""
    seen: set[str] = set()
    again: dict[str, None] = {}
    for document in slices:
        names = {host["host"] for host in document["hosts"]}
        again.update(dict.fromkeys(sorted(seen & names, key=natural)))
        seen |= names
    if again:
        yield f"in more than one slice, of which the last begun counts: {listed(list(again), MOST_NAMES)}"


def _waivers(slices: Sequence[Document]) -> list[WaiverUse]:
    """The waivers of all slices, each with its state in the whole run."""
    found: dict[str, WaiverUse] = {}
    for waiver in (waiver for document in slices for waiver in document.get("waivers") or ()):
        key = repr({**waiver, "days_left": 0, "soon": False, "state": "", "rows": 0})
        known = found.setdefault(key, waiver)
        if known is waiver:
            continue
        state = min(known["state"], waiver["state"], key=STATES.index)
        rows = sum(one["rows"] for one in (known, waiver) if one["state"] == state)
        found[key] = {**waiver, "state": state, "rows": rows}
    return list(found.values())
