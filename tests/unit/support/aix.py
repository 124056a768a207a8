# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host whose lsdev, lsattr, chdev and oslevel answer from memory, the database and what is in force kept apart.

It is not AIX: only what the tunings ask is there, in the documented formats. Texts of error messages are not confirmed.
"""

import errno
import os

from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError, Result

BUSY = (
    "Method error (/usr/lib/methods/chgsmcr):\n        0514-062\n"
    "\tCannot perform the requested function because the\n\tspecified device is busy.\n"
)
REFUSED = "Method error (/usr/lib/methods/chgsmcr):\n        0514-018\n\tThe values specified are not valid:\n     %s\n"
NO_ATTRIBUTE = (
    'lsattr: 0514-528 The "%s" attribute does not exist in the predefined device configuration\n\tdatabase.\n'
)
SMCR_FOUND = {
    "conns_per_lg": "16",
    "enabled": "0",
    "init_snd_pools": "2",
    "ip_addr_list": "",
    "max_memory": "512",
    "port_range": "",
    "rx_intr_packets": "128",
    "tx_intr_cnt": "128",
    "tx_intr_time": "10000",
}


class Device:
    """One device. stored, in_force: {attribute: value}; legal: {attribute: text of -R}.

    fixed: attributes that nobody may set; hidden: those that a listing leaves out.
    """

    def __init__(self, values, state="Available", text="Device"):
        self.stored = dict(values)
        self.in_force = dict(values)
        self.state = state
        self.text = text
        self.legal = {}
        self.fixed = set()
        self.hidden = set()
        self.busy = False


class AixHost(Host):
    """calls: every argv. level: what oslevel -s prints. answers: {(program, option): Result or HostError} instead."""

    def __init__(self, root):
        super().__init__(str(root))
        self.calls = []
        self.limits = []
        self.level = "7200-02-01-1731"
        self.answers = {}
        self.knows_p = True
        # what chdev leaves in the database when it fails, and what it takes without doing it
        self.leaves = {}
        self.ignores = set()
        self.devices = {
            "ent0": Device({}, text="00-00 PCIe3 2-port 10GbE SFP+ RoCE Adapter"),
            "smcr0": Device(SMCR_FOUND, text="SMC-R"),
            "sys0": Device({"maxuproc": "2048", "fwversion": "IBM,FW830.00 (SV830_048)"}, text="System Object"),
        }

    def fill(self, path, text):
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        with open(self.path(path), "w") as stream:
            stream.write(text)

    def values(self):
        """All that chdev can change."""
        return {name: (dict(one.stored), dict(one.in_force)) for name, one in self.devices.items()}

    def configure(self, name):
        """What rmdev and mkdev, or a reboot, do."""
        self.devices[name].in_force = dict(self.devices[name].stored)

    def changes(self):
        return [argv for argv in self.calls if argv[0] == "chdev"]

    def run(self, argv, timeout=30, user=None, env=None):
        self.calls.append(list(argv))
        self.limits.append(timeout)
        instead = self.answers.get((argv[0], argv[1][:2]))
        if isinstance(instead, HostError):
            raise instead
        if instead is not None:
            return instead
        answer = getattr(self, "_" + argv[0], None)
        if answer is None:
            raise HostError("cannot run %s" % argv[0], errno.ENOENT)
        return answer(argv[1:])

    def _oslevel(self, words):
        return Result(0, self.level + "\n", "")

    def _lsdev(self, words):
        names = words[1:] or sorted(self.devices)
        rows = [(name, self.devices[name].state, self.devices[name].text) for name in names if name in self.devices]
        return Result(0, aligned(rows), "")

    def _lsattr(self, words):
        option, device, asked = words[0], self.devices.get(words[1]), words[3] if "-a" in words else None
        if device is None:
            return Result(255, "", "lsattr: 0514-519 The following device was not found: %s\n" % words[1])
        if asked is not None and asked not in device.stored:
            return Result(255, "", NO_ATTRIBUTE % asked)
        if option == "-Rl":
            legal = device.legal.get(asked)
            return Result(255, "", "lsattr: 0514-521 no information\n") if legal is None else Result(0, legal, "")
        if option == "-Pl" and not self.knows_p:
            return Result(1, "", "lsattr: 0514-001 usage\n")
        values = device.in_force if option == "-Pl" else device.stored
        if "-F" in words:
            return Result(0, values[asked] + "\n", "")
        rows = [
            (name, value, "Description of %s" % name, "False" if name in device.fixed else "True")
            for name, value in sorted(values.items())
            if name not in device.hidden
        ]
        return Result(0, aligned(rows), "")

    def _chdev(self, words):
        assert words[0] == "-l"
        device, rest = self.devices[words[1]], words[2:]
        database_only = rest[0] == "-P"
        pairs = dict(word.split("=", 1) for word in rest if word not in ("-a", "-P"))
        assert len(rest) == 2 * len(pairs) + database_only
        if not database_only and device.busy:
            device.stored.update(self.leaves)
            return Result(1, "", BUSY)
        unknown = sorted(set(pairs) - set(device.stored))
        if unknown:
            return Result(1, "", REFUSED % unknown[0])
        done = {name: value for name, value in pairs.items() if name not in self.ignores}
        device.stored.update(done)
        if not database_only:
            device.in_force.update(done)
        return Result(0, "%s changed\n" % words[1], "")


def aligned(rows):
    """Columns as AIX prints them: as wide as the longest cell and one blank."""
    widths = [max(len(cell) for cell in column) + 1 for column in zip(*rows)]
    return "".join("".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() + "\n" for row in rows)
