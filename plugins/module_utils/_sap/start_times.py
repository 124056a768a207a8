# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether sapcontrol's answer is what an instance runs with: start times against the last change of the profiles.

sapstartsrv answers ParameterValue from the profiles as they were when it started, and RestartService starts it anew
while the instance goes on. The instance runs with the profiles as they were when its dispatcher started. So it depends:

    instance started          sapstartsrv started      the instance runs with
    after the last change     after the last change    ANSWER: both have read the same profiles
    after the last change     before the last change   STORED: the profiles as they are; the answer is older than they
    before the last change    before the instance      ANSWER: it was read before the change, as the instance did
    before the last change    after the instance       UNPROVED: it may come from a change that the instance never read
    before the last change    not known                not known

Line 3 keeps a converged instance compliant when somebody edits another line of its profile later. It misses one thing:
a value that changed after the start of sapstartsrv, was read by a later start of the instance, and was changed back.
The profiles do not show that. Line 4 includes a sapstartsrv that is older than the last change: an earlier change may
lie between both starts.

The caller says which files decide. Their ctime counts, because touch and cp -p set the mtime back; any change of such a
file counts, for nothing tells which line it was. The clocks of host and file server must agree, as they compare. Start
times need no time zone, because they come from ages: those in /proc, else the elapsed time in GetProcessList.
"""

import os
import re
import time

from .._host.host import HostError
from .processes import running, serves, text

ANSWER, STORED, UNPROVED = "answer", "stored", "unproved"

# elapsed times are whole seconds, and so are the times of files on some file servers
_COARSE_S = 2.0


def basis(host, instance, started, profiles):
    """ANSWER, STORED or UNPROVED. started: as instance_started() says; profiles: the paths that decide.

    Raises HostError where that cannot be told.
    """
    changed = max((host.changed(path) or 0 for path in profiles), default=0)
    service = _service_started(host, instance)
    if started > changed + _COARSE_S:
        return STORED if service is not None and service < changed else ANSWER
    if service is None:
        raise HostError("nothing tells when its sapstartsrv was started")
    return ANSWER if service <= started else UNPROVED


def instance_started(host, processes):
    """When an instance was started (seconds since the epoch), by the processes of GetProcessList.

    The dispatcher tells it: work processes are its children, and some of them are younger. An instance without one has
    started with the oldest of its processes. Raises HostError where no process tells it.
    """
    up = [one for one in processes if one.pid is not None and one.dispstatus != "GRAY"]
    times = [_started(host, one) for one in [one for one in up if one.name == "disp+work"] or up]
    known = [one for one in times if one is not None]
    if not known:
        raise HostError("nothing tells when its processes were started")
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
    """The seconds since a process was started, by the kernel's own clock; None without /proc of Linux."""
    fields = text(host, "/proc/%d/stat" % pid).rpartition(")")[2].split()
    uptime = text(host, "/proc/uptime").split()
    if len(fields) < 20 or not uptime:
        return None
    return float(uptime[0]) - int(fields[22 - 3]) / float(os.sysconf("SC_CLK_TCK"))


def _service_started(host, instance):
    """When the sapstartsrv of an instance was started, or None.

    It makes its socket at each start; its process may be older, because it can replace itself.
    """
    made = host.changed("/tmp/.sapstream5%s13" % instance.number)
    if made is not None:
        return made
    servers = [one for one in running(host, ("sapstartsrv",)) if serves(one, instance)]
    ages = [age for age in (_age(host, one.pid) for one in servers) if age is not None]
    return time.time() - min(ages) if ages else None
