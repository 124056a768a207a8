# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the connections to other hosts use SMC now: each TCP connection is compared with the SMC socket that owns it.

An SMC socket keeps the TCP connection over which its ends agreed, so /proc/net/tcp lists all connections.
"""

import ipaddress
import socket
import struct
from collections import Counter

from .._engine.records import observed
from . import smc_facts, smc_sockets
from .routes import plain_address, router_to

SOURCES = ("Linux kernel, net/smc", "RFC 7609 (SMC-R version 1)", "smc-tools: smcss, smc_run")
MOST_PEERS = 20


def check(host, system, there, peers):
    """The record of the connections to peers (names or addresses); without peers, of all SMC sockets of the kernel.

    there: whether the kernel has SMC.
    """
    found = _at_peers(host, system, there, peers) if peers else _everything()
    if there:
        found["remarks"] += smc_facts.sentences(smc_facts.kernel_facts()) + smc_facts.sentences_elsewhere(host)
    found["remarks"] += _router_sentences(host, peers or []) if system == "Linux" else []
    return found


def _router_sentences(host, peers):
    """One sentence per peer in another subnet; an unknown name has none, and its own error elsewhere."""
    found = []
    for peer in peers:
        try:
            routers = {router_to(host, address) for address in _addresses(peer)} - {None}
        except OSError:
            continue
        found += [
            "%s is reached over the router %s: version 1 of SMC needs a common subnet, version 2 does not"
            % (peer, router)
            for router in sorted(routers)
        ]
    return found


def _at_peers(host, system, there, peers):
    wanted = {"smc_peers": list(peers)}
    if system != "Linux":
        reason = "only Linux has SMC sockets; on AIX see the device: tuning smc_r"
        return _result(wanted, None, "not_applicable", reason)
    if not there:
        reason = "nothing uses SMC: the kernel has not loaded its module smc, which it loads for the first SMC socket"
        return _result(wanted, None, "drifted", reason)
    try:
        addresses = {peer: _addresses(peer) for peer in peers}
        counts = _counts(addresses, connections(host), smc_sockets.sockets())
    except OSError as error:
        return _result(wanted, None, "failed", "smc_peers: %s" % (error.strerror or error))
    return _judged(wanted, counts)


def _result(wanted, running, verdict, reason, remarks=()):
    more = {"remarks": list(remarks), "sources": list(SOURCES)}
    return observed("platform", "SMC", wanted, verdict, reason, running, **more)


def _everything():
    try:
        sockets = [found for found in smc_sockets.sockets() if found.mode]
    except OSError as error:
        return _result({}, None, "unsupported", "the kernel does not list its SMC sockets: %s" % error.strerror)
    by_peer = {}
    for found in sockets:
        by_peer.setdefault(plain_address(found.peer), Counter())[smc_sockets.mode_text(found)] += 1
    words = ["%s: %s" % (peer, smc_sockets.counts_text(by_peer[peer])) for peer in sorted(by_peer)]
    more = ["and %d more peers" % (len(words) - MOST_PEERS)] if len(words) > MOST_PEERS else []
    used = sum(found.mode != "TCP" for found in sockets)
    running = {"SMC sockets": len(sockets), "that use SMC": used}
    reason = "%d of %d SMC sockets use SMC; set smc_peers to the hosts to which they should" % (used, len(sockets))
    return _result({}, running, "compliant", reason, words[:MOST_PEERS] + more)


def _judged(wanted, counts):
    """The record for {peer: {mode: number of connections}}."""
    running = {peer: smc_sockets.counts_text(ways) or "no connection" for peer, ways in counts.items()}
    wrong, plain, silent = [], [], []
    for peer, ways in counts.items():
        used, beside = ways["SMCR"] + ways["SMCD"], ways[smc_sockets.PLAIN]
        if sum(ways.values()) > used + beside or (beside and not used):
            wrong.append("%s: %s" % (peer, running[peer]))
        elif beside:
            plain.append("%s: %s" % (peer, running[peer]))
        elif not used:
            silent.append(peer)
    if wrong:
        reason = "connections do not use SMC: %s" % "; ".join(wrong)
        if any(smc_sockets.PLAIN in sentence for sentence in wrong):
            reason += "; a program opens SMC sockets if it is started with smc_run"
        return _result(wanted, running, "drifted", reason, plain)
    if silent:
        reason = "no connection to %s is open, so the use of SMC is unknown: check again while the application works"
        return _result(wanted, running, "not_applicable", reason % ", ".join(silent), plain)
    return _result(wanted, running, "compliant", "connections to every peer use SMC", plain)


def _addresses(name):
    """The addresses of a host by its name. Raises OSError."""
    try:
        found = socket.getaddrinfo(name, None, 0, socket.SOCK_STREAM)
    except (UnicodeError, socket.gaierror) as error:
        raise OSError("%s cannot be resolved" % name) from error
    return {plain_address(entry[4][0]) for entry in found}


def connections(host):
    """[(own port, peer's address, peer's port)] of the established TCP connections."""
    ends = [fields[1].split(":") + fields[2].split(":") for fields in smc_sockets.established(host)]
    return [(int(own_port, 16), _address(peer), int(port, 16)) for _own, own_port, peer, port in ends]


def _address(digits):
    """An address of /proc/net/tcp: words of 32 bits, each as a number in the machine's own byte order."""
    words = [int(digits[place : place + 8], 16) for place in range(0, len(digits), 8)]
    return plain_address(str(ipaddress.ip_address(struct.pack("=%dI" % len(words), *words))))


def _counts(addresses, established, sockets):
    owners = {(found.local_port, plain_address(found.peer), found.peer_port): found for found in sockets}
    counts = {peer: Counter() for peer in addresses}
    for connection in established:
        own_port, _peer, port = connection
        # net/smc/smc_diag.c has only the ports of the sockets that socket(AF_INET, SOCK_STREAM, IPPROTO_SMC) opens
        owner = owners.get(connection) or owners.get((own_port, "0.0.0.0", port))
        for peer in addresses:
            if connection[1] in addresses[peer]:
                counts[peer][smc_sockets.mode_text(owner) if owner and owner.mode else smc_sockets.PLAIN] += 1
    return counts
