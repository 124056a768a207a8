# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""state: restored: back through the checkpoints, the newest first, to the first values of the journal."""


class WayBack:
    """The way back of one tuning through its journals, the newest checkpoint first and the main one last."""

    def __init__(self, tuning, journals, force):
        self.tuning = tuning
        self.journals = journals
        self.force = force
        # {subject name: error} of subjects that cannot be read now
        self.errors = {}

    def keys(self):
        """The keys of all knobs in the journals, sorted."""
        return sorted({key for journal in self.journals for key in journal.entries})

    def subjects(self):
        """The names of all subjects in the journals."""
        return sorted({entry["subject"] for entry in self._all()})

    def families(self):
        """The families of knobs in the journals: a knob that is in none of them is newer than the first values."""
        return {entry["family"] for entry in self._all()}

    def _all(self):
        return [entry for journal in self.journals for entry in journal.entries.values()]

    def entry(self, key):
        """The newest entry of a knob, or None."""
        return next((journal.entries[key] for journal in self.journals if key in journal.entries), None)

    def checkpoints_of(self, name):
        """One remark per checkpoint that is taken back with this subject."""
        return [
            "the checkpoint %s is taken back too" % journal.checkpoint
            for journal in self.journals
            if journal.checkpoint and any(entry["subject"] == name for entry in journal.entries.values())
        ]

    def want(self, subject):
        """Plan the first values of the subject's knobs, by the first value, the one set and the present one.

        With several journals the result is that of taking them back one after another.
        """
        subject.wanted = {"state": "restored"}
        for knob in subject.knobs:
            if not knob.follows:
                self._want(subject, knob, self._entries(knob))

    def keep(self, subject):
        """If the subject is gone, say which of its values the journal keeps."""
        known = subject.values()
        kept = {
            key
            for journal in self.journals
            for key, entry in journal.entries.items()
            if entry["subject"] == subject.name and key not in known
        }
        if subject.gone and not kept:
            subject.reason = subject.gone
        elif subject.gone and self.force:
            subject.reason = "%s; its values in the journal are dropped" % subject.gone
        elif subject.gone:
            subject.notes.append(
                "%s: the journal keeps %d of its first values (force: true drops them)" % (subject.gone, len(kept))
            )

    def _entries(self, knob):
        """[(entry, whether it is the knob's own or another one of its family)], the newest first."""
        found = []
        for journal in self.journals:
            own = journal.entries.get(knob.key)
            alike = [key for key in sorted(journal.entries) if journal.entries[key]["family"] == knob.family]
            if own is not None or alike:
                found.append((own or journal.entries[alike[0]], own is not None))
        return found

    def _want(self, subject, knob, entries):
        if entries and self.tuning.same(knob, knob.now, entries[-1][0]["first"]):
            return
        for entry, own in entries:
            if self.tuning.same(knob, knob.wanted, entry["first"]):
                continue
            ours = any(self.tuning.same(knob, knob.wanted, value) for value in entry["ours"])
            if self.force or ours or self.tuning.halfway(knob, knob.wanted, [entry["first"]] + entry["ours"]):
                knob.wanted = entry["first"]
            elif own:
                texts = [self.tuning.show(knob, text) for text in (knob.wanted, entry["ours"][-1], entry["first"])]
                subject.notes.append(
                    "%s was changed by someone else and is left alone: it is %s, this collection set %s, before "
                    "that it was %s (force: true takes it back all the same)" % (subject.title(knob.item), *texts)
                )
                return

    def settled(self, knobs, names, gone):
        """[(journal, keys)] that no longer need a way back: back already, or gone with a part of their subject.

        knobs: all present ones, by key. names: the subjects that wait for no restart; gone: those of them whose values
        the journal keeps. A knob with the first value of an older journal is settled in the newer ones too. One that is
        back stays in the journal until its family is, or it would look newer than the first values: see _entries().
        """
        found = []
        for at, journal in enumerate(self.journals):
            keys = [
                key
                for key, entry in journal.entries.items()
                if entry["subject"] in names
                and (
                    entry["subject"] not in gone if key not in knobs else self._is_back(knobs[key], self.journals[at:])
                )
            ]
            waiting = {entry["family"] for key, entry in journal.entries.items() if key not in keys}
            keys = [key for key in keys if key not in knobs or journal.entries[key]["family"] not in waiting]
            if keys:
                found.append((journal, keys))
        return found

    def _is_back(self, knob, journals):
        entries = [journal.entries[knob.key] for journal in journals if knob.key in journal.entries]
        return any(self.tuning.same(knob, knob.now, entry["first"]) for entry in entries)

    def ended_leases(self, names):
        """The leases of checkpoints that have only these subjects: their guardians have nothing left to do."""
        return [
            journal.lease
            for journal in self.journals
            if journal.checkpoint and {entry["subject"] for entry in journal.entries.values()} <= names
        ]
