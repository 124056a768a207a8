# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running SAP's enqueue programs: as <sid>adm, several at once, never longer than the measurement."""

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import threading
import time

from ..._host.identities import Identity
from .. import processes
from ..errors import MeasureError
from ..workloads import programs

_MOST_BYTES = 256 * 1024
# What a program gets to give back its locks by itself after SIGTERM.
_END_SECONDS = 3.0


class Runner:
    """Runs programs of an SAP kernel; user: as whom, None for this process's own.

    guardian: a releasing.Guardian that ends them where this process cannot, None before there is one.
    """

    def __init__(self, user=None):
        self._identity = None if user is None else Identity.of_name(user)
        self.guardian = None

    def ask(self, argv, timeout):
        """What one program prints, whatever its exit code."""
        return self.together([argv], timeout).texts[0]

    def together(self, argvs, timeout, window=None, since=None):
        """Run programs at once, inside window where one is given: programs.Ran.

        since: the time.monotonic() from which timeout counts, now where it is not given. MeasureError where one cannot
        be run, is ended by a signal or does not end in time. None outlives this call.
        """
        with contextlib.ExitStack() as stack:
            outputs = [stack.enter_context(tempfile.TemporaryFile()) for _argv in argvs]
            folder = stack.enter_context(self._folder())
            with window or contextlib.ExitStack():
                begin = time.monotonic()
                codes = self._run_all(argvs, outputs, folder, timeout, begin if since is None else since)
                elapsed = time.monotonic() - begin
            return programs.Ran([programs.content(output, _MOST_BYTES) for output in outputs], codes, elapsed)

    def _run_all(self, argvs, outputs, folder, timeout, since):
        deadline, begun = since + timeout, []
        try:
            for argv, output in zip(argvs, outputs):
                begun.append(self._start(argv, output, folder))
            for argv, process in zip(argvs, begun):
                process.wait(max(0.001, deadline - time.monotonic()))
                if process.returncode < 0:
                    raise MeasureError("%s was ended by signal %d" % (argv[0], -process.returncode))
        except subprocess.TimeoutExpired as error:
            raise MeasureError("%s did not end within the time limit of %g s" % (argvs[0][0], timeout)) from error
        finally:
            for process in begun:
                self._end(process)
        return [process.returncode for process in begun]

    def _start(self, argv, output, folder):
        try:
            process = processes.start(
                argv,
                self._identity,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=programs.environment(argv[0], os.environ),
                cwd=folder,
                # told by the program's own process, so that none runs of which the guardian does not know
                preexec_fn=self.guardian and self.guardian.started,
                # so that what a program starts itself can be ended with it
                start_new_session=True,
            )
        except OSError as error:
            raise MeasureError("%s cannot be run: %s" % (argv[0], error.strerror)) from error
        return process

    def _end(self, process):
        """End a program that still runs, with what it has started, and forget it."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if self.guardian is not None:
            self.guardian.ended(process.pid)

    @contextlib.contextmanager
    def _folder(self):
        """A folder for the trace files that the programs leave where they are run; it goes with them."""
        with tempfile.TemporaryDirectory(prefix="zpower-") as folder:
            if self._identity is not None:
                os.chown(folder, self._identity.uid, self._identity.gid)
            yield folder

    @contextlib.contextmanager
    def watched(self, argv):
        """Run a program that prints until it is ended, for the length of a block; yields a list that gets its text.

        It has a terminal, because what a program has not yet written into a file is lost when it is ended.
        """
        text = []
        with self._folder() as folder:
            source, output = os.openpty()
            try:
                process = self._start(argv, output, folder)
            except Exception:
                os.close(source)
                raise
            finally:
                os.close(output)
            over = threading.Event()
            reader = threading.Thread(target=_read_all, args=(source, text, over))
            reader.daemon = True
            reader.start()
            try:
                yield text
            finally:
                self._end(process)
                over.set()
                reader.join()
                os.close(source)


def _read_all(source, text, over):
    """Collect what comes until the last program that has the terminal ends, or until it is over."""
    size = 0
    while True:
        if not select.select([source], [], [], 0.2)[0]:
            if over.is_set():
                return
            continue
        try:
            data = os.read(source, 65536)
        except OSError:
            return
        if not data:
            return
        size += len(data)
        if size <= _MOST_BYTES:
            text.append(data.decode("utf-8", "replace").replace("\r\n", "\n"))
