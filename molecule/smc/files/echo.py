# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""echo.py PORT: a server that echoes its input. It accepts SMC connections and ordinary TCP connections."""

import socketserver
import sys
from socket import AF_INET, SOCK_STREAM, socket

AF_SMC = 43


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        for data in iter(lambda: self.request.recv(1000), b""):
            self.request.sendall(data)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port):
        super().__init__(("0.0.0.0", port), Echo, bind_and_activate=False)
        self.socket.close()
        # Python does not support addresses of AF_SMC; the kernel accepts those of IPv4
        self.socket = socket(AF_INET, SOCK_STREAM, 0, fileno=socket(AF_SMC, SOCK_STREAM).detach())
        self.server_bind()
        self.server_activate()


Server(int(sys.argv[1])).serve_forever()
