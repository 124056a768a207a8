# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plain tree: /proc and /sys, mostly copied by hand, with whatever else was copied."""

from .tree import FILE, UNREADABLE, Entry, file_of, inside

# Each Linux kernel has these; if one of them is absent, it was not copied.
_FOLDERS = inside("", "boot etc lib proc run sys usr var etc/sysctl.d usr/lib")
_FOLDERS += inside("/proc", "net sys sys/fs sys/kernel sys/net sys/net/core sys/net/ipv4 sys/vm")
_FOLDERS += inside("/sys", "bus bus/ccwgroup class class/net devices devices/system/cpu kernel module")
_FILES = inside("/proc", "cmdline cpuinfo interrupts meminfo modules mounts softirqs stat version sys/kernel/osrelease")
_FILES += inside("/sys/devices/system/cpu", "online possible present")
_EMPTY = "it is empty in the capture: tar packs files of /proc without their content, so copy them with cp first"
_NEVER_EMPTY = ("/proc/cpuinfo", "/proc/version", "/proc/stat", "/proc/sys/kernel/osrelease")
_PAGES = (4096, 65536)


def read(whole, raw):
    """The CapturedHost of a plain tree."""
    tree = raw.only(raw.names("/"), "the tree has no such folder: it was not copied")
    _mark_tarred(tree)
    # a copied folder is complete
    tree.lacks("", *("/" + name for name in tree.names("/")))
    is_z = tree.resolve("/proc/sysinfo")[1] is not None or "IBM/S390" in tree.text("/proc/cpuinfo")
    for paths, which in (
        (sorted(_FOLDERS), ""),
        (("/proc/sysinfo", "/proc/sys/s390") if is_z else (), ", which every Linux on Z has"),
        (_FILES, ", which every Linux has"),
    ):
        for path in paths:
            # /proc/mounts is a link, which cp -r copies without the file that it leads to
            real, entry = tree.resolve(path)
            if entry is None:
                tree.lacks("the tree has no %s%s: it was not copied" % (path, which), path, real)
    return whole.host("tree", tree)


def _mark_tarred(tree):
    """Undo what GNU tar does to files of the kernel that it packs directly, without a copy by cp.

    A file of /proc has no size, so its content is missing in the archive. A file of /sys has the size of a page, and
    what it lacks is filled with zero bytes.
    """
    known = [tree.resolve(path)[1] for path in _NEVER_EMPTY]
    if any(entry is not None and entry.kind == FILE and not entry.size for entry in known):
        for path, entry in tree.files("/proc"):
            if not entry.size:
                tree.put(path, Entry(UNREADABLE, _EMPTY))
    for path, entry in tree.files("/sys"):
        if entry.size in _PAGES and entry.value().endswith(b"\0"):
            tree.put(path, file_of(entry.value().rstrip(b"\0")))
