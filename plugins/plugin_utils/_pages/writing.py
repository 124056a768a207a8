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
    """The path of each format, the SHA-256 of the bytes that make it, and whether any file changed, or would change in
    check mode."""

    paths: dict[str, str]
    digests: dict[str, str]
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
    paths, digests, changed = {}, {}, False
    for form in (name for name in writers if name in chosen):
        path = folder / f"{stem}.{form}"
        pieces = writers[form](*document)
        digests[form], differs = _compare(path, pieces) if check else _replace(path, pieces)
        changed = changed or differs
        paths[form] = str(path)
    return Written(paths, digests, changed)


def _replace(path: Path, pieces: Iterable[str]) -> tuple[str, bool]:
    """Replace the file as a whole, but only if its content differs; the digest of the content, and whether it did."""
    with replacing(path, path.parent.parent) as replacement:
        digest, replacement.wanted = _compare(path, pieces, replacement.stream.write)
    return digest, replacement.wanted


def _compare(path: Path, pieces: Iterable[str], write: Callable[[bytes], object] = len) -> tuple[str, bool]:
    """The digest of the pieces, and whether that of the file is another one; each piece is given to ``write``."""
    wanted = hashlib.sha256()
    for piece in pieces:
        data = piece.encode()
        write(data)
        wanted.update(data)
    return wanted.hexdigest(), _stored_digest(path) != wanted.hexdigest()


def _stored_digest(path: Path) -> str | None:
    """The SHA-256 of a file, read in pieces because a report can be large; None if it cannot be read."""
    stored = hashlib.sha256()
    try:
        with open_regular(path) as stream:
            while piece := stream.read(1 << 20):
                stored.update(piece)
    except (OSError, ValueError):
        return None
    return stored.hexdigest()
