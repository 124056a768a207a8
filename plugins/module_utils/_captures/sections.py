# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The texts in which dbginfo.sh and supportconfig keep the output of commands, as sections.

A command's output may hold lines that look like a header. So callers take a section only from the file in which it
belongs, and two values for one name are contradictory (see virtual.py).
"""

import re
from collections import namedtuple

# kind: of supportconfig ("Command", "Configuration File"), else "". what: the command or path, with single blanks.
# cut: a sentence why the end is missing, or "".
Section = namedtuple("Section", "kind what body cut")

# dbginfo.sh up to 2.38 writes user and host, later ones the host only
_DBGINFO = re.compile(r"^#{55}\n(?:[^\s>@]*@)?([^\s>@]+)> ([^\n]*)\n", re.M)
_FAILED = re.compile(r'^(?:dbginfo\.sh: Warning: )?Command "[^\n]*" (not available|failed)(?:\s+rc=([0-9]+))?\Z', re.M)
_TIMEOUT = re.compile(r"^-> command cancelled by timeout\Z", re.M)
# Failure texts are the last lines of a section.
_LAST = 1000
_SUPPORTCONFIG = re.compile(r"^#==\[ ([^\n]+?) \]=+#\n# ([^\n]*)(?:\n|\Z)", re.M)
_SYSCTL = re.compile(r"^([A-Za-z0-9_][^\s=]*) =(?: (.*))?$")
_SYSCTL_ERROR = re.compile(r"^sysctl: .*?['\"`]([A-Za-z0-9_][^\s'\"`]*)['\"`]")
_CAT = re.compile(r"^# (/[^\s]+)$")


def dbginfo_host(text):
    """The host name in the first header of a .out file of dbginfo.sh; "" without one."""
    found = _DBGINFO.search(text)
    return found.group(1) if found else ""


def dbginfo_sections(text):
    """The Sections of a .out file of dbginfo.sh. Headers with another host than the first one are output."""
    host = dbginfo_host(text)
    found = [header for header in _DBGINFO.finditer(text) if header.group(1) == host]
    ends = [header.start() for header in found[1:]] + [len(text)]
    sections = []
    for header, end in zip(found, ends):
        body, cut = _without_failure(text[header.end() : end].rstrip())
        sections.append(Section("", " ".join(header.group(2).split()), body + "\n" if body else "", cut))
    return sections


def _without_failure(body):
    """(body, why its end is missing). A command that failed may have printed all: sysctl -a fails for one key."""
    start = max(len(body) - _LAST, 0)
    timeout, failed = _TIMEOUT.search(body, start), _FAILED.search(body, start)
    if timeout:
        return body[: timeout.start()], "the command was cancelled by its time limit"
    if failed and failed.group(1) == "not available":
        return "", "the command was not there"
    if failed:
        return body[: failed.start()], "the command was cancelled by its time limit" if failed.group(2) == "124" else ""
    return body, ""


def supportconfig_sections(text):
    """The Sections of a text of supportconfig; blank lines at the end of a body are no part of it."""
    found = list(_SUPPORTCONFIG.finditer(text))
    ends = [header.start() for header in found[1:]] + [len(text)]
    sections = []
    for header, end in zip(found, ends):
        body = text[header.end() : end].rstrip("\n")
        cut = ""
        if body.startswith("ERROR: Command not found"):
            cut, body = "the command was not there", ""
        sections.append(Section(header.group(1), " ".join(header.group(2).split()), body + "\n" if body else "", cut))
    return sections


def sysctl_path(key):
    """The file of a key of sysctl(8): net.ipv4.conf.eth0/100.rp_filter has the interface eth0.100. None for no key."""
    path = key.translate({ord("."): "/", ord("/"): "."})
    return None if {"", ".", ".."}.intersection(path.split("/")) else "/proc/sys/" + path


def sysctl_values(body):
    """([(path below /proc/sys, value)], [path that sysctl could not read]) of the output of sysctl -a, in order."""
    values, unreadable = [], []
    for line in body.splitlines():
        refused = _SYSCTL_ERROR.match(line)
        match = _SYSCTL.match(line)
        path = sysctl_path((refused or match).group(1)) if refused or match else None
        if path is None:
            continue
        if refused:
            unreadable.append(path)
        else:
            values.append((path, match.group(2) or ""))
    return values, unreadable


def unit_files(body, unit):
    """[(path, text)] of the output of systemctl cat for one unit: the unit's file and its drop-ins."""
    found, lines = [], []
    for line in body.splitlines():
        match = _CAT.match(line)
        if match and (match.group(1).endswith("/" + unit) or "/%s.d/" % unit in match.group(1)):
            lines = []
            found.append((match.group(1), lines))
        elif found:
            lines.append(line)
    return [(path, "\n".join(lines).strip("\n") + "\n") for path, lines in found]
