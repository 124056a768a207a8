# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which interface leads to an address, by the kernel's routing tables and addresses."""

import array
import contextlib
import fcntl
import ipaddress
import os
import platform
import socket
import struct

from .reading import ReadingHost

_SIOCGIFCONF = 0x8912
_IFF_LOOPBACK, _IFF_NOARP = 0x8, 0x80
_RTF_UP, _RTF_REJECT = 0x1, 0x200


def parse_routes4(text):
    """/proc/net/route as a list of (network, metric, interface, router or None).

    Rejecting routes, inactive routes, and lines in other formats are left out.
    """
    routes = []
    for line in text.splitlines()[1:]:
        with contextlib.suppress(ValueError, IndexError, struct.error):
            fields = line.split()
            flags = int(fields[3], 16)
            if not flags & _RTF_UP or flags & _RTF_REJECT:
                continue
            # The kernel prints addresses as numbers in the machine's own byte order.
            address, mask, router = (
                ipaddress.IPv4Address(struct.pack("=I", int(fields[column], 16))) for column in (1, 7, 2)
            )
            network = ipaddress.IPv4Network("%s/%s" % (address, mask), strict=False)
            routes.append((network, int(fields[6]), fields[0], str(router) if int(router) else None))
    return routes


def parse_routes6(text):
    """/proc/net/ipv6_route as a list of (network, metric, interface), see parse_routes4()."""
    routes = []
    for line in text.splitlines():
        with contextlib.suppress(ValueError, IndexError):
            fields = line.split()
            if int(fields[8], 16) & _RTF_REJECT:
                continue
            # as text: Python 3.6 takes any number for a prefix
            address = ipaddress.IPv6Address(int(fields[0], 16))
            network = ipaddress.IPv6Network("%s/%d" % (address, int(fields[1], 16)), strict=False)
            routes.append((network, int(fields[5], 16), fields[9]))
    return routes


def best_route(routes, address, what=2):
    """The interface of the longest matching prefix, and of these of the smallest metric; None without a match.

    what: the place of another part of a route that is to be returned instead.
    """
    fitting = [route for route in routes if address in route[0]]
    return min(fitting, key=lambda route: (-route[0].prefixlen, route[1]))[what] if fitting else None


def router_to(host, address):
    """The router by which an IPv4 address is reached; None if it is in the subnet of an interface, or unknown."""
    try:
        wanted = ipaddress.IPv4Address(address)
    except ValueError:
        return None
    return best_route(parse_routes4(host.read("/proc/net/route") or ""), wanted, 3)


def _owners4():
    """{IPv4 address: interface} of this network namespace, secondary addresses too (ioctl SIOCGIFCONF)."""
    try:
        buffer = array.array("B", bytes(64 * 1024))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            request = struct.pack("iP", len(buffer), buffer.buffer_info()[0])
            length = struct.unpack("iP", fcntl.ioctl(sock.fileno(), _SIOCGIFCONF, request))[0]
    except OSError:
        return {}
    data, step = buffer.tobytes()[:length], 40 if struct.calcsize("P") == 8 else 32
    owners = {}
    for offset in range(0, len(data) - step + 1, step):
        # an address may have a label, "eth0:sap": the interface is the part before the colon
        name = data[offset : offset + 16].split(b"\0", 1)[0].decode("utf-8", "replace").split(":")[0]
        owners[socket.inet_ntoa(data[offset + 20 : offset + 24])] = name
    return owners


def route_interface(local, peer, root):
    """The interface by which local (this end's address on a connection) reaches peer; None if unknown. Linux only.

    It is the interface with the local address, because policy routes decide on that address. If the address is on a
    loopback or dummy interface, as a service address may be, the routing table decides.
    """
    try:
        own, other = (ipaddress.ip_address(text.split("%")[0]) for text in (local, peer))
    except ValueError:
        return None
    host = ReadingHost(root)
    if own == other or other.is_loopback:
        return "lo" if os.path.isdir(host.path("/sys/class/net/lo")) else None
    if other.version == 6:
        return best_route(parse_routes6(host.read("/proc/net/ipv6_route") or ""), other)
    by_route = best_route(parse_routes4(host.read("/proc/net/route") or ""), other)
    owner = _owners4().get(str(own)) if platform.system() == "Linux" and root == "/" else None
    if owner is None:
        return by_route
    flags = int(host.value("/sys/class/net/%s/flags" % owner) or "0", 16)
    return by_route or owner if flags & (_IFF_LOOPBACK | _IFF_NOARP) else owner


def plain_address(text):
    """An address without zone; of an IPv4 address mapped into IPv6, the IPv4 address."""
    try:
        address = ipaddress.ip_address(text.split("%")[0])
    except ValueError:
        return text
    return str(getattr(address, "ipv4_mapped", None) or address)
