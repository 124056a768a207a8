# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of every stage read: the state of a host, and what a playbook says about all of them."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(os.environ["MOLECULE_PROJECT_DIRECTORY"])
JOURNAL = "/var/lib/zpower_sap_tuning"
QUEUES = "cd /sys/class/net && grep -r . --include=rps_cpus --include=rps_flow_cnt */queues | sort"
STORED = (
    f"find /etc/udev/rules.d /etc/tmpfiles.d /etc/sysctl.d {JOURNAL} -mindepth 1 -type f 2>/dev/null"
    " | sort | xargs -r sha256sum"
)


@pytest.fixture
def masks(host):
    """Every queue file of every interface of the host, as text."""
    return host.check_output(QUEUES)


@pytest.fixture
def stored(host):
    """Every file with which RPS can be stored, with its checksum."""
    return host.check_output(STORED)


@pytest.fixture
def memory(host):
    """A file in which one stage leaves something for a later one, for each host."""
    folder = Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"])
    return folder / f"memory-{host.backend.get_hostname()}.json"


@pytest.fixture
def remembered(memory):
    """What the stage before the first change left for this one."""
    return json.loads(memory.read_text())


@pytest.fixture
def play():
    """Run a playbook of the collection: its exit status, what it printed, and the changed tasks of each host."""

    def run(name, *arguments):
        inventory = str(CHECKOUT / "inventories" / "lab")
        done = subprocess.run(
            ["ansible-playbook", f"zpower.sap_tuning.{name}", "-i", inventory, *arguments],
            cwd=CHECKOUT,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, "ANSIBLE_FORCE_COLOR": "0", "ANSIBLE_NOCOLOR": "1"},
        )
        text = done.stdout + done.stderr
        changed = {host: int(count) for host, count in re.findall(r"^(\w+)\s+: ok=\d+\s+changed=(\d+)", text, re.M)}
        return done.returncode, text, changed

    return run
