# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The other network namespaces of a Linux machine, such as those of containers."""

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor

from .host import HostError

_NETWORK = 0x40000000  # CLONE_NEWNET


def others(host):
    """[(process id, path)] of each network namespace that has processes but not this one: its first process, its file.

    Those of processes that this user may not look at are left out.
    """
    found, seen = [], {host.target("/proc/self/ns/net")}
    for pid in sorted(int(name) for name in host.listdir("/proc") if name.isdigit()):
        path = "/proc/%d/ns/net" % pid
        try:
            name = host.target(path)
        except HostError:
            continue
        if name and name not in seen:
            seen.add(name)
            found.append((pid, path))
    return found


def inside(path, ask):
    """What ask() returns in the network namespace of a file. Raises OSError, EPERM for a user who is not root."""

    def work():
        with open(path) as stream:
            if ctypes.CDLL(None, use_errno=True).setns(stream.fileno(), _NETWORK):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return ask()

    # only this thread changes its namespace, and it ends
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()
