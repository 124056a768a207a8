# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A workload: measured by repeated runs, and cleaned up at the end.

Each tool has a subclass in a file of its own; rounds.py does not depend on tools.
"""

import contextlib
import math
from collections import namedtuple

# The decisive metric of a workload: its name in the record, its unit, and whether "lower" or "higher" is better.
Metric = namedtuple("Metric", "name unit better")

# The result of a run. metrics: {name with unit: number}, with the number of units of work as units, if known; raw: the
# text of the tool; elapsed: seconds that the work took; links: the transports that its connections got, or None;
# histogram: the round trips as text (net/histogram.py), or None if the tool does not tell each of them.
Outcome = namedtuple("Outcome", "metrics raw elapsed links histogram")
Outcome.__new__.__defaults__ = (None,)

ROUND_TRIP = Metric("av2_us", "\u00b5s", "lower")
MIN_LOOPS, MAX_LOOPS = 10, 10 * 1000 * 1000
_FIRST_LOOPS = 50


def workload_name(tool, what, number):
    """pingpong-latency, or pingpong-latency-x8 for 8 parallel connections, processes or jobs."""
    return "%s-%s%s" % (tool, what, "-x%d" % number if number > 1 else "")


class Workload:
    """The base of workloads. A subclass has at least name, tool and version.

    bytes, loops, connections: 0, 0, 1 if they have no meaning. unit: one unit of work in words. params: {name: text,
    number or bool}, further values that define the workload and have to be equal in both states. family: its set of
    workloads. transport: tcp, smc, or None if no messages are sent. waits_awake: this end uses CPU time to wait, so
    that its CPU time is not the cost of the work.
    """

    name = tool = version = ""
    family = ""
    bytes, loops, connections = 0, 0, 1
    metric = ROUND_TRIP
    unit = "round trip"
    transport = None
    waits_awake = False
    params = {}

    @property
    def argv(self):
        """The command line for the record, without secrets, as a list of text."""
        return [self.tool]

    def prepare(self, setting):
        """Before the first run: calibrate, check whether it may run here. MeasureError: all its runs fail with it.

        setting: the rounds.Plan, with run_seconds, timeout, loops and calibrated.
        """

    def run(self, setting, window):
        """One run as an Outcome; the measured work happens inside window, a context. MeasureError: a failed run."""
        raise NotImplementedError

    def told(self):
        """What the module returns about it beside its record, before or after it was measured."""
        return {}

    def finish(self):
        """After the last run, also if all failed or the module is being ended: clean up.

        MeasureError if something stays behind; the record says so.
        """


def rounded_loops(loops):
    """A number of loops rounded to two significant digits, from 10 to 10,000,000."""
    loops = min(max(float(loops), MIN_LOOPS), MAX_LOOPS)
    step = 10 ** (int(math.floor(math.log10(loops))) - 1)
    return int(round(loops / step) * step)


def calibrate(workload, setting):
    """Set workload.loops: the number in setting, else as many as a run of setting.run_seconds takes.

    Runs longer and longer trials until one lasts a tenth of that. The metrics of a run have to hold avg_us, the mean
    time of one loop.
    """
    workload.loops = setting.loops or setting.calibrated.get(workload.name) or 0
    if workload.loops:
        return
    workload.loops = _FIRST_LOOPS
    try:
        while True:
            tried = workload.loops
            metrics = workload.run(setting, contextlib.ExitStack()).metrics
            wanted = setting.run_seconds * 1e6 / metrics["avg_us"]
            if tried * 10 >= wanted or tried >= MAX_LOOPS:
                workload.loops = rounded_loops(wanted)
                return
            # At most ten times more at once: the first round trips of a connection are slower than the others.
            workload.loops = rounded_loops(min(wanted / 5.0, tried * 10))
    except Exception:
        workload.loops = 0
        raise
