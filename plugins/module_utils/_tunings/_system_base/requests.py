# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What SAP notes ask and system_base sets only if its items name it: open files, uuidd.socket, the I/O scheduler.

The values are those of note_checks.ROWS. Of several files that set one, the order in which they are read decides.
"""

import functools
import os
import re

from ..._engine.places import UNITS
from ..._engine.tuning import RUNNING, STORED, Knob
from ..._host.drop_ins import DropIn
from ..._host.host import HostError
from ..._host.kernel import int_or_none
from ..._machine import note_checks
from ..._machine.other_settings import Setting, SystemKnob, conflict, of_system, udev_match, udev_rules
from ..._sap import limits
from ..._sap.instances import instances
from .topics import HEADER, NO_SOURCE, Topic, in_charge

_DEFAULT = "its default"
# read after saptune-*, sapconf-nofile.conf and 99-sap.conf of sap_install
_LOGIN = "/etc/security/limits.d/zz-zpower-sap-tuning-system-base.conf"
_LAST = os.path.basename(_LOGIN)
_DROP_IN = re.compile(re.escape(UNITS) + r"/(SAP[A-Z][A-Z0-9]{2}_[0-9]{2}\.service)\.d/" + re.escape(_LAST) + r"\Z")
_LIMIT = "(?:@sapsys - nofile|\\[Service\\]\nLimitNOFILE=)"


class Request(Topic):
    """A Topic of one part. row: that of note_checks with its values. hindrance(): as refusal()."""

    row = ""

    def __init__(self, tuning):
        super().__init__(tuning)
        row = next(row for row in note_checks.ROWS if row.subject == self.row)
        asked = note_checks.asked_of(row, tuning.release)
        if asked:
            self.asked, self.source = {self.name: asked.words}, asked.source

    def refusal(self):
        if self.host.capture:
            return "unknown", "not judged in a capture; what it holds of %s is a row of the platform" % self.row
        return self.hindrance() if self.asked else ("not_applicable", NO_SOURCE % self.tuning.release)

    def wrong(self, subject, part):
        found = [knob for knob in subject.knobs if knob.now is not None and knob.now != self.wanted(knob)]
        return ["%s is %s" % (knob.item, knob.now) for knob in found]


class OpenFiles(Request):
    """A file that pam_limits reads last, for logins, and a drop-in for the unit of each instance."""

    name = row = "nofile"
    restart = "instance"

    def __init__(self, tuning):
        super().__init__(tuning)
        host, found = self.host, instances(self.once)
        self._users = sorted({one.user for one in found}) or ["<sid>adm"]
        # those of instances that are gone can be taken back
        paths = ["%s/%s" % (folder, _LAST) for folder in host.glob(UNITS, "SAP*.service.d")]
        units = {_DROP_IN.match(path).group(1) for path in paths if _DROP_IN.match(path) and host.exists(path)}
        self.files = {self.name: (DropIn(host, _LOGIN, HEADER), self.name)}
        for unit in sorted(units | {one.unit for one in found if one.unit}):
            self.files[unit] = (DropIn(host, "%s/%s.d/%s" % (UNITS, unit, _LAST), HEADER), self.name)

    @staticmethod
    def legible(key, text):
        known = key == "%s nofile" % _LOGIN or _DROP_IN.match(key)
        return bool(known) and (text is None or bool(re.match(_LIMIT + r" ?[0-9]+\Z", text)))

    def hindrance(self):
        most = int_or_none(self.host.value("/proc/sys/fs/nr_open"))
        if most is not None and most < note_checks.FILES:
            return "unsupported", "fs.nr_open is %d: pam_limits would refuse logins with a higher limit" % most
        return None, ""

    def _entries(self, item, stored):
        """{whose limit: [Entry], the last one counts} at the next start. stored: whether our own file stands then."""
        own = limits.Entry(self.files[item][0].path, 0, str(note_checks.FILES) if stored else None)
        if item != self.name:
            found = limits.of_systemd(self.once, "DefaultLimitNOFILE")
            found += [entry for name, entry in limits.of_unit(self.once, item, own) if name == "LimitNOFILE"]
            return {"limit of %s" % item: [entry for entry in found if entry.value is not None]}
        kinds = [(kind, user) for user in self._users for kind in ("soft", "hard")]
        return {"%s limit of %s" % one: limits.of_session(self.once, one[1], self.name, one[0], own) for one in kinds}

    def _low(self, item, stored):
        """[(whose limit, Entry)] of those that are too low at the next start; an Entry without a file: the default."""
        last = {who: (entries or [limits.Entry("", 0, "")])[-1] for who, entries in self._entries(item, stored).items()}
        return [(who, entry) for who, entry in last.items() if not self.right(item, entry.value)]

    def conflicts(self):
        found = {}
        for item in self.files:
            for entries in self._entries(item, True).values():
                for entry in entries:
                    wins = entry is entries[-1] or found.get((item, entry)) == "yes"
                    found[item, entry] = "yes" if wins else "no"
        kinds = {item: "limits" if item == self.name else "unit" for item in self.files}
        others = [(item, entry, wins) for (item, entry), wins in found.items() if entry.line]
        return [conflict(kinds[item], entry, wins, item=item) for item, entry, wins in others]

    def right(self, item, value):
        return _lowest(value) >= note_checks.FILES

    def wanted(self, knob):
        return ("@sapsys - nofile %d" if knob.item == self.name else "[Service]\nLimitNOFILE=%d") % note_checks.FILES

    def boot_value(self, item, text, conflicts):
        low = self._low(item, text is not None)
        said = "%s line %d sets the %s to %s after the stored value"
        lost = [said % (entry.file, entry.line, who, entry.value) for who, entry in low if text is not None]
        return low[0][1].value or _DEFAULT if low else str(note_checks.FILES), lost

    def set(self, knob):
        if knob.item == self.name:
            return False
        # check mode does not need it; see outcome()
        from ..._engine.service import put_drop_in  # noqa: PLC0415

        drop_in, block = self.files[knob.item]
        put_drop_in(self.host, drop_in.path, functools.partial(drop_in.put, block), knob)
        return True

    def wrong(self, subject, part):
        low = [pair for knob in subject.knobs for pair in self._low(knob.item, knob.now is not None)]
        return ["the %s is %s" % (who, entry.value or _DEFAULT) for who, entry in low]


def _lowest(value):
    """The lower limit of a text such as 1048576, unlimited or 1024:524288; 0 for none."""
    words = value.split(":")
    endless = ("unlimited", "infinity", "-1")
    return min(note_checks.FILES if word in endless else int_or_none(word) or 0 for word in words)


class Socket(Request):
    """uuidd.socket, by the words of systemctl is-enabled and is-active."""

    name, row = "uuidd.socket", "uuidd"
    _ENABLED, _ACTIVE = "uuidd.socket is-enabled", "uuidd.socket is-active"
    # {wanted: the command}
    _WORDS = {"enabled": "enable", "disabled": "disable", "active": "start", "inactive": "stop"}
    # of a command with a few names: without these limits, the time grows with the cube of a line of many words
    _SETS = re.compile(
        r"systemctl\s[^;&|]{0,200}\b(enable|start|disable|stop|mask)\b[^;&|]{0,200}\buuidd\.socket"
        r"|^uuidd\.socket\s*=\s*(\w+)|^(?:Requires|Wants)\s*=.*\b(uuidd\.socket)"
    )

    @classmethod
    def legible(cls, key, text):
        words = {cls._ENABLED: ("enabled", "disabled"), cls._ACTIVE: ("active", "inactive")}
        return text in words.get(key, ())

    def _told(self):
        told = note_checks.shown(self.host, (self.name,))
        if self.name not in told:  # in a chroot, systemctl prints nothing and reports success
            raise HostError("systemctl does not tell the state of %s" % self.name)
        return told[self.name]

    def hindrance(self):
        try:
            told = self._told()
        except HostError as error:
            return "unsupported", str(error)
        state = told.get("UnitFileState") or told.get("LoadState") or "unknown"
        if state in self._WORDS:
            return None, ""
        return "unsupported", "%s is %s: only enabled and disabled can be taken back" % (self.name, state)

    def knobs(self):
        told = self._told()
        if told.get("LoadState") == "not-found":
            return []
        active = "active" if told.get("ActiveState") == "active" else "inactive"
        return [
            Knob(self._ENABLED, STORED, self.name, self._ENABLED, told.get("UnitFileState") or "unknown"),
            Knob(self._ACTIVE, RUNNING, self.name, self._ACTIVE, active),
        ]

    def conflicts(self):
        found = of_system(self.once, SystemKnob(None, None, self._SETS, ""))
        starts = ("enable", "start", self.name)
        return [dict(one, value="active" if one["value"] in starts else "inactive", item=self.name) for one in found]

    def right(self, item, value):
        return value in ("enabled", "active")

    def wanted(self, knob):
        return "enabled" if knob.place == STORED else "active"

    def set(self, knob):
        note_checks.systemctl(self.host, self._WORDS[knob.wanted], self.name)
        return True


class Scheduler(Request):
    """The scheduler of SCSI disks, such as those of zFCP, and a udev rule for those to come. DASD is left alone."""

    name, row = "io_scheduler", "I/O scheduler"
    _RULES = "/etc/udev/rules.d/91-zpower-sap-tuning-system-base.rules"
    _RULE = (
        'SUBSYSTEM=="block", ACTION=="add|change", KERNEL=="sd*", TEST=="queue/scheduler", ATTR{queue/scheduler}="%s"'
    )
    _SETS = re.compile(
        r"""echo\s+["']?([\w-]+)["']?\s*>\s*\S*/queue/scheduler|^elevator\s*=\s*["']?([\w-]+)"""
        r"""|^IO_SCHEDULER\s*=\s*["']?([\w-][\w, -]*)"""
    )

    def __init__(self, tuning):
        super().__init__(tuning)
        self.files = {self.name: (DropIn(self.host, self._RULES, HEADER), self.name)}

    @classmethod
    def legible(cls, key, text):
        if key != "%s %s" % (cls._RULES, cls.name):
            return bool(re.match(r"/sys/block/sd[a-z]+/queue/scheduler [\w-]+\Z", "%s %s" % (key, text or "")))
        found = re.search(r'="([\w-]+)"\Z', text or "")
        return text is None or bool(found and text == cls._RULE % found.group(1))

    def _disks(self):
        """{path of a scheduler: its text} of the SCSI disks."""
        names = [name for name in self.host.listdir("/sys/block") if name.startswith("sd")]
        names = [name for name in names if self.host.value("/sys/block/%s/device/type" % name) == "0"]
        found = {path: self.host.value(path) for path in map("/sys/block/%s/queue/scheduler".__mod__, names)}
        return {path: text for path, text in found.items() if text}

    def hindrance(self):
        return (None, "") if self._disks() else ("not_applicable", "there is no SCSI disk (sd)")

    def knobs(self):
        disks = self._disks().items()
        return [Knob(path, RUNNING, path.split("/")[3], self.name, note_checks.in_force(text)) for path, text in disks]

    def tool(self, part):
        return in_charge([one for one in self.conflicts() if one["what"] != "udev rule"])

    def conflicts(self):
        disks = [path.split("/")[3] for path in self._disks()]
        found = []
        for file, line, tokens in udev_rules(self.once, "queue/scheduler"):
            writes = [one for one in tokens if one.attribute == "queue/scheduler" and one.operator in ("=", ":=")]
            names = [one.value for one in tokens if (one.key, one.operator) == ("KERNEL", "==")]
            ours = all(any(udev_match(name, disk) for disk in disks) for name in names)
            if writes and ours and file != self._RULES:
                later = os.path.basename(file) > os.path.basename(self._RULES)
                # whether other conditions hold, only udev knows
                plain = {one.key for one in tokens} <= {"SUBSYSTEM", "ACTION", "KERNEL", "TEST", "ATTR"}
                wins = ("yes" if plain else "possible") if later else "no"
                found.append(conflict("udev rule", Setting(file, line, "", writes[-1].value), wins))
        found += of_system(self.once, SystemKnob(None, None, self._SETS, ""))
        return [dict(other, item=self.name) for other in found]

    def right(self, item, value):
        # a tool has a list and takes the first one that exists
        return set(re.findall(r"[\w-]+", value)) <= set(note_checks.NONE)

    def wanted(self, knob):
        disks = self._disks()
        if knob.place == RUNNING and self.right(knob.item, knob.now):
            return knob.now
        texts = [disks.get(knob.key, "")] if knob.place == RUNNING else disks.values()
        word = "noop" if any(re.search(r"\bnoop\b", text) for text in texts) else "none"
        return word if knob.place == RUNNING else self._RULE % word


REQUESTS = (OpenFiles, Socket, Scheduler)
