# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""sw_siblings: the scheduler of a guest without topology information takes all CPUs for cores of one socket, or not.

Kernel: arch/s390/kernel/topology.c; commits 1b25fda05334 (topology=on) and 51dce3867c6c (sysctl s390.topology).
"""

import re

from .._engine.tuning import RUNNING, STORED, Knob, Subject
from .._host import cpu_lists, kernel
from .._host.drop_ins import DropIn
from .._host.host import HostError
from .._machine import hardware
from .._machine.other_settings import SystemKnob, command_line, conflict
from ._system import SystemTuning

KEY = "s390.topology"
FILE = "/proc/sys/s390/topology"
SYSCTL = "/etc/sysctl.d/91-zpower-sap-tuning-cpu-topology.conf"
SYSCTL_HEADER = "# CPU topology of a guest, kept by zpower.sap_tuning.cpu_topology: change it there, not here.\n"
SETS_IT = re.compile(
    r"""echo\s+["']?([01])["']?\s*>\s*/proc/sys/s390/topology|s390[./]topology\b(?:\s*[=:]\s*["']?([01])\b)?"""
)
FIRST_KERNELS = (
    "the first kernels known to have it are Linux 4.14 and 4.4.92 of SLES 12 SP3, and by their versions those of "
    "RHEL 8 and SLES 15 SP2"
)


class CpuTopology(SystemTuning):
    """s390.topology of one host. params: the module's, see plugins/modules/cpu_topology.py."""

    name = "cpu_topology"
    subject = KEY
    sources = (
        "Performance Evaluation of SAP Application Servers on Z (IBM, v1.02, 2018-07-16), 5.4",
        "Linux kernel, commit 1b25fda05334 (s390/topology: alternative topology for topology-less machines)",
    )

    def __init__(self, host, params):
        super().__init__(host, params)
        self.sysctl = DropIn(host, SYSCTL, SYSCTL_HEADER)
        self.drop_ins = (self.sysctl,)

    def observe(self, name):
        verdict, reason = self._cannot()
        if verdict is not None and not self.restoring:
            return Subject(KEY, verdict=verdict, reason=reason)
        knobs = [] if verdict else [Knob(FILE, RUNNING, KEY, KEY, self._running())]
        knobs.append(self._stored())
        subject = Subject(KEY, knobs, conflicts=self.conflicts())
        subject.remarks = [] if verdict else self._remarks()
        return subject

    def _stored(self):
        return Knob(SYSCTL, STORED, "sysctl.d", SYSCTL, self.sysctl.block(KEY))

    def legible(self, key, text):
        return key != FILE or text is not None and text[:1] in self.words

    def marked(self):
        return [(KEY, self._stored()) for block in self.sysctl.blocks() if block == KEY]

    def find_conflicts(self):
        return self.others(SystemKnob(KEY, FILE, SETS_IT, SYSCTL))

    def _cannot(self):
        if not self.host.exists("/proc/sysinfo"):
            return "not_applicable", "s390.topology exists on Linux on Z only"
        if hardware.has_topology_facility(self.host):
            return "not_applicable", "the machine tells this Linux its real topology (an LPAR), which is better"
        if not self.host.exists(FILE):
            return "unsupported", "the kernel %s has no s390.topology; %s" % (
                kernel.release(self.host) or "of this host",
                FIRST_KERNELS,
            )
        return None, ""

    def _siblings(self):
        """{online CPU: the CPUs that share its socket in the scheduler's eyes}; without those that do not say."""
        found = {}
        for cpu in cpu_lists.online(self.host):
            siblings = cpu_lists.read_list(self.host, "%s/cpu%d/topology/core_siblings_list" % (hardware.CPUS, cpu))
            # a CPU that goes offline meanwhile has none
            if siblings:
                found[cpu] = siblings
        return found

    def _running(self):
        """0 or 1, and what the siblings show where that is something else: "1, siblings 0"."""
        value, siblings = self.host.value(FILE), self._siblings()
        seen = {len(cpus) > 1 for cpus in siblings.values()}
        if len(siblings) < 2 or seen == {value == "1"}:
            return value
        return "%s, siblings %s" % (value, "mixed" if len(seen) > 1 else "1" if True in seen else "0")

    def _remarks(self):
        siblings = self._siblings()
        groups = sorted({cpu_lists.format_list(cpus) for cpus in siblings.values()})
        if len(groups) == 1:
            return ["the scheduler takes CPUs %s for cores of one socket" % groups[0]] if len(siblings) > 1 else []
        return ["the scheduler takes each of the %d online CPUs for a socket of its own" % len(siblings)]

    def want(self, subject):
        value = "1" if self.params["sw_siblings"] else "0"
        subject.wanted = {"state": "present", "sw_siblings": self.params["sw_siblings"], KEY: value}
        parameter = command_line(self.host, "topology")
        if parameter is not None and self._at_start() != value:
            # early in the boot, so that sysctl.d has the last word
            setting = parameter._replace(value=self._at_start())
            subject.conflicts.insert(0, conflict("kernel command line", setting, "no"))
        for knob in subject.knobs:
            if knob.place == RUNNING:
                knob.wanted = value
            elif not self.needless(subject, knob, value, self._at_start()):
                knob.wanted = "%s = %s" % (KEY, value)

    def _at_start(self):
        """What the kernel begins with: its command line's topology=, else each CPU for itself."""
        parameter = command_line(self.host, "topology")
        return "1" if parameter is not None and parameter.value == "on" else "0"

    def boot(self, subject, stored):
        text = stored.get("sysctl.d")
        return self.boots(subject, self.value(None, text) if text else None, self._at_start())

    def set(self, subject, knob):
        if knob.place == STORED:
            self.sysctl.put(KEY, knob.wanted)
            return
        try:
            # exactly one digit: kernels before 4.19 take "12" for 1
            self.host.put(FILE, knob.wanted[0])
        except HostError as error:
            self.refuse(error)

    def same(self, knob, one, other):
        """A first value such as "1, siblings 0" is back with its digit: only that can be written."""
        return one == other or bool(knob.place == RUNNING and one and other and one == other[0])

    def value(self, knob, text):
        return text.split("=")[-1].strip()

    def show(self, knob, text):
        if text is None:
            return "absent"
        value = self.value(knob, text)
        meaning = {"1": "1 (all CPUs are siblings)", "0": "0 (each CPU for itself)"}
        return meaning.get(value, value)

    def explain(self, knob, now):
        if now is None:
            return "the kernel's file is gone"
        return "the siblings that the scheduler sees did not follow" if "siblings" in now else "someone else wrote it"
