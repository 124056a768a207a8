# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One call of a state module, for every tuning: observe, plan, act, prove; and the way back."""

import copy
import errno
import os

from .._host.host import HostError
from .records import Recorder, differences, nothing_to_take_back
from .tuning import Subject

# in the reason of a record
ORPHAN = "set by this collection and no longer asked for"


class Run:
    """One call of a state module. state: present, off, or restored (back to the first values of the journal).

    journal: that of the call's checkpoint, or the main one; from the main one the way back goes through all
    checkpoints. lease: the Terms of the checkpoint's lease, or None. all_subjects: take back also subjects that the
    request does not select. complete: the request names all values of the tuning that this host is to have.
    """

    def __init__(
        self, tuning, journal, state, check_mode=False, force=False, lease=None, all_subjects=False, complete=False
    ):
        self.tuning = tuning
        self.journal = journal
        self.restoring = state == "restored"
        self.check_mode = check_mode
        self.force = force
        self.lease = lease
        self.all_subjects = all_subjects
        self.complete = complete
        self.back = None
        # {subject name: why the tuning does not permit what was planned}
        self._refused = {}
        # [(subject name, Knob)] of stored values that were missing in the journal until the plan added them
        self._adopted = []
        # whether the journal must be written although no value changes
        self._unwritten = False

    def run(self):
        """Returns {changed, failed, msg, tuning: [record], diff}. Raises InputError and HostError before any change."""
        subjects = self._plan()
        errors, changed = self._unseen(), any(self.tuning.changes(subject) for subject in subjects)
        after = subjects
        if not self.check_mode and (changed or self._settled(subjects) or self._changes_lease() or self._unwritten):
            self.journal.lock()
            try:
                self.clean()
                subjects = self._plan()
                errors = self._act(subjects)
                after = [self._look_again(subject) if subject.knobs else subject for subject in subjects]
                errors.update(self._unseen())
                changed = any(self._moved(subject, then) for subject, then in zip(subjects, after))
                self._setter().prove(subjects, after, errors)
                if self.restoring:
                    ended = [] if errors else self.back.ended_leases({subject.name for subject in subjects})
                    # a service that is killed in between starts again and ends its lease
                    for journal, keys in self._settled(after):
                        journal.forget(keys)
                    for lease in ended:
                        lease.end()
                elif self._changes_lease():
                    self.journal.lease.grant(self.lease)
                elif self.lease is not None:
                    # the machine supports none of the values
                    self.journal.lease.end()
            finally:
                self.journal.close()
        elif not self.check_mode:
            self._clean_up()
        if not subjects:
            return self._nothing()
        self._remark_probation(after)
        recorder = Recorder(self.tuning, self.check_mode, self.restoring)
        result = recorder.result(subjects, after, errors, changed, acted=not self.check_mode and changed)
        return dict(result, **self.tuning.extra_results())

    def verified(self):
        """The result of a look at the requested values, which predicts no change."""
        subjects = self._plan()
        if not subjects:
            return self._nothing()
        after = [copy.copy(subject) for subject in subjects]
        result = Recorder(self.tuning, True, self.restoring).result(subjects, after, self._unseen())
        return dict(result, diff={"before": "", "after": ""}, **self.tuning.extra_results())

    def _nothing(self):
        return nothing_to_take_back(self.tuning.name, "has none of it" if self.back.keys() else "is empty")

    def _unseen(self):
        """{subject name: error} of the subjects whose plan is not permitted, or that the way back cannot read."""
        return dict(self.back.errors if self.restoring else self._refused)

    def _remark_probation(self, subjects):
        sentence = "" if self.restoring else self.journal.probation_remark()
        known = {entry["subject"] for entry in self.journal.entries.values()}
        for subject in subjects:
            if sentence and subject.name in known:
                subject.remarks.append(sentence)

    def _plan(self):
        return self._plan_back() if self.restoring else self._plan_forth()

    def _plan_forth(self):
        # names first: a subject of the request may have had another name
        self.bring_up_to_date([self.journal])
        subjects = self.tuning.select()
        foreign = self.journal.foreign()
        if foreign and not self.force:
            raise HostError("nothing was changed: %s" % foreign)
        sentence = self.journal.blocking_checkpoint()
        if sentence and not self.check_mode:
            raise HostError("nothing was changed: %s" % sentence)
        if sentence:
            shown = [subject for subject in subjects if subject.verdict is None]
            subjects += [] if shown else [Subject("all")]
            for subject in shown or subjects[-1:]:
                subject.notes.append(sentence)
            return subjects
        self._unwritten, self._refused = bool(foreign or self._adopted), {}
        for subject in subjects:
            if subject.knobs or subject.verdict == "unsupported":  # the record says what was asked for
                self.tuning.want(subject)
                self.tuning.follow(subject)
                self._permit(subject)
        if self.tuning.host.capture:
            # without a journal, which no capture holds
            from . import captured  # noqa: PLC0415

            captured.set_apart(self.tuning.host, subjects)
        elif self.check_mode:
            self._show_adopted(subjects)
        if self.complete and not self.journal.checkpoint:
            self._show_orphans(subjects)
        return subjects

    def _permit(self, subject):
        """Note the error of a subject whose plan is not permitted; the run continues and leaves the subject alone."""
        try:
            self.tuning.permit(subject)
        except HostError as error:
            self._refused[subject.name] = str(error)
            for knob in subject.knobs:
                knob.wanted = knob.now

    def bring_up_to_date(self, journals):
        """Give the journals' entries today's names, and add stored values of this collection that all of them lack."""
        for journal in journals:
            journal.entries = self.tuning.current(journal.entries)
            for key, entry in journal.entries.items():
                for text in [entry["first"]] + entry["ours"]:
                    if not self.tuning.legible(key, text):
                        raise journal.broken("entry %r: %r is not a value of it" % (key, text))
        self._adopted = []
        if not self.journal.checkpoint:
            known = {key for journal in journals for key in journal.entries}
            self._adopted = [pair for pair in self.tuning.marked() if pair[1].key not in known]
            for name, knob in self._adopted:
                self.journal.adopt(name, knob)

    def _show_adopted(self, subjects):
        for subject in subjects:
            known = subject.values()
            for name, knob in self._adopted:
                if name == subject.name and knob.key in known:
                    subject.notes.append(
                        "%s is stored by this collection, but its journal does not know it: zpower.sap_tuning.site "
                        "notes it there" % subject.title(knob.item)
                    )

    def _show_orphans(self, subjects):
        """Add a note on values that this collection has set and this call does not name: how to take them back."""
        asked = {knob.key for subject in subjects for knob in subject.knobs}
        known = {subject.name: subject for subject in subjects}
        orphans = {key: entry["subject"] for key, entry in self.journal.entries.items() if key not in asked}
        if not orphans:
            return
        tuning = type(self.tuning)(self.tuning.host, self.tuning.unattended(self.tuning.params))
        for name, sentences in Run(tuning, self.journal, "restored", check_mode=True).outlook(orphans):
            if name not in known:
                known[name] = Subject(name)
                subjects.append(known[name])
            subject = known[name]
            if subject.verdict is not None:
                subject.notes.append(subject.reason)
                subject.verdict = None
            subject.notes.append(
                "%s: %s; ansible-playbook zpower.sap_tuning.rollback --limit HOST --tags %s takes it back, then "
                "zpower.sap_tuning.site sets the requested values" % ("; ".join(sentences), ORPHAN, self.tuning.name)
            )

    def outlook(self, keys):
        """[(subject name, sentences: what the way back would do)]; keys: {key: subject name}."""
        self.journal.entries = self.tuning.current(self.journal.entries)
        self.back = self._way_back([self.journal])
        found = []
        for subject in self._plan_subjects(sorted(set(keys.values()))):
            subject.knobs = [knob for knob in subject.knobs if knob.key in keys]
            sentences = [self.back.errors[subject.name]] if subject.name in self.back.errors else []
            sentences += differences(self.tuning, subject, self.tuning.changes(subject)) + subject.notes
            found += [(subject.name, sentences)] if sentences else []
        return found

    def clean(self):
        """Remove files that killed runs left behind; a file that cannot be removed does no harm."""
        self.tuning.clean()
        self.journal.clean()

    def _clean_up(self):
        """The same for a run that has nothing else to do."""
        if not self.tuning.littered() and not self.journal.littered():
            return
        try:
            self.journal.lock()
        except HostError as error:
            if error.errno == errno.EAGAIN:
                return  # the run that holds the lock does it
            raise
        try:
            self.clean()
        finally:
            self.journal.close()

    def _changes_lease(self):
        """Whether this run grants or ends a lease: the call has one, and the journal has values to take back."""
        return bool(self.lease is not None and not self.restoring and self.journal.entries)

    def _hold(self, known):
        """Grant the lease before the first change, in case this run is killed. known: the journal's keys so far."""
        if self._changes_lease() and self.lease.seconds:
            try:
                self.journal.lease.grant(self.lease)
            except HostError as error:
                self.journal.forget([key for key in self.journal.entries if key not in known])
                raise HostError("nothing was changed: %s" % error, error.errno) from error

    def _plan_back(self):
        others = [] if self.journal.checkpoint else self.journal.checkpoints()
        journals = others + [self.journal]
        for journal in journals:
            foreign = journal.foreign()
            if foreign and not self.force:
                raise HostError("nothing was changed: %s" % foreign)
        self.bring_up_to_date(journals)
        self.back = self._way_back(journals)
        names = [name for name in self.back.subjects() if self.all_subjects or self.tuning.selects(name)]
        subjects = self._plan_subjects(names)
        for subject in subjects:
            self._follow_back(subject, self.tuning.permit)
        return subjects

    def _plan_subjects(self, names):
        self.tuning.remembered = tuple(self.back.keys())
        subjects = [self._observe_back(name) for name in names]
        for subject in subjects:
            self.back.want(subject)
            self.back.keep(subject)
        return subjects

    def _look_again(self, subject):
        """The subject as it is now; knobs that follow are compared with the values stored now."""
        if self.restoring:
            then = self._observe_back(subject.name)
            self._follow_back(then)
            return then
        then = self.tuning.observe(subject.name)
        self.tuning.follow(then)
        return then

    def _observe_back(self, name):
        """One subject as it is now, with the knobs that the journals know; without knobs if it cannot be read."""
        try:
            subject = self.tuning.observe(name)
        except HostError as error:
            self._set_aside(name, error)
            return Subject(name)
        families = self.back.families()
        subject.knobs = [knob for knob in subject.knobs if knob.family in families]
        if not self.journal.checkpoint:
            subject.remarks += self.back.checkpoints_of(name)
        subject.remarks += [
            "the journal did not know %s, so the running value before is unknown" % subject.title(knob.item)
            for owner, knob in self._adopted
            if owner == name
        ]
        return subject

    def _follow_back(self, subject, permit=lambda subject: None):
        try:
            self.tuning.follow(subject)
            permit(subject)
        except HostError as error:
            self._set_aside(subject.name, error)
            subject.knobs = []

    def _set_aside(self, name, error):
        """Note the error of a subject that cannot be read; the run continues, and the journal keeps its entries."""
        self.back.errors[name] = (
            "%s; the journal keeps its first values (force: true drops those of what is gone)" % error
        )

    def _moved(self, subject, then):
        """The knobs whose values have really changed."""
        found = then.values()
        return [
            knob for knob in self.tuning.changes(subject) if not self.tuning.same(knob, knob.now, found.get(knob.key))
        ]

    def _settled(self, subjects):
        """[(journal, keys)] that no longer need a way back: the values are back, if need be by a restart."""
        if not self.restoring:
            return []
        known = {knob.key: knob for subject in subjects for knob in subject.knobs}
        seen = [subject for subject in subjects if subject.name not in self.back.errors]
        gone = {subject.name for subject in seen if subject.gone and not self.force}
        return self.back.settled(known, {subject.name for subject in seen if not self.tuning.pending(subject)}, gone)

    # what only some calls need; outcome() has imported it before a call that changes something

    def _way_back(self, journals):
        from .way_back import WayBack  # noqa: PLC0415

        return WayBack(self.tuning, journals, self.force)

    def _setter(self):
        from .setter import Setter  # noqa: PLC0415

        return Setter(self.tuning, self._entry, self.restoring)

    def _act(self, subjects):
        """Write the journal, then set the knobs that differ: {subject name: error}."""
        known = set(self.journal.entries)
        if not self.restoring:
            identities = {subject.name: subject.identity for subject in subjects if subject.identity}
            self.journal.intend(self._first_values(subjects), self._folders(subjects), identities)
            self._hold(known)
        errors, refused = self._setter().set_all(subjects)
        if refused:
            entries = self.journal.entries.items()
            self.journal.forget([key for key, entry in entries if key not in known and entry["subject"] in refused])
        if errors and not self.restoring:
            failed = [knob for subject in subjects if subject.name in errors for knob in subject.knobs]
            self.journal.put_back(failed, self.tuning.same)
        if self.tuning.written and not self.restoring:
            self.journal.correct(self.tuning.written)
        return errors

    def _entry(self, knob):
        return self.back.entry(knob.key) if self.restoring else self.journal.entries.get(knob.key)

    def _first_values(self, subjects):
        """[(subject name, Knob)] for the journal: knobs that change, and all knobs of a family on its first change.

        So a queue that always had the wanted value differs from one that came later and got it from the stored rule.
        """
        seen = {entry["family"] for entry in self.journal.entries.values()}
        notes = []
        for subject in subjects:
            changes = [knob for knob in self.tuning.changes(subject) if not knob.follows]
            for knob in subject.knobs:
                if not knob.follows and (knob in changes or (changes and knob.family not in seen)):
                    notes.append((subject.name, knob))
        return notes

    def _folders(self, subjects):
        """The folders of the drop-in files that will be written."""
        stored = [knob for subject in subjects for knob in self.tuning.changes(subject) if knob.wanted is not None]
        paths = [drop_in.path for drop_in in self.tuning.drop_ins]
        return sorted({os.path.dirname(path) for path in paths for knob in stored if knob.key.startswith(path)})
