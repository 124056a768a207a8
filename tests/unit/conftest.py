# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the checkout importable as ansible_collections.zpower.sap_tuning, and isolate the unit tests.

Each pytest process has its own home, folder for temporary files and, as root, network namespace; a test that leaves a
process behind in it fails. This runs on Python 3.6 too.
"""

import atexit
import contextlib
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKOUT = os.path.dirname(os.path.dirname(HERE))
COLLECTIONS = os.path.join(CHECKOUT, ".cache", "collections")
LINK = os.path.join(COLLECTIONS, "ansible_collections", "zpower", "sap_tuning")
CLONE_NEWNET = 0x40000000  # <linux/sched.h>
# Processes that may live as long as pytest, if it is their parent.
SERVERS = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")
SECONDS_TO_END = 60
MARKERS = {"gate", "nightly", "may_skip"}


def _link():
    os.makedirs(os.path.dirname(LINK), exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.symlink(os.path.join("..", "..", "..", ".."), LINK)


_link()
for folder in (os.path.dirname(HERE), COLLECTIONS, os.path.join(HERE, "support")):
    if folder not in sys.path:
        sys.path.insert(0, folder)
PROGRAMS = ("docs", "demo", "evidence", "faults", "fuzz", "simulate")
sys.path += [os.path.join(os.path.dirname(HERE), name) for name in PROGRAMS]

import homes  # noqa: E402


def _remove(folder, pid):
    """Remove the folder of this process, but not in a fork of it."""
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)


def pytest_configure(config):
    # ansible-test knows no markers of pyproject.toml, and forks for each test
    known = {re.split("[:(]", line)[0] for line in config.getini("markers")}
    config.of_ansible_test = bool(MARKERS - known)
    for name in MARKERS - known:
        config.addinivalue_line("markers", name)
    own = tempfile.mkdtemp(prefix="zp-")
    # after the clean-up of pytest's own temporary folders, which lie in it
    atexit.register(_remove, own, os.getpid())
    os.environ.update(homes.variables(own))
    tempfile.tempdir = None
    os.environ.pop("ANSIBLE_HOME", None)
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) == 0:
        env = dict(os.environ, PATH=os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"]))
        subprocess.run(["ip", "link", "set", "lo", "up"], env=env, check=True)
        # getaddrinfo with AI_ADDRCONFIG (netperf) resolves nothing if all addresses are loopback addresses
        subprocess.run(["ip", "address", "add", "198.18.0.1/32", "dev", "lo"], env=env, check=True)
        if not config.of_ansible_test:
            config.pluginmanager.register(NothingLeft(), "nothing_left")


def pytest_collection_modifyitems(config, items):
    """ansible-test runs what `make test` runs of these files."""
    if config.of_ansible_test:
        items[:] = [item for item in items if not {"gate", "nightly"} & {mark.name for mark in item.iter_markers()}]


class NothingLeft:
    """Fail the last test of a file if its tests leave processes in their network namespace, and name these."""

    def __init__(self):
        self.network = os.readlink("/proc/self/ns/net")
        self.command = self._command(os.getpid())
        self.newest = self._newest_process()
        self.left_by = {}  # {process id: test}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item, nextitem):
        item.last_of_file = nextitem is None or nextitem.fspath != item.fspath

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        if call.when != "teardown" or self._newest_process() == self.newest:
            return  # nothing was started since then
        for pid in self._processes():
            self.left_by.setdefault(pid, item.nodeid)
        if not item.last_of_file:
            return
        end = time.monotonic() + SECONDS_TO_END
        while self._processes() and time.monotonic() < end:
            time.sleep(0.02)
        left = self._processes()
        self.newest = self._newest_process()
        if left:
            report = outcome.get_result()
            report.outcome = "failed"
            report.longrepr = "\n".join("%s leaves %s" % (self.left_by.get(pid), text) for pid, text in left.items())

    @staticmethod
    def _newest_process():
        with open("/proc/loadavg", encoding="ascii") as text:
            return text.read().split()[-1]

    def _processes(self):
        """Return {process id: command line} of the processes here, except this one and the servers that it keeps."""
        shown = ((pid, self._shown(pid)) for pid in os.listdir("/proc") if pid.isdigit())
        return {pid: text for pid, text in shown if text}

    @staticmethod
    def _command(pid):
        with open("/proc/%s/cmdline" % pid, "rb") as stream:
            return stream.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()

    def _shown(self, pid):
        if int(pid) == os.getpid():
            return ""
        try:
            if os.readlink("/proc/%s/ns/net" % pid) != self.network:
                return ""
            command = self._command(pid)
            with open("/proc/%s/stat" % pid, encoding="utf-8", errors="replace") as stream:
                parent = stream.read().rpartition(")")[2].split()[1]
        except OSError:  # it has ended
            return ""
        # a fork of this process acts on its behalf, and ends with it
        kept = parent == str(os.getpid()) and (command == self.command or any(name in command for name in SERVERS))
        return "" if kept else command
