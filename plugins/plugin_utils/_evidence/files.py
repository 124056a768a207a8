# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of the evidence: a folder for each run, its JSON written as unfinished at its begin, all at its end.

The checksums of a folder are written last; those of the results folder list the runs in the order of their ends, and
the JSON of each run names the one before. All have the form of sha256sum, so ``sha256sum -c`` checks them too.
"""

import contextlib
import itertools
import json
import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import cast

from .._pages import to_json
from .._pages.writing import Formats, Written, digest, write_formats
from .._records.checks import Fields
from .._records.files import LOCK, folder_below, locked, read_regular, replacing
from .._records.reading import VERDICTS
from .._records.shapes import check_shape
from . import signing, to_csv, to_html, to_junit, to_markdown, to_prom
from .shapes import OUTCOMES, Document, PreviousRun

FORMATS: Formats = {
    "json": to_json.lines,
    "csv": to_csv.lines,
    "md": to_markdown.lines,
    "html": to_html.lines,
    "xml": to_junit.lines,
    "prom": to_prom.lines,
}

LARGEST_FILE = 1 << 30
SUMS = "SHA256SUMS"
SIGNATURE = f"{SUMS}.sig"
NO_EVIDENCE = re.compile(rf"{SUMS}(\.sig)?|{re.escape(LOCK)}|\..*\.tmp")
"""Files of a folder that its checksums leave out."""
LINE = re.compile(r"^([0-9a-f]{64})  (.+)\n", re.MULTILINE)
PATIENCE_S = 60.0
"""How long to wait for other runs that end."""


def new_folder(results: Path, kind: str, begun: str) -> Path:
    """Make ``<results>/<kind>/20261120T100000Z``, with ``-2`` behind it if another run has this name already."""
    with folder_below(results / kind, results) as above:
        for number in itertools.count(1):
            name = stamp(begun) if number == 1 else f"{stamp(begun)}-{number}"
            try:
                os.mkdir(name, dir_fd=above)
            except FileExistsError:
                continue
            return results / kind / name
    raise AssertionError  # the numbers never end


def stamp(begun: str) -> str:
    """``20261120T100000Z`` for the beginning of a run."""
    return begun[:19].replace("-", "").replace(":", "") + "Z"


def write(
    document: Document, folder: Path, formats: Collection[str] = tuple(FORMATS), check: bool = False, key: str = ""
) -> Written:
    """Write ``<kind>.<format>`` into the folder, each file as a whole; of a run that has ended also the checksums, with
    ``key`` signed. Check and errors as :func:`write_formats`, ValueError also for checksums that nobody can read."""
    kind, results, ended = document["run"]["kind"], folder.parents[1], document["run"]["ended"] is not None
    with contextlib.nullcontext() if check else locked(results, results, PATIENCE_S):
        listed = read_sums(results / SUMS)
        if ended:
            previous = previous_run(listed, f"{kind}/{folder.name}")
            document = {**document, "run": {**document["run"], "previous": previous}}
        written = write_formats(FORMATS, (document,), (folder, kind), formats, check)
        if ended and not check:
            _seal(folder, listed, key)
    return written


def previous_run(listed: Mapping[str, str], run: str) -> PreviousRun | None:
    """The run that was listed before this one, which may be listed; None for the first."""
    others = itertools.takewhile(lambda path: not path.startswith(f"{run}/"), listed)
    path = next((path for path in reversed([*others]) if path.endswith(".json")), None)
    return {"path": path, "sha256": listed[path]} if path else None


def _seal(folder: Path, listed: dict[str, str], key: str) -> None:
    """Write the checksums of a folder, their signature, and what the results folder lists of the run."""
    kind, results = folder.parent, folder.parents[1]
    _write_sums(folder / SUMS, kind, sums(folder))
    try:
        if key:
            signature = signing.sign(folder / SUMS, key)
            with replacing(folder / SIGNATURE, kind) as replacement:
                replacement.stream.write(signature)
    finally:  # a run without a signature is listed too
        _write_sums(results / SUMS, results, listed | main_sums(folder))


def sums(folder: Path) -> dict[str, str]:
    """The SHA-256 of each file of a folder and its folders, by name. OSError, ValueError for one that is none."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_symlink() or not path.is_dir())
    return {str(path.relative_to(folder)): digest(path) for path in paths if not NO_EVIDENCE.fullmatch(path.name)}


def main_sums(folder: Path) -> dict[str, str]:
    """The SHA-256 of the files of a run that the results folder lists, by their path there."""
    names = (f"{folder.parent.name}.json", SUMS, SIGNATURE)
    there = (folder / name for name in names if os.path.lexists(folder / name))
    return {f"{folder.parent.name}/{folder.name}/{path.name}": digest(path) for path in there}


def read_sums(path: Path) -> dict[str, str]:
    """The checksums in a file, by name; none if it is absent. ValueError if sha256sum would not write it like this."""
    try:
        text = read_regular(path, LARGEST_FILE).decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return {}
    found = {name: digest for digest, name in LINE.findall(text)}
    if _text(found) != text:
        raise ValueError(f"{path} is damaged; a line per file, as sha256sum writes it, belongs there")
    return found


def _write_sums(path: Path, top: Path, found: Mapping[str, str]) -> None:
    with replacing(path, top) as replacement:
        replacement.stream.write(_text(found).encode("utf-8", "surrogateescape"))


def _text(found: Mapping[str, str]) -> str:
    return "".join(f"{digest}  {name}\n" for name, digest in found.items())


def read(path: Path) -> Document:
    """A document from its JSON file. OSError as the system gives it; ValueError says what is wrong with the file."""
    try:
        return check(json.loads(read_regular(path, LARGEST_FILE)))
    except (RecursionError, UnicodeDecodeError, json.JSONDecodeError):
        raise ValueError(f"{path} is no JSON file") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def check(document: object) -> Document:
    """The document if its fields are as all readers here expect them, else ValueError."""
    check_shape(document, Document, fill=True)
    found = cast(Document, document)
    for name in ("unknown", "observed"):  # younger than the first evidence
        found["totals"]["verdicts"].setdefault(name, 0)
    totals = Fields(found["totals"], "totals")
    for name, known in (("outcomes", OUTCOMES), ("verdicts", VERDICTS)):
        for key in known:
            totals.required_object(name).count(key)
    return found
