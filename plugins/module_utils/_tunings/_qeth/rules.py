# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What gives a qeth device its buffer_count at boot: udev rules, chzdev's among them, and other places."""

import os
import re

from ..._host.drop_ins import effective_files, numbered, one_line
from ..._machine.other_settings import Setting, boot_scripts, conflict, lines_with, of_tuned, udev_tokens, units

# the file of chzdev for a device
RULES = "/etc/udev/rules.d/41-qeth-%s.rules"
ITEM = "buffer_count"
LEAST, MOST = 8, 128
_SETS = re.compile(r"""echo\s+["']?(\d+)["']?\s*>\s*\S*buffer_count|buffer_count\s*=\s*["']?(\d+)""")
_DEVICE = re.compile(r"\b[0-9a-f]{1,2}\.[0-9a-f]\.[0-9a-f]{4}\b")
# (what, folder, names of files): RHEL 7 to 9, and SLES before 12
_FILES = (
    ("ifcfg", "/etc/sysconfig/network-scripts", "ifcfg-*"),
    ("NetworkManager", "/etc/NetworkManager/system-connections", "*"),
    ("hwcfg", "/etc/sysconfig/hardware", "hwcfg-*"),
)


def planned(device, number):
    """The part of chzdev's file that is known before it is written."""
    lines = 'ATTR{[ccwgroup/%s]buffer_count}="%s"\nATTR{[ccwgroup/%s]online}="1"\n'
    return lines % tuple(one_line(text, no='"\\') for text in (device, str(number), device))


def attributes(text):
    """{attribute: value} that a file of chzdev gives its device before online=1, and online itself (0 comes first)."""
    found = {}
    for _line, name, value in _writes(text, None):
        if found.get("online") != "1":
            found[name] = value
    return found


def rule_files(host, device):
    """{name: (path, text)} of the effective udev rules that are about a device."""
    files = [(path, host.read(path) or "") for path in effective_files(host, "udev/rules.d", ".rules")]
    return {os.path.basename(path): (path, text) for path, text in files if device in path or device in text}


def at_boot(device, files, own):
    """(buffer_count, file, line) as the rules give it at boot, own being the text of chzdev's file or None.

    The rules of all files run in the order of their names. Once one has set the device online, the kernel refuses other
    values.
    """
    path = RULES % device
    files = {name: pair for name, pair in files.items() if pair[0] != path}
    if own is not None:
        files[os.path.basename(path)] = (path, own)
    found = (None, None, None)
    for name in sorted(files):
        file, text = files[name]
        for line, attribute, value in _writes(text, device, name):
            if attribute == "online" and value == "1":
                return found
            if attribute == ITEM and re.match(r"[0-9]+\Z", value):
                # the kernel takes the nearest number in its range
                found = (str(min(max(int(value), LEAST), MOST)), file, line)
    return found


def _writes(text, device, name=""):
    """(line, attribute, value) of what a rule file of this name writes to a device; None means any device."""
    for line, rule in numbered(text):
        if device is None or device in rule or (device in name and "[ccwgroup/" not in rule):
            for token in udev_tokens(rule):
                if token.key == "ATTR" and token.operator in ("=", ":="):
                    yield line, (token.attribute or "").rpartition("]")[2], token.value


def conflicts(host, device, interface, files):
    """Other settings of a device's buffer_count, as conflict()."""
    found = []
    decides = at_boot(device, files, planned(device, MOST))[1:]
    for name in sorted(files):
        path, text = files[name]
        for line, attribute, value in _writes(text, device, name) if path != RULES % device else ():
            if attribute == ITEM:
                wins = "yes" if (path, line) == decides else "no"
                found.append(conflict("udev rule", Setting(path, line, "", value), wins))
    for what, folder, names in _FILES:
        for file in host.glob(folder, names):
            words = "%s\n%s" % (file, host.read(file) or "")
            if re.search(r"\b(%s|%s)\b" % (re.escape(device), re.escape(interface or device)), words):
                wins = "no" if what == "hwcfg" else "possible"
                found += [conflict(what, setting, wins) for setting in lines_with(host, file, _SETS)]
    for word in (host.value("/proc/cmdline") or "").split():
        match = _SETS.search(word)
        if match and word.startswith("rd.znet=qeth,") and device in word:
            setting = Setting("/proc/cmdline", 1, word, match.group(2))
            found.append(conflict("kernel command line", setting, "possible"))
    late = [("tuned", setting) for _runs, setting in of_tuned(host, _SETS)]
    late += [("unit", setting) for _runs, setting in units(host, _SETS)]
    late += [("boot script", setting) for setting in boot_scripts(host, _SETS)]
    for what, setting in late:
        if device in (_DEVICE.findall(setting.text) or [device]):
            found.append(conflict(what, setting, "possible"))
    return found
