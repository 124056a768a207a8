# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""sw_siblings: whether the scheduler of a guest without topology information takes all CPUs for cores of one socket.

Kernel: arch/s390/kernel/topology.c; commits 1b25fda05334 (topology=on) and 51dce3867c6c (sysctl s390.topology). On a
machine with topology information 1, the default there, uses it, and 0 or topology=off hides it.
"""

from .._engine.records import STUDY
from .._engine.tuning import RUNNING, Knob
from .._host import cpu_lists
from .._machine import hardware
from .._machine.other_settings import command_line, conflict
from ._sysctls import SysctlTuning
from ._system import sysctl_path

KEY = "s390.topology"
FILE = sysctl_path(KEY)
# the journal's name of the running value on a machine with topology information
REAL = FILE + " (real topology)"
FIRST_KERNELS = (
    "the first kernels known to have it are Linux 4.14 and 4.4.92 of SLES 12 SP3, and by their versions those of "
    "RHEL 8 and SLES 15 SP2"
)


class CpuTopology(SysctlTuning):
    """s390.topology of one host. params: the module's, see plugins/modules/cpu_topology.py."""

    name = "cpu_topology"
    subject = KEY
    sources = (
        STUDY % "5.4",
        "Linux kernel, commit 1b25fda05334 (s390/topology: alternative topology for topology-less machines)",
    )
    paths = {KEY: FILE}
    stored_as = "sysctl.d"
    header = "# CPU topology of a guest, kept by zpower.sap_tuning.cpu_topology: change it there, not here.\n"
    options = dict(sw_siblings=dict(type="bool", default=True))

    def __init__(self, host, params):
        super().__init__(host, params)
        # whether the machine has topology information, with which 1 does not make all CPUs siblings
        self.informed = hardware.has_topology_facility(host)

    def requested(self):
        return {KEY: str(int(self.params["sw_siblings"]))}

    def running_knobs(self):
        # the 0 of a guest is not a value to go back to after it has moved to an LPAR
        key, family = (REAL, REAL) if self.informed else (FILE, KEY)
        return [Knob(key, RUNNING, KEY, family, self._running())]

    def legible(self, key, text):
        return key not in (FILE, REAL) or text is not None and text[:1] in self.words

    def refusal(self):
        if not self.host.exists("/proc/sysinfo"):
            return "not_applicable", "s390.topology exists on Linux on Z only"
        if self.informed and not self._hides():
            where = "an LPAR" if hardware.virtualization(self.host) == "lpar" else "a guest with the topology facility"
            return "not_applicable", "the machine tells this Linux its real topology (%s), which is better" % where
        lacks = self.lacks({KEY: FILE})
        if lacks:
            hidden = "topology=off hides the real topology: remove it from the kernel command line, and reboot; "
            return "unsupported", "%s%s; %s" % (hidden if self.informed else "", lacks, FIRST_KERNELS)
        return None, ""

    def _hides(self):
        """Whether something hides the real topology from the scheduler, or this tuning was needed against that."""
        stored = any(knob.now is not None for knob in self.stored_knobs())
        return self.host.value(FILE) == "0" or self.default(KEY) == "0" or stored

    def _siblings(self):
        """{online CPU: the CPUs that share its socket for the scheduler}; without CPUs that do not show it."""
        found = {}
        for cpu in cpu_lists.online(self.host):
            siblings = cpu_lists.read_list(self.host, "%s/cpu%d/topology/core_siblings_list" % (hardware.CPUS, cpu))
            # a CPU that has just gone offline has none
            if siblings:
                found[cpu] = siblings
        return found

    def _running(self):
        """0 or 1, with the siblings if they differ from it: "1, siblings 0"."""
        value, siblings = self.host.value(FILE), self._siblings()
        if self.informed and value == "1":
            return value
        seen = {len(cpus) > 1 for cpus in siblings.values()}
        if len(siblings) < 2 or seen == {value == "1"}:
            return value
        return "%s, siblings %s" % (value, "mixed" if len(seen) > 1 else "1" if True in seen else "0")

    def remark(self, subject):
        siblings, said = self._siblings(), ""
        groups = sorted({cpu_lists.format_list(cpus) for cpus in siblings.values()})
        if self.informed:
            sees = "does not see" if self.host.value(FILE) == "0" else "sees"
            said = "the scheduler %s the real topology of this machine" % sees
        elif len(groups) != 1:
            said = "the scheduler takes each of the %d online CPUs for a socket of its own" % len(siblings)
        elif len(siblings) > 1:
            said = "the scheduler takes CPUs %s for cores of one socket" % groups[0]
        subject.remarks += [said] if said else []

    def find_conflicts(self):
        found = super().find_conflicts()
        parameter = command_line(self.host, "topology")
        if parameter is None or self.restoring or self.default(KEY) == self.wanted[KEY]:
            return found
        # it acts early in the boot, so sysctl.d wins
        return [conflict("kernel command line", parameter._replace(value=self.default(KEY)), "no")] + found

    def want(self, subject):
        super().want(subject)
        subject.wanted = dict(state="present", sw_siblings=self.params["sw_siblings"], **self.wanted)

    def needless(self, subject, knob, item, value):
        return not self.informed and super().needless(subject, knob, item, value)

    def default(self, item):
        """The value at the kernel's start: topology= of its command line, else whether the machine has information."""
        parameter = command_line(self.host, "topology")
        if parameter is not None and parameter.value in ("on", "off"):
            return "1" if parameter.value == "on" else "0"
        return "1" if self.informed else "0"

    def set_running(self, knob):
        # exactly one digit: kernels before 4.19 take "12" for 1
        self.write(FILE, knob.wanted[0])

    def same(self, knob, one, other):
        """A first value such as "1, siblings 0" equals its digit: only that can be written."""
        return one == other or bool(knob.place == RUNNING and one and other and one == other[0])

    def show(self, knob, text):
        value, siblings = super().show(knob, text), "the real topology" if self.informed else "all CPUs are siblings"
        return {"1": "1 (%s)" % siblings, "0": "0 (each CPU for itself)"}.get(value, value)

    def explain(self, knob, now):
        odd = now is not None and "siblings" in now
        return "the siblings that the scheduler sees did not follow" if odd else super().explain(knob, now)
