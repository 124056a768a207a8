# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The values of profile parameters: those with which instances run, and those with which they will start.

Running values are those of sapcontrol, as far as start times prove them. The next start has the values that the SAP
kernel reads in the profile (sappfpar); without sappfpar an instance profile wins over the default profile.
"""

from ..._host.host import HostError
from ..._machine.other_settings import Setting, conflict
from ..._sap import realtime, start_times
from ..._sap.profile import Profile, shown, value_of
from ..._sap.sapcontrol import SapControl, SapPfPar
from .subjects import UNPROVED, RunningParameter, WorkProcesses, title


def read_profile(host, path):
    """The bytes of a profile. Raises HostError if it is missing."""
    data = host.data(path, follow=False)
    if data is None:
        raise HostError("the profile %s is not there: is its file system mounted?" % path)
    return data


class Values:
    """The values of one host. users: which instances read which profile."""

    def __init__(self, host, users):
        self.host = host
        self.users = users

    def running_knobs(self, subject, instance, names, restarted):
        """The knobs of a running reader; if its values are unknown, the reason goes to subject.unknown.

        restarted: whether this run has restarted the instance.
        """
        control, processes = SapControl(self.host, instance), []
        status = control.status()
        if status.state == "stopped":
            subject.tell("%s is stopped, and reads its profiles when it starts" % title(instance))
            return []
        if instance in subject.scheduled():
            processes = realtime.work_processes(self.host, instance.sid, instance.name)
        try:
            if status.state == "unknown":
                raise HostError(status.reason)
            started = start_times.instance_started(self.host, status.processes)
            values = self._in_force(subject, control, names, started, restarted, processes)
        except HostError as error:
            subject.not_known("runs", instance, error)
            return []
        items = [(name, subject.item(name, instance)) for name in names]
        found = [RunningParameter(subject.name, name, item, instance, values[name]) for name, item in items]
        item = subject.item("work processes", instance)
        return found + ([WorkProcesses(subject.name, item, instance, processes)] if processes else [])

    def _in_force(self, subject, control, names, started, restarted, processes):
        """{parameter: value} with which an instance runs that started then; see start_times."""
        instance, found = control.instance, {}
        texts = {name: subject.profile.text(name) for name in names}
        other = self._other(subject, instance)
        for name in names:
            value = control.parameter(name)
            # a kernel may not know a parameter before it is in a profile
            found[name] = None if value is None else value.strip()
            # this run has stopped it, restarted sapstartsrv, and started it again
            if restarted or (name in realtime.PARAMETERS and subject.runs_scheduled(processes)):
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

    def next_start(self, subject, texts):
        """{item: value} with which each reader starts when the profile has these journal texts."""
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
        """{parameter: value} with which one reader starts when the profile has these journal texts."""
        return self._kernel_values(subject, instance, texts) or self._by_precedence(subject, instance, texts)

    def _kernel_values(self, subject, instance, texts):
        """The values that sappfpar reads in the present profile; {} for other texts, or if there is no sappfpar."""
        if any(value_of(text) != subject.profile.value(name) for name, text in texts.items()):
            return {}
        if instance not in subject.kernel_values:
            program, subject.kernel_values[instance] = SapPfPar(self.host, instance), {}
            try:
                if program.available():
                    subject.kernel_values[instance] = program.values(list(texts), instance.profile)
            except HostError as error:
                subject.not_known("starts", instance, error)
        return subject.kernel_values[instance]

    def of_kernel(self, instance, name):
        """The value that sappfpar reads in the present profile of an instance, None if it prints none."""
        program = SapPfPar(self.host, instance)
        try:
            return program.values([name], instance.profile)[name] or None if program.available() else None
        except HostError:
            return None

    def _by_precedence(self, subject, instance, texts):
        """{parameter: value} of those that a profile sets, as written there; an instance profile wins."""
        other, found = self._other(subject, instance), {}
        for name, text in texts.items():
            both = [value_of(text), other.value(name) if other is not None else None]
            values = [value for value in (reversed(both) if subject.is_default else both) if value is not None]
            if values:
                found[name] = shown(values[0])
        return found

    def _other(self, subject, instance):
        """The other profile of a reader: for its own profile the default one, and the reverse."""
        path = self._other_path(subject, instance)
        return Profile(read_profile(self.host, path)) if path and self.host.exists(path) else None

    def _other_path(self, subject, instance):
        return self.host.real(instance.profile) if subject.is_default else self.users.default_of(subject.name)

    def overruled(self, subject):
        """Where another profile sets the same parameters to other values, as conflict()."""
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
