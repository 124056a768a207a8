# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records on the controller: their places, writing one, and reading a whole change.

One file per record, written beside its place and renamed: many forks write at once, and would lose records in a shared
file. Files may be written by others: one that is not a sound record of this change becomes a sentence, never a crash.
"""

import contextlib
import gc
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from .checks import check_change_name, check_slug, parse_json, sentence
from .cpu_annex import CPU, Annex
from .credible import credible
from .files import read_regular, replacing
from .reading import MEASUREMENT, TUNINGS, Reader
from .round import SIDES, Round

Read = TypeVar("Read")
LARGEST_FILE = 8 * 1024 * 1024
"""A record of 100 runs with 4 kB of raw output each has half a megabyte."""

SLUG_LENGTH = 80
"""File systems allow 255 bytes per name, and a file name holds a workload and a peer."""

_HEAD = "schema change phase round host"
FIELDS = {
    MEASUREMENT: f"{_HEAD} peer workload protocol started finished runs idle fingerprint collector context source "
    "cpu_source left_behind histogram_us",
    TUNINGS: f"{_HEAD} at check_mode tunings",
    CPU: "schema change host end files",
}
"""The fields of each schema; others are not stored, so that no host chooses names in a file of the controller."""
OF_RUN = ["run", "warmup", "ok", "error", "started", "elapsed_s", "metrics", "cpu", "net", "raw", "links"]

TUNINGS_PREFIX = "tunings-"
ANNEXES = tuple(f"/cpu-{end}.json" for end in SIDES)


SURROGATE = re.compile(rb"\\u[dD]")


@dataclass(frozen=True)
class Loaded:
    """The records of a change: rounds, tunings files (as in their schema), and a sentence for each file left out."""

    change: str = ""
    records: list[Round] = field(default_factory=list)
    tunings: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    experiment: Any = None
    """The plan, if the change is an experiment."""


@lru_cache(maxsize=4096)
def file_slug(text: str) -> str:
    """``text`` as a part of a file name: other characters than ``[A-Za-z0-9._-]`` and a leading point become ``_``.

    Names over SLUG_LENGTH are cut and end in a checksum of the whole name. The true name is in the record.
    """
    slug = re.sub(r"[^A-Za-z0-9._-]", "_", text)
    if not slug or slug.startswith("."):
        slug = "_" + slug[1:]
    if len(slug) > SLUG_LENGTH:
        checksum = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        slug = f"{slug[: SLUG_LENGTH - 9]}-{checksum}"
    return slug


def change_folder(results: Path | str, change: str) -> Path:
    """``<results>/<change>``; ValueError for an id that cannot name a change."""
    return Path(results) / check_change_name("change", change)


def record_path(results: Path | str, record: Mapping[str, Any]) -> Path:
    """Where a record of any kind belongs; ValueError if its change or phase is not a slug."""
    return change_folder(results, record["change"]) / _place(record)


def path_of(results: Path | str, change: str, item: Round) -> Path:
    """The place of the record that a round was read from."""
    ids = {"change": change, "phase": item.phase, "round": item.number, "host": item.host}
    return record_path(results, {**ids, "workload": {"name": item.workload.name}, "peer": item.peer})


def _place(record: Mapping[str, Any]) -> str:
    """``<host>/<file>`` of a record in the folder of its change."""
    host = file_slug(record["host"])
    if record.get("schema") == CPU:
        return f"{host}/cpu-{record['end']}.json"
    state = f"{check_slug('phase', record['phase'])}-{int(record['round'])}"
    if record.get("schema") == TUNINGS:
        return f"{host}/{TUNINGS_PREFIX}{state}.json"
    return f"{host}/{state}-{file_slug(record['workload']['name'])}-{file_slug(record['peer'])}.json"


def validate(record: object) -> str | None:
    """What is wrong with a measurement record, in one sentence; None if it is sound."""
    try:
        Reader().measurement(record)
    except ValueError as error:
        return str(error)
    return None


def read_annex(results: Path | str, head: Mapping[str, Any]) -> dict[str, Any] | None:
    """The stored annex of this change, host and end; None if there is none. ValueError if it is not sound."""

    def check(found: dict[str, Any]) -> dict[str, Any]:
        Annex(found)
        return found

    return read_checked(record_path(results, {**head, "schema": CPU}), check)


def write_json(path: Path | str, obj: Any, results: Path | str) -> None:
    """Write ``obj`` atomically (0644, sorted keys): a reader sees the old file or the whole new one.

    Folders are made as needed. ValueError for NaN and infinities, which are not JSON, and if a folder below ``results``
    is a link; OSError from the system.
    """
    text = json.dumps(obj, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    with replacing(Path(path), Path(results)) as replacement:
        replacement.stream.write(text.encode("utf-8", "backslashreplace"))


def store(results: Path | str, record: Mapping[str, Any], replace_old: bool = False) -> Path:
    """Check a measurement or tunings record or an annex, then :func:`write_record`. ValueError if it is not sound."""
    reader = Reader()
    readers: dict[str, Callable[[object], object]] = {TUNINGS: reader.tunings, CPU: Annex}
    read = readers.get(str(record.get("schema")), reader.measurement)
    try:
        read(record)
    except ValueError as error:
        raise ValueError(f"the record cannot be stored: {error}") from None
    return write_record(results, record, replace_old)


def write_record(results: Path | str, record: Mapping[str, Any], replace_old: bool = False) -> Path:
    """Write a record that was checked to its place and return the place.

    ValueError, and nothing is written, if its folder is a link, or a file exists there that must not be replaced.
    """
    path = record_path(results, record)
    if not replace_old and os.path.lexists(path):
        raise ValueError(f"{path} exists already: name another round or change, or move it away")
    write_json(path, of_schema(record), results)
    return path


def of_schema(record: Mapping[str, Any]) -> dict[str, Any]:
    """A sound record with the fields of its schema only."""
    kept = {name: record[name] for name in FIELDS[record["schema"]].split() if name in record}
    if "runs" in kept:
        kept["runs"] = [{name: run[name] for name in OF_RUN if name in run} for run in kept["runs"]]
    if "fingerprint" in kept:
        kept["fingerprint"] = {end: kept["fingerprint"][end] for end in SIDES if end in kept["fingerprint"]}
    return kept


def load_change(results: Path | str, change: str) -> Loaded:
    """Every sound record of a change, in the order of their names; ValueError if the id is not a slug.

    Symbolic links are never followed. A file is left out, with a sentence in ``problems``, if it cannot be read, is not
    a sound record, belongs to another change, or does not lie where a record of its content belongs (so that a copied
    file cannot count twice). Nor does an edited copy: see credible.py.
    """
    loaded = Loaded(change)
    reader = Reader()
    folder = change_folder(results, change)
    if folder.is_symlink() or not folder.is_dir():
        what = "is a symbolic link and was not followed" if folder.is_symlink() else "does not exist"
        loaded.problems.append(f"{folder}: the folder of the change {what}.")
        return loaded
    with no_collection():
        annexes: dict[str, list[Annex]] = {}
        # Annexes first, because the rounds take CPU time from them.
        for place in sorted(_files(folder, loaded.problems), key=lambda place: (not place.endswith(ANNEXES), place)):
            try:
                _load_file(folder, place, loaded, reader, annexes)
            except OSError as error:
                loaded.problems.append(f"{_printable(place)}: cannot be read: {error.strerror}.")
            except (ValueError, RecursionError) as error:
                loaded.problems.append(f"{_printable(place)}: left out: {sentence(error)}.")
        for host, items in sorted(annexes.items()):
            for item in items:
                loaded.problems.extend(f"{host}/cpu-{item.end}.json: {remark}." for remark in item.remarks())
        loaded.records[:], doubts = credible(loaded.records, time.time_ns() // 1000)
    loaded.problems.extend(doubts)
    return loaded


def _load_file(folder: Path, place: str, loaded: Loaded, reader: Reader, annexes: dict[str, list[Annex]]) -> None:
    record = read_json(f"{folder}/{place}")
    found: Annex | dict[str, Any] | Round
    if place.endswith(ANNEXES):
        found = Annex(record)
    else:
        found = reader.tunings(record) if f"/{TUNINGS_PREFIX}" in place else reader.measurement(record)
    _check_place(record, place, loaded.change)
    of_host = annexes.setdefault(place.partition("/")[0], [])
    if isinstance(found, Annex):
        of_host.append(found)
    elif isinstance(found, Round):
        loaded.records.append(_with_annexes(found, record, of_host))
    else:
        loaded.tunings.append(found)


def _with_annexes(item: Round, record: Mapping[str, Any], annexes: Iterable[Annex]) -> Round:
    """The round with the CPU time that was recorded beside it."""
    for annex in annexes:
        found = annex.cpu_of(item, record["runs"])
        if found is not None:
            end = SIDES.index(annex.end)
            cpu, sources = list(item.cpu), list(item.cpu_source)
            cpu[end], sources[end] = found
            item = replace(item, cpu=(cpu[0], cpu[1]), cpu_source=(sources[0], sources[1]))
    return item


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """No garbage collection: millions of objects from JSON hold no cycles, and the search takes a tenth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _files(folder: Path, problems: list[str]) -> Iterator[str]:
    """``<host>/<file>`` of every file that may be a record, sorted; files beside the folders belong to the report."""
    for host in sorted(os.listdir(folder)):
        top = folder / host
        if top.is_symlink():
            problems.append(f"{_printable(host)}: a symbolic link was not followed.")
        elif top.is_dir():
            try:
                entries = sorted(os.scandir(top), key=lambda entry: entry.name)
            except OSError as error:
                problems.append(f"{_printable(host)}: cannot be read: {error.strerror}.")
                continue
            for entry in entries:
                place = f"{host}/{entry.name}"
                if entry.is_symlink():
                    problems.append(f"{_printable(place)}: a symbolic link was not followed.")
                elif not entry.is_file(follow_symlinks=False) or not entry.name.endswith(".json"):
                    problems.append(f"{_printable(place)}: not a record file; left out.")
                else:
                    yield place


def read_json(path: Path | str, most: int | None = None) -> Any:
    """A JSON file that anybody may have put there; OSError, and errors as :func:`parse_json`."""
    data = read_regular(path, most or LARGEST_FILE)
    record = parse_json(data)
    if SURROGATE.search(data):
        # Half of a surrogate pair is legal in JSON, and no report could be written with it.
        json.dumps(record, ensure_ascii=False).encode("utf-8")
    return record


def read_checked(path: Path, check: Callable[[Any], Read], advice: str = "") -> Read | None:
    """What ``check`` makes of a JSON file; None if there is no file, ValueError in one sentence if it is unusable."""
    try:
        return check(read_json(path))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} cannot be used: {sentence(error)}{advice}") from None


def _printable(name: str) -> str:
    """A file name as text: bytes that are not UTF-8 arrive as lone surrogates, which cannot be written."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _check_place(record: Mapping[str, Any], place: str, change: str) -> None:
    """ValueError if a valid record is in the wrong folder."""
    if record["change"] != change:
        raise ValueError(f"it belongs to the change {record['change']}")
    right = _place(record)
    if place != right:
        raise ValueError(f"a record of its content belongs at {right}")
