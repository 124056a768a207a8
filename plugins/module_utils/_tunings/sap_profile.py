# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parameters in SAP profiles. A subject is a profile; its running values are those of the instances that read it.

With manage_rtprio each file that allows real-time priorities is a subject too.
"""

import platform

from .._engine.records import CRM, SMC_R, STUDY
from .._engine.tuning import RUNNING, STORED, InputError, Subject
from .._host.drop_ins import DropIn
from .._host.host import HostError
from .._machine.services import commands, pacemaker
from .._sap import parameters, realtime
from .._sap.instances import enqueue_beside
from .._sap.profile import Profile, legible, shown, value_of
from ._profiles.files import RESTART_OPTIONS, ProfileTuning
from ._profiles.limits import (
    HIGHEST,
    LimitFile,
    drop_in,
    is_limit_file,
    limit_files,
    limit_text,
    marked,
    put,
    shown_limit,
)
from ._profiles.requests import LEFT_ALONE, paths, requests, target
from ._profiles.subjects import UNPROVED, ProfileSubject, StoredParameter, WorkProcesses, title
from ._profiles.values import Values, read_profile
from ._system_base import shared_memory as memory

_DB2, _UPDATERS = "db2sysc", "rdisp/wp_no_vb"
_ENTRY = dict(
    profile=dict(type="str"),
    sid=dict(type="str"),
    instance=dict(type="str"),
    presets=dict(type="list", elements="str", choices=list(parameters.PRESETS), default=[]),
    parameters=dict(type="dict", default={}),
)


class SapProfile(ProfileTuning):
    """SAP profiles of one host. params: the module's, see plugins/modules/sap_profile.py."""

    name = "sap_profile"
    restart = "instance"
    sources = (
        STUDY % "5.7",
        CRM % "2.2.3",
        "Performance & Scalability of Virtualized SAP Servers on RHEL (Red Hat, March 2008), 6.2",
        SMC_R,
    )
    options = dict(
        _ENTRY,
        profiles=dict(type="list", elements="dict", default=[], options=dict(_ENTRY, left_to=dict(type="str"))),
        manage_rtprio=dict(type="bool", default=False),
        accept_realtime=dict(type="bool", default=False),
        **RESTART_OPTIONS,
    )

    def __init__(self, host, params):
        super().__init__(host, params)
        self.linux = bool(host.capture) or platform.system() != "AIX"
        self.values = Values(host, self.users)
        paths_of_limits = {path for one in self.known for path in limit_files(host, one)}
        self.drop_ins = tuple(DropIn(host, path, "") for path in sorted(paths_of_limits))
        self._asked = {}
        self._usable = {}
        self._remarked = {}
        # {path of a limit file: the priority that it is to allow}
        self._priorities = {}
        if self.restoring and any(params.get(key) for key in ("profile", "sid", "profiles")):
            self._meant = {
                self.host.real(path) for request in requests(params) for path in paths(host, request, self.known)
            }
            readers = [one for path in self._meant for one in self.users.of(path)]
            self._meant.update(path for one in readers for path in limit_files(host, one))

    @classmethod
    def unattended(cls, params):
        # users are on the instances, and an instance in the request may no longer exist then
        none = dict(profile=None, sid=None, instance=None, profiles=[], restart=[])
        return dict(super().unattended(params), **none)

    # which profiles

    def select(self):
        self._asked, self._usable, self._remarked = {}, {}, {}
        subjects = []
        for request in requests(self.params):
            found = paths(self.host, request, self.known)
            if not found:
                reason = "no instance of %s on this host has a name like %s" % (request.sid, request.instance)
                subject = Subject("%s %s" % (request.sid, request.instance), verdict="not_applicable", reason=reason)
                subjects.append(subject)
            subjects += [self._ask(target(self.host, path), request) for path in found]
        return subjects + self._limit_files(subjects)

    def _limit_files(self, subjects):
        """The limit files of instances that get a real-time scheduler, if this call manages them."""
        if not self.params.get("manage_rtprio"):
            return []
        found = {}
        for subject in subjects:
            if isinstance(subject, ProfileSubject) and not self._risk(subject):
                priority = realtime.number(subject.scheduling.get(realtime.PRIORITY), HIGHEST)
                for path in [path for one in subject.scheduled() for path in limit_files(self.host, one)]:
                    found[path] = max(priority, found.get(path, 0))
        self._priorities = found
        return [LimitFile(self.host, path) for path in sorted(found)]

    def _risk(self, subject):
        """Why the real-time scheduler of a profile could harm this host, empty if it is accepted or could not."""
        readers = [one for one in subject.readers if one.role == "application_server"]
        asked = self._usable.get(subject.name) or {}
        if self.params.get("accept_realtime") or not (readers and self.linux and realtime.is_risky(asked)):
            return ""
        others = {one.sid for one in self.known if one.role not in LEFT_ALONE} - {readers[0].sid}
        found = ["it also runs %s" % name for name in sorted(others)]
        found += ["it also runs SAP HANA"] if any(one.role == "hana" for one in self.known) else []
        found += ["it also runs Db2"] if _DB2 in commands(self.host) or self._has_db2() else []
        # their own processes are real-time: the token comes late, the watchdog is not fed, the node is fenced
        found += ["it is a node of a cluster, whose corosync and sbd need CPU time"] if pacemaker(self.host)[0] else []
        return " and ".join(found)

    def _has_db2(self):
        """Whether a Db2 server of SAP is installed: a client has no db2nodes.cfg."""
        return any(self.host.exists(home + "/sqllib/db2nodes.cfg") for home in self.host.glob("/db2", "db2*"))

    def _updaters(self, subject):
        """{instance: number of its update work processes, or None} of the readers that keep their updates."""
        if not {"rdisp/vb_dispatching", "rdisp/vbname", _UPDATERS}.intersection(self._usable.get(subject.name) or {}):
            return {}
        found = {}
        for instance in [one for one in subject.readers if one.role == "application_server"]:
            planned = self._planned(instance, ("rdisp/vb_dispatching", "rdisp/vbname", _UPDATERS))
            if planned[:2] == ["0", "$(rdisp/myname)"]:
                found[title(instance)] = planned[2] or self.values.of_kernel(instance, _UPDATERS)
        return found

    def _planned(self, instance, names):
        """The values of parameters that both profiles of an instance will set, None for others."""
        own, found = self.host.real(instance.profile), {}
        for path in [path for path in (self.users.default_of(own), own) if path and self.host.exists(path)]:
            profile, asked = Profile(read_profile(self.host, path)), self._usable.get(path) or {}
            values = {name: asked[name] if name in asked else profile.value(name) for name in names}
            found.update((name, value) for name, value in values.items() if value is not None)
        return [found.get(name) for name in names]

    def permit(self, subject):
        if isinstance(subject, ProfileSubject) and not self.restoring:
            self._permit_profile(subject)
        super().permit(subject)

    def _permit_profile(self, subject):
        without = [name for name, count in self._updaters(subject).items() if count == "0"]
        risk = self._risk(subject)
        if without:
            raise HostError(
                "%s was left alone: %s would do its own updates and has no work process for them: set %s to 1 or more"
                % (subject.name, ", ".join(without), _UPDATERS)
            )
        if risk:
            raise HostError(
                "%s was left alone: under a real-time scheduler its work processes run before all other programs of "
                "this host, and %s. Leave out realtime_scheduler and rdisp/linux/os_priority, or set "
                "sap_profile_accept_realtime: true" % (subject.name, risk)
            )

    def marked(self):
        return marked(self.host)

    def _ask(self, path, request):
        if path in self._asked:
            raise InputError("%s is requested twice: put its parameters into one entry" % path)
        self._asked[path] = request
        profile = Profile(read_profile(self.host, path))
        current = {name: shown(profile.value(name)) for name in profile.names()}
        enqueue = enqueue_beside(self.host, path) if parameters.TABLE in request.parameters else None
        usable, self._remarked[path] = parameters.check(request.parameters, self.linux, current, enqueue)
        self._usable[path] = usable
        if not usable:
            subject = Subject(path, verdict="not_applicable", reason="; ".join(self._remarked[path]))
            named = [one for one in self.users.of(path) if title(one) in self.params["restart"]]
            subject.remarks = [sentence for sentence in map(self.restarts.refusal, named) if sentence]
            return subject
        return self.observe(path)

    def profiles(self):
        names = set(self._asked) | {key.split(" ")[0] for key in self.remembered}
        return {name for name in names if not is_limit_file(name)}

    def legible(self, key, text):
        return is_limit_file(key) or legible(text)

    def observe(self, name):
        if is_limit_file(name):
            return LimitFile(self.host, name)
        if self.restoring and self.params["force"] and not self.host.exists(name):
            return Subject(name)
        readers = self.users.of(name)
        asked = self._usable.get(name)
        scheduling = asked if asked and self.linux and realtime.wants_realtime(asked) else {}
        data = read_profile(self.host, name)
        subject = ProfileSubject(name, data, readers, self.users.is_default(name), scheduling)
        if asked is None:
            asked = [key[len(name) + 1 :] for key in self.remembered if key.startswith(name + " ")]
        subject.knobs = [StoredParameter(name, parameter, subject.profile.text(parameter)) for parameter in asked]
        for instance in readers:
            subject.knobs += self.values.running_knobs(subject, instance, asked, self.restarts.done(instance))
        return subject

    # plan

    def want(self, subject):
        if isinstance(subject, LimitFile):
            subject.want(self._priorities[subject.name])
            return
        request, usable = self._asked[subject.name], self._usable[subject.name]
        subject.wanted = {"state": "present", "presets": list(request.presets), "parameters": usable}
        for knob in subject.at(STORED):
            wanted = subject.profile.wanted(knob.item, usable[knob.item])
            if not request.left_to:
                knob.wanted = wanted
            elif not self.same(knob, knob.now, wanted):
                texts = (self.show(knob, knob.now), self.show(knob, wanted), request.left_to)
                subject.notes.append("%s: %s, wanted %s, which is left to %s" % ((subject.title(knob.item),) + texts))

    def follow(self, subject):
        if not isinstance(subject, ProfileSubject):
            return
        subject.conflicts = self.values.overruled(subject)
        next_start = self.values.next_start(subject, subject.planned())
        subject.lacks = self._lacks(subject)
        changing = {knob.key for knob in subject.at(STORED) if not self.same(knob, knob.now, knob.wanted)}
        for knob in subject.at(RUNNING):
            value = next_start.get(knob.item)
            if isinstance(knob, WorkProcesses):
                value = subject.wanted_scheduling(knob)
            # a removed parameter gets the kernel's default, which is unknown until the profile is written; if it stays
            # unknown, the running value counts as right
            knob.wanted = knob.now if value is None and knob.family not in changing else value
            named = title(knob.instance) in self.params["restart"]
            # if a prerequisite is missing, a restart does not help, and every run would repeat it
            knob.due = named and not (isinstance(knob, WorkProcesses) and subject.lacks)
        subject.unproved = self._unproved(subject)
        subject.remarks = self._remarks(subject)

    def _unproved(self, subject):
        """A sentence for each instance whose running values are not proved to be the wanted ones."""
        knobs = [knob for knob in subject.at(RUNNING) if knob.now == UNPROVED]
        names = {title(knob.instance) for knob in knobs if not self.same(knob, knob.now, knob.wanted)}
        sentence = (
            "%s started before the last change of its profiles, and its sapstartsrv later than %s: sapcontrol shows "
            "what sapstartsrv has read, which does not prove the values of %s"
        )
        return [sentence % (name, name, name) for name in sorted(names)]

    def boot(self, subject, stored):
        if isinstance(subject, LimitFile):
            return {item: shown_limit(text) for item, text in stored.items() if text is not None}, []
        lost = ["%s, line %s, %s" % (one["file"], one["line"], one["effect"]) for one in subject.conflicts]
        return self.values.next_start(subject, stored), lost if subject.is_default else []

    # remarks

    def _remarks(self, subject):
        found = list(self._remarked.get(subject.name, ()))
        for name, numbers in sorted(subject.profile.duplicates().items()):
            first = ", ".join(str(number) for number in numbers[:-1])
            found.append("%s stands in lines %s and %d; the last one counts" % (name, first, numbers[-1]))
        if self.linux and self._usable.get(subject.name, {}).get(memory.IMPLEMENTATION) == "map":
            found += memory.remarks(self.host)
        for name in [name for name, count in self._updaters(subject).items() if count is None]:
            found.append("no profile of %s sets %s, which its own updates need: 1 or more" % (name, _UPDATERS))
        if not subject.readers:
            found.append("no instance of this host reads this profile")
        if subject.scheduling:
            found += realtime.remarks(self.host)
            found.append(
                "published are 6 % less elapsed time on 64 IFLs, and a loss on 128, both with rdisp/linux/os_priority "
                "99: measure it here"
            )
            for instance in subject.scheduled():
                found += realtime.waiting(self.host, instance, subject.scheduling.get(realtime.PRIORITY))
        return found + subject.unknown + (subject.unproved if self.restoring else [])

    def _lacks(self, subject):
        priority, found = subject.scheduling.get(realtime.PRIORITY), []
        for instance in subject.scheduled():
            found += realtime.prerequisites(self.host, instance, priority, self._is_to_be_allowed(instance))
        return found

    def _is_to_be_allowed(self, instance):
        """Whether this call will write the limit of the instance's unit."""
        if not self.params.get("manage_rtprio") or not instance.unit:
            return False
        path = drop_in(instance)
        return self.host.read(path) != limit_text(path, self._priorities.get(path, HIGHEST))

    def lacking(self, subject):
        return subject.lacks + subject.unproved

    def extra_results(self):
        readers = {title(one): one for path in self._asked for one in self.users.of(path)}
        return {
            "instances": [
                {"sid": one.sid, "name": one.name, "number": one.number, "user": one.user, "unit": one.unit}
                for dummy, one in sorted(readers.items())
            ]
        }

    # act

    def steps(self, subject, knobs):
        if knobs[0].place == STORED:
            return [knobs]
        found = {}
        for knob in knobs:
            found.setdefault(title(knob.instance), []).append(knob)
        return list(found.values())

    def set_together(self, subject, knobs):
        if knobs[0].place == RUNNING:
            self.restarts.restart(knobs[0].instance, undo=all(knob.wanted == knob.now for knob in knobs))
            return
        if isinstance(subject, LimitFile):
            put(self.host, knobs[0])
            return
        self.store(subject, {knob.item: knob.wanted for knob in knobs}, subject.readers)
        subject.kernel_values = {}

    # texts

    def same(self, knob, one, other):
        if knob.place == RUNNING:
            # sappfpar prints an empty line for a parameter that sapcontrol does not know
            return (one or None) == (other or None)
        return value_of(one) == value_of(other) if isinstance(knob, StoredParameter) else one == other

    def show(self, knob, text):
        if text is None:
            return "absent"
        if knob.place == RUNNING and text == UNPROVED:
            return "an unproved value"
        return self.value(knob, text) or "empty"

    def value(self, knob, text):
        if knob.place == RUNNING:
            return text
        return shown(value_of(text)) if isinstance(knob, StoredParameter) else shown_limit(text)
