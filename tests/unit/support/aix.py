# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host that answers lsdev, lsattr, chdev and oslevel from memory; database and running values are separate.

no, vmo, the other tunables and tuncheck are those of tests/standins/aix. This is not AIX: it has only what the tunings
ask for, in the documented formats. The texts of error messages are not confirmed.
"""

import errno
import importlib.util
import io
import json
import os
import sys

from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError, Result

STANDIN = os.path.join(os.path.dirname(__file__), "..", "..", "standins", "aix", "tunables.py")
_SPEC = importlib.util.spec_from_file_location("standin_tunables", STANDIN)
standin = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(standin)
TUNABLES = "/etc/tunables"
INTERFACES = (
    "en0: flags=1e084863,814c0<UP,BROADCAST,RUNNING,64BIT,CHECKSUM_OFFLOAD(ACTIVE)>\n"
    "\tinet 192.0.2.5 netmask 0xffffff00 broadcast 192.0.2.255\n"
    "\t tcp_sendspace 262144 tcp_recvspace 262144 rfc1323 1\n"
    "en1: flags=1e084863,814c0<UP,BROADCAST,RUNNING,64BIT>\n\tinet 198.51.100.5 netmask 0xffffff00\n"
    "en2: flags=1e084862,814c0<BROADCAST,64BIT>\n\t tcp_sendspace 131072\n"
)
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
    """One device.

    stored, in_force: {attribute: value}; legal: {attribute: text of -R}. fixed: attributes that nobody may set; hidden:
    those that a listing leaves out.
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
    """The host. calls: every argv. level: what oslevel -s prints. answers: {(program, option): Result or
    HostError} that override.
    """

    def __init__(self, root):
        super().__init__(str(root))
        self.calls = []
        self.limits = []
        self.level = "7200-02-01-1731"
        self.answers = {}
        self.knows_p = True
        # of the stand-in: running values and switches; asked: [(argv of no and the others, the answers it got)]
        self.tunables = standin.found()
        self.asked = []
        # whether the stand-in is a program of its own, with real pipes
        self.apart = False
        self.wpar = "0"
        # what chdev leaves in the database when it fails, and what it accepts without doing it
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
        return {name: (dict(one.stored), dict(one.in_force)) for name, one in self.devices.items()}

    def configure(self, name):
        """Do what rmdev and mkdev, or a reboot, do."""
        self.devices[name].in_force = dict(self.devices[name].stored)

    def changes(self):
        return [argv for argv in self.calls if argv[0] == "chdev"]

    def run(self, argv, timeout=30, user=None, env=None, answers=""):
        self.calls.append(list(argv))
        self.limits.append(timeout)
        instead = self.answers.get((argv[0], argv[1][:2]))
        if isinstance(instead, HostError):
            raise instead
        if instead is not None:
            return instead
        if argv[0] in standin.COMMANDS + ("tuncheck",):
            return self._tunable(argv, timeout, answers)
        answer = getattr(self, "_" + argv[0], None)
        if answer is None:
            raise HostError("cannot run %s" % argv[0], errno.ENOENT)
        return answer(argv[1:])

    def _tunable(self, argv, timeout, answers):
        if argv[1] not in ("-x", "-F"):
            self.asked.append((" ".join(argv), answers))
        if self.apart:
            held = self.path("/standin.json")
            with open(held, "w") as stream:
                json.dump(self.tunables, stream)
            words = [sys.executable, "-S", STANDIN, held, self.path(TUNABLES), *argv]
            return Host().run(words, timeout=timeout, answers=answers)
        streams = (io.StringIO(answers), io.StringIO(), io.StringIO())
        code = standin.run(self.tunables, self.path(TUNABLES), argv[0], argv[1:], streams)
        return Result(code, streams[1].getvalue(), streams[2].getvalue())

    def reboot(self):
        standin.Aix(self.tunables, self.path(TUNABLES), None, None).reboot()

    def _uname(self, words):
        if words != ["-W"]:
            raise HostError("cannot run uname", errno.ENOENT)
        return Result(0, self.wpar + "\n", "")

    def _ifconfig(self, words):
        return Result(0, INTERFACES, "")

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
    """Return columns as AIX prints them: as wide as the longest cell plus one blank."""
    widths = [max(len(cell) for cell in column) + 1 for column in zip(*rows)]
    return "".join("".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() + "\n" for row in rows)
