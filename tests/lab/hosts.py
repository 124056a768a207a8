# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Helpers: programs, the hosts of a lab, and playbooks on them."""

import contextlib
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parents[2]
PROGRAM = HERE / "molecule" / "shared" / "lab"
BIN = Path(sys.executable).parent
ROOT = [] if os.geteuid() == 0 else ["sudo", "-n"]
COLLECTIONS = os.environ.get("ANSIBLE_COLLECTIONS_PATH", str(HERE / ".cache" / "collections"))
CHOSEN = {"rps_interfaces": ["hsi*"], "rps_cpus": "all"}
SHORT = {
    "measure_runs": 1,
    "measure_warmup": 0,
    "measure_idle_seconds": 0,
    "measure_run_seconds": 0.1,
    "measure_bytes": [1000],
    "measure_tool": "pingpong",
}


def run(*command, check=True, text="", cwd=None, **environment):
    """Run a program, which must end with 0 unless ``check`` is false. ``text``: its input."""
    options = {"capture_output": True, "text": True, "input": text, "cwd": cwd, "env": {**os.environ, **environment}}
    done = subprocess.run(command, check=False, **options)
    assert done.returncode == 0 or not check, f"{command}: {done.stdout}{done.stderr}"
    return done


def lab(name, verb, *options):
    """Return the output of the lab's program."""
    return run(PROGRAM, verb, "--name", name, *options).stdout


@contextlib.contextmanager
def standing(name, count):
    """Run a lab while the block runs; remove an earlier one before."""
    lab(name, "down")
    lab(name, "up", "--hosts", str(count))
    try:
        yield Hosts(name)
    finally:
        lab(name, "down")


class Hosts:
    """The hosts of a lab by name, and the variables with which Ansible reaches them."""

    def __init__(self, name):
        inventory = json.loads(lab(name, "inventory"))
        self.hosts, self.connection = inventory["_meta"]["hostvars"], inventory["sap_app_servers"]["vars"]

    def on(self, host, command, text=""):
        """Return the output of a shell command on a host, over the network."""
        options = [*shlex.split(self.connection["ansible_ssh_common_args"]), "-o", "BatchMode=yes"]
        key, address = self.connection["ansible_ssh_private_key_file"], self.hosts[host]["ansible_host"]
        return run("ssh", "-i", key, *options, f"root@{address}", command, text=text).stdout


def play(folder, inventory, playbook, *options, **environment):
    """Run a playbook of the collection, or a file, in a folder, on the hosts of an inventory."""
    (folder / "hosts.json").write_text(json.dumps(inventory))
    book = playbook if playbook.endswith(".yml") else f"zpower.sap_tuning.{playbook}"
    settings = {"ANSIBLE_COLLECTIONS_PATH": COLLECTIONS, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_NOCOWS": "1", **environment}
    command = [BIN / "ansible-playbook", "-i", "hosts.json", book, *options]
    return run(*command, check=False, cwd=folder, **settings)


def evidence(folder):
    """Return the evidence in a folder of results."""
    return json.loads((folder / f"{folder.parent.name}.json").read_text())
