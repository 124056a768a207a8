# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel tunables of AIX: six commands of one form, with the parsers of their output and of their files.

The kernel has the running values. /etc/tunables/nextboot has those of the next boot: a tunable without a line there
gets its default. From 7.3 on, nextliveupdate has those that the next Live Update brings.
"""

import re
from collections import namedtuple

from .._host.commands import Stopped
from .._host.host import HostError, refused
from .._host.temporary import TemporaryFolder
from .devices import error_text

COMMANDS = ("ioo", "nfso", "no", "raso", "schedo", "vmo")
NEXT_BOOT, LIVE_UPDATE = "/etc/tunables/nextboot", "/etc/tunables/nextliveupdate"
DEFAULT = "DEFAULT"
# options that an interface can override (ISNO)
OF_INTERFACES = ("rfc1323", "tcp_mssdflt", "tcp_nodelay", "tcp_recvspace", "tcp_sendspace")
_LIVE_UPDATE_ONLY = "1485-514"
_STANZA = re.compile(r"^\s*([A-Za-z0-9_]+)\s*:\s*(?:#.*)?$")
_LINE = re.compile(r"^\s*([^\s#=\"]+)\s*=\s*(?:\"([^\"]*)\"|([^\s#\"]+))")
LIMIT_S = 60

# A line of -x. boot: the value of the next boot; kind: the letters of its type. All are texts, some may be empty.
Row = namedtuple("Row", "name current default boot low high unit kind")


# parsers


def number(text):
    """The whole number in a text; None if it is something else."""
    return int(text) if text is not None and re.match(r"^-?[0-9]{1,30}\Z", text) else None


def parse_row(out, name):
    """The Row of a tunable in the output of -x; None if there is none. Raises HostError for other columns."""
    for line in out.splitlines():
        fields = [field.strip().strip('"') for field in line.split(",", 8)]
        if fields[0] == name:
            if len(fields) < 8 or not re.match(r"^[A-Za-z]+\Z", fields[7]):
                raise HostError("the columns of -x are not understood: %s" % line.strip())
            return Row(*fields[:8])
    return None


def parse_names(out):
    """The names in the output of -x."""
    return {line.split(",")[0].strip() for line in out.splitlines() if "," in line and not line.startswith("#")}


def assignments(text):
    """[(stanza, name, value, number of the line)] of a file; another stanza of the same name does not count (None)."""
    found, stanza, begun_before = [], None, set()
    for at, line in enumerate(text.split("\n")):
        begun, match = _STANZA.match(line), _LINE.match(line)
        if begun:
            stanza = None if begun.group(1) in begun_before else begun.group(1)
            begun_before.add(begun.group(1))
        elif match:
            found.append((stanza, match.group(1), match.group(2) if match.group(3) is None else match.group(3), at))
    return found


def first_line(text, command, name):
    """(value, number of the line) of a tunable: the first line of the name counts. None without one."""
    return next((one[2:] for one in assignments(text) if one[:2] == (command, name)), None)


def without_line(text, command, name):
    """The text without this line, and with every other byte of it."""
    lines, found = text.split("\n"), first_line(text, command, name)
    return text if found is None else "\n".join(lines[: found[1]] + lines[found[1] + 1 :])


def parse_interfaces(out):
    """{interface: {option: value}} of those that are up, in the output of ifconfig -a."""
    found, values = {}, {}
    for line in out.splitlines():
        head = re.match(r"^(\w+): flags=\w+(?:,\w+)?<([^>]*)>", line)
        if head:
            values = found.setdefault(head.group(1), {}) if "UP" in head.group(2).split(",") else {}
        elif line[:1].isspace():
            values.update(re.findall(r"\b(%s)\s+([0-9]+)" % "|".join(OF_INTERFACES), line))
    return found


# commands


class Tunables:
    """The tunables of a host. noticed: {(command, name): sentences on what somebody else did meanwhile}."""

    def __init__(self, host):
        self.host = host
        self.noticed = {}
        self._open = {}
        self.forget()

    def forget(self):
        """List all tunables again when the next one is asked for."""
        self._listed = {}

    def in_wpar(self):
        """Whether this is a workload partition, where most tunables cannot be set."""
        result = self.host.run(["uname", "-W"])
        return result.rc == 0 and result.out.strip() not in ("", "0")

    def interfaces(self):
        result = self.host.run(["ifconfig", "-a"], timeout=LIMIT_S)
        if result.rc != 0:
            raise HostError("ifconfig -a: %s" % error_text(result))
        return parse_interfaces(result.out)

    def open_names(self, command):
        """The tunables that are not restricted. Raises HostError."""
        if command not in self._open:
            self._open[command] = parse_names(self._list(command))
        return self._open[command]

    def row(self, command, name):
        """The Row of a tunable; None if this level of AIX does not know it."""
        if command not in self._listed:
            self._listed[command] = self._list(command, "-F")
        return parse_row(self._listed[command], name)

    def _list(self, *argv):
        result = self.host.run([*argv, "-x"], timeout=LIMIT_S)
        if result.rc != 0 and not parse_names(result.out):
            raise HostError("%s -x: %s; only root can read all tunables" % (" ".join(argv), error_text(result)))
        return result.out

    def text(self, path):
        """A tunables file. Latin-1 keeps every byte."""
        return (self.host.data(path) or b"").decode("latin-1")

    def stored(self, path, command, name):
        """The value of a tunable in a file; None without a line."""
        found = first_line(self.text(path), command, name)
        return found and found[0]

    def set_running(self, command, name, value):
        """Return the output of the command, which does not prove success."""
        return self._change(command, ["-o", "%s=%s" % (name, value)], name)[1]

    def store(self, command, name, value):
        """Set the value of the next boot; None: no line, DEFAULT: a line with this word, or none.

        Return whether that of the next Live Update was set too, and the output of the command, which does not prove
        success.
        """
        words = ["-d", name] if value in (None, DEFAULT) else ["-o", "%s=%s" % (name, value)]
        before = self._others(command, name)
        live, said = self._change(command, ["-r"] + words, name)
        changed = sorted({"%s.%s" % one[:2] for one in before ^ self._others(command, name)})
        if changed:
            self.noticed.setdefault((command, name), []).append(
                "somebody else wrote %s while %s did: look at its lines of %s"
                % (NEXT_BOOT, command, ", ".join(changed))
            )
        for path in (NEXT_BOOT, LIVE_UPDATE) if words[0] == "-d" else ():
            if self.stored(path, command, name) != value:
                self._drop(path, command, name)
        return live, said

    def _others(self, command, name):
        """The lines of others that count; stanza info is AIX's own."""
        lines = assignments(self.text(NEXT_BOOT))
        return {one[:3] for one in lines if one[0] not in (None, "info") and one[:2] != (command, name)}

    def _change(self, command, words, name):
        self.forget()
        # the first question is whether to change a restricted one, the next whether to run bosboot
        answers = "no\nno\n" if name in self.open_names(command) else "yes\nno\n"
        said = self._run([command] + words, answers)
        live = words[0] == "-r" and _LIVE_UPDATE_ONLY in said
        return live, self._run([command, "-r", "-K"] + words[1:], answers) if live else said

    def _run(self, argv, answers):
        try:
            result = self.host.run(argv, timeout=LIMIT_S, env={"NLSPATH": ""}, answers=answers)
        except Stopped as error:
            printed = " ".join(b" ".join(error.printed).decode("utf-8", "replace").split())
            raise HostError("%s; it may wait for an answer: %s" % (error, printed), error.errno) from error
        return "%s: %s (exit code %d)" % (" ".join(argv), error_text(result), result.rc)

    def _drop(self, path, command, name):
        """Remove the line of a tunable and leave every other byte of the file as it is."""
        text = self.text(path)
        rest = without_line(text, command, name)
        if rest != text:
            self._check(rest)

            def same(_new):
                if self.text(path) != text:
                    raise HostError("%s was changed by somebody else meanwhile: nothing was removed" % path)

            self.host.replace(path, rest.encode("latin-1"), check=same)

    def _check(self, text):
        """Have tuncheck look at a copy, because it writes into the file that it finds right. Raises HostError."""
        try:
            folder = TemporaryFolder(None, "zpower-tunables-")
            try:
                with open(folder.path + "/nextboot", "wb") as stream:
                    stream.write(text.encode("latin-1"))
                result = self.host.run(["tuncheck", "-r", "-f", stream.name], timeout=LIMIT_S)
            finally:
                folder.remove()
        except OSError as error:
            raise refused("cannot write a copy of %s" % NEXT_BOOT, error) from error
        if result.rc != 0:
            raise HostError("tuncheck refuses the file without the line: %s" % error_text(result))
