# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What SAP asks of the system of an application server: sysctls, the size of /dev/shm.

The subjects are in _system_base: topics.py, and requests.py for what is set on request only. A value that saptune,
sapconf or tuned sets is left to that tool.
"""

from .._engine import captured
from .._engine.tuning import RUNNING, STORED, Subject
from .._host.drop_ins import DropIn, temporaries
from ._system import KernelTuning
from ._system_base.requests import REQUESTS
from ._system_base.shared_memory import FSTAB, POINT, in_gib, size_option
from ._system_base.topics import HEADER, SYSCTL, DevShm, HugePages, Sysctls
from ._system_base.values import SUBJECTS, release

TOPICS = (DevShm, HugePages) + REQUESTS
ITEMS = SUBJECTS + tuple(topic.name for topic in TOPICS)
# The keepalive is of no solution of saptune, and another value than the one for SAP ASE (Note 1680803).
OPTIONAL = ("net.ipv4.tcp_keepalive",) + tuple(topic.name for topic in REQUESTS)


class SystemBase(KernelTuning):
    """The base values of one host, one subject per topic. params: the module's, see plugins/modules/system_base.py."""

    name = "system_base"
    sources = (
        "saptune 3.2 (SUSE): SAP Notes 900929, 941735, 1275776, 1410736, 1771258, 1984787, 2578899, 3565382",
        "sapconf 5.0.8 (SUSE)",
        "tuned 2.28 (Red Hat), profile sap-netweaver",
        "community.sap_install 1.9.0, role sap_general_preconfigure",
    )
    options = dict(
        state=dict(type="str", choices=["observe", "present", "restored", "confirmed"], default="observe"),
        confirmed_state=dict(type="str", choices=["observe", "present", "restored"], default="present"),
        items=dict(
            type="list", elements="str", choices=list(ITEMS), default=[item for item in ITEMS if item not in OPTIONAL]
        ),
    )

    def __init__(self, host, params):
        super().__init__(host, params, {})
        self.observing = params["state"] == "observe"
        self.release = release(host)
        self.sysctls = DropIn(host, SYSCTL, HEADER)
        topics = [Sysctls(self, name) for name in SUBJECTS]
        topics += [topic(self) for topic in TOPICS if self.restoring or topic.name in params["items"]]
        self.topics = {topic.name: topic for topic in topics}
        self.defaults = {item: asked.default for topic in topics for item, asked in topic.values.items()}
        for topic in topics:
            self.files.update(topic.files)
        # of the folders of these files, and not if nothing is written
        kept = dict.fromkeys(drop_in for item, (drop_in, _block) in self.files.items() if item != POINT)
        self.drop_ins = () if self.observing else tuple(kept)

    # observe

    def select(self):
        if not self.host.exists("/proc/sys"):
            return [Subject("all", verdict="not_applicable", reason="these values are for Linux")]
        return [self.observe(item) for item in ITEMS if item in self.params["items"]]

    def selects(self, name):
        # on the way back only: all values of the journal, whatever is asked for now
        return True

    def observe(self, name):
        # a damaged journal can have any name
        topic = self.topics.get(name) or Sysctls(self, name)
        verdict, reason = (None, "") if self.restoring else topic.refusal()
        if verdict is not None:
            return Subject(name, verdict=verdict, reason=reason)
        stored = self.stored_knobs(item for item in topic.names() if item in topic.files)
        subject = Subject(name, topic.knobs() + stored, conflicts=() if self.restoring else topic.conflicts())
        subject.restart = topic.restart
        subject.remarks.extend(topic.remarks)
        if not self.restoring:
            self._judge(topic, subject)
            for knob in subject.knobs:
                if not self._sets(topic, knob.item):
                    # only shown, not for the journal, whose entry of an earlier call is no longer asked for
                    knob.key, knob.follows = knob.key + " observed", True
        return subject

    def _sets(self, topic, item):
        part = item if item in topic.asked else topic.name
        return not self.observing and part in topic.asked and not topic.tool(part)

    def marked(self):
        """Only of the drop-in files: lines of fstab have no marks."""
        found = [(topic.name, knob) for topic in self.topics.values() for knob in self.stored_knobs(topic.files)]
        return [(name, knob) for name, knob in found if knob.now is not None and name != POINT]

    def _temporaries(self):
        return super()._temporaries() + temporaries(self.host, FSTAB)

    def legible(self, key, text):
        return any(topic.legible(key, text) for topic in (Sysctls, DevShm) + REQUESTS)

    def _judge(self, topic, subject):
        """Add the sentences on values that are not right and that this call does not set."""
        seen = []
        wrong = seen if self.observing else subject.notes
        for part, words in topic.asked.items():
            tool = topic.tool(part)
            if tool:
                place = tool[1].file + (" line %d" % tool[1].line if tool[1].line else "")
                value = ": %s" % tool[1].value if tool[1].value else ""
                subject.remarks.append("%s is left to %s (%s%s)" % (part, tool[0], place, value))
            found = [] if self._sets(topic, part) else topic.wrong(subject, part)
            if found:
                wrong.append("%s, SAP asks for %s (%s)" % ("; ".join(found), words, topic.source))
        subject.observed = bool(seen)
        subject.reason = "only observed: %s" % "; ".join(seen) if seen else ""

    # plan

    def want(self, subject):
        topic = self.topics[subject.name]
        if topic.asked:
            subject.wanted = dict(state=self.params["state"], source=topic.source, **topic.asked)
        for knob in subject.knobs:
            if self._sets(topic, knob.item) and not self._spared(topic, subject, knob):
                knob.wanted = topic.wanted(knob)

    def _spared(self, topic, subject, knob):
        """Whether nothing is to be stored, because it is needless or not known to be needed."""
        if knob.place == RUNNING or knob.now is not None:
            return False
        if self._needless(topic, subject, knob.item):
            return True
        running = [one for one in subject.at(RUNNING) if one.item == knob.item]
        held = not self.host.lacking(self.files[knob.item][0].path)
        unknown = held and captured.places(self.host) and all(one.now == topic.wanted(one) for one in running)
        if unknown:
            subject.unknown[knob.key] = "this collection stores no value, and what others store is not known"
        return unknown

    def _needless(self, topic, subject, item):
        """Whether the value after the next boot is right without a stored one."""
        boot = self.boot_value(subject, item, None)[0]
        unclear = [other for other in subject.conflicts if other["item"] == item and other["wins"] == "possible"]
        return boot is not None and topic.right(item, boot) and not unclear

    # the next boot

    def boot(self, subject, stored):
        return self.boots(subject, {item: stored.get(item) for item in self.topics[subject.name].names()})

    def boot_value(self, subject, item, text):
        found = self.topics[subject.name].boot_value(item, text, subject.conflicts)
        return found or super().boot_value(subject, item, text)

    def alike(self, item, one, _other):
        return next(topic for topic in self.topics.values() if item in topic.names()).right(item, one)

    # act

    def set(self, subject, knob):
        if not self.topics[subject.name].set(knob):
            super().set(subject, knob)

    # words

    def value(self, knob, text):
        if knob is not None and knob.item == POINT:
            return size_option(text) if knob.place == STORED else text + "k"
        return super().value(knob, text).strip('"')

    def show(self, knob, text):
        if text is None:
            return "absent"
        return in_gib(text) if knob.item == POINT and knob.place == RUNNING else self.value(knob, text)

    def explain(self, knob, now):
        return "someone else wrote it" if knob.place == RUNNING and knob.key.startswith("/") else ""
