# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which interface and router lead to an address.

The kernel is asked, as ip route get does (rtnetlink(7)), so that rules for addresses and other tables count.
"""

import ipaddress
import platform
import socket
import struct

from .._host import netlink

_GET_ROUTE = 26
# rtmsg: family, bits of destination and source, and what an answer fills in
_MESSAGE = struct.Struct("=BBB5xI")
_DESTINATION, _SOURCE, _INTERFACE, _GATEWAY = 1, 2, 4, 5


def _route(peer, local=None):
    """{attribute: bytes} of the route to an address, from an address of this machine; empty without one."""
    family, bits = (socket.AF_INET6, 128) if peer.version == 6 else (socket.AF_INET, 32)
    payload = _MESSAGE.pack(family, bits, bits if local else 0, 0) + netlink.attribute(_DESTINATION, peer.packed)
    if local:
        payload += netlink.attribute(_SOURCE, local.packed)
    try:
        (answer,) = netlink.question(netlink.ROUTE, _GET_ROUTE, payload)
    except (OSError, ValueError):
        return {}
    return netlink.attributes(answer[_MESSAGE.size :])


def router_to(host, address):
    """The router by which an IPv4 address is reached; None if it is in the subnet of an interface, or unknown."""
    try:
        peer = ipaddress.IPv4Address(address)
    except ValueError:
        return None
    gateway = _route(peer).get(_GATEWAY) if host.root == "/" else None
    return socket.inet_ntop(socket.AF_INET, gateway) if gateway else None


def route_interface(local, peer):
    """The interface by which local (this end's address on a connection) reaches peer; None if unknown. Linux only."""
    try:
        own, other = (ipaddress.ip_address(text.split("%")[0]) for text in (local, peer))
    except ValueError:
        return None
    if platform.system() != "Linux" or own.version != other.version:
        return None
    index = _route(other, own).get(_INTERFACE)
    try:
        return socket.if_indextoname(netlink.number(index)) if index else None
    except OSError:
        return None


def plain_address(text):
    """An address without zone; of an IPv4 address mapped into IPv6, the IPv4 address."""
    try:
        address = ipaddress.ip_address(text.split("%")[0])
    except ValueError:
        return text
    return str(getattr(address, "ipv4_mapped", None) or address)
