# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that measure: finding, asking and running them."""

import contextlib
import errno
import functools
import glob
import os
import re
import subprocess
import time
from collections import namedtuple

from ..._host import commands
from .. import processes
from ..errors import MeasureError
from . import releasing

# Of each output of a tool or a program of the user's, this many of the first and of the last bytes are kept.
HALF, _SHORT = 512 * 1024, 64 * 1024
_ASK_TIMEOUT = 15.0
# The pattern of a figure that a tool prints. With more digits nothing else could be calculated from it.
FIGURE = r"([0-9]{1,12}(?:\.[0-9]{1,6})?)(?![0-9.])"
_COLOUR = re.compile("\x1b\\[[0-9;]*m")
# Where the SAP kernel installs its programs.
SAP_FOLDERS = ("/usr/sap/[A-Z]*/*/exe", "/usr/sap/[A-Z]*/SYS/exe/run", "/usr/sap/hostctrl/exe")
SAP_FOLDERS_TEXT = ("/usr/sap/<SID>/<instance>/exe", "/usr/sap/<SID>/SYS/exe/run", "/usr/sap/hostctrl/exe")


def find(name, path, search_path, folders=(), root="/"):
    """The program to use, or None: path, else the first in folders (patterns below root) and in PATH.

    A path that the user gave must be absolute and an executable file: MeasureError otherwise.
    """
    if path:
        if os.path.isabs(path) and is_program(path):
            return path
        raise MeasureError(
            "%s is not an executable file with an absolute path: set path to %s, or leave it out" % (path, name)
        )
    found = [one for pattern in folders for one in sorted(glob.glob(os.path.join(root, pattern.lstrip("/"), name)))]
    found += [os.path.join(folder, name) for folder in commands.folders_of(search_path)]
    return next((one for one in found if is_program(one)), None)


def require(name, path, search_path, else_take="", folders=None):
    """As find(); MeasureError if there is none. else_take: an alternative to installing it, for the message.

    folders: of a program of the SAP kernel.
    """
    binary = find(name, path, search_path, folders or ())
    if binary is None:
        where = ", ".join(list(folders or ()) + commands.folders_of(search_path))
        if folders is not None:
            raise MeasureError("SAP's %s was not found in %s: set path to it" % (name, where))
        raise MeasureError("%s was not found in %s: install it, or set path%s" % (name, where, else_take))
    return binary


def is_program(path):
    return os.path.isfile(path) and os.access(path, os.X_OK)


def environment(binary, base):
    """The environment for a binary: C locale, and its own folder first among the libraries (LIBPATH is AIX's name)."""
    result, folder = dict(base, LC_ALL="C"), os.path.dirname(binary)
    name = "LIBPATH" if os.uname().sysname == "AIX" else "LD_LIBRARY_PATH"
    result[name] = os.pathsep.join(part for part in (folder, base.get(name)) if part)
    return result


def ask(argv, timeout=_ASK_TIMEOUT):
    """The text that a short command prints on both outputs, with any exit code; MeasureError if it cannot run."""
    process = start(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        (output,) = commands.finish(process, timeout)
    except commands.Stopped as stopped:
        if stopped.errno != errno.ETIMEDOUT:
            raise MeasureError(str(stopped)) from stopped
        (output,) = stopped.printed
    return output.decode("utf-8", "replace")


def version(binary, option, pattern, tool=None):
    """What the group of a pattern finds in what a program prints with this option, or "unknown".

    tool: the program that it must be; MeasureError instead of "unknown" then.
    """
    text = ask([binary, option])
    match = re.search(pattern, text)
    if tool and not match:
        raise MeasureError("%s is not %s, it said: %s" % (binary, tool, first_lines(text)))
    return " ".join(match.group(1).split()) if match else "unknown"


# Programs that ran together: their texts, their exit codes, and the seconds until the last had ended.
Ran = namedtuple("Ran", "texts codes elapsed")
# A program that has ended. out, err: an Output each; elapsed: seconds from its start to its end.
Done = namedtuple("Done", "code out err elapsed")


@contextlib.contextmanager
def guarded(guardian):
    """The guardian, or a new one for the length of a block if it is None."""
    if guardian is not None:
        yield guardian
    else:
        with contextlib.closing(releasing.Guardian()) as own:
            yield own


def start(argv, guardian=None, **how):
    """Start a program that the guardian, if any, ends if this process cannot. how: as for processes.start()."""
    # The program's own process tells the guardian, which so knows of every program that runs.
    begin = None if guardian is None else guardian.started
    try:
        return processes.start(argv, **dict({"begin": begin, "env": environment(argv[0], os.environ)}, **how))
    except OSError as error:
        raise MeasureError("%s cannot be run: %s" % (argv[0], error.strerror)) from error


def end(process, guardian):
    """End a program that still runs, with everything it has started, and let the guardian forget it."""
    commands.end(process)
    if guardian is not None:
        guardian.ended(process.pid)


class Output:
    """What a program prints: its first and last bytes, whatever its length. half: this many of each are kept."""

    def __init__(self, half=HALF):
        self._half = half
        self._head, self._tail = bytearray(), bytearray()
        self.length = 0

    def add(self, data):
        self.length += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    @property
    def is_cut(self):
        """Whether a part in the middle is missing."""
        return self.length > 2 * self._half

    @property
    def text(self):
        parts = [bytes(self._head), b"\n[...]\n" if self.is_cut else b"", bytes(self._tail[-self._half :])]
        return b"".join(parts).decode("utf-8", "replace")


def run(argv, timeout, guardian=None, window=None, **how):
    """Run a program inside window, if there is one, and wait for it: Done, with any exit code and any length of output.

    guardian, how: as for start(). MeasureError if it cannot be run, is ended by a signal, or does not end in time; then
    its process group is ended. What it has left behind in the background goes on after a normal end.
    """
    out, err = Output(), Output()
    (code,), elapsed = _run_all([(argv, (out, err))], timeout, None, guardian, window, how)
    return Done(code, out, err, elapsed)


def run_together(argvs, timeout, window=None, guardian=None, since=None, half=_SHORT, **how):
    """Run programs at once, inside window if there is one, and wait for all of them: Ran.

    Standard output and error of each go together into its text, see Output. since: the time.monotonic() from which
    timeout counts, by default now. how: as for start(). MeasureError if one cannot be run, is ended by a signal, prints
    too much, or does not end in time; none of them outlives this call, even if this process is killed.
    """
    outputs = [Output(half) for _argv in argvs]
    with guarded(guardian) as ours:
        asked = [(argv, (output,)) for argv, output in zip(argvs, outputs)]
        codes, elapsed = _run_all(asked, timeout, since, ours, window, how, commands.MOST)
    return Ran([output.text for output in outputs], codes, elapsed)


def _run_all(asked, timeout, since, guardian, window, how, most=None):
    """(exit codes, seconds from the start to the end of the last) of programs: [(argv, its Outputs)].

    Their output goes through pipes that are read while they run, so that a program that prints without end fills no
    disk. most: an Output may have this many bytes.
    """
    with contextlib.ExitStack() as stack:
        woken = stack.enter_context(processes.woken())
        with window or contextlib.ExitStack():
            begin, running, adds = time.monotonic(), [], {}
            deadline = (begin if since is None else since) + timeout
            try:
                for argv, outputs in asked:
                    error = subprocess.PIPE if len(outputs) > 1 else subprocess.STDOUT
                    process = start(argv, guardian, stdout=subprocess.PIPE, stderr=error, **how)
                    running.append((argv[0], process))
                    for pipe, output in zip((process.stdout, process.stderr), outputs):
                        stack.enter_context(pipe)
                        adds[pipe] = functools.partial(_add, argv[0], output, most)
                if not commands.follow(lambda: _have_ended(running), adds, deadline, woken):
                    raise MeasureError("%s did not end within the time limit of %g s" % (asked[0][0][0], timeout))
                elapsed = time.monotonic() - begin
            finally:
                for _name, process in running:
                    end(process, guardian)
        commands.drain(adds)
    return [process.returncode for _name, process in running], elapsed


def _add(name, output, most, data):
    output.add(data)
    if most is not None and output.length > most:
        raise MeasureError("%s printed more than %d MiB and was ended" % (name, most >> 20))


def _have_ended(running):
    """Whether all programs have ended; MeasureError if a signal has ended one."""
    codes = [process.poll() for _name, process in running]
    for (name, _process), code in zip(running, codes):
        if code is not None and code < 0:
            raise MeasureError("%s was ended by signal %d" % (name, -code))
    return None not in codes


def remove(folder):
    """Remove a TemporaryFolder; MeasureError if it stays."""
    if not folder.remove():
        raise MeasureError("%s could not be removed: please remove it" % folder.path)


def plain(text):
    """A text without the escape sequences for colours."""
    return _COLOUR.sub("", text)


def first_lines(text, count=6):
    """The first lines that are not empty, as one line for error messages."""
    lines = [line.strip() for line in plain(text).splitlines() if line.strip()]
    shown = " | ".join(line[:160] for line in lines[:count])
    return shown + (" | ..." if len(lines) > count else "") if lines else "nothing was printed"
