# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An archive of dbginfo.sh (s390-tools): files at their own paths below one folder, sysfs.tgz, and .out files.

Source: ibm-s390-linux/s390-tools, scripts/dbginfo.sh and dump2tar/src, releases 2.7 to 2.43.
"""

import re

from .._host.errors import HostError
from . import reading, sections
from .limits import MOST_NAME, Exceeded
from .tree import FILE, FOLDER, LINK, UNREADABLE, Entry, inside

TOPS = ("proc", "sys", "etc", "usr", "lib", "run", "boot", "var")
_NAME = re.compile(r"^DBGINFO-([0-9]{4}-[0-9]{2}-[0-9]{2})-([0-9]{2})-([0-9]{2})-([0-9]{2})-(.+)\Z")
_VERSION = re.compile(r"Debug information script version ([0-9]{1,9})\.([0-9]{1,9})")
_ERROR = re.compile(r"^dump2tar: (/sys/[^\n]*): [^\n:]*: ([^\n]+)$", re.M)
# Reading such a file of the kernel says that there is no value, as on the machine itself.
_NO_VALUE = ("Invalid argument", "No such device", "No such file or directory", "Not a directory", "No such process")
_GROUPS = ("fs", "kernel", "net", "vm")
_COPIED = (
    *inside("/proc", "cmdline cpuinfo interrupts meminfo modules mounts net/bonding net/vlan qeth schedstat"),
    *inside("/proc", "service_levels softirqs stat sys/kernel sys/vm sysinfo version"),
    *inside("/etc", "default modprobe.d network profile.d rc.d rc.local sysconfig sysctl.d systemd udev"),
    # all of /etc/*.conf, and no folder of that name
    *inside("/etc", "*.conf os-release redhat-release SuSE-release"),
    *inside("", "boot/grub2/grub.cfg boot/zipl/config dev/null"),
)
_COPIED_SINCE = (
    ((2, 12), inside("/usr", "lib/systemd/system")),
    ((2, 18), inside("", "boot/loader/entries run/udev/rules.d")),
    ((2, 21), inside("", "etc/modules-load.d run/modules-load.d usr/lib/modules-load.d usr/local/lib/modules-load.d")),
    ((2, 31), inside("", "lib/udev/rules.d usr/lib/udev/rules.d")),
    ((2, 40), inside("", "etc/netplan etc/NetworkManager proc/net")),
)


def read(whole, raw):
    """The CapturedHost of an archive of dbginfo.sh."""
    tree, name = raw.only(TOPS, "dbginfo.sh does not copy it"), _NAME.match(whole.name)
    version = _VERSION.search(raw.text("/dbginfo.log")) or _VERSION.search(raw.text("/dbginfo.sh"))
    release = (int(version.group(1)), int(version.group(2))) if version else (0, 0)
    # dump2tar of s390-tools 2.7.1 to 2.28
    tree.cut_at = 100 if release < (2, 29) else 0
    tree.lacks("", *_COPIED)
    for since, paths in _COPIED_SINCE:
        for path in paths:
            there = release >= since or tree.resolve(path)[1] is not None
            tree.lacks("" if there else "dbginfo.sh copies it since s390-tools %d.%d" % since, path)
    _add_sysfs(whole, raw, tree)
    _mark_unreadable(tree, dict(_ERROR.findall(raw.text("/sysfs.err"))))
    runtime = raw.text("/runtime.out")
    _add_values(whole, runtime, tree)
    host = sections.dbginfo_host(runtime) or (name.group(5) if name else "")
    return whole.host("dbginfo", tree, host, "%sT%s:%s:%s" % name.groups()[:4] if name else "")


def read_sysfs(whole, raw):
    """The CapturedHost of a sysfs.tgz alone."""
    tree = raw.only(["sys"], "a sysfs.tgz holds /sys only")
    tree.cut_at = 100
    _mark_unreadable(tree, {})
    whole.notes.append("the capture has /sys only")
    tree.lacks("", "/sys", "/dev/null")
    return whole.host("sysfs", tree)


def _add_sysfs(whole, raw, tree):
    """Add /sys, or say why there is none."""
    entry, copied = raw.resolve("/sysfs.tgz")[1], bool(tree.names("/sys"))
    names, reason = {}, ""
    if entry is not None and entry.kind == FILE:
        try:
            kernel = reading.read_archive(entry.value, "sysfs.tgz", whole.budget)
            names, reason = kernel.names("/sys"), kernel.cut
        except Exceeded:
            raise
        except HostError as error:
            reason = str(error)
    if names and not (reason and copied):
        tree.put("/sys", Entry(FOLDER, names))
        if reason:
            whole.notes.append("%s: what came after that is missing" % reason)
            tree.cut, tree.cut_below = reason, "/sys"
    elif copied:
        _add_links(tree, raw.text("/sysfs.out") + raw.text("/sysfsfiles.out"))
        why = " (%s)" % reason if reason else ""
        whole.notes.append("/sys was copied without dump2tar%s: its links are those listed in sysfs.out" % why)
    else:
        sentence = "the capture has no /sys: %s" % (reason or "neither sysfs.tgz nor sys/")
        whole.notes.append(sentence)
        tree.lacks(sentence, "/sys")
        return
    tree.lacks("", "/sys")
    tree.lacks("dump2tar leaves out a part of it", "/sys/kernel/debug/tracing", "/sys/kernel/tracing")


def _mark_unreadable(tree, reasons):
    """A file of /sys of size 0 could not be read: no file of the kernel with a value is empty. uevent may be."""
    for path, entry in tree.files("/sys"):
        if not entry.size and not path.endswith("/uevent"):
            reason = reasons.get(path, "")
            sentence = "it could not be read when the capture was taken%s" % (": " + reason if reason else "")
            tree.put(path, Entry(UNREADABLE, "" if reason in _NO_VALUE else sentence))


def _add_links(tree, listing):
    """Add the links of /sys from sysfs.out, for a capture without dump2tar: its copy of /sys has none."""
    for section in sections.dbginfo_sections(listing):
        for line in section.body.splitlines():
            # without a pattern, which can be slow
            before, arrow, target = line.partition(" -> ")
            path = before[before.find(" /sys/") + 1 :]
            known = line.startswith("l") and path.startswith("/sys/") and target and len(line) < 3 * MOST_NAME
            # not by way of another link
            if known and tree.resolve(path, follow=False) == (path, None):
                tree.add(path, Entry(LINK, target))


def _add_values(whole, runtime, tree):
    """Add /proc/sys from the output of sysctl -a, and say if that is not complete."""
    paths, cut = [], ""
    for section in sections.dbginfo_sections(runtime):
        if section.what == "sysctl -a":
            paths += sections.add_sysctls(section.body, "sysctl -a in runtime.out", tree)
            cut = cut or section.cut
    groups = {path.split("/")[3] for path in paths}
    missing = [group for group in _GROUPS if group not in groups]
    if not paths:
        sentence = "runtime.out has no output of sysctl -a%s" % (": " + cut if cut else "")
    elif cut or missing:
        why = cut or "it has no key of %s" % ", ".join(missing)
        sentence = "sysctl -a in runtime.out is not complete: %s" % why
    else:
        tree.lacks("", "/proc/sys")
        return
    whole.notes.append(sentence)
    tree.lacks(sentence, "/proc/sys")
