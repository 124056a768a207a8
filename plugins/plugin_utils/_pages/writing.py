# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the formats of a page into its folder, each file atomically, and tell whether any file changed."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .._records.files import open_regular, replacing

Formats = dict[str, Callable[..., Iterator[str]]]
"""Writers by the ending of their file, the canonical form first: functions from a document to pieces of text."""


@dataclass(frozen=True)
class Written:
    """The path of each format, and whether any file changed, or would change in check mode."""

    paths: dict[str, str]
    changed: bool


def write_formats(
    writers: Formats, document: tuple[object, ...], place: tuple[Path, str], chosen: Collection[str], check: bool
) -> Written:
    """Write the chosen formats of a document, which is what its writers take; with ``check`` only compare.

    ``place``: the folder, which is created if absent, and the stem of ``<stem>.<format>``.
    OSError as raised by the system. ValueError if the folder is a symbolic link: it could lead anywhere.
    """
    folder, stem = place
    if folder.is_symlink():
        raise ValueError(f"{folder} is a symbolic link; the report is written into a real folder only")
    paths, changed = {}, False
    for form in (name for name in writers if name in chosen):
        path = folder / f"{stem}.{form}"
        pieces = writers[form](*document)
        differs = _differs(path, pieces) if check else _replace(path, pieces)
        changed = changed or differs
        paths[form] = str(path)
    return Written(paths, changed)


def _replace(path: Path, pieces: Iterable[str]) -> bool:
    """Replace the file as a whole, but only if its content differs."""
    with replacing(path, path.parent.parent) as replacement:
        written = hashlib.sha256()
        for piece in pieces:
            data = piece.encode()
            replacement.stream.write(data)
            written.update(data)
        replacement.wanted = _stored_digest(path) != written.hexdigest()
    return replacement.wanted


def _differs(path: Path, pieces: Iterable[str]) -> bool:
    wanted = hashlib.sha256()
    for piece in pieces:
        wanted.update(piece.encode())
    return _stored_digest(path) != wanted.hexdigest()


def _stored_digest(path: Path) -> str | None:
    """The digest of a file; None if it cannot be read."""
    try:
        return digest(path)
    except (OSError, ValueError):
        return None


def digest(path: Path) -> str:
    """The SHA-256 of a file, read in pieces because a report can be large. Errors as :func:`open_regular`."""
    stored = hashlib.sha256()
    with open_regular(path) as stream:
        while piece := stream.read(1 << 20):
            stored.update(piece)
    return stored.hexdigest()
