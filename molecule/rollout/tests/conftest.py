# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Access to the twelve hosts as if on their consoles, and to playbooks that run in the background."""

import contextlib
import fcntl
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

CHECKOUT = Path(os.environ["MOLECULE_PROJECT_DIRECTORY"])
FOLDER = Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"])
ROOT = [] if os.geteuid() == 0 else ["sudo", "-n"]
LOOK = (
    "cd /sys/class/net && grep -r . --include=rps_cpus */queues | sort;"
    " find /etc/udev/rules.d /etc/tmpfiles.d /etc/sysctl.d /var/lib/zpower_sap_tuning -type f ! -name '*.lock'"
    " 2>/dev/null | sort | xargs -r sha256sum"
)
PATIENCE_S = 1800


def output(*command):
    return subprocess.run([*ROOT, *command], check=True, capture_output=True, text=True).stdout


class Run:
    """A playbook in the background; its output is kept in a file."""

    def __init__(self, command, log):
        self._log = log
        with log.open("w") as out:
            self._process = subprocess.Popen(
                ["ansible-playbook", *command],
                cwd=CHECKOUT,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "ANSIBLE_FORCE_COLOR": "0", "ANSIBLE_NOCOLOR": "1"},
            )

    @property
    def ended(self):
        return self._process.poll() is not None

    @property
    def said(self):
        return self._log.read_text()

    @property
    def code(self):
        return self._process.wait()

    @property
    def changed(self):
        """The number of changed tasks of each host."""
        found = re.findall(r"^(\w+)\s+: ok=\d+\s+changed=(\d+)", self.said, re.MULTILINE)
        return {host: int(count) for host, count in found}

    def kill(self):
        """Kill the run and its workers at once, as a power failure would."""
        self.signal(signal.SIGKILL)
        self._process.wait()

    def signal(self, number):
        """Send a signal to the run and its workers."""
        for pid in self._family():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _family(self):
        """Return its process id and those of all descendants; workers have sessions of their own."""
        listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], check=True, capture_output=True, text=True).stdout
        parents = [tuple(map(int, line.split())) for line in listed.splitlines()]
        found = [self._process.pid]
        for pid in found:
            found += [child for child, parent in parents if parent == pid]
        return found


class Site:
    """The hosts, and the rollouts of this scenario."""

    def __init__(self):
        inventory = json.loads(output(str(CHECKOUT / "inventories" / "lab" / "hosts.sh")))
        self.hosts = inventory["sap_app_servers"]["hosts"]
        key = Path(inventory["sap_app_servers"]["vars"]["ansible_ssh_private_key_file"])
        self._prefix = f"zps-{key.parent.name}-"

    def at(self, host, command):
        """Return the output of a shell command on a host, as if on its console."""
        inside = ["nsenter", "--target", self._first(host), "--mount", "--uts", "--ipc", "--net", "--pid"]
        return output(*inside, "/bin/sh", "-c", command)

    def cut_off(self, host):
        """Make the host unreachable; its processes continue."""
        sshd = self._first(host)
        output("kill", "-STOP", sshd)
        output("pkill", "-KILL", "-P", sshd, "^sshd")

    def connect(self, host):
        output("kill", "-CONT", self._first(host))

    def _first(self, host):
        """Return the process id on this machine of a host's process 1, its sshd."""
        for pid in output("ip", "netns", "pids", self._prefix + host).split():
            numbers = re.search(r"^NSpid:(.*)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)[1].split()
            if len(numbers) > 1 and numbers[-1] == "1":
                return pid
        raise AssertionError(f"{host} does not run")

    def look(self, hosts=()):
        """Return the masks of every queue and every file that a tuning stores, for each host."""
        return {host: self.at(host, LOOK) for host in hosts or self.hosts}

    def start(self, name, playbook="zpower.sap_tuning.rollout", *options, **variables):
        chosen = {"zpower_results": str(FOLDER / "results"), **variables}
        return Run([playbook, *options, "-e", json.dumps(chosen)], FOLDER / f"{name}.log")

    def play(self, *arguments, **variables):
        """Start a playbook and wait for its end."""
        run = self.start(*arguments, **variables)
        assert run.code is not None
        return run

    @staticmethod
    def file(change):
        return FOLDER / "results" / "rollouts" / change / "rollout.json"

    def state(self, change):
        """Return the state of a rollout; without batches if there is none."""
        with contextlib.suppress(FileNotFoundError):
            return json.loads(self.file(change).read_text())
        return {"batches": []}

    def reached(self, run, change, number, *stages):
        """Wait until a batch is in one of these stages; False if the playbook ends before."""
        return self.eventually(
            lambda: any(
                batch["number"] == number and batch["state"] == "running" and batch["stage"] in stages
                for batch in self.state(change)["batches"]
            ),
            lambda: run.ended,
        )

    def pause(self, run, change):
        """Stop a playbook while it does not hold the lock of its rollout, so that it does not end meanwhile."""
        while True:
            run.signal(signal.SIGSTOP)
            with self.file(change).with_name(".lock").open("r+") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return
                except BlockingIOError:
                    run.signal(signal.SIGCONT)
            time.sleep(0.1)

    @staticmethod
    def eventually(true, given_up=lambda: False):
        """Wait until a condition is true; False if it can no longer become true."""
        end = time.monotonic() + PATIENCE_S
        while not true():
            if given_up() or time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True


@pytest.fixture(scope="session")
def site():
    return Site()


@pytest.fixture(scope="session")
def kept():
    """Return the path of a file with which a stage passes data to a later one."""
    return FOLDER / "kept.json"
