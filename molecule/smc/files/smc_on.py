# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""smc_on.py INTERFACE PNETID UEID: let SMC-R of this host use an interface, until the next boot.

It does what three commands of smc-tools would do, which Debian does not have: the kernel plays RoCE over the interface
(rdma_rxe), interface and RoCE device get one PNET id (smc_pnet), and the host an id that its peers know (smcr ueid).
"""

import os
import socket
import struct
import subprocess
import sys

NETLINK_GENERIC = 16
CONTROLLER, GET_FAMILY, FAMILY_ID, FAMILY_NAME = 16, 3, 1, 2
PNETID_ADD, PNETID_NAME, PNETID_INTERFACE, PNETID_DEVICE, PNETID_PORT = 2, 1, 2, 3, 4
UEID_ADD, UEID_ENTRY = 10, 1
DEVICE = "rxe0"


def attribute(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)


def text(value):
    return value.encode() + b"\0"


def request(family, command, *attributes):
    """Send one request of generic netlink; what came back beside the acknowledgement."""
    body = struct.pack("=BBH", command, 1, 0) + b"".join(attributes)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC) as link:
        link.send(struct.pack("=IHHII", 16 + len(body), family, 0x1 | 0x4, 1, 0) + body)
        answer = b""
        while True:
            data = link.recv(1 << 16)
            if struct.unpack_from("=H", data, 4)[0] == 2:
                error = -struct.unpack_from("=i", data, 16)[0]
                if error:
                    raise OSError(error, os.strerror(error))
                return answer
            answer += data


def family_of(name):
    data = request(CONTROLLER, GET_FAMILY, attribute(FAMILY_NAME, text(name)))[20:]
    while data:
        length, kind = struct.unpack_from("=HH", data)
        if kind == FAMILY_ID:
            return struct.unpack_from("=H", data, 4)[0]
        data = data[(length + 3) & ~3 :]
    raise OSError("no family " + name)


def main():
    interface, pnet_id, ueid = sys.argv[1:]
    subprocess.run(["modprobe", "--all", "rdma_rxe", "smc"], check=True)
    subprocess.run(["rdma", "link", "add", DEVICE, "type", "rxe", "netdev", interface], check=True)
    names = (attribute(PNETID_NAME, text(pnet_id)), attribute(PNETID_INTERFACE, text(interface)))
    devices = (attribute(PNETID_DEVICE, text(DEVICE)), attribute(PNETID_PORT, b"\1"))
    request(family_of("SMC_PNETID"), PNETID_ADD, *names, *devices)
    request(family_of("SMC_GEN_NETLINK"), UEID_ADD, attribute(UEID_ENTRY, text(ueid.ljust(32))))


main()
