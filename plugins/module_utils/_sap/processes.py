# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The processes of SAP instances in /proc. A process may end meanwhile; then its files count as empty.

Any user can start a process with any name and arguments. Those of an instance belong to <sid>adm, or to root, as
sapstartsrv does until it has become <sid>adm, and as the effective user of a setuid program.
"""

import os
import re
from collections import namedtuple

from .._host.host import HostError
from .._host.identities import uid_of
from .._host.kernel import int_or_none

# program: the file name of the first argument. policy: the kernel's number. priority: 0 if not real-time.
Process = namedtuple("Process", "pid parent program arguments policy priority")


# they start, control or check an instance, and are not part of it
_HELPERS = ("sapcontrol", "sapcpe", "sappfpar", "sapstart", "sapstartsrv")


def running(host, programs, sid):
    """The running Processes of a system whose program is one of these, sorted by process id."""
    return _running(host, sid, lambda arguments: os.path.basename(arguments[0]) in programs)


def of_instance(host, instance):
    """The running Processes of an instance, by the profile that they are started with: dispatcher, gateway, ICM ...

    Work processes are forks of the dispatcher and have its arguments.
    """

    def wanted(arguments):
        return os.path.basename(arguments[0]) not in _HELPERS and _names(arguments, instance)

    return _running(host, instance.sid, wanted)


def _running(host, sid, wanted):
    """The running Processes of a system whose list of arguments is wanted, sorted by process id."""
    found, allowed = [], owners(host, sid)
    for pid in sorted(int(name) for name in host.listdir("/proc") if re.match(r"^[0-9]{1,9}$", name)):
        # a process that overwrites its arguments with a title separates them with blanks
        arguments = read_text(host, "/proc/%d/cmdline" % pid).replace("\0", " ").split()
        if arguments and wanted(arguments):
            # from the state on, because the name in parentheses may contain anything; numbers of fields as in proc(5)
            fields = read_text(host, "/proc/%d/stat" % pid).rpartition(")")[2].split()
            numbers = [int_or_none(fields[number - 3]) for number in (4, 41, 40)] if len(fields) >= 39 else [None]
            if None not in numbers and fields[0] not in ("Z", "X") and _belongs(host, pid, allowed):
                parent, policy, priority = numbers
                found.append(Process(pid, parent, os.path.basename(arguments[0]), arguments, policy, priority))
    return found


def owners(host, sid):
    """The ids of the users to whom processes and sockets of a system can belong; None if a capture does not tell."""
    name = sid.lower() + "adm"
    if host.root == "/":
        own = uid_of(name)
    else:
        found = re.search(r"(?m)^%s:[^:]*:([0-9]{1,10}):" % re.escape(name), read_text(host, "/etc/passwd"))
        if found is None:
            return None
        own = int(found.group(1))
    return (0,) if own is None else (0, own)


def _belongs(host, pid, allowed):
    """Whether real and effective user of a process are among the allowed ones."""
    ids = re.search(r"(?m)^Uid:\s+([0-9]{1,10})\s+([0-9]{1,10})\b", read_text(host, "/proc/%d/status" % pid))
    if allowed is None or ids is None:
        # a capture may lack the file; of a process that runs, everybody may read it
        return host.root != "/"
    return all(int(one) in allowed for one in ids.groups())


def servers(host, instance):
    """The running sapstartsrv of an instance, by its profile."""
    return [one for one in running(host, ("sapstartsrv",), instance.sid) if _names(one.arguments, instance)]


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
