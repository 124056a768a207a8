# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tree with the sysctls, the tmpfs, the disks and the tools that the tuning system_base looks at.

Two sysctls for one dirty limit behave as in mm/page-writeback.c: writing one makes the other read 0. A scheduler that
the disk does not offer is refused (block/elevator.c).
"""

import errno
import os
import re

from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError, Result
from kernel import KernelHost

GIB = 1024 * 1024
SYSCTLS = {
    "kernel.pid_max": "32768",
    "kernel.sem": "250\t32000\t32\t128",
    "kernel.shmall": "18446744073692774399",
    "kernel.shmmax": "18446744073692774399",
    "kernel.shmmni": "4096",
    "net.ipv4.tcp_keepalive_intvl": "75",
    "net.ipv4.tcp_keepalive_probes": "9",
    "net.ipv4.tcp_keepalive_time": "7200",
    "vm.dirty_background_bytes": "0",
    "vm.dirty_background_ratio": "10",
    "vm.dirty_bytes": "0",
    "vm.dirty_ratio": "20",
    "vm.max_map_count": "65530",
}
RELEASES = {
    "SLES 12": 'ID="sles"\nVERSION_ID="12.5"\nPRETTY_NAME="SUSE Linux Enterprise Server 12 SP5"',
    "SLES 15": 'ID="sles"\nVERSION_ID="15.6"\nPRETTY_NAME="SUSE Linux Enterprise Server 15 SP6"',
    "SLES 16": 'ID="sles"\nVERSION_ID="16.0"\nPRETTY_NAME="SUSE Linux Enterprise Server 16.0"',
    "RHEL 7": 'ID="rhel"\nVERSION_ID="7.9"\nPRETTY_NAME="Red Hat Enterprise Linux Server 7.9 (Maipo)"',
    "RHEL 8": 'ID="rhel"\nVERSION_ID="8.10"\nPRETTY_NAME="Red Hat Enterprise Linux 8.10 (Ootpa)"',
    "RHEL 9": 'ID="rhel"\nVERSION_ID="9.4"\nPRETTY_NAME="Red Hat Enterprise Linux 9.4 (Plow)"',
    "RHEL 10": 'ID="rhel"\nVERSION_ID="10.0"\nPRETTY_NAME="Red Hat Enterprise Linux 10.0 (Coughlan)"',
    "Debian": 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"',
}
FSTAB = """\
# /etc/fstab: do not touch
/dev/dasda1\t/\text4\terrors=remount-ro 0 1

/dev/dasdb1  swap  swap  defaults  0 0"""
HUGE = "/sys/kernel/mm/transparent_hugepage/enabled"
UNIT = "/etc/systemd/system/multi-user.target.wants/"
SAPCONF = """\
# vm.max_map_count should be set to MAX_INT (2147483647)
MAX_MAP_COUNT=2147483647
SHMALL="1152921504606846720"
SHMMAX=18446744073709551615
SHMMNI=32768
DIRTY_BYTES=
DIRTY_BG_BYTES=314572800
VSZ_TMPFS_PERCENT=75
THP=madvise
"""
NETWEAVER = """\
[main]
include=-throughput-performance
[sysctl]
kernel.sem = 32000 1024000000 500 32000
kernel.shmall = 18446744073692774399
kernel.shmmax = 18446744073692774399
vm.max_map_count = 2147483647
"""


def path_of(name):
    return "/proc/sys/" + name.replace(".", "/")


def base_files(host, release="SLES 15", memory=32 * GIB, swap=20 * GIB):
    """Put everything that the tuning looks at into a tree."""
    for name, value in SYSCTLS.items():
        host.fill(path_of(name), value)
    host.fill("/proc/meminfo", "MemTotal:       %d kB\nMemFree:  100 kB\nSwapTotal:      %d kB" % (memory, swap))
    host.fill("/proc/mounts", "tmpfs /dev/shm tmpfs rw,nosuid,nodev,size=%dk,inode64 0 0" % (memory // 2))
    host.fill("/etc/os-release", RELEASES[release])
    host.fill(HUGE, "[always] madvise never")
    with open(host.path("/etc/fstab"), "wb") as stream:
        stream.write(FSTAB.encode())


class BaseHost(KernelHost):
    """release: one of RELEASES. refuses: the answer of mount or systemctl, or None.

    socket: [UnitFileState, ActiveState] of uuidd.socket; None where it is not installed.
    """

    socket = None

    def __init__(self, root, release="SLES 15", **sizes):
        super().__init__(root)
        self.refuses = None
        base_files(self, release, **sizes)

    def put(self, path, value):
        if path.endswith("/queue/scheduler"):
            offered = self.value(path).replace("[", "").replace("]", "").split()
            if value not in offered:
                raise HostError("cannot write %s to %s: Invalid argument" % (value, path), errno.EINVAL)
            self.log.append((path, value))
            self.fill(path, " ".join("[%s]" % one if one == value else one for one in offered))
            return
        super().put(path, value)
        for one, other in (("bytes", "ratio"), ("ratio", "bytes")):
            if re.search("/dirty_(background_)?%s$" % one, path):
                self.fill(path.replace("_" + one, "_" + other), "0")

    def run(self, argv, timeout=30, user=None, env=None):
        if argv[0] == "systemctl":
            return self._systemctl(*argv[1:])
        assert argv[:2] == ["mount", "-o"] and argv[3] == "/dev/shm", argv
        self.log.append(tuple(argv))
        if self.refuses:
            return Result(32, "", self.refuses)
        options = argv[2].split(",")
        assert options[0] == "remount", argv
        self.fill("/proc/mounts", "tmpfs /dev/shm tmpfs rw,%s,inode64 0 0" % ",".join(options[1:]))
        return Result(0, "", "")

    def _systemctl(self, command, *arguments):
        if command == "show":
            assert arguments == ("-p", "Id,LoadState,ActiveState,UnitFileState", "uuidd.socket")
            states = (["loaded"] + self.socket) if self.socket else ["not-found", "", "inactive"]
            text = "Id=uuidd.socket\nLoadState=%s\nUnitFileState=%s\nActiveState=%s\n"
            return Result(0, text % tuple(states), "")
        self.log.append(("systemctl", command) + arguments)
        if self.refuses:
            return Result(1, "", self.refuses)
        if command != "daemon-reload":
            assert arguments == ("uuidd.socket",)
            at, word = {
                "enable": (0, "enabled"),
                "disable": (0, "disabled"),
                "start": (1, "active"),
                "stop": (1, "inactive"),
            }[command]
            self.socket[at] = word
        return Result(0, "", "")

    def disk(self, name, schedulers, kind="0"):
        self.fill("/sys/block/%s/device/type" % name, kind)
        self.fill("/sys/block/%s/queue/scheduler" % name, schedulers)

    def instance(self, sid, unit=None):
        """Add an instance D00; unit: the text of its systemd unit."""
        self.fill("/usr/sap/%s/D00/work/x" % sid, "")
        if unit is not None:
            self.fill("/etc/systemd/system/SAP%s_00.service" % sid, unit)

    def enable(self, *services):
        for service in services:
            os.makedirs(self.path(UNIT), exist_ok=True)
            os.symlink("/nowhere", self.path(UNIT + service + ".service"))

    def sapconf(self, text=SAPCONF):
        self.fill("/etc/sysconfig/sapconf", text)
        self.enable("sapconf")

    def tuned(self, profile="sap-netweaver", text=NETWEAVER, folder="/usr/lib/tuned/"):
        self.fill("%s%s/tuned.conf" % (folder, profile), text)
        self.fill("/etc/tuned/active_profile", profile)
        self.enable("tuned")

    def bytes_of(self, path):
        with open(self.path(path), "rb") as stream:
            return stream.read()
