# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The restarts of instances in one run: those that the option restart names, each once, none after a failure."""

import errno
import platform
import re
import time

from ..._engine.tuning import InputError
from ..._host.host import HostError
from ..._machine import cluster
from ..._sap.sapcontrol import NotRunning, SapControl
from .subjects import title

_PAUSE = 1.0  # seconds between two checks of an instance
# of a tuning's module that writes profiles and restarts instances
OPTIONS = dict(
    change=dict(type="str", default=""),
    restart=dict(type="list", elements="str", default=[]),
    restart_timeout=dict(type="int", default=600),
    restart_soft_timeout=dict(type="int", default=0),
    restart_in_cluster=dict(type="bool", default=False),
)


def check_names(params):
    """Check the options for restarts, and change. Raises InputError."""
    odd = [name for name in params["restart"] if not re.match(r"^[A-Z][A-Z0-9]{2}_[0-9]{2}\Z", name)]
    if odd:
        raise InputError("restart: '%s' is not an instance; write system and number, such as PRD_00" % odd[0])
    if params["restart_timeout"] < 1:
        raise InputError("restart_timeout: %d is out of range; use 1 second or more" % params["restart_timeout"])
    soft = params.get("restart_soft_timeout") or 0
    if soft < 0:
        raise InputError("restart_soft_timeout: %d is out of range; use 0 seconds or more" % soft)
    if not (params.get("change") or "").isprintable():
        raise InputError("change: %r goes into a comment of the profile, give printable text" % params["change"])


class Restarts:
    """tuning: its name, for what a user is told. params: those of its call."""

    def __init__(self, host, tuning, params):
        self.host = host
        self.tuning = tuning
        self.params = params
        self._done, self._failed = set(), []

    def refusal(self, instance):
        """Why an instance must not be restarted now, empty if it may be: Pacemaker would take that for a failure."""
        if self.params.get("restart_in_cluster") or platform.system() == "AIX":
            return ""
        return cluster.refusal(self.host, instance, self.tuning)

    def lost_locks(self, instance):
        """[a sentence] if a restart loses the locks of the system."""
        return cluster.lost_locks(self.host, instance)

    def done(self, instance):
        """Whether this run has restarted the instance, and it came back."""
        return title(instance) in self._done and title(instance) not in self._failed

    def restart(self, instance, undo=False):
        """Restart an instance, once in a run; undo: again with the values before, if it was restarted.

        Raises HostError if it does not come back, and if an instance before it did not.
        """
        name = title(instance)
        if undo:
            if name not in self._done:
                return  # nothing to undo: it was not stopped
        elif self._failed:
            raise HostError("%s was not restarted, because %s did not come back" % (name, self._failed[0]))
        elif name in self._done:
            return  # it has started with all stored values, also those of its other profile
        # maintenance may have ended since the plan, while other instances were restarted
        refused = "" if undo else self.refusal(instance)
        if refused:
            raise HostError(refused)
        self._done.add(name)
        try:
            control = SapControl(self.host, instance)
            restart(control, name, self.params["restart_timeout"], self.params.get("restart_soft_timeout") or 0)
        except HostError:
            self._failed.append(name)
            raise


def restart(control, title, timeout, soft=0):
    """Restart the instance of a SapControl and its start service, which then reads profile and unit again.

    title: the instance in messages, PRD_00. timeout: seconds for the stop, and again for the start. soft: seconds
    before them in which its work may end. Returns when all processes run. Raises HostError (errno ETIMEDOUT if it takes
    too long) and leaves the instance as it is.
    """
    control.stop(soft)
    _wait_for(control, title, "stopped", "stop", soft + timeout)
    control.restart_service()
    _start(control, title, timeout)


def _start(control, title, timeout):
    until = time.time() + timeout
    while True:
        try:
            control.start()
            break
        except NotRunning:
            # sapstartsrv is not back yet
            if time.time() >= until:
                raise
            time.sleep(_PAUSE)
    _wait_for(control, title, "running", "come back", timeout)


def _wait_for(control, title, state, verb, timeout):
    until = time.time() + timeout
    while True:
        status = control.status()
        if status.state == state:
            return
        if time.time() >= until:
            told = ": " + status.reason if status.reason else ""
            raise HostError("%s did not %s within %d s%s" % (title, verb, timeout, told), errno.ETIMEDOUT)
        time.sleep(_PAUSE)
