# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are replaced as a whole: whoever reads sees the old one or the new one, also after a power cut."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO


@dataclass
class Replacement:
    """What is written beside a file. ``wanted`` set to False leaves the file as it is."""

    stream: BinaryIO
    wanted: bool = True


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Replacement]:
    """A stream whose content takes the place of ``path`` (0644) when the block ends, and not when it raises.

    The folder has to be there. OSError as the system gives it.
    """
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            replacement = Replacement(stream)
            yield replacement
            stream.flush()
            os.fchmod(stream.fileno(), 0o644)
            if replacement.wanted:
                os.fsync(stream.fileno())
        if replacement.wanted:
            os.replace(beside, path)
            _sync(path.parent)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)


def _sync(folder: Path) -> None:
    """Make the exchange of a file in this folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
