# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other places that set devices and tunables: /etc/inittab, the rc scripts of AIX, and root's crontab."""

import re
import shlex

from .._host.drop_ins import numbered_lines
from .._machine.other_settings import LARGEST_SCRIPT, Setting, conflict

_LONGEST = 4096  # a line that is split as the shell does
_FILES = (
    ("/etc", "inittab"),
    ("/etc", "rc"),
    ("/etc", "rc.*"),
    ("/etc/rc.d/init.d", "*"),
    ("/etc/rc.d/rc2.d", "S*"),
    ("/var/spool/cron/crontabs", "root"),
)


def parse_chdev(text):
    """[(device, {attribute: value})] of the chdev commands in a line of a script."""
    found = []
    for command in re.split(r"\bchdev\b", text)[1:]:
        words = _words(re.split(r"[;|&<>]", command)[0])
        device, values = None, {}
        for option, argument in zip(words, words[1:]):
            if option == "-l":
                device = argument
            elif option == "-a":
                values.update(pair.split("=", 1) for pair in re.split(r"(?<!\s)\s+(?=\S+=)", argument) if "=" in pair)
        if device and values:
            found.append((device, values))
    return found


def _words(text):
    try:
        # it copies a word for each of its characters
        words = shlex.split(text if len(text) <= _LONGEST else "'")
    except ValueError:
        # the quote ends in another line, or is around the whole command
        words = text.replace('"', " ").replace("'", " ").split()
    # -lsmcr0 is -l smcr0
    return [part for word in words for part in ((word[:2], word[2:]) if re.match(r"-[la].", word) else (word,))]


def others(host, device, attributes):
    """The conflicts for these attributes of a device. All are possible: the script decides whether it runs chdev."""
    found = []
    for what, path, line, text in _lines(host):
        for name, values in parse_chdev(text):
            for attribute in sorted(set(values) & set(attributes) if name == device else ()):
                effect = "sets %s of %s to %s" % (attribute, device, values[attribute] or "nothing")
                setting = Setting(path, line, text, values[attribute])
                found.append(conflict(what, setting, "possible", effect=effect))
    return found


def parse_tunables(command, text):
    """[(tunable, value)] that the calls of a command such as no or vmo in a line of a script set."""
    calls = re.findall(r"(?<![\w.%%-])%s\s+(-[^;|&<>]*)" % command, text)
    return [pair for call in calls for pair in re.findall(r"-o\s*[\"']?([\w%]+)=([^\s\"'`)]+)", call)]


def other_tunables(host, command, tunable):
    """The conflicts for a tunable, which come after what AIX itself restores at boot."""
    return [
        conflict(what, Setting(path, line, text, value), "possible", effect="sets %s to %s" % (name, value))
        for what, path, line, text in _lines(host)
        for name, value in parse_tunables(command, text)
        if name == tunable
    ]


def _lines(host):
    """(kind of file, path, number, text) of the lines of all these files."""
    for folder, pattern in _FILES:
        for path in host.glob(folder, pattern):
            # a program may be in the place of a script
            for line, text in numbered_lines(host, path) if (host.size(path) or 0) <= LARGEST_SCRIPT else ():
                # a line of inittab that begins with a colon is a comment
                if path != "/etc/inittab" or not text.startswith(":"):
                    yield "crontab" if path.startswith("/var/spool") else "boot script", path, line, text
