# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The processes of SAP instances in /proc. A process may end meanwhile; then its files count as empty."""

import os
import re
from collections import namedtuple

from .._host.host import HostError

# program: the file name of the first argument. policy: the kernel's number. priority: 0 if not real-time.
Process = namedtuple("Process", "pid parent program arguments policy priority")


# they start, control or check an instance, and are no part of it
_HELPERS = ("sapcontrol", "sapcpe", "sappfpar", "sapstart", "sapstartsrv")


def running(host, programs):
    """The running Processes whose program is one of these, sorted by process id."""
    return _running(host, lambda arguments: os.path.basename(arguments[0]) in programs)


def of_instance(host, instance):
    """The running Processes of an instance, by the profile that they are started with: dispatcher, gateway, ICM ...

    Work processes are forks of the dispatcher and have its arguments.
    """

    def wanted(arguments):
        return os.path.basename(arguments[0]) not in _HELPERS and _names(arguments, instance)

    return _running(host, wanted)


def _running(host, wanted):
    """The running Processes whose list of arguments is wanted, sorted by process id."""
    found = []
    for pid in sorted(int(name) for name in host.listdir("/proc") if re.match(r"^[0-9]{1,9}$", name)):
        # a process that overwrites its arguments with a title separates them with blanks
        arguments = read_text(host, "/proc/%d/cmdline" % pid).replace("\0", " ").split()
        if arguments and wanted(arguments):
            # from the state on, because the name in parentheses may contain anything; numbers of fields as in proc(5)
            fields = read_text(host, "/proc/%d/stat" % pid).rpartition(")")[2].split()
            if len(fields) >= 39 and fields[0] not in ("Z", "X"):
                policy, priority = int(fields[41 - 3]), int(fields[40 - 3])
                program = os.path.basename(arguments[0])
                found.append(Process(pid, int(fields[4 - 3]), program, arguments, policy, priority))
    return found


def serves(server, instance):
    """Whether a sapstartsrv belongs to the instance, by its profile."""
    return _names(server.arguments, instance)


def _names(arguments, instance):
    """Whether the arguments of a process name the profile of the instance."""
    for argument in arguments[1:]:
        if argument.startswith("pf="):
            folder, name = os.path.split(argument[len("pf=") :])
            words = name.split("_")[:2]
            # an old start profile does not name the system
            old = words == ["START", instance.name] and instance.sid in folder.split("/")
            return old or words == [instance.sid, instance.name]
    return False


def read_text(host, path):
    """The text of a file; empty if it is absent, its process has ended, or this user may not read it."""
    try:
        return host.read(path) or ""
    except HostError:
        return ""
