# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base classes of tunings whose knobs are sysctls or files in /sys."""

import errno
import functools
import re
from abc import abstractmethod

from .._engine.tuning import RUNNING, STORED, Knob, Subject, Tuning, UnsupportedError, explained
from .._host import kernel
from .._host.drop_ins import one_line
from .._host.host import HostError
from .._machine.other_settings import SystemKnob, at_boot, of_system

_ERRORS = {
    errno.EROFS: "/proc and /sys are read-only here, as in a container: set it on the machine whose kernel it is",
    errno.EBUSY: "the machine refuses it now; run again, and see dmesg if it refuses again",
    errno.ENOENT: "the file vanished meanwhile",
    errno.EINVAL: "the kernel does not take this value",
    errno.ERANGE: "the kernel does not take this value",
}


def sysctl_path(name):
    return "/proc/sys/" + name.replace(".", "/")


def sysctl_knob(name, own, prefix=""):
    """The SystemKnob of a sysctl with numbers; own: the file in which this collection stores it."""
    path, dotted = sysctl_path(name), re.escape(name).replace(r"\.", "[./]")
    numbers = r"(-?(?:0x[0-9a-fA-F]+|[0-9]+)\b(?:[ \t]+[0-9]+\b)*)"
    line = r"""echo\s+["']?%s["']?\s*>\s*%s\b|\b%s\b(?:\s*[=:]\s*["']?%s)?"""
    return SystemKnob(name, path, re.compile(line % (numbers, path, dotted, numbers)), own, prefix)


def stored_line(name, path, value):
    """The line of sysctl.d that gives a sysctl a value, or that of tmpfiles.d for another file of the kernel."""
    line = "%s = %s" % (name, value) if path.startswith("/proc/sys/") else "w %s - - - - %s" % (path, value)
    return one_line(line, no="\"'\\%")


class KernelTuning(Tuning):
    """A Tuning whose running knobs are sysctls or files in /sys, and whose stored ones are blocks of drop-in files.

    words: the names of the kernel's "0" and "1". files: {item of a stored knob: (DropIn, block)}; an item with its
    block's name shares the file with others. defaults: {item: the kernel's own value at boot}, as far as it is known.
    """

    words = ("0", "1")
    defaults = {}

    def __init__(self, host, params, files):
        super().__init__(host, params)
        self.files = files
        self.drop_ins = tuple(dict.fromkeys(drop_in for drop_in, block in files.values()))

    def stored_knobs(self, items=None):
        """The stored knobs, or only those of these items."""
        found = []
        for item in self.files if items is None else items:
            drop_in, block = self.files[item]
            key = "%s %s" % (drop_in.path, item) if item == block else drop_in.path
            found.append(Knob(key, STORED, item, key, drop_in.block(block)))
        return found

    def lacks(self, paths):
        """A sentence about the knobs of {item: path} that the kernel does not have; empty if it has all."""
        names = [item for item, path in paths.items() if not self.host.exists(path)]
        release = kernel.release(self.host) or "of this host" if names else ""
        return "the kernel %s has no %s" % (release, ", ".join(names)) if names else ""

    def word(self, text):
        """The word for a value of the kernel or of a user, such as vertical for 1; other texts stay the same."""
        return {"0": self.words[0], "1": self.words[1]}.get(text, text)

    def others(self, knob):
        """Other settings of a SystemKnob, with their values in the words of this tuning."""
        return [dict(other, value=self.word(other["value"])) for other in of_system(self.once, knob)]

    def default(self, item):
        """The kernel's own value of an item at boot; None if it is not known."""
        return self.defaults.get(item)

    def alike(self, item, one, other):
        """Whether two values of an item at boot are the same; one: the last one that is set."""
        return one == other

    def boot_value(self, subject, item, text):
        """(value of an item after the next boot or None, [why it differs from the text of its stored knob])."""
        others = [other for other in subject.conflicts if other.get("item", item) == item]
        stored = self.value(None, text) if text else None
        alike = functools.partial(self.alike, item)
        value, lost = at_boot(subject.name, item, stored, others, alike, self.default(item))
        return self.default(item) if value is None else value, lost

    def boots(self, subject, stored):
        """As boot(). stored: {item: text of its stored knob}."""
        values, lost = {}, []
        for item, text in stored.items():
            value, why = self.boot_value(subject, item, text)
            if value is not None:
                values[item] = value
            lost += why
        return values, lost

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
        return text.split()[-1] if text.startswith("w ") else text.split("=")[-1].strip()


class SystemTuning(KernelTuning):
    """A KernelTuning with one subject.

    subject: its name. paths: {item: file of the kernel} of all running knobs. wanted: {item: value} of the request;
    other knobs of paths are of interest on the way back only.
    """

    subject = ""
    paths = {}
    wanted = {}
    _conflicts = None

    def select(self):
        return [self.observe(self.subject)]

    def selects(self, name):
        return name == self.subject

    @abstractmethod
    def refusal(self):
        """(verdict, reason) if nothing can be set on this machine, else (None, "")."""

    def running_knobs(self):
        """The running knobs of a machine that does not refuse."""
        there = [(item, path) for item, path in self.paths.items() if self.host.exists(path)]
        return [Knob(path, RUNNING, item, path, self.host.value(path)) for item, path in there]

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

    def needless(self, subject, knob, item, value):
        """Whether a value needs no stored knob: the kernel starts with it, and nothing on the host sets another."""
        return knob.now is None and self.default(item) == value and not self.contradicted(subject, item, value)

    @staticmethod
    def contradicted(subject, item, value):
        """Whether something on the host sets an item to another value."""
        others = [other for other in subject.conflicts if other.get("item", item) == item]
        return any(other["value"] not in (None, value) for other in others)
