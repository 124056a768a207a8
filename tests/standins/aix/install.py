# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make a host of the lab, which has mounts of its own, look like AIX to programs: it is not AIX, see README.md.

    install.py <name> <address> <interpreter>

The interpreter is the one that /opt/freeware/bin/python3 starts. Nothing is written to folders of the machine: what is
to look otherwise is covered by a folder in memory, in the mount namespace of this host alone.
"""

import os
import subprocess
import sys

import commands
import machine

COVERED = "/run/standin"
# What Linux has and AIX lacks, as far as this collection looks at it.
LINUX_ONLY = ("chcpu", "cpuplugd", "ip", "lscpu", "smcd", "smcr", "smcss", "ss", "sysctl", "systemctl", "udevadm")
PYTHON = """\
#!/bin/sh
# A stand-in: Linux's Python, told to say that it runs on AIX.
PYTHONPATH=/var/standin/aix/python exec %s "$@"
"""


NEXT_BOOT = """\
# kept by hand

vmo:

no:
\ttcp_keepidle = "7201"
"""


def mount(*words):
    subprocess.run(["mount", *words], check=True)


def cover(folder):
    """Put a folder in memory over one of the machine's, with a link to everything in it."""
    hidden = COVERED + folder
    os.makedirs(hidden)
    mount("--bind", folder, hidden)
    names = os.listdir(hidden)
    mount("-t", "tmpfs", "-o", "mode=0755", "standin", folder)
    for name in names:
        if name not in LINUX_ONLY:
            os.symlink(os.path.join(hidden, name), os.path.join(folder, name))


def clear(path):
    """Take away the link to what the machine has there."""
    if os.path.lexists(path):
        os.unlink(path)


def main(name, address, interpreter):
    machine.write(machine.found(name, address))
    empty = COVERED + "/empty"
    os.makedirs(empty)
    for folder in ("/usr/bin", "/usr/sbin", "/opt"):
        cover(folder)
    clear("/opt/freeware")
    os.makedirs("/opt/freeware/bin")
    with open("/opt/freeware/bin/python3", "w") as stream:
        stream.write(PYTHON % interpreter)
    os.chmod("/opt/freeware/bin/python3", 0o755)
    os.unlink("/etc/os-release")
    os.makedirs("/var/adm", exist_ok=True)
    os.makedirs("/etc/tunables")
    with open("/etc/tunables/nextboot", "w") as stream:
        stream.write(NEXT_BOOT)
    # AIX's /proc holds only processes, and AIX has no /sys
    for folder in ("/proc", "/sys"):
        mount("--bind", "-o", "ro", empty, folder)
    for command, (folder, _function) in commands.COMMANDS.items():
        path = os.path.join(folder, command)
        clear(path)
        os.symlink("/var/standin/aix/command", path)


if __name__ == "__main__":
    main(*sys.argv[1:])
