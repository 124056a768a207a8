# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What SAP notes ask of SLES and RHEL: limits of SAP processes, services, the I/O scheduler.

SAP Notes are not public. The values are those that SUSE and Red Hat quote; ROWS has each with its source. Nothing is
set: a value that differs is "observed".
"""

import functools
import math
import os
import re
from collections import namedtuple

from .._engine.records import observed
from .._host.host import HostError, Once
from .._host.kernel import RELEASES, distribution, int_or_none
from .._sap.instances import names
from .._sap.processes import of_instance, read_text, servers
from .other_settings import enabled

# One row of the table of tunings. look(seen, wanted) yields Values; nothing: the reason if it yields none.
Row = namedtuple("Row", "subject look nothing asked")
# What a note asks. releases: a pattern; wanted: for look; words: the same in the user's terms.
Asked = namedtuple("Asked", "releases wanted words source")
# One value that was found. met: None if it cannot be told, because of why.
Value = namedtuple("Value", "label text met why")
# host: a Once. processes: {instance: [Process]} of those that run. why: why there may be more. units: see _units().
Seen = namedtuple("Seen", "host processes why units")

_LINES = 5
_ALL_UNITS = ("uuidd.socket", "uuidd.service", "sysstat.service", "sysctl-logger.service")
_CGROUPS = "/sys/fs/cgroup"
# the disks whose scheduler saptune sets, beside SCSI and multipath devices; DASD are not among them
_DISKS = ("nvme", "vd", "xvd")
NONE = ("none", "noop")


# what is there


def _lowest(read, seen, wanted):
    """The lowest value of each instance's processes. read(host, pid): (number that counts, number, text) or None."""
    if seen.why:
        yield Value(None, None, None, seen.why)
    for label, processes in seen.processes.items():
        found = [(read(seen.host, process.pid), process) for process in processes]
        # one that has ended meanwhile has no folder
        lost = [one.pid for value, one in found if value is None and seen.host.exists("/proc/%d" % one.pid)]
        if lost:
            more = " and of %d more" % (len(lost) - 1) if lost[1:] else ""
            yield Value(label, None, None, "%s: the files of process %d%s cannot be read" % (label, lost[0], more))
        known = [(value, one) for value, one in found if value is not None]
        if known:
            value, process = min(known, key=lambda pair: pair[0][:2])
            text = "%s (%s, process %d)" % (value[2], _clean(process.program), process.pid)
            yield Value(label, text, wanted is None or value[0] >= wanted, None)


def _limits(title, host, pid):
    """Of a line of /proc/PID/limits."""
    text = read_text(host, "/proc/%d/limits" % pid)
    found = re.search(r"(?m)^%s +([0-9]{1,20}|unlimited) +([0-9]{1,20}|unlimited)(?: |$)" % title, text)
    if found is None:
        return None
    soft, hard = (math.inf if word == "unlimited" else int(word) for word in found.groups())
    # no soft limit is above the hard one
    return soft, hard, "%s soft, %s hard" % found.groups()


def _tasks(host, pid):
    """The smallest pids.max of a process's control group and of those above it; only that of a session counts."""
    groups = [line.split(":", 2) for line in read_text(host, "/proc/%d/cgroup" % pid).splitlines()]
    groups = [group for group in groups if len(group) == 3]
    first = [(_CGROUPS + "/pids", path) for _number, kinds, path in groups if "pids" in kinds.split(",")]
    second = [(_CGROUPS, path) for number, kinds, path in groups if (number, kinds) == ("0", "")]
    if not groups or any(".." in path.split("/") for _top, path in first + second):
        return None
    limit, where = math.inf, ""
    for top, group in (first or second)[:1]:
        if not host.exists(top + group):
            return None
        path = group
        while path.strip("/"):
            number = int_or_none(host.value("%s%s/pids.max" % (top, path)))
            if number is not None and number < limit:
                limit, where = number, path
            path = os.path.dirname(path)
    text = "no limit" if limit == math.inf else "%d in %s" % (limit, _clean(where))
    return (limit if where.startswith("/user.slice") else math.inf), limit, text


def _services(shown, seen, wanted):
    """The states of the units that are asked for, else of those shown."""
    for unit in sorted(wanted or shown):
        state, why = seen.units[unit]
        met = None if why else wanted is None or set(wanted[unit].split(", ")) <= set(state.split(", "))
        yield Value(unit, state, met, why)


def systemctl(host, *arguments):
    """What systemctl prints. Raises HostError."""
    # most hosts do not need it in check mode; see outcome()
    from .._engine import service  # noqa: PLC0415

    return service.systemctl(host, *arguments)


def shown(host, units):
    """{unit: {property: text}} as systemd tells it. Raises HostError."""
    blocks = systemctl(host, "show", "-p", "Id,LoadState,ActiveState,UnitFileState", *units).split("\n\n")
    told = [dict(line.partition("=")[::2] for line in block.splitlines()) for block in blocks]
    return {one.get("Id"): one for one in told}


def _units(host):
    """{unit: (state such as "active, enabled", None)}; (what its links tell, why) where systemd cannot be asked."""
    found, why = {}, "systemctl does not tell the state"
    try:
        for unit, told in shown(host, _ALL_UNITS).items():
            states = [told.get("ActiveState"), told.get("UnitFileState")]
            if told.get("LoadState") == "not-found":
                states = ["not installed"]
            found[unit] = (", ".join(_clean(state) for state in states if state), None)
    except HostError as error:
        why = _clean(str(error), 400)
    return {unit: found.get(unit) or (enabled(host, unit) and "enabled" or None, why) for unit in _ALL_UNITS}


def in_force(text):
    """The scheduler in force; a single word without brackets is the only scheduler."""
    chosen = re.search(r"\[([\w-]{1,30})\]", text)
    return chosen.group(1) if chosen else _clean(text)


def _schedulers(seen, wanted):
    """One Value per scheduler, with its disks."""
    host, disks = seen.host, {}
    if not host.exists("/sys/block"):
        lacking = host.lacking("/sys/block")
        yield Value(None, None, None, "there is no /sys/block" + (" (%s)" % lacking if lacking else ""))
    for name in host.listdir("/sys/block"):
        base = "/sys/block/%s/" % name
        multipath = (host.value(base + "dm/uuid") or "").startswith("mpath-")
        if multipath or name.startswith(_DISKS) or host.value(base + "device/type") == "0":
            text = host.value(base + "queue/scheduler")
            if text:
                disks.setdefault(in_force(text), []).append(_clean(name))
    for scheduler, found in sorted(disks.items()):
        more = ["and %d more" % (len(found) - _LINES)] if len(found) > _LINES else []
        yield Value(scheduler, ", ".join(found[:_LINES] + more), scheduler in (wanted or disks), None)


def _clean(text, most=60):
    """A text that others have chosen, for a sentence."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)[:most]


# what is asked

_SUSE = tuple(
    ("SLES " + release, "SAP Note %s, quoted by saptune 3.2 (2026-03)" % note)
    for release, note in (("12", "1984787 v43"), ("15", "2578899 v55"), ("16", "3565382 v1"))
)
_RHEL, _ROLE = r"RHEL (?:[789]|10)", "community.sap_install 1.9.0, role sap_general_preconfigure"
FILES, _FILES_WORDS = 1048576, "at least 1048576, soft and hard"
_BOTH = dict.fromkeys(("uuidd.socket", "uuidd.service"), "active, enabled")
_NO_PROCESS = "no process of an SAP instance runs, so the value is unknown: check again while one does"
_NO_DISK = "no disk of SCSI, virtio, NVMe or multipath: SUSE's tools leave the scheduler of others, such as DASD, alone"


def _of_processes(subject, read, *asked):
    return Row(subject, functools.partial(_lowest, read), _NO_PROCESS, asked)


def _of_units(subject, suse, *asked):
    unit = subject + (".socket" if asked else ".service")
    started = tuple(Asked(release, {unit: "active"}, "active", source) for release, source in suse)
    return Row(subject, functools.partial(_services, (unit,)), "", started + asked)


ROWS = (
    _of_processes(
        "nofile",
        functools.partial(_limits, "Max open files"),
        Asked("SLES 1[25]", FILES, _FILES_WORDS, "SAP Note 1771258 v8, quoted by saptune 3.2 (2026-03)"),
        Asked(_RHEL, FILES, _FILES_WORDS, "SAP Note 1771258 v6, quoted by " + _ROLE),
    ),
    _of_processes(
        "nproc", functools.partial(_limits, "Max processes"), Asked(_RHEL, math.inf, "unlimited, soft and hard", _ROLE)
    ),
    _of_processes("tasks", _tasks, Asked(_SUSE[0][0], math.inf, "no UserTasksMax in user.slice", _SUSE[0][1])),
    _of_units("uuidd", _SUSE, Asked(_RHEL, _BOTH, "active, enabled", "SAP Note 1391070, quoted by " + _ROLE)),
    _of_units("sysstat", _SUSE),
    _of_units("sysctl-logger", ((r"SLES 15\.[4-7]", _SUSE[1][1]), _SUSE[2])),
    Row("I/O scheduler", _schedulers, _NO_DISK, tuple(Asked(one, NONE, "none or noop", by) for one, by in _SUSE)),
)


def asked_of(row, release):
    """The Asked of a Row for a release such as "SLES 15.6"; None if no source names a value."""
    return next((one for one in row.asked if re.match(r"(?:%s)(?:\.|\Z)" % one.releases, release)), None)


def of_notes(host, system):
    """The records of a host with SLES or RHEL and an SAP instance; none for others.

    A capture without the folder of the instances has them too.
    """
    told = (distribution(host) or {}) if system == "Linux" else {}
    release = "%s %s" % (RELEASES.get(told.get("id")), told.get("version"))
    if not any(asked_of(row, release) for row in ROWS):
        return []
    host = Once(host)
    instances = names(host)
    lacking = host.lacking("/usr/sap")
    if not instances and not lacking:
        return []
    processes = {"%s %s" % one: servers(host, one) + of_instance(host, one) for one in instances}
    processes = {label: found for label, found in processes.items() if found}
    seen = Seen(host, processes, None if processes else _unseen(host, lacking), _units(host))
    return [_record(row, seen, asked_of(row, release), release) for row in ROWS]


def _unseen(host, lacking):
    """Why processes of instances may run that cannot be seen, or None."""
    if host.capture:
        return "not in this capture: %s" % ("/usr/sap (%s)" % lacking if lacking else "processes of SAP instances")
    if host.root == "/" and os.geteuid() != 0:
        return "no process of an SAP instance runs, or this user may not see it: use become"
    return None


def _record(row, seen, asked, release):
    values = list(row.look(seen, asked and asked.wanted))
    running = {value.label: value.text for value in values if value.text}
    wrong = ["%s: %s" % (value.label, value.text) for value in values if value.met is False]
    unseen = [value.why for value in values if value.met is None]
    if asked is None:
        verdict, reason = "not_applicable", "no public source names a value for %s" % release
    elif wrong:
        verdict, reason = "observed", "only observed: %s, SAP asks for %s (%s)"
        reason %= ("; ".join(wrong), asked.words, asked.source)
    elif unseen:
        verdict, reason = "unknown", "; ".join(dict.fromkeys(unseen))
    elif values:
        verdict, reason = "compliant", "SAP asks for %s (%s)" % (asked.words, asked.source)
    else:
        verdict, reason = "not_applicable", row.nothing
    wanted, sources = ({row.subject: asked.words}, [asked.source]) if asked else ({}, [])
    return observed("platform", row.subject, wanted, verdict, reason, running or None, sources=sources)
