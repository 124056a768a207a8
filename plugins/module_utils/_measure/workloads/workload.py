# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a round measures: one Workload, run again and again, and taken back in the end.

A tool brings a subclass in a file of its own; rounds.py knows no tool.
"""

import math
from collections import namedtuple

from .ends import Window

# The metric that decides over a workload: its name in the record, its unit, and whether "lower" or "higher" is better.
Metric = namedtuple("Metric", "name unit better")

# What one run brought. metrics: {name with unit: number}, with units, the units of work that were done, where they are
# known; raw: the text of the tool; elapsed: seconds that the work took; links: what its connections became, or None.
Outcome = namedtuple("Outcome", "metrics raw elapsed links")

ROUND_TRIP = Metric("av2_us", "\u00b5s", "lower")
MIN_LOOPS, MAX_LOOPS = 10, 10 * 1000 * 1000
_FIRST_LOOPS = 50


class Workload:
    """One thing that is measured. A subclass has name, tool and version, and says what it is made of.

    bytes, loops, connections: 0, 0, 1 where they mean nothing. unit: one unit of work in words. params: {name: text,
    number or bool}, what else defines the workload and has to be equal in both states. family: the set that it is one
    of. transport: tcp, smc, or None if no messages are sent.
    """

    name = tool = version = ""
    family = ""
    bytes, loops, connections = 0, 0, 1
    metric = ROUND_TRIP
    unit = "round trip"
    transport = None
    params = {}

    @property
    def argv(self):
        """The command line for the record, without secrets, as a list of text."""
        return [self.tool]

    def prepare(self, setting, ends):
        """Before the first run: calibrate, look whether it may run here. MeasureError: all its runs fail so.

        setting: the rounds.Plan, with run_seconds, timeout, loops and calibrated; ends: for trial runs in a Window.
        """

    def run(self, setting, window):
        """One run as an Outcome; what is measured happens inside window, a context. MeasureError: a failed run."""
        raise NotImplementedError

    def finish(self):
        """After the last run, also when all failed or the module is being ended: take back what runs left behind.

        MeasureError where something stays behind; the record says so.
        """


def rounded_loops(loops):
    """A number of loops rounded to two significant digits, from 10 to 10,000,000."""
    loops = min(max(float(loops), MIN_LOOPS), MAX_LOOPS)
    step = 10 ** (int(math.floor(math.log10(loops))) - 1)
    return int(round(loops / step) * step)


def calibrate(workload, setting, ends):
    """Set workload.loops: those that setting names, else as many as a run of setting.run_seconds takes.

    Longer and longer trials until one lasts a tenth of that. A run's metrics have to hold avg_us, the mean time of one
    loop.
    """
    workload.loops = setting.loops or setting.calibrated.get(workload.name) or 0
    if workload.loops:
        return
    workload.loops = _FIRST_LOOPS
    try:
        while True:
            tried = workload.loops
            metrics = workload.run(setting, Window(ends)).metrics
            wanted = setting.run_seconds * 1e6 / metrics["avg_us"]
            if tried * 10 >= wanted or tried >= MAX_LOOPS:
                workload.loops = rounded_loops(wanted)
                return
            # At most ten times more at once: the first round trips of a connection are slower than the others.
            workload.loops = rounded_loops(min(wanted / 5.0, tried * 10))
    except Exception:
        workload.loops = 0
        raise
