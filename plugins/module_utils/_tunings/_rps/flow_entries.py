# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one table of Receive Flow Steering of a system: the sysctl net.core.rps_sock_flow_entries."""

import re

from ..._engine.tuning import RUNNING, Knob
from ..._machine.other_settings import SystemKnob
from .._sysctls import SysctlTuning
from .._system import sysctl_path

FLOW_ENTRIES = "net.core.rps_sock_flow_entries"
FLOW_FILE = sysctl_path(FLOW_ENTRIES)
_SETS_IT = re.compile(
    r"""echo\s+["']?(\d+)["']?\s*>\s*\S*rps_sock_flow_entries|rps_sock_flow_entries\b(?:\s*[=:]\s*["']?(\d+)\b)?"""
)


def rounded(number):
    """The kernel rounds flow tables up to a power of two; 0 stays 0."""
    return 1 << (number - 1).bit_length() if number > 0 else 0


def same_parsed(parse, one, other):
    """Whether two texts are the same value; texts that are not values must be equal."""
    try:
        return parse(one) == parse(other)
    except (ValueError, TypeError, AttributeError):
        return one == other


class FlowEntries(SysctlTuning):
    """A part of the tuning rps. params: its parameters."""

    name = "rps"
    subject = FLOW_ENTRIES
    paths = {FLOW_ENTRIES: FLOW_FILE}
    defaults = {FLOW_ENTRIES: "0"}
    stored_as = "sysctl.d"
    header = "# Receive Flow Steering, kept by zpower.sap_tuning.rps: change it there, not here.\n"

    def requested(self):
        number = self.params["sock_flow_entries"]
        return {} if number is None else {FLOW_ENTRIES: str(rounded(number))}

    def refusal(self):
        lacks = self.host.value(FLOW_FILE) is None
        return ("unsupported", "this kernel or network namespace has no %s" % FLOW_ENTRIES) if lacks else (None, "")

    def running_knobs(self):
        return [Knob(FLOW_FILE, RUNNING, "value", FLOW_ENTRIES, self.host.value(FLOW_FILE))]

    def system_knob(self, item):
        return SystemKnob(FLOW_ENTRIES, FLOW_FILE, _SETS_IT, self.file("sysctl.d"))

    def want(self, subject):
        super().want(subject)
        subject.wanted["state"] = self.params["state"]

    def needless(self, subject, knob, item, value):
        return False

    def alike(self, item, one, other):
        return same_parsed(int, one, other)
