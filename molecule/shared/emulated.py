# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base of the emulated labs: a fixed list of hosts, which are machines that boot slowly."""

import argparse
import contextlib
import os
import signal
import sys
from pathlib import Path

import debian
from lab import TOOLS, Lab, serve
from machine import LabError

LAST_WORDS = 2000  # characters of a console


class EmulatedLab(Lab):
    """A lab that is either complete or removed: if a machine fails to start, nothing is left running."""

    HOSTS = []
    TOOLS = TOOLS | {"apt-get": "apt", "cpio": "cpio", "dpkg-deb": "dpkg", "tar": "tar"}
    PATIENCE = 400
    GREETING = 20

    def names(self, count):
        return self.HOSTS if count else []

    def up(self, count):
        with self.nothing_half_way():
            super().up(count)

    def wait(self):
        with self.nothing_half_way():
            try:
                super().wait()
            except LabError:
                logs = [Path(self.folder, name + ".log") for name in self.HOSTS]
                said = [f"{log.stem}: {log.read_text(errors='replace')[-LAST_WORDS:].strip()}" for log in logs]
                raise LabError("\n".join(["Not every host started. Last output of their consoles:", *said])) from None

    @contextlib.contextmanager
    def nothing_half_way(self):
        try:
            yield
        except BaseException:
            self.down()
            raise

    def connection(self):
        """Return how Ansible reaches the hosts; kept connections detect a killed machine themselves.

        On a busy machine, an emulated sshd needs more than the usual 10 s for its greeting.
        """
        found = super().connection()
        found["ansible_ssh_common_args"] += " -o ServerAliveInterval=15 -o ConnectTimeout=60"
        return {**found, "ansible_timeout": 60}

    def login(self, name, command):
        """Replace this process with ssh to a host."""
        address = self.addresses(self.running())[name]
        options = [*self.connection()["ansible_ssh_common_args"].split(), "-i", self.key]
        os.execvp("ssh", ["ssh", *options, f"root@{address}", *command])


def arguments(kind, documentation, name):
    parser = argparse.ArgumentParser(description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default=name, help="several labs can stand at once (default: %(default)s)")
    actions = parser.add_subparsers(dest="action", required=True, metavar="up|down|status|inventory|login")
    for action in ("up", "down", "status", "inventory"):
        actions.add_parser(action)
    login = actions.add_parser("login")
    if len(kind.HOSTS) > 1:
        login.add_argument("host", choices=kind.HOSTS)
    login.add_argument("command", nargs=argparse.REMAINDER)
    chosen = parser.parse_args()
    if not chosen.name.isalnum() or len(chosen.name) > 20:
        parser.error(f"--name {chosen.name}: up to 20 letters and digits")
    return chosen


def main(kind, documentation, name):
    """Run the program of one kind of emulated lab."""
    chosen = arguments(kind, documentation, name)
    machines = kind(chosen.name)
    if chosen.action == "login":
        return machines.login(getattr(chosen, "host", kind.HOSTS[0]), chosen.command)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit("lab: interrupted"))
    if chosen.action == "up":
        # Before sudo, so that the owner of the parent folder owns it; an error is reported later.
        with contextlib.suppress(OSError):
            debian.cache().mkdir(parents=True, exist_ok=True)
    return serve(machines, chosen.action, len(kind.HOSTS))
