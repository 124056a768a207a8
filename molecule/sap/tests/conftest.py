# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of the system PRD read: profiles as bytes, processes in /proc, and what the instances answer."""

import json

import pytest

PROFILES = "/sapmnt/PRD/profile"
# {name: [content, mode, owner, group, access control list]} of everything in a folder, hidden files too
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
# [process id, process id of the parent, real-time priority, policy] of every process called sys.argv[1], from /proc
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
    """Every profile of the system when asked: {name: [content, mode, owner, group, access control list]}."""
    return lambda: json.loads(host.check_output("python3 -c %s %s", READ_PROFILES, PROFILES))


@pytest.fixture
def work_processes(host):
    """[(process id, policy, priority)] of the work processes of D00 when asked: the children of the dispatcher."""

    def read():
        found = json.loads(host.check_output("python3 -c %s dw.sapPRD_D00", READ_PROCESSES))
        pids = {row[0] for row in found}
        return [(pid, policy, priority) for pid, parent, priority, policy in found if parent in pids]

    return read


@pytest.fixture
def control(host):
    """Ask sapcontrol of an instance: (exit code, what it printed)."""

    def run(instance, *words):
        folder = f"/usr/sap/PRD/{instance}/exe"
        call = ["LD_LIBRARY_PATH=" + folder, folder + "/sapcontrol", "-nr", instance[-2:], "-function", *words]
        done = host.run("env " + " ".join(call))
        return done.rc, done.stdout

    return run


@pytest.fixture
def parameter(control):
    """A parameter in the running instance."""

    def read(instance, name):
        code, text = control(instance, "ParameterValue", name)
        assert code == 0, text
        return text.splitlines()[-1]

    return read


@pytest.fixture
def is_up(control, eventually):
    """Whether all processes of an instance run, or soon do."""
    return lambda instance: eventually(lambda: control(instance, "GetProcessList")[0] == 3)


@pytest.fixture
def stored(host):
    """The files beside the profiles with which real-time priorities are allowed, with their content."""
    folders = "/etc/systemd/system /etc/security/limits.d"
    find = f"find {folders} -path '*SAPPRD*' -o -name '*.conf'"
    return host.check_output(f"{find} | sort; {find} -type f | sort | xargs -r grep . /dev/null || true")


@pytest.fixture
def effective():
    """The value of a parameter in the text of a profile; None if no active line sets it."""

    def read(text, name):
        lines = [line.partition("=") for line in text.splitlines() if not line.lstrip().startswith("#")]
        values = [value.strip() for key, equals, value in lines if equals and key.strip() == name]
        return values[-1] if values else None

    return read
