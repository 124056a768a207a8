# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""fio: reads and writes of files in the shapes of the published evaluation, from fio's own JSON.

Shapes: 128 KiB one after the other and 8 KiB at random; through the page cache, direct, and direct with many requests
at a time (async); 1 to 64 jobs, each with a file of its own. The files lie in a new folder below a directory that the
user names. They are written once before the runs and removed after them in every case.
"""

import json
import os
import re
from collections import namedtuple

from ..._host import temporary
from ..._host.identities import owner_of_program
from ..errors import MeasureError
from ..workloads import programs
from ..workloads.options import check_options, shapes
from ..workloads.workload import Metric, Outcome, Workload, workload_name

TOOL = "fio"
# 3.33 of "fio-3.33"
VERSION = ("--version", r"\Afio-(\d\S*)\s*\Z", TOOL)
PREFIX = "zpower-fio-"
KIB, MIB = 1024, 1024 * 1024
# rw: fio's word for a pattern; kib: the size of one request.
Pattern = namedtuple("Pattern", "rw kib metric")
_RATE, _REQUESTS = Metric("kib_per_s", "KiB/s", "higher"), Metric("iops", "requests/s", "higher")
PATTERNS = {
    "seqread": Pattern("read", 128, _RATE),
    "seqwrite": Pattern("write", 128, _RATE),
    "randread": Pattern("randread", 8, _REQUESTS),
    "randwrite": Pattern("randwrite", 8, _REQUESTS),
}
_ENGINES = {"buffered": "psync", "direct": "psync", "async": "libaio"}
# The options of the module, documented in plugins/modules/measure_workload.py.
OPTIONS = {
    "directory": {"type": "path", "required": True},
    "patterns": {"type": "list", "elements": "str", "choices": list(PATTERNS), "default": list(PATTERNS)},
    "modes": {"type": "list", "elements": "str", "choices": list(_ENGINES), "default": ["direct", "async"]},
    "jobs": {"type": "list", "elements": "int", "default": [1]},
    "size_mib": {"type": "int", "default": 256},
    "iodepth": {"type": "int", "default": 16},
}
LISTS = ("jobs", "modes", "patterns")
LIMITS = {"jobs": (1, 64), "size_mib": (1, MIB), "iodepth": (1, 1024)}
# The time limit for writing the files assumes at least this speed.
_SLOWEST_MIB_PER_S = 5.0
_START_SECONDS = 30.0
# Figures about the samples that fio takes every half second.
_SAMPLED = re.compile(r"(?:bw|iops)_(?!bytes)|slat_ns\Z")
# Characters with a special meaning in a path of fio (several directories, variables).
_PLAIN_PATH = re.compile(r"/[^:$\\\x00-\x1f\x7f]*\Z")


def names(options, _tool):
    return [_name(*shape) for shape in shapes(options, LISTS)]


def _name(jobs, mode, pattern):
    return workload_name(TOOL, "%s-%s" % (pattern, mode), jobs)


def workloads(options, params, search_path):
    """The Fio workloads of checked options, with the fio of this host."""
    if not _PLAIN_PATH.match(options["directory"]):
        raise MeasureError(
            "fio.directory is %s; it must be an absolute path without : $ and \\" % json.dumps(options["directory"])
        )
    check_options(options, LIMITS, LISTS, TOOL + ".")
    binary = programs.require(TOOL, params["path"], search_path)
    number = programs.version(binary, *VERSION)
    return [Fio(binary, number, options, *shape) for shape in shapes(options, LISTS)]


def parse(text, writes):
    """(metrics, job) of fio's JSON, after any remarks of fio; job is its one group of jobs.

    MeasureError: fio reported an error, did nothing, or its output is unknown.
    """
    begin = text.find("{")
    if begin < 0:
        raise MeasureError("fio printed no result: %s" % programs.first_lines(text))
    try:
        job = json.JSONDecoder().raw_decode(text[begin:])[0]["jobs"][0]
        side, error = job["write" if writes else "read"], job["error"]
        metrics = _metrics(side) if error == 0 else None
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as problem:
        raise MeasureError(
            "fio's result cannot be read (%s: %s); fio 3.0 or later is needed. It began: %s"
            % (type(problem).__name__, problem, programs.first_lines(text))
        ) from problem
    if error != 0:
        said = programs.first_lines(text[:begin])
        raise MeasureError("fio failed with error %s (%s): %s" % (error, os.strerror(int(error)), said))
    if metrics["units"] <= 0 or metrics["kib_per_s"] <= 0:
        raise MeasureError("fio did no I/O at all: raise run_seconds")
    return metrics, job


def _metrics(side):
    """The figures of the reading or the writing side; times from the request to its completion."""
    latency = side["lat_ns"]
    return {
        "units": int(side["total_ios"]),
        "kib_per_s": round(side["bw_bytes"] / 1024.0, 3),
        "iops": round(float(side["iops"]), 3),
        "lat_mean_us": round(latency["mean"] / 1000.0, 3),
        "max_us": round(latency["max"] / 1000.0, 3),
    }


def shortened(text, job, writes):
    """fio's result without its empty sides and histograms: as text of the run, where room is scarce."""
    side = "write" if writes else "read"
    kept = {name: job[name] for name in ("jobname", "error", "job options", "usr_cpu", "sys_cpu", "ctx") if name in job}
    kept[side] = {name: value for name, value in job[side].items() if not _SAMPLED.match(name)}
    whole = json.JSONDecoder().raw_decode(text[text.find("{") :])[0]
    return json.dumps({"fio version": whole.get("fio version"), "jobs": [kept]}, sort_keys=True)


def free_bytes(directory):
    """The bytes that a user without privileges may still write to the file system of a directory."""
    system = os.statvfs(directory)
    return system.f_bavail * system.f_frsize


def check_room(directory, needed, free):
    """MeasureError if the needed bytes are more than half of the free ones: other files need room, too."""
    if needed * 2 > free:
        raise MeasureError(
            "%d MiB of files in %s would be more than half of the %d MiB that are free there: take fewer or smaller "
            "files, or another directory" % (-(-needed // MIB), directory, free // MIB)
        )


def parse_mount(mountinfo, device):
    """Type and source, as in "ext4 /dev/dasdb1", of the mount of a device (major:minor); else "unknown"."""
    for line in mountinfo.splitlines():
        fields = line.split()
        if len(fields) > 6 and fields[2] == device and "-" in fields:
            return " ".join(fields[fields.index("-") + 1 :][:2])
    return "unknown"


def file_system(directory):
    """Type and device of the file system of a directory, or "unknown"."""
    try:
        number = os.stat(directory).st_dev
        with open("/proc/self/mountinfo") as stream:
            return parse_mount(stream.read(), "%d:%d" % (os.major(number), os.minor(number)))
    except OSError:
        return "unknown"


def scratch(directory, prefix, needed):
    """The folder of temporary.make_below(), for at most the needed bytes. prefix: of its name, one for each use."""
    if not os.path.isdir(directory):
        raise MeasureError("%s is not a directory on this host" % directory)
    try:
        temporary.remove_leftovers(directory, prefix)
        check_room(directory, needed, free_bytes(directory))
        return temporary.make_below(directory, prefix)
    except OSError as error:
        raise MeasureError("cannot make a folder in %s: %s" % (directory, error.strerror)) from error


class Fio(Workload):
    """One shape: a pattern in a mode with a number of jobs."""

    tool, family = TOOL, "fio"

    def __init__(self, binary, number, options, jobs, mode, pattern):
        self.name = _name(jobs, mode, pattern)
        self.version, self.connections = number, jobs
        self._pattern, self._mode = PATTERNS[pattern], mode
        self._writes = self._pattern.rw.endswith("write")
        self._binary, self._directory, self._size = binary, options["directory"], options["size_mib"] * MIB
        self._iodepth = options["iodepth"] if mode == "async" else 1
        self._seconds = 0.0
        self._scratch = None
        self.bytes = self._pattern.kib * KIB
        self.metric = self._pattern.metric
        self.unit = "%s of %d KiB" % ("write" if self._writes else "read", self._pattern.kib)
        self.params = {
            "directory": options["directory"],
            "file_system": "unknown",
            "iodepth": self._iodepth,
            "ioengine": _ENGINES[mode],
            "mode": mode,
            "pattern": pattern,
            "size_mib": options["size_mib"],
        }

    @property
    def argv(self):
        return self._command(os.path.join(self._directory, PREFIX + "*"))

    def _files(self, folder):
        """The options for the files: one per job."""
        # Threads, not processes: nothing of fio goes on if it is killed.
        return [
            self._binary,
            "--name=job",
            "--directory=" + folder,
            "--size=%d" % self._size,
            "--numjobs=%d" % self.connections,
            "--thread",
            "--bs=%d" % self.bytes,
            "--ioengine=" + _ENGINES[self._mode],
        ]

    def _command(self, folder):
        """One run on the files of a folder."""
        command = self._files(folder)
        command += [
            "--rw=" + self._pattern.rw,
            "--direct=%d" % (self._mode != "buffered"),
            "--iodepth=%d" % self._iodepth,
        ]
        command += ["--time_based", "--runtime=%dms" % round(self._seconds * 1000)]
        if not self._writes:
            command.append("--readonly")
        else:
            command.append("--overwrite=1")
            # Otherwise data in the page cache at the end of a run would be written during the next one.
            command += ["--end_fsync=1"] if self._mode == "buffered" else []
        return command + ["--group_reporting", "--eta=never", "--output-format=json"]

    def prepare(self, setting):
        """Write the files, in full: reading a hole in a file reads nothing from the disk."""
        self._seconds = setting.run_seconds
        total = self._size * self.connections
        self._scratch = scratch(self._directory, PREFIX, total)
        self.params = dict(self.params, file_system=file_system(self._directory))
        command = self._files(self._scratch.path) + ["--rw=read", "--create_only=1", "--eta=never"]
        seconds = _START_SECONDS + total / (_SLOWEST_MIB_PER_S * MIB)
        ran = self._together(command, seconds)
        if ran.codes[0] != 0:
            raise MeasureError("fio could not write its files: %s" % programs.first_lines(ran.texts[0]))

    def _together(self, command, timeout, window=None):
        """Run fio with the rights of the user in whose folder it writes."""
        identity = self._scratch.identity
        if identity is not None and owner_of_program(self._binary) not in (None, identity.uid):
            raise MeasureError(
                "%s can be replaced by another user than %s, to whom the folder belongs: use a fio that belongs to root"
                % (self._binary, identity.name)
            )
        return programs.run_together([command], timeout, window, identity=identity)

    def run(self, setting, window):
        ran = self._together(self._command(self._scratch.path), setting.timeout, window)
        text = ran.texts[0]
        if ran.codes[0] != 0 and "{" not in text:
            raise MeasureError("fio ended with %d: %s" % (ran.codes[0], programs.first_lines(text)))
        metrics, job = parse(text, self._writes)
        elapsed = job["write" if self._writes else "read"]["runtime"] / 1000.0
        return Outcome(metrics, shortened(text, job, self._writes), elapsed, None)

    def finish(self):
        if self._scratch is not None:
            made, self._scratch = self._scratch, None
            programs.remove(made)
