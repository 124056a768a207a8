# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plain tree: /proc and /sys, mostly copied by hand, with whatever else was copied."""

from .holdings import Holdings
from .tree import FILE, UNREADABLE, Entry, bytes_entry

# Each Linux kernel has these; if one of them is absent, it was not copied.
_FOLDERS = (
    "/sys/class/net",
    "/sys/bus/ccwgroup",
    "/sys/bus",
    "/sys/module",
    "/sys/kernel",
    "/sys/class",
    "/sys/devices/system/cpu",
    "/sys/devices",
    "/sys",
    "/proc/sys/net",
    "/proc/sys/net/core",
    "/proc/sys/net/ipv4",
    "/proc/sys/kernel",
    "/proc/sys/vm",
    "/proc/sys/fs",
    "/proc/sys",
    "/proc/net",
    "/proc",
    "/etc",
    "/etc/sysctl.d",
    "/usr/lib",
    "/usr",
    "/lib",
    "/run",
    "/boot",
    "/var",
)
_EMPTY = "it is empty in the capture: tar packs files of /proc without their content, so copy them with cp first"
_NEVER_EMPTY = ("/proc/cpuinfo", "/proc/version", "/proc/stat", "/proc/sys/kernel/osrelease")
_PAGES = (4096, 65536)
_FILES = (
    "/proc/cmdline",
    "/proc/cpuinfo",
    "/proc/interrupts",
    "/proc/meminfo",
    "/proc/modules",
    "/proc/mounts",
    "/proc/softirqs",
    "/proc/stat",
    "/proc/version",
    "/proc/sys/kernel/osrelease",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/possible",
    "/sys/devices/system/cpu/present",
)


def mark_tarred(tree):
    """Undo what GNU tar does to files of the kernel that it packs directly, without a copy by cp.

    A file of /proc has no size, so its content is missing in the archive. A file of /sys has the size of a page, and
    what it lacks is filled with zero bytes.
    """
    known = [tree.resolve(path)[1] for path in _NEVER_EMPTY]
    tarred = any(entry is not None and entry.kind == FILE and not entry.size for entry in known)
    for path, entry in list(tree.items()):
        if entry.kind != FILE:
            continue
        if tarred and not entry.size and path.startswith("/proc/"):
            tree.put(path, Entry(UNREADABLE, _EMPTY, 0, None))
        elif entry.size in _PAGES and path.startswith("/sys/"):
            data = entry.value()
            if data.endswith(b"\0"):
                tree.put(path, bytes_entry(data.rstrip(b"\0")))


def holdings(tree):
    """The Holdings of a plain tree: what lies in a folder that was copied is complete."""
    found = Holdings("the tree has no such folder: it was not copied")
    for top in tree.names("/"):
        found.holds("/" + top)
    cpuinfo = tree.resolve("/proc/cpuinfo")[1]
    sysinfo = tree.resolve("/proc/sysinfo")[1]
    is_z = sysinfo is not None or cpuinfo is not None and cpuinfo.kind == FILE and b"IBM/S390" in cpuinfo.value()
    for paths, which in (
        (sorted(_FOLDERS), ""),
        (("/proc/sysinfo", "/proc/sys/s390") if is_z else (), ", which every Linux on Z has"),
        (_FILES, ", which every Linux has"),
    ):
        for path in paths:
            # /proc/mounts is a link, which cp -r copies without the file that it leads to
            real, entry = tree.resolve(path)
            if entry is None:
                found.lacks("the tree has no %s%s: it was not copied" % (path, which), path, real)
    return found
