# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many connections of some processes use SMC: their sockets are looked up in the kernel's lists by inode.

Kernel: net/smc/smc_diag.c. The TCP socket inside an SMC socket has another inode, so no connection counts twice.
"""

import re

from . import smc_sockets

_SOCKET = re.compile(r"socket:\[([0-9]{1,20})\]\Z")
_ESTABLISHED = "01"


def ways(host, pids):
    """{how: number of connections} of these processes: SMCR, SMCD, TCP with the reason of the fallback, or plain TCP.

    Raises HostError if this user may not see their sockets, and OSError if the kernel does not list its SMC sockets.
    """
    inodes, counts = set(), {}
    for pid in pids:
        inodes |= _inodes(host, pid)
    for found in smc_sockets.listed(host):
        if found.inode in inodes and found.mode is not None:
            smc_sockets.count(counts, smc_sockets.mode_text(found))
    for inode in _tcp(host):
        if inode in inodes:
            smc_sockets.count(counts, smc_sockets.PLAIN)
    return counts


def _inodes(host, pid):
    """The inodes of the sockets of a process; empty if it has ended."""
    folder = "/proc/%d/fd" % pid
    links = [_SOCKET.match(host.target("%s/%s" % (folder, name)) or "") for name in host.listdir(folder)]
    return {int(link.group(1)) for link in links if link}


def _tcp(host):
    """The inodes of the established TCP connections."""
    for name in ("tcp", "tcp6"):
        for line in (host.read("/proc/net/" + name) or "").splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and fields[3] == _ESTABLISHED and fields[9].isdigit():
                yield int(fields[9])
