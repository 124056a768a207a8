# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lay the formats of a report into its folder, atomically, and say whether any byte is another one than before."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .._records.files import open_regular, replacing
from . import RENDERERS
from .text import Report, Runs


@dataclass(frozen=True)
class Written:
    """Where each format lies, and whether the files are, or in check mode would be, other ones than before."""

    paths: dict[str, str]
    changed: bool


def write_report(report: Report, runs: Runs, folder: Path, formats: Sequence[str], check: bool = False) -> Written:
    """Write ``report.<format>`` for each format below ``folder``; ``runs`` is asked once for each that needs them."""
    pieces = {form: functools.partial(renderer, report, runs) for form, renderer in RENDERERS.items()}
    return write_formats(pieces, folder, "report", formats, check)


def write_formats(
    pieces: Mapping[str, Callable[[], Iterable[str]]], folder: Path, stem: str, formats: Sequence[str], check: bool
) -> Written:
    """Write ``<stem>.<format>`` below ``folder``, which is made as needed; with ``check`` only compare.

    OSError as the system gives it. ValueError where the folder is a symbolic link: it could lead anywhere.
    """
    if folder.is_symlink():
        raise ValueError(f"{folder} is a symbolic link; the report is written into a real folder only")
    paths, changed = {}, False
    for form in (name for name in pieces if name in formats):
        path = folder / f"{stem}.{form}"
        differs = _differs(path, pieces[form]()) if check else _replace(path, pieces[form]())
        changed = changed or differs
        paths[form] = str(path)
    return Written(paths, changed)


class _Comparison:
    """Compares pieces with a file as they come, so that a large report is never held in memory as a whole."""

    def __init__(self, stream: BinaryIO | None) -> None:
        self.stream = stream
        self.same = stream is not None

    def feed(self, piece: bytes) -> None:
        if self.same and self.stream is not None:
            self.same = self.stream.read(len(piece)) == piece

    def differs(self) -> bool:
        return not self.same or self.stream is None or self.stream.read(1) != b""


@contextlib.contextmanager
def _compared(path: Path) -> Iterator[_Comparison]:
    try:
        stream = open_regular(path)
    except (OSError, ValueError):
        yield _Comparison(None)
        return
    with stream:
        yield _Comparison(stream)


def _differs(path: Path, pieces: Iterable[str]) -> bool:
    with _compared(path) as comparison:
        for piece in pieces:
            comparison.feed(piece.encode())
        return comparison.differs()


def _replace(path: Path, pieces: Iterable[str]) -> bool:
    """The file is exchanged as a whole, and only where its content differs."""
    with replacing(path, path.parent.parent) as replacement, _compared(path) as comparison:
        for piece in pieces:
            data = piece.encode()
            replacement.stream.write(data)
            comparison.feed(data)
        replacement.wanted = comparison.differs()
    return replacement.wanted
