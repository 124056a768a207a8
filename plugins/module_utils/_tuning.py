# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The life of a tuning, common to all: observe, plan, act, prove; and the way back.

A tuning (a class below _tunings/) says which subjects it is about, how their knobs are observed, what is wanted of them
and how one is set. Check mode, verify, apply and rollback are all Run.run(); check mode only leaves out the acting.
"""

import errno
from abc import ABC, abstractmethod

from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import HostError

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
    kernel's or the file's own text, None where absent; a knob whose wanted equals now is left alone.
    """

    def __init__(self, key, place, item, family, now):
        self.key = key
        self.place = place
        self.item = item
        self.family = family
        self.now = now
        self.wanted = now


class Subject:
    """What one tuning record is about (an interface, the system): its knobs, and who else would set them.

    verdict (not_applicable, unsupported) and reason stand where there are no knobs to speak of. notes make it drifted,
    one sentence each; remarks are worth knowing although nothing is wrong.
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
    """What a file below _tunings/ provides, for one host and one request. Only set() writes."""

    name = ""
    sources = ()
    restart = "none"

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

    @abstractmethod
    def set(self, subject, knob):
        """Give the knob its wanted value. Raises HostError, UnsupportedError."""

    @abstractmethod
    def boot(self, subject, stored):
        """({item: value after the next boot}, [why it is not what is stored]), when stored is {item: text} then."""

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
        """Why the machine shows now and not what was written; empty where nothing is known."""
        return ""


class Run:
    """One call of a state module. state: present, off, or restored (back to the first values of the journal)."""

    def __init__(self, tuning, journal, state, check_mode=False, force=False):
        self.tuning = tuning
        self.journal = journal
        self.restoring = state == "restored"
        self.check_mode = check_mode
        self.force = force

    def run(self):
        """Returns {changed, failed, msg, tuning: [record], diff}. Raises InputError and HostError before any change."""
        subjects = self._plan()
        errors, changed = {}, any(self._changes(subject) for subject in subjects)
        after = subjects
        if not self.check_mode and (changed or self._settled(subjects)):
            self.journal.lock()
            try:
                subjects = self._plan()
                errors = self._act(subjects)
                after = [self._observe(subject.name) if subject.knobs else subject for subject in subjects]
                changed = any(self._moved(subject, then) for subject, then in zip(subjects, after))
                self._prove(subjects, after, errors)
                if self.restoring:
                    self.journal.forget(self._settled(after))
            finally:
                self.journal.close()
        if not subjects:
            subjects = after = [Subject("all", reason="nothing to take back: the journal is empty")]
        records = [self._record(subject, then, errors) for subject, then in zip(subjects, after)]
        return {
            "changed": changed,
            "failed": bool(errors),
            "msg": "; ".join(errors[name] for name in sorted(errors)) or summary(records),
            "tuning": records,
            "diff": self._diff(subjects, after, acted=not self.check_mode and changed),
        }

    def _plan(self):
        if not self.restoring:
            subjects = self.tuning.select()
            for subject in subjects:
                if subject.knobs:
                    self.tuning.want(subject)
            return subjects
        names = sorted({entry["subject"] for entry in self.journal.entries.values()})
        subjects = [self._observe(name) for name in names if self.tuning.selects(name)]
        for subject in subjects:
            self._want_first_values(subject)
        return subjects

    def _observe(self, name):
        """One subject as it is now; on the way back only what the journal knows of it."""
        subject = self.tuning.observe(name)
        if self.restoring:
            families = {entry["family"] for entry in self.journal.entries.values()}
            subject.knobs = [knob for knob in subject.knobs if knob.family in families]
        return subject

    def _want_first_values(self, subject):
        """Three values decide: the first, what this collection set, and what stands now."""
        subject.wanted = {"state": "restored"}
        families = {}
        for key in sorted(self.journal.entries):
            families.setdefault(self.journal.entries[key]["family"], self.journal.entries[key])
        for knob in subject.knobs:
            entry = self.journal.entries.get(knob.key, families.get(knob.family))
            if entry is None or self.tuning.same(knob, knob.now, entry["first"]):
                continue
            if self.force or any(self.tuning.same(knob, knob.now, value) for value in entry["ours"]):
                knob.wanted = entry["first"]
            elif knob.key in self.journal.entries:
                texts = [self.tuning.show(knob, text) for text in (knob.now, entry["ours"][-1], entry["first"])]
                subject.notes.append(
                    "%s was changed by someone else and is left alone: it is %s, this collection set %s, before "
                    "that it was %s (force: true takes it back all the same)" % (subject.title(knob.item), *texts)
                )

    def _changes(self, subject):
        return [knob for knob in subject.knobs if not self.tuning.same(knob, knob.now, knob.wanted)]

    def _moved(self, subject, then):
        """The knobs to be changed that really have another value now."""
        found = then.values()
        return [knob for knob in self._changes(subject) if not self.tuning.same(knob, knob.now, found.get(knob.key))]

    def _settled(self, subjects):
        """The journal's keys of these subjects that need no way back any more: back already, or gone."""
        if not self.restoring:
            return []
        known = {knob.key: knob for subject in subjects for knob in subject.knobs}
        names = {subject.name for subject in subjects}
        return [
            key
            for key, entry in self.journal.entries.items()
            if entry["subject"] in names
            and (key not in known or self.tuning.same(known[key], known[key].now, entry["first"]))
        ]

    def _act(self, subjects):
        """Set what differs; returns {subject name: error}. At an error a subject is put back, and the others go on."""
        changes = [(subject, knob) for subject in subjects for knob in self._changes(subject)]
        known = set(self.journal.entries)
        if not self.restoring:
            self.journal.intend(self._first_values(subjects))
        errors, done, refused = {}, {}, set()
        # stored before running: a disk that is full then stops the run while the machine is still as it was
        for subject, knob in sorted(changes, key=lambda change: change[1].place != STORED):
            if subject.name not in errors and subject.name not in refused:
                try:
                    self.tuning.set(subject, knob)
                    done.setdefault(subject.name, []).append(knob)
                except HostError as error:
                    lost = self._put_back(subject, done.get(subject.name, []))
                    if isinstance(error, UnsupportedError) and not lost:
                        refused.add(subject.name)
                        subject.verdict, subject.reason = "unsupported", str(error)
                    else:
                        errors[subject.name] = "; ".join([str(error)] + lost)
        if refused:
            entries = self.journal.entries.items()
            self.journal.forget([key for key, entry in entries if key not in known and entry["subject"] in refused])
        return errors

    def _put_back(self, subject, knobs):
        """Undo what this run set on a subject, so that an error leaves it as it was; sentences for what is not back."""
        lost = []
        for knob in reversed(knobs):
            wanted, knob.wanted = knob.wanted, knob.now
            try:
                self.tuning.set(subject, knob)
            except HostError as error:
                lost.append("%s could not be put back: %s" % (subject.title(knob.item), error))
            knob.wanted = wanted
        return lost

    def _first_values(self, subjects):
        """What the journal needs: the knobs that change, and when a family is first touched all of it.

        So a queue that had the wanted value all along is told from one that came later and got it from the stored rule.
        """
        seen = {entry["family"] for entry in self.journal.entries.values()}
        notes = []
        for subject in subjects:
            changes = self._changes(subject)
            for knob in subject.knobs:
                if knob in changes or (changes and knob.family not in seen):
                    notes.append((subject.name, knob))
        return notes

    def _prove(self, subjects, after, errors):
        """Compare what was wanted with what is there now; a difference is an error of its subject."""
        for subject, then in zip(subjects, after):
            found = then.values()
            for knob in subject.knobs if subject.verdict is None else ():
                now = found.get(knob.key)
                if subject.name not in errors and not self.tuning.same(knob, now, knob.wanted):
                    why = self.tuning.explain(knob, now)
                    errors[subject.name] = "%s is %s, although %s was written%s" % (
                        subject.title(knob.item),
                        self.tuning.show(knob, now),
                        self.tuning.show(knob, knob.wanted),
                        ": " + why if why else "",
                    )

    def _record(self, subject, then, errors):
        """The tuning record of one subject; in check mode its after is what would be."""
        changing = self._changes(subject) if then is subject else []
        predicted = [(knob, knob.wanted if knob in changing else knob.now) for knob in then.knobs]
        after, lost = self._values(subject, predicted)
        verdict, reason = self._verdict(subject, [] if self.restoring else lost, errors)
        return {
            "name": self.tuning.name,
            "subject": subject.name,
            "wanted": subject.wanted,
            "before": self._values(subject, [(knob, knob.now) for knob in subject.knobs])[0],
            "after": after,
            "verdict": verdict,
            "reason": reason,
            "restart": self.tuning.restart,
            "conflicts": subject.conflicts,
            "remarks": then.remarks,
            "sources": list(self.tuning.sources),
            "undo": "ansible-playbook zpower.sap_tuning.rollback, or state: restored of %s" % self.tuning.name,
        }

    def _values(self, subject, pairs):
        values = {RUNNING: {}, STORED: {}}
        for knob, text in pairs:
            if text is not None:
                values[knob.place][knob.item] = self.tuning.value(knob, text)
        stored = {knob.item: text for knob, text in pairs if knob.place == STORED}
        boot, lost = self.tuning.boot(subject, stored) if stored else ({}, [])
        return {RUNNING: values[RUNNING] or None, STORED: values[STORED] or None, "next_boot": boot or None}, lost

    def _verdict(self, subject, lost, errors):
        if subject.name in errors:
            return "failed", errors[subject.name]
        if subject.verdict is not None:
            return subject.verdict, subject.reason
        changes = self._changes(subject)
        reasons = list(subject.notes)
        if self.check_mode:
            reasons += self._differences(subject, changes)
        reasons += lost
        if reasons:
            return "drifted", "; ".join(reasons)
        if changes:
            return "changed", "%d value%s set and read back" % (len(changes), "" if len(changes) == 1 else "s")
        return "compliant", subject.reason

    def _differences(self, subject, changes):
        """What is not as wanted, one sentence for all knobs that differ alike."""
        alike = {}
        for knob in changes:
            words = (self.tuning.show(knob, knob.now), self.tuning.show(knob, knob.wanted))
            alike.setdefault(words, []).append(knob.item)
        return ["%s: %s, wanted %s" % (subject.title(*items), *words) for words, items in alike.items()]

    def _diff(self, subjects, after, acted):
        """Before and after, a line a knob that changes, in the user's terms."""
        lines = {"before": [], "after": []}
        for subject, then in zip(subjects, after):
            found = then.values() if acted else {}
            for knob in self._changes(subject):
                title = "%s (%s): " % (subject.title(knob.item), knob.place)
                lines["before"].append(title + self.tuning.show(knob, knob.now))
                lines["after"].append(title + self.tuning.show(knob, found.get(knob.key, knob.wanted)))
        return {side: "".join(line + "\n" for line in texts) for side, texts in lines.items()}


def summary(records):
    """One sentence: how many records have which verdict."""
    counts = {}
    for record in records:
        counts[record["verdict"]] = counts.get(record["verdict"], 0) + 1
    return ", ".join("%d %s" % (counts[verdict], verdict) for verdict in sorted(counts))
