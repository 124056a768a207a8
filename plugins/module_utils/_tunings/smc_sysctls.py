# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of SMC-R and SMC-D of Linux: the sysctls net.smc.* of the kernel's module smc.

Kernel: Documentation/networking/smc-sysctl.rst, net/smc/smc_sysctl.c.
"""

from ._sysctls import SysctlTuning
from ._system import sysctl_path

# the kernel keeps a number of seconds in jiffies, at most 1000 per second
_LONGEST_S = (2**31 - 1) // 1000


class SmcSysctls(SysctlTuning):
    """net.smc.* of one host. params: the module's, see plugins/modules/smc_sysctls.py."""

    name = "smc_sysctls"
    subject = "net.smc"
    sources = ("Linux kernel, Documentation/networking/smc-sysctl.rst",)
    header = "# Settings of SMC, kept by zpower.sap_tuning.smc_sysctls: change them there, not here.\n"
    elsewhere = "net.smc exists on Linux only; AIX has the tuning smc_r"
    module = "smc"
    module_header = "# Loaded before sysctl.d is read, kept by zpower.sap_tuning.smc_sysctls: see its file there.\n"
    table = {
        "autocorking_size": (0, 2**32 - 1),
        "limit_smc_hs": (0, 1),
        "rmem": (16384, 2**30 - 1),
        "smcr_buf_type": (0, 2),
        "smcr_max_conns_per_lgr": (16, 255),
        "smcr_max_links_per_lgr": (1, 2),
        "smcr_max_recv_wr": (2, 2048),
        "smcr_max_send_wr": (2, 2048),
        "smcr_testlink_time": (0, _LONGEST_S),
        "wmem": (16384, 2**30 - 1),
    }

    def remark(self, subject):
        # net/smc/smc_hs_bpf.c: with CONFIG_SMC_HS_CTRL_BPF, the struct_ops of this name; empty is the default
        program = self.host.value(sysctl_path(self.full("hs_ctrl")))
        said = "net.smc.hs_ctrl is %s: this BPF program decides which connections offer SMC"
        subject.remarks += [said % program] if program else []
