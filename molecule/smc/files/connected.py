# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""connected.py ADDRESS PORT: open an SMC socket connected to ADDRESS, or listening on 0.0.0.0, until it is killed."""

import signal
import socket
import sys

AF_SMC = 43


def main():
    address, port = sys.argv[1], int(sys.argv[2])
    # Python does not support addresses of AF_SMC; the kernel accepts those of IPv4
    raw = socket.socket(AF_SMC, socket.SOCK_STREAM)
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=raw.detach())
    if address == "0.0.0.0":
        sock.bind((address, port))
        sock.listen()
        kept = []
        while True:
            kept.append(sock.accept()[0])
    sock.connect((address, port))
    signal.pause()


main()
