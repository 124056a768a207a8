# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The format of a file with CPU time, and its samples."""

import gzip
import os
import shutil
import subprocess
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator
from typing import IO

from ...module_utils._host.commands import folders_of
from .._records.cpu_window import CpuFileError, CpuWindow, WindowOptions
from . import nmon, sysstat

LONGEST_LINE = 1_000_000
"""Characters; longer lines are not from nmon and are not read to their end."""

LARGEST_JSON = 64 * 1024 * 1024
"""Bytes; a day of intervals of one second is a quarter of that. A file with all activities of sar is larger."""

LARGEST_UNPACKED = 2 * 1024**3
"""Characters of a compressed file; a day of nmon with intervals of one second has a tenth of that."""

GZIP = b"\x1f\x8b"
"""The first bytes of a compressed file."""

_DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile)
SADF_TIMEOUT = 120.0
HOW_TO_CONVERT = "convert it to text where it was recorded: sadf -j FILE -- -u ALL"


def window_of(path: str, kind: str, options: WindowOptions, day: str | None = None) -> CpuWindow:
    """A window of a file; CpuFileError if it cannot be used, OSError if it cannot be read."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise CpuFileError("this is no regular file")
    try:
        packed = _begin(path, packed=False).startswith(GZIP)
        begin = _begin(path, packed)
        if kind == "auto":
            kind = _kind(begin)
        if kind == "nmon":
            reader = nmon.Reader(lines_of(path, packed))
            return CpuWindow(reader.about, nmon.samples_of(reader, options.cpus), options)
    except _DAMAGED as error:
        raise CpuFileError(f"this compressed file is damaged or incomplete ({error})") from error
    if packed:
        raise CpuFileError("only files of nmon are read compressed: unpack it with gunzip")
    host = sysstat.parse(_converted(path) if kind == "sar" else _text_of(path))
    about = sysstat.about(host)
    if kind not in ("sar", "json", about.format):
        raise CpuFileError(f"this is a file of {about.format}, and format is {kind}")
    try:
        return CpuWindow(about, sysstat.samples_of(host, options.cpus, day), options)
    except OverflowError as error:
        raise CpuFileError("its times lie beyond the calendar") from error


def _begin(path: str, packed: bool) -> bytes:
    with gzip.open(path, "rb") if packed else open(path, "rb") as stream:
        return stream.read(64)


def _kind(begin: bytes) -> str:
    if begin.startswith(b"AAA,"):
        return "nmon"
    if begin.startswith(sysstat.MAGIC):
        return "sar"
    if begin.lstrip().startswith(b"{"):
        return "json"
    raise CpuFileError(
        "this is neither a file of nmon (AAA in its first line), nor JSON of mpstat or sadf, nor a file of sar"
    )


def lines_of(path: str, packed: bool = False) -> Iterator[str]:
    """The lines of a file with their ends; ``packed``: of one that gzip compressed."""
    size = 0
    opened: Callable[..., IO[str]] = gzip.open if packed else open
    with opened(path, "rt", encoding="utf-8", errors="replace") as stream:
        while line := stream.readline(LONGEST_LINE):
            size += len(line)
            if packed and size > LARGEST_UNPACKED:
                raise CpuFileError(f"it has more than {LARGEST_UNPACKED} characters unpacked: give a part of it")
            yield line


def _text_of(path: str) -> str:
    if os.path.getsize(path) > LARGEST_JSON:
        raise CpuFileError(f"it has more than {LARGEST_JSON} bytes: sadf -j FILE -- -u ALL has CPU times alone")
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read(LARGEST_JSON)


def _converted(path: str) -> str:
    """The JSON of a binary file of sar, from the controller's sadf."""
    folders: list[str] = folders_of(os.environ.get("PATH", ""))  # type: ignore[no-untyped-call]
    sadf = shutil.which("sadf", path=os.pathsep.join(folders))
    if sadf is None:
        raise CpuFileError(f"this is a binary file of sar, and the controller has no sadf: {HOW_TO_CONVERT}")
    argv = [sadf, "-j", os.path.abspath(path), "--", "-u", "ALL", "-P", "ALL"]
    environment = {**os.environ, "LC_ALL": "C", "S_TIME_FORMAT": "ISO"}
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, env=environment
        ) as process,
    ):
        limit = threading.Timer(SADF_TIMEOUT, process.kill)
        limit.start()
        try:
            text = process.stdout.read(LARGEST_JSON + 1) if process.stdout else b""
            if len(text) > LARGEST_JSON:
                raise CpuFileError(f"{sadf} made more than {LARGEST_JSON} bytes of it: give the file of one day")
            code = process.wait()
            if not limit.is_alive():
                raise CpuFileError(f"{sadf} did not end within {SADF_TIMEOUT:g} s")
        finally:
            limit.cancel()
            process.kill()
        if code != 0:
            said.seek(0)
            words = " ".join(said.read(3000).decode("utf-8", "replace").split())[:300] or "no message"
            raise CpuFileError(f"{sadf} could not read it ({words}): {HOW_TO_CONVERT}")
    return text.decode("utf-8", "replace")
