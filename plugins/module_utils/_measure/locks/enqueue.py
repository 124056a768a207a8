# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tools for SAP's lock server have in common: which server there is, and what a workload of locks is."""

import os
import posixpath
import pwd
import re
from collections import namedtuple

from ..._host.host import HostError
from ..._sap import instances
from ..._sap.processes import running
from ..errors import MeasureError
from ..workloads.workload import Metric, Workload

LOADS = ("sd_benchmark", "create_locks", "verify_entries", "live_statistics")

# What the user asked for. seconds: how long a run lasts, where the load is not a number of locks.
Asked = namedtuple("Asked", "load users locks_per_user processes seconds allow_foreign_locks")

# An enqueue server. kind: ENSA1 or ENSA2; profile: of its instance, as this host sees it; host: in the profile's name;
# local: whether the instance lies on this host; how: what told the kind.
Server = namedtuple("Server", "kind sid instance number host profile local how")

_PROFILE = re.compile(r"([A-Z][A-Z0-9]{2})_(A?SCS[0-9]{2})_([^.]+)\Z")
_NAME = re.compile(r"A?SCS[0-9]{2}\Z")


def find_server(host, sid=None, instance=None, profile=None):
    """The Server of this host, or of the system whose profiles it has; None if there is none and none was named.

    MeasureError where what was named is not there, or where several could be meant.
    """
    try:
        found = _candidates(host, sid, instance, profile)
        return _only_one(host, found, sid, instance, profile)
    except HostError as error:
        raise MeasureError(str(error)) from error


def _candidates(host, sid, instance, profile):
    """The paths of the profiles of central services that may be meant."""
    if profile:
        if not host.exists(profile):
            raise MeasureError("profile %s is not there: name the profile of the ASCS or SCS instance" % profile)
        return [profile]
    if instance and not _NAME.match(instance):
        raise MeasureError("instance is %s; it takes the name of central services, such as ASCS01" % instance)
    sids = [sid] if sid else [name for name in host.listdir("/usr/sap") if re.match(r"[A-Z][A-Z0-9]{2}\Z", name)]
    found = []
    for one in sids:
        folder = instances.profile_folder(host, one)
        for path in host.glob(folder, one + "_*") if folder else []:
            match = _PROFILE.match(posixpath.basename(path))
            if match and instance in (None, match.group(2)):
                found.append(path)
    return found


def _only_one(host, found, sid, instance, profile):
    servers = [server for server in (_server(host, path) for path in found) if server.kind]
    named = " ".join(word for word in (sid, instance) if word)
    if len(servers) > 1:
        paths = ", ".join(server.profile for server in servers)
        raise MeasureError("several enqueue servers may be meant (%s): name one with sid and instance" % paths)
    if servers:
        return servers[0]
    if profile or found and named:
        raise MeasureError("%s starts no lock server, neither enserver nor enq_server, and none runs" % found[0])
    if named:
        raise MeasureError("this host has no profile of an ASCS or SCS instance of %s: name it as profile" % named)
    return None


def _server(host, path):
    """The Server of a profile; kind is None if neither the profile nor a process tells it."""
    match = _PROFILE.match(posixpath.basename(path))
    sid, instance, name = match.groups() if match else (None, None, None)
    text = host.read(path) or ""
    number = instance[-2:] if instance else _assigned(text, "SAPSYSTEM")
    sid = sid or _assigned(text, "SAPSYSTEMNAME")
    instance = instance or _assigned(text, "INSTANCE_NAME")
    kind, how = instances.parse_enqueue(text), "profile %s" % path
    if kind is None and sid and instance:
        kind, how = _running_kind(host, sid, instance)
    local = bool(sid and instance) and host.exists("/usr/sap/%s/%s" % (sid, instance))
    return Server(kind, sid, instance, number, name, path, local, how)


def _assigned(text, name):
    """The value of a parameter of a profile, the last one that is set; None if none is."""
    found = re.findall(r"(?m)^[ \t]*%s[ \t]*=[ \t]*(\S+)" % re.escape(name), text)
    return found[-1] if found else None


def _running_kind(host, sid, instance):
    """(kind, how) by the lock server of this instance that runs on this host; (None, None) where none does."""
    title = "sap%s_%s" % (sid, instance)
    programs = {"en." + title: "ENSA1", "enserver": "ENSA1", "enq." + title: "ENSA2", "enq_server": "ENSA2"}
    for process in running(host, tuple(programs)):
        if process.program.endswith(title) or any("%s_%s_" % (sid, instance) in word for word in process.arguments):
            return programs[process.program], "process %d (%s)" % (process.pid, process.program)
    return None, None


def folders(server):
    """Where the programs for a server may lie on this host, as patterns."""
    if server is None or server.sid is None:
        return ()
    own = "/usr/sap/%s" % server.sid
    first = ["%s/%s/exe" % (own, server.instance)] if server.instance else []
    return tuple(first + [own + "/[A-Z]*[0-9][0-9]/exe", own + "/SYS/exe/run"])


def user_of(server):
    """<sid>adm, as whom SAP's programs are to run; None if this process cannot become that user or is it already."""
    if server is None or server.sid is None or os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(server.sid.lower() + "adm").pw_name
    except KeyError:
        return None


class LockWorkload(Workload):
    """A workload of locks. A subclass has METRICS {load: Metric}, and measure() instead of run().

    statistics: a source of the server's own counters (enq_statistics.py), or None.
    """

    family = "enqueue"
    METRICS = {}
    UNITS = {"sd_benchmark": "operation", "create_locks": "lock", "verify_entries": "entry", "live_statistics": ""}

    def __init__(self, asked, statistics=None):
        if asked.load not in self.METRICS:
            raise MeasureError(
                "%s has no load %s; it has %s" % (self.tool, asked.load, ", ".join(sorted(self.METRICS)))
            )
        self.asked = asked
        self.name = workload_name(self.tool, asked.load, asked.processes)
        self.connections = asked.processes
        self.metric = self.METRICS[asked.load]
        self.unit = self.UNITS[asked.load] or "operation"
        self.params = {"load": asked.load, "users": asked.users, "locks_per_user": asked.locks_per_user}
        self._statistics = statistics

    def run(self, setting, window):
        before = self._statistics.sample() if self._statistics else None
        outcome = self.measure(setting, window)
        after = self._statistics.sample() if self._statistics else None
        if before and after:
            outcome.metrics.update(self._statistics.between(before, after))
        return outcome

    def measure(self, setting, window):
        """As Workload.run()."""
        raise NotImplementedError

    def refuse_foreign(self, count, what="locks"):
        """MeasureError where a server holds locks of others and the user has not allowed that."""
        if count and not self.asked.allow_foreign_locks:
            raise MeasureError(
                "the lock table holds %d %s that this measurement has not made: measure on a server that nobody works "
                "with, or set allow_foreign_locks" % (count, what)
            )


def workload_name(tool, load, processes):
    """enqt-sd_benchmark, or enqt-sd_benchmark-x5 for 5 parallel processes."""
    return "%s-%s%s" % (tool, load, "-x%d" % processes if processes > 1 else "")


def rate(name):
    return Metric(name, "operations/min", "higher")


def time_of(name):
    return Metric(name, "\u00b5s", "lower")
