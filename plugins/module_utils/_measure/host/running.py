# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a program of the user's: its exit code, the exact time it took, and a bounded part of what it prints.

Its output goes through pipes that are read while it runs, so that a program that prints without end fills no disk.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections import namedtuple

from .. import processes
from ..errors import MeasureError
from ..workloads import programs

# Of each output, so many of the first and as many of the last bytes are kept.
HALF = 512 * 1024
_PIECE = 64 * 1024
# After the end of the program at most so many bytes are read: what it has started may go on printing.
_LEFT_IN_PIPE = 1024 * 1024
_LOOK_EVERY_S = 1.0

# A program that has ended. out, err: an Output each; elapsed: seconds from its start to its end.
Done = namedtuple("Done", "code out err elapsed")


class Output:
    """What a program prints: its first and last bytes, whatever its length."""

    def __init__(self, half=HALF):
        self._half = half
        self._head, self._tail = bytearray(), bytearray()
        self._length = 0

    def add(self, data):
        self._length += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    @property
    def is_cut(self):
        """Whether a part in the middle is missing."""
        return self._length > 2 * self._half

    @property
    def text(self):
        parts = [bytes(self._head), b"\n[...]\n" if self.is_cut else b"", bytes(self._tail[-self._half :])]
        return b"".join(parts).decode("utf-8", "replace")


@contextlib.contextmanager
def _woken():
    """A descriptor that can be read as soon as a child has ended: waiting with a time limit polls in Python."""
    read_end, write_end = os.pipe()
    for descriptor in (read_end, write_end):
        os.set_blocking(descriptor, False)
    handler = signal.signal(signal.SIGCHLD, lambda *_details: None)
    before = signal.set_wakeup_fd(write_end)
    try:
        yield read_end
    finally:
        signal.set_wakeup_fd(before)
        signal.signal(signal.SIGCHLD, handler or signal.SIG_DFL)
        os.close(read_end)
        os.close(write_end)


def run(argv, timeout, guardian=None, window=None, **how):
    """Run a program inside window, if there is one, and wait for it: Done, with any exit code.

    guardian: ends it if this process cannot. how: identity, variables and directory, as for processes.start().
    MeasureError if it cannot be run, is ended by a signal, or does not end in time; then its process group is ended.
    What it has left behind in the background goes on after a normal end.
    """
    with contextlib.ExitStack() as stack:
        woken = stack.enter_context(_woken())
        with window or contextlib.ExitStack():
            begin = time.monotonic()
            process = _start(argv, guardian, how)
            outputs = ((process.stdout, Output()), (process.stderr, Output()))
            try:
                for pipe, _output in outputs:
                    stack.enter_context(pipe)
                    os.set_blocking(pipe.fileno(), False)
                end = _follow(process, outputs, woken, begin + timeout)
            finally:
                _end(process, guardian)
            if end is None:
                raise MeasureError("%s did not end within the time limit of %g s" % (argv[0], timeout))
        for pipe, output in outputs:
            _drain(pipe, output)
    if process.returncode < 0:
        raise MeasureError("%s was ended by signal %d" % (argv[0], -process.returncode))
    return Done(process.returncode, outputs[0][1], outputs[1][1], end - begin)


def _start(argv, guardian, how):
    if guardian is not None:
        how = dict(how, preexec_fn=guardian.started)
    try:
        return processes.start(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(os.environ, LC_ALL="C"),
            # so that everything it starts can be ended with it
            start_new_session=True,
            **how,
        )
    except OSError as error:
        raise MeasureError("%s cannot be run: %s" % (argv[0], error.strerror)) from error


def _end(process, guardian):
    """End the group of a program that still runs; the guardian forgets it in any case."""
    if guardian is not None:
        programs.end(process, guardian)
    else:
        programs.end(process, _Nobody())


class _Nobody:
    """Stands in for a guardian where there is none: in the guardian itself."""

    def ended(self, pid):
        """Forget a process."""


def _follow(process, outputs, woken, deadline):
    """Keep what the program prints until it ends: the time.monotonic() of its end; None at the deadline."""
    with selectors.PollSelector() as selector:
        selector.register(woken, selectors.EVENT_READ, None)
        for pipe, output in outputs:
            selector.register(pipe, selectors.EVENT_READ, output)
        while True:
            if process.poll() is not None:
                return time.monotonic()
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            for key, _events in selector.select(min(left, _LOOK_EVERY_S)):
                data = _read(key.fd)
                if key.data is not None and data:
                    key.data.add(data)
                elif key.data is not None and data is not None:
                    selector.unregister(key.fileobj)


def _read(descriptor):
    """Some bytes; b"" at the end of the file, None if there is nothing to read now."""
    try:
        return os.read(descriptor, _PIECE)
    except BlockingIOError:
        return None


def _drain(pipe, output):
    for _piece in range(_LEFT_IN_PIPE // _PIECE):
        data = _read(pipe.fileno())
        if not data:
            return
        output.add(data)
