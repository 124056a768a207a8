# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SMC sockets of Linux (AF_SMC) and their modes, as smcss shows them; the kernel is asked directly.

Kernel: include/uapi/linux/smc_diag.h, net/smc/smc.h (states), net/smc/smc_clc.h (why a socket fell back to TCP).
"""

import errno
import os
import re
import socket
import struct
from collections import Counter, namedtuple

from .._host import netlink
from .._host.kernel import has_smc as kernel_has_smc

AF_SMC = 43
_PROTOCOLS = {socket.AF_INET: 0, socket.AF_INET6: 1}
_BY_FAMILY = 20
_FALLBACK = 5  # the attribute SMC_DIAG_FALLBACK
# smc_diag_req and smc_diag_msg begin with four bytes and an inet_diag_sockid, whose ports are in network byte order
_REQUEST = struct.Struct("=BHB48x")
_MESSAGE = struct.Struct("=BBBB2s2s16s16s12xIQ")
_REASON_CODES = struct.Struct("=II")

_MODES = {0: "SMCR", 1: "TCP", 2: "SMCD"}
# the states in which a socket has no connection, so that its mode means nothing
_INIT, _CLOSED, _LISTEN = 2, 7, 10

_REASONS = {
    0x01010000: "out of memory",
    0x02010000: "timeout while the link was confirmed over the RDMA device",
    0x02020000: "timeout while a link was added",
    0x03000000: "configuration error",
    0x03010000: "the peer does not support SMC",
    0x03020000: "the connection uses IPsec",
    0x03030000: "no SMC device found, neither for SMC-R nor for SMC-D",
    0x03030001: "no ISM device for SMC-D found",
    0x03030002: "no RDMA device for SMC-R found",
    0x03030003: "the hardware does not support ISM version 2",
    0x03030004: "the peer does not offer SMC version 2",
    0x03030005: "the peer does not offer SMC-D version 2",
    0x03030006: "the peer sent no system EID",
    0x03030007: "no device for SMC-D version 2 found",
    0x03030008: "the peer sent no user-defined EID (UEID)",
    0x03030009: "the ends do not agree on a release of SMC version 2",
    0x0303000A: "the ends do not agree on the number of connections",
    0x0303000B: "the ends do not agree on the number of links",
    0x03040000: "one end wants SMC-R, the other SMC-D",
    0x03050000: "the peer uses eye catchers in its buffers",
    0x03060000: "a socket option that SMC does not know was set (TCP fast open)",
    0x03070000: "the ends are in different IP subnets",
    0x03080000: "the VLAN of the IP interface is unknown",
    0x03090000: "the VLAN could not be registered with the ISM device",
    0x030A0000: "no active link in the link group",
    0x030B0000: "the server's link was not found",
    0x030C0000: "the ends speak different versions of SMC",
    0x030D0000: "the SMC-D device has no room for another connection",
    0x030E0000: "no route to the peer for SMC-R version 2",
    0x030F0000: "the ends differ in whether the peer is reached over a router",
    0x04000000: "synchronization error",
    0x05000000: "the peer declined",
    0x09990000: "internal error",
    0x09990001: "internal error: the token of a buffer could not be handled",
    0x09990002: "internal error: the RDMA link failed",
    0x09990003: "internal error: a buffer could not be registered",
}

_INODE = re.compile(r"socket:\[([0-9]{1,20})\]\Z")
# of a TCP connection that no SMC socket owns
PLAIN = "TCP, not opened as SMC"

# One AF_SMC socket. mode: SMCR, SMCD, TCP, or None without a connection. reason, peer_reason: the codes of this end and
# of the peer for a fallback to TCP; 0 without a fallback, None if the kernel does not report them.
SmcSocket = namedtuple("SmcSocket", "mode reason peer_reason local_port peer peer_port inode")


def reason_text(code):
    """0x03010000 (the peer does not support SMC); None without a code."""
    if not code:
        return None
    return "0x%08x (%s)" % (code, _REASONS.get(code, "unknown reason"))


def fallback(found):
    """Why a socket fell back to TCP, in words; None without a fallback or if unknown."""
    if found.mode != "TCP":
        return None
    own, other = reason_text(found.reason), reason_text(found.peer_reason)
    return "%s, the peer's reason: %s" % (own, other) if own and other else own or other


def mode_text(found):
    """SMCR, SMCD, or TCP with the reason why it fell back."""
    if found.mode != "TCP":
        return found.mode
    return "TCP instead of SMC, %s" % (fallback(found) or "unknown reason")


def counts_text(counts):
    """2 SMCR, 1 TCP instead of SMC, 0x03010000 (the peer does not support SMC)"""
    return ", ".join("%d %s" % (counts[way], way) for way in sorted(counts))


def parse(message):
    """The SmcSocket of one answer of the kernel: a smc_diag_msg and its attributes. OSError if it is cut off."""
    if len(message) < _MESSAGE.size:
        raise OSError(errno.EBADMSG, "the kernel's answer about an SMC socket is cut off")
    values = _MESSAGE.unpack_from(message)
    state, ports, addresses = values[1], values[4:6], values[6:8]
    # AF_SMC has no addresses of its own: an IPv4 address fills the first four bytes
    short = not any(address[4:].strip(b"\0") for address in addresses)
    family, size = (socket.AF_INET, 4) if short else (socket.AF_INET6, 16)
    peer = socket.inet_ntop(family, addresses[1][:size])
    numbers = [struct.unpack("!H", port)[0] for port in ports]
    # older kernels do not report them
    codes = netlink.attributes(message[_MESSAGE.size :]).get(_FALLBACK, b"")
    reason, peer_reason = _REASON_CODES.unpack_from(codes) if len(codes) >= _REASON_CODES.size else (None, None)
    # after a fallback by a socket option (TCP fast open), a connected socket stays in INIT
    connected = state not in (_INIT, _CLOSED, _LISTEN) or (state == _INIT and reason and numbers[1])
    mode = _MODES.get(values[2]) if connected else None
    return SmcSocket(mode, reason, peer_reason, numbers[0], peer, numbers[1], values[9])


def sockets():
    """All AF_SMC sockets of this network namespace. Raises OSError if the kernel cannot list them.

    The kernel loads its module smc_diag for the answer, and smc with it: ask only if smc is loaded already.
    """
    request = _REQUEST.pack(AF_SMC, 0, 1 << (_FALLBACK - 1))
    return [parse(message) for message in netlink.dump(netlink.SOCK_DIAG, _BY_FAMILY, request)]


def listed(host):
    """sockets() of a running machine whose kernel has SMC now; empty otherwise, and for a captured root."""
    return sockets() if host.root == "/" and kernel_has_smc(host) else []


def established(host):
    """The fields of each established TCP connection, as the kernel's net/ipv4/tcp_ipv4.c prints them."""
    for name in ("tcp", "tcp6"):
        for line in (host.read("/proc/net/" + name) or "").splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and fields[3] == "01":
                yield fields


def ways(host, pids):
    """{how: number of connections} of these processes: SMCR, SMCD, TCP with the reason of the fallback, or plain TCP.

    Their sockets are looked up in the kernel's lists by inode. The TCP socket inside an SMC socket has another inode
    (net/smc/smc_diag.c), so no connection counts twice. Raises HostError if this user may not see their sockets, and
    OSError if the kernel does not list its SMC sockets.
    """
    inodes, counts = set().union(*(_inodes(host, pid) for pid in pids)), Counter()
    for found in listed(host):
        if found.inode in inodes and found.mode is not None:
            counts[mode_text(found)] += 1
    for fields in established(host):
        if fields[9].isdigit() and int(fields[9]) in inodes:
            counts[PLAIN] += 1
    return counts


def _inodes(host, pid):
    """The inodes of the sockets of a process; empty if it has ended."""
    folder = "/proc/%d/fd" % pid
    links = [_INODE.match(host.target("%s/%s" % (folder, name)) or "") for name in host.listdir(folder)]
    return {int(link.group(1)) for link in links if link}


def stream(family):
    """A new AF_SMC socket as a Python socket of AF_INET or AF_INET6.

    Python does not support addresses of AF_SMC, and the kernel takes those of IP. Raises OSError (EAFNOSUPPORT) without
    SMC.
    """
    raw = socket.socket(AF_SMC, socket.SOCK_STREAM, _PROTOCOLS[family])
    return socket.socket(family, socket.SOCK_STREAM, 0, fileno=raw.detach())


def of_socket(sock):
    """The SmcSocket of an open AF_SMC socket of this process; None if the kernel does not list it."""
    inode = os.fstat(sock.fileno()).st_ino
    try:
        return next((found for found in sockets() if found.inode == inode), None)
    except OSError:
        return None
