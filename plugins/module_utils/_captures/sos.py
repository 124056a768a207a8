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
from .tree import SYSCTL, inside

VERSION = re.compile(r"^sos ?report: *([0-9][0-9a-z.~-]*)")
_DATE = re.compile(r"(?:^|-)([0-9]{4})-([0-9]{2})-([0-9]{2})(?:-|$)")
_LEGACY = re.compile(r"[.-]([0-9]{4})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})$")
# characters of manifest.json, which names every file of a report
_LARGEST = 16 << 20
_CPUS = "/sys/devices/system/cpu"
_TMPFILES = inside("", "etc/tmpfiles.d run/tmpfiles.d usr/lib/tmpfiles.d lib/tmpfiles.d")
_ALWAYS = {"/proc/cpuinfo", "/proc/cmdline"}
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


def _plugins(text):
    """{name: what it did} by manifest.json; None if unknown. Untrusted, so all is checked."""
    try:
        # numbers are not needed, and long ones take long; JSON of short lists takes twenty-five times its size
        found = json.loads(text, parse_int=str, parse_float=str) if len(text) <= _LARGEST else None
    except (ValueError, RecursionError):
        return None
    for key in ("components", "report", "plugins"):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) and found else None


def read(whole, raw):
    """The CapturedHost of a sos report. Each part of it belongs to a plugin of sos, which may not have run."""
    tree = raw.only(TOPS, "a sos report does not copy it")
    plugins, version = _plugins(raw.text("/sos_reports/manifest.json")), VERSION.match(raw.text("/version.txt"))
    if "obfuscated" in whole.name or "obfuscated" in os.path.basename(whole.path):
        whole.notes.append("the report is obfuscated (sos clean): names and addresses in it are not the machine's")
    stopped = [name for name, one in (plugins or {}).items() if isinstance(one, dict) and one.get("timeout_hit")]
    if stopped:
        names = ", ".join(sorted(name[:60] for name in stopped))
        whole.notes.append("plugins of sos that were stopped after their time limit: %s" % names)
    tree.lacks("", "/dev/null")
    for plugin, paths in _COPIED:
        ran = plugins is None or plugin in plugins
        tree.lacks("" if ran else "the plugin %s of sos, which copies it, did not run" % plugin, *paths)
        for path in _ALWAYS.intersection(paths):
            if ran and tree.resolve(path)[1] is None:
                tree.lacks("the report has no %s, which every Linux has" % path, path)
    for name in tree.names("/sys/class/net"):
        tree.lacks("a sos report copies only flags and statistics of an interface", "/sys/class/net/" + name)
    # sos 4.12 copies the folders of 64 CPUs
    for cpu in cpu_lists.list_or_none(tree.text(_CPUS + "/present")) or ():
        if "cpu%d" % cpu not in tree.names(_CPUS):
            tree.lacks("this sos report has the folders of a part of the CPUs only", _CPUS + "/cpu%d" % cpu)
    tree.lacks("sos kept only its end, in sos_strings", "/sos_strings")
    # of the host itself; network namespaces have their own
    if sections.add_sysctls(raw.text("/sos_commands/kernel/sysctl_-a"), "sysctl_-a of sos_commands", tree):
        tree.lacks("", "/proc/sys")
    numbers = [int(number) for number in re.findall("[0-9]{1,4}", version.group(1) if version else "")[:2]]
    newer = numbers >= [4, 2] and (plugins is None or "systemd" in plugins)
    for sentence, paths in (
        ("" if newer else "sos copies it since 4.2", _TMPFILES),
        ("a sos report copies it on Red Hat systems only", inside("", "etc/tuned usr/lib/tuned")),
    ):
        for path in paths:
            tree.lacks("" if tree.resolve(path)[1] is not None else sentence, path)
    hostname = raw.text("/sos_commands/host/hostname").strip().split("\n")[0]
    legacy, dates = _LEGACY.search(whole.name), _DATE.findall(whole.name)
    taken = "%s-%s-%sT%s:%s:%s" % legacy.groups() if legacy else "-".join(dates[-1]) if dates else ""
    return whole.host("sos", tree, hostname, taken)
