# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for SAP's sapstartsrv, for tests on machines without an SAP kernel. It is not SAP's program.

    sapstartsrv pf=<profile>      serve the instance of this profile in the foreground, as <sid>adm

It answers the sapcontrol stand-in on the local socket of the instance, starts what Start_Program_NN of the profile
names as processes of their own, see sap_process.py, and knows of them what /proc says. It reports parameters as of
its own start, whatever the instance runs with. RestartService ends it with RESTART; whoever started it starts it again.
"""

import contextlib
import json
import os
import signal
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import time

import enqueue_client
import sap_kernel

RESTART = 100
STILL_THERE = 1  # seconds for which the old service goes on answering after RestartService
PYTHON = os.path.realpath("/proc/self/exe")
PROCESS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "sap_process.py")
# What a started program is called by sapcontrol: by the beginning of its name in the profile.
PROGRAMS = {
    "dw": ("disp+work", "Dispatcher", "Running, Message Server connection ok, Dialog Queue time: 0.00 sec"),
    "ig": ("igswd_mt", "IGS Watchdog", "Running"),
    "ms": ("msg_server", "MessageServer", "Running"),
    "en": ("enserver", "EnqueueServer", "Running"),
    "enq": ("enq_server", "Enqueue Server 2", "Running"),
}


class Refused(Exception):
    """The text behind FAIL."""


def stamp(pid):
    """When a process started, in the kernel's ticks; None for one that is gone or only waits to be reaped."""
    try:
        with open("/proc/%s/stat" % pid) as stream:
            fields = stream.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[19])


class Instance:
    """One instance: what its profiles said when this service was started, and the state of its processes."""

    def __init__(self, profile):
        self.profile = profile
        self.parameters = sap_kernel.Parameters.read(profile)
        self.place = sap_kernel.Place(self.parameters)
        self.environment = self.parameters.environment(sap_kernel.lines_of(profile))
        self.started = []  # the children of this process, kept so that they are reaped
        os.makedirs(self.place.state, exist_ok=True)

    def programs(self):
        """[(key of PROGRAMS, command line)] of the Start_Program and Restart_Program lines, in their order."""
        found = []
        for name, value in sap_kernel.lines_of(self.profile):
            if name.startswith(("Start_Program_", "Restart_Program_")):
                words = self.parameters.expanded(value).split()[1:]
                found.append((os.path.basename(words[0]).split(".")[0], words))
        return found

    def known(self):
        """{process name: {pid, ticks, started}} of the last start."""
        try:
            with open(os.path.join(self.place.state, "started.json")) as stream:
                return json.load(stream)
        except FileNotFoundError:
            return {}

    # the functions of the web service; each gives (exit code, header, rows)

    def GetProcessList(self):
        header = ["name", "description", "dispstatus", "textstatus", "starttime", "elapsedtime", "pid"]
        known, rows = self.known(), []
        for key, _words in self.programs():
            name, description, good = PROGRAMS[key]
            process = known.get(name, {"pid": 0, "ticks": -1})
            if stamp(process["pid"]) != process["ticks"]:
                rows.append([name, description, "GRAY", "Stopped", "", "", str(process["pid"])])
                continue
            ready = os.path.exists(os.path.join(self.place.state, "%s.%s" % (name, process["pid"])))
            seconds = int(time.time() - process["started"])
            times = [
                time.strftime("%Y %m %d %H:%M:%S", time.localtime(process["started"])),
                "%d:%02d:%02d" % (seconds // 3600, seconds // 60 % 60, seconds % 60),
            ]
            status = ["GREEN", good] if ready else ["YELLOW", "Stopping" if process.get("ends") else "Starting"]
            rows.append([name, description] + status + times + [str(process["pid"])])
        colours = {row[2] for row in rows}
        return {"GREEN": 3, "GRAY": 4}.get(colours.pop(), 0) if len(colours) == 1 else 0, header, rows

    def ParameterValue(self, name):
        value = self.parameters.get(name)
        if value is None:
            raise Refused("Invalid parameter")
        return 0, None, [[value]]

    def EnqGetStatistic(self):
        """Field and value, one a line: how SAP's sapcontrol prints them is not documented."""
        with contextlib.suppress(SystemExit):
            values = enqueue_client.Server(self.profile).ask("statistics")["values"]
            return 0, None, [["%s: %s" % (name, value)] for name, value in sorted(values.items())]
        raise Refused("Enqueue server not reachable")

    def Start(self, *_timeout):
        if self.GetProcessList()[0] == 4:
            processes = {}
            for key, words in self.programs():
                name = PROGRAMS[key][0]
                child = subprocess.Popen(
                    [words[0], PROCESS] + words[1:],
                    executable=PYTHON,
                    cwd=self.place.work,
                    env=dict(self.environment, SAP_STANDIN=name),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    start_new_session=True,
                )
                self.started.append(child)
                processes[name] = {"pid": child.pid, "ticks": stamp(child.pid), "started": time.time()}
            self.place.remember("started.json", json.dumps(processes))
        return 0, None, []

    def Stop(self, softtimeout="0"):
        """A batch job runs as long as the state has the file batch_job; it may end within the soft timeout."""
        if not softtimeout.isdigit():
            raise Refused("Invalid parameter")
        threading.Thread(target=self._end, args=(time.time() + int(softtimeout),), daemon=True).start()
        return 0, None, []

    def _end(self, until):
        while time.time() < until and os.path.exists(os.path.join(self.place.state, "batch_job")):
            time.sleep(0.1)
        processes = self.known()
        for process in processes.values():
            process["ends"] = True
            if stamp(process["pid"]) == process["ticks"]:
                os.kill(process["pid"], signal.SIGTERM)
        self.place.remember("started.json", json.dumps(processes))

    def RestartService(self):
        return 0, None, []  # the rest in Request.handle(): the caller gets his answer first


FUNCTIONS = [name for name in vars(Instance) if name[0].isupper()]


class Request(socketserver.StreamRequestHandler):
    """One call: a line {function, arguments} in, a line {code, header, rows} or {fail} out."""

    def handle(self):
        instance = self.server.instance
        line = self.rfile.readline()
        if not line:  # a check whether this listens
            return
        asked = json.loads(line.decode())
        credentials = self.request.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        try:
            if struct.unpack("3i", credentials)[1] not in (0, os.getuid()):
                raise Refused("Permission denied")
            if asked["function"] not in FUNCTIONS:
                raise Refused("Invalid function")
            with self.server.one_at_a_time:
                for child in instance.started:
                    child.poll()
                code, header, rows = getattr(instance, asked["function"])(*asked["arguments"])
            answer = {"code": code, "header": header, "rows": rows}
        except Refused as refusal:
            answer = {"fail": str(refusal)}
        self.wfile.write(json.dumps(answer).encode() + b"\n")
        if asked["function"] == "RestartService" and "code" in answer:
            time.sleep(STILL_THERE)
            os._exit(RESTART)


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def __init__(self, path, instance):
        self.instance = instance
        self.one_at_a_time = threading.Lock()
        if os.path.exists(path):
            os.unlink(path)
        super().__init__(path, Request)
        os.chmod(path, 0o666)  # handle() checks who asks

    def handle_error(self, request, client_address):
        """A client that has not waited for its answer is not an error."""
        if not isinstance(sys.exc_info()[1], (BrokenPipeError, ConnectionResetError)):
            super().handle_error(request, client_address)


def main():
    profile = sap_kernel.profile_argument(sys.argv[1:])
    if profile is None:
        sys.exit(__doc__)
    sap_kernel.need_libraries("sapstartsrv")
    if os.geteuid() == 0:
        sys.exit("sapstartsrv stand-in: start it as <sid>adm, as `sap-unit` does")
    if os.environ.get("SAP_STANDIN") != "sapstartsrv":
        # so that ps shows it under its own name
        name = os.path.join(os.path.dirname(os.path.realpath(__file__)), "sapstartsrv")
        os.environ["SAP_STANDIN"] = "sapstartsrv"
        os.execv(PYTHON, [name, __file__] + sys.argv[1:])
    instance = Instance(profile)
    Server(sap_kernel.socket_of(instance.place.number), instance).serve_forever()


if __name__ == "__main__":
    main()
