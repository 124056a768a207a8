# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What SAP asks of the system of an application server: sysctls, the size of /dev/shm.

The values are in _system_base/values.py; what is set on request only is in _system_base/requests.py. A value that
saptune, sapconf or tuned sets is left to that tool.
"""

import re

from .._engine import captured
from .._engine.tuning import RUNNING, STORED, Knob, Subject
from .._host.drop_ins import DropIn, temporaries
from .._host.kernel import distribution
from ._about import SOURCES
from ._system import KernelTuning, sysctl_path
from ._system_base.others import HUGE, HUGE_FILE, RATIO, OtherSettings, is_ratio, ratio_of
from ._system_base.requests import HEADER, REQUESTS, OpenFiles
from ._system_base.shared_memory import FSTAB, POINT, SOURCE, TOLERANCE_KB, Fstab, SharedMemory, fields
from ._system_base.values import DIRTY, ROWS, SUBJECTS, all_asked, of_releases, release, row_of, subject_of

SYSCTL = "/etc/sysctl.d/91-zpower-sap-tuning-system-base.conf"
ITEMS = SUBJECTS + (POINT, HUGE) + tuple(REQUESTS)
# The keepalive is of no solution of saptune, and another value than the one for SAP ASE (Note 1680803).
OPTIONAL = ("net.ipv4.tcp_keepalive",) + tuple(REQUESTS)
_NAMES = tuple(sorted({asked.name for row in ROWS for asked in row.asked}))
# at_boot() says so of a file that gives no value
_SET_BY = "set by "
_NUMBERS = re.compile(r"^[0-9]+(?: [0-9]+)*\Z")
_LINE = re.compile(r"^([a-z0-9_.]+) = ([0-9]+(?: [0-9]+)*)\Z")


class SystemBase(KernelTuning):
    """The base values of one host, one subject per topic. params: the module's, see plugins/modules/system_base.py."""

    name = "system_base"
    sources = SOURCES["system_base"]
    options = dict(
        state=dict(type="str", choices=["observe", "present", "restored", "confirmed"], default="observe"),
        confirmed_state=dict(type="str", choices=["observe", "present", "restored"], default="present"),
        items=dict(
            type="list", elements="str", choices=list(ITEMS), default=[item for item in ITEMS if item not in OPTIONAL]
        ),
    )

    def __init__(self, host, params):
        sysctls = DropIn(host, SYSCTL, HEADER)
        files = {name: (sysctls, name) for name in _NAMES}
        files[POINT] = (Fstab(host), POINT)
        super().__init__(host, params, files)
        self.observing = params["state"] == "observe"
        self.release = release(host)
        asked = [name for name in REQUESTS if self.restoring or name in params["items"]]
        self.requests = {name: REQUESTS[name](host, self.once, self.release) for name in asked}
        for request in self.requests.values():
            self.files.update(request.files)
        # of the folders of these files, and not if nothing is written
        kept = dict.fromkeys(drop_in for item, (drop_in, _block) in self.files.items() if item != POINT)
        self.drop_ins = () if self.observing else tuple(kept)
        self.shared_memory = SharedMemory(host)
        self.other_settings = OtherSettings(self.once, SYSCTL)

    # observe

    def select(self):
        if not self.host.exists("/proc/sys"):
            return [Subject("all", verdict="not_applicable", reason="these values are for Linux")]
        return [self.observe(item) for item in ITEMS if item in self.params["items"]]

    def selects(self, name):
        # on the way back only: all values of the journal, whatever is asked for now
        return True

    def refusal(self, name):
        """(verdict, reason) if a subject cannot be set on this host, else (None, "")."""
        if name == HUGE:
            there = self.host.exists(HUGE_FILE)
            return (None, "") if there else ("unsupported", "this kernel has no transparent hugepages")
        if name == POINT:
            return self._refusal_of_shared_memory()
        if name in self.requests:
            return self._refusal_of_request(self.requests[name])
        return self._refusal_of_sysctls(name)

    def _refusal_of_request(self, request):
        if self.host.capture:
            return "unknown", "not judged in a capture; what it holds of %s is a row of the platform" % request.row
        if request.asked is None:
            return "not_applicable", "no public source names a value for %s" % self.release
        return request.refusal()

    def _refusal_of_sysctls(self, name):
        row = row_of(name, self.release)
        if self.host.capture and of_releases(name) and not distribution(self.host):
            return "unknown", "the capture does not tell the release: it has no os-release"
        if row is None:
            return "not_applicable", "no public source names a value for %s" % self.release
        lacks = self.lacks({asked.name: sysctl_path(asked.name) for asked in row.asked})
        if lacks:
            return "unsupported", lacks
        memory, limit = self.shared_memory.memory * 1024, row.asked[0].value
        if name == DIRTY and memory * 20 // 100 < int(limit):
            return "not_applicable", (
                "%s bytes are more than the kernel's default, 20 %% of the memory (%d MiB), so they would limit nothing"
                % (limit, memory >> 20)
            )
        return None, ""

    def _refusal_of_shared_memory(self):
        if self.shared_memory.options() is None:
            return "unsupported", "no tmpfs is mounted on %s" % POINT
        if not self.shared_memory.memory:
            return "unsupported", "/proc/meminfo does not tell the size of the memory"
        # what a capture lacks is unknown
        if not self.observing and not self.host.capture and not self.host.exists(FSTAB):
            return "unsupported", "there is no %s, so a size cannot be kept" % FSTAB
        return None, ""

    def observe(self, name):
        if self.restoring:
            return self._observe_back(name)
        verdict, reason = self.refusal(name)
        if verdict is not None:
            return Subject(name, verdict=verdict, reason=reason)
        if name in self.requests:
            conflicts = self.requests[name].conflicts()
        else:
            conflicts = [other for item in self._items(name) for other in self.other_settings.conflicts(item)]
        subject = self._subject(name, conflicts)
        self._judge(subject)
        for knob in subject.knobs:
            if not self._sets(name if name in self.requests else knob.item):
                # only shown, not for the journal, whose entry of an earlier call is no longer asked for
                knob.key, knob.follows = knob.key + " observed", True
        return subject

    def _subject(self, name, conflicts=()):
        subject = Subject(name, self._running(name) + self._stored(name), conflicts=conflicts)
        subject.restart = self.requests[name].restart if name in self.requests else None
        return subject

    def _sets(self, item):
        return not self.observing and not self._tool(item)

    def _tool(self, item):
        return self.requests[item].tool() if item in self.requests else self.other_settings.tool(item)

    def _observe_back(self, name):
        subject = self._subject(name)
        if name == POINT and POINT in self.remembered and self.shared_memory.used():
            # a program may have reserved more than the first size, and get a SIGBUS
            subject.knobs = subject.at(STORED)
            subject.remarks.append(
                "%s is in use, so it keeps its size until the next boot; only %s is taken back" % (POINT, FSTAB)
            )
        return subject

    def _items(self, name):
        """The names of a subject's knobs on this release."""
        if name in (POINT, HUGE):
            return [name]
        if name in self.requests:
            return list(self.requests[name].files) or [name]
        row = None if self.restoring else row_of(name, self.release)
        return [asked.name for asked in row.asked] if row else sorted(all_asked(name))

    def _asked(self, item):
        row = row_of(subject_of(item), self.release)
        found = {asked.name: asked for asked in row.asked} if row else {}
        return found.get(item) or all_asked(subject_of(item))[item]

    def _running(self, name):
        if name == HUGE:
            match = re.search(r"\[(\w+)\]", self.host.value(HUGE_FILE) or "")
            return [Knob(HUGE_FILE, RUNNING, HUGE, HUGE, match.group(1) if match else None)]
        if name == POINT:
            size = self.shared_memory.size()
            return [] if size is None else [Knob(POINT, RUNNING, POINT, POINT, str(size))]
        if name in self.requests:
            return self.requests[name].knobs()
        found = []
        for item in self._items(name):
            path = sysctl_path(item)
            if self.host.exists(path):
                found.append(Knob(path, RUNNING, item, path, self._text(item)))
        return found

    def _text(self, item):
        """The value in force; of dirty limits "ratio 20" while that form is."""
        text = " ".join((self.host.value(sysctl_path(item)) or "").split())
        ratio = ratio_of(item)
        if ratio and text == "0":
            return RATIO + (self.host.value(sysctl_path(ratio)) or "0")
        return text

    def _stored(self, name):
        return [] if name == HUGE else self.stored_knobs(item for item in self._items(name) if item in self.files)

    def marked(self):
        """Only of the drop-in files: lines of fstab have no marks."""
        found = [(subject_of(knob.item), knob) for knob in self.stored_knobs(_NAMES)]
        for name, request in self.requests.items():
            found += [(name, knob) for knob in self.stored_knobs(request.files)]
        return [pair for pair in found if pair[1].now is not None]

    def _temporaries(self):
        return super()._temporaries() + temporaries(self.host, FSTAB)

    def legible(self, key, text):
        if key == "%s %s" % (FSTAB, POINT):
            return text is None or ("\n" not in text and fields(text)[1:2] == [POINT])
        if key == POINT:
            return text is not None and text.isdigit()
        if key.startswith(SYSCTL + " "):
            match = _LINE.match(text or "")
            known = key[len(SYSCTL) + 1 :] in _NAMES
            return known and (text is None or bool(match and key.endswith(" " + match.group(1))))
        item = next((item for item in _NAMES if sysctl_path(item) == key), None)
        if item is None:
            return any(request.legible(key, text) for request in REQUESTS.values())
        if text is None:
            return False
        number = text[len(RATIO) :] if ratio_of(item) and is_ratio(text) else text
        return bool(_NUMBERS.match(number))

    # what is right

    def met(self, knob):
        """Whether the present value of a knob is what SAP asks for."""
        if knob.item == POINT:
            memory = self.shared_memory
            return memory.met(int(knob.now) if knob.place == RUNNING else memory.stored(knob.now))
        return knob.now is not None and self._asked(knob.item).met(self.value(knob, knob.now))

    def asked_for(self, item):
        """What SAP asks for."""
        if item == POINT:
            least = self.shared_memory.wanted - TOLERANCE_KB
            return "75 %% of memory and swap, at least %s" % self._size(max(least, 0))
        return self.requests[item].asked.words if item in self.requests else self._asked(item).words()

    @staticmethod
    def _size(size):
        return "%.1f GiB" % (int(size) / 1048576.0)

    def _source(self, name):
        if name in self.requests:
            return self.requests[name].asked.source
        return SOURCE if name == POINT else row_of(name, self.release).source

    def _judge(self, subject):
        """Add the sentences on values that are not right and that this call does not set."""
        if subject.name == HUGE:
            subject.remarks.append(
                "transparent hugepages are only observed: no public source asks for a value on an application server"
            )
            return
        seen, request = [], self.requests.get(subject.name)
        for item in [subject.name] if request else self._items(subject.name):
            tool = self._tool(item)
            if tool:
                place = tool[1].file + (" line %d" % tool[1].line if tool[1].line else "")
                value = ": %s" % tool[1].value if tool[1].value else ""
                subject.remarks.append("%s is left to %s (%s%s)" % (item, tool[0], place, value))
            if self._sets(item):
                continue
            wrong = seen if self.observing else subject.notes
            sentence = "SAP asks for %s (%s)" % (self.asked_for(item), self._source(subject.name))
            if request:
                found = "; ".join(request.wrong(subject.knobs))
                wrong += ["%s, %s" % (found, sentence)] if found else []
                continue
            running = next((knob for knob in subject.at(RUNNING) if knob.item == item), None)
            stored = next(knob for knob in subject.at(STORED) if knob.item == item)
            if running is not None and not self.met(running):
                wrong.append("%s is %s, %s" % (item, self.show(running, running.now), sentence))
            else:
                boot = None if captured.places(self.host) else self.boot_value(subject, item, stored.now)[0]
                if boot is not None and not boot.startswith(_SET_BY) and not self._boot_met(item, boot):
                    wrong.append("%s is %s after the next boot, %s" % (item, self._shown(item, boot), sentence))
        subject.observed = bool(seen)
        subject.reason = "only observed: %s" % "; ".join(seen) if seen else ""

    # plan

    def want(self, subject):
        if subject.name == HUGE:
            return  # nothing is asked for
        subject.wanted = {"state": self.params["state"], "source": self._source(subject.name)}
        if subject.name in self.requests:
            self._want_request(subject, self.requests[subject.name])
            return
        for item in self._items(subject.name):
            subject.wanted[item] = self.asked_for(item)
            if self._sets(item):
                for knob in subject.knobs:
                    if knob.item == item:
                        self._want(subject, knob)

    def _want_request(self, subject, request):
        subject.wanted[subject.name] = request.asked.words
        for knob in subject.knobs if self._sets(subject.name) else ():
            if not (knob.place == STORED and knob.now is None and self._needless(subject, knob.item)):
                knob.wanted = request.wanted(knob)

    def _want(self, subject, knob):
        if knob.now is not None and self.met(knob):
            return
        if knob.place == STORED and knob.now is None:
            if self._needless(subject, knob.item):
                return
            running = [one for one in subject.at(RUNNING) if one.item == knob.item]
            held = not self.host.lacking(self.files[knob.item][0].path)
            if held and captured.places(self.host) and all(self.met(one) for one in running):
                subject.unknown[knob.key] = "this collection stores no value, and what others store is not known"
                return
        if knob.item == POINT:
            memory = self.shared_memory
            knob.wanted = str(memory.wanted) if knob.place == RUNNING else memory.line(knob.now)
        elif knob.place == RUNNING:
            knob.wanted = self._asked(knob.item).raised(knob.now)
        else:
            running = next(one.now for one in subject.at(RUNNING) if one.item == knob.item)
            knob.wanted = "%s = %s" % (knob.item, self._asked(knob.item).raised(running))

    def _needless(self, subject, item):
        """Whether the value after the next boot is right without a stored one."""
        boot = self.boot_value(subject, item, None)[0]
        unclear = [other for other in subject.conflicts if other["item"] == item and other["wins"] == "possible"]
        return boot is not None and self._boot_met(item, boot) and not unclear

    # the next boot

    def boot(self, subject, stored):
        return self.boots(subject, {item: stored.get(item) for item in self._items(subject.name)})

    def boot_value(self, subject, item, text):
        if subject.name == OpenFiles.name:
            return self.requests[subject.name].boot_value(item, text)
        if item != POINT:
            return super().boot_value(subject, item, text)
        others = [other for other in subject.conflicts if other["item"] == item]
        return _SET_BY + others[0]["what"] if others else "%dk" % self.shared_memory.stored(text), []

    def default(self, item):
        return None if item in self.requests else self._asked(item).default

    def alike(self, item, one, other):
        return self._boot_met(item, one)

    def _boot_met(self, item, value):
        if item == POINT:
            size = self.shared_memory.parse(value)
            return size is None or self.shared_memory.met(size)
        for request in self.requests.values():
            if item in request.files or item == request.name:
                return request.right(value)
        return self._asked(item).met(" ".join(str(value).split()))

    # act

    def set(self, subject, knob):
        if knob.key.startswith("/"):
            super().set(subject, knob)
        if subject.name in self.requests:
            self.requests[subject.name].set(knob)

    def set_running(self, knob):
        if knob.item == POINT:
            self.shared_memory.resize(knob.wanted)
        elif is_ratio(knob.wanted):
            self.write(sysctl_path(ratio_of(knob.item)), knob.wanted[len(RATIO) :])
        else:
            self.write(knob.key, knob.wanted)

    # words

    def value(self, knob, text):
        if knob is not None and knob.item == POINT:
            return text if knob.place == STORED else text + "k"
        return super().value(knob, text).strip('"')

    def show(self, knob, text):
        if text is None:
            return "absent"
        return self._size(text) if knob.item == POINT and knob.place == RUNNING else self.value(knob, text)

    def _shown(self, item, value):
        size = self.shared_memory.parse(value) if item == POINT else None
        return value if size is None else self._size(size)

    def explain(self, knob, now):
        return "someone else wrote it" if knob.place == RUNNING and knob.key.startswith("/") else ""
