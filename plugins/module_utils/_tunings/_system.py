# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tunings have in common whose knob the whole system has once, a sysctl or a file in /sys."""

import errno
import operator
from abc import abstractmethod

from .._engine.tuning import Tuning, UnsupportedError, explained
from .._machine.other_settings import at_boot, of_system

_ERRORS = {
    errno.EROFS: "/proc and /sys are read-only here, as in a container: set it on the machine whose kernel it is",
    errno.EBUSY: "the machine refuses it now; run again, and see dmesg where it stays so",
    errno.ENOENT: "the file vanished meanwhile",
    errno.EINVAL: "the kernel does not take this value",
}


class SystemTuning(Tuning):
    """A Tuning with one subject. subject: its name. words: what the kernel's "0" and "1" are called."""

    subject = ""
    words = ("0", "1")

    def __init__(self, host, params):
        self.host = host
        self.params = params
        # a machine that has become another one, moved to z/VM for example, still has the files to be taken back
        self.restoring = params["state"] == "restored"
        self._found = None

    def select(self):
        return [self.observe(self.subject)]

    def selects(self, name):
        return name == self.subject

    def word(self, text):
        """What a kernel's or a person's value is called here: "1" is "vertical"; anything else stays as it is."""
        return {"0": self.words[0], "1": self.words[1]}.get(text, text)

    @abstractmethod
    def find_conflicts(self):
        """Who else would set the knob, as conflict()."""

    def conflicts(self):
        """As find_conflicts(), which reads many files: once, however often the knob is looked at."""
        if self._found is None:
            self._found = self.find_conflicts()
        return list(self._found)

    def others(self, knob):
        """Who else would set a SystemKnob, its values in the words of this tuning."""
        return [dict(other, value=self.word(other["value"])) for other in of_system(self.host, knob)]

    @staticmethod
    def needless(subject, knob, value, default):
        """Whether value needs no stored knob: the kernel starts with it, and nothing on the host sets another."""
        others = [other for other in subject.conflicts if other["value"] not in (None, value)]
        return knob.now is None and not others and default == value

    def boots(self, subject, stored, default):
        """As boot(): stored is the stored word or None, default what the kernel does by itself, None if not known."""
        value, lost = at_boot(subject.name, subject.name, stored, subject.conflicts, operator.eq)
        value = default if value is None else value
        return {} if value is None else {subject.name: value}, lost

    def refuse(self, error, unsupported=""):
        """Raise what a refused write means to a person. unsupported: why, where the kernel says EOPNOTSUPP."""
        if error.errno == errno.EOPNOTSUPP and unsupported:
            raise UnsupportedError(unsupported, error.errno) from error
        raise explained(error, _ERRORS) from error
