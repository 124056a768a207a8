# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that measure: finding, asking and running them."""

import contextlib
import glob
import os
import re
import signal
import subprocess
import tempfile
import time
from collections import namedtuple

from .. import processes
from ..errors import MeasureError
from . import releasing

_CONTENT_BYTES = 64 * 1024
_ASK_TIMEOUT = 15.0
# A program gets this long to end by itself after SIGTERM, as to release its locks.
_END_SECONDS = 3.0
_COLOUR = re.compile("\x1b\\[[0-9;]*m")
# Where the SAP kernel installs its programs.
SAP_FOLDERS = ("/usr/sap/[A-Z]*/*/exe", "/usr/sap/[A-Z]*/SYS/exe/run", "/usr/sap/hostctrl/exe")
SAP_FOLDERS_TEXT = ("/usr/sap/<SID>/<instance>/exe", "/usr/sap/<SID>/SYS/exe/run", "/usr/sap/hostctrl/exe")


def folders_of(search_path):
    """The folders of the text of PATH."""
    return [folder for folder in search_path.split(os.pathsep) if folder]


def find(name, path, search_path, folders=(), root="/"):
    """The program to use, or None: path, else the first in folders (patterns below root) and in PATH.

    A path that the user gave must be an executable file: MeasureError otherwise.
    """
    if path:
        if is_program(path):
            return path
        raise MeasureError("%s is no executable file: set path to %s, or leave it out" % (path, name))
    for candidate in candidates(name, search_path, folders, root):
        if is_program(candidate):
            return candidate
    return None


def require(name, path, search_path, else_take=""):
    """As find(); MeasureError if there is none. else_take: an alternative to installing it, for the message."""
    binary = find(name, path, search_path)
    if binary is None:
        where = ", ".join(folders_of(search_path))
        raise MeasureError("%s was not found in %s: install it, or set path%s" % (name, where, else_take))
    return binary


def candidates(name, search_path, folders=(), root="/"):
    """Every possible path of a program, in the order of preference."""
    found = []
    for pattern in folders:
        found += sorted(glob.glob(os.path.join(root, pattern.lstrip("/"), name)))
    return found + [os.path.join(folder, name) for folder in folders_of(search_path)]


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
    try:
        process = processes.start(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(argv[0], os.environ),
            start_new_session=True,
        )
    except OSError as error:
        raise MeasureError("%s cannot be run: %s" % (argv[0], error.strerror)) from error
    try:
        output = process.communicate(timeout=timeout)[0]
    except subprocess.TimeoutExpired:
        _kill(process)
        output = process.communicate()[0]
    return output.decode("utf-8", "replace")


def _kill(process):
    """Kill a program that leads a session of its own, with everything it has started: it may be a script."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)


# Programs that ran together: their texts, their exit codes, and the seconds until the last had ended.
Ran = namedtuple("Ran", "texts codes elapsed")


@contextlib.contextmanager
def guarded(guardian):
    """The guardian, or a new one for the length of a block if it is None."""
    if guardian is not None:
        yield guardian
    else:
        with contextlib.closing(releasing.Guardian()) as own:
            yield own


def start(argv, output, guardian, **how):
    """Start a program that the guardian ends if this process cannot. how: further arguments of processes.start()."""
    try:
        return processes.start(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment(argv[0], os.environ),
            # so that everything it starts can be ended with it
            start_new_session=True,
            # The program's own process tells the guardian, which so knows of every program that runs.
            preexec_fn=guardian.started,
            **how,
        )
    except OSError as error:
        raise MeasureError("%s cannot be run: %s" % (argv[0], error.strerror)) from error


def end(process, guardian):
    """End a program that still runs, with everything it has started, and let the guardian forget it."""
    if process.poll() is None:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
        _kill(process)
        process.wait()
    guardian.ended(process.pid)


def run_together(argvs, timeout, window=None, guardian=None, since=None, most=_CONTENT_BYTES, **how):
    """Run programs at once, inside window if there is one, and wait for all of them: Ran.

    Standard output and error of each go together into its text, see content(). since: the time.monotonic() from which
    timeout counts, by default now. how: as for start(). MeasureError if one cannot be run, is ended by a signal, or
    does not end in time; none of them outlives this call, even if this process is killed.
    """
    with contextlib.ExitStack() as stack:
        outputs = [stack.enter_context(tempfile.TemporaryFile()) for _argv in argvs]
        guardian = stack.enter_context(guarded(guardian))
        with window or contextlib.ExitStack():
            begin = time.monotonic()
            codes = _run_all(argvs, outputs, timeout, begin if since is None else since, guardian, how)
            elapsed = time.monotonic() - begin
        return Ran([content(output, most) for output in outputs], codes, elapsed)


def _run_all(argvs, outputs, timeout, since, guardian, how):
    deadline, running = since + timeout, []
    try:
        for argv, output in zip(argvs, outputs):
            running.append(start(argv, output, guardian, **how))
        for argv, process in zip(argvs, running):
            process.wait(max(0.001, deadline - time.monotonic()))
            if process.returncode < 0:
                raise MeasureError("%s was ended by signal %d" % (argv[0], -process.returncode))
    except subprocess.TimeoutExpired as error:
        raise MeasureError("%s did not end within the time limit of %g s" % (argvs[0][0], timeout)) from error
    finally:
        for process in running:
            end(process, guardian)
    return [process.returncode for process in running]


def content(output, most=_CONTENT_BYTES):
    """The text of an output file; if it is very long, its first and last bytes, which hold the figures."""
    length = output.seek(0, os.SEEK_END)
    output.seek(0)
    text = output.read(most)
    if length > 2 * most:
        output.seek(length - most)
        text += b"\n"
    return (text + output.read()).decode("utf-8", "replace")


def plain(text):
    """A text without the escape sequences for colours."""
    return _COLOUR.sub("", text)


def first_lines(text, count=6):
    """The first lines that are not empty, as one line for error messages."""
    lines = [line.strip() for line in plain(text).splitlines() if line.strip()]
    shown = " | ".join(line[:160] for line in lines[:count])
    return shown + (" | ..." if len(lines) > count else "") if lines else "nothing was printed"
