# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""This machine disguised as AIX: without /proc and /sys, and with stand-ins that print the documented layouts."""

import os
import platform
import signal

from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.cpu import meter

INTERVAL = 0.1
SHARED = (
    "System configuration: type=Shared mode=Uncapped smt=4 lcpu=8 mem=4096MB psize=16 ent=0.50 ",
    "",
    "%user  %sys  %wait  %idle physc %entc  lbusy  vcsw phint",
    "----- ----- ------ ------ ----- ----- ------ ----- -----",
)
SHARED_REPORT = " 20.0  60.0    1.0   19.0  0.45  90.0   21.0  8152    17"
DEDICATED = (
    "System configuration: type=Dedicated mode=Capped smt=4 lcpu=8 mem=4096MB",
    "",
    "%user  %sys  %wait  %idle",
    "----- ----- ------ ------",
)
DEDICATED_REPORT = "  5.0  20.0    1.0   74.0"
VMSTAT_SHARED = (
    "System configuration: lcpu=8 mem=4096MB ent=0.50",
    "",
    "kthr    memory              page              faults              cpu",
    "----- ----------- ------------------------ ------------ -----------------------",
    " r  b   avm   fre  re  pi  po  fr   sr  cy  in   sy  cs us sy id wa    pc    ec",
)
VMSTAT_SHARED_REPORT = " 1  0 271827 314159   0   0   0   0    0   0  45 3743 3154 20 60 19  1  0.45  90.0"
LSDEV_PROCESSORS = "proc0 Available 00-00 Processor\nproc4 Available 00-04 Processor\nproc8 Defined   00-08 Processor\n"

# What a tool prints at once, and then at the end of every interval until it is stopped.
SCRIPT = """#!/bin/sh
echo $$ >> %(folder)s/%(name)s.pids
cat %(folder)s/%(name)s.head
while sleep "$1"; do
  cat %(folder)s/%(name)s.report
done
"""


def tool(folder, name, head, report):
    """Write a stand-in for lparstat or vmstat into a folder (a pathlib.Path)."""
    (folder / (name + ".head")).write_text("\n" + "\n".join(head) + "\n")
    (folder / (name + ".report")).write_text(report + "\n")
    script(folder, name, SCRIPT % {"folder": folder, "name": name})


def script(folder, name, text):
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)


def pids(folder, name):
    """Return the process ids with which a tool was started."""
    return [int(pid) for pid in (folder / (name + ".pids")).read_text().split()]


def running(folder, name):
    """Return how many processes of a tool are still running."""
    return sum(os.path.exists("/proc/%d" % pid) for pid in pids(folder, name))


def end(folder, name):
    """End a tool as if it had nothing more to report."""
    for pid in pids(folder, name):
        os.kill(pid, signal.SIGTERM)


def pretend(monkeypatch, folder):
    """Make this process and its forks believe that they run on AIX, with its tools in a folder."""
    monkeypatch.setattr(platform, "system", lambda: "AIX")
    monkeypatch.setattr(meter, "INTERVAL", INTERVAL)
    monkeypatch.setenv("PATH", str(folder) + os.pathsep + os.environ["PATH"])
    script(folder, "lsdev", "#!/bin/sh\n[ \"$1\" = -C ] || printf '%s'\n" % LSDEV_PROCESSORS.replace("\n", "\\n"))


def without_proc(monkeypatch):
    """Hide /proc, /sys and /dev/fd from the collection."""
    path, exists, listdir = Host.path, os.path.exists, os.listdir

    def gone(name):
        return str(name).startswith(("/proc", "/sys", "/dev/fd"))

    def no_listdir(name="."):
        if gone(name):
            raise FileNotFoundError(2, "no such folder", name)
        return listdir(name)

    monkeypatch.setattr(Host, "path", lambda host, name: path(host, "/nowhere" + name if gone(name) else name))
    monkeypatch.setattr(os.path, "exists", lambda name: not gone(name) and exists(name))
    monkeypatch.setattr(os, "listdir", no_listdir)
