# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The service of systemd that sets PNET IDs and UEIDs at boot: each is one line of its unit.

Its program is an archive beside the journal, see smc_tables.main(). It needs no tools, neither Ansible's nor SMC's.
"""

import contextlib
import hashlib
import os
import platform
import re
import sys

from ..._engine import archive, service
from ..._engine.places import OWN_UNIT, PROGRAMS, UNITS, WANTS, folder_of
from ..._engine.tuning import STORED, Knob
from ..._host.drop_ins import DropIn, temporaries
from ..._host.host import HostError
from ..._machine.boot_sources import runs_systemd

SERVICE = OWN_UNIT + "smc.service"
UNIT = "%s/%s" % (UNITS, SERVICE)
LINK = "%s/%s" % (WANTS, SERVICE)
_HEADER = """\
# PNET IDs and UEIDs of SMC, kept by zpower.sap_tuning.smc: change them there, not here.
[Unit]
Description=PNET IDs and UEIDs of SMC (zpower.sap_tuning)
After=systemd-modules-load.service systemd-udev-trigger.service
[Service]
Type=oneshot
RemainAfterExit=yes
"""
_MAIN = """\
# sets PNET IDs and UEIDs at boot, see zpower.sap_tuning.smc
from %s._machine.smc_tables import program

program()
"""
_PROGRAM_FILES = ("_host.netlink", "_machine.smc_tables")
PROGRAM_KEY = "smc program"
# the block of the unit that is neither a PNET ID nor a UEID
START = "start"
_ENABLED = "enabled"
# units of SAP's start service: their connections need the entries
_UNITS_OF_SAP = re.compile(r"^SAP[A-Z0-9]{3}_[0-9]{2}\.service\Z")
# What can start instances at boot: on the nodes of a cluster their own units are disabled, and pacemaker starts them.
# systemd.resource-control(5): a unit comes after its slice, so SAP.slice makes instances installed later wait too.
_BEFORE = ["sapinit.service", "saphostagent.service", "pacemaker.service", "SAP.slice"]


class BootService:
    """The knobs of the unit UNIT, its LINK and its program."""

    def __init__(self, host):
        self._host = host
        self.unit = DropIn(host, UNIT, _HEADER)
        # the link has no blocks, but its folder may have to be made
        self.drop_ins = (self.unit, DropIn(host, LINK, ""))
        self._archive = os.path.join(folder_of(platform.system()), PROGRAMS["smc"])
        self._bytes = None

    def usable(self):
        return runs_systemd(self._host) if self._host.capture else self._host.exists("/run/systemd/system")

    @staticmethod
    def owns(key):
        return key in (PROGRAM_KEY, LINK) or key.startswith(UNIT + " ")

    def frame(self):
        """The knobs of the service itself."""
        data = self._host.data(self._archive)
        program = Knob(PROGRAM_KEY, STORED, "program", PROGRAM_KEY, None if data is None else _digest(data))
        there = SERVICE in self._host.listdir(WANTS)
        link = Knob(LINK, STORED, "service", LINK, _ENABLED if there else None)
        return [program, self.line(START), link]

    def line(self, block, item=None):
        """The knob of a block of the unit."""
        key = "%s %s" % (UNIT, block)
        return Knob(key, STORED, item or block, key, self.unit.block(block))

    def wanted(self, knob):
        """The wanted value of a knob of the service itself."""
        if knob.key == PROGRAM_KEY:
            return _digest(self._program())
        if knob.key == LINK:
            return _ENABLED
        names = [name for name in self._host.listdir(UNITS) if _UNITS_OF_SAP.match(name)]
        command = "%s -I %s %s" % (service.quoted(sys.executable), self._archive, UNIT)
        there = re.search(r"(?m)^ExecStart=(\S+ -I %s)$" % re.escape("%s %s" % (self._archive, UNIT)), knob.now or "")
        if there and self._host.capture:
            # with the Python of that machine, not of this one
            command = there.group(1)
        return "[Unit]\nBefore=%s\n[Service]\nExecStart=%s" % (" ".join(_BEFORE + names), command)

    def _program(self):
        if self._bytes is None:
            self._bytes = archive.packed(_MAIN % archive.PACKAGE, _PROGRAM_FILES)
        return self._bytes

    def set(self, knob):
        if knob.key == PROGRAM_KEY and knob.wanted is None:
            self._host.remove(self._archive)
        elif knob.key == PROGRAM_KEY:
            self._host.replace(self._archive, self._program(), mode=0o600)
        elif knob.key == LINK and knob.wanted is None:
            self._host.remove(LINK)
            self._systemctl("stop", SERVICE)
            self._systemctl("daemon-reload")
        elif knob.key == LINK:
            self._host.link(LINK, "../" + SERVICE)
            self._systemctl("daemon-reload")
        else:
            self.unit.put(knob.key[len(UNIT) + 1 :], knob.wanted)

    def _systemctl(self, *arguments):
        """systemd reads its units at the next boot anyway, so an error does no harm."""
        with contextlib.suppress(HostError):
            service.systemctl(self._host, *arguments)

    def temporaries(self):
        return [path for one in (UNIT, self._archive) for path in temporaries(self._host, one)]

    @staticmethod
    def value(knob, text):
        """The text of a knob of the service itself in the user's terms."""
        if knob.key == PROGRAM_KEY and text:
            return "version " + text[:12]
        match = re.match(r"^\[Unit\]\nBefore=(.*)\n\[Service\]\nExecStart=(.*)\Z", text or "")
        return "before %s: %s" % match.groups() if match else text


def _digest(data):
    return hashlib.sha256(data).hexdigest()
