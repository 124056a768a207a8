# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SAP's sapcontrol and sappfpar: how they are called, and what their output means.

Both run as <sid>adm, without a shell and without its login files. sapcontrol then talks to the instance's sapstartsrv
over the local socket, which needs no password.
"""

import platform
import re
import time
from collections import namedtuple

from .._host.host import HostError
from .processes import running, serves

# What sapcontrol printed: the function that answered, whether it says OK, the text after FAIL, and the lines after OK.
Answer = namedtuple("Answer", "function ok failure rows")
# One line of GetProcessList. dispstatus is GREEN, YELLOW, RED or GRAY; pid is None if the process does not run.
Process = namedtuple("Process", "name description dispstatus textstatus starttime elapsedtime pid")
# state is running, stopped, partial or unknown; reason says why it is one of the last two.
Status = namedtuple("Status", "state processes reason")

_DATE = re.compile(r"^[0-9]{2}\.[0-9]{2}\.[0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2}$")
_REFUSED = re.compile(r"NIECONN_REFUSED|Connection refused")
# what ParameterValue says of a name that the kernel does not have
_NO_PARAMETER = re.compile(r"\b(invalid|unknown|no such)\b.*\bparameter\b|\bparameter\b.*\b(unknown|not found)\b", re.I)
_ALL_RUNNING, _ALL_STOPPED = 3, 4
# how long an old sapstartsrv may take to go
_GOING_S = 10
_NO_PROFILE = "<no_profile>"
NOT_READ = "sappfpar did not read the profile"


class NotRunning(HostError):
    """Nothing answers for the instance: its start service, sapstartsrv, does not run. One sentence."""


# parsers


def parse_answer(out):
    """The Answer in what sapcontrol printed: a date, the function, then OK and its lines, or FAIL and why."""
    function = None
    lines = out.splitlines()
    for number, line in enumerate(lines):
        text = line.strip()
        if text == "OK":
            return Answer(function, True, None, [row for row in lines[number + 1 :] if row.strip()])
        if text.startswith("FAIL"):
            return Answer(function, False, text[len("FAIL") :].lstrip(": ") or "no reason given", [])
        if text and not _DATE.match(text):
            function = text
    return Answer(None, False, "it printed no answer: %s" % _on_one_line(out), [])


def _on_one_line(text):
    """What a program printed, for a sentence."""
    return " | ".join(line.strip() for line in text.splitlines() if line.strip())[:300] or "nothing"


def parse_processes(answer):
    """[Process] of the answer of GetProcessList.

    textstatus may hold commas, starttime and elapsedtime are empty for what does not run: three columns count from the
    left, three from the right.
    """
    found = []
    for row in answer.rows:
        parts = row.rstrip().split(", ")
        parts += [""] * (7 - len(parts))
        if parts[:2] != ["name", "description"]:
            pid = int(parts[-1]) if parts[-1].isdigit() and parts[-1] != "0" else None
            found.append(Process(parts[0], parts[1], parts[2], ", ".join(parts[3:-3]), parts[-3], parts[-2], pid))
    return found


def parse_script_value(text):
    """The one value of an answer in -format script (``0 : VALUE``), or None."""
    match = re.search(r"(?m)^0 :(?:[ ](.*?))?\r?$", text)
    return (match.group(1) or "") if match else None


def parse_values(text, names):
    """{name: value} of ``sappfpar NAME ... pf=PROFILE``; None if sappfpar did not read the profile.

    One value a line, in the order of the names, an empty one for what is not set. HostError where the lines are not as
    many as the names, because then nobody knows which value belongs to which.
    """
    if _NO_PROFILE in text:
        return None
    lines = [line.strip() for line in text.splitlines() if not line.startswith("==")]
    for found in (lines, [line for line in lines if line]):
        if len(found) == len(names):
            return dict(zip(names, found))
    raise HostError("sappfpar printed %d lines for %d parameters: %s" % (len(lines), len(names), _on_one_line(text)))


def parse_check(rc, out):
    """The lines that say what is wrong with a profile in what ``sappfpar check`` printed; warnings are none.

    SAP documents neither the layout nor the exit code. A line that begins with stars and ERROR is a problem; where
    there is none, the count of errors at the end decides; without that count, the exit code.
    """
    lines = [line.strip() for line in out.splitlines() if line.strip()]
    if _NO_PROFILE in out:
        return [NOT_READ]
    problems = [line.lstrip("* ") for line in lines if re.match(r"\*+\s*ERROR", line, re.I)]
    count = re.search(r"(?im)^[* \t]*errors? detected[ .:]*([0-9]+)[ \t\r]*$", out)
    if problems or (count and not int(count.group(1))) or (rc == 0 and not count):
        return problems
    told = count.group(0).strip() if count else "exit code %d" % rc
    return ["%s: %s" % (told, _on_one_line(out))]


# the programs


def _environment(folder):
    """Where the kernel's programs find their libraries; LIBPATH is the name that AIX looks at."""
    return {"LD_LIBRARY_PATH": folder, "LIBPATH": folder}


class SapControl:
    """sapcontrol of one instance; timeout, in seconds, is that of every call."""

    def __init__(self, host, instance, timeout=30):
        self.host = host
        self.instance = instance
        self.timeout = timeout

    def parameter(self, name):
        """The value of a parameter in the running instance; None if the instance does not know the parameter."""
        result, answer = self._ask("ParameterValue", name, "-format", "script")
        if not answer.ok and _NO_PARAMETER.search(answer.failure):
            return None
        self._check("ParameterValue " + name, result, answer)
        value = parse_script_value(result.out)
        if value is None:
            raise self._failure("ParameterValue " + name, "it printed no value")
        return value

    def belongs(self):
        """Whether what answers is this instance's: another system on the host may have taken its number."""
        return self.parameter("SAPSYSTEMNAME") == self.instance.sid

    def check_own(self):
        """Raise HostError where another system answers, or nothing does."""
        if not self.belongs():
            raise HostError("another system answers for instance number %s" % self.instance.number)

    def status(self):
        """The Status of the instance. It never raises: what cannot be told is unknown, and reason says why."""
        try:
            self.check_own()
            result, answer = self._ask("GetProcessList")
            self._check("GetProcessList", result, answer, (0, _ALL_RUNNING, _ALL_STOPPED))
        except HostError as error:
            return Status("unknown", [], str(error))
        return _status(result.rc, parse_processes(answer))

    def stop(self):
        """Ask the instance to stop; it goes on stopping after this returns."""
        self._do("Stop")

    def start(self):
        """Ask the instance to start; it goes on starting after this returns."""
        self._do("Start")

    def restart_service(self):
        """Start sapstartsrv anew, so that it reads profile and unit again; the instance itself is left alone.

        The old one goes on answering for a moment, and would start the instance with its old limits: this returns when
        it has gone. For a few seconds more nothing may answer: NotRunning.
        """
        old = self._services()
        self._do("RestartService")
        if platform.system() == "AIX":
            # /proc tells no command lines there
            time.sleep(_GOING_S)
        until = time.monotonic() + _GOING_S
        # one that replaces itself keeps its process id, so that this is no error
        while old & self._services() and time.monotonic() < until:
            time.sleep(0.1)

    def _services(self):
        """The process ids of the instance's sapstartsrv."""
        return {one.pid for one in running(self.host, ("sapstartsrv",)) if serves(one, self.instance)}

    def _do(self, function):
        self._check(function, *self._ask(function))

    def _ask(self, function, *arguments):
        """(Result, Answer) of one function."""
        folder = self.instance.exe
        if folder is None:
            raise HostError("%(sid)s %(name)s: there is no sapcontrol in %(home)s/exe" % self.instance._asdict())
        argv = [folder + "/sapcontrol", "-nr", self.instance.number, "-function", function] + list(arguments)
        result = self.host.run(argv, timeout=self.timeout, user=self.instance.user, env=_environment(folder))
        answer = parse_answer(result.out)
        # what a dynamic linker has to say is on standard error
        return result, answer if answer.ok else parse_answer(result.out + result.err)

    def _check(self, function, result, answer, codes=(0,)):
        """Raise what the answer says went wrong."""
        if not answer.ok:
            raise self._failure(function, answer.failure)
        if result.rc not in codes:
            raise self._failure(function, "exit code %d" % result.rc)

    def _failure(self, function, text):
        """The error of one call."""
        title = "%s %s" % (self.instance.sid, self.instance.name)
        if _REFUSED.search(text):
            return NotRunning("%s: its start service (sapstartsrv) does not run: %s" % (title, text))
        return HostError("%s: sapcontrol %s failed: %s" % (title, function, text))


def _status(code, processes):
    """What exit code and lines of GetProcessList say together: the code alone does not know half a start."""
    colours = {process.dispstatus for process in processes}
    if code == _ALL_RUNNING or colours == {"GREEN"}:
        return Status("running", processes, "")
    if code == _ALL_STOPPED or colours == {"GRAY"}:
        return Status("stopped", processes, "")
    if not processes:
        return Status("unknown", [], "sapcontrol lists no processes")
    odd = [one for one in processes if one.dispstatus != "GREEN"]
    told = ["%s is %s (%s)" % (one.name, one.dispstatus, one.textstatus) for one in odd]
    return Status("partial", processes, "; ".join(told))


class SapPfPar:
    """sappfpar for one instance: what a profile means at the next start, and whether the kernel accepts it."""

    def __init__(self, host, instance):
        self.host = host
        self.instance = instance

    def available(self):
        """Whether the SAP kernel of this host has it."""
        return self._folder() is not None

    def values(self, names, path):
        """{name: text} as the instance would have them after a start with the profile at path."""
        result = self._run(list(names), path)
        if not result.out.strip() and result.err.strip():
            raise HostError("sappfpar failed: %s" % _on_one_line(result.err))
        found = parse_values(result.out, names)
        if found is None:
            raise HostError("sappfpar did not read %s" % path)
        return found

    def check(self, path):
        """What is wrong with the profile at path, one line each; empty if the kernel accepts it."""
        result = self._run(["check"], path)
        return parse_check(result.rc, result.out + result.err)

    def _run(self, arguments, path):
        folder = self._folder()
        if folder is None:
            raise HostError("%(sid)s %(name)s: there is no sappfpar in %(home)s/exe" % self.instance._asdict())
        argv = [folder + "/sappfpar"] + arguments + ["pf=" + path]
        argv += ["nr=" + self.instance.number, "name=" + self.instance.sid]
        return self.host.run(argv, timeout=60, user=self.instance.user, env=_environment(folder))

    def _folder(self):
        """The instance's own kernel, else the system's: that of central services need not hold sappfpar."""
        for folder in (self.instance.home + "/exe", "/usr/sap/%s/SYS/exe/run" % self.instance.sid):
            if self.host.exists(folder + "/sappfpar"):
                return folder
        return None
