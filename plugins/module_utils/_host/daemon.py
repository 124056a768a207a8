# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A daemon that outlives Ansible's module process and reports when it is ready.

When the module ends, Ansible removes its folder and the archive that Python imports from, and it waits until every
descriptor of the module's output is closed. So the daemon imports nothing after the fork and keeps only its own
descriptors.
"""

import contextlib
import json
import os
import select
import signal
import time

from .descriptors import keep_only
from .errors import HostError


def fork(work, *arguments):
    """A new process that calls work and ends with it, without the signal handlers of this one; its process id."""
    pid = os.fork()
    if pid == 0:
        try:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGALRM):
                signal.signal(number, signal.SIG_DFL)
            work(*arguments)
        finally:
            os._exit(0)
    return pid


def stand_apart(descriptors, ignored=(signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE)):
    """Call right after a fork: outlive the session of the parent, ignore signals, and hold only these descriptors."""
    os.setsid()
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)
    keep_only(descriptors)


def guard(act, keep=()):
    """Fork a process that calls act() as soon as this one has ended, even by SIGKILL.

    It waits for the end of file of a pipe whose write end only this process holds. keep: other descriptors that it
    keeps. Returns its process id and that write end; closing the write end makes it act.
    """
    read_end, write_end = os.pipe()

    def wait():
        stand_apart({read_end} | set(keep))
        os.read(read_end, 1)
        act()

    pid = fork(wait)
    os.close(read_end)
    return pid, write_end


def spawn(main, keep, timeout):
    """Run main(say_ready) in a daemon; return the dict that main passes to say_ready.

    keep: the descriptors that the daemon needs (listening sockets). Raises HostError with the error of main if it fails
    before it is ready, and if that takes longer than timeout seconds.
    """
    answer, write_end = os.pipe()

    def leave():
        os.setsid()
        fork(_grandchild, main, set(keep) | {write_end}, write_end)

    first = fork(leave)
    os.close(write_end)
    os.waitpid(first, 0)
    try:
        return _read_answer(answer, timeout)
    finally:
        os.close(answer)


def _grandchild(main, keep, write_end):
    def say_ready(details):
        os.write(write_end, json.dumps(details).encode("utf-8") + b"\n")
        os.close(write_end)

    try:
        os.chdir("/")
        os.umask(0o077)
        stand_apart(keep, (signal.SIGHUP, signal.SIGINT))
        main(say_ready)
    except Exception as error:
        with contextlib.suppress(OSError):  # after say_ready(), nobody listens
            os.write(write_end, json.dumps({"error": str(error)}).encode("utf-8") + b"\n")


def _read_answer(descriptor, timeout):
    deadline, data = time.monotonic() + timeout, b""
    while b"\n" not in data:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([descriptor], [], [], left)[0]:
            raise HostError("the background process was not ready within %g s" % timeout)
        more = os.read(descriptor, 65536)
        if not more:
            raise HostError("the background process ended before it was ready")
        data += more
    details = json.loads(data.decode("utf-8"))
    if "error" in details:
        raise HostError(details["error"])
    return details
