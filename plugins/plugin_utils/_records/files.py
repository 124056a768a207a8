# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of a folder in which others may write, too: links are never followed, and no read or write waits for others.

A file is replaced as a whole: a reader sees the old one or the new one, also after a power cut.
"""

import contextlib
import errno
import fcntl
import multiprocessing
import os
import secrets
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

LOCK = ".lock"
PAUSE_S = 0.1


@dataclass
class Replacement:
    """The replacement of a file, written beside it. ``wanted`` set to False leaves the file unchanged."""

    stream: BinaryIO
    wanted: bool = True


def open_regular(path: Path | str) -> BinaryIO:
    """A regular file for reading. OSError for a link, ValueError for a pipe, device or folder; it never waits."""
    handle, _size = _open_regular(path)
    return os.fdopen(handle, "rb")


def read_regular(path: Path | str, most: int) -> bytes:
    """The content of a regular file; ValueError if it has more than ``most`` bytes. Errors as :func:`open_regular`."""
    handle, size = _open_regular(path)
    data = b""
    try:
        # A file object would cost as much again as reading a record.
        while len(data) < size <= most and (piece := os.read(handle, size - len(data))):
            data += piece
    finally:
        os.close(handle)
    if size > most:
        raise ValueError(f"it has more than the {most} bytes that a record may have")
    return data


def _open_regular(path: Path | str) -> tuple[int, int]:
    """Descriptor and size of a regular file."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is not a regular file")
    except BaseException:
        os.close(handle)
        raise
    return handle, status.st_size


@contextlib.contextmanager
def replacing(path: Path, top: Path) -> Iterator[Replacement]:
    """A stream whose content replaces ``path`` (0644) when the block ends without an exception.

    Folders are made as needed. Below ``top``, which the user named, no symbolic link is followed: ValueError. OSError
    as the system gives it. A forked worker whose ansible-playbook has ended replaces nothing: ValueError.
    """
    try:
        with folder_below(path.parent, top) as folder:
            beside = f".{path.name[:200]}.{secrets.token_hex(4)}.tmp"
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
            try:
                with os.fdopen(handle, "wb") as stream:
                    replacement = Replacement(stream)
                    yield replacement
                    stream.flush()
                    os.fchmod(stream.fileno(), 0o644)
                    if replacement.wanted:
                        os.fsync(stream.fileno())
                if replacement.wanted:
                    check_parent()
                    os.replace(beside, path.name, src_dir_fd=folder, dst_dir_fd=folder)
                    os.fsync(folder)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(beside, dir_fd=folder)
    except OSError as error:
        error.filename = str(path)  # the system names a part of the way
        raise


def check_parent() -> None:
    """ValueError in a worker that outlives the process which forked it: nobody decides any more what it does."""
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid != os.getppid():
        raise ValueError(f"nothing is written: the main process {parent.pid} has ended")


@contextlib.contextmanager
def locked(folder: Path, top: Path, patience: float) -> Iterator[str]:
    """Hold the lock of a folder, which is made if absent; why it is not held if the file system has no locks, else "".

    TimeoutError if another process keeps it for ``patience`` seconds; other errors as :func:`folder_below`.
    """
    with folder_below(folder, top) as inside:
        lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o660, dir_fd=inside)
    try:
        yield _take(lock, folder / LOCK, time.monotonic() + patience)
    finally:
        os.close(lock)


def _take(lock: int, path: Path, until: float) -> str:
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return ""
        except BlockingIOError:
            if time.monotonic() > until:
                raise TimeoutError(errno.ETIMEDOUT, "another process keeps it", str(path)) from None
        except OSError as error:
            return f"the file system refuses the lock {path}: {error.strerror}"
        time.sleep(PAUSE_S)


@contextlib.contextmanager
def folder_below(path: Path, top: Path) -> Iterator[int]:
    """A descriptor of a folder at or below ``top``, made as needed; each folder is opened from its parent.

    ValueError if one of them is a symbolic link.
    """
    top.mkdir(parents=True, exist_ok=True)
    folder = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in path.relative_to(top).parts:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)
            try:
                inside = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENOTDIR) and stat.S_ISLNK(
                    os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
                ):
                    raise ValueError(
                        f"{path} is reached over a symbolic link; below {top} links are not followed"
                    ) from None
                raise
            os.close(folder)
            folder = inside
        yield folder
    finally:
        os.close(folder)
