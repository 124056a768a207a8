# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU time and network counters: from /proc, and on AIX from the layouts of lparstat and vmstat."""

import os
import signal
import socket
import time

import aixlike
import captured
import pytest
import smckernel
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.descriptors import close_others
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError, Result
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import routes as routes_of
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import fingerprint, processes
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.cpu import counters, meter
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.cpu.aix_cpu import (
    Reports,
    Totals,
    count_processors,
)
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.server import agent
from measuring import STANDIN, free_port, listens, round_of, server
from waiting import until

SHARED = aixlike.SHARED + (aixlike.SHARED_REPORT,)
DEDICATED = aixlike.DEDICATED + (aixlike.DEDICATED_REPORT,)
VMSTAT_SHARED = aixlike.VMSTAT_SHARED + (aixlike.VMSTAT_SHARED_REPORT,)
DONATING = (
    "System configuration: type=Dedicated mode=Donating smt=4 lcpu=8 mem=4096MB",
    "%user  %sys  %wait  %idle physc  vcsw",
    "----- ----- ------ ------ ----- -----",
    "  5.0  20.0    1.0   74.0  0.00 56065",
)
NEWER = (
    "System configuration: type=Shared mode=Uncapped smt=8 lcpu=16 mem=24576MB psize=5 ent=0.30",
    "%user  %sys  %wait  %idle physc %entc  lbusy   app  vcsw phint  %nsp  %utcyc",
    "----- ----- ------ ------ ----- ----- ------ ----- ----- ----- -----  ------",
    " 37.4  30.4    4.0   28.2  0.96 320.0   22.0  3.21 14315232399 16476954189   101   1.04",
)
OLD = (
    "System configuration: type=Dedicated mode=Capped smt=On lcpu=4 mem=4096",
    "%user  %sys  %wait  %idle",
    "----- ----- ------ ------",
    "  5.0  20.0    1.0   74.0",
)
OLD_WITHOUT_SMT = [line.replace("smt=On", "smt=Off") for line in OLD]
VMSTAT_DEDICATED = (
    "System configuration: lcpu=8 mem=4096MB",
    "kthr    memory              page              faults        cpu",
    "----- ----------- ------------------------ ------------ -----------",
    " r  b   avm   fre  re  pi  po  fr   sr  cy  in   sy  cs us sy id wa",
    " 0  0 1816828356361 0   0   0   0    0   0   5  271  73  5 20 74  1",
)
WITHOUT_ENTITLEMENT = [line.replace("ent=0.50", "") for line in SHARED]


def read(lines, processors=None):
    reports = Reports(processors)
    return [rates for rates in (reports.feed(line) for line in lines) if rates]


@pytest.mark.parametrize(
    "lines, processors, expected",
    [
        # below its entitlement, a shared partition has shares of the entitlement, beyond it of what it consumes
        (SHARED, None, (0.1, 0.3, 0.1, 0.45, 0.5, 2)),
        (NEWER, None, (0.374 * 0.96, 0.304 * 0.96, 0.322 * 0.96, 0.96, 0.3, 2)),
        # a dedicated one has shares of its processors
        (DEDICATED, None, (0.1, 0.4, 1.5, None, None, 2)),
        (DONATING, None, (0.1, 0.4, 1.5, None, None, 2)),
        # where the threads are not told, the processors are
        (OLD, 2, (0.1, 0.4, 1.5, None, None, 2)),
        (OLD_WITHOUT_SMT, 2, (0.2, 0.8, 3, None, None, 4)),
        (VMSTAT_SHARED, 2, (0.1, 0.3, 0.1, 0.45, 0.5, 2)),
        (VMSTAT_DEDICATED, 2, (0.1, 0.4, 1.5, None, None, 2)),
    ],
)
def test_reports_of_lparstat_and_vmstat(lines, processors, expected):
    (rates,) = read(lines, processors)
    assert rates[:3] == pytest.approx(expected[:3]) and rates[3:] == expected[3:]


def test_a_change_of_the_configuration_counts_from_its_line_on():
    more = aixlike.SHARED[0].replace("ent=0.50", "ent=1.50").replace("lcpu=8", "lcpu=9")
    first, second = read(SHARED + ("System configuration changed.", more) + SHARED[1:])
    assert (first.entitlement, first.ncpu, second.entitlement, second.ncpu) == (0.5, 2, 1.5, 3)
    assert second.system == pytest.approx(0.9)


@pytest.mark.parametrize("lines", [OLD, VMSTAT_DEDICATED, WITHOUT_ENTITLEMENT])
def test_what_the_shares_are_of_is_unknown(lines):
    assert read(lines) == []


@pytest.mark.parametrize(
    "line",
    [
        "",
        "lparstat: 0551-200 something went wrong",
        " 20.0  60.0    1.0   19.0  0.45  90.0",
        " 20.0  60.0    1.0    9.0  0.45  90.0   21.0  8152    17",
        " 20.0  60.0    1.0   19.0     -  90.0   21.0  8152    17",
    ],
)
def test_what_is_not_a_report_is_ignored(line):
    assert read(aixlike.SHARED + (line,)) == []
    assert read((line,)) == []


def test_totals_weigh_reports_that_came_together_alike():
    low, high = read(SHARED + (aixlike.SHARED_REPORT.replace("20.0  60.0", "40.0  40.0"),))
    totals = Totals("a")
    totals.add([low, high], 4.0)
    found = totals.snapshot()
    assert (found["user_s"], found["system_s"], found["idle_s"]) == pytest.approx((0.6, 1.0, 0.4))
    assert found["physc_s"] == pytest.approx(1.8) and (found["softirq_s"], found["steal_s"]) == (None, None)
    assert count_processors(aixlike.LSDEV_PROCESSORS) == 2 and count_processors("") is None


@pytest.fixture
def aix(monkeypatch, tmp_path):
    """A folder for the tools of a machine that looks like AIX, where lparstat reports on a shared partition."""
    aixlike.pretend(monkeypatch, tmp_path)
    aixlike.tool(tmp_path, "lparstat", aixlike.SHARED, aixlike.SHARED_REPORT)
    return tmp_path


def window(own, seconds):
    before = counters.snapshot(meter=own)
    time.sleep(seconds)
    return counters.cpu_between(before, counters.snapshot(meter=own))


def test_a_window_of_the_meter_is_whole_intervals(aix):
    with meter.own() as own, meter.own() as other:
        found = window(own, 0.25)
        assert counters.cpu_between(counters.snapshot(meter=own), counters.snapshot(meter=other)) is None
    assert found["elapsed_s"] >= 0.25
    assert found["user_s"] == pytest.approx(0.1 * found["elapsed_s"], abs=1e-3)
    assert found["system_s"] == pytest.approx(0.3 * found["elapsed_s"], abs=1e-3)
    assert (found["softirq_s"], found["steal_s"], found["ncpu"]) == (None, None, 2)
    assert found["physc"] == pytest.approx(0.45, abs=1e-3) and found["entitlement"] == 0.5
    until(lambda: aixlike.running(aix, "lparstat") == 0, "lparstat has ended")


def test_vmstat_takes_the_place_of_an_lparstat_that_only_complains(aix):
    aixlike.script(aix, "lparstat", "#!/bin/sh\nsleep 0.2\necho 'lparstat: not here' >&2\nexit 1\n")
    aixlike.tool(aix, "vmstat", aixlike.VMSTAT_SHARED, aixlike.VMSTAT_SHARED_REPORT)
    with meter.own() as own:
        found = window(own, 0)
    assert found["system_s"] == pytest.approx(0.3 * found["elapsed_s"], abs=1e-3) and found["ncpu"] == 2


def test_a_report_about_the_time_since_the_start_of_the_system_does_not_count(aix):
    since = " 99.0   0.0    0.0    1.0  9.00  90.0   21.0  8152    17"
    aixlike.tool(aix, "lparstat", aixlike.SHARED + (since,), aixlike.SHARED_REPORT)
    with meter.own() as own:
        first = own.sample()
    assert first["physc_s"] < 1


def test_a_dedicated_partition_has_no_consumption_of_its_own(aix, monkeypatch):
    # without a pseudo terminal, a pipe does
    monkeypatch.delattr(os, "openpty")
    aixlike.tool(aix, "lparstat", aixlike.DEDICATED, aixlike.DEDICATED_REPORT)
    with meter.own() as own:
        found = window(own, 0)
    assert (found["physc"], found["entitlement"], found["ncpu"]) == (None, None, 2)


@pytest.mark.parametrize("last", [False, True])
def test_without_a_running_tool_the_cpu_time_is_unknown_and_not_zero(aix, monkeypatch, last):
    monkeypatch.setattr(meter, "TOOLS", ("lparstat",) if last else ("nosuchtool",))
    with meter.own() as own:
        before = counters.snapshot(meter=own)
        if last:
            aixlike.end(aix, "lparstat")
            until(lambda: aixlike.running(aix, "lparstat") == 0, "lparstat has ended")
        after = counters.snapshot(meter=own)
        assert (before["cpu"] is not None) == last
        # nor the counters of whatever machine runs this test
        assert after["cpu"] is None and counters.cpu_between(before, after) is None


def test_a_silent_tool_is_abandoned(aix, monkeypatch):
    monkeypatch.setattr(meter, "SAMPLE_TIMEOUT", 0.3)
    aixlike.script(aix, "lparstat", "#!/bin/sh\nexec sleep 600\n")
    with meter.own() as own:
        # As the clients of a run do while its first sample is taken, this one has the socket, too.
        pid = os.fork()
        if pid == 0:
            signal.pause()
        assert own.sample() is None and own.sample() is None
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@pytest.mark.gate
def test_the_tool_ends_when_the_one_who_asks_is_killed(aix):
    pid = os.fork()
    if pid == 0:
        try:
            meter.start().sample()
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL
    assert (aix / "lparstat.pids").exists()
    until(lambda: aixlike.running(aix, "lparstat") == 0, "lparstat has ended")


@pytest.mark.parametrize("tool, binary", [("pingpong", None), ("niping", STANDIN)])
def test_a_round_on_a_machine_without_proc(aix, monkeypatch, tool, binary):
    with monkeypatch.context() as patches:
        aixlike.without_proc(patches)
        with server(tool, port=free_port(), binary=binary) as session:
            assert session["start_time"].startswith("epoch ")
            records = round_of(session, binary, bytes=[1000], control=True, idle_seconds=0.1, runs=1, warmup=0)
            assert agent.stop(session) and not agent.is_running(session)
        assert not listens(session["port"])
    measured, control = records
    for end in ("client", "server"):
        run, prints = measured["runs"][0], measured["fingerprint"][end]
        for found in (run["cpu"][end], measured["idle"][end]):
            assert found["system_s"] == pytest.approx(0.3 * found["elapsed_s"], abs=1e-3)
            assert found["physc"] == pytest.approx(0.45, abs=1e-3) and found["entitlement"] == 0.5
        assert run["net"][end] == {"retransmits": None, "rps_received": None}
        assert (prints["interface"], prints["mtu"], prints["boot_id"], prints["smc_r"]) == (None, None, None, "off")
        assert abs(prints["clock_step_s"]) < 1
    assert run["ok"] and run["metrics"]["av2_us"] > 0
    assert control["runs"][0]["cpu"]["client"]["system_s"] > 0 and control["runs"][0]["cpu"]["server"] is None
    until(lambda: aixlike.running(aix, "lparstat") == 0, "lparstat has ended")


def test_descriptors_are_closed_where_nothing_lists_them(monkeypatch):
    kept, other = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            aixlike.without_proc(monkeypatch)
            close_others({kept})
            os.fstat(kept)
            try:
                os.fstat(other)
            except OSError:
                os._exit(7)
        finally:
            os._exit(1)
    assert os.WEXITSTATUS(os.waitpid(pid, 0)[1]) == 7
    os.close(kept)
    os.close(other)


def test_a_process_that_nobody_waited_for_has_ended_also_for_ps():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    until(lambda: processes.start_time(pid) is None, "the process has ended")
    assert processes.start_time(pid, "/nowhere") is None
    os.waitpid(pid, 0)
    assert processes.start_time(os.getpid(), "/nowhere").startswith("epoch ")


class Devices(Host):
    """An AIX with devices: what lsdev -C prints, and {attribute: value} in force."""

    def __init__(self, listing, values):
        super().__init__()
        self.listing, self.values = listing, values

    def run(self, argv, timeout=30, user=None, env=None):
        if argv == ["lsdev", "-C"]:
            if self.listing is None:
                raise HostError("lsdev did not answer within 60 s")
            return Result(0, self.listing, "")
        assert argv[:2] == ["lsattr", "-Pl"] and argv[5:] == ["-F", "value"]
        if argv[4] not in self.values:
            return Result(255, "", "lsattr: 0514-528 no such attribute\n")
        return Result(0, self.values[argv[4]] + "\n", "")


ANY = {"enabled": "1", "ip_addr_list": "any", "port_range": "any"}


@pytest.mark.parametrize(
    "listing, values, expected",
    [
        ("smcr0 Available  SMC-R\nen0 Available 00-00 Network\n", ANY, "on"),
        ("smcr1 Available  SMC-R\n", ANY, "on"),
        ("smcr0 Available  SMC-R\n", dict(ANY, enabled="0"), "off"),
        ("smcr0 Available  SMC-R\n", dict(ANY, ip_addr_list=""), "off"),
        ("smcr0 Available  SMC-R\n", dict(ANY, port_range=""), "off"),
        ("smcr0 Defined    SMC-R\n", ANY, "off"),
        ("en0 Available 00-00 Network\n", ANY, "off"),
        ("smcr0 Available  SMC-R\n", {"enabled": "1"}, None),
        (None, ANY, None),
    ],
)
def test_whether_smc_r_is_on(listing, values, expected):
    assert fingerprint.smc_r(Devices(listing, values)) == expected


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


def test_the_time_of_a_process_includes_all_its_descendants(tmp_path):
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
