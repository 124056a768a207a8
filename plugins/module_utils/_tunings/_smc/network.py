# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's side of the tuning smc: its modules, PNET IDs of interfaces and devices, and UEIDs, now and at boot.

Kernel: net/smc/smc_pnet.c (PNET IDs), net/smc/smc_clc.c (UEIDs). Each entry is a knob, so that entries of others stay.
"""

import contextlib
import errno
import os
import platform
import re

from ..._engine.places import UNITS, folder_of
from ..._engine.tuning import RUNNING, STORED, InputError, Knob, Subject, UnsupportedError, explained
from ..._host import kernel
from ..._host.drop_ins import DropIn, temporaries
from ..._host.errors import refused
from ..._host.host import HostError
from ..._machine import smc_hardware, smc_sockets, smc_tables
from ..._machine.smc_tables import DEVICE, INTERFACE
from .boot import PROGRAM_KEY, START, UNIT, BootService
from .preconditions import Preconditions
from .requests import entry_text, parse_entry, parse_pnet_ids, parse_ueids

KERNEL, PNET_IDS, UEIDS = "kernel", "PNET IDs", "UEIDs"
MODULE_NAMES = (smc_hardware.MODULE, "smc_diag")
MODULES = "/etc/modules-load.d/91-zpower-sap-tuning-smc.conf"
_MODULES_HEADER = (
    "# Loaded before instances open SMC sockets, kept by zpower.sap_tuning.smc: change it there, not here.\n"
)
_PRESENT = "present"
_UEID = "ueid"
# the end of the items of stored entries
_AT_BOOT = " at boot"
_RUNNING = re.compile(r"^smc (?:pnet (%s|%s)|(ueid)) (\S+)\Z" % (INTERFACE, DEVICE))
_ENTRY_TEXT = re.compile(r"^[A-Z0-9]{1,16}( port 2)?\Z")
# the unit's lines, see smc_tables.main()
_LINE = re.compile(r"^%s(?:(?:%s|%s) \S+ ([A-Z0-9]+) ([0-9])|ueid \S+)\Z" % (smc_tables.ENTRY, INTERFACE, DEVICE))

_LOAD_TIMEOUT_S = 60

_NO_UEIDS = "this kernel has no UEIDs, which came with Linux 5.16 or its versions in distributions"
_NO_PNET_IDS = "this kernel has no table of PNET IDs"
_UEID_ERRORS = {errno.ERANGE: "the kernel keeps %d" % smc_tables.MOST_UEIDS}
_PNET_ERRORS = {
    errno.EEXIST: "the hardware gives it a PNET ID, or another entry has its name",
    errno.EINVAL: "the kernel does not take this name",
}


def kernel_ready(host):
    """Why the kernel has no SMC and cannot load it, one clause; empty if it can, or if unknown. Loads nothing."""
    return "" if unknown_kernel(host) else smc_hardware.missing_kernel(host)


def unknown_kernel(host):
    """Why a capture does not tell whether the kernel has SMC; empty if it does, and for a running machine."""
    if not host.capture or smc_sockets.kernel_has_smc(host):
        return ""
    return host.lacking(smc_hardware.modules_folder(host))


def is_live(host):
    """Whether this is the running machine, and not a captured tree."""
    return host.root == "/"


def _parse_key(key):
    """(kind, name) of the entry that a running knob is of; None for another key."""
    match = _RUNNING.match(key)
    return match and (match.group(1) or match.group(2), match.group(3))


class Network:
    """The kernel's subjects of the tuning smc. params: its own; remembered: the journal's keys on the way back.

    An entry is an interface or device with a PNET ID, or a UEID; the unit has a block for each: "interface enc1000".
    """

    def __init__(self, host, params):
        self.host = host
        self.remembered = ()
        self.restoring = params["state"] == "restored"
        self.modules = DropIn(host, MODULES, _MODULES_HEADER)
        self.service = BootService(host)
        self.drop_ins = (self.modules,) + self.service.drop_ins
        self.entries = {} if self.restoring else parse_pnet_ids(params["pnet_ids"] or [])
        self.ueids = [] if self.restoring else parse_ueids(params["ueids"] or [])
        # {(kind, name): (running value, words of the unit's line)} of the request
        self.asked = {
            key: (entry_text(self.entries[key]), "%s %s %s %d" % (key + self.entries[key]))
            for key in sorted(self.entries)
        }
        self.asked.update(((_UEID, name), (_PRESENT, "%s %s" % (_UEID, name))) for name in self.ueids)
        self.preconditions = Preconditions(host, self.entries)
        # the entries that a change takes away for a moment
        self._taken_path = os.path.join(folder_of(platform.system()), "smc.pnet_ids")

    # which subjects and knobs

    def subjects(self):
        names = [KERNEL] + ([PNET_IDS] if self.entries else []) + ([UEIDS] if self.ueids else [])
        return [self.subject(name) for name in names]

    def owns(self, name):
        return name in (KERNEL, PNET_IDS, UEIDS)

    def owns_key(self, key):
        return self.service.owns(key) or key.startswith(("smc pnet ", "smc ueid ", MODULES + " "))

    def legible(self, key, text):
        entry = _parse_key(key)
        if not entry or text is None:
            return True
        return text == _PRESENT if entry[0] == _UEID else _ENTRY_TEXT.match(text) is not None

    def marked(self):
        found = [(KERNEL, self._module(name)) for name in self.modules.blocks()]
        found += [(KERNEL, knob) for knob in self.service.frame() if knob.now is not None]
        blocks = [block for block in self.service.unit.blocks() if block != START]
        return found + [(self._subject_of(block.split()[0]), self._line(block)) for block in blocks]

    @staticmethod
    def _subject_of(kind):
        return UEIDS if kind == _UEID else PNET_IDS

    def temporaries(self):
        return temporaries(self.host, MODULES) + temporaries(self.host, self._taken_path) + self.service.temporaries()

    # observe

    def subject(self, name):
        """One subject as it is now."""
        subject = Subject(name)
        subject.restart = "none"
        if not self.restoring:
            pnet_ids = {"%s %s" % key: self.asked[key][0] for key in self.entries}
            subject.wanted = {KERNEL: {"state": "present"}, PNET_IDS: pnet_ids, UEIDS: {"ueids": self.ueids}}[name]
        unknown, reason = unknown_kernel(self.host), "" if self.restoring else kernel_ready(self.host)
        if unknown:
            subject.verdict, subject.reason = "unknown", "whether the kernel has SMC is not known: %s" % unknown
        elif reason:
            subject.verdict, subject.reason = "unsupported", reason
        elif name == KERNEL:
            self._observe_kernel(subject)
        else:
            self._observe_table(subject)
        return subject

    def _observe_kernel(self, subject):
        subject.knobs = [self._module(name) for name in (MODULE_NAMES if self.restoring else self._modules_at_boot())]
        if self.restoring or (self.asked and self.service.usable()):
            subject.knobs += self.service.frame()
        if self.restoring:
            return
        self.preconditions.tell(subject, self._pnet_ids())
        if self.asked and not self.service.usable() and not self.host.lacking(UNITS):
            subject.remarks.append("this host has no systemd, so nothing keeps PNET IDs and UEIDs over a reboot")

    def _modules_at_boot(self):
        if kernel.has_builtin(self.host, smc_hardware.MODULE):
            return []
        # a name that the kernel lacks would be an error at each boot
        return [smc_hardware.MODULE] + [name for name in smc_hardware.modules(self.host) if name != smc_hardware.MODULE]

    def _has_tables(self):
        return is_live(self.host) and smc_sockets.kernel_has_smc(self.host)

    def _pnet_ids(self):
        """The kernel's PNET IDs; empty without SMC in the kernel, and for a captured root. Raises HostError."""
        if not self._has_tables():
            return {}
        try:
            found = self._taken() if self.restoring else {}
            found.update(smc_tables.pnet_ids())
            return found
        except OSError as error:
            raise refused("cannot read the kernel's PNET IDs", error) from error

    def _ueids(self):
        """The same of the kernel's UEIDs. Raises UnsupportedError too."""
        try:
            return smc_tables.ueids() if self._has_tables() else []
        except OSError as error:
            if error.errno == errno.EOPNOTSUPP and not self.restoring:
                raise UnsupportedError(_NO_UEIDS, error.errno) from error
            raise refused("cannot read the kernel's UEIDs", error) from error

    def _observe_table(self, subject):
        """Add the knobs of the entries of a table, running and stored, or sentences."""
        keys = list(filter(None, map(_parse_key, self.remembered))) if self.restoring else list(self.asked)
        keys = [key for key in keys if self._subject_of(key[0]) == subject.name]
        if subject.name == UEIDS:
            try:
                now = dict.fromkeys(((_UEID, name) for name in self._ueids()), _PRESENT)
            except UnsupportedError as error:
                subject.verdict, subject.reason = "unsupported", str(error)
                return
            self._check_room(now, keys)
        else:
            now = {key: entry_text(entry) for key, entry in self._pnet_ids().items()}
        for key in keys:
            if not self.restoring and self._leave_to_hardware(subject, *key):
                continue
            block = "%s %s" % key
            name, item = ("smc " + block, key[1]) if subject.name == UEIDS else ("smc pnet " + block, block)
            if is_live(self.host) or self.host.capture:
                subject.knobs.append(Knob(name, RUNNING, item, name, now.get(key)))
            if self.service.usable() and not self.restoring:
                subject.knobs.append(self._line(block))
        if self.restoring:
            blocks = [key[len(UNIT) + 1 :] for key in self.remembered if key.startswith(UNIT + " ")]
            kinds = (_UEID,) if subject.name == UEIDS else (INTERFACE, DEVICE)
            subject.knobs += [self._line(block) for block in blocks if block.partition(" ")[0] in kinds]
        elif self.host.capture:
            running = [knob.key for knob in subject.at(RUNNING)]
            subject.unknown.update(dict.fromkeys(running, "no capture holds the kernel's table"))
        elif not is_live(self.host):
            subject.remarks.append("the kernel's table is not in this tree")
        if not subject.knobs:
            subject.reason = "; ".join(subject.remarks)

    def _leave_to_hardware(self, subject, kind, name):
        """Whether the hardware gives it a PNET ID, which wins over the kernel's table; adds the sentence."""
        pnet_id, port = self.entries.get((kind, name), (None, 0))
        given = smc_hardware.hardware_id(self.host, kind, name, port) if pnet_id else None
        if given is not None and given == pnet_id:
            subject.remarks.append("the hardware gives %s %s the PNET ID %s, so nothing is set" % (kind, name, given))
        elif given is not None:
            subject.notes.append(
                "the hardware gives %s %s the PNET ID %s, which no table overrides: ask for it, or change it in the "
                "I/O configuration" % (kind, name, given)
            )
        return given is not None

    def _check_room(self, now, keys):
        """Raise InputError if the kernel has no room for all UEIDs."""
        missing = [name for _kind, name in keys if (_UEID, name) not in now]
        if not self.restoring and len(now) + len(missing) > smc_tables.MOST_UEIDS:
            raise InputError(
                "ueids: the kernel keeps %d and has %s, so there is no room for %s: remove one (smcd ueid del, or "
                "zpower.sap_tuning.rollback for those of this collection)"
                % (smc_tables.MOST_UEIDS, ", ".join(name for _kind, name in now), ", ".join(missing))
            )

    def _module(self, name):
        key = "%s %s" % (MODULES, name)
        return Knob(key, STORED, "module " + name, key, self.modules.block(name))

    def _line(self, block):
        kind, _blank, name = block.partition(" ")
        return self.service.line(block, (name if kind == _UEID else block) + _AT_BOOT)

    # plan

    def want(self, subject):
        for knob in subject.knobs:
            if knob.key in subject.unknown:
                continue
            if subject.name == KERNEL:
                module = knob.key.startswith(MODULES)
                knob.wanted = knob.key[len(MODULES) + 1 :] if module else self.service.wanted(knob)
            elif knob.place == RUNNING:
                knob.wanted = self.asked[_parse_key(knob.key)][0]
            else:
                knob.wanted = smc_tables.ENTRY + self.asked[tuple(knob.key.split(" ")[1:])][1]

    def boot(self, subject, stored):
        """({item: value after the next boot}, [why it differs from the stored value])."""
        knobs = {knob.item: knob for knob in subject.knobs if knob.place == STORED}
        texts = {item: text for item, text in stored.items() if text is not None}
        values = {re.sub(_AT_BOOT + r"\Z", "", item): self.value(knobs[item], text) for item, text in texts.items()}
        reason = smc_hardware.blocked(self.host) if subject.name == KERNEL and values else ""
        return values, [reason] if reason else []

    # act

    def set(self, subject, knob):
        """Give the knob its wanted value. Raises HostError, UnsupportedError."""
        if self.service.owns(knob.key):
            self.service.set(knob)
        elif knob.place == STORED:
            self.modules.put(knob.key[len(MODULES) + 1 :], knob.wanted)
            if knob.wanted is not None:
                self.load()
        else:
            self._set_running(knob)

    def load(self):
        """Load the module smc if the kernel does not have it. Raises HostError."""
        if smc_sockets.kernel_has_smc(self.host):
            return
        done = self.host.run(["modprobe", smc_hardware.MODULE], timeout=_LOAD_TIMEOUT_S)
        if done.rc:
            why = " ".join((done.err or done.out).split())[:300] or "exit code %d" % done.rc
            raise HostError("modprobe smc: %s" % why)

    def _set_running(self, knob):
        if knob.wanted is not None:
            self.load()
        kind, name = _parse_key(knob.key)
        try:
            if kind == _UEID:
                smc_tables.set_ueid(name, knob.wanted is not None)
            else:
                self._set_pnet_id(kind, name, parse_entry(kind, knob.wanted))
        except OSError as error:
            if error.errno == errno.EOPNOTSUPP:
                raise UnsupportedError(_NO_UEIDS if kind == _UEID else _NO_PNET_IDS, error.errno) from error
            words = "UEID %s" % name if kind == _UEID else "PNET ID of %s %s" % (kind, name)
            failed = refused("cannot set the %s to %s" % (words, knob.wanted or "none"), error)
            raise explained(failed, _UEID_ERRORS if kind == _UEID else _PNET_ERRORS) from error

    def _set_pnet_id(self, kind, name, wanted):
        """The kernel takes away all entries of a PNET ID at once: they are noted first, see recover()."""
        self.recover()
        table = smc_tables.pnet_ids()
        now = table.get((kind, name), ("",))
        taken = {key: entry for key, entry in table.items() if entry[0] == now[0]}
        noted = len(taken) + (wanted is not None) > 1
        if noted:
            lines = ["%s %s %s %d" % (key + taken[key]) for key in sorted(taken)]
            self.host.write(self._taken_path, "\n".join([kernel.boot_id(self.host) or ""] + lines) + "\n", mode=0o600)
        try:
            smc_tables.set_pnet_id(kind, name, wanted)
        except OSError:
            with contextlib.suppress(OSError):
                self.recover()
            raise
        if noted:
            self.host.remove(self._taken_path)

    def interrupted(self):
        """Whether a run has taken entries away and not added them again, because it was killed for example."""
        return self.host.exists(self._taken_path)

    def recover(self):
        """Add the entries again that such a run has taken away, as far as possible. Raises OSError and HostError."""
        if not self.interrupted():
            return
        if smc_sockets.kernel_has_smc(self.host):
            table, taken = smc_tables.pnet_ids(), self._taken()
            refusals = []
            for key in sorted(set(taken) - set(table)):
                try:
                    smc_tables.set_pnet_id(*key, taken[key])
                except OSError as error:
                    # the hardware has given it a PNET ID meanwhile, which wins
                    refusals += [error] if error.errno != errno.EEXIST else []
            if refusals:
                raise refusals[0]
        self.host.remove(self._taken_path)

    def _taken(self):
        """{(kind, name): (PNET ID, port)} of the entries that were taken away; none of an earlier boot."""
        boot, *lines = (self.host.read(self._taken_path) or "").splitlines() or [""]
        words = [line.split() for line in lines if boot == (kernel.boot_id(self.host) or "")]
        return {(one[0], one[1]): (one[2], int(one[3])) for one in words if len(one) == 4 and one[3].isdigit()}

    # words

    def same(self, knob, one, other):
        """On the way back only the presence of the program counts: every version of it accepts the same arguments."""
        if knob.key == PROGRAM_KEY and self.restoring:
            return (one is None) == (other is None)
        return one == other

    def value(self, knob, text):
        """SAPNET of the unit's line of a PNET ID, present of the line of a UEID."""
        if not knob.key.startswith(UNIT + " ") or knob.key == "%s %s" % (UNIT, START) or text is None:
            return self.service.value(knob, text)
        match = _LINE.match(text)
        if not match:
            return "edited by hand"
        return entry_text((match.group(1), int(match.group(2)))) if match.group(1) else _PRESENT

    def explain(self, knob, now):
        if knob.place == RUNNING and now is None:
            return "the module smc was unloaded, or someone else removed it"
        return "someone else wrote it"
