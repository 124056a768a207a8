# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tree that answers writes to dispatching, s390.polarization, s390.topology and HiperDispatch as s390x kernels do.

Its behaviour was seen on kernels 6.1 and 6.12 in an LPAR and in a guest; see topology.c and hiperdispatch.c in
arch/s390/kernel. The kind of machine (z/VM, LPAR with shared CPUs) is synthetic, in the documented format of
/proc/sysinfo.
"""

import errno
import os

from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import cpu_lists
from kernel import KernelHost

CPU = "/sys/devices/system/cpu"
DISPATCHING = CPU + "/dispatching"
POLARIZATION = "/proc/sys/s390/polarization"
TOPOLOGY = "/proc/sys/s390/topology"
HIPERDISPATCH = "/proc/sys/s390/hiperdispatch"
STEAL_THRESHOLD = CPU + "/hiperdispatch/hd_steal_threshold"
DELAY_FACTOR = CPU + "/hiperdispatch/hd_delay_factor"
LPAR = """\
Manufacturer:         IBM
Type:                 3931
LPAR Number:          17
LPAR Characteristics: Shared
LPAR Name:            SAPAPP1
LPAR CPUs Dedicated:  0
LPAR CPUs Shared:     4
"""
FACILITY = "CPU Topology HW:      0 0 0 0 1 4\nCPU Topology SW:      0 0 0 0 1 4\n"
ZVM = LPAR + "VM00 Name:            LNX1\nVM00 Control Program: z/VM    7.3.0\n"


class ZHost(KernelHost):
    """An LPAR, or without facility a guest of z/VM.

    split: what the CPUs are when vertical. late: this many reads of a CPU after a switch find it "unknown". firmware:
    the mode of the machine whatever the kernel has been told, possible with kernels before 6.14; a switch to the same
    mode fails with EBUSY.
    """

    def __init__(
        self, root, facility=True, sysctl=False, vertical=False, split=("high", "medium", "low", "low"), late=0
    ):
        super().__init__(root)
        self.facility, self.late, self.split, self.firmware = facility, late, split, None
        self._looks = {}
        self.fill("/proc/sysinfo", LPAR + FACILITY if facility else ZVM)
        self.fill("/proc/cmdline", "root=/dev/dasda1")
        self.fill("/proc/sys/kernel/osrelease", "6.12.1-s390x" if sysctl else "6.1.0-s390x")
        self.fill(DISPATCHING, str(int(vertical)))
        if sysctl:
            self.fill(POLARIZATION, str(int(vertical)))
        self.fill(TOPOLOGY, str(int(facility)))
        self._polarize(vertical)
        self.siblings(facility)

    def boots_vertical(self, does=True, hiperdispatch=True):
        options = {"SCHED_TOPOLOGY_VERTICAL": does, "HIPERDISPATCH_ON": hiperdispatch}
        lines = ["CONFIG_%s=y" % name if on else "# CONFIG_%s is not set" % name for name, on in options.items()]
        self.fill("/boot/config-" + self.value("/proc/sys/kernel/osrelease"), "\n".join(lines))

    def hiperdispatch(self, on=True):
        self.fill(HIPERDISPATCH, str(int(on and self.facility)))
        self.fill(STEAL_THRESHOLD, "30")
        self.fill(DELAY_FACTOR, "4")

    def offline(self, cpu):
        """Take a CPU offline: it keeps its polarization."""
        rest = [one for one in cpu_lists.online(self) if one != cpu]
        self.fill(CPU + "/online", cpu_lists.format_list(rest))

    def siblings(self, together):
        online = cpu_lists.online(self)
        for cpu in online:
            text = cpu_lists.format_list(online if together else [cpu])
            self.fill("%s/cpu%d/topology/core_siblings_list" % (CPU, cpu), text)

    def value(self, path):
        if path.endswith("/polarization") and path.startswith(CPU) and self._looks.get(path, 0) > 0:
            self._looks[path] -= 1
            return "unknown"
        return super().value(path)

    def put(self, path, value):
        if path == HIPERDISPATCH and value == "1" and not self.facility:
            value = "0"
        known = (DISPATCHING, POLARIZATION, TOPOLOGY, HIPERDISPATCH, STEAL_THRESHOLD, DELAY_FACTOR)
        if path in known and path not in self.errors:
            refused = self._refuses(path, value)
            if refused:
                self.errors[path] = refused
                try:
                    super().put(path, value)
                finally:
                    del self.errors[path]
        super().put(path, value)
        if path == TOPOLOGY:
            self.siblings(value == "1")
        elif path in (DISPATCHING, POLARIZATION) and not self._told_already:
            self.fill(DISPATCHING, value)
            if os.path.exists(self.path(POLARIZATION)):
                self.fill(POLARIZATION, value)
            self._polarize(value == "1")
            self._looks = {"%s/cpu%d/polarization" % (CPU, cpu): self.late for cpu in cpu_lists.online(self)}

    def _refuses(self, path, value):
        if path in (STEAL_THRESHOLD, DELAY_FACTOR):
            fits = int(value) <= 100 if path == STEAL_THRESHOLD else 1 <= int(value) < 2**32
            return None if fits else errno.ERANGE
        if value not in ("0", "1"):
            return errno.EINVAL
        if path in (TOPOLOGY, HIPERDISPATCH):
            return None
        self._told_already = super().value(DISPATCHING) == value
        if self._told_already:
            return None
        if not self.facility:
            return errno.EOPNOTSUPP
        return errno.EBUSY if self.firmware == value else None

    def _polarize(self, vertical):
        for cpu in cpu_lists.present(self):
            text = "vertical:" + self.split[cpu % len(self.split)] if vertical else "horizontal"
            self.fill("%s/cpu%d/polarization" % (CPU, cpu), text)


def vertical_lpar(root):
    """Return an LPAR with a kernel like Debian's: vertical from the start, HiperDispatch on."""
    host = ZHost(root, sysctl=True, vertical=True)
    host.hiperdispatch()
    host.boots_vertical()
    return host
