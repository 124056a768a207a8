# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether sapcontrol's answer is the value of the running instance, by start times and the last change of the profiles.

sapstartsrv answers ParameterValue from the profiles at its own start; RestartService restarts it, but not the instance.
The instance runs with the profiles at the start of its dispatcher. So:

    instance started          sapstartsrv started      the instance runs with
    after the last change     after the last change    ANSWER: both have read the same profiles
    after the last change     before the last change   STORED: the current profiles; the answer is older
    before the last change    before the instance      ANSWER: both have read the profiles before the change
    before the last change    after the instance       UNPROVED: it may come from a change that the instance never read
    before the last change    unknown                  unknown

Line 3 keeps a converged instance compliant when somebody later edits another line of its profile. It misses one case: a
value that changed after the start of sapstartsrv, was read by a later start of the instance, and was changed back. The
profiles do not show that. Line 4 includes a sapstartsrv that is older than the last change: an earlier change may lie
between both starts.

The caller names the files that decide. Their ctime counts, because touch and cp -p set the mtime back. Any change of
such a file counts, because the changed line is unknown. The clocks of host and file server must agree. Start times need
no time zone, because they are computed from ages: those in /proc, else the elapsed time in GetProcessList.
"""

import os
import re
import time

from .._host.host import HostError
from .processes import owners, read_text, servers

ANSWER, STORED, UNPROVED = "answer", "stored", "unproved"

# elapsed times, and times of files on some file servers, are whole seconds
_COARSE_S = 2.0


def basis(host, instance, started, profiles):
    """ANSWER, STORED or UNPROVED. started: from instance_started(). profiles: the paths that decide.

    Raises HostError if this is unknown.
    """
    changed = max((host.changed(path) or 0 for path in profiles), default=0)
    service = _service_started(host, instance)
    if started > changed + _COARSE_S:
        return STORED if service is not None and service < changed else ANSWER
    if service is None:
        raise HostError("the start time of its sapstartsrv is unknown")
    return ANSWER if service <= started else UNPROVED


def instance_started(host, processes):
    """When an instance was started (seconds since the epoch), by the processes of GetProcessList.

    This is the start of the dispatcher: work processes are its children, and some of them are younger. Without a
    dispatcher, it is the start of the oldest process. Raises HostError if unknown.
    """
    up = [one for one in processes if one.pid is not None]
    times = [_started(host, one) for one in [one for one in up if one.name == "disp+work"] or up]
    known = [one for one in times if one is not None]
    if not known:
        raise HostError("the start time of its processes is unknown")
    return min(known)


def _started(host, process):
    """When a process of GetProcessList was started, or None."""
    age = _age(host, process.pid)
    elapsed = re.match(r"^(\d{1,9}):(\d{2}):(\d{2})\Z", process.elapsedtime)
    if age is None and elapsed:
        hours, minutes, seconds = (int(number) for number in elapsed.groups())
        age = (hours * 60 + minutes) * 60 + seconds
    return None if age is None else time.time() - age


def _age(host, pid):
    """The seconds since the start of a process, by the kernel's own clock; None without /proc of Linux."""
    fields = read_text(host, "/proc/%d/stat" % pid).rpartition(")")[2].split()
    uptime = read_text(host, "/proc/uptime").split()
    if len(fields) < 20 or not uptime:
        return None
    return float(uptime[0]) - int(fields[22 - 3]) / float(os.sysconf("SC_CLK_TCK"))


def _service_started(host, instance):
    """When the sapstartsrv of an instance was started, or None.

    It creates its socket at each start; its process may be older, because it can replace itself. In /tmp, anybody could
    create a socket while there is none.
    """
    socket = "/tmp/.sapstream5%s13" % instance.number
    made, allowed = host.changed(socket), owners(host, instance.sid)
    if made is not None and (allowed is None or host.user_of(socket) in allowed):
        return made
    ages = [age for age in (_age(host, one.pid) for one in servers(host, instance)) if age is not None]
    return time.time() - min(ages) if ages else None
