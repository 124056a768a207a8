# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drop-in files that keep values over a reboot: one file per tuning, one marked block per subject.

Lines outside the blocks are left unchanged.
"""

import errno
import functools
import os
import re
from collections import namedtuple

from .host import TEMPORARY, HostError

# file, line: its place. text: the line. value: the value that it sets, None if that is not plain text.
Setting = namedtuple("Setting", "file line text value")

# folders and prefix of the drop-in files of this collection: rules.d/91-zpower-sap-tuning-rps.rules
FOLDERS = ("/etc/udev/rules.d", "/etc/sysctl.d", "/etc/tmpfiles.d", "/etc/modules-load.d")
PREFIX = "91-zpower-sap-tuning-"
_CONTROL = re.compile("[\0-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
# characters of a file with settings, and of one whose lines are kept
_LARGEST, _KEPT = 1 << 20, 1 << 16
_BEGIN, _END = "# zpower.sap_tuning begin ", "# zpower.sap_tuning end "


def one_line(text, no=""):
    """The text, for one line of a file that programs of root read. no: characters with a meaning there.

    Raises HostError for these and for line breaks and other control characters: names come from devices and folders.
    """
    if _CONTROL.search(text) or any(sign in text for sign in no):
        raise HostError(
            "%s cannot be written into a file of the system: give it a name without such characters" % ascii(text)
        )
    return text


class DropIn:
    """A drop-in file such as /etc/udev/rules.d/91-zpower-sap-tuning-rps.rules; header: the comment at its top."""

    def __init__(self, host, path, header):
        self._host = host
        self.path = path
        self._header = header

    def usable(self):
        """Whether this host has the service that reads the file: the folder above the drop-in folder exists."""
        return self._host.exists(os.path.dirname(os.path.dirname(self.path)))

    def blocks(self):
        """The subjects that have a block."""
        first, last = {}, {}
        for number, line in enumerate((self._host.read(self.path) or "").splitlines()):
            if line.startswith(_BEGIN):
                first.setdefault(line[len(_BEGIN) :], number)
            elif line.startswith(_END):
                last[line[len(_END) :]] = number
        return [subject for subject, number in first.items() if last.get(subject, -1) > number]

    def block(self, subject):
        """The lines of the subject's block as one text; None if it has no block."""
        before, lines, after = self._split(subject)
        return None if lines is None else "\n".join(lines)

    def put(self, subject, text):
        """Make text the subject's block; None removes the block, and with the last block the file. Raises HostError."""
        before, dummy, after = self._split(subject)
        if not before and not after and text is not None:
            before = self._header.splitlines()
        lines = [one_line(line) for line in [_BEGIN + subject] + (text or "").split("\n") + [_END + subject]]
        block = [] if text is None else lines
        lines = before + block + after
        if lines == self._header.splitlines() or not lines:
            self._host.remove(self.path)
        else:
            text = "\n".join(lines) + "\n"
            try:
                self._host.write(self.path, text)
            except HostError as error:
                if error.errno != errno.ENOENT:
                    raise
                # a rollback of another tuning has just removed the folder
                self._host.write(self.path, text)

    def _split(self, subject):
        """(lines before the block, lines of the block or None, lines after it)."""
        lines = (self._host.read(self.path) or "").splitlines()
        try:
            start = lines.index(_BEGIN + subject)
            end = lines.index(_END + subject, start)
        except ValueError:
            return lines, None, []
        return lines[:start], lines[start + 1 : end], lines[end + 1 :]


def own_path(folder, tuning):
    """The path of a tuning's file in a folder such as sysctl.d, in which all files have the same ending."""
    return "/etc/%s/%s%s.conf" % (folder, PREFIX, tuning.replace("_", "-"))


def temporaries(host, path):
    """The temporary files of runs that were killed while they replaced this file."""
    folder, name = os.path.split(host.real(path))
    return host.glob(folder, "%s%s.*" % (TEMPORARY, name))


def effective_files(host, kind, suffix):
    """The paths of the effective drop-in files of one kind ("udev/rules.d"), in the order in which they are read.

    A file in /etc hides a file of the same name in /run, which hides those below /usr: see udev(7), sysctl.d(5) and
    tmpfiles.d(5).
    """
    found = {}
    for top in ("/lib", "/usr/lib", "/usr/local/lib", "/run", "/etc"):
        folder = os.path.join(top, kind)
        for path in host.glob(folder, "*" + suffix):
            found[os.path.basename(path)] = path
    return [found[name] for name in sorted(found)]


def text_of(host, path):
    """The text of a file with settings, empty if absent. Raises HostError for a larger file than any of them: its short
    lines would take fifty times its size.
    """
    text = host.read(path) or ""
    if len(text) > _LARGEST:
        raise HostError("%s was not read: no file of settings has more than %d KiB" % (path, _LARGEST >> 10))
    return text


def numbered_lines(host, path):
    """(line number, text) of all lines but comments and empty ones; a backslash at the end joins the next line."""
    text = text_of(host, path)
    return numbered(text) if len(text) <= _KEPT else numbered.__wrapped__(text)


# many searches go through the same files
@functools.lru_cache(maxsize=1024)
def numbered(text):
    """numbered_lines() of the text of a file."""
    found, pieces, start = [], [], 0
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        start = start if pieces else number
        joined = line.endswith("\\")
        pieces += filter(None, [line[:-1] if joined else line])
        if pieces and not joined:
            whole, pieces = "".join(pieces), []
            if whole[0] not in "#;":
                found.append((start, whole))
    return found


def assignments(host, path):
    """(line number, text, name, value) of the lines that assign a value; the value keeps its quotes."""
    for line, text in numbered_lines(host, path):
        name, equals, value = text.partition("=")
        if equals:
            yield line, text, name.strip(), value.strip()
