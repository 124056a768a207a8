# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The enqueue server's own counters, from sapcontrol -function EnqGetStatistic: two samples and their difference.

SAP documents the fields, but not the output of sapcontrol: names with a value are read in every layout that sapcontrol
uses for other functions. The times are assumed to be seconds, which SAP does not document either.
"""

import os
import re

from ..._sap.sapcontrol import parse_answer
from ..errors import MeasureError
from ..workloads import programs

TIMEOUT = 15.0
_TIMES = ("lock_time", "lock_wait_time", "server_time")
_EVENTS = ("enqueue_requests", "enqueue_rejects", "enqueue_errors", "dequeue_requests", "dequeue_errors")
# {field of the web service: metric}; they count from the start of the server.
COUNTERS = dict({name: name + "_s" for name in _TIMES}, **{name: name for name in _EVENTS})
_PAIR = re.compile(r"^(?:\d+ )?([A-Za-z][A-Za-z_ \t-]*)[:=,](.*)$")
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?\Z")


def parse(text):
    """{counter: number} from the output of sapcontrol; MeasureError if it failed or has no counter."""
    answer = parse_answer(text)
    if not answer.ok:
        raise MeasureError("sapcontrol EnqGetStatistic failed: %s" % answer.failure)
    # one counter per line, "name: value", also in -format script ("0 name: value")
    pairs = [match.groups() for match in (_PAIR.match(row.strip()) for row in answer.rows) if match]
    # or a line of names and one of values, as in the lists of other functions
    columns = zip(*(row.split(",") for row in answer.rows[:2])) if len(answer.rows) > 1 else ()
    found = _known(pairs) or _known(columns)
    if not found:
        raise MeasureError("sapcontrol EnqGetStatistic printed no known counter: %s" % programs.first_lines(text))
    return found


def _known(pairs):
    found = {}
    for title, digits in pairs:
        name = re.sub(r"[ -]+", "_", title.strip()).lower()
        if name in COUNTERS and _NUMBER.match(digits.strip()):
            found[name] = float(digits) if "." in digits else int(digits)
    return found


class Source:
    """The counters of one server, from sapcontrol on this host.

    problem: the reason after a failure, after which it is not asked again. answered: whether it ever answered.
    """

    def __init__(self, argv, runner):
        self.argv = argv
        self._runner = runner
        self.problem, self.answered = None, False

    def sample(self):
        """{counter: number}, or None."""
        if self.problem is None:
            try:
                found = parse(self._runner.ask(self.argv, TIMEOUT))
                self.answered = True
                return found
            except MeasureError as error:
                self.problem = str(error)
        return None

    @staticmethod
    def between(before, after):
        """The differences between two samples as metrics; none if the server was restarted in between."""
        names = sorted(set(before) & set(after))
        if any(after[name] < before[name] for name in names):
            return {}
        return {COUNTERS[name]: round(after[name] - before[name], 6) for name in names}


def command(program, server, address):
    """The command line for the counters of a server, over the local socket if the instance is on this host."""
    where = [] if server.local else ["-host", address]
    return [program, "-nr", server.number] + where + ["-function", "EnqGetStatistic"]


def source(server, address, folders, runner):
    """The Source for a server, or None if this host has no sapcontrol or the server's number is not known."""
    folders = tuple(folders) + ("/usr/sap/hostctrl/exe",)
    program = programs.find("sapcontrol", None, os.environ.get("PATH", ""), folders)
    if program is None or not server.number:
        return None
    return Source(command(program, server, address), runner)
