# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An archive of SUSE's supportconfig: flat texts of sections. Files and values become files at their own paths.

Source: openSUSE/supportutils 3.2.14 (2026-05-27) and earlier ones where they differ; plugins ha_sap and saptune.
"""

import posixpath
import re

from . import sections
from .tree import SYSCTL, inside

_NAME = re.compile(r"^(?:scc|nts)_(.+?)_([0-9]{2})([0-9]{2})([0-9]{2})_([0-9]{2})([0-9]{2})(?:_|\Z)")
_MISSING = re.compile(r"^(/\S.*?) - File not found$")
_PART = re.compile(r"^(/\S.*?) - Last [0-9]+ Lines$")
_UNIT = re.compile(r"systemctl cat '?([A-Za-z0-9:_.\\@-]+\.(?:service|target|socket|timer|mount))'?$")
# The texts in which a path belongs; a section of the same name elsewhere may be output of a command.
_BELONGS = tuple(
    (tuple(prefixes.split()), texts.split())
    for prefixes, texts in (
        ("/proc/sys/", "proc.txt basic-health-check.txt"),
        ("/proc/", "boot.txt hardware.txt proc.txt modules.txt memory.txt"),
        ("/etc/sysctl.conf /etc/sysctl.d/", "env.txt etc.txt"),
        ("/usr/lib/sysctl.d/ /lib/sysctl.d/ /run/sysctl.d/ /usr/local/lib/sysctl.d/", "env.txt"),
        ("/etc/udev/", "udev.txt etc.txt"),
        ("/usr/lib/udev/ /lib/udev/", "udev.txt"),
        ("/etc/sysconfig/", "sysconfig.txt plugin-saptune.txt plugin-ha_sap.txt network.txt"),
        ("/etc/saptune/", "etc.txt plugin-saptune.txt plugin-ha_sap.txt"),
        ("/run/saptune/", "plugin-saptune.txt"),
        ("/etc/tuned/", "tuned.txt etc.txt"),
        ("/usr/lib/tuned/", "tuned.txt"),
        ("/etc/default/ /etc/zipl.conf", "boot.txt etc.txt"),
        ("/boot/", "boot.txt"),
        ("/etc/modprobe.d/", "modules.txt etc.txt"),
        ("/usr/sap/ /sapmnt/", "plugin-ha_sap.txt"),
        ("/etc/", "etc.txt env.txt basic-environment.txt"),
    )
)
_TEXTS = sorted({text for prefixes, texts in _BELONGS for text in texts} | {"systemd.txt", "hardware.txt"})
# What the capture holds as a whole if it has a text.
_HELD = (
    ("boot.txt", inside("", "proc/cmdline etc/default/grub")),
    ("env.txt", SYSCTL),
    ("etc.txt", inside("/etc", "*.conf tmpfiles.d modules-load.d saptune/extra")),
    ("udev.txt", inside("", "etc/udev/rules.d usr/lib/udev/rules.d lib/udev/rules.d")),
    ("sysconfig.txt", ("/etc/sysconfig",)),
    ("tuned.txt", inside("", "etc/tuned usr/lib/tuned")),
    ("plugin-ha_sap.txt", ("/usr/sap/sapservices",)),
)
_UNITS = inside("", "etc/systemd/system usr/lib/systemd/system lib/systemd/system")
_FILES = ("Configuration File", "Log File", "File Content")


def read(whole, raw):
    """The CapturedHost of a supportconfig."""
    tree, texts, removed = raw.only((), "a supportconfig does not hold it"), raw.names("/"), []
    tree.lacks("", "/dev/null")
    for text, paths in _HELD:
        tree.lacks("" if text in texts else "the supportconfig was taken without %s" % text, *paths)
    tree.lacks("the supportconfig has no output of sysctl -a", "/proc/sys")
    tree.lacks("supportconfig has the text of units since 3.2.14", *_UNITS)
    for top in _UNITS:
        tree.lacks("a supportconfig has no links of systemd", top + "/*.wants", top + "/*.requires")
    for name in _TEXTS:
        text = raw.text("/" + name)
        if sections.REMOVED in text:
            removed.append(name)
        for section in sections.supportconfig_sections(text):
            if section.kind in _FILES:
                _add_file(tree, name, section)
            elif section.kind == "Command" and not section.cut:
                _add_command(tree, name, section)
    whole.notes.append("comments in files are not in a supportconfig, so blocks of this collection are not seen")
    if removed:
        whole.notes.append("supportconfig removed values from %s" % ", ".join(removed))
    if "_scrubbed" in whole.name or "_scrubbed" in whole.path:
        whole.notes.append("the supportconfig is scrubbed: names and addresses in it are not the machine's")
    match = _NAME.match(whole.name)
    taken, host = ("20%s-%s-%sT%s:%s" % match.groups()[1:], match.group(1)) if match else ("", "")
    return whole.host("supportconfig", tree, host, taken)


def _add_file(tree, name, section):
    missing, part = _MISSING.match(section.what), _PART.match(section.what)
    path = (missing or part).group(1) if missing or part else section.what
    texts = next((texts for prefixes, texts in _BELONGS if path.startswith(prefixes)), ())
    if name not in texts or posixpath.normpath(path) != path or any(sign < " " for sign in path):
        return
    if missing:
        tree.lacks("", path)
    elif part:
        tree.lacks("the supportconfig has only the end of this file", path)
    else:
        tree.add_text(path, section.body, name)


def _add_command(tree, name, section):
    program, dummy, rest = section.what.partition(" ")
    command = posixpath.basename(program) + (" " + rest if rest else "")
    if name == "env.txt" and command == "sysctl -a":
        if sections.add_sysctls(section.body, "sysctl -a in env.txt", tree):
            tree.lacks("", "/proc/sys")
    elif name == "hardware.txt" and command == "lscpu":
        _add_lscpu(tree, section.body)
    elif name == "systemd.txt" and _UNIT.match(command):
        tree.lacks("", *_UNITS)
        for path, text in sections.unit_files(section.body, _UNIT.match(command).group(1)):
            if posixpath.normpath(path) == path and "/systemd/" in path:
                tree.add_text(path, text, name)
    elif name == "plugin-ha_sap.txt" and command == "cat /usr/sap/sapservices":
        tree.add_text("/usr/sap/sapservices", section.body, name)


def _add_lscpu(tree, body):
    """Add the output of lscpu, in the form of the kernel's file."""
    for line in body.splitlines():
        label, colon, value = line.partition(":")
        label, value = label.strip(), value.strip()
        if label == "On-line CPU(s) list" and value:
            tree.add_text("/sys/devices/system/cpu/online", value + "\n", "lscpu in hardware.txt")
        elif label == "Dispatching mode" and value in ("horizontal", "vertical"):
            number = "1" if value == "vertical" else "0"
            tree.add_text("/sys/devices/system/cpu/dispatching", number + "\n", "lscpu in hardware.txt")
