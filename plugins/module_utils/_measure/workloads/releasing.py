# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A guardian of a measurement or its server: it ends programs and releases locks if the process is killed.

It is a process and a session of its own, forked before the first program or lock. It imports nothing after the fork,
because Ansible removes a module's files when the module has ended.
"""

import contextlib
import json
import os
import select
import time

from ..._host import daemon
from .. import processes

_LOOK_EVERY_S = 0.5
_TRIES, _BETWEEN_TRIES_S = 3, 2.0


class Guardian:
    """Knows the programs that run for a process and whether it has something to release (owed).

    release(): releases it; it may raise anything and must not need further imports. None if there is never anything.
    """

    def __init__(self, release=None):
        self.owed = False
        read_end, self._line = os.pipe()
        self._pid = daemon.fork(_watch, read_end, os.getpid(), release)
        os.close(read_end)

    def started(self):
        """This process, the leader of its group, becomes a program that has to end with the measurement."""
        self._tell({"started": os.getpid(), "began": processes.start_time(os.getpid())})

    def ended(self, pid):
        self._tell({"ended": pid})

    def owes(self, something):
        """Whether something has to be released from now on."""
        self.owed = something
        self._tell({"owes": something})

    def close(self):
        """End the guardian: nothing is left to release."""
        self._tell({"close": True})
        os.close(self._line)
        with contextlib.suppress(ChildProcessError):  # a server has taken its exit code
            os.waitpid(self._pid, 0)

    def _tell(self, message):
        with contextlib.suppress(OSError):  # the guardian was killed
            os.write(self._line, json.dumps(message).encode("ascii") + b"\n")


def _watch(read_end, parent, release):
    """The main function of the guardian."""
    daemon.stand_apart({read_end})
    running, owes, pending = {}, False, b""
    while True:
        if not select.select([read_end], [], [], _LOOK_EVERY_S)[0]:
            # Other forks of the measurement may hold the pipe open, so the parent is checked, too.
            if os.getppid() != parent:
                break
            continue
        data = os.read(read_end, 65536)
        if not data:
            break
        lines = (pending + data).split(b"\n")
        pending = lines.pop()
        for message in [json.loads(line.decode("ascii")) for line in lines]:
            if "close" in message:
                return
            owes = message.get("owes", owes)
            running.pop(message.get("ended"), None)
            if "started" in message:
                running[message["started"]] = message["began"]
    for pid, began in running.items():
        processes.end(pid, began)
    if owes:
        _give_back(release)


def _give_back(release):
    for _try in range(_TRIES):
        try:
            release()
            return
        except Exception:
            time.sleep(_BETWEEN_TRIES_S)
