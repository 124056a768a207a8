# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options pnet_ids and ueids of the tuning smc, and PNET IDs as text.

Kernel: net/smc/smc_pnet.c (SMC_MAX_PNETID_LEN, names), net/smc/smc_clc.c (smc_clc_ueid_add()).
"""

import re

from ..._engine.tuning import InputError
from ..._machine.smc_tables import DEVICE, INTERFACE, MOST_UEIDS

OPTIONS = dict(
    pnet_ids=dict(
        type="list",
        elements="dict",
        default=[],
        options=dict(
            name=dict(type="str", required=True),
            interface=dict(type="str"),
            device=dict(type="str"),
            pci=dict(type="str"),
            port=dict(type="int", choices=[1, 2]),
        ),
    ),
    ueids=dict(type="list", elements="str", default=[]),
)
_NAME = re.compile(r"^[A-Z0-9]{1,16}\Z")
_INTERFACE = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.@-]{0,14}\Z")
_DEVICE = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}\Z")
_PCI = re.compile(r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
_UEID = re.compile(r"^[A-Z0-9](?:[A-Z0-9-]|\.(?!\.)){0,31}\Z")


def parse_pnet_ids(entries):
    """{(kind, name): (PNET ID, port)} of the option pnet_ids. Raises InputError."""
    found = {}
    for entry in entries:
        # the kernel turns names into upper case, but only those that are added
        pnet_id = entry["name"].strip().upper()
        if not _NAME.match(pnet_id):
            raise InputError("pnet_ids: '%s' is not a PNET ID; use up to 16 letters and digits" % entry["name"])
        named = [(option, entry[option]) for option in ("interface", "device", "pci") if entry.get(option)]
        if len(named) != 1:
            raise InputError("pnet_ids: %s: give one of interface, device and pci" % pnet_id)
        option, name = named[0]
        name = name.lower() if option == "pci" else name
        valid = {
            "interface": (_INTERFACE, "a name such as enc1000"),
            "device": (_DEVICE, "the name of an RDMA device such as mlx5_0"),
            "pci": (_PCI, "a PCI address such as 0001:00:00.0"),
        }
        if not valid[option][0].match(name):
            raise InputError("pnet_ids: %s: %s is '%s'; give %s" % (pnet_id, option, name, valid[option][1]))
        if entry.get("port") and option != "device":
            raise InputError("pnet_ids: %s: only a device has a port" % pnet_id)
        kind = INTERFACE if option == "interface" else DEVICE
        if (kind, name) in found:
            said = "pnet_ids: %s %s is named twice; the kernel keeps one PNET ID and port for it"
            raise InputError(said % (option, name))
        found[kind, name] = (pnet_id, 0 if kind == INTERFACE else entry.get("port") or 1)
    return found


def parse_ueids(texts):
    """The UEIDs of the option ueids. Raises InputError."""
    for text in texts:
        if not _UEID.match(text):
            raise InputError(
                "ueids: '%s' is not a UEID; use up to 32 of A-Z, 0-9, . and -, the first one a letter or digit, and no "
                "two dots in a row" % text
            )
    found = list(dict.fromkeys(texts))
    if len(found) > MOST_UEIDS:
        raise InputError("ueids: %d are too many; the kernel keeps %d" % (len(found), MOST_UEIDS))
    return found


def entry_text(entry):
    """SAPNET, or SAPNET port 2; None without an entry."""
    if entry is None:
        return None
    return entry[0] if entry[1] < 2 else "%s port %d" % entry


def parse_entry(kind, text):
    """The (PNET ID, port) of entry_text()."""
    if text is None:
        return None
    words = text.split()
    return words[0], int(words[2]) if len(words) == 3 else int(kind == DEVICE)
