# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU time on AIX from the reports of lparstat, or of vmstat without lparstat.

Both print percentages of the last interval and no counters. The percentages refer to:

- in a shared partition, the entitlement, or the processors consumed (physc, pc) if they are more;
- in a dedicated partition, its processors: lcpu logical ones, smt of them on each.
"""

import re
from collections import namedtuple

# Processors in use over one interval (CPU seconds per second); idle includes waiting for I/O. physc (consumed by the
# partition, also when idle) and entitlement are None in a dedicated partition; ncpu: virtual or dedicated processors.
Rates = namedtuple("Rates", "user system idle physc entitlement ncpu")

_SETTING = re.compile(r"(?<!\w)(\w+)=(\S+)")
_LPARSTAT = {"user": "%user", "sys": "%sys", "wait": "%wait", "idle": "%idle", "physc": "physc"}
_VMSTAT = {"user": "us", "sys": "sy", "wait": "wa", "idle": "id", "physc": "pc"}
# The sum of four rounded figures may differ from 100 by this.
_ROUNDING = 2.0


def count_processors(text):
    """The available processors from `lsdev -Cc processor`; None if it names none."""
    states = [line.split()[1] for line in text.splitlines() if len(line.split()) > 1]
    return states.count("Available") or None


def _number(text):
    try:
        return float(text)
    except ValueError:
        return None


class Reports:
    """The reports of lparstat or vmstat with an interval, line by line.

    processors: their number, for vmstat, which does not print how many threads each has.
    """

    def __init__(self, processors=None):
        self._processors = processors
        self._settings = {}
        self._places = {}

    def feed(self, line):
        """The Rates of a line that is a report; None for other lines, or if their reference is unknown."""
        fields = line.split()
        # This line is printed again after a change of the configuration.
        if "lcpu=" in line:
            self._settings = dict(_SETTING.findall(line))
        for names in (_LPARSTAT, _VMSTAT):
            if names["user"] in fields and names["idle"] in fields:
                # From the right: vmstat has two columns sy, and its wide numbers on the left can run together.
                places = {name: index - len(fields) for index, name in enumerate(fields)}
                self._places = {what: places[name] for what, name in names.items() if name in places}
                return None
        return self._rates(fields)

    def _rates(self, fields):
        if not self._places or len(fields) < -min(self._places.values()):
            return None
        figures = {what: _number(fields[place]) for what, place in self._places.items()}
        shares = [figures.get(what) for what in ("user", "sys", "wait", "idle")]
        if None in shares or abs(sum(shares) - 100.0) > _ROUNDING:
            return None
        ncpu, physc, entitlement = self._ncpu(), None, None
        if "physc" in figures and self._settings.get("type") != "Dedicated":
            physc, entitlement = figures["physc"], _number(self._settings.get("ent", ""))
            if physc is None or entitlement is None:
                return None
            whole = max(physc, entitlement)
        else:
            whole = ncpu
        if whole is None:
            return None
        user, system, wait, idle = (share * whole / 100.0 for share in shares)
        return Rates(user, system, wait + idle, physc, entitlement, ncpu)

    def _ncpu(self):
        """smt is a number, or On on old levels, which does not show the number of threads."""
        lcpu, smt = self._settings.get("lcpu", ""), self._settings.get("smt", "")
        threads = 1 if smt == "Off" else int(smt) if smt.isdigit() else 0
        if not lcpu.isdigit() or threads < 1:
            return self._processors
        return -(-int(lcpu) // threads)


class Totals:
    """CPU seconds since this object was made, as in a snapshot of the counters.

    Interrupts are part of the system time, and a partition does not know its steal time: both are None.
    """

    def __init__(self, name):
        self._name = name
        self._seconds = {"user_s": 0.0, "system_s": 0.0, "idle_s": 0.0, "counted_s": 0.0}
        self._physc_s = self._last = None
        self.tool = None

    def add(self, reports, seconds):
        """Count the Rates of equal intervals with this total of seconds."""
        share = seconds / len(reports)
        self._seconds["counted_s"] += seconds
        for rates in reports:
            for name, rate in (("user_s", rates.user), ("system_s", rates.system), ("idle_s", rates.idle)):
                self._seconds[name] += rate * share
            if rates.physc is not None:
                self._physc_s = (self._physc_s or 0.0) + rates.physc * share
        self._last = reports[-1]

    def snapshot(self):
        """A dict for JSON. counted_s: the counted time.

        meter: only snapshots with the same name can be subtracted. tool: the program that reported.
        """
        result = {name: round(value, 6) for name, value in self._seconds.items()}
        result.update(softirq_s=None, steal_s=None, ncpu=self._last.ncpu, meter=self._name)
        result.update(physc_s=self._physc_s, entitlement=self._last.entitlement, tool=self.tool)
        return result
