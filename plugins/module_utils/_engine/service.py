# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The systemd service that is the guardian of a probation: it goes on after a reboot and a logout."""

import contextlib
import os
import re
import sys

from .._host.drop_ins import one_line, temporaries
from .._host.host import HostError
from .places import SERVICE, UNITS, WANTS

_TIMEOUT_S = 60
# the end of the names of the programs, beside the journals
PROGRAM = ".zip"
_UNIT = """\
# of zpower.sap_tuning, which removes it when the probation ends
[Unit]
Description=Take back the values of %(name)s on probation if nobody confirms them (zpower.sap_tuning)
After=multi-user.target network-online.target
ConditionPathExists=%(archive)s

[Service]
ExecStart=%(python)s -I %(archive)s
Restart=on-failure
RestartSec=15

[Install]
WantedBy=multi-user.target
"""


def quoted(program):
    """A path as ExecStart takes it."""
    if re.match(r"^[A-Za-z0-9/._+-]+$", program):
        return program
    for sign, escaped in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$")):
        program = program.replace(sign, escaped)
    return '"%s"' % one_line(program)


def systemctl(host, *arguments):
    """What systemctl prints. Raises HostError."""
    done = host.run(["systemctl"] + list(arguments), timeout=_TIMEOUT_S)
    if done.rc:
        why = " ".join((done.err or done.out).split())[:300] or "exit code %d" % done.rc
        raise HostError("systemctl %s: %s" % (" ".join(arguments), why))
    return done.out


def put_drop_in(host, path, write, knob):
    """Let write() give the drop-in of a unit a knob's wanted text, and systemd, if it runs, read it.

    Raises HostError after restoring the old text.
    """
    write(knob.wanted)
    try:
        if host.exists("/run/systemd/system"):
            systemctl(host, "daemon-reload")
    except HostError as error:
        write(knob.now)
        raise HostError(
            "%s was put back, because systemd does not read its units again: %s" % (path, error), error.errno
        ) from error


class Service:
    """The service of one tuning; folder: that of the checkpoint's journals."""

    def __init__(self, host, folder, name):
        self._host = host
        self._name = name
        self.unit = "%s%s.service" % (SERVICE, name)
        self._path = os.path.join(UNITS, self.unit)
        self._link = os.path.join(WANTS, self.unit)
        self._archive = os.path.join(folder, name + PROGRAM)

    def usable(self):
        """Whether systemd runs; its programs may be there without it."""
        return os.path.isdir(self._host.path("/run/systemd/system"))

    def start(self, archive):
        """Start it, now and at each boot. archive: the bytes of its program. It may not have begun on return."""
        self._host.replace(self._archive, archive, mode=0o600)
        text = _UNIT % dict(name=self._name, archive=self._archive, python=quoted(sys.executable))
        self._host.write(self._path, text)
        self._host.link(self._link, "../" + self.unit)
        systemctl(self._host, "daemon-reload")
        with contextlib.suppress(HostError):
            # left by an earlier service of this name; usually there is none
            systemctl(self._host, "reset-failed", self.unit)
        systemctl(self._host, "start", "--no-block", self.unit)

    def check(self):
        """Raise HostError if it has failed."""
        shown = systemctl(self._host, "show", "--property=Result", self.unit).strip()
        if shown not in ("Result=success", "Result=", ""):
            raise HostError("%s has failed (%s), see journalctl -u %s" % (self.unit, shown, self.unit))

    def end(self, own):
        """Stop it, and remove its files. own: this process is the service, so it is not stopped."""
        if not self.files():
            return
        if not own:
            with contextlib.suppress(HostError):
                # systemd may not know it, after a kill before the reload; the lease ends its process too
                systemctl(self._host, "stop", self.unit)
        for path in self.files():
            if path != self._archive:
                self._host.remove(path)
        with contextlib.suppress(HostError):
            # a unit without a file does no harm
            systemctl(self._host, "daemon-reload")
        self._host.remove(self._archive)

    def files(self):
        """Those of its files that exist; the archive is the last."""
        found = [self._link] if self.unit in self._host.listdir(WANTS) else []
        return found + [path for path in (self._path, self._archive) if self._host.exists(path)]

    def temporaries(self):
        """Temporary files that killed runs left behind."""
        return temporaries(self._host, self._path) + temporaries(self._host, self._archive)
