# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One call of a state module, whatever the tuning: observe, plan, act, prove; and the way back."""

import contextlib
import errno
import os

from .._host.host import HostError
from .tuning import RUNNING, STORED, Subject, UnsupportedError
from .way_back import WayBack

_AFTER = {
    "device": "once the device is configured anew",
    "instance": "after a restart of the instance",
    "reboot": "after a reboot",
}


class Run:
    """One call of a state module. state: present, off, or restored (back to the first values of the journal).

    journal: the main one, or that of the checkpoint with which the call was made; without a checkpoint the way back
    goes through all that there are. lease: the Terms of the checkpoint's lease, or None. whole: take back all of it,
    whatever the request selects. complete: the request names all that is wanted of the tuning on this host.
    """

    def __init__(self, tuning, journal, state, check_mode=False, force=False, lease=None, whole=False, complete=False):
        self.tuning = tuning
        self.journal = journal
        self.restoring = state == "restored"
        self.check_mode = check_mode
        self.force = force
        self.lease = lease
        self.whole = whole
        self.complete = complete
        self.back = None
        # [(subject name, Knob)] of stored values that the plan took into the journal, which did not know them
        self._adopted = []
        # whether the journal is to be written although no value changes
        self._unwritten = False

    def run(self):
        """Returns {changed, failed, msg, tuning: [record], diff}. Raises InputError and HostError before any change."""
        subjects = self._plan()
        errors, changed = self._unseen(), any(self._changes(subject) for subject in subjects)
        after = subjects
        if not self.check_mode and (changed or self._settled(subjects) or self._leased() or self._unwritten):
            self.journal.lock()
            try:
                self._clean()
                subjects = self._plan()
                errors = self._act(subjects)
                after = [self._look_again(subject) if subject.knobs else subject for subject in subjects]
                errors.update(self._unseen())
                changed = any(self._moved(subject, then) for subject, then in zip(subjects, after))
                self._prove(subjects, after, errors)
                if self.restoring:
                    if not errors:
                        self.back.end_leases({subject.name for subject in subjects})
                    self.back.forget(self._settled(after))
                elif self._leased():
                    self.journal.lease.grant(self.lease)
                elif self.lease is not None:
                    # the machine refused all of it
                    self.journal.lease.end()
            finally:
                self.journal.close()
        elif not self.check_mode:
            self._clean_up()
        if not subjects:
            reason = "nothing to take back: the journal %s" % ("has nothing of it" if self.back.keys() else "is empty")
            subjects = after = [Subject("all", reason=reason)]
        records = [self._record(subject, then, errors) for subject, then in zip(subjects, after)]
        return {
            "changed": changed,
            "failed": bool(errors),
            "msg": "; ".join(errors[name] for name in sorted(errors)) or summary(records),
            "tuning": records,
            "diff": self._diff(subjects, after, acted=not self.check_mode and changed),
            **self.tuning.answer(),
        }

    def _unseen(self):
        """{subject name: error} of those that cannot be looked at on the way back."""
        return dict(self.back.errors) if self.restoring else {}

    def _plan(self):
        return self._plan_back() if self.restoring else self._plan_forth()

    def _plan_forth(self):
        # names first: what is asked for may have had another one
        self._bring_up_to_date([self.journal])
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
        self._unwritten = bool(foreign or self._adopted)
        for subject in subjects:
            if subject.knobs:
                self.tuning.want(subject)
                self.tuning.follow(subject)
        if self.check_mode:
            self._show_adopted(subjects)
        if self.complete and not self.journal.checkpoint:
            self._show_orphans(subjects)
        return subjects

    def _bring_up_to_date(self, journals):
        """Give the journals' entries today's names, and take up what is stored by us and unknown to all of them."""
        for journal in journals:
            journal.entries = self.tuning.current(journal.entries)
            for key, entry in journal.entries.items():
                for text in [entry["first"]] + entry["ours"]:
                    if not self.tuning.legible(key, text):
                        raise journal.broken("entry %r: %r is no value of it" % (key, text))
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
        """Name what this collection has set and this call does not ask for, as the way back would find it."""
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
                "%s: set by this collection and no longer asked for; ansible-playbook zpower.sap_tuning.rollback "
                "--limit HOST --tags %s takes it back, then zpower.sap_tuning.site sets what is asked for"
                % ("; ".join(sentences), self.tuning.name)
            )

    def outlook(self, keys):
        """[(subject name, what the way back would do and say, one sentence each)]; keys: {key: subject name}."""
        self.journal.entries = self.tuning.current(self.journal.entries)
        self.back = WayBack(self.tuning, [self.journal], self.force)
        found = []
        for subject in self._plan_subjects(sorted(set(keys.values()))):
            subject.knobs = [knob for knob in subject.knobs if knob.key in keys]
            sentences = [self.back.errors[subject.name]] if subject.name in self.back.errors else []
            sentences += self._differences(subject, self._changes(subject)) + subject.notes
            found += [(subject.name, sentences)] if sentences else []
        return found

    def _clean(self):
        """Remove what killed runs left behind. Where that is refused it does no harm."""
        self.tuning.clean()
        for path in self.journal.leftovers():
            with contextlib.suppress(HostError):
                self.tuning.host.remove(path)
        self.journal.sweep()

    def _clean_up(self):
        """The same for a run that has nothing else to do."""
        if not self.tuning.littered() and not self.journal.littered():
            return
        try:
            self.journal.lock()
        except HostError as error:
            if error.errno == errno.EAGAIN:
                return  # whoever holds it does it
            raise
        try:
            self._clean()
        finally:
            self.journal.close()

    def _leased(self):
        """Whether this run is to grant a lease, or to end one: there is something that can be taken back."""
        return bool(self.lease is not None and not self.restoring and self.journal.entries)

    def _hold(self, known):
        """Before the first change: whatever becomes of this run, the host takes it back. known: journal keys so far."""
        if self._leased() and self.lease.seconds:
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
        self._bring_up_to_date(journals)
        self.back = WayBack(self.tuning, journals, self.force)
        names = [name for name in self.back.subjects() if self.whole or self.tuning.selects(name)]
        subjects = self._plan_subjects(names)
        for subject in subjects:
            self._follow_back(subject)
        return subjects

    def _plan_subjects(self, names):
        self.tuning.remembered = tuple(self.back.keys())
        subjects = [self._observe_back(name) for name in names]
        for subject in subjects:
            self.back.want(subject)
            self.back.keep(subject)
        return subjects

    def _look_again(self, subject):
        """The subject as it is now, the knobs that follow compared with what is stored now."""
        if self.restoring:
            then = self._observe_back(subject.name)
            self._follow_back(then)
            return then
        then = self.tuning.observe(subject.name)
        self.tuning.follow(then)
        return then

    def _observe_back(self, name):
        """What the journals know of one subject, as it is now; nothing of one that cannot be looked at."""
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
            "the journal did not know %s, so what was running before is not known" % subject.title(knob.item)
            for owner, knob in self._adopted
            if owner == name
        ]
        return subject

    def _follow_back(self, subject):
        try:
            self.tuning.follow(subject)
        except HostError as error:
            self._set_aside(subject.name, error)
            subject.knobs = []

    def _set_aside(self, name, error):
        """A subject that cannot be looked at holds back no other; the journal keeps its entries."""
        self.back.errors[name] = (
            "%s; the journal keeps its first values (force: true drops those of what is gone)" % error
        )

    def _changes(self, subject):
        """The knobs that this run is to change."""
        return [knob for knob in self._different(subject) if knob.due or not knob.follows]

    def _different(self, subject):
        return [knob for knob in subject.knobs if not self.tuning.same(knob, knob.now, knob.wanted)]

    def _pending(self, subject):
        """The knobs that wait for a restart that this run does not do, or that was to bring another value."""
        return [knob for knob in self._different(subject) if knob.follows]

    def _moved(self, subject, then):
        """The knobs to be changed that really have another value now."""
        found = then.values()
        return [knob for knob in self._changes(subject) if not self.tuning.same(knob, knob.now, found.get(knob.key))]

    def _settled(self, subjects):
        """What of these subjects the way back needs no more, also in force where a restart brings it there."""
        if not self.restoring:
            return []
        known = {knob.key: knob for subject in subjects for knob in subject.knobs}
        seen = [subject for subject in subjects if subject.name not in self.back.errors]
        gone = {subject.name for subject in seen if subject.gone and not self.force}
        return self.back.settled(known, {subject.name for subject in seen if not self._pending(subject)}, gone)

    def _act(self, subjects):
        """Set what differs; returns {subject name: error}. At an error a subject is put back, and the others go on."""
        known = set(self.journal.entries)
        if not self.restoring:
            identities = {subject.name: subject.identity for subject in subjects if subject.identity}
            self.journal.intend(self._first_values(subjects), self._folders(subjects), identities)
            self._hold(known)
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
        if refused:
            entries = self.journal.entries.items()
            self.journal.forget([key for key, entry in entries if key not in known and entry["subject"] in refused])
        return errors

    def _steps(self, subjects):
        """(subject, knobs to be set together) in their order.

        Stored before running: a disk that is full then stops the run while the machine is still as it was.
        """
        for stored in (True, False):
            for subject in subjects:
                knobs = [knob for knob in self._changes(subject) if (knob.place == STORED) is stored]
                for step in self.tuning.steps(subject, knobs) if knobs else ():
                    yield subject, step

    def _put_back(self, subject, done, failed):
        """Undo what this run set on a subject, so that an error leaves it as it was; sentences for what is not back.

        After a restart that failed, what follows is restarted once more, with the old values stored.
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
        stored = [knob for knob in subject.at(STORED) if self._entry(knob) is not None]
        return [knob for knob in stored if not self.tuning.same(knob, knob.now, self._before(knob))]

    def _before(self, knob):
        """What the knob was before this run changed it, or before the earlier run that did."""
        entry = self._entry(knob)
        if knob.follows or entry is None or not self.tuning.same(knob, knob.now, knob.wanted):
            return knob.now
        return entry["ours"][-1] if self.restoring else entry["first"]

    def _entry(self, knob):
        return self.back.entry(knob.key) if self.restoring else self.journal.entries.get(knob.key)

    def _first_values(self, subjects):
        """What the journal needs: the knobs that change, and when a family is first touched all of it.

        So a queue that had the wanted value all along is told from one that came later and got it from the stored rule.
        """
        seen = {entry["family"] for entry in self.journal.entries.values()}
        notes = []
        for subject in subjects:
            changes = [knob for knob in self._changes(subject) if not knob.follows]
            for knob in subject.knobs:
                if not knob.follows and (knob in changes or (changes and knob.family not in seen)):
                    notes.append((subject.name, knob))
        return notes

    def _folders(self, subjects):
        """The folders into which values are to be stored."""
        stored = [knob for subject in subjects for knob in self._changes(subject) if knob.wanted is not None]
        paths = [drop_in.path for drop_in in self.tuning.drop_ins]
        return sorted({os.path.dirname(path) for path in paths for knob in stored if knob.key.startswith(path)})

    def _prove(self, subjects, after, errors):
        """Compare what was wanted with what is there now; a difference is an error of its subject."""
        for subject, then in zip(subjects, after):
            if subject.verdict is not None or subject.name in errors:
                continue
            found = then.values()
            # what a restart brings is known for certain only after it
            wrong = [(knob, knob.now, knob.wanted) for knob in self._pending(then) if knob.due]
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

    def _record(self, subject, then, errors):
        """The tuning record of one subject; in check mode its after is what would be."""
        changing = self._changes(subject) if then is subject else []
        predicted = [(knob, knob.wanted if knob in changing else knob.now) for knob in then.knobs]
        after, lost = self._values(subject, predicted)
        verdict, reason = self._verdict(subject, then, [] if self.restoring else lost, errors)
        return {
            "name": self.tuning.name,
            "subject": subject.name,
            "wanted": subject.wanted,
            "before": self._values(subject, [(knob, knob.now) for knob in subject.knobs])[0],
            "after": after,
            "verdict": verdict,
            "reason": reason,
            "restart": then.restart or self.tuning.restart,
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

    def _verdict(self, subject, then, lost, errors):
        if subject.name in errors:
            return "failed", errors[subject.name]
        if subject.verdict is not None:
            return subject.verdict, subject.reason
        changes = self._changes(subject)
        reasons = list(subject.notes)
        if self.check_mode:
            reasons += self._differences(subject, changes)
        reasons += lost
        waiting = self.tuning.lacking(then) if subject.knobs and not self.restoring else []
        if reasons:
            return "drifted", "; ".join(reasons + waiting)
        if self._pending(then):
            sentence = "%s: %s is in force, %s " + _AFTER[then.restart or self.tuning.restart]
            waiting = waiting + self._differences(then, self._pending(then), sentence)
        if waiting:
            return "pending_restart", "; ".join(waiting)
        if changes:
            return "changed", "%d value%s set and read back" % (len(changes), "" if len(changes) == 1 else "s")
        return "compliant", subject.reason

    def _differences(self, subject, changes, sentence="%s: %s, wanted %s"):
        """What is not as wanted, one sentence for all knobs that differ alike; the first one names the subject."""
        alike = {}
        for knob in changes:
            words = (self.tuning.show(knob, knob.now), self.tuning.show(knob, knob.wanted))
            alike.setdefault(words, []).append(knob.item)
        named = [subject.title(*items) if not at else ", ".join(items) for at, items in enumerate(alike.values())]
        return [sentence % (name, *words) for name, words in zip(named, alike)]

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
