# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the k-th call that changes a file fail, or kill the process there.

install() wraps the functions of os and open() once. Without a plan, they pass all calls through. A plan counts the
calls of all processes of one session: children of a module are counted, its lease guardian, in another session, is not.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import mmap
import os
import signal
import stat
import struct
from collections.abc import Callable, Iterator
from typing import Any

_PATHS = ["rename", "replace", "link", "symlink", "unlink", "remove", "mkdir", "rmdir", "truncate", "chmod", "chown"]
CALLS = [*_PATHS, "fsync", "fdatasync", "ftruncate", "fchmod", "fchown", "lchown", "setxattr", "removexattr"]
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_NUMBER = struct.Struct("=Q")
_real_open = os.open
_real_write = os.write


class Plan:
    """The plan for the calls. at: the number of the failing call, 0 for none. error: its errno, 0 for SIGKILL.

    lasting: all later calls fail too. elsewhere: count the sessions other than this process's own (guardians).
    """

    current: Plan | None = None

    def __init__(self, at: int = 0, error: int = 0, lasting: bool = False, elsewhere: bool = False) -> None:
        self.at, self.error, self.lasting, self.elsewhere = at, error, lasting, elsewhere
        self._session = 0
        self._count = mmap.mmap(-1, _NUMBER.size)
        self._names = mmap.mmap(-1, 1 << 18)

    def start(self) -> None:
        """Start counting the calls of this process's session."""
        self._session = os.getsid(0)
        Plan.current = self

    def applies(self) -> bool:
        return (os.getsid(0) == self._session) is not self.elsewhere

    def count(self) -> int:
        return int(_NUMBER.unpack(self._count[: _NUMBER.size])[0])

    def calls(self) -> list[str]:
        """Return the calls in order."""
        return bytes(self._names).rstrip(b"\0").decode(errors="replace").splitlines()

    def step(self, name: str, arguments: tuple[Any, ...], half: Callable[[], object] | None = None) -> None:
        """Count one call and make it fail if planned. half: writes a part of the data before."""
        number = self.count() + 1
        self._count[: _NUMBER.size] = _NUMBER.pack(number)
        with contextlib.suppress(ValueError):
            self._names.write(f"{name} {_named(arguments)}\n".encode(errors="replace"))
        if not self.at or number < self.at or (number > self.at and not (self.error and self.lasting)):
            return
        if self.error:
            raise OSError(self.error, os.strerror(self.error))
        if half is not None:
            half()
        os.killpg(0, signal.SIGKILL)
        signal.pause()


def _named(arguments: tuple[Any, ...]) -> str:
    """Return the arguments of a call in one line, with the files of descriptors."""
    words = []
    for one in arguments[:2]:
        if isinstance(one, int) and not words:
            with contextlib.suppress(OSError):
                words.append(os.readlink(f"/proc/self/fd/{one}"))
        elif isinstance(one, (str, os.PathLike)):
            words.append(os.fspath(one))
    return " ".join(words).replace("\n", " ")


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Do not count the calls of the block, which plays the role of the kernel."""
    plan, Plan.current = Plan.current, None
    try:
        yield
    finally:
        Plan.current = plan


def step(name: str, *arguments: Any) -> None:
    """Count a call that is not a function of os: a write to the kernel, a command."""
    if Plan.current is not None and Plan.current.applies():
        Plan.current.step(name, arguments)


def _regular(descriptor: int) -> bool:
    return stat.S_ISREG(os.fstat(descriptor).st_mode)


def _wrapped(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **keywords: Any) -> Any:
        step(name, *arguments)
        return real(*arguments, **keywords)

    return call


def _open(path: Any, flags: int, *arguments: Any, **keywords: Any) -> int:
    if flags & WRITING:
        step("open", path)
    return _real_open(path, flags, *arguments, **keywords)


def _write(descriptor: int, data: Any) -> int:
    plan = Plan.current
    if plan is not None and plan.applies() and _regular(descriptor):
        # the kernel accepts a value completely or not at all: no signal interrupts its write(2)
        found = os.fstat(descriptor)
        of_kernel = (found.st_size, found.st_blocks) == (4096, 0)  # the size that sysfs reports for its files
        half = None if of_kernel else lambda: _real_write(descriptor, bytes(data)[: len(data) // 2])
        plan.step("write", (descriptor,), half)
    return _real_write(descriptor, data)


class _File(io.FileIO):
    """A file that open() or fdopen() opened for writing."""

    def write(self, data: Any) -> int:
        return _write(self.fileno(), data)


def _stream(real: Callable[..., Any]) -> Callable[..., Any]:
    def call(file: Any, mode: str = "r", buffering: int = -1, *arguments: Any, **keywords: Any) -> Any:
        if Plan.current is None or not set(mode) & set("wax+") or not Plan.current.applies():
            return real(file, mode, buffering, *arguments, **keywords)
        if not isinstance(file, int):
            step("open", file)
        closes = keywords.get("closefd", True)
        raw = _File(file, mode.replace("b", "").replace("t", ""), closefd=closes, opener=keywords.get("opener"))
        if buffering == 0:
            return raw
        stream = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        encoding = arguments[0] if arguments else keywords.get("encoding")
        return stream if "b" in mode else io.TextIOWrapper(stream, encoding=encoding or "utf-8")

    return call


def install() -> None:
    """Wrap all functions that change files, in this process and its children."""
    for name in CALLS:
        setattr(os, name, _wrapped(name, getattr(os, name)))
    os.open = _open
    os.write = _write
    io.open = _stream(io.open)
    builtins.open = _stream(builtins.open)
