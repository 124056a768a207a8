# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-in of COMMANDS and tuncheck: running values in the state, those of a boot in /etc/tunables.

Texts that are not documented begin with "stand-in:": nobody may depend on them. Every refusal comes before any change.
What a switch of the state decides is not documented either:

    after_d        what -r -d leaves of a line: "nothing", "DEFAULT" or "number"
    live_update    tunables that -r refuses without -K (1485-514)
    deaf           tunables whose question takes no answer, and waits for ever
    ignored        tunables that are reported as set, and are not
    other_writer   [stanza, name, value] that somebody else writes into nextboot during the next call of -r
    empty          commands that print nothing
    root           whether the caller is root
"""

import getopt
import os
import re
import sys
import time

COMMANDS = ("no", "vmo", "schedo", "ioo", "raso", "nfso")
# (current, default, min, max, unit, type, dependencies, restricted)
FOUND = {
    "no": {
        "bcastping": ("0", "0", "0", "1", "boolean", "D", "", False),
        "extendednetstats": ("0", "0", "0", "1", "boolean", "R", "", True),
        "ipqmaxlen": ("100", "100", "100", "2147483647", "numeric", "R", "", False),
        "ndd_event_name": ("{all}", "{all}", "0", "128", "string", "D", "", False),
        "netm_affinity": ("1", "1", "0", "1", "boolean", "B", "", False),
        "psebufcalls": ("20", "20", "20", "2147483647", "numeric", "I", "", False),
        "sb_max": ("1048576", "1048576", "4096", "9223372036854775807", "byte", "D", "", False),
        "tcp_fastlo": ("0", "0", "0", "1", "boolean", "C", "", False),
        "tcp_nodelayack": ("0", "0", "0", "1", "boolean", "D", "", False),
        "tcp_sendspace": ("16384", "16384", "4096", "9223372036854775807", "byte", "C", "sb_max", False),
        "thewall": ("22020096", "16777216", "0", "67108864", "kbyte", "S", "", False),
        "use_isno": ("1", "1", "0", "1", "boolean", "D", "", True),
    },
    "vmo": {
        "htabscale": ("n/a", "-1", "-1", "", "numeric", "B", "", False),
        "lgpg_regions": ("0", "0", "0", "9223372036854775807", "", "D", "lgpg_size", False),
        "maxclient%": ("90", "90", "1", "100", "% memory", "D", "maxperm% minperm%", True),
        "maxfree": ("1088", "1088", "16", "8807424", "4KB pages", "D", "minfree memory_frames", False),
        "maxperm%": ("90", "90", "1", "100", "% memory", "D", "maxclient% minperm%", True),
        "minfree": ("960", "960", "8", "8807424", "4KB pages", "D", "maxfree memory_frames", False),
        "minperm%": ("3", "3", "1", "100", "% memory", "D", "maxclient% maxperm%", False),
        "v_pinshm": ("0", "0", "0", "1", "boolean", "D", "", False),
        "vmm_klock_mode": ("2", "-1", "-1", "3", "numeric", "B", "", False),
    },
    "schedo": {
        "%usDelta": ("100", "100", "0", "100", "", "D", "", True),
        "vpm_xvcpus": ("0", "0", "-1", "1024", "processors", "D", "", False),
    },
    "ioo": {
        "aio_active": ("0", "", "", "", "boolean", "S", "", False),
        "j2_maxPageReadAhead": ("128", "128", "0", "65536", "4KB pages", "D", "", False),
        "numfsbufs": ("196", "196", "1", "2147483647", "numeric", "M", "", False),
        "old_ioo": ("0", "0", "0", "1", "boolean", "d", "", False),
    },
    "raso": {"mtrc_enabled": ("1", "1", "0", "1", "boolean", "R", "", False)},
    "nfso": {"nfs_rfc1323": ("0", "0", "0", "1", "boolean", "D", "", False)},
}
# (lower, higher, the least difference)
RULES = (
    ("tcp_sendspace", "sb_max", 0),
    ("maxclient%", "maxperm%", 0),
    ("minperm%", "maxclient%", 0),
    ("minperm%", "maxperm%", 0),
    ("minfree", "maxfree", 1),
)
SWITCHES = {
    "after_d": "nothing",
    "live_update": [],
    "deaf": [],
    "ignored": [],
    "other_writer": None,
    "empty": [],
    "root": True,
}
INFO = (
    'info:\n\tAIX_level = "7.3.4.0"\n\tKernel_type = "MP64"\n\tLast_validation = "2026-11-27 10:00:00 UTC (reboot)"\n'
)


class Refusal(Exception):
    """(exit code, what the command says on standard error)."""


def found():
    """A host as it is found: the running values, and the switches."""
    rows = {command: {name: list(row) for name, row in rows.items()} for command, rows in FOUND.items()}
    return dict(SWITCHES, rows=rows)


def lines_of(text, stanza):
    """{name: number of its first line} in the first stanza of a name, and where that ends; None without one."""
    lines, at, names = text.split("\n"), None, {}
    for number, line in enumerate(lines):
        if re.match(r"\w+:", line):
            if at is not None:
                break
            at = number + 1 if line.startswith(stanza + ":") else None
        elif at is not None and "=" in line and not line.lstrip().startswith("#"):
            names.setdefault(line.split("=")[0].strip(), number)
            at = number + 1
    return (None, {}) if at is None else (at, names)


def value_in(text, stanza, name):
    number = lines_of(text, stanza)[1].get(name)
    return None if number is None else text.split("\n")[number].split("=", 1)[1].strip().split('"')[1]


def with_value(text, stanza, name, value):
    """The text with one line set; None: without it."""
    lines, (end, names) = text.split("\n"), lines_of(text, stanza)
    line = [] if value is None else ['\t%s = "%s"' % (name, value)]
    if name in names:
        lines[names[name] : names[name] + 1] = line
    elif end is None:
        return text + ("\n%s:\n%s\n" % (stanza, line[0]) if line else "")
    else:
        lines[end:end] = line
    return "\n".join(lines)


class Aix:
    """One call of a command. state: see found(); folder: of the tunables files; ask: what reads a line of input."""

    def __init__(self, state, folder, ask, say):
        self.state = state
        self.folder = folder
        self.ask = ask
        self.say = say

    def read(self, name):
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            return ""
        with open(path, encoding="latin-1", newline="") as stream:
            return stream.read()

    def write(self, name, text):
        os.makedirs(self.folder, exist_ok=True)
        with open(os.path.join(self.folder, name), "w", encoding="latin-1", newline="") as stream:
            stream.write(text)

    def boot(self, command, name):
        """The value of the next boot: without a line, the default."""
        value = value_in(self.read("nextboot"), command, name)
        return self.state["rows"][command][name][1] if value in (None, "DEFAULT") else value

    def call(self, command, words):
        try:
            given, rest = getopt.getopt(words, "o:d:DpryFaL:x:hK" if command != "no" else "o:d:DprFaL:x:hK")
        except getopt.GetoptError as error:
            # the one option whose name may be left out
            if words not in (["-x"], ["-F", "-x"]):
                raise Refusal(1, "Usage: %s -h | [-F] {-x [tunable]}\n" % command) from error
            return self.listing(command, None, "-F" in words)
        options = dict(given)
        if rest or ("-K" in options and "-r" not in options) or ("-p" in options and "-r" in options):
            raise Refusal(1, "Usage: %s -h | [-p|-r] {-o tunable[=value]}\n" % command)
        if not self.state["root"]:
            raise Refusal(1, "stand-in: only root\n")
        if "-x" in options:
            return self.listing(command, options["-x"], True)
        if "-d" in options:
            return self.change(command, options, options["-d"], None)
        name, _equals, value = options["-o"].partition("=")
        return self.change(command, options, name, value)

    def listing(self, command, name, restricted):
        if command in self.state["empty"]:
            return
        if not self.state["root"]:
            raise Refusal(1, "stand-in: only root\n")
        rows = self.state["rows"][command]
        if name is not None and name not in rows:
            raise Refusal(1, "stand-in: unknown %s\n" % name)
        chosen = [one for one in sorted(rows) if one == name or (name is None and not rows[one][7])]
        hidden = [one for one in sorted(rows) if name is None and restricted and rows[one][7]]
        for one in chosen + (["##Restricted tunables"] if hidden else []) + hidden:
            if one.startswith("##"):
                self.say(one + "\n")
                continue
            current, default, low, high, unit, kind, needs, _restricted = rows[one]
            fields = (one, current, default, self.boot(command, one), low, high, unit, kind)
            self.say(",".join(fields) + "," + "".join(need + " " for need in needs.split()) + "\n")

    def change(self, command, options, name, value):
        rows = self.state["rows"][command]
        if name not in rows:
            raise Refusal(1, "stand-in: unknown %s\n" % name)
        row = rows[name]
        if row[5] in ("S", "d") or row[0] == "n/a":
            raise Refusal(1, "stand-in: %s cannot be set\n" % name)
        wanted = row[1] if value is None else value
        stored, running = "-r" in options or "-p" in options, "-r" not in options
        self.legal(command, name, wanted, running, stored)
        if "-r" in options and (name in self.state["live_update"]) != ("-K" in options):
            said = "requires -K for" if name in self.state["live_update"] else "does not support"
            number = 514 if name in self.state["live_update"] else 513
            raise Refusal(1, "%s: 1485-%d Tunable %s %s Live Update operations\n" % (command, number, name, said))
        lower = row[5] == "I" and int(wanted) < int(row[0])
        if running and (row[5] in ("R", "B") or lower):
            # the exit code of AIX is not known: this one proves that nobody relies on it
            self.say("stand-in: %s was not changed\n" % name)
            return
        if row[7] and stored:
            self.question("Modification to restricted tunable %s, confirmation required yes/no" % name, name)
        if name not in self.state["ignored"]:
            if running:
                row[0] = wanted
            if stored:
                self.store("nextboot", command, name, value)
            if "-K" in options:
                self.store("nextliveupdate", command, name, value)
        self.say("Setting %s to %s%s\n" % (name, wanted, " in nextboot file" if stored else ""))
        if row[5] == "B" and stored and self.ask().strip().startswith("y"):
            raise AssertionError("bosboot was asked for")

    def legal(self, command, name, wanted, running, stored):
        rows, row = self.state["rows"][command], self.state["rows"][command][name]
        text = "%s: 1485-111 Invalid value %s for tunable %s\n" % (command, wanted, name)
        if row[4] == "string":
            return
        if not re.match(r"^-?\d+\Z", wanted):
            raise Refusal(1, text)
        for limit, right, word in ((2, int(row[2]) <= int(wanted), "greater"), (3, int(wanted) <= int(row[3]), "less")):
            if not right:
                raise Refusal(1, text + "Value for tunable %s must be %s than %s\n" % (name, word, row[limit]))
        for low, high, least in RULES:
            if name in (low, high) and low in rows and high in rows:
                places = [{one: rows[one][0] for one in (low, high)}] if running else []
                places += [{one: self.boot(command, one) for one in (low, high)}] if stored else []
                for values in places:
                    pair = [int(wanted if one == name else values[one]) for one in (low, high)]
                    if pair[0] + least > pair[1]:
                        other = high if name == low else low
                        raise Refusal(1, text + "Value for tunable %s depends on tunable %s\n" % (name, other))

    def question(self, text, name):
        self.say(text + " ")
        while name in self.state["deaf"]:
            time.sleep(0.1)
        if self.ask().strip() not in ("yes", "y"):
            raise Refusal(1, "stand-in: %s was not confirmed\n" % name)

    def store(self, file, command, name, value):
        """Write the whole file, as if nobody else did."""
        text = self.read(file)
        if value is None and self.state["after_d"] != "nothing" and value_in(text, command, name) is not None:
            default = self.state["rows"][command][name][1]
            value = "DEFAULT" if self.state["after_d"] == "DEFAULT" else default
        text = with_value(text, command, name, value)
        if self.state["other_writer"]:
            text = with_value(text, *self.state["other_writer"])
            self.state["other_writer"] = None
        self.write(file, text)

    def tuncheck(self, words):
        """tuncheck -r -f file: it writes into a file that is right."""
        if words[:2] != ["-r", "-f"] or len(words) != 3:
            raise Refusal(1, "Usage: tuncheck [-r|-p] -f Filename\n")
        with open(words[2], encoding="latin-1", newline="") as stream:
            text = stream.read()
        for command in COMMANDS:
            for name in lines_of(text, command)[1]:
                value = value_in(text, command, name)
                if value not in ("DEFAULT", "STATIC", "RESTRICTED") and name in self.state["rows"][command]:
                    self.legal(command, name, value, False, True)
        with open(words[2], "a", encoding="latin-1", newline="") as stream:
            stream.write("\n" + INFO)

    def reboot(self):
        for command, rows in self.state["rows"].items():
            for name, row in rows.items():
                if row[5] not in ("S", "d", "B") and row[0] != "n/a":
                    row[0] = self.boot(command, name)


def run(state, folder, command, words, streams):
    """The exit code of one call; streams: input, output, errors."""

    def say(text):
        streams[1].write(text)
        streams[1].flush()

    aix = Aix(state, folder, streams[0].readline, say)
    try:
        aix.tuncheck(words) if command == "tuncheck" else aix.call(command, words)
    except Refusal as refusal:
        code, text = refusal.args
        streams[2].write(text)
        return code
    except OSError as error:
        streams[2].write("stand-in: %s\n" % error.strerror)
        return 1
    return 0


if __name__ == "__main__":
    # tunables.py <file of a state> <folder> <command> [words]: one that nobody shares, as the unit tests have
    import json

    with open(sys.argv[1]) as held:
        found_state = json.load(held)
    code = run(found_state, sys.argv[2], sys.argv[3], sys.argv[4:], (sys.stdin, sys.stdout, sys.stderr))
    with open(sys.argv[1], "w") as held:
        json.dump(found_state, held)
    sys.exit(code)
