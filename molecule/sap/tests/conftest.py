# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures for the system PRD: profiles as bytes, processes in /proc, and answers of the instances."""

import json

import pytest

PROFILES = "/sapmnt/PRD/profile"
# prints {name: [content, mode, owner, group, access control list]} of everything in a folder, including hidden files
READ_PROFILES = """
import json, os, sys
found = {}
for name in os.listdir(sys.argv[1]):
    path = os.path.join(sys.argv[1], name)
    status = os.stat(path)
    acl = [os.getxattr(path, key).hex() for key in os.listxattr(path) if "acl" in key]
    with open(path, encoding="latin-1", newline="") as stream:
        found[name] = [stream.read(), status.st_mode, status.st_uid, status.st_gid, acl]
print(json.dumps(found, sort_keys=True))
"""
# prints [process id, process id of the parent, real-time priority, policy] of every process named sys.argv[1], from
# /proc
READ_PROCESSES = """
import glob, json, sys
found = []
for folder in glob.glob("/proc/[0-9]*"):
    try:
        name = open(folder + "/cmdline").read().split("\\0")[0]
        fields = open(folder + "/stat").read().rpartition(")")[2].split()
    except OSError:
        continue
    if name == sys.argv[1]:
        found.append([int(folder[6:]), int(fields[1]), int(fields[37]), int(fields[38])])
print(json.dumps(sorted(found)))
"""


@pytest.fixture
def profiles(host):
    """Return a function that reads all profiles: {name: [content, mode, owner, group, access control list]}."""
    return lambda: json.loads(host.check_output("python3 -c %s %s", READ_PROFILES, PROFILES))


@pytest.fixture
def work_processes(host):
    """Return a function that reads [(process id, policy, priority)] of the work processes of D00."""

    def read():
        found = json.loads(host.check_output("python3 -c %s dw.sapPRD_D00", READ_PROCESSES))
        pids = {row[0] for row in found}
        return [(pid, policy, priority) for pid, parent, priority, policy in found if parent in pids]

    return read


@pytest.fixture
def control(host):
    """Return a function that calls sapcontrol for an instance: (exit code, output)."""

    def run(instance, *words):
        folder = f"/usr/sap/PRD/{instance}/exe"
        call = ["LD_LIBRARY_PATH=" + folder, folder + "/sapcontrol", "-nr", instance[-2:], "-function", *words]
        done = host.run("env " + " ".join(call))
        return done.rc, done.stdout

    return run


@pytest.fixture
def parameter(control):
    """Return a function that reads a parameter of the running instance."""

    def read(instance, name):
        code, text = control(instance, "ParameterValue", name)
        assert code == 0, text
        return text.splitlines()[-1]

    return read


@pytest.fixture
def is_up(control, eventually):
    """Return a function that waits until all processes of an instance run."""
    return lambda instance: eventually(lambda: control(instance, "GetProcessList")[0] == 3)


@pytest.fixture
def stored(host):
    """Return the files that allow real-time priorities, with their contents."""
    folders = "/etc/systemd/system /etc/security/limits.d"
    find = f"find {folders} -path '*SAPPRD*' -o -name '*.conf'"
    return host.check_output(f"{find} | sort; {find} -type f | sort | xargs -r grep . /dev/null || true")


@pytest.fixture
def effective():
    """Return a function that reads a parameter in the text of a profile; None if no active line sets it."""

    def read(text, name):
        lines = [line.partition("=") for line in text.splitlines() if not line.lstrip().startswith("#")]
        values = [value.strip() for key, equals, value in lines if equals and key.strip() == name]
        return values[-1] if values else None

    return read
