# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The system PRD on a kernel with SMC: its instances are processes in /proc that load what their profiles name."""

import os
import re
import shutil

from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Result
from sapsystem import ASCS01, D00, DEFAULT, SapHost
from smckernel import PROTOCOLS

LIBRARY = "/usr/lib64/libsmc-preload.so"
RELEASE = "6.12.1-s390x"
# {number: (first process id, path of the profile, programs in their order)}
PROCESSES = {
    "00": (100, D00, ("dw.sapPRD_D00", "dw.sapPRD_D00", "gwrd", "icman")),
    "01": (200, ASCS01, ("ms.sapPRD_ASCS01", "enq.sapPRD_ASCS01")),
}
STAT = "%d (%s) S 1 " + " ".join("0" for _field in range(5, 53)) + "\n"
TCP = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


class SmcSapHost(SapHost):
    """The host. loads: the dynamic linker finds the library in LD_PRELOAD; module: modprobe smc succeeds."""

    loads = True
    module = True

    def __init__(self, root):
        self.root = str(root)
        self.write_text("/proc/sys/kernel/osrelease", RELEASE)
        self.write_text("/proc/cmdline", "root=/dev/dasda1")
        self.write_text("/proc/net/protocols", PROTOCOLS)
        self.write_text(
            "/lib/modules/%s/modules.dep" % RELEASE, "kernel/net/smc/smc.ko:\nkernel/net/smc/smc_diag.ko:\n"
        )
        self.write_text("/proc/net/tcp", TCP)
        self.write_text(LIBRARY, "")
        os.chmod(self.path(LIBRARY), 0o4755)
        super().__init__(root)

    def write_text(self, path, text):
        self.fill(path, text.encode())

    def start_instance(self, number):
        super().start_instance(number)
        self.end(number)
        first, profile, programs = PROCESSES[number]
        lines = self.data(DEFAULT) + b"\n" + self.data(profile)
        values = re.findall(rb"(?m)^SETENV_[0-9]+ = LD_PRELOAD=(.*)$", lines)
        value = values[-1].decode() if values else ""
        for pid, program in enumerate(programs, first):
            self.process(pid, program, profile, value)

    def process(self, pid, program, profile, preload):
        folder = "/proc/%d/" % pid
        self.write_text(folder + "cmdline", "%s\0pf=%s\0" % (program, profile))
        self.write_text(folder + "stat", STAT % (pid, program))
        self.write_text(folder + "environ", "HOME=/home/prdadm\0" + ("LD_PRELOAD=%s\0" % preload if preload else ""))
        mapped = "7f00-7f01 r-xp 00000000 08:01 42   /usr/lib64/libc.so.6\n"
        if "libsmc-preload.so" in preload and self.loads:
            mapped += "7f02-7f03 r-xp 00000000 08:01 43   %s\n" % LIBRARY
        self.write_text(folder + "maps", mapped)
        os.makedirs(self.path(folder + "fd"), exist_ok=True)

    def opens(self, pid, inode):
        folder = self.path("/proc/%d/fd" % pid)
        os.symlink("socket:[%d]" % inode, os.path.join(folder, str(len(os.listdir(folder)))))

    def end(self, number):
        first, _profile, programs = PROCESSES[number]
        for pid, _program in enumerate(programs, first):
            shutil.rmtree(self.path("/proc/%d" % pid), ignore_errors=True)

    def kernel_without_smc(self):
        self.write_text("/proc/net/protocols", "protocol  size sockets\nTCP       2432      5\n")
        self.write_text("/lib/modules/%s/modules.dep" % RELEASE, "kernel/net/ipv4/tcp_bbr.ko:\n")

    def run(self, argv, timeout=30, user=None, env=None):
        if argv[0] == "modprobe":
            self.calls.append(" ".join(argv))
            if not self.module:
                return Result(1, "", "modprobe: ERROR: could not insert 'smc': Operation not permitted\n")
            self.write_text("/proc/net/protocols", PROTOCOLS)
            return Result(0, "", "")
        if argv[0] == "systemctl":
            return Result(0, "", "")
        result = super().run(argv, timeout, user, env)
        number, function = argv[2], argv[4] if len(argv) > 4 else ""
        if function == "Stop" and self.running.get(number) is None:
            self.end(number)
        return result
