# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The highest real-time priority that processes may have: RLIMIT_RTPRIO and CAP_SYS_NICE, now and at the next start."""

import os
import re

from .._host.drop_ins import assignments, effective_files
from .processes import read_text

LIMITS = "/etc/security/limits.conf"

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
    files = [path for path in effective_files(host, "systemd/system", ".service") if os.path.basename(path) == unit]
    limit, capable = None, False
    for path in files + effective_files(host, "systemd/system/%s.d" % unit, ".conf"):
        for _line, _text, name, value in assignments(host, path):
            if name == "LimitRTPRIO":
                # an empty value resets earlier ones
                limit = _soft(value)
            elif name == "AmbientCapabilities":
                capable = value != "" and (capable or "CAP_SYS_NICE" in value.split())
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
    """The limit that pam_limits gives a user: the user's own entry wins over that of a group, which wins over ``*``."""
    groups = _groups(host, user)
    best, limit = 0, 0
    for path in [LIMITS] + host.glob("/etc/security/limits.d", "*.conf"):
        for line in read_text(host, path).splitlines():
            fields = line.split("#")[0].split()
            if len(fields) == 4 and fields[1] in ("-", "soft") and fields[2] == "rtprio":
                rank = 3 if fields[0] == user else 2 if fields[0] in groups else 1 if fields[0] == "*" else 0
                if rank and rank >= best:
                    best, limit = rank, _number(fields[3])
    return limit


def _groups(host, user):
    """The user's groups as limits.conf names them. <sid>adm is in sapsys, even if only a directory service says so."""
    own = [line.split(":") for line in read_text(host, "/etc/passwd").splitlines() if line.startswith(user + ":")]
    gid = own[0][3] if own and len(own[0]) > 3 else None
    found = {"@sapsys"}
    for line in read_text(host, "/etc/group").splitlines():
        fields = line.split(":")
        if len(fields) > 3 and (fields[2] == gid or user in fields[3].split(",")):
            found.add("@" + fields[0])
    return found


def _number(value):
    if value in ("unlimited", "infinity", "-1"):
        return _HIGHEST
    return min(int(value), _HIGHEST) if re.match(r"^[0-9]{1,18}$", value) else 0
