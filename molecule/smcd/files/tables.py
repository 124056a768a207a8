# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""tables.py: print as JSON what the kernel reports about SMC-D in this network namespace (include/uapi/linux/smc.h)."""

import json

import netlink

SYSTEM, LINK_GROUPS, STATS, FALLBACKS, DEVICES, SYSTEM_EID = 1, 4, 7, 8, 5, 13
V2_VERSION, V2_EID = 0, 3


def asked(command):
    """Return the answers to a command, each as {attribute: bytes}."""
    answers = netlink.dump_generic(netlink.family("SMC_GEN_NETLINK"), command)
    return [answer if command == SYSTEM_EID else netlink.attributes(*answer.values()) for answer in answers]


def number(answer, *kinds):
    return [netlink.number(answer[kind]) for kind in kinds]


def link_group(answer):
    gid, peer_gid, connections, chid, dmb = number(answer, 2, 3, 5, 7, 13)
    v2 = netlink.attributes(answer[9])
    version = netlink.number(v2[V2_VERSION])
    eid = netlink.text(v2[V2_EID])
    same = gid == peer_gid
    return {"same_gid": same, "connections": connections, "chid": chid, "dmb": dmb, "version": version, "eid": eid}


(system,) = asked(SYSTEM)
(seid,) = asked(SYSTEM_EID)
(stats,) = asked(STATS)
fallbacks = [number(answer, 1, 4, 5) for answer in asked(FALLBACKS) if 4 in answer]
smcd = netlink.attributes(stats[1])
print(
    json.dumps(
        {
            "ism_v2": number(system, 3)[0],
            "devices": len(asked(DEVICES)),
            "seid": [netlink.text(seid[1]), *number(seid, 2)],
            "groups": [link_group(answer) for answer in asked(LINK_GROUPS)],
            "client_v2": number(smcd, 8)[0],
            "server_v2": number(smcd, 10)[0],
            "fallbacks": [["server" if end else "client", hex(reason), count] for end, reason, count in fallbacks],
        }
    )
)
