# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The texts in which dbginfo.sh and supportconfig keep the output of commands, as sections.

A command's output may hold lines that look like a header. So callers take a section only from the file in which it
belongs, and two values for one name are contradictory (see Tree.add_text()).
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
REMOVED = "*REMOVED BY SUPPORTCONFIG*"


def dbginfo_host(text):
    """The host name in the first header of a .out file of dbginfo.sh; "" without one."""
    found = _DBGINFO.search(text)
    return found.group(1) if found else ""


def _bodies(headers, text):
    """Yield (header, the text up to the next one) for each of these headers: there may be millions of them."""
    header = next(headers, None)
    while header:
        following = next(headers, None)
        yield header, text[header.end() : following.start() if following else len(text)]
        header = following


def dbginfo_sections(text):
    """Yield the Sections of a .out file of dbginfo.sh. Headers with another host than the first one are output."""
    host = dbginfo_host(text)
    for header, body in _bodies((header for header in _DBGINFO.finditer(text) if header.group(1) == host), text):
        kept, cut = _without_failure(body.rstrip())
        yield Section("", " ".join(header.group(2).split()), kept + "\n" if kept else "", cut)


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
    """Yield the Sections of a text of supportconfig; blank lines at the end of a body are not part of it."""
    for header, body in _bodies(_SUPPORTCONFIG.finditer(text), text):
        missing = body.startswith("ERROR: Command not found")
        kept = "" if missing else body.rstrip("\n")
        cut = "the command was not there" if missing else ""
        yield Section(header.group(1), " ".join(header.group(2).split()), kept + "\n" if kept else "", cut)


def add_sysctls(body, where, tree):
    """Add the values of sysctl -a to a Tree, with what it could not read; returns the paths added.

    The key net.ipv4.conf.eth0/100.rp_filter has the interface eth0.100.
    """
    paths = []
    for line in body.splitlines():
        refused, match = _SYSCTL_ERROR.match(line), _SYSCTL.match(line)
        path = (refused or match).group(1).translate({ord("."): "/", ord("/"): "."}) if refused or match else ""
        if {"", ".", ".."}.intersection(path.split("/")):
            continue
        path = "/proc/sys/" + path
        if refused:
            tree.lacks("sysctl could not read it when the capture was taken", path)
        elif REMOVED in line:
            tree.lacks("supportconfig removed its value", path)
        else:
            tree.add_text(path, (match.group(2) or "") + "\n", where, loose=True)
            paths.append(path)
    return paths


def unit_files(body, unit):
    """[(path, text)] of the output of systemctl cat for one unit: the unit's file and its drop-ins."""
    parts = re.split(r"^# (/(?:\S*/)?%s(?:\.d/\S*)?)$" % re.escape(unit), body, flags=re.M)
    return [(path, text.strip("\n") + "\n") for path, text in zip(parts[1::2], parts[2::2])]
