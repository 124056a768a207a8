# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many connections of some processes use SMC: their sockets are looked up in the kernel's lists by inode.

Kernel: net/smc/smc_diag.c. The TCP socket inside an SMC socket has another inode, so no connection counts twice.
"""

import re
from collections import Counter

from . import smc_sockets

_SOCKET = re.compile(r"socket:\[([0-9]{1,20})\]\Z")


def ways(host, pids):
    """{how: number of connections} of these processes: SMCR, SMCD, TCP with the reason of the fallback, or plain TCP.

    Raises HostError if this user may not see their sockets, and OSError if the kernel does not list its SMC sockets.
    """
    inodes, counts = set().union(*(_inodes(host, pid) for pid in pids)), Counter()
    for found in smc_sockets.listed(host):
        if found.inode in inodes and found.mode is not None:
            counts[smc_sockets.mode_text(found)] += 1
    for fields in smc_sockets.established(host):
        if fields[9].isdigit() and int(fields[9]) in inodes:
            counts[smc_sockets.PLAIN] += 1
    return counts


def _inodes(host, pid):
    """The inodes of the sockets of a process; empty if it has ended."""
    folder = "/proc/%d/fd" % pid
    links = [_SOCKET.match(host.target("%s/%s" % (folder, name)) or "") for name in host.listdir(folder)]
    return {int(link.group(1)) for link in links if link}
