# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records on the controller: where they lie, how they are written, and how a whole change is read back.

One file a record, written beside and renamed: many forks write at once, and a file shared between them loses records.
What is read was written by others: whatever is not a sound record of this change becomes a sentence, never a crash.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

from .cpu_annex import Annex
from .cpu_schema import CPU, ENDS, validate_cpu
from .files import open_regular, replacing
from .round import Reducer, Round
from .validate import MEASUREMENT, TUNINGS, check_slug, validate, validate_tunings

__all__ = [
    "CPU",
    "MEASUREMENT",
    "TUNINGS",
    "Loaded",
    "Round",
    "annex_path",
    "change_folder",
    "check_slug",
    "file_slug",
    "load_change",
    "read_annex",
    "read_json",
    "record_path",
    "sentence",
    "store",
    "tunings_path",
    "validate",
    "validate_tunings",
    "write_json",
]

LARGEST_FILE = 8 * 1024 * 1024
"""A record of 100 runs with 4 kB of raw output each has half a megabyte."""

SLUG_LENGTH = 80
"""File systems end at 255 bytes a name, and a file name holds a workload and a peer."""

TUNINGS_PREFIX = "tunings-"
ANNEXES = tuple(f"/cpu-{end}.json" for end in ENDS)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"it holds {name}, which is no JSON")


DECODER = json.JSONDecoder(parse_constant=_no_constant)


@dataclass(frozen=True)
class Loaded:
    """A change as it was found: rounds, tunings files (as in their schema) and a sentence for all that was left out."""

    change: str = ""
    records: list[Round] = field(default_factory=list)
    tunings: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    experiment: dict[str, Any] | None = None
    """The plan of an experiment, where the change is one."""


@lru_cache(maxsize=4096)
def file_slug(text: str) -> str:
    """``text`` as a part of a file name: other characters than ``[A-Za-z0-9._-]`` and a leading point become ``_``.

    Names over SLUG_LENGTH are cut and end in a checksum of the whole. The true name stands in the record.
    """
    slug = re.sub(r"[^A-Za-z0-9._-]", "_", text)
    if not slug or slug.startswith("."):
        slug = "_" + slug[1:]
    if len(slug) > SLUG_LENGTH:
        checksum = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        slug = f"{slug[: SLUG_LENGTH - 9]}-{checksum}"
    return slug


def change_folder(results: Path | str, change: str) -> Path:
    """``<results>/<change>``; ValueError for an id that is no slug."""
    return Path(results) / check_slug("change", change)


def record_path(results: Path | str, record: Mapping[str, Any]) -> Path:
    """Where a measurement record belongs; ValueError where its change or phase is no slug."""
    return change_folder(results, record["change"]) / _record_place(record)


def tunings_path(results: Path | str, record: Mapping[str, Any]) -> Path:
    """Where the tunings file of one host, phase and round belongs; ValueError as in :func:`record_path`."""
    return change_folder(results, record["change"]) / _tunings_place(record)


def annex_path(results: Path | str, annex: Mapping[str, Any]) -> Path:
    """Where the CPU time recorded beside the measurements of a host belongs; ValueError as in :func:`record_path`."""
    return change_folder(results, annex["change"]) / _annex_place(annex)


def read_annex(results: Path | str, head: Mapping[str, Any]) -> dict[str, Any] | None:
    """The annex that is there already, by change, host and end; None without one. ValueError where it is not sound."""
    path = annex_path(results, head)
    if not os.path.lexists(path):
        return None
    annex: dict[str, Any] = read_json(path)
    wrong = validate_cpu(annex)
    if wrong:
        raise ValueError(f"{path}: {wrong}")
    return annex


def write_json(path: Path | str, obj: Any, results: Path | str) -> None:
    """Write ``obj`` atomically (0644, sorted keys): whoever reads sees the old file or the whole new one.

    Folders are made as needed. ValueError for NaN and infinities, which are no JSON, and where the way from ``results``
    leads over a link; OSError as the system gives it.
    """
    text = json.dumps(obj, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    with replacing(Path(path), Path(results)) as replacement:
        replacement.stream.write(text.encode("utf-8", "backslashreplace"))


def store(results: Path | str, record: Mapping[str, Any], replace_old: bool = False) -> Path:
    """Check a measurement or tunings record or an annex, write it to its place and return that.

    ValueError, and nothing written, where the record is not sound, its folder leads out of ``results`` by a link, or a
    file is there that was not to be replaced.
    """
    check, place = _KINDS.get(str(record.get("schema")), _KINDS[MEASUREMENT])
    wrong = check(record)
    if wrong:
        raise ValueError(f"the record cannot be stored: {wrong}")
    path = place(results, record)
    if not replace_old and os.path.lexists(path):
        raise ValueError(f"{path} exists already: name another round or change, or move it away")
    write_json(path, record, results)
    return path


def load_change(results: Path | str, change: str) -> Loaded:
    """Every sound record of a change, reduced, in the order of their names; ValueError if the id is no slug.

    Symbolic links are never followed. A file is turned away with a sentence in ``problems`` where it cannot be read,
    is not a sound record, belongs to another change, or does not lie where a record of its content belongs (so that
    a copied file cannot count twice).
    """
    loaded = Loaded(change)
    reducer = Reducer()
    folder = change_folder(results, change)
    if folder.is_symlink() or not folder.is_dir():
        what = "is a symbolic link and was not followed" if folder.is_symlink() else "does not exist"
        loaded.problems.append(f"{folder}: the folder of the change {what}.")
        return loaded
    with _no_collection():
        annexes: dict[str, list[Annex]] = {}
        # Annexes first: what they hold goes into the rounds that are read after them.
        for place in sorted(_files(folder, loaded.problems), key=lambda place: (not place.endswith(ANNEXES), place)):
            try:
                _load_file(folder, place, loaded, reducer, annexes)
            except OSError as error:
                loaded.problems.append(f"{_printable(place)}: cannot be read: {error.strerror}.")
            except (ValueError, RecursionError) as error:
                loaded.problems.append(f"{_printable(place)}: left out: {sentence(error)}.")
        for host, items in sorted(annexes.items()):
            for item in items:
                loaded.problems.extend(f"{host}/cpu-{item.end}.json: {remark}." for remark in item.remarks())
    return loaded


def _load_file(folder: Path, place: str, loaded: Loaded, reducer: Reducer, annexes: dict[str, list[Annex]]) -> None:
    record = read_json(f"{folder}/{place}")
    if place.endswith(ANNEXES):
        _expect(validate_cpu(record), record, place, loaded.change)
        annexes.setdefault(place.partition("/")[0], []).append(Annex(record))
    elif f"/{TUNINGS_PREFIX}" in place:
        _expect(validate_tunings(record), record, place, loaded.change)
        loaded.tunings.append(_share_tunings(record, reducer))
    else:
        _expect(validate(record), record, place, loaded.change)
        loaded.records.append(_with_annexes(reducer.reduce(record), record, annexes.get(place.partition("/")[0], ())))


def _with_annexes(item: Round, record: Mapping[str, Any], annexes: Iterable[Annex]) -> Round:
    """The round with the CPU time that was recorded beside it."""
    for annex in annexes:
        end = ENDS.index(annex.end)
        found = annex.cpu_of(record, has_own=item.cpu[end] is not None)
        if found is not None:
            cpu, sources = list(item.cpu), list(item.cpu_source)
            cpu[end], sources[end] = found.total, found.source
            item = replace(item, cpu=(cpu[0], cpu[1]), cpu_source=(sources[0], sources[1]))
    return item


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Millions of objects from JSON hold no cycles; looking for some takes a tenth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _record_place(record: Mapping[str, Any]) -> str:
    phase = check_slug("phase", record["phase"])
    name = f"{phase}-{int(record['round'])}-{file_slug(record['workload']['name'])}-{file_slug(record['peer'])}.json"
    return f"{file_slug(record['host'])}/{name}"


def _tunings_place(record: Mapping[str, Any]) -> str:
    phase = check_slug("phase", record["phase"])
    return f"{file_slug(record['host'])}/{TUNINGS_PREFIX}{phase}-{int(record['round'])}.json"


def _annex_place(annex: Mapping[str, Any]) -> str:
    return f"{file_slug(annex['host'])}/cpu-{annex['end']}.json"


_KINDS: dict[str, tuple[Callable[[object], str | None], Callable[[Path | str, Mapping[str, Any]], Path]]] = {
    MEASUREMENT: (validate, record_path),
    TUNINGS: (validate_tunings, tunings_path),
    CPU: (validate_cpu, annex_path),
}


def _files(folder: Path, problems: list[str]) -> Iterator[str]:
    """``<host>/<file>`` of everything that may be a record, sorted; files beside the folders are the report's."""
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
                    problems.append(f"{_printable(place)}: no record file; left out.")
                else:
                    yield place


def read_json(path: Path | str) -> Any:
    """A JSON file that anybody may have put there: OSError, ValueError or RecursionError where it is none."""
    with open_regular(path) as stream:
        data = stream.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise ValueError(f"it has more than the {LARGEST_FILE} bytes that a record may have")
    text = data.decode("utf-8")
    record = DECODER.decode(text)
    if "\\ud" in text or "\\uD" in text:
        # Half of a surrogate pair is legal in JSON, and no report could be written with it.
        json.dumps(record, ensure_ascii=False).encode("utf-8")
    return record


def _printable(name: str) -> str:
    """A file name as text: bytes that are no UTF-8 arrive as lone surrogates, which nobody can write down."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _expect(wrong: str | None, record: Mapping[str, Any], place: str, change: str) -> None:
    if wrong:
        raise ValueError(wrong)
    if record["change"] != change:
        raise ValueError(f"it belongs to the change {record['change']}")
    places = {TUNINGS: _tunings_place, CPU: _annex_place}
    right = places.get(record["schema"], _record_place)(record)
    if place != right:
        raise ValueError(f"a record of its content belongs at {right}")


def _share_tunings(record: Mapping[str, Any], reducer: Reducer) -> dict[str, Any]:
    """The file with equal parts shared: hundreds of hosts have the same knobs in the same states."""
    tunings = [{key: reducer.share_tree(value) for key, value in item.items()} for item in record["tunings"]]
    return {**record, "tunings": tunings}


def sentence(error: Exception) -> str:
    """What is wrong with a file, from an exception of :func:`read_json` or a check."""
    if isinstance(error, OSError):
        return "it is a symbolic link" if error.errno == errno.ELOOP else f"cannot be read: {error.strerror}"
    if isinstance(error, json.JSONDecodeError):
        return f"it is no JSON ({error.msg}, line {error.lineno})"
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    if isinstance(error, UnicodeEncodeError):
        return "it holds half of a surrogate pair, which is no character"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(error)
