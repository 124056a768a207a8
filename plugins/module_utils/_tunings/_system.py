# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base classes of tunings whose knobs are sysctls or files in /sys."""

import errno
import operator
import re
from abc import abstractmethod

from .._engine.tuning import STORED, Knob, Subject, Tuning, UnsupportedError, explained
from .._host.host import HostError
from .._machine.other_settings import Once, SystemKnob, at_boot, of_system

_ERRORS = {
    errno.EROFS: "/proc and /sys are read-only here, as in a container: set it on the machine whose kernel it is",
    errno.EBUSY: "the machine refuses it now; run again, and see dmesg if it refuses again",
    errno.ENOENT: "the file vanished meanwhile",
    errno.EINVAL: "the kernel does not take this value",
    errno.ERANGE: "the kernel does not take this value",
}


def sysctl_path(name):
    return "/proc/sys/" + name.replace(".", "/")


def sysctl_knob(name, own):
    """The SystemKnob of a sysctl with a number; own: the file in which this collection stores it."""
    path, dotted = sysctl_path(name), re.escape(name).replace(r"\.", "[./]")
    pattern = r"""echo\s+["']?(-?\d+)["']?\s*>\s*%s\b|%s\b(?:\s*[=:]\s*["']?(-?\d+)\b)?""" % (path, dotted)
    return SystemKnob(name, path, re.compile(pattern), own)


class KernelTuning(Tuning):
    """A Tuning whose running knobs are sysctls or files in /sys, and whose stored ones are blocks of drop-in files.

    words: the names of the kernel's "0" and "1". files: {item of a stored knob: (DropIn, block)}; an item with its
    block's name shares the file with others.
    """

    words = ("0", "1")

    def __init__(self, host, params, files):
        self.host = host
        self.params = params
        self.files = files
        self.drop_ins = tuple(dict.fromkeys(drop_in for drop_in, block in files.values()))
        # files can be taken back on every machine: this one may have been moved to z/VM since
        self.restoring = params["state"] == "restored"
        # for the search for other settings
        self.once = Once(host)

    def stored_knobs(self, items=None):
        """The stored knobs, or only those of these items."""
        found = []
        for item in self.files if items is None else items:
            drop_in, block = self.files[item]
            key = "%s %s" % (drop_in.path, item) if item == block else drop_in.path
            found.append(Knob(key, STORED, item, key, drop_in.block(block)))
        return found

    def word(self, text):
        """The word for a value of the kernel or of a user, such as vertical for 1; other texts stay the same."""
        return {"0": self.words[0], "1": self.words[1]}.get(text, text)

    def others(self, knob):
        """Other settings of a SystemKnob, with their values in the words of this tuning."""
        return [dict(other, value=self.word(other["value"])) for other in of_system(self.once, knob)]

    def set(self, subject, knob):
        if knob.place == STORED:
            drop_in, block = self.files[knob.item]
            drop_in.put(block, knob.wanted)
        else:
            self.set_running(knob)

    def set_running(self, knob):
        """Give a running knob its wanted value."""
        self.write(knob.key, knob.wanted)

    def write(self, path, value, unsupported=""):
        """Write a value for the kernel. unsupported: the reason if the kernel answers EOPNOTSUPP. Raises HostError."""
        try:
            self.host.put(path, value)
        except HostError as error:
            if error.errno == errno.EOPNOTSUPP and unsupported:
                raise UnsupportedError(unsupported, error.errno) from error
            raise explained(error, _ERRORS) from error

    def value(self, knob, text):
        return text.split("=")[-1].strip()

    def show(self, knob, text):
        return "absent" if text is None else self.value(knob, text)


class SystemTuning(KernelTuning):
    """A KernelTuning with one subject; subject: its name."""

    subject = ""

    def __init__(self, host, params, files):
        super().__init__(host, params, files)
        self._conflicts = None

    def select(self):
        return [self.observe(self.subject)]

    def selects(self, name):
        return name == self.subject

    @abstractmethod
    def refusal(self):
        """(verdict, reason) if nothing can be set on this machine, else (None, "")."""

    @abstractmethod
    def running_knobs(self):
        """The running knobs of a machine that does not refuse."""

    def remark(self, subject):  # noqa: B027  (most tunings have nothing to remark)
        """Add remarks and notes to a subject of a machine that does not refuse."""

    def observe(self, name):
        verdict, reason = self.refusal()
        if verdict is not None and not self.restoring:
            return Subject(self.subject, verdict=verdict, reason=reason)
        if self._conflicts is None:
            self._conflicts = self.find_conflicts()
        running = [] if verdict else self.running_knobs()
        subject = Subject(self.subject, running + self.stored_knobs(), conflicts=self._conflicts)
        if verdict is None:
            self.remark(subject)
        return subject

    def marked(self):
        return [(self.subject, knob) for knob in self.stored_knobs() if knob.now is not None]

    @abstractmethod
    def find_conflicts(self):
        """Other settings of the knob, as conflict(). Reads many files, so it is called only once."""

    @staticmethod
    def needless(subject, knob, value, default):
        """Whether value needs no stored knob: the kernel starts with it, and nothing on the host sets another."""
        others = [other for other in subject.conflicts if other["value"] not in (None, value)]
        return knob.now is None and not others and default == value

    def boots(self, subject, text, default, same=operator.eq):
        """As boot() for one knob; text: of the stored knob, default: the kernel's value, None if unknown."""
        stored = self.value(None, text) if text else None
        value, lost = at_boot(subject.name, subject.name, stored, subject.conflicts, same)
        value = default if value is None else value
        return {} if value is None else {subject.name: value}, lost
