# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""commands.py <name> [words]: the stand-in of one AIX command. It is not AIX's program, see README.md."""

import sys

import devices
import machine
import system
import tunables


def tunable(name):
    """no and its like: they ask on the terminal, and say something before they refuse."""

    def act(words):
        with machine.changed() as state:
            streams = (sys.stdin, sys.stdout, sys.stderr)
            code = tunables.run(state["tunables"], "/etc/tunables", name, words, streams)
        if code:
            raise machine.Refusal(code, "")
        return ""

    return act


# Where AIX has each of them: (folder, function).
COMMANDS = {
    "aclget": ("/usr/bin", system.aclget),
    "aclput": ("/usr/bin", system.aclput),
    "chdev": ("/usr/sbin", devices.chdev),
    "ifconfig": ("/usr/sbin", system.ifconfig),
    "lparstat": ("/usr/bin", system.lparstat),
    "lsattr": ("/usr/sbin", devices.lsattr),
    "lsdev": ("/usr/sbin", devices.lsdev),
    "mkdev": ("/usr/sbin", devices.mkdev),
    "mount": ("/usr/sbin", system.mount),
    "oslevel": ("/usr/bin", system.oslevel),
    "rmdev": ("/usr/sbin", devices.rmdev),
    "uname": ("/usr/bin", system.uname),
    **{name: ("/usr/sbin", tunable(name)) for name in (*tunables.COMMANDS, "tuncheck")},
}


def main(name, *words):
    try:
        sys.stdout.write(COMMANDS[name][1](list(words)))
    except machine.Refusal as refusal:
        code, text = refusal.args
        sys.stderr.write(text)
        return code
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
