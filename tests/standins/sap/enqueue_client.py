# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the stand-ins enqt and enq_admin share: the way to the enqueue server stand-in of a profile.

It is where enque/serverhost says, at port 32<instance number>, or at standin/enqueue_port, which only these know.
ENQ_STANDIN_ORDERS in the environment names a file with what should go wrong in a test, {"hang": true} for one.
"""

import json
import os
import socket
import sys

import sap_kernel


def orders():
    try:
        with open(os.environ.get("ENQ_STANDIN_ORDERS", "")) as stream:
            return json.load(stream)
    except FileNotFoundError:
        return {}


def address(parameters):
    """(host, port) of the server of a profile."""
    port = parameters.get("standin/enqueue_port") or "32" + parameters.get("SAPSYSTEM")
    return parameters.get("enque/serverhost") or "127.0.0.1", int(port)


class Server:
    """One connection."""

    def __init__(self, profile):
        if profile is None or not os.path.exists(profile):
            sys.exit("enqueue stand-in: the profile %s cannot be read" % profile)
        try:
            self._sock = socket.create_connection(address(sap_kernel.Parameters.read(profile)), 5)
        except OSError as error:
            sys.exit("*** ERROR => connection to enqueue server failed: %s" % error)
        self._sock.settimeout(None)
        self._stream = self._sock.makefile("rb")

    def ask(self, operation, **details):
        self._sock.sendall(json.dumps(dict(details, op=operation)).encode() + b"\n")
        return json.loads(self._stream.readline().decode())
