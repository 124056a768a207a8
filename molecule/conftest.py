# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures for every scenario: the state of a host, and what playbooks and modules report about it."""

import contextlib
import json
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

CHECKOUT = Path(os.environ["MOLECULE_PROJECT_DIRECTORY"])
JOURNAL = "/var/lib/zpower_sap_tuning"
QUEUES = "cd /sys/class/net && grep -r . --include=rps_cpus --include=rps_flow_cnt */queues | sort"
STORED = (
    f"find /etc/udev/rules.d /etc/tmpfiles.d /etc/sysctl.d {JOURNAL} -mindepth 1 -type f 2>/dev/null"
    " | sort | xargs -r sha256sum"
)

# prints {process id of each process of the instance: whether it has loaded the library}
LOADED = """
import glob, json
found = {}
for folder in glob.glob("/proc/[0-9]*"):
    try:
        if open(folder + "/cmdline").read().startswith("dw.sapPRD_D00"):
            found[folder[6:]] = "libsmc-preload.so" in open(folder + "/maps").read()
    except OSError:
        pass
print(json.dumps(found))
"""

SAID = {}  # the results of the playbooks of this stage


def pytest_collection_modifyitems(config, items):
    """Run the tests of a module with HOST on this host only."""
    elsewhere = [item for item in items if host_of(item) not in (None, getattr(item.module, "HOST", host_of(item)))]
    config.hook.pytest_deselected(items=elsewhere)
    items[:] = [item for item in items if item not in elsewhere]


def host_of(item):
    """Return the name of the host on which a test runs; None if it needs no host."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return parameters["_testinfra_host"].backend.get_hostname() if "_testinfra_host" in parameters else None


@pytest.fixture
def eventually():
    """Return a function that waits until a condition is true, even on a slow and busy machine."""

    def wait(true, seconds=300):
        end = time.monotonic() + seconds
        while not true():
            if time.monotonic() > end:
                return False
            time.sleep(0.2)
        return True

    return wait


@pytest.fixture
def masks(host):
    """Return every queue file of every interface of the host as text."""
    return host.check_output(QUEUES)


@pytest.fixture
def stored(host):
    """Return every file in which a tuning can store values, with its checksum."""
    return host.check_output(STORED)


@pytest.fixture
def memory(host):
    """Return the path of a file, one for each host, with which a stage passes data to a later one."""
    folder = Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"])
    return folder / f"memory-{host.backend.get_hostname()}.json"


@pytest.fixture
def remembered(memory):
    """Return the data saved before the first change."""
    return json.loads(memory.read_text())


def ansible(*command):
    """Run a program of ansible-core with the scenario's inventory, ANSIBLE_INVENTORY."""
    return subprocess.run(
        command,
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
        env={**os.environ, "ANSIBLE_FORCE_COLOR": "0", "ANSIBLE_NOCOLOR": "1"},
    )


@pytest.fixture
def play(host):  # needs `host` so that the tests keep their order: pytest would run those without a host last
    """Return a function that runs a playbook: its exit status, its output, and the changed tasks of each host."""

    def run(name, *arguments):
        # show all rows in the table, including compliant ones
        verbose = ["-v"] if name in ("verify", "site", "rollback") else []
        done = ansible("ansible-playbook", f"zpower.sap_tuning.{name}", *verbose, *arguments)
        text = done.stdout + done.stderr
        changed = {host: int(count) for host, count in re.findall(r"^(\w+)\s+: ok=\d+\s+changed=(\d+)", text, re.M)}
        return done.returncode, text, changed

    return run


@pytest.fixture
def name(host):
    """Return this host's name in the inventory."""
    return host.backend.get_hostname()


@pytest.fixture
def told(play):
    """Return a function that runs a playbook once for all hosts: its status, output, and changed tasks of each host."""

    def run(*arguments):
        if arguments not in SAID:
            SAID[arguments] = play(*arguments)
        return SAID[arguments]

    return run


@pytest.fixture
def verdicts(name):
    """Return a function that reads {(tuning, subject): verdict} of this host from the table of a playbook."""

    def read(text):
        row = rf"^{name} +(\w+) +(\S+) .*  (\w+(?: \w+)?)$"
        rows = re.findall(row, text.partition("\nTUNINGS ")[2], re.MULTILINE)
        return {(tuning, subject): verdict.replace(" ", "_") for tuning, subject, verdict in rows}

    return read


@pytest.fixture
def about(name):
    """Return a function that extracts this host's results from the output of a playbook."""

    def parts(text):
        results = re.split(r"^(?=(?:ok|changed|fatal|failed|skipping|included|TASK|PLAY)\b)", text, flags=re.MULTILINE)
        return "".join(part for part in results if f"[{name}]" in part.partition("\n")[0])

    return parts


@pytest.fixture
def module(host):
    """Return a function that calls a module of the collection on this host and returns its result."""

    def run(name, **arguments):
        words = ["--one-line", "-m", f"zpower.sap_tuning.{name}", "-a", json.dumps(arguments) if arguments else ""]
        done = ansible("ansible", host.backend.get_hostname(), *words)
        found = re.search(r"^\w+ \| \S+ => (\{.*\})$", done.stdout, re.MULTILINE)
        assert found, done.stdout + done.stderr
        return json.loads(found[1])

    return run


@pytest.fixture
def online(host):
    """Return the mask of all online CPUs, calculated from the kernel's list."""
    mask = 0
    for part in host.check_output("cat /sys/devices/system/cpu/online").split(","):
        first, _dash, last = part.partition("-")
        mask |= sum(1 << cpu for cpu in range(int(first), int(last or first) + 1))
    return mask


@pytest.fixture
def boot(host):
    """Return the id of the current boot."""
    return host.check_output("cat /proc/sys/kernel/random/boot_id")


@pytest.fixture
def broken(host):
    """Return a context manager that runs one command on the host at the start and another one at the end."""

    @contextlib.contextmanager
    def run(breaks, mends):
        host.run_expect([0], breaks)
        try:
            yield
        finally:
            host.run_expect([0], mends)

    return run


@pytest.fixture
def platform(host, module):
    """Return the facts of platform_info after comparing them with other programs on this host."""
    facts = module("platform_info")["ansible_facts"]["zpower_platform"]
    said = {row["field"]: row["data"] for row in json.loads(host.check_output("LC_ALL=C lscpu -J"))["lscpu"]}
    assert facts["architecture"] == said["Architecture:"]
    assert facts["machine_type"] == said["Machine type:"]
    assert facts["cpus"]["online"]["list"] == host.check_output("cat /sys/devices/system/cpu/online")
    assert facts["threads_per_core"] == int(said["Thread(s) per core:"])
    assert facts["dispatching"] == said["Dispatching mode:"]
    assert facts["kernel"] == host.check_output("uname -r")
    return facts


@pytest.fixture
def sysctls(host):
    """Return {name: value} of net.smc; empty without the module."""
    text = host.run("cd /proc/sys/net/smc && grep . *").stdout
    return dict(line.split(":") for line in text.splitlines())


@pytest.fixture
def profile(host):
    """Return a function that reads the profile of the instance with SMC."""
    return lambda: host.check_output("cat /usr/sap/PRD/SYS/profile/PRD_D00_*")


@pytest.fixture
def preloaded(host):
    """Return in one set whether the processes of the instance with SMC have loaded the library."""
    return set(json.loads(host.check_output("python3 -c %s", LOADED)).values())


@pytest.fixture
def record(play, name):
    """Return a function that runs verify for the instance with SMC: its status and the lines about the profile."""

    def look():
        status, text, _changed = play("verify", "--limit", name, "--tags", "smc")
        return status, "\n".join(re.findall(r"^.*/profile/PRD_D00_.*$", text, re.MULTILINE)) or text

    return look
