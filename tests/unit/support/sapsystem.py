# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host with the SAP system PRD in a test's tree: profiles, and an SAP kernel that answers from memory.

This is not SAP's kernel: it has only what the tuning asks for, in the documented formats.
"""

import os
import time

from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, Result

PROFILES = "/sapmnt/PRD/profile/"
D00 = PROFILES + "PRD_D00_app1"
ASCS01 = PROFILES + "PRD_ASCS01_app1"
DEFAULT = PROFILES + "DEFAULT.PFL"
REFUSED = "FAIL: NIECONN_REFUSED (Connection refused), NiRawConnect failed in plugin_fopen()"
KERNEL = {"rdisp/linux/os_scheduler": "SCHED_OTHER", "enque/table_size": "4096", "rdisp/wp_no_dia": "10"}

DEFAULT_TEXT = b"SAPSYSTEMNAME = PRD\nenque/table_size = 64000\n"
D00_TEXT = (
    b"SAPSYSTEMNAME = PRD\nSAPSYSTEM = 00\nINSTANCE_NAME = D00\n# rdisp/wp_no_btc = 3\nrdisp/wp_no_dia  =  10\n"
    b"rdisp/wp_no_btc = 6\nrdisp/wp_no_btc = 8"
)
ASCS_TEXT = b"SAPSYSTEMNAME = PRD\nINSTANCE_NAME = ASCS01\n_EN = en.sap$(SAPSYSTEMNAME)\nenque/table_size = 32000\n"


class Clock:
    """The module time for a wait. It has no time(): somebody may set that clock during the wait."""

    now, strftime, gmtime = 0.0, time.strftime, time.gmtime

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class SapHost(Host):
    """The host app1, whose instances D00 and ASCS01 run with what their profiles say when it is made.

    sapstartsrv of an instance answers with what the profiles said when it was started, whatever values the instance
    runs with.
    """

    def __init__(self, root):
        super().__init__(str(root))
        self.calls = []
        self.running = {}
        self.answers = {}
        self.started = {}
        self._aged = {}
        self.refuses = set()
        self.kernel_has = KERNEL
        self.dies_of = None
        self.hangs = False
        self.complains = []
        for path, data in ((DEFAULT, DEFAULT_TEXT), (D00, D00_TEXT), (ASCS01, ASCS_TEXT)):
            self.fill(path, data)
        for name in ("D00", "ASCS01"):
            for program in ("sapcontrol", "sappfpar"):
                self.fill("/usr/sap/PRD/%s/exe/%s" % (name, program), b"")
        os.makedirs(self.path("/usr/sap/PRD/SYS"))
        os.symlink("../../../../sapmnt/PRD/profile", self.path("/usr/sap/PRD/SYS/profile"))
        self.fill("/proc/sys/kernel/hostname", b"app1\n")
        self.start("00")
        self.start("01")

    def twin(self):
        return self

    def fill(self, path, data):
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        with open(self.path(path), "wb") as stream:
            stream.write(data)

    def profiles(self):
        return {name: self.data(PROFILES + name) for name in self.listdir(PROFILES)}

    def start(self, number):
        self.start_service(number)
        self.start_instance(number)

    def start_instance(self, number):
        self.running[number] = self.next_start({"00": D00, "01": ASCS01}[number])
        self.started[number] = time.time()

    def start_service(self, number):
        self.answers[number] = self.next_start({"00": D00, "01": ASCS01}[number])
        path = "/tmp/.sapstream5%s13" % number
        self.remove(path)
        self.fill(path, b"")

    def changed(self, path):
        found = super().changed(path)
        return self._aged.get((path, found), found)

    def pass_time(self, seconds):
        """Make everything that has happened so far this many seconds older."""
        self.started = {number: at - seconds for number, at in self.started.items()}
        for path in [PROFILES + name for name in self.listdir(PROFILES)] + self.glob("/tmp", ".sapstream*"):
            self._aged[path, super().changed(path)] = self.changed(path) - seconds

    def next_start(self, path):
        found = dict(self.kernel_has)
        for one in (DEFAULT, path):
            for line in self.data(one).decode("latin-1").splitlines():
                name, equals, value = line.partition("=")
                if equals and not line.startswith("#"):
                    found[name.strip()] = value.strip().replace("$(rdisp/myname)", "app1_PRD_00")
        return found

    def run(self, argv, timeout=30, user=None, env=None):
        assert user == "prdadm"
        assert env["LD_LIBRARY_PATH"] == os.path.dirname(argv[0])
        program, arguments = os.path.basename(argv[0]), list(argv[1:])
        self.calls.append(" ".join([program] + arguments))
        return self._sappfpar(arguments) if program == "sappfpar" else self._sapcontrol(arguments)

    def _sappfpar(self, arguments):
        names = [one for one in arguments if "=" not in one]
        path = next(one[3:] for one in arguments if one.startswith("pf="))
        # a file that is checked before it takes its place is named as the machine under test names it
        path = "/" + os.path.relpath(path, self.root) if path.startswith(self.root) else path
        if names == ["check"]:
            bad = [line for line in self.complains if line.encode() in self.data(path)]
            return Result(0, "".join("***ERROR: %s\n" % line for line in bad) + "Errors detected: %d\n" % len(bad), "")
        values = self.next_start(path)
        return Result(0, "".join(values.get(name, "") + "\n" for name in names), "")

    def work_process(self, pid, priority=0, policy=0, parent=41, capable=False):
        """Run a command. capable: it has CAP_SYS_NICE, with which the limit does not matter."""
        self.fill("/proc/%d/cmdline" % pid, b"dw.sapPRD_D00\0pf=" + D00.encode())
        fields = ["S", str(parent)] + ["0"] * 35 + [str(priority), str(policy)]
        self.fill("/proc/%d/stat" % pid, ("%d (dw.sapPRD_D00) %s\n" % (pid, " ".join(fields))).encode())
        self.fill("/proc/%d/limits" % pid, b"Max realtime priority     0   0\n")
        if capable:
            self.fill("/proc/%d/status" % pid, b"CapEff:\t0000000000800000\n")

    def _sapcontrol(self, arguments):
        number, function, rest = arguments[1], arguments[3], arguments[4:]
        if number in self.refuses:
            return self._answer(function, 1, REFUSED)
        values = self.running.get(number)
        if function == "ParameterValue":
            found = self.answers[number]
            if rest[0] not in found:
                return self._answer(function, 1, "FAIL: Invalid parameter")
            return self._answer(function, 0, "OK", "0 : " + found[rest[0]])
        if function == "GetProcessList":
            colour = "GRAY" if values is None else "YELLOW" if values == {} else "GREEN"
            head = "name, description, dispstatus, textstatus, starttime, elapsedtime, pid"
            seconds = int(time.time() - self.started[number])
            elapsed = "%d:%02d:%02d" % (seconds // 3600, seconds // 60 % 60, seconds % 60)
            row = "disp+work, Dispatcher, %s, %s, , %s, 42"
            row %= (colour, "Running" if colour == "GREEN" else "Starting", elapsed if values is not None else "")
            return self._answer(function, {"GREEN": 3, "GRAY": 4}.get(colour, 0), "OK", head, row)
        if function == "Stop" and not self.hangs:
            assert len(rest) < 2 and all(one.isdigit() for one in rest)
            self.running[number] = None
        elif function == "RestartService":
            self.start_service(number)
        elif function == "Start":
            self.start_instance(number)
            if self.dies_of and self.dies_of in self.running[number].values():
                self.running[number] = {}
        return self._answer(function, 0, "OK")

    @staticmethod
    def _answer(function, code, *lines):
        return Result(code, "\n".join(["", "20.11.2026 10:00:00", function] + list(lines)) + "\n", "")
