# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A sos report: files at their own paths below one folder, sos_commands, and a manifest.

Source: sosreport/sos 4.12 (2026-08-21) and earlier ones where they differ.
"""

import json
import os
import re

from .._host import cpu_lists
from . import sections
from .dbginfo import TOPS
from .holdings import SYSCTL, Holdings, inside
from .tree import unreadable

VERSION = re.compile(r"^sos ?report: *([0-9][0-9a-z.~-]*)")
_DATE = re.compile(r"(?:^|-)([0-9]{4})-([0-9]{2})-([0-9]{2})(?:-|$)")
_LEGACY = re.compile(r"[.-]([0-9]{4})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})$")
_NEVER = "a sos report does not copy it"
_RED_HAT = "a sos report copies it on Red Hat systems only"
# Which plugin of sos copies what.
_COPIED = (
    ("processor", inside("", "proc/cpuinfo sys/devices/system/cpu")),
    ("system", inside("", "proc/sys etc/sysconfig etc/default")),
    ("kernel", inside("", "proc/cmdline etc/modprobe.d") + SYSCTL),
    ("systemd", inside("/etc", "systemd modules-load.d") + inside("", "lib/systemd/system usr/lib/systemd/system")),
    ("systemd", ("/run/systemd/system",)),
    ("udev", inside("", "etc/udev/rules.d etc/udev/udev.conf lib/udev/rules.d usr/lib/udev/rules.d")),
    ("s390", inside("", "proc/sysinfo proc/qeth etc/zipl.conf sys/bus/ccwgroup/drivers/qeth")),
    ("filesys", inside("", "proc/mounts proc/self/mounts etc/fstab")),
    ("networking", inside("", "proc/net sys/class/net")),
)


def read(whole, raw):
    """The CapturedHost of a sos report."""
    tree = raw.only(TOPS)
    manifest = Manifest(raw.text("/sos_reports/manifest.json"))
    match = VERSION.match(raw.text("/version.txt"))
    _mark_unreadable(tree)
    if "obfuscated" in whole.name or "obfuscated" in os.path.basename(whole.path):
        whole.notes.append("the report is obfuscated (sos clean): names and addresses in it are not the machine's")
    # of the host itself; network namespaces have their own
    values = sections.sysctl_values(raw.text("/sos_commands/kernel/sysctl_-a"))[0]
    for path, value in values:
        tree.add_text(path, value + "\n", "sysctl_-a of sos_commands", loose=True)
    timed_out = manifest.timed_out()
    if timed_out:
        whole.notes.append("plugins of sos that were stopped after their time limit: %s" % ", ".join(timed_out))
    found = _holdings(tree, manifest, _release(match.group(1) if match else ""), bool(values))
    hostname = raw.text("/sos_commands/host/hostname").strip().split("\n")[0]
    return whole.host("sos", tree, found, hostname, _taken(whole.name))


def _taken(name):
    """The date in the name of the folder, or ""."""
    match = _LEGACY.search(name)
    if match:
        return "%s-%s-%sT%s:%s:%s" % match.groups()
    found = _DATE.findall(name)
    return "-".join(found[-1]) if found else ""


def _release(text):
    """(4, 12) for 4.12.0; (0, 0) if unknown."""
    match = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", text)
    return (int(match.group(1)), int(match.group(2))) if match else (0, 0)


class Manifest:
    """What sos_reports/manifest.json tells: plugins: {name: dict}, or None if unknown. Untrusted, so all is checked."""

    def __init__(self, text):
        try:
            # numbers are not needed, and long ones take long
            whole = json.loads(text, parse_int=str, parse_float=str) if text else None
        except (ValueError, RecursionError):
            whole = None
        for key in ("components", "report", "plugins"):
            whole = whole.get(key) if isinstance(whole, dict) else None
        self.plugins = whole if isinstance(whole, dict) and whole else None

    def ran(self, plugin):
        """Whether sos ran a plugin; True too if the capture does not list them."""
        return self.plugins is None or plugin in self.plugins

    def timed_out(self):
        """The plugins that were stopped."""
        plugins = (self.plugins or {}).items()
        return sorted(
            str(name)[:60] for name, plugin in plugins if isinstance(plugin, dict) and plugin.get("timeout_hit")
        )


def _mark_unreadable(tree):
    """A file of the kernel without permission to read it is copied as an empty one."""
    for top in ("/proc", "/sys"):
        for path, entry in tree.files(top):
            if not entry.size and entry.mode is not None and not entry.mode & 0o444:
                tree.put(path, unreadable("it cannot be read on the machine either"))


def _holdings(tree, manifest, version, sysctls):
    """The Holdings of a report. Each part belongs to a plugin of sos, which may not have run.

    sysctls: whether it has the output of sysctl -a.
    """
    found = Holdings(_NEVER)
    found.holds("/dev/null")
    for plugin, paths in _COPIED:
        ran = manifest.ran(plugin)
        found.lacks("" if ran else "the plugin %s of sos, which copies it, did not run" % plugin, *paths)
    for name in tree.names("/sys/class/net"):
        found.lacks("a sos report copies only flags and statistics of an interface", "/sys/class/net/" + name)
    found.lacks("sos kept only its end, in sos_strings", "/sos_strings")
    if sysctls:
        found.holds("/proc/sys")
    newer = version >= (4, 2) and manifest.ran("systemd")
    for path in ("/etc/tmpfiles.d", "/run/tmpfiles.d", "/usr/lib/tmpfiles.d", "/lib/tmpfiles.d"):
        found.lacks("" if newer or tree.resolve(path)[1] is not None else "sos copies it since 4.2", path)
    for path in ("/etc/tuned", "/usr/lib/tuned"):
        found.lacks("" if tree.resolve(path)[1] is not None else _RED_HAT, path)
    for plugin, path in (("processor", "/proc/cpuinfo"), ("kernel", "/proc/cmdline")):
        if manifest.ran(plugin) and tree.resolve(path)[1] is None:
            found.lacks("the report has no %s, which every Linux has" % path, path)
    # sos 4.12 copies the folders of 64 CPUs
    cpus = tree.names("/sys/devices/system/cpu")
    for cpu in cpu_lists.list_or_none(tree.text("/sys/devices/system/cpu/present")) or ():
        if "cpu%d" % cpu not in cpus:
            sentence = "this sos report has the folders of a part of the CPUs only"
            found.lacks(sentence, "/sys/devices/system/cpu/cpu%d" % cpu)
    return found
