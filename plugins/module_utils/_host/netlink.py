# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests to the Linux kernel over netlink, with the answers as bytes: dumps, look-ups, and acknowledged changes."""

import errno
import os
import socket
import struct

ROUTE, SOCK_DIAG, GENERIC = 0, 4, 16
_REQUEST, _ACKNOWLEDGED, _DUMP = 0x1, 0x4, 0x300
_ERROR, _DONE = 2, 3
# length, type, flags, sequence, port
_HEADER = struct.Struct("=IHHII")
_CODE = struct.Struct("=i")
# command, version
_GENERIC = struct.Struct("=BBxx")
_ATTRIBUTE = struct.Struct("=HH")
_KIND = 0x3FFF  # without the flags "nested" and "network byte order"
_CONTROLLER, _GET_FAMILY, _FAMILY_ID, _FAMILY_NAME = 16, 3, 1, 2
_NUMBERS = {1: "=B", 2: "=H", 4: "=I", 8: "=Q"}
_SECONDS = 5


def dump(protocol, kind, payload):
    """The messages of the kernel's answer to a dump, without headers. Raises OSError if the kernel refuses."""
    return _ask(protocol, kind, payload, _REQUEST | _DUMP)


def question(protocol, kind, payload):
    """The messages of the kernel's answer to a single question. Raises OSError if the kernel refuses."""
    return _ask(protocol, kind, payload, _REQUEST)


def dump_generic(family, command):
    """The messages of a dump of generic netlink, each as {attribute: bytes}."""
    return [attributes(body[_GENERIC.size :]) for body in dump(GENERIC, family, _GENERIC.pack(command, 1))]


def change(family, command, payload):
    """One change over generic netlink, done on return. payload: its attributes. Raises OSError if it is refused."""
    _ask(GENERIC, family, _GENERIC.pack(command, 1) + payload, _REQUEST | _ACKNOWLEDGED)


def family(name):
    """The number of a family of generic netlink; None if the kernel has no such family now.

    The kernel may load a module for the name, as it does for smc-tools.
    """
    wanted = attribute(_FAMILY_NAME, name.encode("ascii") + b"\0")
    try:
        bodies = question(GENERIC, _CONTROLLER, _GENERIC.pack(_GET_FAMILY, 1) + wanted)
    except FileNotFoundError:
        return None
    return number(attributes(bodies[0][_GENERIC.size :] if bodies else b"").get(_FAMILY_ID, b""))


def attribute(kind, data):
    """One attribute with its header, padded."""
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(data), kind) + data + b"\0" * (-len(data) % 4)


def attributes(data):
    """{kind: value as bytes} of a chain of attributes; of two attributes of one kind, the last one."""
    found, data = {}, memoryview(data)
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        if not _ATTRIBUTE.size <= length <= len(data):
            break
        found[kind & _KIND] = bytes(data[_ATTRIBUTE.size : length])
        data = data[(length + 3) & ~3 :]
    return found


def number(data):
    """The unsigned number in 1, 2, 4 or 8 bytes in the machine's own byte order. Raises OSError for other lengths."""
    if len(data) not in _NUMBERS:
        raise OSError(errno.EBADMSG, "the kernel's answer has a number of %d bytes" % len(data))
    return struct.unpack(_NUMBERS[len(data)], data)[0]


def text(data):
    return data.split(b"\0")[0].decode("utf-8", "replace").strip()


def _ask(protocol, kind, payload, flags):
    found = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol) as link:
        link.settimeout(_SECONDS)
        link.send(_HEADER.pack(_HEADER.size + len(payload), kind, flags, 1, 0) + payload)
        while True:
            bodies, done = messages(link.recv(1 << 16))
            found += bodies
            if done or not flags & _DUMP:
                return found


def messages(data):
    """([message without header], whether the answer is complete) of received data. Raises OSError for a refusal.

    An error with the code 0 is the acknowledgement of a change.
    """
    found, data = [], memoryview(data)
    while len(data) >= _HEADER.size:
        length, kind = _HEADER.unpack_from(data)[:2]
        if not _HEADER.size <= length <= len(data):
            raise OSError("the kernel's answer is cut off")
        body = bytes(data[_HEADER.size : length])
        if kind == _ERROR and len(body) < _CODE.size:
            raise OSError("the kernel's answer is cut off")
        if kind == _ERROR:
            code = -_CODE.unpack_from(body)[0]
            if not code:
                return found, True
            raise OSError(code, os.strerror(code))
        if kind == _DONE:
            return found, True
        found.append(body)
        data = data[(length + 3) & ~3 :]
    return found, False
