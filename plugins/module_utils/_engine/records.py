# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run reports: one tuning record per subject, the diff, and a sentence for each difference."""

from .tuning import RUNNING, STORED

# publications that several tunings and checks cite
STUDY = "Performance Evaluation of SAP Application Servers on Z (IBM, v1.02, 2018-07-16), %s"
CRM = "SAP CRM 7.0 on IBM Z (IBM, v1.00, 2019-03-01), %s"
SMC_R = "SMC-R on AIX for SAP, Experience report (IBM, v1.0, 2019-01-14)"
_AFTER = {
    "device": "once the device is configured again",
    "instance": "after a restart of the instance",
    "reboot": "after a reboot",
}


class Recorder:
    """Makes the tuning records and the diff of one run. restoring: the run is on the way back."""

    def __init__(self, tuning, check_mode, restoring):
        self.tuning = tuning
        self.check_mode = check_mode
        self.restoring = restoring

    def result(self, subjects, after, errors, changed=False, acted=False):
        """The result of the run. after: the subjects after it; errors: {subject name: sentence}."""
        records = [self.record(subject, then, errors) for subject, then in zip(subjects, after)]
        return {
            "changed": changed,
            "failed": bool(errors),
            "msg": "; ".join(errors[name] for name in sorted(errors)) or summary(records),
            "tuning": records,
            "diff": self.diff(subjects, after, acted),
        }

    def record(self, subject, then, errors):
        """The tuning record of one subject. then: the subject after the run; errors: {subject name: sentence}.

        In check mode "after" has the predicted values.
        """
        changing = self.tuning.changes(subject) if then is subject else []
        predicted = [(knob, knob.wanted if knob in changing else knob.now) for knob in then.knobs]
        after, lost = self._values(then, predicted)
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
            "remarks": then.remarks + subject.costs,
            "sources": list(self.tuning.sources),
            "undo": "ansible-playbook zpower.sap_tuning.rollback, or state: restored of %s" % self.tuning.name,
        }

    def _values(self, subject, pairs):
        values = {RUNNING: {}, STORED: {}}
        for knob, text in pairs:
            if text is not None:
                values[knob.place][knob.item] = self.tuning.value(knob, text)
        known = not any(knob.place == STORED and knob.key in subject.unknown for knob, _text in pairs)
        stored = {knob.item: text for knob, text in pairs if knob.place == STORED and known}
        boot, lost = self.tuning.boot(subject, stored) if stored else ({}, [])
        return {RUNNING: values[RUNNING] or None, STORED: values[STORED] or None, "next_boot": boot or None}, lost

    def _verdict(self, subject, then, lost, errors):
        if subject.name in errors:
            return "failed", errors[subject.name]
        if subject.verdict is not None:
            return subject.verdict, subject.reason
        changes = self.tuning.changes(subject)
        reasons = list(subject.notes)
        if self.check_mode:
            reasons += differences(self.tuning, subject, changes)
        reasons += lost
        waiting = self.tuning.lacking(then) if subject.knobs and not self.restoring else []
        unknown = _unknown(subject)
        if reasons or unknown:
            more = waiting + unknown if reasons else unknown + [subject.reason]
            return "drifted" if reasons else "unknown", "; ".join(filter(None, reasons + more))
        pending = self.tuning.pending(then)
        if pending:
            sentence = "%s: %s is in force, %s " + _AFTER[then.restart or self.tuning.restart]
            waiting = waiting + differences(self.tuning, then, pending, sentence)
        if waiting:
            return "pending_restart", "; ".join(waiting)
        if changes:
            return "changed", "%d value%s set and read back" % (len(changes), "" if len(changes) == 1 else "s")
        return "observed" if subject.observed else "compliant", subject.reason

    def diff(self, subjects, after, acted):
        """Values before and after, one line per changing knob, in the user's terms."""
        lines = {"before": [], "after": []}
        for subject, then in zip(subjects, after):
            found = then.values() if acted else {}
            for knob in self.tuning.changes(subject):
                title = "%s (%s): " % (subject.title(knob.item), knob.place)
                lines["before"].append(title + self.tuning.show(knob, knob.now))
                lines["after"].append(title + self.tuning.show(knob, found.get(knob.key, knob.wanted)))
        return {side: "".join(line + "\n" for line in texts) for side, texts in lines.items()}


def observed(name, subject, wanted, verdict, reason, running=None, stored=None, **more):
    """A tuning record of something that was only looked at, so before and after are the same.

    more: restart, remarks, sources and undo, if there are any.
    """
    values = {RUNNING: running, STORED: stored, "next_boot": None}
    record = {
        "name": name,
        "subject": subject,
        "wanted": wanted,
        "before": values,
        "after": dict(values),
        "verdict": verdict,
        "reason": reason,
        "restart": "none",
        "conflicts": [],
        "remarks": [],
        "sources": [],
        "undo": None,
    }
    return dict(record, **more)


def _unknown(subject):
    """One sentence for all knobs whose values are unknown for the same reason."""
    alike = {}
    for knob in subject.knobs:
        if knob.key in subject.unknown:
            alike.setdefault((knob.place, subject.unknown[knob.key]), []).append(knob.item)
    return ["%s (%s): %s" % (subject.title(*items), place, why) for (place, why), items in alike.items()]


def nothing_to_take_back(name, why="is empty"):
    """The result of a way back without subjects. why: what the journal lacks."""
    return only(observed(name, "all", {}, "compliant", "nothing to take back: the journal %s" % why))


def only(record):
    """The result of a call with one record, of something that was only looked at."""
    diff = {"before": "", "after": ""}
    return {"changed": False, "failed": False, "msg": summary([record]), "tuning": [record], "diff": diff}


def differences(tuning, subject, knobs, sentence="%s: %s, wanted %s"):
    """One sentence for all knobs that have the same difference; the first sentence names the subject."""
    alike = {}
    for knob in knobs:
        words = (tuning.show(knob, knob.now), tuning.show(knob, knob.wanted))
        alike.setdefault(words, []).append(knob.item)
    named = [subject.title(*items) if not at else ", ".join(items) for at, items in enumerate(alike.values())]
    return [sentence % (name, *words) for name, words in zip(named, alike)]


def summary(records):
    """One sentence: the number of records per verdict."""
    counts = {}
    for record in records:
        counts[record["verdict"]] = counts.get(record["verdict"], 0) + 1
    return ", ".join("%d %s" % (counts[verdict], verdict) for verdict in sorted(counts))
