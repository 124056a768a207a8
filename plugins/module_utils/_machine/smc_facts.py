# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SMC-R and SMC-D of a Linux host: devices, modes of sockets, and counters, as smc-tools show them.

Asks the kernel as smcss, smcd and smcr do (include/uapi/linux/smc.h), so smc-tools need not be installed.
"""

import socket
from collections import Counter

from .._host import namespaces, netlink
from . import smc_sockets

_FAMILY = "SMC_GEN_NETLINK"
# command and attribute of each question
_DEVICES = {"SMCD": (5, 5), "SMCR": (6, 6)}
_SYSTEM, _STATS, _FALLBACKS, _UEIDS = (1, 1), (7, 7), (8, 8), (9, 1)
# SMC_NLA_SYS_IS_ISM_V2
_ISM_V2 = 3
# SMC_NLA_DEV_*, one or two ports in each
_USE_COUNT, _PCI_ID, _PORTS, _IB_NAME = 1, 7, (8, 9), 10
# SMC_NLA_DEV_PORT_*
_PNET_BY_USER, _PNET_ID, _INTERFACE, _STATE, _VALID, _LINKS = 1, 2, 3, 4, 5, 6
# SMC_NLA_STATS_*, and of one kind of SMC
_KINDS, _ERRORS = {"SMCD": 1, "SMCR": 2}, (3, 4)
_COUNTERS = {"client_v1": 7, "client_v2": 8, "server_v1": 9, "server_v2": 10, "bytes_received": 16, "bytes_sent": 17}
# SMC_NLA_FBACK_STATS_*
_END, _SERVER_COUNT, _CLIENT_COUNT, _REASON, _REASON_COUNT = 1, 2, 3, 4, 5
# the name of the entry of SMC-D's loopback device
LOOPBACK = "loopback"


def smc():
    """The fact smc of this machine, whose kernel has SMC: {devices, ueids, sockets, stats}.

    A part that the kernel does not report is None: devices came with kernel 5.11, counters later.
    """
    return dict(kernel_facts(), sockets=_answer_or(None, lambda: grouped(smc_sockets.sockets())))


def kernel_facts():
    """{devices, ueids, stats} of this machine, whose kernel has SMC."""
    return dict(dict.fromkeys(("devices", "ueids", "stats")), **_answer_or({}, _generic))


def sentences(found):
    """kernel_facts() for a person: one sentence per device, and one per kind of SMC that was ever used."""
    devices = found["devices"]
    said = ["the kernel has no device for SMC-R or SMC-D"] if devices == [] else []
    said += [_device_words(device) for device in devices or ()]
    return said + _counted(found["stats"] or {}, "this network namespace, since the module smc was loaded")


def sentences_elsewhere(host):
    """The counters of the other network namespaces for a person; none for a user who may not enter them."""
    said = []
    for pid, path in namespaces.others(host):
        found = _answer_or({}, lambda path=path: namespaces.inside(path, _generic)).get("stats") or {}
        said += _counted(found, "the network namespace of process %d" % pid)
    return said


def _counted(counted, where):
    said = []
    for kind, name in (("SMCR", "SMC-R"), ("SMCD", "SMC-D")):
        numbers = counted.get(kind) or {}
        versions = [_sum(numbers.get(end + version) for end in ("client_", "server_")) for version in ("v1", "v2")]
        if any(versions):
            words = (name, where, versions[0], versions[1])
            said.append("%s in %s: %s connections of version 1, %s of version 2" % words)
    if counted.get("fallbacks"):
        known = [(entry["count"], entry["reason"]) for entry in counted["fallback_reasons"]]
        reasons = [reason if count is None else "%d %s" % (count, reason) for count, reason in known]
        words = (where, counted["fallbacks"], ", ".join(reasons))
        said.append("fallbacks to TCP in %s: %d; reasons: %s" % words)
    return said


def _device_words(device):
    """SMCR device mlx5_0 port 1 of eno1, active, PNET id SAPNET"""
    words = "%s device %s" % (device["type"], device["name"] or device["pci_id"])
    if device["name"] == LOOPBACK:
        return words + ", for connections inside this host only"
    words += " port %d" % device["port"] if device["port"] else ""
    words += " of %s" % device["interface"] if device["interface"] else ""
    state = {True: ", active", False: ", not active", None: ""}[device["active"]]
    return words + state + (", PNET id %s" % device["pnet_id"] if device["pnet_id"] else ", no PNET id")


def _answer_or(default, question):
    try:
        return question()
    except OSError:
        return default


def _generic():
    number = netlink.family(_FAMILY)
    if number is None:
        return {}

    def ask(command, attribute):
        answers = netlink.dump_generic(number, command)
        return [answer[attribute] for answer in answers if attribute in answer]

    return {
        "devices": _answer_or(None, lambda: _all_devices(ask)),
        "ueids": _answer_or(None, lambda: [netlink.text(entry) for entry in ask(*_UEIDS)]),
        "stats": _answer_or(None, lambda: stats(ask(*_STATS), ask(*_FALLBACKS))),
    }


def _all_devices(ask):
    """The devices of both kinds. The kernel leaves its loopback device for SMC-D out of its list (net/smc/smc_ism.c).

    If it supports ISM version 2 and lists no ISM device, it has loopback; or an ISM device that has been removed.
    """
    found = sum((devices(kind, ask(*_DEVICES[kind])) for kind in _DEVICES), [])
    able = any(_number(netlink.attributes(answer), _ISM_V2) for answer in _answer_or([], lambda: ask(*_SYSTEM)))
    if able and not any(device["type"] == "SMCD" for device in found):
        found.append(_device("SMCD", {_IB_NAME: LOOPBACK.encode()}, {}, 1))
    return found


def devices(kind, answers):
    """[{type, name, port, ...}] of the nested attributes of SMC-D or SMC-R devices, one for each port."""
    found = []
    for answer in answers:
        device = netlink.attributes(answer)
        for place, kept in enumerate(_PORTS, 1):
            port = netlink.attributes(device.get(kept, b""))
            if _number(port, _VALID) if kind == "SMCR" else place == 1:
                found.append(_device(kind, device, port, place))
    return found


def _device(kind, device, port, place):
    name = netlink.text(device.get(_IB_NAME, b""))
    return {
        "type": kind,
        "name": name or None,
        "pci_id": netlink.text(device.get(_PCI_ID, b"")) or None,
        "port": place if kind == "SMCR" else None,
        "interface": _interface(_number(port, _INTERFACE)),
        "active": bool(_number(port, _STATE)) if kind == "SMCR" else None,
        "pnet_id": netlink.text(port.get(_PNET_ID, b"")) or None,
        "pnet_id_by_user": bool(_number(port, _PNET_BY_USER)),
        "in_use": _number(port, _LINKS) if kind == "SMCR" else _number(device, _USE_COUNT),
    }


def _interface(index):
    try:
        return socket.if_indextoname(index) if index else None
    except OSError:
        return None


def _number(attributes, kind):
    return netlink.number(attributes[kind]) if kind in attributes else None


def stats(answers, fallbacks):
    """{SMCD, SMCR: counters, handshake_errors, fallbacks, fallback_reasons} of this network namespace."""
    counters = netlink.attributes(answers[0]) if answers else {}
    found = {}
    for kind, kept in _KINDS.items():
        values = netlink.attributes(counters.get(kept, b""))
        found[kind] = {name: _number(values, number) for name, number in _COUNTERS.items()}
    found["handshake_errors"] = _sum(_number(counters, kept) for kept in _ERRORS)
    reasons = [netlink.attributes(answer) for answer in fallbacks]
    found["fallbacks"] = _sum(_number(reasons[0], kept) for kept in (_SERVER_COUNT, _CLIENT_COUNT)) if reasons else 0
    found["fallback_reasons"] = [
        {
            "end": "server" if _number(reason, _END) else "client",
            "reason": smc_sockets.reason_text(_number(reason, _REASON)),
            "count": _number(reason, _REASON_COUNT),
        }
        for reason in reasons
        if _number(reason, _REASON)
    ]
    return found


def _sum(numbers):
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def grouped(sockets):
    """[{peer, mode, fallback, count}] of the SMC sockets that have a connection, sorted."""
    connected = [found for found in sockets if found.mode is not None]
    counts = Counter((found.peer, found.mode, smc_sockets.fallback(found) or "") for found in connected)
    return [
        {"peer": peer, "mode": mode, "fallback": fallback or None, "count": counts[peer, mode, fallback]}
        for peer, mode, fallback in sorted(counts)
    ]
