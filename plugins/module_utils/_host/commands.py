# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one way to start, follow and end any program.

It leads a session of its own: it shares no terminal with root's module, and its group can be ended as a whole. It gets
no open file except its outputs, and no input but its caller's. Neither a time limit nor an output limit depends on what
it does: the processes that it leaves behind may live on and hold its outputs open.
"""

import contextlib
import errno
import functools
import os
import selectors
import signal
import subprocess
import time

from .errors import HostError

SYSTEM_FOLDERS = ("/usr/sbin", "/sbin", "/usr/bin", "/bin")
# The most that a program may print: more than any program prints that this collection reads.
MOST = 16 * 1024 * 1024
# A program gets this long to end by itself after SIGTERM, as to release its locks.
_GRACE_S = 3.0
_LOOK_EVERY_S, _LOOK_WOKEN_S = 0.1, 1.0
# A program that has closed its outputs ends at once.
_SOON_S = 0.002
_PIECE = 64 * 1024
# After its end, no more than this is read: what it has started may go on printing.
_LEFT_IN_PIPE = 1024 * 1024


class Stopped(HostError):
    """A program was ended at its time limit (ETIMEDOUT) or output limit (EFBIG). printed: its outputs up to then."""

    def __init__(self, message, number, printed):
        super().__init__(message, number)
        self.printed = printed


def folders_of(path):
    """The folders of the text of PATH, without empty and relative ones: these lead to where somebody works."""
    return [folder for folder in path.split(os.pathsep) if os.path.isabs(folder)]


def start(argv, begin=None, **options):
    """A Popen of argv. begin: called in the new process, before the program. options: as for Popen; an
    output that is not given is thrown away, and without stdin there is no input. Without cwd, it works in /: the
    working directory of this process may belong to another user.

    Raises OSError, and SubprocessError if begin fails.
    """
    if signal.getsignal(signal.SIGTERM) == signal.SIG_IGN:
        # a deputy and a guardian ignore it, and a program would inherit that
        begin = functools.partial(_end_by_default, begin)
    given = options.get("env", os.environ)
    path = os.pathsep.join(folders_of(given.get("PATH", "")) or SYSTEM_FOLDERS)
    options.update(env=dict(given, PATH=path), start_new_session=True, preexec_fn=begin)
    options = dict(dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL), **dict({"cwd": "/"}, **options))
    # not AnsibleModule.run_command(): it shares the session, and waits for all that hold its pipes
    return subprocess.Popen(argv, **options)  # pylint: disable=ansible-bad-function


def _end_by_default(begin):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if begin is not None:
        begin()


def end(process):
    """End a program that still runs, and its group: SIGTERM, then SIGKILL. One that hangs in the kernel is left."""
    if process.poll() is None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            # also if the program has ended: it may be a script that does not wait for what it has started
            with contextlib.suppress(OSError):
                os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_S)


def finish(process, timeout, most=MOST):
    """[the bytes of each output that is a pipe] of a program that has ended by itself. most: bytes that it may print.

    What it has left behind in the background goes on, and is not waited for. Raises Stopped at a limit, when its group
    has been ended.
    """
    outputs = {pipe: bytearray() for pipe in (process.stdout, process.stderr) if pipe is not None}

    def add(output, data):
        output.extend(data)
        if sum(map(len, outputs.values())) > most:
            raise OverflowError

    limit, adds = None, {pipe: functools.partial(add, output) for pipe, output in outputs.items()}
    try:
        if follow(lambda: process.poll() is not None, adds, time.monotonic() + timeout):
            drain(adds)
        else:
            limit = errno.ETIMEDOUT
    except OverflowError:
        limit = errno.EFBIG
    finally:
        end(process)
        for pipe in outputs:
            pipe.close()
    printed = [bytes(output) for output in outputs.values()]
    if limit == errno.ETIMEDOUT:
        raise Stopped("%s did not answer within %g s" % (process.args[0], timeout), limit, printed)
    if limit is not None:
        raise Stopped("%s printed more than %d MiB and was ended" % (process.args[0], most >> 20), limit, printed)
    return printed


def follow(ended, adds, deadline, wake=None):
    """Read pipes, {pipe: what gets the bytes}, until ended(); False at the deadline.

    wake: a descriptor that can be read as soon as a program may have ended; without one, ended() is called often.
    """
    pause = _LOOK_EVERY_S if wake is None else _LOOK_WOKEN_S
    with selectors.PollSelector() as selector:
        if wake is not None:
            selector.register(wake, selectors.EVENT_READ, None)
        for pipe in adds:
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, selectors.EVENT_READ, adds[pipe])
        while not ended():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            if not selector.get_map():
                time.sleep(min(left, _SOON_S))
                continue
            for key, _events in selector.select(min(left, pause)):
                data = _read(key.fd)
                if data and key.data is not None:
                    key.data(data)
                elif data == b"":
                    selector.unregister(key.fileobj)
    return True


def drain(adds):
    """Read what programs that have ended left in their pipes."""
    for pipe, add in adds.items():
        for _piece in range(_LEFT_IN_PIPE // _PIECE):
            data = _read(pipe.fileno())
            if not data:
                break
            add(data)


def _read(descriptor):
    """Some bytes; b"" at the end of the file, None if there is nothing to read now."""
    try:
        return os.read(descriptor, _PIECE)
    except BlockingIOError:
        return None
