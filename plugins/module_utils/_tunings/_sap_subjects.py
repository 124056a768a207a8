# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subjects and knobs of profiles: parameters in a profile, parameters in an instance, and its work processes."""

from .._engine.tuning import RUNNING, STORED, Knob, Subject
from .._sap import realtime
from .._sap.profile import Profile

# the running value where what sapcontrol says proves nothing
UNPROVED = "not proved"


def title(instance):
    """An instance as the option restart names it: PRD_00."""
    return "%s_%s" % (instance.sid, instance.number)


class StoredParameter(Knob):
    """A parameter in a profile; now and wanted are journal texts of Profile."""

    def __init__(self, path, parameter, text):
        key = "%s %s" % (path, parameter)
        super().__init__(key, STORED, parameter, key, text)
        self.parameter = parameter


class RunningParameter(Knob):
    """A parameter in a running instance."""

    def __init__(self, path, parameter, item, instance, value):
        family = "%s %s" % (path, parameter)
        super().__init__("%s %s" % (family, title(instance)), RUNNING, item, family, value, follows=True)
        self.instance = instance


class WorkProcesses(RunningParameter):
    """How the work processes of a running instance are scheduled: what a real-time scheduler is proved by."""

    def __init__(self, path, item, instance, processes):
        super().__init__(path, "work processes", item, instance, realtime.summary(processes))
        self.processes = processes


class ProfileSubject(Subject):
    """A profile as it was read, and the instances of this host that read it.

    told: {instance: what sappfpar says of it}; unknown: sentences on what could not be asked; lacks: sentences on what
    the machine lacks for the wanted values; unproved: sentences on instances whose running values are not proved.
    """

    def __init__(self, path, data, readers, is_default):
        super().__init__(path)
        self.profile = Profile(data)
        self.readers = readers
        self.is_default = is_default
        self.unknown, self.lacks, self.unproved = [], [], []
        self.told = {}

    def not_known(self, what, instance, error):
        self.tell("what %s %s with is not known (%s)" % (title(instance), what, error))

    def tell(self, sentence):
        if sentence not in self.unknown:
            self.unknown.append(sentence)

    def item(self, parameter, instance):
        """A parameter of one reader in tables; a default profile has several."""
        return "%s %s" % (instance.name, parameter) if self.is_default else parameter

    def planned(self):
        """{parameter: journal text} as it is to be."""
        return {knob.parameter: knob.wanted for knob in self.at(STORED)}
