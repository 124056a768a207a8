# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subjects and knobs of profiles: parameters in a profile, parameters in an instance, and its work processes."""

from ..._engine.tuning import RUNNING, STORED, Knob, Subject
from ..._sap import realtime
from ..._sap.profile import Profile

# the running value if sapcontrol's answer does not prove it
UNPROVED = "not proved"


def title(instance):
    """An instance as the option restart names it: PRD_00."""
    return "%s_%s" % (instance.sid, instance.number)


class StoredParameter(Knob):
    """A parameter in a profile; now and wanted are journal texts of Profile."""

    def __init__(self, path, parameter, text):
        key = "%s %s" % (path, parameter)
        super().__init__(key, STORED, parameter, key, text)


class RunningParameter(Knob):
    """A parameter in a running instance."""

    def __init__(self, path, parameter, item, instance, value):
        family = "%s %s" % (path, parameter)
        super().__init__("%s %s" % (family, title(instance)), RUNNING, item, family, value, follows=True)
        self.instance = instance


class WorkProcesses(RunningParameter):
    """The scheduling of a running instance's work processes, which proves a real-time scheduler."""

    def __init__(self, path, item, instance, processes):
        super().__init__(path, "work processes", item, instance, realtime.summary(processes))
        self.processes = processes


class ProfileSubject(Subject):
    """A profile as it was read, and the instances of this host that read it.

    scheduling: the wanted {parameter: value} if they ask for a real-time scheduler, else {}. kernel_values: {instance:
    values that sappfpar reads}. Sentences: unknown, on values that could not be read; lacks, on prerequisites that the
    machine lacks; unproved, on instances whose running values are not proved.
    """

    def __init__(self, path, data, readers, is_default, scheduling):
        super().__init__(path)
        self.scheduling = scheduling
        self.profile = Profile(data)
        self.readers = readers
        self.is_default = is_default
        self.unknown, self.lacks, self.unproved = [], [], []
        self.kernel_values = {}

    def not_known(self, what, instance, error):
        """Tell once that something of an instance is unknown, and why."""
        self.tell("what %s %s with is not known (%s)" % (title(instance), what, error))

    def tell(self, sentence):
        if sentence not in self.unknown:
            self.unknown.append(sentence)

    def item(self, parameter, instance):
        """A parameter of one reader in tables; a default profile has several."""
        return "%s %s" % (instance.name, parameter) if self.is_default else parameter

    def planned(self):
        """{parameter: wanted journal text}."""
        return {knob.item: knob.wanted for knob in self.at(STORED)}

    def scheduled(self):
        """The readers whose work processes are to run under a real-time scheduler; only ABAP instances have some."""
        return [one for one in self.readers if self.scheduling and one.role == "application_server"]

    def runs_scheduled(self, processes):
        """Whether some of the work processes, in /proc, have the wanted scheduler and priority."""
        return any(
            policy == self.scheduling[realtime.SCHEDULER]
            and str(priority) == self.scheduling.get(realtime.PRIORITY, str(priority))
            for dummy, policy, priority in processes
        )

    def wanted_scheduling(self, knob):
        """The wanted value of WorkProcesses, None if some of them have it; SAP does not publish which of them do."""
        if any(policy == self.scheduling[realtime.SCHEDULER] for dummy, policy, dummy2 in knob.processes):
            return None
        return "%s %s" % (self.scheduling[realtime.SCHEDULER], self.scheduling.get(realtime.PRIORITY) or "")
