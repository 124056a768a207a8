# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""openssl speed: encryption in the shapes of the published evaluation, from the lines of its option -mr.

AES in the modes GCM, XTS and CBC with keys of 128 and 256 bits, messages of 256, 1024 and 8192 bytes; one or several
processes. Rates are those of wall-clock time (-elapsed): the default, CPU time, hides the time that others got.
"""

import re

from ..errors import MeasureError
from ..workloads import programs
from ..workloads.options import check_limits, check_lists, shapes
from ..workloads.workload import Metric, Outcome, Workload, workload_name

TOOL = "openssl"
# with the date and the build of the distribution: "OpenSSL 3.0.19 27 Jan 2026"
VERSION = ("version", r"\A((?:Open|Libre)SSL \d[^\n(]*)", TOOL)
CIPHERS = ["aes-%s-%s" % (bits, mode) for mode in ("gcm", "xts", "cbc") for bits in ("128", "256")]
# The options of the module, documented in plugins/modules/measure_workload.py.
OPTIONS = {
    "ciphers": {"type": "list", "elements": "str", "choices": CIPHERS, "default": CIPHERS},
    "bytes": {"type": "list", "elements": "int", "default": [256, 1024, 8192]},
    "processes": {"type": "list", "elements": "int", "default": [1]},
}
LISTS = ("processes", "ciphers", "bytes")
LIMITS = {"bytes": (1, 16 * 1024 * 1024), "processes": (1, 250)}
_COUNT = re.compile(r"^\+R:(\d+):([^:]+):(\d+(?:\.\d+)?)\s*$", re.MULTILINE)
_RATE = re.compile(r"^\+F:\d+:([^:]+):(\d+(?:\.\d+)?)\s*$", re.MULTILINE)
# The rate is printed with two decimals, but of times with a resolution of a hundredth of a second in some versions.
_ROUNDING = 0.02


def names(options, _tool):
    return [_name(*shape) for shape in shapes(options, LISTS)]


def _name(processes, cipher, size):
    return workload_name(TOOL, "%s-%dB" % (cipher, size), processes)


def workloads(options, params, search_path):
    """The Speed workloads of checked options, with the openssl of this host."""
    check_lists(options, LISTS, TOOL + ".")
    check_limits(options, LIMITS, TOOL + ".")
    binary = programs.require(TOOL, params["path"], search_path)
    number = programs.version(binary, *VERSION)
    return [Speed(binary, number, *shape) for shape in shapes(options, LISTS)]


def parse(text, cipher, size, processes):
    """(metrics, elapsed seconds) of the lines of openssl speed -mr.

    Each process prints "+R:count:cipher:seconds", and "+F:number:cipher:bytes a second" is the sum of all. MeasureError
    if a line is missing or belongs to something else, or if the rate does not follow from the counts.
    """
    counts = [(int(count), float(seconds)) for count, name, seconds in _COUNT.findall(text) if name.lower() == cipher]
    rates = [float(rate) for name, rate in _RATE.findall(text) if name.lower() == cipher]
    if len(counts) != processes or len(rates) != 1 or not all(count and seconds for count, seconds in counts):
        raise MeasureError(
            "openssl printed no result for %s with %d process%s, its output began: %s"
            % (cipher, processes, "" if processes == 1 else "es", programs.first_lines(text))
        )
    expected = sum(count * size / seconds for count, seconds in counts)
    if abs(rates[0] - expected) > _ROUNDING * expected:
        raise MeasureError(
            "openssl's output contradicts itself: %.0f bytes a second, but its counts make %.0f" % (rates[0], expected)
        )
    units = sum(count for count, _seconds in counts)
    metrics = {
        "units": units,
        "kib_per_s": round(rates[0] / 1024.0, 3),
        "operations_per_s": round(rates[0] / size, 3),
    }
    return metrics, max(seconds for _count, seconds in counts)


class Speed(Workload):
    """One cipher, one size of message, one number of processes."""

    tool, family = TOOL, "openssl"
    metric = Metric("kib_per_s", "KiB/s", "higher")

    def __init__(self, binary, number, processes, cipher, size):
        self.name = _name(processes, cipher, size)
        self.version, self.bytes, self.connections = number, size, processes
        self.unit = "encryption of %d B" % size
        self.params = {"cipher": cipher}
        self._binary, self._cipher, self._seconds = binary, cipher, 1

    @property
    def argv(self):
        command = [self._binary, "speed", "-mr", "-elapsed", "-seconds", str(self._seconds), "-bytes", str(self.bytes)]
        command += ["-multi", str(self.connections)] if self.connections > 1 else []
        return command + ["-evp", self._cipher]

    def prepare(self, setting):
        # openssl takes whole seconds.
        self._seconds = max(1, int(round(setting.run_seconds)))

    def run(self, setting, window):
        ran = programs.run_together([self.argv], setting.timeout, window)
        text = ran.texts[0]
        if ran.codes[0] != 0:
            raise MeasureError("openssl ended with %d: %s" % (ran.codes[0], programs.first_lines(text)))
        metrics, elapsed = parse(text, self._cipher, self.bytes, self.connections)
        return Outcome(metrics, text, elapsed, None)
