# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The format of a file with CPU time, and its samples."""

import codecs
import gzip
import os
import re
import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import IO

from ...module_utils._host import commands
from .._records.cpu_annex import CPU, MOST_FILES, MOST_INTERVALS, Series
from . import nmon, sysstat
from .cpu_window import FACTS, PARTS, CpuFileError, CpuWindow, WindowOptions, quoted
from .fields import Values

LONGEST_LINE = 1_000_000
"""Characters; longer lines are not from nmon and are not read to their end."""

LARGEST_JSON = 64 * 1024 * 1024
"""Bytes; a day of intervals of one second is a quarter of that. A file with all activities of sar is larger."""

LARGEST_UNPACKED = 2 * 1024**3
"""Characters of a compressed file; a day of nmon with intervals of one second has a tenth of that."""

GZIP = b"\x1f\x8b"
"""The first bytes of a compressed file."""

SADF_TIMEOUT = 120.0
_OFFSET = re.compile(r"([+-])(\d{2}):?(\d{2})")
HOW_TO_CONVERT = "convert it to text where it was recorded: sadf -j FILE -- -u ALL"


def window_of(path: str, kind: str, options: WindowOptions) -> CpuWindow:
    """A window of a file; CpuFileError if it cannot be used, OSError if it cannot be read."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise CpuFileError("this is not a regular file")
    begin = _begin(path, packed=False)
    try:
        if packed := begin.startswith(GZIP):
            begin = _begin(path, packed)
        kind = _kind(begin) if kind == "auto" else kind
        if kind == "nmon":
            file = nmon.Reader(lines_of(path, packed), options.cpus)
            return CpuWindow(file.about, file.samples(), options)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CpuFileError(f"this compressed file is damaged or incomplete ({error})") from error
    if packed:
        raise CpuFileError("only files of nmon are read compressed: unpack it with gunzip")
    if kind != "sar" and os.path.getsize(path) > LARGEST_JSON:
        raise CpuFileError(f"it has more than {LARGEST_JSON} bytes: sadf -j FILE -- -u ALL has CPU times alone")
    text = _converted(path) if kind == "sar" else "".join(lines_of(path))
    reader = sysstat.Reader(text, options.cpus, options.date)
    if kind not in ("sar", "json", reader.about.format):
        raise CpuFileError(f"this is a file of {reader.about.format}, and format is {kind}")
    try:
        return CpuWindow(reader.about, reader.samples(), options)
    except OverflowError as error:
        raise CpuFileError("its times lie beyond the calendar") from error


def _begin(path: str, packed: bool) -> bytes:
    with gzip.open(path, "rb") if packed else open(path, "rb") as stream:
        return stream.read(64).removeprefix(codecs.BOM_UTF8)


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
    with opened(path, "rt", encoding="utf-8-sig", errors="replace") as stream:
        while line := stream.readline(LONGEST_LINE):
            size += len(line)
            if packed and size > LARGEST_UNPACKED:
                raise CpuFileError(f"it has more than {LARGEST_UNPACKED} characters unpacked: give a part of it")
            yield line


def _converted(path: str) -> str:
    """The JSON of a binary file of sar, from the controller's sadf."""
    folders: list[str] = commands.folders_of(os.environ.get("PATH", ""))  # type: ignore[no-untyped-call]
    sadf = shutil.which("sadf", path=os.pathsep.join(folders))
    if sadf is None:
        raise CpuFileError(f"this is a binary file of sar, and the controller has no sadf: {HOW_TO_CONVERT}")
    argv = [sadf, "-j", os.path.abspath(path), "--", "-u", "ALL", "-P", "ALL"]
    environment = {**os.environ, "LC_ALL": "C", "S_TIME_FORMAT": "ISO"}
    process = commands.start(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)  # type: ignore[no-untyped-call]
    try:
        text, said = commands.finish(process, SADF_TIMEOUT, LARGEST_JSON)  # type: ignore[no-untyped-call]
    except commands.Stopped as error:
        raise CpuFileError(f"{error}: give the file of one day") from error
    if process.returncode != 0:
        words = " ".join(said[:3000].decode("utf-8", "replace").split())[:300] or "no message"
        raise CpuFileError(f"{sadf} could not read it ({words}): {HOW_TO_CONVERT}")
    return str(text, "utf-8", "replace")


def utc_offset(text: str) -> timedelta:
    """Parse the offset from UTC in ``+01:00``, ``-0500`` or ``Z``."""
    match = _OFFSET.fullmatch(text)
    if text in ("Z", "UTC"):
        return timedelta()
    if not match or int(match[2]) > 14 or int(match[3]) > 59:
        raise CpuFileError(
            f"utc_offset is {text!r}; it must be the offset of local time from UTC, such as +01:00{quoted(text)}"
        )
    ahead = timedelta(hours=int(match[2]), minutes=int(match[3]))
    return ahead if match[1] == "+" else -ahead


def entry_of(window: CpuWindow, file: str, offset: timedelta, replace: bool) -> Values:
    """Return the entry of a file in the annex: the intervals of a window with complete figures, in UTC."""
    known = [(sample, used) for sample, used in window.used() if None not in (used.user, used.system)]
    intervals: list[Values] = []
    for sample, used in known:
        if sample.gap or not used.cpus:
            continue
        try:
            begin = (sample.begin - offset).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        except OverflowError as error:
            raise CpuFileError(f"{sample.begin} lies at the end of the calendar") from error
        rates = ((name, getattr(used, name)) for name in PARTS)
        seconds = {f"{name}_s": None if rate is None else round(rate * sample.seconds, 6) for name, rate in rates}
        intervals.append({"begin": begin, "elapsed_s": sample.seconds, **seconds, "ncpu": used.cpus})
    if not intervals:
        why = "it is one gap between two samples"
        if not known:
            why = window.empty() or "the file does not say how much CPU time users and the system used"
        elif not any(used.cpus for _sample, used in known):
            why = "the file does not say how many processors there were: give cpus"
        raise CpuFileError(f"nothing of the window can be stored: {why}")
    facts = {name: getattr(window.about, name) for name in FACTS}
    return {"file": file, "source": window.source, **facts, "replace": replace, "intervals": intervals}


def add_file(annex: Values | None, entry: Values, head: Mapping[str, str]) -> Values:
    """Return the annex with one more file in it, which replaces an entry of the same file about the same time."""

    def same(item: Values) -> bool:
        first, second = Series(item).intervals, Series(entry).intervals
        return item["file"] == entry["file"] and first[0].begin < second[-1].end and second[0].begin < first[-1].end

    others = [item for item in (annex or {}).get("files", ()) if not same(item)]
    files = sorted([*others, entry], key=lambda item: (item["intervals"][0]["begin"], item["file"]))
    if len(files) > MOST_FILES:
        raise CpuFileError(f"{len(files)} files would be stored, and {MOST_FILES} can be")
    total = sum(len(item["intervals"]) for item in files)
    if total > MOST_INTERVALS:
        raise CpuFileError(f"{total} intervals would be stored, and {MOST_INTERVALS} can be: give begin and end")
    return {"schema": CPU, **head, "files": files}
