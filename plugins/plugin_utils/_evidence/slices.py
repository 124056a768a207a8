# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slices of one run: several processes, each with some of the hosts, united in one folder of the evidence.

Each process replaces only its own file in ``slices/``. Whoever holds the lock of the folder then writes the united
files from all that are there, so the last one to do so has seen every slice.
"""

import contextlib
import platform
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from .._pages import to_json
from .._pages.text import listed, moment, natural, one_line, shorten
from .._pages.writing import Written, write_formats
from .._records.checks import LONGEST_NAME, check_slug, parse_json, show
from .._records.files import LOCK, folder_below, locked, read_regular
from .._records.grouping import by_key
from .._records.shapes import check_shape
from . import files
from .document import assemble
from .shapes import Document, RunFields, SliceUse, WaiverUse

Part = tuple[Document, SliceUse]
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


def run_name(value: object) -> str:
    """The name of the run in a variable, also as a number; empty if none is given. ValueError if it is not a name."""
    number = isinstance(value, int) and not isinstance(value, bool)
    return check_slug(VARIABLE, str(value) if number else value) if value is not None and value != "" else ""


def folder_of(results: Path, kind: str, run: str) -> Path:
    return results / kind / (PREFIX + run)


def new_slice(results: Path, kind: str, run: str, begun: str) -> Path:
    """The file of a slice below ``<results>/<kind>/run-<run>/``, which is made if absent; named by its time."""
    folder = folder_of(results, kind, run) / FOLDER
    with folder_below(folder, results):
        return folder / f"{files.stamp(begun)}-{secrets.token_hex(4)}.json"


Union = tuple[Document, Written, list[str], list[str]]
"""The united run, its files, and sentences on slices that are not in it, and on those that may not be of this run."""


def write(document: Document, path: Path) -> Union:
    """Write the file of a slice, then the united files. NotUnitedError if only the first could be done; other errors
    as :func:`files.write`."""
    folder = path.parents[1]
    about: RunFields = {**document["run"], "controller": platform.node(), "name": folder.name.removeprefix(PREFIX)}
    place = (path.parent, path.stem)
    written = write_formats({"json": to_json.lines}, ({**document, "run": about},), place, ["json"], check=False)
    return unite(folder, document["run"]["kind"], (path.name, written.digests["json"]))


def unite(folder: Path, kind: str, own: tuple[str, str] | None = None, check: bool = False) -> Union:
    """Write the files of the run from its slices. ValueError if there is none. With ``check`` nothing is written.

    ``own``: file and digest of the slice whose process does so. A person needs no lock where the file system has none.
    """
    if not (folder / FOLDER).is_dir():
        raise ValueError(f"{folder} has no slices; give the name of a run that has some")
    with contextlib.nullcontext() if check else _locked(folder, not own):
        parts, wrong = _read(folder, kind)
        uses = _uses(folder / f"{kind}.json", parts, own)
        late = [f"{called(use)}, was added or changed after the run was united" for use in uses if use["late"]]
        document = united(kind, [document for document, _use in parts], wrong, late)
        document["slices"] = uses
        known = {f"{FOLDER}/{use['file']}": use["sha256"] for use in uses}
        return document, files.write(document, folder, check=check, known=known), wrong, late


def _uses(path: Path, parts: Sequence[Part], own: tuple[str, str] | None) -> list[SliceUse]:
    """The slices with what the last union at this path knows of them: each process unites its own slice when it writes
    it, so whatever else is new came from somewhere else, unless a person brings slices together."""
    known, late = {}, bool(own)
    with contextlib.suppress(OSError, ValueError, RecursionError, LookupError, TypeError):
        last = parse_json(read_regular(path, files.LARGEST_FILE))  # not all of it is checked: it may be large
        check_shape(last["slices"], list[SliceUse])
        known = {(use["file"], use["sha256"]): use["late"] for use in last["slices"]}
        late |= bool(last["run"]["ended"])
    if own:
        known[own] = False
    return [{**use, "late": known.get((use["file"], use["sha256"]), late)} for _document, use in parts]


def called(use: SliceUse) -> str:
    """``slice 20261120T100000Z-1a2b3c4d of controller1, begun 2026-11-20 10:00:00 UTC``."""
    return f"slice {use['file'].removesuffix('.json')} of {use['controller']}, begun {moment(use['begun'])}"


def begun(folder: Path, kind: str) -> str:
    """When a united run began, in the form of the names of folders; empty if no document says so."""
    with contextlib.suppress(OSError, ValueError, RecursionError, LookupError, TypeError):
        return files.stamp(parse_json(read_regular(folder / f"{kind}.json", files.LARGEST_FILE))["run"]["begun"])
    return ""


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


def _read(folder: Path, kind: str) -> tuple[list[Part], list[str]]:
    """The slices of a folder, the earliest first, and a sentence for each file that is not one of this run."""
    found, wrong = [], []
    for path in sorted((folder / FOLDER).iterdir()):
        try:
            if path.suffix == ".json":
                found.append(_part(path, kind, folder.name.removeprefix(PREFIX)))
        except OSError as error:
            wrong.append(f"{path} is left out: {error.strerror}")
        except ValueError as error:
            wrong.append(f"left out: {error}")
    if not found:
        raise ValueError("; ".join([f"{folder / FOLDER} holds no slice of {kind}", *wrong]))
    return sorted(found, key=lambda part: part[1]["begun"]), wrong


def _part(path: Path, kind: str, name: str) -> Part:
    """A slice of this run. OSError, ValueError in one sentence if it is not one."""
    check_slug("the file name of a slice", path.name)
    document, digest = files.read_with_digest(path)
    run = document["run"]
    if run["kind"] != kind:
        raise ValueError(f"{path} is of {run['kind']}; it must be of {kind}")
    if run.get("name", name) != name:
        raise ValueError(f"{path} is of the run {show(run['name'])}; it must be of {show(name)}")
    return document, {
        "file": path.name,
        "sha256": digest,
        "controller": shorten(one_line(run.get("controller") or "an unknown controller"), LONGEST_NAME),
        "begun": one_line(run["begun"]),
        "ended": run["ended"] and one_line(run["ended"]),
        "late": False,
    }


def united(kind: str, slices: Sequence[Document], wrong: Sequence[str] = (), late: Sequence[str] = ()) -> Document:
    """One document from those of the slices, the earliest first. ``wrong``: what was left out, and why; the run then
    counts as unfinished, because nobody knows its hosts. ``late``: further problems."""
    last = {host["host"]: (document, host) for document in slices for host in document["hosts"]}
    # a slice whose hosts were all run again, such as one that was killed, no longer counts
    counting = [
        document for document in slices if not document["hosts"] or any(one is document for one, _host in last.values())
    ]
    runs = [document["run"] for document in counting]
    problems = [*wrong, *late, *_doubts(slices, runs)]
    problems += [sentence for document in counting for sentence in document.get("problems") or ()]
    return assemble(
        _run(kind, runs, min(document["run"]["begun"] for document in slices), not wrong),
        [last[name][1] for name in sorted(last, key=natural)],
        [*_waivers(counting)],
        list(dict.fromkeys(map(one_line, problems))),
    )


def _run(kind: str, runs: Sequence[RunFields], begun: str, complete: bool) -> RunFields:
    ended = [run["ended"] for run in runs if run["ended"] is not None]
    limits = [run["limit"] for run in runs if run["limit"] is not None]
    return {
        "kind": kind,
        "begun": begun,
        "ended": max(ended) if complete and len(ended) == len(runs) else None,
        "collection": _all(run["collection"] for run in runs),
        "ansible_core": _all(run["ansible_core"] for run in runs),
        "inventory": _all(run["inventory"] for run in runs),
        "limit": ",".join(dict.fromkeys(limits)) if len(limits) == len(runs) else None,
        "tags": list(dict.fromkeys(tag for run in runs for tag in run["tags"])),
        "skip_tags": list(dict.fromkeys(tag for run in runs for tag in run["skip_tags"])),
        "check": all(run["check"] for run in runs),
    }


def _all(values: Iterable[str]) -> str:
    """The different values of a field."""
    return ", ".join(sorted(set(values), key=natural))


def _doubts(slices: Sequence[Document], runs: Sequence[RunFields]) -> Iterator[str]:
    """Hosts that are in several slices, and what makes slices doubtful parts of one run."""
    counts = Counter(host["host"] for document in slices for host in document["hosts"])
    if again := sorted((name for name, count in counts.items() if count > 1), key=natural):
        yield f"in more than one slice (the last begun counts): {listed(again, MOST_NAMES)}"
    if len({run["collection"] for run in runs}) > 1:
        versions = _all(run["collection"] for run in runs)
        yield f"the slices ran with different versions of the collection: {versions}"
    if len({run["check"] for run in runs}) > 1:
        yield "the slices ran with and without check mode; slices of one run have the same options"
    if any(run["tags"] != runs[0]["tags"] for run in runs):
        yield "the slices ran with different tags; slices of one run have the same options"


def _waivers(slices: Sequence[Document]) -> Iterator[WaiverUse]:
    """The waivers of all slices, each with its state in the whole run."""
    blank = {"days_left": 0, "soon": False, "state": "", "rows": 0, "everyone": False}
    waivers = [waiver for document in slices for waiver in document.get("waivers") or ()]
    for alike in by_key((repr({**waiver, **blank}), waiver) for waiver in waivers).values():
        state = min((one["state"] for one in alike), key=STATES.index)
        rows = sum(one["rows"] for one in alike if one["state"] == state)
        yield {**alike[-1], "state": state, "rows": rows}
