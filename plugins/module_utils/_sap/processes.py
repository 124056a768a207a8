# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The processes of SAP instances as /proc shows them. They may end while one looks: what is gone is empty text."""

import os
import re
from collections import namedtuple

from .._host.host import HostError

# program: the name of the file in the first argument; policy: a number of the kernel; priority: 0 where not real-time
Process = namedtuple("Process", "pid parent program arguments policy priority")


def running(host, programs):
    """The running Processes whose program is one of these, by process id."""
    found = []
    for pid in sorted(int(name) for name in host.listdir("/proc") if re.match(r"^[0-9]{1,9}$", name)):
        # a process that writes its own title over its arguments parts them with blanks
        arguments = text(host, "/proc/%d/cmdline" % pid).replace("\0", " ").split()
        if arguments and os.path.basename(arguments[0]) in programs:
            # from the state on: the name in parentheses before it may hold anything; numbers as in proc(5)
            fields = text(host, "/proc/%d/stat" % pid).rpartition(")")[2].split()
            if len(fields) >= 39 and fields[0] not in ("Z", "X"):
                policy, priority = int(fields[41 - 3]), int(fields[40 - 3])
                program = os.path.basename(arguments[0])
                found.append(Process(pid, int(fields[4 - 3]), program, arguments, policy, priority))
    return found


def serves(server, instance):
    """Whether a sapstartsrv is that of the instance, by its profile."""
    for argument in server.arguments[1:]:
        if argument.startswith("pf="):
            folder, name = os.path.split(argument[len("pf=") :])
            words = name.split("_")[:2]
            # an old start profile does not name the system
            old = words == ["START", instance.name] and instance.sid in folder.split("/")
            return old or words == [instance.sid, instance.name]
    return False


def text(host, path):
    """The text of a file; empty if there is none, its process has just ended, or this user may not read it."""
    try:
        return host.read(path) or ""
    except HostError:
        return ""
