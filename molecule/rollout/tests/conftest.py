# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The twelve hosts, read and disturbed as if on their consoles, and playbooks that are started and watched."""

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
    """A playbook that was started. What it prints is in a file, which stays for people."""

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
        """End it and its workers at once, as if the controller had lost its power."""
        self.signal(signal.SIGKILL)
        self._process.wait()

    def signal(self, number):
        """Send a signal to it and its workers."""
        for pid in self._family():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _family(self):
        """Its process, and all that descend from it: workers are in sessions of their own."""
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
        """What a shell command prints on a host, as if on its console."""
        inside = ["nsenter", "--target", self._first(host), "--mount", "--uts", "--ipc", "--net", "--pid"]
        return output(*inside, "/bin/sh", "-c", command)

    def cut_off(self, host):
        """Nobody reaches the host any more, and what runs there goes on."""
        sshd = self._first(host)
        output("kill", "-STOP", sshd)
        output("pkill", "-KILL", "-P", sshd, "^sshd")

    def connect(self, host):
        output("kill", "-CONT", self._first(host))

    def _first(self, host):
        """Process 1 of a host, which is its sshd, as this machine numbers it."""
        for pid in output("ip", "netns", "pids", self._prefix + host).split():
            numbers = re.search(r"^NSpid:(.*)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)[1].split()
            if len(numbers) > 1 and numbers[-1] == "1":
                return pid
        raise AssertionError(f"{host} does not run")

    def look(self, hosts=()):
        """The masks of every queue, and every file that a tuning stores, of each host."""
        return {host: self.at(host, LOOK) for host in hosts or self.hosts}

    def start(self, name, playbook="zpower.sap_tuning.rollout", *options, **variables):
        chosen = {"zpower_results": str(FOLDER / "results"), **variables}
        return Run([playbook, *options, "-e", json.dumps(chosen)], FOLDER / f"{name}.log")

    def play(self, *arguments, **variables):
        """The same, to its end."""
        run = self.start(*arguments, **variables)
        assert run.code is not None
        return run

    @staticmethod
    def file(change):
        return FOLDER / "results" / "rollouts" / change / "rollout.json"

    def state(self, change):
        """The state of a rollout; nothing if there is none."""
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
        """Let a playbook stand still, without the lock of its rollout; on a slow machine it would soon end."""
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
        """Wait until something is true; False if it cannot become true any more."""
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
    """A file in which one stage leaves something for a later one."""
    return FOLDER / "kept.json"
