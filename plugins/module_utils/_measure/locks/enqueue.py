# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The enqueue server of a host, and the base of the workloads that put locks on it."""

import contextlib
import os
import posixpath
import re
from collections import namedtuple

from ..._host.identities import uid_of
from ..._sap import instances
from ..._sap.processes import running
from ..._sap.profile import Profile
from ..errors import MeasureError
from ..workloads import releasing
from ..workloads.workload import Metric, Workload, workload_name

LOADS = ("sd_benchmark", "create_locks", "verify_entries", "live_statistics")

# The options of a workload. run_seconds: the length of a run, if the load is not a number of locks.
Asked = namedtuple("Asked", "load users locks_per_user processes run_seconds allow_foreign_locks")

# An enqueue server. kind: ENSA1 or ENSA2; profile: of its instance, as this host sees it; host: from the name of the
# profile; local: whether the instance is on this host; how: the source of the kind.
Server = namedtuple("Server", "kind sid instance number host profile local how")

_PROFILE = re.compile(r"([A-Z][A-Z0-9]{2})_(A?SCS[0-9]{2})_([^.]+)\Z")
_NAME = re.compile(r"A?SCS[0-9]{2}\Z")


def find_server(host, sid=None, instance=None, profile=None):
    """The Server of this host, or of the system whose profiles it has; HostError unless one fits."""
    found = _candidates(host, sid, instance, profile)
    servers = [server for server in (_server(host, path) for path in found) if server.kind]
    named = " ".join(word for word in (sid, instance) if word)
    if len(servers) > 1:
        paths = ", ".join(server.profile for server in servers)
        raise MeasureError("several enqueue servers fit (%s): name one with sid and instance" % paths)
    if servers:
        return servers[0]
    if profile or found and named:
        raise MeasureError("%s starts no lock server, neither enserver nor enq_server, and none runs" % found[0])
    if named:
        raise MeasureError("this host has no profile of an ASCS or SCS instance of %s: name it as profile" % named)
    raise MeasureError(
        "no SAP enqueue server was found: neither /usr/sap/<SID>/SYS/profile nor /sapmnt/<SID>/profile of this host "
        "has the profile of an ASCS or SCS instance that starts one; name its profile, or use a host of the SAP system"
    )


def _candidates(host, sid, instance, profile):
    """The paths of the profiles of central services that fit."""
    if profile:
        if not host.exists(profile):
            raise MeasureError("profile %s does not exist: name the profile of the ASCS or SCS instance" % profile)
        return [profile]
    if instance and not _NAME.match(instance):
        raise MeasureError("instance is %s; it must be the name of central services, such as ASCS01" % instance)
    sids = [sid] if sid else [name for name in host.listdir("/usr/sap") if re.match(r"[A-Z][A-Z0-9]{2}\Z", name)]
    found = []
    for one in sids:
        folder = instances.profile_folder(host, one)
        for path in host.glob(folder, one + "_*") if folder else []:
            match = _PROFILE.match(posixpath.basename(path))
            if match and instance in (None, match.group(2)):
                found.append(path)
    return found


def _server(host, path):
    """The Server of a profile; kind is None if neither the profile nor a process shows it."""
    match = _PROFILE.match(posixpath.basename(path))
    sid, instance, name = match.groups() if match else (None, None, None)
    data = host.data(path) or b""
    values = Profile(data)
    number = instance[-2:] if instance else values.value("SAPSYSTEM")
    sid = sid or values.value("SAPSYSTEMNAME") or None
    instance = instance or values.value("INSTANCE_NAME")
    kind, how = instances.parse_enqueue(data.decode("utf-8", "replace")), "profile %s" % path
    if kind is None and sid and instance:
        kind, how = _running_kind(host, sid, instance)
    local = bool(sid and instance) and host.exists("/usr/sap/%s/%s" % (sid, instance))
    return Server(kind, sid, instance, number, name, path, local, how)


def _running_kind(host, sid, instance):
    """(kind, how) from the lock server of this instance that runs on this host; (None, None) if none runs."""
    title = "sap%s_%s" % (sid, instance)
    programs = {"en." + title: "ENSA1", "enserver": "ENSA1", "enq." + title: "ENSA2", "enq_server": "ENSA2"}
    for process in running(host, tuple(programs), sid):
        if process.program.endswith(title) or any("%s_%s_" % (sid, instance) in word for word in process.arguments):
            return programs[process.program], "process %d (%s)" % (process.pid, process.program)
    return None, None


def folders(server):
    """Where the programs for a server may lie on this host, as patterns."""
    if server.sid is None:
        return ()
    own = "/usr/sap/%s" % server.sid
    first = ["%s/%s/exe" % (own, server.instance)] if server.instance else []
    return tuple(first + [own + "/[A-Z]*[0-9][0-9]/exe", own + "/SYS/exe/run"])


def user_of(server):
    """<sid>adm, who runs SAP's programs; None if this process is that user or cannot become it."""
    if server.sid is None or os.geteuid() != 0:
        return None
    user = server.sid.lower() + "adm"
    return None if uid_of(user) is None else user


class LockWorkload(Workload):
    """A workload of locks. A subclass has METRICS {load: Metric}, count(), destroy(), and a method like run() for each
    load.

    runner: an enq_programs.Runner. statistics: a source of the server's own counters (enq_statistics.py), or None.
    found: the enqueue server, as the module returns it.
    """

    family = "enqueue"
    METRICS = {}
    found = {}
    UNITS = dict(dict.fromkeys(LOADS, "operation"), create_locks="lock", verify_entries="entry")

    def __init__(self, asked, runner, statistics=None):
        self.asked = asked
        self.name = workload_name(self.tool, asked.load, asked.processes)
        self.connections = asked.processes
        self.metric = self.METRICS[asked.load]
        self.unit = self.UNITS[asked.load]
        self.params = {"load": asked.load, "users": asked.users, "locks_per_user": asked.locks_per_user}
        self._runner, self._statistics, self._before = runner, statistics, None

    def told(self):
        known = self._statistics and (self._statistics.problem or self._statistics.answered or None)
        return {"enqueue": dict(self.found, statistics=known)}

    def run(self, setting, window):
        before = self._statistics.sample() if self._statistics else None
        outcome = getattr(self, self.asked.load)(setting, window)
        after = self._statistics.sample() if self._statistics else None
        if before and after:
            outcome.metrics.update(self._statistics.between(before, after))
        return outcome

    def destroy(self):
        """Release the locks of this measurement; MeasureError if some stay."""
        raise NotImplementedError

    def count(self):
        """The number of all locks in the table."""
        raise NotImplementedError

    def prepare(self, setting):
        """Refuse a table that holds locks of others, unless the user allows it."""
        self._before = 0 if self.asked.load == "live_statistics" else self.count()
        if self._before and not self.asked.allow_foreign_locks:
            raise MeasureError(
                "the lock table holds %d locks that this measurement has not made: measure on a server that nobody "
                "works with, or set allow_foreign_locks" % self._before
            )
        self._runner.guardian = releasing.Guardian(self.destroy)

    @contextlib.contextmanager
    def setting_locks(self):
        """A block that sets locks; they are released at its end."""
        self._runner.guardian.owes(True)
        try:
            yield
        finally:
            self.release()

    def release(self):
        if self._runner.guardian.owed:
            self.destroy()
            self._runner.guardian.owes(False)

    def finish(self):
        try:
            if self._runner.guardian is not None:
                self.release()
                self._runner.guardian.close()
                self._runner.guardian = None
        finally:
            self._runner.close()


def rate(name):
    """A metric of how often something is done; more is better."""
    return Metric(name, "operations/min", "higher")


def time_of(name):
    """A metric of how long something takes; less is better."""
    return Metric(name, "\u00b5s", "lower")
