# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""openssl speed: encryption in the shapes of the published evaluation, from the lines of its option -mr.

AES in the modes GCM, XTS and CBC with keys of 128 and 256 bits, messages of 256, 1024 and 8192 bytes; one or several
processes. Hashes have messages too; asymmetric algorithms have none: they sign and verify, or derive a key. Rates are
those of wall-clock time (-elapsed): the default, CPU time, hides the time that others got.
"""

import re

from ..errors import MeasureError
from ..workloads import programs
from ..workloads.options import check_options, shapes
from ..workloads.workload import Metric, Outcome, Workload, workload_name

TOOL = "openssl"
# with the date and the build of the distribution: "OpenSSL 3.0.19 27 Jan 2026"
VERSION = ("version", r"\A((?:Open|Libre)SSL \d[^\n(]*)", TOOL)
CIPHERS = ["aes-%s-%s" % (bits, mode) for mode in ("gcm", "xts", "cbc") for bits in ("128", "256")]
HASHES = ["sha256", "sha512", "sha3-256", "sha3-512"]
ASYMMETRIC = ["rsa2048", "rsa4096", "ecdsap256", "ecdsap384", "ecdhp256", "ecdhp384"]
# The options of the module, documented in plugins/modules/measure_workload.py.
OPTIONS = {
    "ciphers": {"type": "list", "elements": "str", "choices": CIPHERS + HASHES + ASYMMETRIC, "default": CIPHERS},
    "bytes": {"type": "list", "elements": "int", "default": [256, 1024, 8192]},
    "processes": {"type": "list", "elements": "int", "default": [1]},
}
LISTS = ("processes", "ciphers", "bytes")
LIMITS = {"bytes": (1, 16 * 1024 * 1024), "processes": (1, 250)}
_COUNT = re.compile(r"^\+R:(\d+):([^:]+):(\d+(?:\.\d+)?)\s*$", re.MULTILINE)
_RATE = re.compile(r"^\+F:\d+:([^:]+):(\d+(?:\.\d+)?)\s*$", re.MULTILINE)
# signatures and verifications a second of RSA and ECDSA, keys a second of ECDH
_OPERATIONS = re.compile(r"^\+F[245]:\d+:(\d+):(\d+\.\d+):(\d+\.\d+)", re.MULTILINE)
# The rate has two decimals, but some versions calculate it from times with a resolution of 0.01 s.
_ROUNDING = 0.02


def names(options, _tool):
    return [_name(*shape) for shape in _shapes(options)]


def _shapes(options):
    """[(processes, cipher, size)]; the size of asymmetric algorithms is 0."""
    found = [(count, name, 0 if name in ASYMMETRIC else size) for count, name, size in shapes(options, LISTS)]
    return sorted(set(found), key=found.index)


def _name(processes, cipher, size):
    return workload_name(TOOL, "%s-%dB" % (cipher, size) if size else cipher, processes)


def workloads(options, params, search_path):
    """The Speed workloads of checked options, with the openssl of this host."""
    check_options(options, LIMITS, LISTS, TOOL + ".")
    binary = programs.require(TOOL, params["path"], search_path)
    number = programs.version(binary, *VERSION)
    return [Speed(binary, number, *shape) for shape in _shapes(options)]


def parse(text, cipher, size, processes):
    """(metrics, elapsed seconds) of the lines of openssl speed -mr.

    Each process prints "+R:count:cipher:seconds", and "+F:number:cipher:bytes a second" is the sum of all. MeasureError
    if a line is missing or belongs to something else, or if the rate does not follow from the counts.
    """
    counts = [(int(count), float(seconds)) for count, name, seconds in _COUNT.findall(text) if name.lower() == cipher]
    rates = [float(rate) for name, rate in _RATE.findall(text) if name.lower() == cipher]
    if len(counts) != processes or len(rates) != 1 or not all(count and seconds for count, seconds in counts):
        raise _nothing(cipher, processes, text)
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


def parse_asymmetric(text, name, processes):
    """The metrics of an asymmetric algorithm: its line +F, the sum of all processes."""
    # the second figure of ECDH is a time
    names = ("operations_per_s",) if name.startswith("ecdh") else ("operations_per_s", "verifications_per_s")
    found = [dict(zip(names, map(float, pair[1:]))) for pair in _OPERATIONS.findall(text) if name.endswith(pair[0])]
    if len(found) != 1 or not all(found[0].values()):
        raise _nothing(name, processes, text)
    return found[0]


def _nothing(cipher, processes, text):
    return MeasureError(
        "openssl printed no result for %s with %d process%s, its output began: %s"
        % (cipher, processes, "" if processes == 1 else "es", programs.first_lines(text))
    )


class Speed(Workload):
    """One cipher, one size of message (0: none), one number of processes."""

    tool, family = TOOL, "openssl"
    metric = Metric("kib_per_s", "KiB/s", "higher")

    def __init__(self, binary, number, processes, cipher, size):
        self.name = _name(processes, cipher, size)
        self.version, self.bytes, self.connections = number, size, processes
        self.unit = "%s of %d B" % ("hash" if cipher in HASHES else "encryption", size) if size else "operation"
        self.metric = self.metric if size else Metric("operations_per_s", "1/s", "higher")
        self.params = {"cipher": cipher}
        self._binary, self._cipher, self._seconds = binary, cipher, 1

    @property
    def argv(self):
        command = [self._binary, "speed", "-mr", "-elapsed", "-seconds", str(self._seconds)]
        command += ["-bytes", str(self.bytes)] if self.bytes else []
        command += ["-multi", str(self.connections)] if self.connections > 1 else []
        return command + (["-evp"] if self.bytes else []) + [self._cipher]

    def prepare(self, setting):
        # openssl takes whole seconds.
        self._seconds = max(1, int(round(setting.run_seconds)))

    def run(self, setting, window):
        ran = programs.run_together([self.argv], setting.timeout, window)
        text = ran.texts[0]
        if ran.codes[0] != 0:
            raise MeasureError("openssl ended with %d: %s" % (ran.codes[0], programs.first_lines(text)))
        if not self.bytes:
            return Outcome(parse_asymmetric(text, self._cipher, self.connections), text, ran.elapsed, None)
        metrics, elapsed = parse(text, self._cipher, self.bytes, self.connections)
        return Outcome(metrics, text, elapsed, None)
