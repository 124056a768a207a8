# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tuning that writes SAP profiles and restarts instances: what sap_profile and smc have in common.

The folders of profiles belong to another user; killed runs may have left files in them.
"""

import errno
import platform
import posixpath
import re
import time

from ..._engine.tuning import InputError, Tuning
from ..._host.host import HostError
from ..._machine import cluster
from ..._sap import instances
from ..._sap.profile import marker
from ..._sap.sapcontrol import NotRunning, SapControl, SapPfPar
from ..._sap.writing import clean, leftovers, write
from .requests import Users
from .subjects import title

_PAUSE = 1.0  # seconds between two checks of an instance
# of a tuning's module that writes profiles and restarts instances
RESTART_OPTIONS = dict(
    change=dict(type="str", default=""),
    restart=dict(type="list", elements="str", default=[]),
    restart_timeout=dict(type="int", default=600),
    restart_soft_timeout=dict(type="int", default=0),
    restart_in_cluster=dict(type="bool", default=False),
)


class ProfileTuning(Tuning):
    """The base class of tunings whose subjects are profiles, beside others."""

    def __init__(self, host, params):
        super().__init__(host, params)
        check_names(params)
        self.known = instances.instances(host)
        self.users = Users(host, self.known)
        self.restarts = Restarts(host, self.name, params)
        # on the way back, the subjects that the request names; empty for all
        self._meant = set()

    def selects(self, name):
        return not self._meant or name in self._meant

    def permit(self, subject):
        for instance in self._restarting(subject):
            refused = self.restarts.refusal(instance)
            if refused:
                raise HostError("%s was left alone: %s" % (subject.name, refused))
            subject.costs += cluster.lost_locks(self.host, instance)

    def _restarting(self, subject):
        """The instances that this run would restart for a subject."""
        found = {title(knob.instance): knob.instance for knob in self.changes(subject) if knob.due}
        return [found[name] for name in sorted(found)]

    def profiles(self):
        """The paths of the profiles in this call and in the journal."""
        raise NotImplementedError

    def store(self, subject, changes, readers):
        """Replace the profile of a subject; changes: see Profile.changed(). Raises HostError.

        readers: one of them checks the new profile with sappfpar, if it has a SAP kernel.
        """
        comment = marker(time.strftime("%Y-%m-%d", time.gmtime()), self.params.get("change") or "")
        new = subject.profile.changed(changes, comment)
        checkers = [one for one in readers if SapPfPar(self.host, one).available()][:1]
        write(self.host, subject.name, subject.profile.data(), new.data(), checkers)
        subject.profile = new

    def littered(self):
        return super().littered() or any(leftovers(self.host, folder) for folder in self._folders())

    def clean(self):
        super().clean()
        for folder in self._folders():
            if leftovers(self.host, folder):
                clean(self.host, folder)

    def _folders(self):
        return sorted({posixpath.dirname(path) for path in self.profiles()})


# the restarts of one run: those that the option restart names, each once, none after a failure


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
        allowed = self.params.get("restart_in_cluster") or platform.system() == "AIX"
        return "" if allowed else cluster.refusal(self.host, instance, self.tuning)

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
    until = time.monotonic() + timeout
    while True:
        try:
            control.start()
            break
        except NotRunning:
            # sapstartsrv is not back yet
            if time.monotonic() >= until:
                raise
            time.sleep(_PAUSE)
    _wait_for(control, title, "running", "come back", timeout)


def _wait_for(control, title, state, verb, timeout):
    until = time.monotonic() + timeout
    while True:
        status = control.status()
        if status.state == state:
            return
        if time.monotonic() >= until:
            told = ": " + status.reason if status.reason else ""
            raise HostError("%s did not %s within %d s%s" % (title, verb, timeout, told), errno.ETIMEDOUT)
        time.sleep(_PAUSE)
