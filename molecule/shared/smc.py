# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab of two s390x guests in QEMU with a cable between them that carries RoCE, played by the kernel (rdma_rxe).

    smc up          start them unless they run
    smc down        remove them if they exist
    smc status      which of them answer
    smc inventory   the guests as an Ansible inventory (JSON): smc1 measures against smc2 over the cable
    smc login HOST  a shell in one, or one command: smc login smc1 uname -a

They are made from the image of `guest`. SMC-R is not enabled in them; plays and tests do that. Everything written in
them lasts until `smc down`.
"""

import functools
import os
import shutil

import guest
import lab
from emulated import main
from machine import write

CABLE = "enc3"  # udev's name for the device number in QEMU's options
PORT = 4791  # of the packets between the two QEMU processes, which are the cable
# A lost datagram is a lost packet: neither end has to wait for the other one to start.
CABLE_DEVICE = """
    -netdev dgram,id=cable,local.type=inet,local.host={address},local.port={port},{there}
    -device virtio-net-ccw,netdev=cable,devno=fe.0.0003,mac=02:7a:5c:00:00:{number:02x}
"""
THERE = "remote.type=inet,remote.host={peer},remote.port={port}"
NETWORK = """\
[Match]
Name={cable}
[Network]
Address={address}/24
IPv6AcceptRA=no
"""


class SmcLab(guest.GuestLab):
    """Two guests, each reached through a port of a lab host's address."""

    HOSTS = ["smc1", "smc2"]
    STARTED_BY = "make lab-smc"

    @staticmethod
    def on_the_cable(name):
        return f"10.99.0.{name[-1]}"

    def inventory(self):
        found = super().inventory()
        for name, variables in found["_meta"]["hostvars"].items():
            variables["measure_address"] = self.on_the_cable(name)
        return found

    def layer(self, name, address):
        """As for the other guests, but in a folder of its own, because all files beside it are copied to the guest."""
        folder = super().layer(name, address)
        text = NETWORK.format(cable=CABLE, address=self.on_the_cable(name))
        write(folder + "/etc/systemd/network/20-cable.network", text)
        write(folder + "/etc/hosts", f"127.0.0.1 localhost\n127.0.1.1 {name}\n")
        place = os.path.join(self.folder, "layers", name, guest.GuestLab.HOSTS[0])
        shutil.copytree(folder, place, dirs_exist_ok=True)
        return place

    def start(self, name, argv, **environment):
        """As for the other guests, with a cable between the two."""
        addresses = self.addresses({**self.running(), "hosts": len(self.HOSTS)})
        peer = next(address for host, address in addresses.items() if host != name)
        values = {"address": addresses[name], "port": PORT, "number": int(name[-1])}
        values["there"] = THERE.format(peer=peer, port=PORT)
        super().start(name, [*argv, *(word.format(**values) for word in CABLE_DEVICE.split())], **environment)


if __name__ == "__main__":
    lab.program(functools.partial(main, SmcLab, __doc__, "smc"))
