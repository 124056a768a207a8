# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SAP's sapcontrol and sappfpar, with the parsers of their output.

Both run as <sid>adm, without a shell and without its login files. sapcontrol then talks to the instance's sapstartsrv
over the local socket, which needs no password.
"""

import platform
import re
import time
from collections import namedtuple

from .._host.host import HostError
from .instances import kernel_folder
from .processes import servers

# The output of sapcontrol: the function that answered, whether it says OK, the text after FAIL, and the lines after OK.
ControlAnswer = namedtuple("ControlAnswer", "function ok failure rows")
# One line of GetProcessList. dispstatus: GREEN, YELLOW, RED or GRAY. pid: None if the process does not run, which is
# GRAY; sapcontrol can print there the pid that it had.
ListedProcess = namedtuple("ListedProcess", "name description dispstatus textstatus starttime elapsedtime pid")
# state: running, stopped, partial or unknown. reason: why it is partial or unknown.
Status = namedtuple("Status", "state processes reason")

_DATE = re.compile(r"^[0-9]{2}\.[0-9]{2}\.[0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2}$")
_REFUSED = re.compile(r"NIECONN_REFUSED|Connection refused")
# the answer of ParameterValue for a name that the kernel does not have
_NO_PARAMETER = re.compile(r"\b(invalid|unknown|no such)\b.*\bparameter\b|\bparameter\b.*\b(unknown|not found)\b", re.I)
# each of its words makes the search begin anew
_MOST_SEARCHED = 1000
# file name, release and patch in a row of GetVersionInfo, as the SAP gatherer of trento's agent reads them
_VERSION = re.compile(r"(?:.*/)?([^/,]+), ([0-9]{3,4}), patch ([0-9]{1,6})\b")
# the first of these that an instance has stands for its SAP kernel; sapstartsrv may be patched alone
_KERNELS = ("disp+work", "enq_server", "enserver", "jstart", "sapstartsrv")
_ALL_RUNNING, _ALL_STOPPED = 3, 4
# how long an old sapstartsrv may take to end
_GOING_S = 10
_NO_PROFILE = "<no_profile>"
NOT_READ = "sappfpar did not read the profile"


class NotRunning(HostError):
    """The start service of the instance, sapstartsrv, does not run."""


# parsers


def parse_answer(out):
    """The ControlAnswer in the output: a date, the function, then OK and its lines, or FAIL and a reason."""
    function = None
    lines = out.splitlines()
    for number, line in enumerate(lines):
        text = line.strip()
        if text == "OK":
            return ControlAnswer(function, True, None, [row for row in lines[number + 1 :] if row.strip()])
        if text.startswith("FAIL"):
            return ControlAnswer(function, False, text[len("FAIL") :].lstrip(": ") or "no reason given", [])
        if text and not _DATE.match(text):
            function = text
    return ControlAnswer(None, False, "it printed no answer: %s" % _on_one_line(out), [])


def _on_one_line(text):
    """The output of a program, for a sentence."""
    return " | ".join(line.strip() for line in text.splitlines() if line.strip())[:300] or "nothing"


def parse_processes(answer):
    """[ListedProcess] of the answer of GetProcessList.

    textstatus may contain commas, so three columns are counted from the left and three from the right. starttime and
    elapsedtime are empty for processes that do not run.
    """
    found = []
    for row in answer.rows:
        parts = row.rstrip().split(", ")
        parts += [""] * (7 - len(parts))
        if parts[:2] != ["name", "description"]:
            runs = parts[2] != "GRAY" and re.match(r"[1-9][0-9]{0,9}\Z", parts[-1])
            pid = int(parts[-1]) if runs else None
            found.append(ListedProcess(parts[0], parts[1], parts[2], ", ".join(parts[3:-3]), parts[-3], parts[-2], pid))
    return found


def parse_kernel(answer):
    """The SAP kernel in the answer of GetVersionInfo, such as ``disp+work 753 patch 900``; None if it names none."""
    found = {}
    for match in filter(None, map(_VERSION.match, answer.rows)):
        found.setdefault(match.group(1), "%s %s patch %s" % match.groups())
    return next((found[name] for name in _KERNELS if name in found), None)


def parse_script_value(text):
    """The value of an answer in -format script (``0 : VALUE``), or None."""
    match = re.search(r"(?m)^0 :(?:[ ](.*?))?\r?$", text)
    return (match.group(1) or "") if match else None


def parse_values(text, names):
    """{name: value} of ``sappfpar NAME ... pf=PROFILE``; None if sappfpar did not read the profile.

    One value per line, in the order of the names; empty if not set. Raises HostError if there are more or fewer lines
    than names, because then the values cannot be assigned to the names.
    """
    if _NO_PROFILE in text:
        return None
    lines = [line.strip() for line in text.splitlines() if not line.startswith("==")]
    for found in (lines, [line for line in lines if line]):
        if len(found) == len(names):
            return dict(zip(names, found))
    raise HostError("sappfpar printed %d lines for %d parameters: %s" % (len(lines), len(names), _on_one_line(text)))


def parse_check(rc, out):
    """The errors of a profile in the output of ``sappfpar check``, one line each, without warnings.

    SAP documents neither the layout nor the exit code. A line that begins with stars and ERROR is an error. If there is
    none, the number of errors at the end decides; without that number, the exit code.
    """
    lines = [line.strip() for line in out.splitlines() if line.strip()]
    if _NO_PROFILE in out:
        return [NOT_READ]
    problems = [line.lstrip("* ") for line in lines if re.match(r"\*+\s*ERROR", line, re.I)]
    count = re.search(r"(?im)^[* \t]*errors? detected[ .:]*([0-9]{1,9})[ \t\r]*$", out)
    if problems or (count and not int(count.group(1))) or (rc == 0 and not count):
        return problems
    told = count.group(0).strip() if count else "exit code %d" % rc
    return ["%s: %s" % (told, _on_one_line(out))]


# the programs


def _environment(folder):
    """The variables by which the SAP kernel's programs find their libraries; LIBPATH is for AIX."""
    return {"LD_LIBRARY_PATH": folder, "LIBPATH": folder}


class SapControl:
    """sapcontrol of one instance; timeout: seconds for each call."""

    def __init__(self, host, instance, timeout=30):
        self.host = host
        self.instance = instance
        self.timeout = timeout

    def parameter(self, name):
        """The value of a parameter in the running instance; None if the instance does not have the parameter."""
        result, answer = self._ask("ParameterValue", name, "-format", "script")
        if not answer.ok and _NO_PARAMETER.search(answer.failure[:_MOST_SEARCHED]):
            return None
        self._check("ParameterValue " + name, result, answer)
        value = parse_script_value(result.out)
        if value is None:
            raise self._failure("ParameterValue " + name, "it printed no value")
        return value

    def belongs(self):
        """Whether this instance's system answers: another system on the host may use the same number."""
        return self.parameter("SAPSYSTEMNAME") == self.instance.sid

    def status(self):
        """The Status of the instance. Never raises: on errors the state is unknown, with the reason."""
        try:
            if not self.belongs():
                raise HostError("another system answers for instance number %s" % self.instance.number)
            result, answer = self._ask("GetProcessList")
            self._check("GetProcessList", result, answer, (0, _ALL_RUNNING, _ALL_STOPPED))
        except HostError as error:
            return Status("unknown", [], str(error))
        return _status(result.rc, parse_processes(answer))

    def kernel(self):
        """The SAP kernel of the instance, see parse_kernel(); None if that is not known."""
        try:
            return parse_kernel(self._ask("GetVersionInfo")[1]) if self.belongs() else None
        except HostError:
            return None

    def stop(self, soft=0):
        """Tell the instance to stop, without waiting until it has stopped.

        soft: seconds in which batch jobs and updates may end first (SAP Note 953653); with 0 they end at once.
        """
        self._call("Stop", *([str(soft)] if soft else []))

    def start(self):
        """Tell the instance to start, without waiting until it has started."""
        self._call("Start")

    def restart_service(self):
        """Restart sapstartsrv, so that it reads profile and unit again; the instance itself is not restarted.

        Returns when the old sapstartsrv has ended, because it answers for another moment and would start the instance
        with its old limits. For a few more seconds, calls may raise NotRunning.
        """
        old = self._service_pids()
        self._call("RestartService")
        if platform.system() == "AIX":
            # its /proc has no command lines
            time.sleep(_GOING_S)
        until = time.monotonic() + _GOING_S
        # one that replaces itself keeps its process id, so the end of the wait is not an error
        while old & self._service_pids() and time.monotonic() < until:
            time.sleep(0.1)

    def _service_pids(self):
        """The process ids of the instance's sapstartsrv."""
        return {one.pid for one in servers(self.host, self.instance)}

    def _call(self, function, *arguments):
        self._check(function, *self._ask(function, *arguments))

    def _ask(self, function, *arguments):
        """(Result, ControlAnswer) of one function."""
        folder = self.instance.exe
        if folder is None:
            raise HostError("%(sid)s %(name)s: there is no sapcontrol in %(home)s/exe" % self.instance._asdict())
        argv = [folder + "/sapcontrol", "-nr", self.instance.number, "-function", function] + list(arguments)
        result = self.host.run(argv, timeout=self.timeout, user=self.instance.user, env=_environment(folder))
        answer = parse_answer(result.out)
        # messages of the dynamic linker are on standard error
        return result, answer if answer.ok else parse_answer(result.out + result.err)

    def _check(self, function, result, answer, codes=(0,)):
        """Raise the error in the answer, if any."""
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
    """The Status by exit code and lines of GetProcessList; the code alone does not show a partial start."""
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
    """sappfpar for one instance: the values of a profile at the next start, and whether the SAP kernel accepts it."""

    def __init__(self, host, instance):
        self.host = host
        self.instance = instance

    def available(self):
        """Whether the SAP kernel of this host has it."""
        return self._folder() is not None

    def values(self, names, path):
        """{name: text} that the instance would have after a start with the profile at path."""
        result = self._run(list(names), path)
        if not result.out.strip() and result.err.strip():
            raise HostError("sappfpar failed: %s" % _on_one_line(result.err))
        found = parse_values(result.out, names)
        if found is None:
            raise HostError("sappfpar did not read %s" % path)
        return found

    def check(self, path):
        """The errors of the profile at path, one line each; empty if the SAP kernel accepts it."""
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
        # the own kernel of central services may lack it
        return kernel_folder(self.host, self.instance.sid, self.instance.home, "sappfpar")
