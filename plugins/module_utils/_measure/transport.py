# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sockets for messages: plain TCP, or AF_SMC of Linux, and the transport that a connection got."""

import socket
import struct
from collections import Counter

from .._machine import smc_sockets
from .errors import MeasureError

TCP, SMC = "tcp", "smc"


def new_socket(transport, family):
    """A new stream socket for addresses of this family; MeasureError if this kernel has no SMC sockets."""
    if transport == TCP:
        return socket.socket(family, socket.SOCK_STREAM)
    try:
        return smc_sockets.stream(family)
    except OSError as error:
        raise MeasureError(
            "transport smc needs SMC sockets (AF_SMC), which this kernel does not provide: %s. Linux has them in its "
            "module smc; on AIX SMC-R lies below plain TCP sockets, so that transport is tcp there" % error.strerror
        ) from error


def connect(transport, address, port, timeout):
    """A connected socket with this time limit; errors are those of socket."""
    if transport == TCP:
        return socket.create_connection((address, port), timeout)
    problem = None
    for family, _kind, _protocol, _name, where in socket.getaddrinfo(address, port, type=socket.SOCK_STREAM):
        sock = new_socket(transport, family)
        try:
            # The handshake of SMC is part of connect(), which older kernels do not do in the background.
            keep_time(sock, timeout)
            sock.connect(where)
            sock.settimeout(timeout)
            return sock
        except OSError as error:
            sock.close()
            problem = error
    raise problem


def keep_time(sock, timeout):
    """Let the kernel keep the time limit (whole seconds) of a blocking socket.

    Python's own socket timeouts would put a poll() before every send and receive.
    """
    sock.settimeout(None)
    limit = struct.pack("ll", max(1, int(timeout + 0.999)), 0)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)


def link_of(transport, sock):
    """The transport of a connection: {mode: SMCR, SMCD or TCP, fallback: why TCP}; None for plain TCP sockets.

    mode is None if the kernel does not show it.
    """
    if transport == TCP:
        return None
    found = smc_sockets.of_socket(sock)
    return {"mode": found.mode, "fallback": smc_sockets.fallback(found)} if found else {"mode": None, "fallback": None}


def counted(links):
    """[{mode, fallback, connections}] of the links of several connections; None for plain TCP sockets."""
    found = Counter((link["mode"], link["fallback"]) for link in links if link is not None)
    order = sorted(found, key=lambda key: (-found[key], str(key)))
    return [{"mode": key[0], "fallback": key[1], "connections": found[key]} for key in order] or None
