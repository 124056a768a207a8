# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The row SMC of verify: every TCP connection to a peer beside the SMC socket that owns it, or none."""

import errno
import socket
import struct

import pytest
import smckernel
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import namespaces, netlink
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import checks, smc_checks
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.reading import ReadingHost
from kernel import KernelHost

PEER, OTHER = "192.0.2.2", "192.0.2.3"
NO_SMC = "0x03010000 (the peer does not support SMC)"
HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


def digits(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    data = socket.inet_pton(family, address)
    return "".join("%08X" % word for word in struct.unpack("=%dI" % (len(data) // 4), data))


def line(peer, own_port, peer_port=3200, state="01", own="192.0.2.1"):
    ends = (digits(own), own_port, digits(peer), peer_port, state)
    return "   0: %s:%04X %s:%04X %s 00000000:00000000 00:00000000 00000000  0  0 4711 1\n" % ends


@pytest.fixture
def check(tmp_path, monkeypatch):
    """A function from TCP connections, SMC sockets and peers to the record SMC, or None."""
    monkeypatch.setattr(smc_checks, "_addresses", lambda peer: {"sapdb1": {PEER}}.get(peer, {peer}))

    host = KernelHost(tmp_path)

    def record(tcp="", sockets=(), peers=(PEER,), system="Linux", tcp6="", loaded=True, error=None, generic=None):
        host.fill("/proc/net/tcp", HEADER + tcp)
        host.fill("/proc/net/tcp6", HEADER + tcp6)
        if loaded:
            host.fill("/proc/net/protocols", smckernel.PROTOCOLS)
        smckernel.Answers(monkeypatch, netlink, sockets, generic=generic, error=error)
        found = checks.records(ReadingHost(str(tmp_path)), system, None, None, list(peers))
        assert [entry["subject"] for entry in found][:1] == ["SMT"] and len(found) <= 2
        return found[1] if len(found) == 2 else None

    return record


def smc(mode, own_port, peer=PEER, why=(0, 0), peer_port=3200, **more):
    return smckernel.smc_socket(mode, "192.0.2.1", peer, (own_port, peer_port), why=why, **more)


ONE, TWO = line(PEER, 40001), line(PEER, 40002)
FAST_OPEN = "0x03060000 (a socket option that SMC does not know was set (TCP fast open))"


@pytest.mark.parametrize(
    "tcp, sockets, verdict, running",
    [
        (ONE + TWO, [smc("SMCR", 40001), smc("SMCR", 40002)], "compliant", "2 SMCR"),
        (
            ONE + TWO,
            [smc("SMCR", 40001), smc("TCP", 40002, why=(0x03010000, 0))],
            "drifted",
            "1 SMCR, 1 TCP instead of SMC, " + NO_SMC,
        ),
        # a fallback that left the socket in its first state is not a plain connection
        (ONE, [smc("TCP", 40001, why=(0x03060000, 0), state="INIT")], "drifted", "1 TCP instead of SMC, " + FAST_OPEN),
        (ONE + TWO, [], "drifted", "2 TCP, not opened as SMC"),
        # a connection of the same ports to another host is another one
        (ONE, [smc("SMCR", 40001, OTHER)], "drifted", "1 TCP, not opened as SMC"),
        # a socket of the protocol IPPROTO_SMC has no addresses in the kernel's answer
        (ONE + TWO, [smc("SMCD", 40001, "0.0.0.0"), smc("SMCD", 40002)], "compliant", "2 SMCD"),
        # a plain connection beside SMC is a remark
        (ONE + line(PEER, 51000, 22), [smc("SMCR", 40001)], "compliant", "1 SMCR, 1 TCP, not opened as SMC"),
        # without an open connection nothing can be told
        (line(PEER, 40001, state="02") + line(OTHER, 40002), [], "not_applicable", "no connection"),
        (line(PEER, 40001, state="06"), [], "not_applicable", "no connection"),
    ],
)
def test_how_the_connections_to_a_peer_are(check, tcp, sockets, verdict, running):
    found = check(tcp, sockets)
    assert (found["verdict"], found["restart"], found["undo"]) == (verdict, "none", None)
    assert found["before"]["running"] == {PEER: running} and found["wanted"] == {"smc_peers": [PEER]}
    plain = verdict == "compliant" and "TCP" in running
    assert found["remarks"] == (["%s: %s" % (PEER, running)] if plain else [])
    if verdict == "drifted":
        assert "%s: %s" % (PEER, running) in found["reason"]
        assert ("smc_run" in found["reason"]) is running.endswith("not opened as SMC")
    if verdict == "not_applicable":
        assert "no connection to 192.0.2.2 is open" in found["reason"]


def test_one_peer_of_two_is_enough_to_be_wrong(check):
    found = check(line(PEER, 40001) + line(OTHER, 40002), [smc("SMCR", 40001)], (PEER, OTHER))
    assert found["verdict"] == "drifted"
    assert OTHER in found["reason"] and "192.0.2.2" not in found["reason"]


@pytest.mark.parametrize("told", ["::ffff:192.0.2.2", "192.0.2.2"])
def test_an_ipv4_address_within_ipv6_is_the_same_peer(check, told):
    tcp6 = line("::ffff:192.0.2.2", 40001, own="::ffff:192.0.2.1")
    assert check(tcp6=tcp6, sockets=[smc("SMCR", 40001, told)])["verdict"] == "compliant"


def test_a_peer_of_ipv6_by_its_name(check, monkeypatch):
    monkeypatch.setattr(smc_checks, "_addresses", lambda peer: {"2001:db8::2"})
    sockets = [smckernel.smc_socket("SMCD", "2001:db8::1", "2001:db8::2", (40001, 3200))]
    found = check(tcp6=line("2001:db8::2", 40001, own="2001:db8::1"), sockets=sockets, peers=["sapdb1"])
    assert (found["verdict"], found["before"]["running"]) == ("compliant", {"sapdb1": "1 SMCD"})


def test_devices_and_counters_are_remarks(check, monkeypatch):
    generic = {
        5: [{5: smckernel.ism_device()}],
        6: [{6: smckernel.roce_device(interface=1)}, {6: smckernel.roce_device(pnet_id="", active=0)}],
        7: [{7: smckernel.counters(client_v1=3, server_v1=1, server_v2=2)}],
        8: [{8: smckernel.fallback(0x03010000, 6, 4, 2, "client")}],
    }
    found = check(line(PEER, 40001), [smc("SMCR", 40001)], generic=generic)
    assert found["verdict"] == "compliant"
    assert found["remarks"] == [
        "SMCD device 0009:00:00.0, PNET id NET25",
        "SMCR device mlx5_0 port 1 of %s, active, PNET id SAPNET" % socket.if_indextoname(1),
        "SMCR device mlx5_0 port 1, not active, no PNET id",
        "SMC-R in this network namespace, since the module smc was loaded: 4 connections of version 1, 2 of version 2",
        "fallbacks to TCP in this network namespace, since the module smc was loaded: 6; reasons: 6 " + NO_SMC,
    ]


def test_the_counters_of_other_network_namespaces_are_remarks(check, monkeypatch, tmp_path):
    for pid, namespace in (("self", 1), ("3", 1), ("20", 2), ("21", 2), ("100", 3)):
        (tmp_path / "proc" / pid / "ns").mkdir(parents=True)
        (tmp_path / "proc" / pid / "ns/net").symlink_to("net:[%d]" % namespace)
    entered = []

    def inside(path, ask):
        entered.append(path)
        if path == "/proc/100/ns/net":
            raise PermissionError(errno.EPERM, "Operation not permitted")
        return ask()

    monkeypatch.setattr(namespaces, "inside", inside)
    generic = {7: [{7: smckernel.counters(server_v2=2)}], 8: [{8: smckernel.fallback(0x03010000, 6, 4, 2, "client")}]}
    found = check(line(PEER, 40001), [smc("SMCR", 40001)], generic=generic)
    assert entered == ["/proc/20/ns/net", "/proc/100/ns/net"]
    assert found["remarks"][2:] == [
        "SMC-R in the network namespace of process 20: 0 connections of version 1, 2 of version 2",
        "fallbacks to TCP in the network namespace of process 20: 6; reasons: 6 " + NO_SMC,
    ]


@pytest.mark.parametrize(
    "loopback, devices, remark",
    [
        (None, [], "the kernel has no device for SMC-R or SMC-D"),
        (0, [], "the kernel has no device for SMC-R or SMC-D"),
        # as kernel 6.12 with CONFIG_SMC_LO answers, which does not list it
        (1, [], "SMCD device loopback, for connections inside this host only"),
        (1, [{5: smckernel.ism_device()}], "SMCD device 0009:00:00.0, PNET id NET25"),
    ],
)
def test_a_kernel_without_devices_says_so_and_names_loopback(check, loopback, devices, remark):
    generic = {5: devices, 6: []}
    if loopback is not None:
        generic[1] = [{1: smckernel.number(3, loopback, "B")}]
    assert check(line(PEER, 40001), [], generic=generic)["remarks"] == [remark]


def test_smc_that_is_not_loaded_is_used_by_nobody(check):
    found = check(line(PEER, 40001), loaded=False)
    assert found["verdict"] == "drifted" and "has not loaded its module smc" in found["reason"]


def test_a_name_that_nobody_knows(check, monkeypatch):
    def unknown(*_arguments):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.undo()
    monkeypatch.setattr(smc_checks.socket, "getaddrinfo", unknown)
    found = check(peers=["nowhere"])
    assert found["verdict"] == "failed" and found["reason"] == "smc_peers: nowhere cannot be resolved"


def test_a_peer_behind_a_router_is_a_remark(check, monkeypatch):
    def router_to(_host, address):
        return "192.0.2.254" if address == PEER else None

    monkeypatch.setattr(smc_checks, "router_to", router_to)
    found = check(line(PEER, 40001), [smc("SMCR", 40001)], peers=["sapdb1", OTHER])
    assert found["remarks"] == [
        "sapdb1 is reached over the router 192.0.2.254: version 1 of SMC needs a common subnet, version 2 does not"
    ]


def test_what_aix_and_a_kernel_that_refuses_say(check):
    found = check(system="AIX")
    assert found["verdict"] == "not_applicable" and "smc_r" in found["reason"]
    found = check(error=OSError(errno.ENOENT, "No such file or directory"))
    assert (found["verdict"], found["reason"]) == ("failed", "smc_peers: No such file or directory")


def test_without_peers_the_row_tells_of_all_sockets(check):
    sockets = [smc("SMCR", 40001), smc("TCP", 40002, OTHER, why=(0x03010000, 0)), smc("SMCR", 1, state="LISTEN")]
    found = check(sockets=sockets, peers=())
    assert (found["verdict"], found["wanted"]) == ("compliant", {})
    assert found["before"]["running"] == {"SMC sockets": 2, "that use SMC": 1}
    assert found["remarks"] == ["192.0.2.2: 1 SMCR", "192.0.2.3: 1 TCP instead of SMC, " + NO_SMC]
    sockets = [smc("SMCR", 40001, "192.0.2.%d" % number) for number in range(1, 26)]
    assert check(sockets=sockets, peers=())["remarks"][20:] == ["and 5 more peers"]


@pytest.mark.parametrize("system, loaded", [("Linux", False), ("AIX", True)])
def test_where_nothing_is_asked_and_there_is_no_smc_there_is_no_row(check, system, loaded):
    assert check(peers=(), system=system, loaded=loaded) is None
