# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tuning: its subjects and their knobs, and the methods that a class in _tunings/ provides.

Check mode, verify, apply and rollback are all Run.run() in run.py; check mode only leaves out the writes.
"""

import contextlib
import errno
from abc import ABC, abstractmethod

from .._host.drop_ins import temporaries
from .._host.host import HostError, Once

RUNNING = "running"
STORED = "stored"


class InputError(Exception):
    """A mistake in the request: one sentence with the option, the mistake and valid values."""


class UnsupportedError(HostError):
    """The kernel says that this machine does not support the knob: one sentence. Not a failure."""


_ROOT_ONLY = "the kernel allows it to root only: run with become: true"


def explained(error, meanings):
    """The HostError of a refused write with an explanation; meanings: {errno: explanation} for this knob."""
    common = {errno.EPERM: _ROOT_ONLY, errno.EACCES: _ROOT_ONLY}
    meaning = meanings.get(error.errno, common.get(error.errno, "the old value stands"))
    return HostError("%s: %s" % (error, meaning), error.errno)


class Knob:
    """One value of one subject, at one place (RUNNING or STORED).

    key: its name in the journal, unique on the host. item: its name in tables ("rx-0"). family: a knob that the journal
    does not know (a receive queue that came later) had the same first value as the others of its family. now, wanted:
    text of the kernel or the file, None if absent; a knob whose wanted equals now is left alone.

    follows: the knob shows the stored values at the last restart (see Tuning.restart); it is not in the journal. due:
    this run does that restart; a different knob that follows and is not due makes its subject pending_restart.
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
    """The subject of one tuning record (an interface, the system): its knobs, and conflicting settings.

    verdict (not_applicable, unsupported) and reason: of a subject without knobs. notes: sentences that make it drifted;
    remarks: useful sentences that leave the verdict alone. costs: remarks on what this run's own change brings about.
    restart: only if it differs from Tuning.restart.

    unknown: of a capture, {key of a knob: a sentence why it does not hold its value}; these are not judged.

    observed: values differ that this call only observes; reason names them.

    identity: stays the same when the subject is renamed, None if it has only its name. gone: on the way back, a
    sentence that the subject no longer exists, so the journal keeps the values that cannot be taken back.
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
        self.costs = []
        self.restart = None
        self.unknown = {}
        self.observed = False
        self.identity = None
        self.gone = ""

    def values(self):
        """{key: now} of all knobs."""
        return {knob.key: knob.now for knob in self.knobs}

    def title(self, *items):
        """The names of the subject and some of its items, for sentences; equal names are said once."""
        return ", ".join(items) if items == (self.name,) else "%s %s" % (self.name, ", ".join(items))

    def at(self, place):
        """The knobs at RUNNING or STORED."""
        return [knob for knob in self.knobs if knob.place == place]


class Tuning(ABC):
    """The base class of the files in _tunings/, for one host and one request. Only set() and set_together() write.

    restart: none, device, instance or reboot: after this, stored values act. remembered: on the way back, the journal's
    keys, for knobs that cannot be enumerated. drop_ins: the DropIn files in which it stores values. options: the
    argument spec of its module's own options. written: {key: (wanted text, its text now)} of knobs whose exact text is
    known only after set().
    """

    name = ""
    sources = ()
    options = {}
    restart = "none"
    remembered = ()
    drop_ins = ()
    written = {}

    def __init__(self, host, params):
        self.host = host
        self.params = params
        # caches what does not change during a run
        self.once = Once(host)
        # what was stored can be taken back on every machine: this one may have been moved since
        self.restoring = params["state"] == "restored"

    @classmethod
    def unattended(cls, params):
        """Parameters with which the host itself takes back the values of a call with these params."""
        return dict(params, state="restored", force=False)

    @abstractmethod
    def select(self):
        """The subjects of the request, as they are now: [Subject]. Raises InputError."""

    @abstractmethod
    def selects(self, name):
        """Whether the request means the subject of this name, which may no longer exist."""

    @abstractmethod
    def observe(self, name):
        """One subject as it is now; without running knobs if it no longer exists."""

    @abstractmethod
    def want(self, subject):
        """Plan: set wanted of the subject's knobs and of the subject itself. Reads and writes nothing."""

    def current(self, entries):
        """The journal's entries {key: entry}, with the current names of their subjects."""
        return entries

    def legible(self, key, text):
        """Whether a text of the journal, or None, can be a value of the knob with this key."""
        return True

    def marked(self):
        """[(subject name, Knob)] of all blocks with this collection's marks in drop-in files."""
        return []

    def littered(self):
        """Whether a killed run of this tuning left temporary files behind."""
        return bool(self._temporaries())

    def clean(self):
        """Remove files that killed runs left behind; a file that cannot be removed does no harm."""
        for path in self._temporaries():
            with contextlib.suppress(HostError):
                self.host.remove(path)

    def _temporaries(self):
        return [path for drop_in in self.drop_ins for path in temporaries(self.host, drop_in.path)]

    def follow(self, subject):  # noqa: B027  (most tunings have nothing that follows)
        """Plan: set wanted and due of the knobs that follow, after want()."""

    def permit(self, subject):  # noqa: B027  (most tunings do nothing that must not be done)
        """Raise HostError if what is planned for a subject must not be done; the run then leaves the subject alone."""

    def set(self, subject, knob):
        """Give the knob its wanted value. Raises HostError, UnsupportedError."""
        raise NotImplementedError

    def in_order(self, subjects, stored):
        """The subjects in the order in which their stored, or other, values are set."""
        return subjects

    def steps(self, subject, knobs):
        """These knobs, all of one place, in groups; each group is set completely or not at all."""
        return [[knob] for knob in knobs]

    def set_together(self, subject, knobs):
        """Give the knobs of one step their wanted values. Raises HostError, UnsupportedError."""
        for knob in knobs:
            self.set(subject, knob)

    @abstractmethod
    def boot(self, subject, stored):
        """({item: value after the next boot}, [why it differs from the stored value]); stored: {item: text} then."""

    def lacking(self, subject):
        """Reasons why stored values do not act, one sentence each: they make the subject pending_restart."""
        return []

    def extra_results(self):
        """More results of the module, beside the tuning records: {key: value}."""
        return {}

    def different(self, subject):
        """The knobs that do not have their wanted value."""
        return [knob for knob in subject.knobs if not self.same(knob, knob.now, knob.wanted)]

    def changes(self, subject):
        """The knobs that this run has to change."""
        return [knob for knob in self.different(subject) if knob.due or not knob.follows]

    def pending(self, subject):
        """The knobs that wait for a restart, or did not get their value from it."""
        return [knob for knob in self.different(subject) if knob.follows]

    def same(self, knob, one, other):
        """Whether two texts of this knob are the same value."""
        return one == other

    def halfway(self, knob, text, texts):
        """Whether a run that was killed on the way to one of these texts of the journal can have left this one."""
        return False

    def show(self, knob, text):
        """The text in the user's terms, for diff and reasons."""
        return "absent" if text is None else self.value(knob, text)

    def value(self, knob, text):
        """The text for the tuning record."""
        return text

    def explain(self, knob, now):
        """Why the machine shows now instead of the written value; empty if unknown."""
        return ""
