# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""sapcontrol and sappfpar: the meaning of their documented output, the arguments and the user of each call."""

import errno

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError, Result
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import fingerprint
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap import sapcontrol
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.instances import Instance
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.sapcontrol import NotRunning, SapControl, SapPfPar

EXE = "/usr/sap/PRD/D00/exe"
PROFILE = "/usr/sap/PRD/SYS/profile/PRD_D00_app1"
D00 = Instance(
    **dict(
        dict.fromkeys(Instance._fields),
        **{"sid": "PRD", "name": "D00", "number": "00", "type": "D", "role": "application_server", "host": "app1"},
        **{"profile": PROFILE, "user": "prdadm", "home": "/usr/sap/PRD/D00", "exe": EXE},
    )
)
HEADER = "name, description, dispstatus, textstatus, starttime, elapsedtime, pid\n"
DISPATCHER = (
    "disp+work, Dispatcher, GREEN, Running, Message Server connection ok, Dialog Queue time: 0.00 sec,"
    " 2026 11 20 08:00:05, 7:43:21, 4711\n"
)
STOPPED = "disp+work, Dispatcher, GRAY, Stopped, , , 4711\n"
STARTING = "disp+work, Dispatcher, YELLOW, Starting, 2026 11 20 15:59:58, 0:00:02, 4711\n"
IGS = "igswd_mt, IGS Watchdog, GREEN, Running, 2026 11 20 08:00:05, 27:43:21, 4712\n"
REFUSED = "FAIL: NIECONN_REFUSED (Connection refused), NiRawConnect failed in plugin_fopen()"


def said(function, text):
    return "\n20.11.2026 16:00:00\n%s\n%s\n" % (function, text)


class Machine:
    """A Host of which only the programs are known: answers is [(argv, Result or error)], in the order of the calls."""

    root = "/nowhere"

    def __init__(self, *answers, files=()):
        self.answers = list(answers)
        self.files = files

    def exists(self, path):
        return path in self.files

    def listdir(self, path):
        assert path == "/proc"
        return []

    def read(self, path):
        assert path == "/etc/passwd"

    def run(self, argv, timeout=30, user=None, env=None):
        expected, answer = self.answers.pop(0)
        assert argv == expected
        assert user == "prdadm" and timeout > 0
        folder = argv[0].rpartition("/")[0]
        assert env == {"LD_LIBRARY_PATH": folder, "LIBPATH": folder}
        if isinstance(answer, HostError):
            raise answer
        return answer


def call(function, *arguments):
    return [EXE + "/sapcontrol", "-nr", "00", "-function", function] + list(arguments)


def value_of(name, text, code=0):
    return call("ParameterValue", name, "-format", "script"), Result(code, said("ParameterValue", text), "")


OURS = value_of("SAPSYSTEMNAME", "OK\n0 : PRD")


def processes(code, text):
    return call("GetProcessList"), Result(code, said("GetProcessList", text), "")


@pytest.mark.parametrize(
    "text, answer",
    [
        (said("GetProcessList", "OK\n" + HEADER + IGS), ("GetProcessList", True, None, [HEADER.strip(), IGS.strip()])),
        ("\r\n20.11.2026 16:00:00\r\nStop\r\nOK\r\n", ("Stop", True, None, [])),
        (said("Stop", REFUSED), ("Stop", False, REFUSED[len("FAIL: ") :], [])),
        (said("Stop", "FAIL: 401 Unauthorized\nOK"), ("Stop", False, "401 Unauthorized", [])),
        (said("Stop", "FAIL"), ("Stop", False, "no reason given", [])),
        ("", (None, False, "it printed no answer: nothing", [])),
        ("usage: x\n\n  -nr <NR>\n", (None, False, "it printed no answer: usage: x | -nr <NR>", [])),
        ("20.11.2026 16:00:00\nStop\n", (None, False, "it printed no answer: 20.11.2026 16:00:00 | Stop", [])),
        ("x" * 9999, (None, False, "it printed no answer: " + "x" * 300, [])),
    ],
)
def test_answers(text, answer):
    assert sapcontrol.parse_answer(text) == answer


def test_processes_with_commas_and_with_nothing_in_their_columns():
    no_ids = ["9" * 5000, "\u00b2", "0007", "-1", "0"]
    rows = "".join("sybdbfm, , GREEN, Running, , , %s\n" % pid for pid in no_ids)
    text = said("GetProcessList", "OK\n" + HEADER + DISPATCHER + STOPPED + rows + "odd\n")
    found = [tuple(one) for one in sapcontrol.parse_processes(sapcontrol.parse_answer(text))]
    status = "Running, Message Server connection ok, Dialog Queue time: 0.00 sec"
    assert found == [
        ("disp+work", "Dispatcher", "GREEN", status, "2026 11 20 08:00:05", "7:43:21", 4711),
        ("disp+work", "Dispatcher", "GRAY", "Stopped", "", "", None),
    ] + [("sybdbfm", "", "GREEN", "Running", "", "", None)] * len(no_ids) + [("odd", "", "", "", "", "", None)]


@pytest.mark.parametrize(
    "text, values",
    [
        ("a\nb\n", {"one": "a", "two": "b"}),
        ("====\n==   Checking profile:     %s\n====\na\nb\n" % PROFILE, {"one": "a", "two": "b"}),
        ("\nb\n", {"one": "", "two": "b"}),
        ("a\n\n", {"one": "a", "two": ""}),
        ("a b \n$(x) = #\n", {"one": "a b", "two": "$(x) = #"}),
        ("== Checking profile: <no_profile>\na\nb\n", None),
        ("a\n", "1 lines for 2 parameters: a"),
        ("a\nb\nc\n", "3 lines for 2 parameters: a | b | c"),
        ("", "0 lines for 2 parameters: nothing"),
    ],
)
def test_values_of_parameters(text, values):
    if isinstance(values, str):
        with pytest.raises(HostError) as error:
            sapcontrol.parse_values(text, ["one", "two"])
        assert str(error.value) == "sappfpar printed " + values
    else:
        assert sapcontrol.parse_values(text, ["one", "two"]) == values


CHECKED = "== Checking profile: %s\n\n" % PROFILE
WARNED = "***WARNING: Unexpected parameter: foo/bar =1\n"


@pytest.mark.parametrize(
    "code, text, problems",
    [
        (0, CHECKED, []),
        (0, CHECKED + WARNED, []),
        (0, CHECKED + WARNED + "Errors detected...:    0\nWarnings detected.:    1\n", []),
        # with a count the exit code says nothing more
        (1, CHECKED + "Errors detected...:    0\n", []),
        (0, CHECKED + "***ERROR: Parameter x: bad\n" + WARNED + "Errors detected..: 1\n", ["ERROR: Parameter x: bad"]),
        (0, CHECKED + "*** ERROR => pool too small\n  SOLUTIONS: (1) x\n", ["ERROR => pool too small"]),
        (0, CHECKED + "Errors detected: 2\n", ["Errors detected: 2: %s | Errors detected: 2" % CHECKED.strip()]),
        (1, "cannot read\nthe profile\n", ["exit code 1: cannot read | the profile"]),
        (-11, "", ["exit code -11: nothing"]),
        (2, "Errors detected: " + "0" * 5000, ["exit code 2: Errors detected: " + "0" * 283]),
        (0, "== Checking profile: <no_profile>\nErrors detected: 0\n", ["sappfpar did not read the profile"]),
    ],
)
def test_what_a_check_says(code, text, problems):
    assert sapcontrol.parse_check(code, text) == problems


@pytest.mark.parametrize(
    "code, answer, value",
    [
        (0, "OK\n0 : SCHED_RR", "SCHED_RR"),
        (0, "OK\n0 : app1_PRD_00 and more : with = signs", "app1_PRD_00 and more : with = signs"),
        (0, "OK\n0 : ", ""),
        (0, "OK\n0 : 99\r\n", "99"),
        (1, "FAIL: Invalid parameter", None),
        (1, "FAIL: Parameter foo/bar not found", None),
    ],
)
def test_a_parameter_of_the_running_instance(code, answer, value):
    host = Machine(value_of("foo/bar", answer, code))
    assert SapControl(host, D00).parameter("foo/bar") == value
    assert host.answers == []


FAILED = "sapcontrol ParameterValue foo/bar failed: "


@pytest.mark.parametrize(
    "code, answer, kind, words",
    [
        (1, REFUSED, NotRunning, "its start service (sapstartsrv) does not run: " + REFUSED[len("FAIL: ") :]),
        (1, "FAIL: Invalid Credentials", HostError, FAILED + "Invalid Credentials"),
        (0, "OK\n", HostError, FAILED + "it printed no value"),
        (0, "OK\n10 : 5\n 0 : 6\n0 name: 7", HostError, FAILED + "it printed no value"),
        (9, "OK\n0 : 1", HostError, FAILED + "exit code 9"),
    ],
)
def test_a_parameter_that_is_not_told(code, answer, kind, words):
    with pytest.raises(HostError) as error:
        SapControl(Machine(value_of("foo/bar", answer, code)), D00).parameter("foo/bar")
    assert (type(error.value), str(error.value)) == (kind, "PRD D00: " + words)


def test_standard_error_is_shown_only_where_there_is_no_answer():
    words = "error while loading shared libraries: libsapcrypto.so"
    with pytest.raises(HostError, match="sapcontrol Stop failed: it printed no answer: " + words):
        SapControl(Machine((call("Stop"), Result(127, "", words + "\n"))), D00).stop()
    argv, result = processes(3, "OK\n" + HEADER + IGS)
    host = Machine(OURS, (argv, result._replace(err="Warning: x, y, z\n")))
    assert [one.name for one in SapControl(host, D00).status().processes] == ["igswd_mt"]


def test_a_status_that_is_unknown():
    host = Machine(OURS, value_of("SAPSYSTEMNAME", "OK\n0 : QAS"), value_of("SAPSYSTEMNAME", "OK\n0 : QAS"))
    control = SapControl(host, D00)
    assert control.belongs() and not control.belongs()
    assert control.status() == ("unknown", [], "another system answers for instance number 00")
    error = HostError("there is no user prdadm on this host", errno.ENOENT)
    assert SapControl(Machine((OURS[0], error)), D00).status() == ("unknown", [], str(error))


@pytest.mark.parametrize(
    "code, text, state, reason",
    [
        (3, "OK\n" + HEADER + DISPATCHER + IGS, "running", ""),
        (4, "OK\n" + HEADER + STOPPED, "stopped", ""),
        (0, "OK\n" + HEADER + STARTING + IGS, "partial", "disp+work is YELLOW (Starting)"),
        (0, "OK\n" + HEADER + STARTING + STOPPED, "partial", "is YELLOW (Starting); disp+work is GRAY (Stopped)"),
        (0, "OK\n" + HEADER + STOPPED + IGS, "partial", "disp+work is GRAY (Stopped)"),
        # processes that a kernel lists in a way of its own
        (3, "OK\n" + HEADER + "odd\n", "running", ""),
        (4, "OK\n", "stopped", ""),
        (0, "OK\n" + HEADER, "unknown", "sapcontrol lists no processes"),
        (1, REFUSED, "unknown", "(sapstartsrv) does not run: " + REFUSED[len("FAIL: ") :]),
        (3, "FAIL: x", "unknown", "PRD D00: sapcontrol GetProcessList failed: x"),
        (2, "OK\n" + HEADER + IGS, "unknown", "PRD D00: sapcontrol GetProcessList failed: exit code 2"),
    ],
)
def test_the_status_with_its_exit_codes(code, text, state, reason):
    host = Machine(OURS, processes(code, text))
    status = SapControl(host, D00).status()
    assert status.state == state and status.reason.endswith(reason) and bool(status.reason) == bool(reason)
    assert host.answers == []


VERSIONS = "Filename, VersionInfo, Time\n" + "".join(
    "/usr/sap/PRD/D00/exe/%s, %s, optU (Oct 16 2021, 00:03:15), linuxs390x, 2021 10 16 00:03:15\n" % pair
    for pair in (
        ("sapstartsrv", "753, patch 901, changelist 2094700, RKS compatibility level 1"),
        ("gwrd", "753, patch 900, changelist 2094654, RKS compatibility level 1"),
        ("disp+work", "753, patch 900, changelist 2094654, RKS compatibility level 1"),
    )
)


@pytest.mark.parametrize(
    "rows, kernel",
    [
        (VERSIONS, "disp+work 753 patch 900"),
        (VERSIONS.replace("disp+work", "msg_server"), "sapstartsrv 753 patch 901"),
        (VERSIONS.replace("patch", "level"), None),
        ("", None),
    ],
)
def test_the_sap_kernel_of_an_instance(rows, kernel, monkeypatch):
    asked = (call("GetVersionInfo"), Result(0, said("GetVersionInfo", "OK\n" + rows), ""))
    assert SapControl(Machine(OURS, asked), D00).kernel() == kernel
    assert SapControl(Machine(), D00._replace(exe=None)).kernel() is None
    monkeypatch.setattr(fingerprint, "instances", lambda host: [D00, D00._replace(name="D01")])
    assert fingerprint.sap_kernel(Machine(OURS, asked, OURS, asked)) == kernel
    refused = (call("GetVersionInfo"), Result(1, said("GetVersionInfo", REFUSED), ""))
    assert fingerprint.sap_kernel(Machine(OURS, asked, OURS, refused)) is None


def test_without_sapcontrol_and_sappfpar():
    control = SapControl(Machine(), D00._replace(exe=None))
    words = "PRD D00: there is no sapcontrol in /usr/sap/PRD/D00/exe"
    assert control.status() == ("unknown", [], words)
    with pytest.raises(HostError) as error:
        control.stop()
    assert str(error.value) == words and not isinstance(error.value, NotRunning)
    program = SapPfPar(Machine(), D00)
    assert not program.available()
    for ask in (lambda: program.check(PROFILE), lambda: program.values(["one"], PROFILE)):
        with pytest.raises(HostError, match="PRD D00: there is no sappfpar in /usr/sap/PRD/D00/exe"):
            ask()


@pytest.mark.parametrize(
    "method, function", [("stop", "Stop"), ("start", "Start"), ("restart_service", "RestartService")]
)
def test_requests(method, function):
    good = (call(function), Result(0, said(function, "OK"), ""))
    bad = (call(function), Result(1, said(function, "FAIL: Permission denied"), ""))
    gone = (call(function), Result(1, said(function, REFUSED), ""))
    host = Machine(good, bad, gone)
    control = SapControl(host, D00)
    getattr(control, method)()
    with pytest.raises(HostError, match="PRD D00: sapcontrol %s failed: Permission denied" % function):
        getattr(control, method)()
    with pytest.raises(NotRunning):
        getattr(control, method)()
    assert host.answers == []


class Restarting(Machine):
    """A host whose start services are, at each look, the next of looks: {process id: command line}."""

    def __init__(self, *looks):
        super().__init__((call("RestartService"), Result(0, said("RestartService", "OK"), "")))
        self.looks = list(looks)

    def listdir(self, path):
        return ["1", "self", "sys"] + sorted(self.looks[0])

    def read(self, path):
        pid = path.split("/")[2]
        if path == "/etc/passwd" or path.endswith("/status"):
            return None
        if pid == "1":
            raise HostError("cannot read %s: No such process" % path, errno.ESRCH)
        if path.endswith("/stat"):
            return "%s (sapstartsrv) S 1 %s\n" % (pid, " ".join(["0"] * 48))
        text = self.looks[0][pid]
        if pid == max(self.looks[0]) and len(self.looks) > 1:
            self.looks.pop(0)
        return text


def service(profile):
    return EXE + "/sapstartsrv\0pf=" + profile + "\0-D\0-u\0prdadm\0"


OTHERS = {"11": service("/usr/sap/PRD/SYS/profile/PRD_D01_app1"), "12": "sleep\0%s\0" % PROFILE, "99": ""}
OLD, NEW = dict(OTHERS, **{"20": service(PROFILE)}), dict(OTHERS, **{"30": service(PROFILE)})


@pytest.fixture
def clock(monkeypatch):
    """The seconds that the code has slept, which cost the test nothing."""
    slept = []
    monkeypatch.setattr(sapcontrol.time, "sleep", slept.append)
    monkeypatch.setattr(sapcontrol.time, "monotonic", lambda: sum(slept))
    return slept


@pytest.mark.parametrize(
    "system, looks, seconds",
    [
        ("Linux", [OLD, OLD, OLD, NEW], 0.2),
        ("Linux", [OLD, OLD, OTHERS, NEW], 0.1),
        ("Linux", [OLD, NEW], 0),
        ("Linux", [OTHERS], 0),
        # one that replaces itself keeps its process id
        ("Linux", [OLD], 10),
        ("AIX", [{}, {}, {}], 10),
    ],
)
def test_the_old_start_service_is_waited_for(clock, monkeypatch, system, looks, seconds):
    monkeypatch.setattr(sapcontrol.platform, "system", lambda: system)
    SapControl(Restarting(*looks), D00).restart_service()
    assert sum(clock) == pytest.approx(seconds, abs=0.11 if seconds == 10 else 0.01)


def asked(folder, *words):
    return [folder + "/sappfpar"] + list(words) + ["pf=" + PROFILE, "nr=00", "name=PRD"]


@pytest.mark.parametrize("folder", [EXE, "/usr/sap/PRD/SYS/exe/run"])
def test_sappfpar_of_the_instance_or_of_the_system(folder):
    host = Machine(
        (asked(folder, "one", "two"), Result(0, "a\nb\n", "")),
        (asked(folder, "check"), Result(0, CHECKED + "***ERROR: x\n", "")),
        (asked(folder, "check"), Result(127, "", "no libraries\n")),
        files=[folder + "/sappfpar", "/usr/sap/PRD/SYS/exe/run/sappfpar"],
    )
    program = SapPfPar(host, D00)
    assert program.available()
    assert program.values(["one", "two"], PROFILE) == {"one": "a", "two": "b"}
    assert program.check(PROFILE) == ["ERROR: x"]
    assert program.check(PROFILE) == ["exit code 127: no libraries"]
    assert host.answers == []


@pytest.mark.parametrize(
    "result, words",
    [
        (Result(0, "== Checking profile: <no_profile>\na\n", ""), "did not read " + PROFILE),
        (Result(127, "\n", "no\nlibraries\n"), "failed: no | libraries"),
        (Result(0, "a\nb\n", ""), "printed 2 lines for 1 parameters: a | b"),
    ],
)
def test_values_that_are_not_told(result, words):
    host = Machine((asked(EXE, "one"), result), files=[EXE + "/sappfpar"])
    with pytest.raises(HostError) as error:
        SapPfPar(host, D00).values(["one"], PROFILE)
    assert str(error.value) == "sappfpar " + words
