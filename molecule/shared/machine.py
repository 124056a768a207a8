# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Helpers of every lab: commands, files, locks, root, and whether an address answers."""

import contextlib
import fcntl
import os
import shutil
import socket
import subprocess
import sys
import time

TIMEOUT = 120
KEPT_AS_ROOT = ["HOME", "XDG_CACHE_HOME", "ZPOWER_LAB_CACHE"]

# Commands inherit the lock: if the lab program is killed, the next one waits for the commands that outlive it.
LOCKS = []


class LabError(Exception):
    """An error: one sentence that says what is wrong and how to fix it."""


def run(argv, stdin=None, check=True, timeout=TIMEOUT, stdout=subprocess.PIPE):
    """Run one command and return its standard output. An error contains the command and its message."""
    options = {"input": stdin, "stdout": stdout, "stderr": subprocess.PIPE, "text": True, "timeout": timeout}
    done = subprocess.run(argv, check=False, pass_fds=LOCKS, **options)
    if check and done.returncode != 0:
        raise LabError("'{}' failed: {}".format(" ".join(argv), (done.stderr or done.stdout or "").strip()))
    return done.stdout


def write(path, text, mode=0o644):
    """Write a temporary file beside the path and rename it, so that a reader never sees an incomplete file."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    beside = f"{path}.new"
    with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as handle:
        handle.write(text)
    os.chmod(beside, mode)
    os.replace(beside, path)


def answers(addresses, seconds):
    """Return the addresses whose sshd sends a greeting within this many seconds; ask repeatedly until all do."""
    greeted, until = set(), time.monotonic() + seconds
    while True:
        for address in addresses:
            if address not in greeted:
                with contextlib.suppress(OSError), socket.create_connection((address, 22), timeout=0.5) as link:
                    link.settimeout(5)
                    if link.recv(4) == b"SSH-":
                        greeted.add(address)
        if len(greeted) == len(addresses) or time.monotonic() > until:
            return greeted
        time.sleep(0.05)


def processes_in(inodes):
    """Return the ids of processes whose network namespace is one of these; no stored process id is trusted."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                if os.stat(f"/proc/{entry}/ns/net").st_ino in inodes:
                    found.append(int(entry))
    return found


@contextlib.contextmanager
def locked(name, seconds=TIMEOUT):
    """Hold a named lock of this machine while the block runs."""
    with open(os.path.join("/run/lock" if os.path.isdir("/run/lock") else "/run", name + ".lock"), "w") as handle:
        until = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise LabError(f"Another lab has been starting or stopping for {seconds} seconds.") from None
                time.sleep(0.1)
        LOCKS.append(handle.fileno())
        try:
            yield
        finally:
            LOCKS.remove(handle.fileno())


def become_root():
    """Continue as root through sudo if that needs no password; otherwise raise LabError."""
    if os.geteuid() == 0:
        return
    with contextlib.suppress(OSError):
        if subprocess.run(["sudo", "-n", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            kept = [f"{name}={os.environ[name]}" for name in KEPT_AS_ROOT if name in os.environ]
            again = [sys.executable, os.path.realpath(sys.argv[0]), *sys.argv[1:]]
            os.execvp("sudo", ["sudo", "-n", "env", *kept, *again])
    raise LabError("The lab makes network namespaces: run it as root, or allow this user sudo without a password.")


def check_tools(tools):
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    missing = {package for tool, package in tools.items() if shutil.which(tool) is None}
    if missing:
        raise LabError("The lab needs these Debian packages: {}.".format(" ".join(sorted(missing))))
