# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Receive Packet Steering: rps_cpus and rps_flow_cnt of receive queues, and the size of the system's flow table.

Kernel: Documentation/networking/scaling.rst; net/core/net-sysfs.c (store_rps_map) for formats and errors.
"""

import errno
import functools
import operator
import os
import re

from .._engine.records import CRM, STUDY
from .._engine.tuning import RUNNING, STORED, InputError, Knob, Subject, Tuning, explained
from .._host import cpu_lists
from .._host.drop_ins import DropIn
from .._host.host import HostError
from .._machine.other_settings import SystemKnob, at_boot
from ._rps.cpus import UNITS, Cpus
from ._rps.interfaces import NET, Interfaces, queue_path
from ._rps.stored import RULES, RULES_HEADER, Others, queues_at_boot, rules, values_of
from ._sysctls import SysctlTuning
from ._system import sysctl_path

# the journal's key of a queue's value; it ends with the device's identity if another device has the name now
_KEY = re.compile(r"^%s/([^/]+)/(queues/rx-[0-9]+/(\w+))( of .*)?\Z" % NET)

FLOW_ENTRIES = "net.core.rps_sock_flow_entries"
FLOW_FILE = sysctl_path(FLOW_ENTRIES)
_SETS_FLOWS = re.compile(
    r"""echo\s+["']?(\d+)["']?\s*>\s*\S*rps_sock_flow_entries|rps_sock_flow_entries\b(?:\s*[=:]\s*["']?(\d+)\b)?"""
)
# Entries of the flow table with flow_steering; each receive queue of an interface has its share of them: Linux 6.12,
# Documentation/networking/scaling.rst, RFS, suggested configuration (7.2 has 65536).
FLOW_TABLE = 32768

_ERRORS = {
    errno.EROFS: "/sys is read-only here, as in a container: set RPS on the machine that owns the interface",
    errno.ENOENT: "the interface or its receive queue vanished meanwhile",
    errno.ENODEV: "the interface or its receive queue vanished meanwhile",
    errno.EOVERFLOW: "the mask names a CPU that this kernel cannot have",
    errno.EINVAL: "the kernel refuses it: all its CPUs are isolated (isolcpus, nohz_full), or it is too large",
}


def rounded(number):
    """The kernel rounds flow tables up to a power of two; 0 stays 0."""
    return 1 << (number - 1).bit_length() if number > 0 else 0


def same_parsed(parse, one, other):
    """Whether two texts are the same value; texts that are not values must be equal."""
    try:
        return parse(one) == parse(other)
    except (ValueError, TypeError, AttributeError):
        return one == other


class Rps(Tuning):
    """RPS of one host. params: the module's, see plugins/modules/rps.py."""

    name = "rps"
    sources = (STUDY % "5.8", CRM % "4.2.2", "Linux kernel, Documentation/networking/scaling.rst")
    options = dict(
        state=dict(type="str", choices=["present", "off", "restored", "confirmed"], default="present"),
        interfaces=dict(type="list", elements="str", default=["auto"]),
        cpus=dict(type="str", default="all"),
        every=dict(type="int", default=1),
        unit=dict(type="str", choices=list(UNITS), default="cpu"),
        flow_steering=dict(type="bool", default=False),
        flow_cnt=dict(type="int"),
        sock_flow_entries=dict(type="int"),
    )

    def __init__(self, host, params):
        if params["flow_steering"] and params["sock_flow_entries"] is None:
            params = dict(params, sock_flow_entries=FLOW_TABLE)
        super().__init__(host, params)
        self.cpus = Cpus(host, params)
        self.width = cpu_lists.width(host)
        self.rules = DropIn(host, RULES, RULES_HEADER)
        self.flow_entries = FlowEntries(host, params)
        self.drop_ins = (self.rules,) + self.flow_entries.drop_ins
        # {name of an interface: its earlier names}
        self._former = {}
        self.others = Others(host)
        self.interfaces = Interfaces(host, len(self.cpus.online))
        self.mask = None
        self._check()
        if params["state"] == "present" and host.exists(NET):
            self.mask = self.cpus.wanted_mask()
        elif params["state"] == "off":
            self.mask = 0

    def _check(self):
        """Check the limits of the kernel's flow tables: u32 per queue, 1 << 29 entries for the system (net/core)."""
        for option, low, high in (("every", 1, 8192), ("flow_cnt", 0, 1 << 31), ("sock_flow_entries", 0, 1 << 29)):
            number = self.params[option]
            if number is not None and not low <= number <= high:
                raise InputError("%s: %d is out of range; use %d to %d" % (option, number, low, high))
        if self.params["flow_steering"] and self.params["flow_cnt"] is not None:
            raise InputError("flow_cnt: flow_steering derives it from the number of receive queues; leave out one")
        if not self.params["interfaces"]:
            raise InputError("interfaces: the list is empty; name interfaces or use auto")

    # which interfaces

    def select(self):
        if not self.host.exists(NET):
            return [Subject("all", verdict="not_applicable", reason="RPS is a facility of the Linux kernel")]
        off = self._is_off if self.params["state"] == "off" else None
        chosen, reasons = self.interfaces.choose(self.params["interfaces"], off)
        none = [] if chosen else [Subject("all", verdict="not_applicable", reason="; ".join(reasons))]
        chosen += [FLOW_ENTRIES] if self.params["sock_flow_entries"] is not None else []
        return none + [self.observe(name) for name in chosen]

    def selects(self, name):
        names = {name} | self._former.get(name, set())
        return name == FLOW_ENTRIES or any(self.interfaces.means(self.params["interfaces"], one) for one in names)

    def current(self, entries):
        """Values of queues follow a device to its new name; a rule belongs to a name.

        A rule for a name that no interface has now belongs to the device that had the name.
        """
        if not any("identity" in entry for entry in entries.values()):
            return entries
        names, found = self.interfaces.by_identity(), {}
        for old in sorted(entries):
            key, entry = old, entries[old]
            identity, queue = entry.get("identity"), _KEY.match(key)
            name, now = queue.group(1) if queue else key[len(RULES) + 1 :], names.get(identity)
            if queue and identity:
                key, entry = self._current_queue(queue, entry, now)
            elif key.startswith(RULES + " ") and identity:
                now = name if now is None or self.host.exists("%s/%s" % (NET, name)) else now
                entry = dict(entry, subject=now)
            if identity and now not in (None, name):
                self._former.setdefault(now, set()).add(name)
            if key not in found or found[key].get("since", "") >= entry.get("since", ""):
                found[key] = entry
        return found

    def _current_queue(self, queue, entry, now):
        """(key, entry) of a queue's value; now: the present name of its interface, None if it is gone."""
        name, path, attribute, beside = queue.groups()
        key, subject = "%s/%s/%s" % (NET, now, path), now
        if now is None:
            if not beside and self.interfaces.identity(name) in (None, entry["identity"]):
                return queue.group(0), entry
            subject = "%s (%s)" % (name, entry["identity"])
            key = "%s/%s/%s of %s" % (NET, name, path, entry["identity"])
        return key, dict(entry, subject=subject, family="%s %s" % (subject, attribute))

    def legible(self, key, text):
        queue = _KEY.match(key)
        if not queue and key != FLOW_FILE:
            return True
        try:
            (cpu_lists.parse_mask if queue and queue.group(3) == "rps_cpus" else int)(text)
        except (ValueError, TypeError, AttributeError):
            return False
        return True

    def marked(self):
        return [(name, self._rule(name, "udev rule")) for name in self.rules.blocks()] + self.flow_entries.marked()

    def _is_off(self, name):
        queues = self.interfaces.queues(name)
        masks = [self._mask(self._value(queue_path(name, queue, "rps_cpus"))) for queue in queues]
        return not any(masks) and not self.rules.block(name)

    # observe

    def observe(self, name):
        if name == FLOW_ENTRIES:
            return self.flow_entries.observe(name)
        queues, knobs = self.interfaces.queues(name), []
        counts = self.params["flow_cnt"] is not None or self.params["flow_steering"] or self.restoring
        for queue in queues:
            for attribute in ("rps_cpus", "rps_flow_cnt")[: 1 + counts]:
                path = queue_path(name, queue, attribute)
                text = self._value(path)
                if text is not None:
                    item = queue if attribute == "rps_cpus" else "%s %s" % (queue, attribute)
                    knobs.append(Knob(path, RUNNING, item, "%s %s" % (name, attribute), text))
        if queues and not self.restoring and not any(knob.key.endswith("/rps_cpus") for knob in knobs):
            return Subject(name, verdict="unsupported", reason="this kernel was built without RPS (CONFIG_RPS)")
        if self.rules.usable():
            knobs.append(self._rule(name, "udev rule"))
            knobs += [self._rule(old, "udev rule of %s" % old) for old in sorted(self._former.get(name, ()))]
        subject = Subject(name, knobs, conflicts=self.others.conflicts(name, queues))
        subject.identity = self.interfaces.identity(name)
        masks = [self._mask(knob.now) for knob in knobs if knob.key.endswith("/rps_cpus")]
        subject.remarks += self.cpus.remarks(functools.reduce(operator.or_, masks, self.mask or 0))
        if self.restoring and not self.host.exists("%s/%s" % (NET, name)):
            subject.gone = "this host no longer has an interface %s, nor its device under another name" % name
        if not self.rules.usable():
            subject.reason = "this host has no udev, so nothing keeps the mask over a reboot"
        return subject

    def _value(self, path):
        """The text of a queue's value, None without it. HostError if it is none, as in a damaged capture."""
        text = self.host.value(path)
        if text and not self.legible(path, text):
            raise HostError("%s has '%.100s', which no kernel shows there" % (path, text))
        return text

    def _rule(self, name, item):
        return Knob("%s %s" % (RULES, name), STORED, item, RULES + name, self.rules.block(name))

    # plan

    def want(self, subject):
        if subject.name == FLOW_ENTRIES:
            self.flow_entries.want(subject)
            return
        values = {"rps_cpus": cpu_lists.format_mask(self.mask, self.width)}
        subject.wanted = dict(values, state=self.params["state"])
        if subject.verdict is not None:
            return
        numbers = {int(knob.item.split()[0][len("rx-") :]) for knob in subject.at(RUNNING)}
        if not numbers:
            raise self.interfaces.missing(subject.name)
        flow_cnt = self.params["flow_cnt"]
        if self.params["flow_steering"]:
            flow_cnt = self.params["sock_flow_entries"] // len(numbers)
        if flow_cnt is not None:
            values["rps_flow_cnt"] = str(rounded(flow_cnt))
        subject.wanted = dict(values, state=self.params["state"])
        queues = queues_at_boot(self.host, subject.name, max(numbers) + 1)
        for knob in subject.at(RUNNING):
            knob.wanted = values[os.path.basename(knob.key)]
        for knob in subject.at(STORED):
            # a rule for an earlier name could match another interface one day
            knob.wanted = rules(subject.name, queues, values) if knob.item == "udev rule" else None

    def boot(self, subject, stored):
        if subject.name == FLOW_ENTRIES:
            return self.flow_entries.boot(subject, stored)
        if "udev rule" not in stored:
            return {}, []
        text = stored["udev rule"]
        values = (values_of(text) if text else {}) or ({"rps_cpus": "edited by hand"} if text else {})
        same = functools.partial(same_parsed, cpu_lists.parse_mask)
        mask, lost = at_boot(subject.name, "rps_cpus", values.get("rps_cpus"), subject.conflicts, same)
        return dict(values, rps_cpus=mask or "0"), lost

    # act

    def set(self, subject, knob):
        if subject.name == FLOW_ENTRIES:
            self.flow_entries.set(subject, knob)
            return
        if knob.place == STORED:
            self.rules.put(knob.key[len(RULES) + 1 :], knob.wanted)
            return
        try:
            self.host.put(knob.key, knob.wanted)
        except HostError as error:
            raise explained(error, _ERRORS) from error

    # words

    def same(self, knob, one, other):
        if knob.place == STORED or one is None or other is None:
            return one == other
        return same_parsed(cpu_lists.parse_mask if knob.key.endswith("/rps_cpus") else int, one, other)

    def show(self, knob, text):
        if text is None:
            return "absent"
        if knob.place == STORED:
            named = len(set(re.findall(r"ATTR\{queues/(rx-\d+)/", text)))
            return self.value(knob, text) + (" for %d queue%s" % (named, "" if named == 1 else "s") if named else "")
        if not knob.key.endswith("/rps_cpus"):
            return text
        mask = self._mask(text)
        return "%s (mask %s)" % ("CPUs " + cpu_lists.format_list(cpu_lists.cpus_of(mask)) if mask else "off", text)

    def value(self, knob, text):
        if knob.place == RUNNING or text is None:
            return text
        if knob.item in self.flow_entries.files:
            return self.flow_entries.value(knob, text)
        values = values_of(text)
        return ", ".join("%s=%s" % pair for pair in sorted(values.items())) if values else "edited by hand"

    def explain(self, knob, now):
        if knob.place == STORED or not knob.key.endswith("/rps_cpus"):
            return ""
        if now is None:
            return "the receive queue is gone"
        left = self._mask(knob.wanted) & ~self._mask(now)
        if not left:
            return "someone else wrote it at the same time"
        cpus = cpu_lists.format_list(cpu_lists.cpus_of(left))
        return "the kernel left out CPU %s, which is offline or isolated (isolcpus, nohz_full)" % cpus

    @staticmethod
    def _mask(text):
        return cpu_lists.parse_mask(text) if text else 0


class FlowEntries(SysctlTuning):
    """The part of the tuning that is the flow table of Receive Flow Steering, one for the whole system."""

    name = "rps"
    subject = FLOW_ENTRIES
    paths = {FLOW_ENTRIES: FLOW_FILE}
    defaults = {FLOW_ENTRIES: "0"}
    stored_as = "sysctl.d"
    header = "# Receive Flow Steering, kept by zpower.sap_tuning.rps: change it there, not here.\n"

    def requested(self):
        number = self.params["sock_flow_entries"]
        return {} if number is None else {FLOW_ENTRIES: str(rounded(number))}

    def refusal(self):
        lacks = self.host.value(FLOW_FILE) is None
        return ("unsupported", "this kernel or network namespace has no %s" % FLOW_ENTRIES) if lacks else (None, "")

    def running_knobs(self):
        return [Knob(FLOW_FILE, RUNNING, "value", FLOW_ENTRIES, self.host.value(FLOW_FILE))]

    def system_knob(self, item):
        return SystemKnob(FLOW_ENTRIES, FLOW_FILE, _SETS_FLOWS, self.file("sysctl.d"))

    def want(self, subject):
        super().want(subject)
        subject.wanted["state"] = self.params["state"]

    def needless(self, subject, knob, item, value):
        return False

    def alike(self, item, one, other):
        return same_parsed(lambda text: rounded(int(text)), one, other)

    def boot_value(self, subject, item, text):
        value, lost = super().boot_value(subject, item, text)
        return str(rounded(int(value))) if value and value.isdigit() else value, lost
