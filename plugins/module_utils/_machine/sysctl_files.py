# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""sysctl.d as systemd-sysctl applies it (src/sysctl/sysctl.c), and a number as the kernel reads it."""

import fnmatch
import os
import re
from collections import OrderedDict

from .._host.drop_ins import Setting, effective_files
from .boot_sources import runs_systemd

CONF = "/etc/sysctl.conf"
_PROC = "/proc/sys/"
_SWAP = {ord("."): "/", ord("/"): "."}
_NUMBER = re.compile(r"(-?)(0[xX][0-9a-fA-F]{1,16}|0[0-7]{0,22}|[1-9][0-9]{0,19})\Z")


def path_of(name):
    """The file of a dotted name, in which a slash stands for a dot."""
    return _PROC + name.translate(_SWAP)


def sysctl_lines(host, file):
    """(name, Setting) of the lines of a file in sysctl.d; value: None without an equals sign."""
    for number, text in enumerate(map(str.strip, (host.read(file) or "").split("\n")), 1):
        if text and text[0] not in "#;":
            name, equals, value = text.partition("=")
            yield name.strip(), Setting(file, number, text, value.strip() if equals else None)


def sysctls(host, *paths):
    """[(path, Setting)] of the lines in sysctl.d that set these files in /proc/sys at boot; the last one counts.

    An explicit name switches globs off, and one with a dash and no value every other line. A repeated name takes the
    last value and its place, but the first place if the value is the same. Replaced lines come first.

    /etc/sysctl.conf is read if a link in sysctl.d leads to it, or if procps applies it (sysctl --system, in the boot
    scripts of systems without systemd): systemd-sysctl itself does not read it since version 207 (NEWS).
    """
    files = effective_files(host, "sysctl.d", ".conf")
    if not conf_is_linked(host) and not runs_systemd(host):
        files.append(CONF)
    replaced, table = [], OrderedDict()
    for file in files:
        for written, setting in sysctl_lines(host, file):
            name = _normalized(written.lstrip("-"), setting.value is None and not written.startswith("-"))
            if name in table and table[name].value == setting.value:
                replaced.append((name, setting))
                continue
            if name in table:
                replaced.append((name, table.pop(name)))
            if name:
                table[name] = setting
    found = []
    for name, setting in replaced + list(table.items()):
        for path in paths:
            if name == path or (path not in table and _matches(name, path)):
                found.append((path, setting))
    return found


def conf_is_linked(host):
    """Whether a link in sysctl.d leads to /etc/sysctl.conf."""
    return any(host.real(file) == host.real(CONF) for file in effective_files(host, "sysctl.d", ".conf"))


def _normalized(name, invalid):
    """The path of a name, whose first separator tells whether slashes or dots separate; empty if it is none."""
    separator = re.search("[./]", name)
    if invalid or not name:
        return ""
    path = name.translate(_SWAP) if separator and separator.group() == "." else name
    return _PROC + os.path.normpath(path).lstrip("/")


def is_glob(name):
    return re.search(r"[*?[]", name) is not None


def _matches(glob, path):
    """As glob(3): no wildcard stands for a slash."""
    pairs = list(zip(path.split("/"), glob.split("/")))
    same = glob.count("/") == path.count("/")
    return is_glob(glob) and same and all(fnmatch.fnmatchcase(*pair) for pair in pairs)


def number(text, fields=None):
    """The numbers, in decimal, that the kernel reads for a sysctl with so many; empty if it refuses the text.

    kernel/sysctl.c: proc_get_long() takes 0x and the 0 of octal numbers, and what follows the last number is ignored.
    """
    found = []
    for word in text.split()[:fields]:
        match = _NUMBER.match(word)
        if not match:
            break
        sign, digits = match.groups()
        base = 16 if digits[1:2] in ("x", "X") else 8 if digits.startswith("0") else 10
        found.append(sign + str(int(digits, base)))
    return " ".join(found)
