# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A vertical LPAR with shared CPUs of every entitlement: 4 high, 4 medium and 8 low cores.

This is synthetic, in the formats of arch/s390/kernel/{sysinfo,topology}.c: no available machine has vertical CPUs other
than medium ones.
"""

from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import cpu_lists
from kernel import KernelHost

CPU = "/sys/devices/system/cpu"
SPLIT = ("high",) * 4 + ("medium",) * 4 + ("low",) * 8
SYSINFO = """\
Manufacturer:         IBM
Type:                 3931
LPAR Number:          17
LPAR Characteristics: Shared
LPAR Name:            SAPAPP1
LPAR CPUs Configured: 16
LPAR CPUs Dedicated:  0
LPAR CPUs Shared:     16
CPU Topology HW:      0 0 0 2 8 16
CPU Topology SW:      0 0 0 2 8 16
"""


class VerticalLpar(KernelHost):
    """16 cores, with threads CPUs each; CPU n is a thread of core n // threads. mode: the dispatching mode."""

    def __init__(self, root, threads=1, mode="vertical"):
        self.threads = threads
        last = len(SPLIT) * threads - 1
        super().__init__(root, online="0-%d" % last, possible="0-%d" % last)
        self.fill("/proc/sysinfo", SYSINFO)
        self.fill("/proc/cpuinfo", "vendor_id       : IBM/S390\nmax thread id   : %d" % (threads - 1))
        self.fill(CPU + "/dispatching", "1" if mode == "vertical" else "0")
        self.entitle(SPLIT if mode == "vertical" else None)
        self.online(range(last + 1))
        self.qeth("hsi0", "HiperSockets", packets=7)

    def entitle(self, split):
        """Give the cores these levels, as PR/SM does; None for horizontal."""
        for cpu in cpu_lists.present(self):
            level = "horizontal" if split is None else "vertical:" + split[cpu // self.threads]
            self.fill("%s/cpu%d/polarization" % (CPU, cpu), level)

    def online(self, cpus):
        """Take all other CPUs offline; the kernel counts only online threads as siblings."""
        cpus = set(cpus)
        self.fill(CPU + "/online", cpu_lists.format_list(cpus))
        for cpu in cpus:
            first = cpu - cpu % self.threads
            siblings = cpus & set(range(first, first + self.threads))
            self.fill("%s/cpu%d/topology/thread_siblings_list" % (CPU, cpu), cpu_lists.format_list(siblings))
