# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restart one instance through sapcontrol, with a time limit for the stop and for the start."""

import errno
import time

from .._host.host import HostError
from .sapcontrol import NotRunning

_PAUSE = 1.0  # seconds between two checks


def restart(control, title, timeout):
    """Restart the instance of a SapControl and its start service, which then reads profile and unit again.

    title: the instance in messages, PRD_00. timeout: seconds for the stop, and again for the start. Returns when all
    processes run. Raises HostError (errno ETIMEDOUT if it takes too long) and leaves the instance as it is.
    """
    control.stop()
    _wait_for(control, title, "stopped", "stop", timeout)
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
