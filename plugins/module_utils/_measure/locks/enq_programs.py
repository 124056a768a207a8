# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running SAP's enqueue programs: as <sid>adm, several at once, never longer than the measurement."""

import contextlib
import os
import select
import shutil
import tempfile
import threading

from ..._host import temporary
from ..._host.identities import Identity
from .. import processes
from ..workloads import programs

_MOST_BYTES = 256 * 1024
_PREFIX = "zpower-enqueue-"


class Runner:
    """Runs programs of an SAP kernel as a user, or as the user of this process if that is None.

    guardian: the releasing.Guardian of the measurement, None before there is one.
    """

    def __init__(self, user=None):
        self._identity = None if user is None else Identity.of_name(user)
        self.guardian = None
        self._folders = None

    def ask(self, argv, timeout):
        """The output of one program, with any exit code."""
        return self.together([argv], timeout).texts[0]

    def together(self, argvs, timeout, window=None, since=None):
        """Run programs at once: programs.Ran. The arguments are those of programs.run_together()."""
        with self._folder() as folder:
            how = {"identity": self._identity, "cwd": folder}
            return programs.run_together(argvs, timeout, window, self.guardian, since, _MOST_BYTES, **how)

    @contextlib.contextmanager
    def _folder(self):
        """A temporary folder for the trace files that the programs leave in their working directory.

        It is in a folder of this process, which stays locked until close(), so that a killed measurement leaves none.
        """
        # the guardian, a fork, needs it after this process has been killed
        if self._folders is None or self._folders.pid != os.getpid():
            temporary.remove_leftovers(tempfile.gettempdir(), _PREFIX)
            self._folders = temporary.TemporaryFolder(tempfile.gettempdir(), _PREFIX)
            os.chmod(self._folders.path, 0o711)
        folder = tempfile.mkdtemp(dir=self._folders.path)
        try:
            if self._identity is not None:
                os.chown(folder, self._identity.uid, self._identity.gid)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def close(self):
        """Remove the folder of this process; MeasureError if it stays."""
        folders, self._folders = self._folders, None
        if folders is not None:
            programs.remove(folders)

    @contextlib.contextmanager
    def watched(self, argv):
        """Run a program that prints until it is ended, for the length of a block; yields its programs.Output."""
        with self._folder() as folder, programs.guarded(self.guardian) as guardian:

            def start_to(terminal):
                how = {"stdout": terminal, "stderr": terminal, "identity": self._identity, "cwd": folder}
                return programs.start(argv, guardian, **how)

            with processes.printing(start_to) as (process, source):
                output, over = programs.Output(_MOST_BYTES), threading.Event()
                reader = threading.Thread(target=_read_all, args=(source, output, over), daemon=True)
                reader.start()
                try:
                    yield output
                finally:
                    programs.end(process, guardian)
                    over.set()
                    reader.join()


def _read_all(source, output, over):
    """Collect what is printed until the last program that has the terminal ends, or until over is set."""
    while True:
        if select.select([source], [], [], 0.2)[0]:
            data = processes.read(source)
            if not data:
                return
            output.add(data.replace(b"\r\n", b"\n"))
        elif over.is_set():
            return
