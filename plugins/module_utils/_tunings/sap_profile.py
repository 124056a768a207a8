# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parameters in SAP profiles. A subject is a profile; its running values are those of the instances that read it.

Running is what sapcontrol says of an instance, as far as start times prove it, stored is the profile, and next start is
what the SAP kernel reads in it (sappfpar), or where that is missing: instance profile before default profile.

With manage_rtprio each file that allows real-time priorities is a subject too.
"""

import platform
import posixpath
import re
import time

from .._engine.tuning import RUNNING, STORED, InputError, Subject, Tuning
from .._host.drop_ins import DropIn
from .._host.host import HostError
from .._machine.other_settings import Setting, conflict
from .._sap import instances, parameters, realtime, start_times
from .._sap.profile import Profile, legible, marker, shown, value_of
from .._sap.restart import restart
from .._sap.sapcontrol import SapControl, SapPfPar
from .._sap.writing import clean, leftovers, write
from ._sap_limits import (
    LimitFile,
    drop_in,
    is_limit_file,
    limit_files,
    limit_text,
    marked,
    put,
    shown_limit,
)
from ._sap_requests import Users, paths, requests, target
from ._sap_subjects import (
    UNPROVED,
    ProfileSubject,
    RunningParameter,
    StoredParameter,
    WorkProcesses,
    title,
)


class SapProfile(Tuning):
    """SAP profiles of one host. params: the module's, see plugins/modules/sap_profile.py."""

    name = "sap_profile"
    restart = "instance"
    sources = (
        "Performance Evaluation of SAP Application Servers on Z (IBM, v1.02, 2018-07-16), 5.7",
        "SAP CRM 7.0 on IBM Z (IBM, v1.00, 2019-03-01), 2.2.3",
        "Performance & Scalability of Virtualized SAP Servers on RHEL (Red Hat, March 2008), 6.2",
        "SMC-R on AIX for SAP, Experience report (IBM, v1.0, 2019-01-14)",
    )

    def __init__(self, host, params):
        self.host = host
        self.params = params
        self.linux = platform.system() != "AIX"
        self.restoring = params["state"] == "restored"
        self.known = instances.instances(host)
        self.users = Users(host, self.known)
        paths_of_limits = {path for one in self.known for path in limit_files(host, one)}
        self.drop_ins = tuple(DropIn(host, path, "") for path in sorted(paths_of_limits))
        self._asked = {}
        self._usable = {}
        self._remarked = {}
        self._meant = set()
        self._restarted, self._failed = set(), []
        odd = [name for name in params["restart"] if not re.match(r"^[A-Z][A-Z0-9]{2}_[0-9]{2}\Z", name)]
        if odd:
            raise InputError("restart: '%s' names no instance; write system and number, such as PRD_00" % odd[0])
        if params["restart_timeout"] < 1:
            raise InputError(
                "restart_timeout: %d is out of range, give a stop and a start at least a second"
                % params["restart_timeout"]
            )
        if not (params.get("change") or "").isprintable():
            raise InputError("change: %r goes into a comment of the profile, give printable text" % params["change"])
        if self.restoring and any(params.get(key) for key in ("profile", "sid", "profiles")):
            self._meant = {
                self.host.real(path) for request in requests(params) for path in paths(host, request, self.known)
            }
            readers = [one for path in self._meant for one in self.users.of(path)]
            self._meant.update(path for one in readers for path in limit_files(host, one))

    @classmethod
    def unattended(cls, params):
        # users are on the instances, and an instance that is asked for may be gone by then
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
        """The files for all instances that are to run under a real-time scheduler, where this call manages them."""
        if not self.params.get("manage_rtprio"):
            return []
        asking = [subject for subject in subjects if isinstance(subject, ProfileSubject)]
        readers = [one for subject in asking for one in self._scheduled(subject)]
        found = {path for one in readers for path in limit_files(self.host, one)}
        return [LimitFile(self.host, path) for path in sorted(found)]

    def marked(self):
        return marked(self.host)

    def _ask(self, path, request):
        if path in self._asked:
            raise InputError("%s is asked for twice: put its parameters into one entry" % path)
        self._asked[path] = request
        profile = self._read(path)
        current = {name: shown(profile.value(name)) for name in profile.names()}
        usable, self._remarked[path] = parameters.check(request.parameters, self.linux, current)
        self._usable[path] = usable
        if not usable:
            return Subject(path, verdict="not_applicable", reason="; ".join(self._remarked[path]))
        return self.observe(path)

    def littered(self):
        return super().littered() or any(leftovers(self.host, folder) for folder in self._folders())

    def clean(self):
        super().clean()
        for folder in self._folders():
            if leftovers(self.host, folder):
                clean(self.host, folder)

    def _folders(self):
        """The folders of the profiles that this call knows of."""
        names = set(self._asked) | {key.split(" ")[0] for key in self.remembered}
        return sorted({posixpath.dirname(name) for name in names if not is_limit_file(name)})

    def legible(self, key, text):
        return is_limit_file(key) or legible(text)

    def selects(self, name):
        return not self._meant or name in self._meant

    def observe(self, name):
        if is_limit_file(name):
            return LimitFile(self.host, name)
        if self.restoring and self.params["force"] and not self.host.exists(name):
            return Subject(name)
        readers = self.users.of(name)
        subject = ProfileSubject(name, self._bytes(name), readers, self.users.is_default(name))
        asked = self._usable.get(name)
        if asked is None:
            asked = [key[len(name) + 1 :] for key in self.remembered if key.startswith(name + " ")]
        subject.knobs = [StoredParameter(name, parameter, subject.profile.text(parameter)) for parameter in asked]
        for instance in readers:
            subject.knobs += self._running(subject, instance, asked)
        return subject

    def _bytes(self, path):
        data = self.host.data(path, follow=False)
        if data is None:
            raise HostError("the profile %s is not there: is its file system mounted?" % path)
        return data

    def _read(self, path):
        return Profile(self._bytes(path))

    def _running(self, subject, instance, names):
        """The knobs of a reader that runs; why nothing is known of it goes to subject.unknown."""
        control, found, processes = SapControl(self.host, instance), [], []
        status = control.status()
        if status.state == "stopped":
            subject.tell("%s is stopped, and reads its profiles when it starts" % title(instance))
            return []
        if instance in self._scheduled(subject):
            processes = realtime.work_processes(self.host, instance.sid, instance.name)
        try:
            if status.state == "unknown":
                raise HostError(status.reason)
            started = start_times.instance_started(self.host, status.processes)
            values = self._in_force(subject, control, names, started, processes)
        except HostError as error:
            subject.not_known("runs", instance, error)
            return []
        for name in names:
            found.append(RunningParameter(subject.name, name, subject.item(name, instance), instance, values[name]))
        if processes:
            found.append(WorkProcesses(subject.name, subject.item("work processes", instance), instance, processes))
        return found

    def _in_force(self, subject, control, names, started, processes):
        """{parameter: value} with which an instance runs that was started then; see start_times."""
        instance, found = control.instance, {}
        texts = {name: subject.profile.text(name) for name in names}
        other = self._other(subject, instance)
        # this run has stopped it, restarted sapstartsrv, and started it again
        fresh = title(instance) in self._restarted and title(instance) not in self._failed
        for name in names:
            value = control.parameter(name)
            # a kernel may not know a parameter before it stands in a profile
            found[name] = None if value is None else value.strip()
            if fresh or (name in realtime.PARAMETERS and self._is_scheduled(subject, processes)):
                continue
            deciding = self._deciding(subject, instance, name, other)
            basis = start_times.basis(self.host, instance, started, deciding)
            if basis == start_times.UNPROVED:
                found[name] = UNPROVED
            elif basis == start_times.STORED:
                found[name] = self._starts_with(subject, instance, texts).get(name)
                subject.tell(
                    "%s has read its profiles since they changed, but its sapstartsrv has not, so sapcontrol shows "
                    "older values until RestartService" % title(instance)
                )
        return found

    def _deciding(self, subject, instance, name, other):
        """The profiles whose change may have changed a parameter: only its own if that sets it to plain text.

        other: the Profile that the instance reads beside that of the subject, or None.
        """
        path = self._other_path(subject, instance)
        own = other if subject.is_default else subject.profile
        value = own.value(name) if own else None
        if value is not None and "$(" not in value:
            return [path if subject.is_default else subject.name]
        return [one for one in (subject.name, path) if one]

    # plan

    def want(self, subject):
        if isinstance(subject, LimitFile):
            subject.want()
            return
        request, usable = self._asked[subject.name], self._usable[subject.name]
        subject.wanted = {"state": "present", "presets": list(request.presets), "parameters": usable}
        for knob in subject.at(STORED):
            wanted = subject.profile.wanted(knob.parameter, usable[knob.parameter])
            if not request.left_to:
                knob.wanted = wanted
            elif not self.same(knob, knob.now, wanted):
                texts = (self.show(knob, knob.now), self.show(knob, wanted), request.left_to)
                subject.notes.append("%s: %s, wanted %s, which is left to %s" % ((subject.title(knob.item),) + texts))

    def follow(self, subject):
        if not isinstance(subject, ProfileSubject):
            return
        subject.conflicts = self._overruled(subject)
        next_start = self._next_start(subject, subject.planned())
        subject.lacks = self._lacks(subject)
        changing = {knob.key for knob in subject.at(STORED) if not self.same(knob, knob.now, knob.wanted)}
        for knob in subject.at(RUNNING):
            value = next_start.get(knob.item)
            if isinstance(knob, WorkProcesses):
                value = self._to_be_scheduled(subject, knob)
            # what is taken out gives way to the kernel's default, which nothing tells before the profile is written;
            # where nothing tells it at all, the running value is as good as any
            knob.wanted = knob.now if value is None and knob.family not in changing else value
            named = title(knob.instance) in self.params["restart"]
            # a restart cannot help where more is missing, and would come again with every run
            knob.due = named and not (isinstance(knob, WorkProcesses) and subject.lacks)
        subject.unproved = self._unproved(subject)
        subject.remarks = self._remarks(subject)

    def _unproved(self, subject):
        """A sentence for each instance whose running values are not proved to be the wanted ones."""
        knobs = [knob for knob in subject.at(RUNNING) if knob.now == UNPROVED]
        names = {title(knob.instance) for knob in knobs if not self.same(knob, knob.now, knob.wanted)}
        sentence = (
            "%s started before the last change of its profiles, and its sapstartsrv later than %s: sapcontrol shows "
            "what sapstartsrv has read, which does not prove what %s runs with"
        )
        return [sentence % (name, name, name) for name in sorted(names)]

    def _is_scheduled(self, subject, processes):
        """Whether some of the work processes, in /proc, have the wanted scheduler and priority."""
        wanted = self._realtime(subject)
        return any(
            policy == wanted[realtime.SCHEDULER] and str(priority) == wanted.get(realtime.PRIORITY, str(priority))
            for dummy, policy, priority in processes
        )

    def _to_be_scheduled(self, subject, knob):
        """What the work processes are to be, None if some of them are; which of them SAP publishes nowhere."""
        wanted = self._realtime(subject)
        if any(policy == wanted[realtime.SCHEDULER] for dummy, policy, dummy2 in knob.processes):
            return None
        return "%s %s" % (wanted[realtime.SCHEDULER], wanted.get(realtime.PRIORITY) or "")

    def _next_start(self, subject, texts):
        """{item: value} that each reader starts with when the profile holds these journal texts."""
        found = {}
        for instance in subject.readers:
            values = self._starts_with(subject, instance, texts)
            for name in texts:
                if values.get(name) is not None:
                    found[subject.item(name, instance)] = values[name]
        if not subject.readers:
            found = {name: shown(value_of(text)) for name, text in texts.items() if text is not None}
        return found

    def _starts_with(self, subject, instance, texts):
        """{parameter: value} that one reader starts with when the profile holds these journal texts."""
        return self._kernel_says(subject, instance, texts) or self._by_precedence(subject, instance, texts)

    def _kernel_says(self, subject, instance, texts):
        """What sappfpar reads in the profile as it is; {} where it is to be another, or there is no sappfpar."""
        if any(value_of(text) != subject.profile.value(name) for name, text in texts.items()):
            return {}
        if instance not in subject.told:
            program, subject.told[instance] = SapPfPar(self.host, instance), {}
            try:
                if program.available():
                    subject.told[instance] = program.values(list(texts), instance.profile)
            except HostError as error:
                subject.not_known("starts", instance, error)
        return subject.told[instance]

    def _by_precedence(self, subject, instance, texts):
        """{parameter: value} by the order of the profiles, as it is written there, of those that one of them has."""
        other, found = self._other(subject, instance), {}
        for name, text in texts.items():
            both = [value_of(text), other.value(name) if other is not None else None]
            values = [value for value in (reversed(both) if subject.is_default else both) if value is not None]
            if values:
                found[name] = shown(values[0])
        return found

    def _other(self, subject, instance):
        """The other profile that a reader has: the default one beside its own, its own beside the default one."""
        path = self._other_path(subject, instance)
        return self._read(path) if path and self.host.exists(path) else None

    def _other_path(self, subject, instance):
        return self.host.real(instance.profile) if subject.is_default else self.users.default_of(subject.name)

    def _overruled(self, subject):
        """Where another profile sets the same parameters otherwise, as conflict()."""
        found = []
        for instance in subject.readers if subject.is_default else subject.readers[:1]:
            other = self._other(subject, instance)
            path = instance.profile if subject.is_default else self.users.default_of(subject.name)
            for name, text in subject.planned().items() if other else ():
                lines = other.active(name)
                if lines and text is not None and lines[-1].value != value_of(text):
                    value = shown(lines[-1].value)
                    what = "profile of %s" % title(instance) if subject.is_default else "default profile"
                    how = "wins over" if subject.is_default else "loses to"
                    effect = "sets %s to %s and %s %s" % (name, value or "nothing", how, subject.name)
                    setting = Setting(path, lines[-1].number, shown(lines[-1].raw), value)
                    found.append(conflict(what, setting, "yes" if subject.is_default else "no", effect=effect))
        return found

    def boot(self, subject, stored):
        if isinstance(subject, LimitFile):
            return {item: shown_limit(text) for item, text in stored.items() if text is not None}, []
        lost = ["%s, line %s, %s" % (one["file"], one["line"], one["effect"]) for one in subject.conflicts]
        return self._next_start(subject, stored), lost if subject.is_default else []

    # what is worth knowing

    def _remarks(self, subject):
        found = list(self._remarked.get(subject.name, ()))
        for name, numbers in sorted(subject.profile.duplicates().items()):
            first = ", ".join(str(number) for number in numbers[:-1])
            found.append("%s stands in lines %s and %d; the last one counts" % (name, first, numbers[-1]))
        if not subject.readers:
            found.append("no instance of this host reads this profile")
        if self._realtime(subject):
            found += realtime.remarks(self.host)
            found.append(
                "published are 6 % less elapsed time under SCHED_RR on 64 IFLs, and a loss on 128: measure it here"
            )
            for instance in self._scheduled(subject):
                found += realtime.waiting(self.host, instance, self._realtime(subject).get(realtime.PRIORITY))
        return found + subject.unknown + (subject.unproved if self.restoring else [])

    def _scheduled(self, subject):
        """The readers whose work processes are to run under a real-time scheduler; only ABAP instances have some."""
        return [one for one in subject.readers if self._realtime(subject) and one.role == "application_server"]

    def _realtime(self, subject):
        """The wanted {parameter: value} where they ask for a real-time scheduler, else {}."""
        usable = self._usable.get(subject.name, {})
        return usable if self.linux and realtime.wants_realtime(usable) else {}

    def _lacks(self, subject):
        priority, found = self._realtime(subject).get(realtime.PRIORITY), []
        for instance in self._scheduled(subject):
            found += realtime.prerequisites(self.host, instance, priority, self._is_to_be_allowed(instance))
        return found

    def _is_to_be_allowed(self, instance):
        """Whether this call gives the instance's unit its limit, which it does not have yet."""
        if not self.params.get("manage_rtprio") or not instance.unit:
            return False
        path = drop_in(instance)
        return self.host.read(path) != limit_text(path)

    def lacking(self, subject):
        return subject.lacks + subject.unproved

    def answer(self):
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
            self._restart(knobs)
            return
        if isinstance(subject, LimitFile):
            put(self.host, knobs[0])
            return
        comment = marker(time.strftime("%Y-%m-%d", time.gmtime()), self.params.get("change") or "")
        new = subject.profile.changed({knob.parameter: knob.wanted for knob in knobs}, comment)
        write(self.host, subject.name, subject.profile.data(), new.data(), self._checkers(subject))
        subject.profile, subject.told = new, {}

    def _checkers(self, subject):
        """A reader whose sappfpar can check the new profile; none where there is no SAP kernel."""
        return [one for one in subject.readers if SapPfPar(self.host, one).available()][:1]

    def _restart(self, knobs):
        instance = knobs[0].instance
        name = title(instance)
        if all(knob.wanted == knob.now for knob in knobs):
            if name not in self._restarted:
                return  # to be put back, but never stopped
        elif self._failed:
            raise HostError("%s was not restarted, because %s did not come back" % (name, self._failed[0]))
        elif name in self._restarted:
            return  # it came up with all that was stored, its other profile too
        self._restarted.add(name)
        try:
            restart(SapControl(self.host, instance), name, self.params["restart_timeout"])
        except HostError:
            self._failed.append(name)
            raise

    # texts

    def same(self, knob, one, other):
        if knob.place == RUNNING:
            # sappfpar prints an empty line for what sapcontrol does not know
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
