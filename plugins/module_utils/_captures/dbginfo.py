# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An archive of dbginfo.sh (s390-tools): files at their own paths below one folder, sysfs.tgz, and .out files.

Source: ibm-s390-linux/s390-tools, scripts/dbginfo.sh and dump2tar/src, releases 2.7 to 2.43.
"""

import re

from . import sections
from .holdings import Holdings
from .limits import MOST_NAME
from .tree import FILE, UNREADABLE, Entry, link_entry
from .virtual import Virtual

TOPS = ("proc", "sys", "etc", "usr", "lib", "run", "boot", "var")
_NAME = re.compile(r"^DBGINFO-([0-9]{4}-[0-9]{2}-[0-9]{2})-([0-9]{2})-([0-9]{2})-([0-9]{2})-(.+)\Z")
_VERSION = re.compile(r"Debug information script version ([0-9]+)\.([0-9]+)")
_ERROR = re.compile(r"^dump2tar: (/sys/[^\n]*): [^\n:]*: ([^\n]+)$", re.M)
# Reading such a file of the kernel says that there is no value, as on the machine itself.
_NO_VALUE = ("Invalid argument", "No such device", "No such file or directory", "Not a directory", "No such process")
_NEVER = "dbginfo.sh does not copy it"
_CUT = 100
_GROUPS = ("fs", "kernel", "net", "vm")


def taken_and_host(name):
    """(local time, host and perhaps processor id) from the name of the folder; ("", "") for another name."""
    match = _NAME.match(name)
    return ("%sT%s:%s:%s" % match.groups()[:4], match.group(5)) if match else ("", "")


def version(texts):
    """(2, 35) from dbginfo.log or the script itself; None if unknown."""
    match = next((match for match in map(_VERSION.search, texts) if match), None)
    return (int(match.group(1)), int(match.group(2))) if match else None


def unreadable(errors):
    """{path: reason} of the text sysfs.err."""
    return dict(_ERROR.findall(errors))


def mark_unreadable(tree, reasons):
    """A file of /sys of size 0 could not be read: no file of the kernel with a value is empty. uevent may be."""
    for path, entry in list(tree.items()):
        if entry.kind == FILE and not entry.size and path.startswith("/sys/") and not path.endswith("/uevent"):
            reason = reasons.get(path, "")
            sentence = "it could not be read when the capture was taken%s" % (": " + reason if reason else "")
            tree.put(path, Entry(UNREADABLE, "" if reason in _NO_VALUE else sentence, 0, None))


def add_links(tree, listing, archive, count):
    """Add the links of /sys from sysfs.out, for a capture without dump2tar: its copy of /sys has none."""
    for section in sections.dbginfo_sections(listing):
        for line in section.body.splitlines():
            path, target = _listed(line)
            parts = path.split("/")
            if path and ".." not in parts and path not in tree:
                folder, entry = tree.resolve(path.rpartition("/")[0])
                if entry is not None and folder + "/" + parts[-1] == path:
                    count()
                    tree.add(path, link_entry(target), archive, count)


def _listed(line):
    """(path, target) of a link in a line of ls -l; ("", "") for another line. Without a pattern, which can be slow."""
    before, arrow, target = line.partition(" -> ")
    start = before.find(" /sys/")
    known = line.startswith("l") and start > 0 and target and len(line) < 3 * MOST_NAME
    return (before[start + 1 :], target) if known else ("", "")


def add_values(tree, runtime, archive, count):
    """Add /proc/sys from the output of sysctl -a. Returns (a sentence if it is not complete, paths not readable)."""
    virtual, found, refused, cut = Virtual(tree, archive, count), [], [], ""
    for section in sections.dbginfo_sections(runtime):
        if section.what == "sysctl -a":
            values, unread = sections.sysctl_values(section.body)
            found += values
            refused += unread
            cut = cut or section.cut
    for path, value in found:
        virtual.add(path, value + "\n", "sysctl -a in runtime.out", loose=True)
    if not found:
        return "runtime.out has no output of sysctl -a%s" % (": " + cut if cut else ""), refused
    groups = {path.split("/")[3] for path, value in found}
    if not cut and not groups.issuperset(_GROUPS):
        cut = "it has no key of %s" % ", ".join(group for group in _GROUPS if group not in groups)
    return "sysctl -a in runtime.out is not complete: %s" % cut if cut else "", refused


class _Holdings(Holdings):
    """With the names that dump2tar of s390-tools 2.7.1 to 2.28 wrote without their last character."""

    def __init__(self, default, tree, release):
        super().__init__(default)
        self._tree = tree
        self._cuts = release is None or release < (2, 29)

    def why(self, path):
        cut = self._cuts and path.startswith("/sys/") and len(path.encode("utf-8", "surrogateescape")) == _CUT
        if cut and path[:-1] in self._tree:
            return "dump2tar before 2.29 cuts a name of 100 characters, and %s is there" % path[:-1]
        return super().why(path)


def sysfs_holdings(tree):
    """The Holdings of a sysfs.tgz alone."""
    found = _Holdings("a sysfs.tgz holds /sys only", tree, None)
    found.holds("/sys", "/dev/null")
    return found


def holdings(tree, release, values, refused, sysfs):
    """The Holdings of such an archive. values, sysfs: sentences if these are not complete."""
    found = _Holdings(_NEVER, tree, release)
    found.holds(
        "/dev/null",
        "/proc/cmdline",
        "/proc/cpuinfo",
        "/proc/interrupts",
        "/proc/meminfo",
        "/proc/modules",
        "/proc/mounts",
        "/proc/qeth",
        "/proc/schedstat",
        "/proc/service_levels",
        "/proc/softirqs",
        "/proc/stat",
        "/proc/sys/kernel",
        "/proc/sys/vm",
        "/proc/sysinfo",
        "/proc/version",
        "/proc/net/vlan",
        "/proc/net/bonding",
        "/boot/grub2/grub.cfg",
        "/boot/zipl/config",
        "/etc/default",
        "/etc/modprobe.d",
        "/etc/network",
        "/etc/profile.d",
        "/etc/rc.d",
        "/etc/rc.local",
        "/etc/sysconfig",
        "/etc/sysctl.d",
        "/etc/systemd",
        "/etc/udev",
    )
    # all of /etc/*.conf, and no folder of that name
    found.holds("/etc/*.conf", "/etc/os-release", "/etc/redhat-release", "/etc/SuSE-release")
    found.lacks(values, "/proc/sys")
    found.lacks("sysctl could not read it when the capture was taken", *refused)
    found.lacks(sysfs, "/sys")
    if not sysfs:
        found.lacks("dump2tar leaves out a part of it", "/sys/kernel/debug/tracing", "/sys/kernel/tracing")
    for since, paths in (
        ((2, 12), ("/usr/lib/systemd/system",)),
        ((2, 18), ("/boot/loader/entries", "/run/udev/rules.d")),
        (
            (2, 21),
            ("/etc/modules-load.d", "/run/modules-load.d", "/usr/lib/modules-load.d", "/usr/local/lib/modules-load.d"),
        ),
        ((2, 31), ("/lib/udev/rules.d", "/usr/lib/udev/rules.d")),
        ((2, 40), ("/etc/netplan", "/etc/NetworkManager", "/proc/net")),
    ):
        copied = release is not None and release >= since
        for path in paths:
            there = copied or tree.resolve(path)[1] is not None
            found.lacks("" if there else "dbginfo.sh copies it since s390-tools %d.%d" % since, path)
    return found
