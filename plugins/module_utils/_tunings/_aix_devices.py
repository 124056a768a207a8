# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base class of tunings that change attributes of AIX devices. A subject is a device.

Stored values are those of the customized database (ODM), running values those with which the device was last
configured. A plain chdev changes both; if the device is busy, running follows stored when it is configured again.
"""

import re
from abc import abstractmethod

from .._aix import devices, startup
from .._engine.journal import Journal
from .._engine.tuning import RUNNING, STORED, InputError, Knob, Subject, Tuning
from .._host.host import HostError

_NAME = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9_.-]*\Z")
_IN_QUOTES = "; write hexadecimal numbers in quotes, because YAML reads 0x10 as 16"
# the tunings that set attributes of devices
_TUNINGS = ("aix_device_attributes", "smc_r")
_SET_BY = (
    "%s was set by the tuning %s: take that back first (ansible-playbook zpower.sap_tuning.rollback --limit HOST "
    "--tags %s), or ask for it there"
)
# the device of the whole system, which is configured at boot
SYSTEM = "sys0"


def check_name(name, where):
    """Raises InputError if this cannot be the name of a device or an attribute."""
    if not isinstance(name, str) or not _NAME.match(name):
        said = "%s: '%s' is not a name of AIX; use letters and digits, and after the first one also . _ -"
        raise InputError(said % (where, name))


def texts(values, where):
    """The user's {attribute: value} with values as texts. Raises InputError."""
    if not isinstance(values, dict):
        raise InputError("%s: give attributes with their values, such as {maxuproc: 4096}" % where)
    found = {}
    for name, value in values.items():
        check_name(name, where)
        if value is None or isinstance(value, (bool, list, dict)):
            said = "%s: %s is neither text nor a number: write it in quotes as lsattr shows it"
            raise InputError(said % (where, name))
        text = str(value).strip()
        if re.search(r"[\x00-\x1f]", text):
            raise InputError("%s: the value of %s has a line break or another control character" % (where, name))
        if devices.second_pair(text):
            said = "%s: chdev would read '%s' in the value of %s as another attribute: give it its own entry"
            raise InputError(said % (where, devices.second_pair(text), name))
        found[name] = text
    return found


class DeviceTuning(Tuning):
    """Attributes of AIX devices. params: those of the module, among them state and when_busy (fail or defer)."""

    def __init__(self, host, params):
        super().__init__(host, params)
        self.devices = devices.Devices(host)
        self._asked = {}
        self._deferred = set()

    @abstractmethod
    def requests(self):
        """The request on AIX: {device: {attribute: text}}. Raises InputError."""

    @abstractmethod
    def names(self):
        """The devices that the options name, for hosts that are not AIX."""

    def refusal(self, name):
        """(verdict, reason) if nothing can be set on this device, else (None, "")."""
        if self.devices.device(name) is None:
            return "not_applicable", "there is no device %s on this host (lsdev -C lists the present ones)" % name
        return None, ""

    def missing(self, name, error):
        """The reason if a missing attribute is not a mistake; raises InputError if it is one."""
        known = ", ".join(sorted(self.devices.attributes(name)))
        raise InputError("%s; %s has %s" % (error, name, known or "no attributes"))

    def check(self, subject):  # noqa: B027  (most devices take any legal values together)
        """Raises InputError if the requested values do not fit together."""

    # which devices

    def select(self):
        if not devices.is_aix():
            reason = "devices with attributes in an ODM exist on AIX only"
            return [Subject(name, verdict="not_applicable", reason=reason) for name in self.names()]
        self._asked = self.requests()
        return [self._ask(name) for name in sorted(self._asked)]

    def _ask(self, name):
        verdict, reason = self.refusal(name)
        if verdict is not None:
            return Subject(name, verdict=verdict, reason=reason)
        try:
            subject = self.observe(name)
        except devices.UnknownAttributeError as error:
            return Subject(name, verdict="unsupported", reason=self.missing(name, error))
        self.check(subject)
        reason = self._refused(subject)
        return Subject(name, verdict="unsupported", reason=reason) if reason else subject

    def _refused(self, subject):
        """The reason if the device forbids a change, else "". Raises InputError for values that are not legal."""
        wanted = self._asked[subject.name]
        for knob in subject.at(STORED):
            wanted[knob.item] = devices.spelled(wanted[knob.item], [knob.now])
        changes = [knob.item for knob in subject.at(STORED) if knob.now != wanted[knob.item]]
        settable = self.devices.attributes(subject.name) if changes else {}
        fixed = [item for item in changes if settable.get(item) is False]
        if fixed:
            return "lsattr says that users cannot set %s" % subject.title(*fixed)
        for item in changes:
            legal = self.devices.legal(subject.name, item)
            wanted[item] = devices.spelled(wanted[item], legal)
            if legal and devices.allows(legal, wanted[item]) is False:
                hexadecimal = any(one.startswith("0x") for one in legal) and not wanted[item].startswith("0x")
                raise InputError(
                    "%s: '%s' is not legal; lsattr -R has %s%s"
                    % (subject.title(item), wanted[item], ", ".join(legal), _IN_QUOTES if hexadecimal else "")
                )
        return ""

    def observe(self, name):
        asked = self._asked.get(name)
        if asked is None:
            asked = [key[len(name) + 1 :] for key in self.remembered if key.startswith(name + " ")]
        subject = Subject(name)
        if self.restoring and self.devices.device(name) is None:
            subject.gone = "this host no longer has a device %s" % name
            return subject
        silent = []
        for attribute in asked:
            key = "%s %s" % (name, attribute)
            try:
                subject.knobs.append(Knob(key, STORED, attribute, key, self.devices.stored(name, attribute)))
            except devices.UnknownAttributeError as error:
                if not self.restoring:
                    raise
                subject.remarks.append("nothing to take back: %s" % error)
                continue
            in_force = self.devices.in_force(name, attribute)
            if in_force is None:
                silent.append(attribute)
            else:
                subject.knobs.append(Knob(key + " in force", RUNNING, attribute, key, in_force, follows=True))
        if silent:
            subject.remarks.append("lsattr -P does not show the value in force of %s" % subject.title(*silent))
        if name in self._deferred:
            subject.remarks.append("%s is busy: only its database was changed (chdev -P)" % name)
        if name == SYSTEM:
            subject.restart = "reboot"
        subject.conflicts = startup.others(self.once, name, asked)
        return subject

    # plan

    def want(self, subject):
        wanted = self._asked[subject.name]
        subject.wanted = {"state": "present", "attributes": dict(wanted)}
        for knob in subject.at(STORED):
            knob.wanted = wanted[knob.item]

    def follow(self, subject):
        stored = {knob.item: knob.wanted for knob in subject.at(STORED)}
        for knob in subject.at(RUNNING):
            knob.wanted = stored.get(knob.item, knob.now)

    def boot(self, subject, stored):
        return dict(stored), []

    def permit(self, subject):
        """Two tunings that set one attribute would take the value of the other one for the first value."""
        changes = {} if self.restoring else {knob.key: knob.item for knob in self.changes(subject)}
        for name in _TUNINGS if changes else ():
            journal = Journal(self.host, name)
            for one in [journal] + journal.checkpoints():
                items = sorted(changes[key] for key in set(changes) & set(one.entries))
                if items and name != self.name:
                    raise HostError(_SET_BY % (subject.title(*items), name, name))

    # act

    def steps(self, subject, knobs):
        return [knobs]

    def set_together(self, subject, knobs):
        name, values = subject.name, {knob.item: knob.wanted for knob in knobs}
        in_force = {knob.item: knob.now for knob in subject.at(RUNNING)}
        try:
            # a device that runs with these values already is not touched
            self._change(name, values, all(in_force.get(item) == value for item, value in values.items()))
        except HostError as error:
            lost = self._put_back(name, {knob.item: knob.now for knob in knobs})
            raise HostError("; ".join([str(error)] + lost), error.errno) from error

    def _change(self, name, values, database_only):
        try:
            self.devices.change(name, values, database_only)
        except devices.DeviceBusyError as error:
            if database_only:
                raise
            if self.params["when_busy"] != "defer":
                raise HostError(
                    "%s; end the programs that use the device, or give when_busy: defer, which changes only the "
                    "database until the device is configured again" % error
                ) from error
            self.devices.change(name, values, database_only=True)
            self._deferred.add(name)

    def _put_back(self, name, before):
        """After a failure, undo earlier changes in the database; returns [a sentence] if that fails."""
        try:
            moved = {item: text for item, text in before.items() if self.devices.stored(name, item) != text}
            if moved:
                self.devices.change(name, moved, database_only=True)
        except HostError as error:
            return ["the changes before the failure could not be put back: %s" % error]
        return []

    # texts

    def show(self, knob, text):
        return "absent" if text is None else text or "empty"

    def explain(self, knob, now):
        return "chdev reported success; the device may not take this value"
