# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for systemd on hosts that have none, for the unit of one SAP instance.

    sap-unit start|stop <unit>      such as SAPPRD_00

start reads ExecStart, User, Environment and LimitRTPRIO of /etc/systemd/system/<unit>.service and its drop-ins, runs
the service as that user with that limit, and starts it again, reading all of it again, whenever RestartService asks for
that. stop ends the service alone (KillMode=process): what it has started goes on. The log is /run/<unit>.log.

Where root may not raise limits (CAP_SYS_RESOURCE is missing, as in a container), a LimitRTPRIO is CAP_SYS_NICE instead.
"""

import os
import pwd
import resource
import shlex
import signal
import socket
import sys
import time

import sap_kernel
import sapstartsrv


def settings(unit):
    """{key: value} of [Service] in a unit and its drop-ins; the last one wins."""
    path = "%s/%s.service" % (sap_kernel.SYSTEMD, unit)
    folder = path + ".d"
    drop_ins = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    found, section = {}, ""
    for name in [path] + [os.path.join(folder, name) for name in drop_ins if name.endswith(".conf")]:
        with open(name) as stream:
            for line in stream:
                key, equals, value = line.partition("=")
                if line.startswith("["):
                    section = line.strip()
                elif equals and section == "[Service]":
                    found[key.strip()] = value.strip()
    return found


def as_user(service):
    """The words that run a command as the unit's user, with its limit."""
    user = pwd.getpwnam(service["User"])
    words = ["setpriv", "--reuid=%d" % user.pw_uid, "--regid=%d" % user.pw_gid, "--init-groups"]
    limit = int(service.get("LimitRTPRIO", "0"))
    try:
        resource.setrlimit(resource.RLIMIT_RTPRIO, (limit, limit))
    except ValueError:
        words += ["--inh-caps=+sys_nice", "--ambient-caps=+sys_nice"]
    return words


def run_once(unit, log):
    """Run the service until it ends; its exit status. Ends with it when told to."""
    service = settings(unit)
    environment = dict(word.split("=", 1) for word in shlex.split(service.get("Environment", "")))
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        command = as_user(service) + shlex.split(service["ExecStart"])
        os.execvpe(command[0], command, dict(os.environ, **environment))

    def stop(_signal, _frame):
        os.kill(child, signal.SIGTERM)
        sys.exit(0)

    signal.signal(signal.SIGTERM, stop)
    status = os.waitpid(child, 0)[1]
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -1


def start(unit):
    """Put the service into the background; return when it answers."""
    if os.fork() == 0:
        os.setsid()
        with open("/run/%s.pid" % unit, "w") as stream:
            stream.write(str(os.getpid()))
        with open("/run/%s.log" % unit, "a") as log, open("/dev/null") as nothing:
            os.dup2(nothing.fileno(), 0)
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            while run_once(unit, log) == sapstartsrv.RESTART:
                pass
        os._exit(0)
    until = time.monotonic() + 120
    while time.monotonic() < until:
        with socket.socket(socket.AF_UNIX) as link:
            if link.connect_ex(sap_kernel.socket_of(unit[-2:])) == 0:
                return
        time.sleep(0.05)
    sys.exit("sap-unit: %s does not answer, see /run/%s.log" % (unit, unit))


def stop(unit):
    with open("/run/%s.pid" % unit) as stream:
        pid = int(stream.read())
    os.kill(pid, signal.SIGTERM)
    while sapstartsrv.stamp(pid) is not None:
        time.sleep(0.05)


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("start", "stop"):
        sys.exit(__doc__)
    {"start": start, "stop": stop}[sys.argv[1]](sys.argv[2])


if __name__ == "__main__":
    main()
