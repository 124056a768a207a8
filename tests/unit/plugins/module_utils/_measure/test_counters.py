# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counters and fingerprint from captured texts, from this machine, and from one that has none of them."""

import os
import socket

import captured
import pytest
import smckernel
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import routes as routes_of
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import fingerprint
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.cpu import counters

STAT = "cpu  100 20 300 4000 50 6 7 8 0 0\ncpu0 50 10 150 2000 25 3 3 4 0 0\ncpu1 50 10 150 2000 25 3 4 4 0 0\nintr 1\n"
SNMP = (
    "Ip: Forwarding DefaultTTL\nIp: 1 64\n"
    "Tcp: RtoAlgorithm RtoMin ActiveOpens RetransSegs InErrs\nTcp: 1 200 -1 42 0\nUdp: InDatagrams\nUdp: 7\n"
)
LINE = "00001c70 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 %s 00000000\n"


def sample(**changes):
    values = {
        "mono_s": 10.0,
        "wall_s": 1000.0,
        "cpu": counters.parse_cpu(STAT, 100),
        "retransmits": 42,
        "received_rps": [5, 6],
    }
    values.update(changes)
    return values


def test_cpu_seconds_with_nice_irq_and_iowait():
    seconds = {"user_s": 1.2, "system_s": 3.0, "idle_s": 40.5, "softirq_s": 0.13, "steal_s": 0.08}
    assert counters.parse_cpu(STAT, 100) == dict(seconds, ncpu=2)
    for text in ("", "intr 1 2 3\n", "cpu  1 2 3\n", "cpu  a b c d e f g h\n"):
        assert counters.parse_cpu(text, 100) is None


def test_network_counters_by_name_and_column():
    found = [counters.parse_retransmits(text) for text in (SNMP, "Tcp: A B\nTcp: 1 2\n", "")]
    assert found == [42, None, None]
    texts = (LINE % "0000001f" + LINE % "00000001", "00001c70 00000000 00000000\n", "")
    assert [counters.parse_received_rps(text) for text in texts] == [[31, 1], None, None]


def test_differences():
    later = STAT.replace("cpu  100 20 300 4000", "cpu  150 20 330 4100")
    after = sample(mono_s=11.5, cpu=counters.parse_cpu(later, 100), retransmits=45, received_rps=[15, 6])
    used = counters.cpu_between(sample(), after)
    assert (used["user_s"], used["system_s"], used["idle_s"]) == (0.5, 0.3, 1.0)
    assert (used["softirq_s"], used["steal_s"], used["ncpu"], used["elapsed_s"]) == (0, 0, 2, 1.5)
    assert counters.net_between(sample(), after) == {"retransmits": 3, "rps_received": 10}
    # a counter that wraps or goes away
    before = sample(received_rps=[0xFFFFFFFE, 6])
    after = sample(received_rps=[3, 6], retransmits=1)
    assert counters.net_between(before, after) == {"retransmits": None, "rps_received": 5}
    assert counters.net_between(before, sample(received_rps=[3]))["rps_received"] is None
    assert counters.clock_step(sample(), sample(mono_s=12.0, wall_s=1002.0)) == 0
    assert counters.clock_step(sample(), sample(mono_s=12.0, wall_s=902.0)) == -100


def test_a_machine_without_proc_has_none_and_never_zero(tmp_path):
    before, after = (counters.snapshot(str(tmp_path)) for _turn in range(2))
    assert before["cpu"] is None and before["retransmits"] is None and before["received_rps"] is None
    assert counters.cpu_between(before, after) is None
    assert counters.net_between(before, after) == {"retransmits": None, "rps_received": None}
    prints = fingerprint.fingerprint("10.0.0.1", "10.0.0.2", str(tmp_path))
    assert prints["boot_id"] is None and prints["mtu"] is None and prints["rps_cpus"] is None
    assert prints["interface"] is None and prints["address"] == "10.0.0.1"
    assert prints["cpus_online"] >= 1 and prints["kernel"]


STATUS = "%d (a (b) c) S 1 2 3 4 5 6 7 8 9 10 %d %d %d %d 20 0 1 0 99 0\n"


def process(root, pid, ticks, children=(), threads=()):
    """A process below root with (user, system, and the same of the children it waited for)."""
    for thread in (pid,) + tuple(threads):
        place = root / "proc" / str(pid) / "task" / str(thread)
        place.mkdir(parents=True, exist_ok=True)
        own = children if thread == pid else ()
        (place / "children").write_text("".join("%d " % child for child in own))
    (root / "proc" / str(pid) / "stat").write_text(STATUS % ((pid,) + tuple(ticks)))


def test_the_time_of_a_process_is_that_of_all_that_descend_from_it(tmp_path):
    process(tmp_path, 10, (100, 50, 30, 20), children=(11, 12), threads=(13,))
    process(tmp_path, 11, (7, 0, 0, 0), children=(14,))
    process(tmp_path, 12, (0, 1, 0, 0))
    assert counters.process_seconds([10], str(tmp_path)) is None
    process(tmp_path, 14, (0, 2, 0, 0))
    process(tmp_path, 15, (1000, 0, 0, 0))
    (tmp_path / "proc" / "10" / "task" / "13" / "children").write_text("15")
    ticks = float(os.sysconf("SC_CLK_TCK"))
    assert counters.process_seconds([10], str(tmp_path)) == (200 + 7 + 1 + 2 + 1000) / ticks
    assert counters.process_seconds([12, 14], str(tmp_path)) == 3 / ticks
    # a kernel that lists no children
    (tmp_path / "proc" / "11" / "task" / "11" / "children").unlink()
    assert counters.process_seconds([10], str(tmp_path)) is None
    assert counters.process_seconds([99], str(tmp_path)) is None
    for text in ("", "7", "7 (x) S 1 2 3", (STATUS % (7, 1, 2, 3, 4)).replace(" 3 4 20", " x 4 20")):
        assert counters.parse_process(text, 100) is None


@pytest.mark.parametrize(
    "local, peer, family", [("10.1.0.7", "10.2.0.9", socket.AF_INET), ("fd00::7%eth1", "fd00::9%eth1", socket.AF_INET6)]
)
def test_the_kernel_is_asked_for_the_route(monkeypatch, local, peer, family):
    asked = []

    def question(protocol, kind, payload):
        asked.append((protocol, kind, payload[:3], payload[12:]))
        return [b"\0" * 12 + smckernel.number(4, socket.if_nametoindex("lo"), "I")]

    monkeypatch.setattr(routes_of.netlink, "question", question)
    assert routes_of.route_interface(local, peer) == "lo"
    own, other = (socket.inet_pton(family, end.split("%")[0]) for end in (local, peer))
    bits, attributes = 8 * len(own), smckernel.attribute(1, other) + smckernel.attribute(2, own)
    assert asked == [(0, 26, bytes((family, bits, bits)), attributes)]


@pytest.mark.parametrize("answer", [[], [b"\0" * 12], [b"\0" * 12 + smckernel.number(4, 0x7FFFFFFF, "I")]])
def test_a_route_without_an_interface_of_this_machine(monkeypatch, answer):
    monkeypatch.setattr(routes_of.netlink, "question", lambda *_arguments: answer)
    assert routes_of.route_interface("10.1.0.7", "10.2.0.9") is None


def test_loopback_is_an_interface_too(tmp_path):
    prints = fingerprint.fingerprint("127.0.0.1", "127.0.0.1")
    assert prints["interface"] == "lo" and prints["mtu"] > 1000
    assert fingerprint.fingerprint("::ffff:127.0.0.1", "127.0.0.1")["address"] == "127.0.0.1"
    assert routes_of.route_interface("no address", "127.0.0.1") is None
    assert routes_of.route_interface("127.0.0.1", "::1") is None
    queues = "/sys/class/net/lo/queues/"
    captured.grow(tmp_path, {queues + "rx-%d/rps_cpus" % number: "%x\n" % number for number in range(20)})
    captured.grow(tmp_path, {queues + "tx-0": {"folder": True}})
    masks = fingerprint.fingerprint("127.0.0.1", "127.0.0.1", str(tmp_path))["rps_cpus"]
    assert list(masks) == ["rx-%d" % number for number in range(16)] and masks["rx-11"] == "b"
