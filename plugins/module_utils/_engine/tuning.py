# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The life of a tuning, common to all: observe, plan, act, prove; and the way back.

A tuning (a class below _tunings/) says which subjects it is about, how their knobs are observed, what is wanted of them
and how one is set. Check mode, verify, apply and rollback are all Run.run() of _run.py, and
check mode only leaves out the acting.
"""

import contextlib
import errno
from abc import ABC, abstractmethod

from .._host.drop_ins import temporaries
from .._host.host import HostError

RUNNING = "running"
STORED = "stored"


class InputError(Exception):
    """What the user asked for cannot be: one sentence with what, where, and what would be right."""


class UnsupportedError(HostError):
    """The kernel says that this machine does not have what the knob sets: one sentence. No failure."""


_ROOT_ONLY = "the kernel allows it to root only: run with become: true"


def explained(error, meanings):
    """The HostError of a refused write with what it means to a person; meanings: {errno: text} of the knob's own."""
    common = {errno.EPERM: _ROOT_ONLY, errno.EACCES: _ROOT_ONLY}
    meaning = meanings.get(error.errno, common.get(error.errno, "the old value stands"))
    return HostError("%s: %s" % (error, meaning), error.errno)


class Knob:
    """One value of one subject, at one place (RUNNING or STORED).

    key: its name in the journal, unique on the host. item: its name in tables ("rx-0"). family: knobs of one family had
    the same first value where the journal does not know better (receive queues that came later). now and wanted are the
    kernel's or the file's own text, None if absent; a knob whose wanted equals now is left alone.

    follows: the knob shows what the stored ones were at the last restart of what Tuning.restart names; it is not in the
    journal. due: this run does that restart; a knob that follows and is not due makes its subject pending_restart.
    """

    def __init__(self, key, place, item, family, now, follows=False):
        self.key = key
        self.place = place
        self.item = item
        self.family = family
        self.now = now
        self.wanted = now
        self.follows = follows
        self.due = False


class Subject:
    """What one tuning record is about (an interface, the system): its knobs, and who else would set them.

    verdict (not_applicable, unsupported) and reason stand where there are no knobs to speak of. notes make it drifted,
    one sentence each; remarks are worth knowing although nothing is wrong. restart: where it differs from
    Tuning.restart.

    identity: what it is known by when it gets another name, None if its name is all there is. gone: on the way back, a
    sentence that it is not there any more, so that the journal keeps what could not be taken back.
    """

    def __init__(self, name, knobs=(), verdict=None, reason="", conflicts=()):
        self.name = name
        self.knobs = list(knobs)
        self.verdict = verdict
        self.reason = reason
        self.conflicts = list(conflicts)
        self.wanted = {}
        self.notes = []
        self.remarks = []
        self.restart = None
        self.identity = None
        self.gone = ""

    def values(self):
        """{key: what the knob is now}."""
        return {knob.key: knob.now for knob in self.knobs}

    def title(self, *items):
        """The subject with some of its items, for sentences; a knob named like its subject stands for both."""
        return ", ".join(items) if items == (self.name,) else "%s %s" % (self.name, ", ".join(items))

    def at(self, place):
        """The knobs at RUNNING or STORED."""
        return [knob for knob in self.knobs if knob.place == place]


class Tuning(ABC):
    """What a file below _tunings/ provides, for one host and one request. Only set() and set_together() write.

    restart: what must be restarted for stored values to act: none, device, instance or reboot. remembered: on the way
    back, the journal's keys, for knobs that cannot be enumerated. drop_ins: the DropIn files in which it stores values.
    """

    name = ""
    sources = ()
    restart = "none"
    remembered = ()
    drop_ins = ()

    @classmethod
    def unattended(cls, params):
        """The parameters of a call with which the host takes back by itself what that call may have set."""
        return dict(params, state="restored", force=False)

    @abstractmethod
    def select(self):
        """The subjects that the request means, as they are now: [Subject]. Raises InputError."""

    @abstractmethod
    def selects(self, name):
        """Whether the request means the subject of this name, which may be gone by now."""

    @abstractmethod
    def observe(self, name):
        """One subject as it is now; without its running knobs where it is gone."""

    @abstractmethod
    def want(self, subject):
        """Plan: set wanted of the subject's knobs and of the subject itself. Reads and writes nothing."""

    def current(self, entries):
        """The journal's entries {key: entry} under the names that their subjects have now."""
        return entries

    def legible(self, key, text):
        """Whether a text of the journal, or None, can be a value of the knob with this key."""
        return True

    def marked(self):
        """[(subject name, Knob)] of all blocks that carry this collection's marks in drop-in files."""
        return []

    def littered(self):
        """Whether a killed run of this tuning left files behind, beside those that it was to replace."""
        return bool(self._temporaries())

    def clean(self):
        """Remove what killed runs left behind. Where that is refused it does no harm."""
        for path in self._temporaries():
            with contextlib.suppress(HostError):
                self.host.remove(path)

    def _temporaries(self):
        return [path for drop_in in self.drop_ins for path in temporaries(self.host, drop_in.path)]

    def follow(self, subject):  # noqa: B027  (most tunings have nothing that follows)
        """Plan: set wanted and due of the knobs that follow, once the others of the subject have their wanted value."""

    def set(self, subject, knob):
        """Give the knob its wanted value. Raises HostError, UnsupportedError."""
        raise NotImplementedError

    def steps(self, subject, knobs):
        """These knobs, all of one place, in the groups in which they are set: each wholly or not at all."""
        return [[knob] for knob in knobs]

    def set_together(self, subject, knobs):
        """Give the knobs of one step their wanted values. Raises HostError, UnsupportedError."""
        for knob in knobs:
            self.set(subject, knob)

    @abstractmethod
    def boot(self, subject, stored):
        """({item: value after the next boot}, [why it is not what is stored]), when stored is {item: text} then."""

    def lacking(self, subject):
        """What keeps values from acting although they are stored, one sentence each: it makes them pending_restart."""
        return []

    def answer(self):
        """What the module returns beside the tuning records: {key: value}."""
        return {}

    def same(self, knob, one, other):
        """Whether two texts of this knob mean the same."""
        return one == other

    def show(self, knob, text):
        """The text in the user's terms, for diff and reasons."""
        return "absent" if text is None else text

    def value(self, knob, text):
        """The text as the tuning record has it."""
        return text

    def explain(self, knob, now):
        """Why the machine shows now and not what was written; empty if nothing is known."""
        return ""
