# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The highest real-time priority that processes may have: RLIMIT_RTPRIO and CAP_SYS_NICE, now and at the next start."""

import re

from .._host.drop_ins import assignments, effective_files
from . import limits
from .processes import read_text

# the highest priority of the kernel, and so the effect of an unlimited limit
_HIGHEST = 99
_CAP_SYS_NICE = 1 << 23


def of_process(host, process):
    """The limit of a running process, which its children inherit."""
    if has_capability(host, process, "CapAmb"):
        return _HIGHEST
    match = re.search(r"(?m)^Max realtime priority\s+(\S+)", read_text(host, "/proc/%d/limits" % process.pid))
    return _number(match.group(1)) if match else 0


def has_capability(host, process, which):
    """Whether CAP_SYS_NICE is in a set of a process: CapEff is its own, CapAmb is inherited by its children."""
    match = re.search(r"(?m)^%s:\s*([0-9a-f]+)$" % which, read_text(host, "/proc/%d/status" % process.pid))
    return match is not None and int(match.group(1), 16) & _CAP_SYS_NICE != 0


def of_unit(host, unit):
    """The limit of a unit at its next start: the last LimitRTPRIO= of its file and drop-ins, or CAP_SYS_NICE."""
    limit, capable = None, False
    for name, entry in limits.of_unit(host, unit):
        if name == "LimitRTPRIO":
            # an empty value resets earlier ones
            limit = _soft(entry.value)
        elif name == "AmbientCapabilities":
            capable = entry.value != "" and (capable or "CAP_SYS_NICE" in entry.value.split())
    if capable:
        return _HIGHEST
    return (_default(host) if limit is None else limit) or 0


def _default(host):
    """DefaultLimitRTPRIO= of systemd's own configuration, or None."""
    main = [path for path in ("/usr/lib/systemd/system.conf", "/etc/systemd/system.conf") if host.exists(path)]
    limit = None
    for path in main[-1:] + effective_files(host, "systemd/system.conf.d", ".conf"):
        for _line, _text, name, value in assignments(host, path):
            if name == "DefaultLimitRTPRIO":
                limit = _soft(value)
    return limit


def _soft(value):
    """The soft limit in systemd's value, which is one for both limits or soft:hard; None for an empty value."""
    return _number(value.split(":")[0]) if value else None


def of_session(host, user):
    """The limit that pam_limits gives a user."""
    found = limits.of_session(host, user, "rtprio", "soft")
    return _number(found[-1].value) if found else 0


def _number(value):
    if value in ("unlimited", "infinity", "-1"):
        return _HIGHEST
    return min(int(value), _HIGHEST) if re.match(r"^[0-9]{1,18}$", value) else 0
