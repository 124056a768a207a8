# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of SMC in the kernel: the PNET IDs of interfaces and devices, and the user-defined EIDs (UEIDs).

Kernel: include/uapi/linux/smc.h, net/smc/smc_pnet.c, net/smc/smc_clc.c. Both tables are lost with the module smc and at
a reboot, so main() is also a program that sets entries at boot. This file imports only netlink.py.
"""

import errno
import os
import sys
import time

from .._host import netlink

INTERFACE, DEVICE = "interface", "device"
MOST_UEIDS = 4
_PNET, _GET, _ADD, _DELETE = "SMC_PNETID", 1, 2, 3
_ID, _ETHERNET, _IB, _PORT = 1, 2, 3, 4
_UNUSED, _NO_PORT = "n/a", 255
_GENERAL, _DUMP_UEID, _ADD_UEID, _REMOVE_UEID = "SMC_GEN_NETLINK", 9, 10, 11
_EID, _EID_BYTES = 1, 32
# systemd leaves settings that begin with X- alone
ENTRY = "X-SMC="
# seconds after the boot until which main() waits for the interface or device
_READY_S = 180


def _family(name):
    """The number of a family. Ask only if the kernel has SMC: the question loads modules."""
    number = netlink.family(name)
    if number is None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
    return number


def pnet_ids():
    """{(kind, name): (PNET ID, port)} of the kernel's table; port: of a device, 0 of an interface. Raises OSError.

    An interface or device has at most one entry: the kernel compares only their names, not the ports.
    """
    found = {}
    for answer in netlink.dump_generic(_family(_PNET), _GET):
        pnet_id = netlink.text(answer.get(_ID, b""))
        for kind, place in ((INTERFACE, _ETHERNET), (DEVICE, _IB)):
            name = netlink.text(answer.get(place, b""))
            if name and name != _UNUSED:
                port = netlink.number(answer[_PORT]) if kind == DEVICE and _PORT in answer else 0
                found[kind, name] = (pnet_id, 0 if port == _NO_PORT else port)
    return found


def set_pnet_id(kind, name, wanted):
    """Give an interface or device a PNET ID: wanted is (PNET ID, port), or None for none. Raises OSError."""
    table = pnet_ids()
    now = table.get((kind, name))
    if now == wanted:
        return
    if now is not None:
        _delete(table, kind, name)
    if wanted is not None:
        try:
            _add(kind, name, wanted)
        except OSError:
            if now is not None:
                _add(kind, name, now)
            raise


def _delete(table, kind, name):
    """Remove one entry. The kernel removes all entries of its PNET ID, so the others are added again."""
    pnet_id = table[kind, name][0]
    netlink.change(_family(_PNET), _DELETE, _string(_ID, pnet_id))
    refused = None
    for (other_kind, other), entry in sorted(table.items()):
        if entry[0] == pnet_id and (other_kind, other) != (kind, name):
            try:
                _add(other_kind, other, entry)
            except OSError as error:
                refused = error
    if refused is not None:
        raise refused


def _add(kind, name, entry):
    # one request per interface or device: of two halves the kernel may add only one, and says nothing
    payload = _string(_ID, entry[0]) + _string(_ETHERNET if kind == INTERFACE else _IB, name)
    if kind == DEVICE:
        payload += netlink.attribute(_PORT, bytes([entry[1] or 1]))
    netlink.change(_family(_PNET), _ADD, payload)


def _string(kind, text):
    return netlink.attribute(kind, text.encode("ascii") + b"\0")


def ueids():
    """The UEIDs, in the kernel's order. Raises OSError; EOPNOTSUPP if the kernel is too old for them."""
    answers = netlink.dump_generic(_family(_GENERAL), _DUMP_UEID)
    return [netlink.text(answer[_EID]) for answer in answers if _EID in answer]


def set_ueid(text, present):
    """Add a UEID, or remove it. Raises OSError."""
    if (text in ueids()) == present:
        return
    entry = netlink.attribute(_EID, text.encode("ascii").ljust(_EID_BYTES) + b"\0")
    try:
        netlink.change(_family(_GENERAL), _ADD_UEID if present else _REMOVE_UEID, entry)
    except OSError as error:
        # without the last UEID, s390 switches its system EID on, and answers EAGAIN
        if present or error.errno != errno.EAGAIN or text in ueids():
            raise


def place(kind, name):
    """The path that exists if an interface or device does, a PCI device with its driver."""
    if kind == INTERFACE:
        return "/sys/class/net/" + name
    return "/sys/bus/pci/devices/%s/driver" % name if ":" in name else "/sys/class/infiniband/" + name


def main(path):
    """Set the entries of a unit, its lines with ENTRY. Returns one sentence for each that is refused."""
    errors = []
    with open(path, encoding="ascii", errors="replace") as unit:
        entries = [line[len(ENTRY) :].split() for line in unit if line.startswith(ENTRY)]
    for words in entries:
        try:
            _set(words)
        except OSError as error:
            errors.append("%s: %s" % (" ".join(words), error.strerror or error))
        except (ValueError, IndexError):
            errors.append("%s: this is not an entry" % " ".join(words))
    return errors


def _set(words):
    """Set one entry: ["ueid", UEID] or [kind, name, PNET ID, port]."""
    if words[0] == "ueid":
        set_ueid(words[1], True)
        return
    kind, name, pnet_id, port = words
    # the kernel uses the current name of an interface, so udev must have renamed it already
    while not os.path.exists(place(kind, name)) and time.monotonic() < _READY_S:
        time.sleep(0.5)
    set_pnet_id(kind, name, (pnet_id, int(port)))


def program():
    """The main program of the archive, with the path of the unit."""
    raise SystemExit("\n".join(main(sys.argv[1])) or 0)
