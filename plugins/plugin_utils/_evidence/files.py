# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of the evidence: a folder for each run, its JSON written as unfinished at its begin, all at its end.

The checksums of a folder are written last, in the form of sha256sum, so ``sha256sum -c`` checks them.
"""

import hashlib
import itertools
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import cast

from .._pages import to_json
from .._pages.pages import page_formats
from .._pages.writing import Formats, Written, write_formats
from .._records.checks import VERDICTS, Fields, parse_json, sentence
from .._records.files import folder_below, read_regular, replacing
from .._records.shapes import check_shape
from . import exports
from .page import make_page
from .shapes import OUTCOMES, Document

FORMATS: Formats = {
    "json": to_json.lines,
    "csv": exports.csv,
    **page_formats(make_page),
    "xml": exports.junit,
    "prom": exports.prometheus,
}

LARGEST_FILE = 1 << 28
SUMS = "SHA256SUMS"


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
    document: Document,
    folder: Path,
    formats: Collection[str] = tuple(FORMATS),
    check: bool = False,
    known: Mapping[str, str] | None = None,
) -> Written:
    """Write ``<kind>.<format>`` into the folder, each file as a whole; of a run that has ended also the checksums of
    the bytes that were written, whatever lies there now. ``known``: the checksums of other files that belong to the
    run. Check and errors as :func:`write_formats`."""
    kind = document["run"]["kind"]
    written = write_formats(FORMATS, (document,), (folder, kind), formats, check)
    if document["run"]["ended"] is not None and not check:
        lines = {**(known or {}), **{f"{kind}.{form}": digest for form, digest in written.digests.items()}}
        with replacing(folder / SUMS, folder.parent) as replacement:
            replacement.stream.write("".join(f"{lines[name]}  {name}\n" for name in sorted(lines)).encode())
    return written


def read(path: Path) -> Document:
    """A document from its JSON file. OSError as the system gives it; ValueError says what is wrong with the file."""
    return read_with_digest(path)[0]


def read_with_digest(path: Path) -> tuple[Document, str]:
    """A document, and the SHA-256 of the bytes that were read. Errors as :func:`read`."""
    try:
        data = read_regular(path, LARGEST_FILE)
        return check(parse_json(data)), hashlib.sha256(data).hexdigest()
    except (RecursionError, ValueError) as error:
        raise ValueError(f"{path}: {sentence(error)}") from None


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
