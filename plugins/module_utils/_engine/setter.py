# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a run sets knobs: their order, the way back from an error, and the proof that the machine has the values."""

from .._host.host import HostError
from .tuning import STORED, UnsupportedError


class Setter:
    """Sets the knobs of one run. entry(knob): its journal entry or None; restoring: the run is on the way back."""

    def __init__(self, tuning, entry, restoring):
        self.tuning = tuning
        self.entry = entry
        self.restoring = restoring

    def set_all(self, subjects):
        """Set the knobs that differ: ({subject name: error}, names of the subjects that the kernel does not support).

        If a subject has an error, its knobs are put back, and the run continues with the other subjects.
        """
        errors, done, refused = {}, {}, set()
        for subject, step in self._steps(subjects):
            if subject.name not in errors and subject.name not in refused:
                try:
                    self.tuning.set_together(subject, step)
                    done.setdefault(subject.name, []).append(step)
                except HostError as error:
                    lost = self._put_back(subject, done.get(subject.name, []), step)
                    if isinstance(error, UnsupportedError) and not lost:
                        refused.add(subject.name)
                        subject.verdict, subject.reason = "unsupported", str(error)
                    else:
                        errors[subject.name] = "; ".join([str(error)] + lost)
        return errors, refused

    def _steps(self, subjects):
        """(subject, knobs to be set together) in their order.

        Stored before running: if the disk is full, the run then stops before any running value changes.
        """
        for stored in (True, False):
            for subject in self.tuning.in_order(subjects, stored):
                knobs = [knob for knob in self.tuning.changes(subject) if (knob.place == STORED) is stored]
                for step in self.tuning.steps(subject, knobs) if knobs else ():
                    yield subject, step

    def _put_back(self, subject, done, failed):
        """Undo what this run set on a subject; returns a sentence for each step that could not be undone.

        After a failed restart, the restart is repeated once with the old values stored.
        """
        lost = []
        steps = [step for step in reversed(done) if not step[0].follows]
        if failed[0].follows:
            steps = steps or self.tuning.steps(subject, self._restarted_for(subject))
            steps = steps + [step for step in done if step[0].follows] + [failed]
        for step in steps:
            wanted = [knob.wanted for knob in step]
            for knob in step:
                knob.wanted = self._before(knob)
            try:
                self.tuning.set_together(subject, step)
            except HostError as error:
                items = [knob.item for knob in step]
                lost.append("%s could not be put back: %s" % (subject.title(*items), error))
            for knob, text in zip(step, wanted):
                knob.wanted = text
        if failed[0].follows and not lost:
            lost.append("the values before are back and in force")
        return lost

    def _restarted_for(self, subject):
        """The stored knobs that an earlier run changed and a restart of this run was to bring into force."""
        stored = [knob for knob in subject.at(STORED) if self.entry(knob) is not None]
        return [knob for knob in stored if not self.tuning.same(knob, knob.now, self._before(knob))]

    def _before(self, knob):
        """The value of the knob before this run changed it, or before the earlier run that did."""
        entry = self.entry(knob)
        if knob.follows or entry is None or not self.tuning.same(knob, knob.now, knob.wanted):
            return knob.now
        return entry["ours"][-1] if self.restoring else entry["first"]

    def prove(self, subjects, after, errors):
        """Compare the written values with those that the machine shows now; add a difference to errors."""
        for subject, then in zip(subjects, after):
            if subject.verdict is not None or subject.name in errors:
                continue
            found = then.values()
            # only the restart shows the value that it brings
            wrong = [(knob, knob.now, knob.wanted) for knob in self.tuning.pending(then) if knob.due]
            for knob in subject.knobs:
                if not knob.follows and not self.tuning.same(knob, found.get(knob.key), knob.wanted):
                    wrong.append((knob, found.get(knob.key), knob.wanted))
            for knob, now, wanted in wrong[:1]:
                why = self.tuning.explain(knob, now)
                errors[subject.name] = "%s is %s, although %s was written%s" % (
                    subject.title(knob.item),
                    self.tuning.show(knob, now),
                    self.tuning.show(knob, wanted),
                    ": " + why if why else "",
                )
