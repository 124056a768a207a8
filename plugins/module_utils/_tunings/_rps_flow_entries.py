# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of Receive Flow Steering, which the system has once: the sysctl net.core.rps_sock_flow_entries."""

import re

from .._engine.tuning import RUNNING, Knob
from .._host.drop_ins import DropIn
from .._machine.other_settings import SystemKnob, of_system
from ._system import SystemTuning, sysctl_path

FLOW_ENTRIES = "net.core.rps_sock_flow_entries"
_SYSCTL = "/etc/sysctl.d/91-zpower-sap-tuning-rps.conf"
_HEADER = "# Receive Flow Steering, kept by zpower.sap_tuning.rps: change it there, not here.\n"
FLOW_KNOB = SystemKnob(
    FLOW_ENTRIES,
    sysctl_path(FLOW_ENTRIES),
    re.compile(
        r"""echo\s+["']?(\d+)["']?\s*>\s*\S*rps_sock_flow_entries|rps_sock_flow_entries\b(?:\s*[=:]\s*["']?(\d+)\b)?"""
    ),
    _SYSCTL,
)


def rounded(number):
    """The kernel rounds flow tables up to a power of two; 0 stays 0."""
    return 1 << (number - 1).bit_length() if number > 0 else 0


def same_parsed(parse, one, other):
    """Whether two texts are the same value; texts that are no values must be equal."""
    try:
        return parse(one) == parse(other)
    except (ValueError, TypeError, AttributeError):
        return one == other


class FlowEntries(SystemTuning):
    """A part of the tuning rps. params: its parameters."""

    subject = FLOW_ENTRIES

    def __init__(self, host, params):
        super().__init__(host, params, {"sysctl.d": (DropIn(host, _SYSCTL, _HEADER), FLOW_ENTRIES)})

    def refusal(self):
        if self.host.value(FLOW_KNOB.path) is None:
            return "unsupported", "this kernel or network namespace has no %s" % FLOW_ENTRIES
        return None, ""

    def running_knobs(self):
        return [Knob(FLOW_KNOB.path, RUNNING, "value", FLOW_ENTRIES, self.host.value(FLOW_KNOB.path))]

    def find_conflicts(self):
        return of_system(self.once, FLOW_KNOB)

    def want(self, subject):
        number = str(rounded(self.params["sock_flow_entries"]))
        subject.wanted = {"state": self.params["state"], FLOW_ENTRIES: number}
        for knob in subject.knobs:
            knob.wanted = number if knob.place == RUNNING else "%s = %s" % (FLOW_ENTRIES, number)

    def boot(self, subject, stored):
        return self.boots(subject, stored.get("sysctl.d"), "0", lambda one, other: same_parsed(int, one, other))
