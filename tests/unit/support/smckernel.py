# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kernel with SMC answers over netlink, built from include/uapi/linux/smc.h and smc_diag.h.

The shape of every message was seen on kernel 6.12 with an SMC-R link over rdma_rxe.
"""

import errno
import os
import socket
import struct

from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, Result
from kernel import KernelHost

SYSCTLS = "/proc/sys/net/smc/"
PROTOCOLS = "protocol  size sockets\nSMC6      1824      0\nSMC       1824      0\nTCP       2432      5\n"
RELEASE = "6.12.1-s390x"
NESTED = 0x8000
STATES = {"ACTIVE": 1, "INIT": 2, "CLOSED": 7, "LISTEN": 10}
MODES = {"SMCR": 0, "TCP": 1, "SMCD": 2}


def attribute(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)


def nested(kind, *attributes):
    return attribute(kind | NESTED, b"".join(attributes))


def text(kind, value):
    return attribute(kind, value.encode() + b"\0")


def number(kind, value, code):
    return attribute(kind, struct.pack("=" + code, value))


def packed(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.inet_pton(family, address).ljust(16, b"\0")


def smc_socket(
    mode="SMCR", local="10.0.0.1", peer="10.0.0.2", ports=(40000, 3298), state="ACTIVE", why=(0, 0), inode=7
):
    """Return an smc_diag_msg; why: the codes of both ends, None for a kernel that does not tell them."""
    message = struct.pack("=BBBB", 43, STATES[state], MODES[mode], 0) + struct.pack("!HH", *ports)
    message += packed(local) + packed(peer) + b"\0" * 12 + struct.pack("=IQ", 0, inode)
    # the kernel puts the attribute SMC_DIAG_SHUTDOWN first
    message += number(3, 0, "B")
    return message + (attribute(5, struct.pack("=II", *why)) if why is not None else b"")


def roce_device(interface=0, pnet_id="SAPNET", by_user=1, active=1, links=1):
    """Return the nested attributes of an SMC-R device with one port in use."""
    port = nested(
        8,
        number(1, by_user, "B"),
        text(2, pnet_id),
        number(3, interface, "I"),
        number(4, active, "B"),
        number(5, 1, "B"),
        number(6, links, "I"),
    )
    unused = nested(9, number(5, 0, "B"))
    return number(2, 0, "B") + text(7, "0000:00:00.0") + text(10, "mlx5_0") + port + unused


def ism_device(in_use=3):
    """Return the nested attributes of an SMC-D device."""
    port = nested(8, number(1, 0, "B"), text(2, "NET25"))
    return number(1, in_use, "I") + number(2, 0, "B") + text(7, "0009:00:00.0") + port


def counters(**of_smcr):
    """Return the nested attributes of the counters: those of SMC-D are 0."""
    kept = {"client_v1": 7, "client_v2": 8, "server_v1": 9, "server_v2": 10, "bytes_received": 16, "bytes_sent": 17}
    found = b""
    for kind, values in ((1, {}), (2, of_smcr)):
        found += nested(kind, *(number(place, values.get(name, 0), "Q") for name, place in kept.items()))
    return found + number(3, of_smcr.get("errors", 0), "Q") + number(4, 0, "Q")


def fallback(code, times, server, client, end):
    """Return the nested attributes of one reason for fallbacks; server, client: all fallbacks of that end."""
    first = number(1, int(end == "server"), "B") + number(2, server, "Q") + number(3, client, "Q")
    return first + number(4, code, "I") + number(5, times, "H")


class LoadedHost(Host):
    """This machine, if its kernel had SMC."""

    protocols = PROTOCOLS

    def read(self, path):
        assert path == "/proc/net/protocols"
        return self.protocols


class Answers:
    """A substitute for the questions of the module _netlink. family: None if the kernel is too old for them."""

    def __init__(self, monkeypatch, netlink, sockets=(), family=34, generic=None, error=None):
        self.sockets, self.number, self.error = list(sockets), family, error
        # {command: [attributes]}
        self.generic = generic or {}
        for name in ("dump", "dump_generic", "family"):
            monkeypatch.setattr(netlink, name, getattr(self, "_" + name))

    def _dump(self, protocol, kind, payload):
        # smc_diag_req: the family, and the bit of the attribute for fallbacks
        assert (protocol, kind, payload[0], payload[3], len(payload)) == (4, 20, 43, 16, 52)
        if self.error:
            raise self.error
        return self.sockets

    def _family(self, name):
        assert name == "SMC_GEN_NETLINK"
        return self.number

    def _dump_generic(self, family, command):
        assert family == self.number
        if command not in self.generic:
            raise OSError(95, "Operation not supported")
        return self.generic[command]


class SmcHost(KernelHost):
    """A kernel with the module smc: 6.12 knows these sysctls, and refuses values outside their limits."""

    values = {
        "autocorking_size": "65536",
        "limit_smc_hs": "0",
        "rmem": "65536",
        "smcr_buf_type": "0",
        "smcr_max_conns_per_lgr": "255",
        "smcr_max_links_per_lgr": "2",
        "smcr_testlink_time": "30",
        "wmem": "65536",
    }
    least = {"wmem": 16384, "rmem": 16384, "smcr_max_conns_per_lgr": 16}

    def __init__(self, root):
        super().__init__(root)
        self.fill("/proc/sys/kernel/osrelease", "6.12.1-s390x")
        self.fill("/proc/cmdline", "root=/dev/dasda1")
        for name, value in self.values.items():
            self.fill(SYSCTLS + name, value)

    def put(self, path, value):
        if int(value) < self.least.get(os.path.basename(path), 0):
            self.errors[path] = errno.EINVAL
        super().put(path, value)


class LoadingHost(KernelHost):
    """A host whose kernel can load SMC, with systemd; calls: the commands that it ran."""

    def __init__(self, root):
        super().__init__(root)
        self.calls = []
        self.modprobe = Result(0, "", "")
        os.makedirs(self.path("/run/systemd/system"))
        os.makedirs(self.path("/etc/systemd/system"))
        self.fill("/proc/sys/kernel/osrelease", RELEASE)
        self.fill("/proc/net/protocols", "TCP 1\n")
        self.fill(
            "/lib/modules/%s/modules.dep" % RELEASE,
            "kernel/net/smc/smc_diag.ko.xz: kernel/net/smc/smc.ko.xz\nkernel/net/smc/smc.ko.xz:",
        )
        self.interface("enc1")
        self.fill("/sys/class/infiniband/mlx5_0/node_type", "1: CA")

    def run(self, argv, timeout=30, **_more):
        self.calls.append(argv)
        if argv[0] == "modprobe" and not self.modprobe.rc:
            self.fill("/proc/net/protocols", PROTOCOLS)
        return self.modprobe if argv[0] == "modprobe" else Result(0, "", "")


class Tables:
    """The kernel's tables of PNET IDs and UEIDs, as net/smc/smc_pnet.c and smc_clc.c keep them; replaces netlink.

    hardware: names to which the hardware gives a PNET ID. refuse: {command of the family 1: errno}. asked: the names of
    the families that were looked up; changes: (family, command) in order. last_is_eagain: s390 without any UEID.
    """

    families = {"SMC_PNETID": 1, "SMC_GEN_NETLINK": 2}

    def __init__(self, monkeypatch, netlink):
        self.netlink = netlink
        self.entries = []
        self.eids = []
        self.hardware = set()
        self.refuse = {}
        self.asked, self.changes = [], []
        self.last_is_eagain = True
        self.no_ueids = False
        monkeypatch.setattr(netlink, "family", self._family)
        monkeypatch.setattr(netlink, "dump_generic", self._dump)
        monkeypatch.setattr(netlink, "change", self._change)

    def add(self, pnet_id, ethernet="n/a", ib="n/a", port=255):
        self.entries.append((pnet_id, ethernet, ib, port))

    def _family(self, name):
        self.asked.append(name)
        return self.families[name]

    def _dump(self, family, command):
        if family == 1:
            assert command == 1
            return [
                self.netlink.attributes(text(1, a) + text(2, b) + text(3, c) + number(4, d, "B"))
                for a, b, c, d in self.entries
            ]
        assert command == 9
        if self.no_ueids:
            raise OSError(errno.EOPNOTSUPP, "Operation not supported")
        return [self.netlink.attributes(attribute(1, eid.encode().ljust(32) + b"\0")) for eid in self.eids]

    def _change(self, family, command, payload):
        self.changes.append((family, command))
        code = self.refuse.get(command) if family == 1 else None
        code = code or (self._pnet if family == 1 else self._ueid)(command, self.netlink.attributes(payload))
        if code:
            raise OSError(code, os.strerror(code))

    def _pnet(self, command, values):
        name = self.netlink.text(values[1])
        if command == 3:
            kept = [entry for entry in self.entries if entry[0] != name]
            gone, self.entries = len(kept) < len(self.entries), kept
            return 0 if gone else errno.ENOENT
        assert command == 2 and len({2, 3} & set(values)) == 1
        place = 2 if 2 in values else 3
        other = self.netlink.text(values[place])
        if other in self.hardware or other in [entry[place - 1] for entry in self.entries]:
            return errno.EEXIST
        if place == 2:
            self.add(name.upper(), ethernet=other)
        else:
            self.add(name.upper(), ib=other, port=self.netlink.number(values[4]))
        return 0

    def _ueid(self, command, values):
        assert len(values[1]) == 33 and values[1][32:] == b"\0"
        name = values[1][:32].decode().rstrip()
        if command == 10:
            if len(self.eids) == 4 or name in self.eids:
                return errno.EEXIST if name in self.eids else errno.ERANGE
            self.eids.append(name)
            return 0
        assert command == 11
        if name not in self.eids:
            return errno.ENOENT
        self.eids.remove(name)
        return errno.EAGAIN if self.last_is_eagain and not self.eids else 0
