# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""RPS on Linux on Z: qeth interfaces by card type, CPUs that come and go, cores and entitlement, flow steering."""

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import cpu_lists
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import services
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.cpu_polarization import CpuPolarization
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.rps import Rps
from entitled import CPU, VerticalLpar
from kernel import RPS_DEFAULTS, KernelHost
from runs import only, runner

QUEUE_OF = "/sys/class/net/%s/queues/rx-0/rps_cpus"
QUEUE = QUEUE_OF % "hsi0"
ENTRIES = "/proc/sys/net/core/rps_sock_flow_entries"

run = runner(Rps, **RPS_DEFAULTS)
polarize = runner(CpuPolarization, mode="vertical", wait_timeout=1)


@pytest.mark.parametrize(
    "interfaces, subjects",
    [
        (["auto"], ["enc1000", "enc2000", "enc3000", "enc4000"]),
        (["hipersockets"], ["enc1000", "enc3000"]),
        (["osa"], ["enc2000", "enc4000"]),
        (["hipersockets", "eth0"], ["enc1000", "enc3000", "eth0"]),
    ],
)
def test_qeth_interfaces_are_taken_by_card_type(tmp_path, interfaces, subjects):
    host = KernelHost(tmp_path)
    # names that say nothing, and cards that carry no data
    cards = {"enc1000": "HiperSockets", "enc2000": "OSD_10GIG", "enc3000": "Virt.NIC Hiper", "enc4000": "Virt.NIC QDIO"}
    for name, card in cards.items():
        host.qeth(name, card)
    host.qeth("enc5000", "OSM_1000", packets=7)
    host.qeth("hsi7", "unknown", packets=7)
    host.interface("eth0", packets=0)
    result = run(host, check=True, interfaces=interfaces)
    assert [record["subject"] for record in result["tuning"]] == subjects


def test_without_such_a_card_the_answer_is_not_applicable(tmp_path):
    host = KernelHost(tmp_path)
    host.qeth("enc5000", "OSN", packets=7)
    assert "enc5000: its card type is for management only, or unknown" in only(run(host))["reason"]
    host.interface("hsi0")
    record = only(run(host, interfaces=["hipersockets"]))
    assert record["verdict"] == "not_applicable" and "no HiperSockets interface" in record["reason"]


@pytest.mark.parametrize(
    "version, dispatching, lines", [("2.34.0", "1", [1]), ("2.35.0", "1", []), ("2.35.0", "0", [1]), (None, None, [1])]
)
def test_cpuplugd_takes_cpus_away_unless_it_leaves_vertical_ones_alone(
    tmp_path, monkeypatch, version, dispatching, lines
):
    host = KernelHost(tmp_path)
    host.qeth("enc1000", "HiperSockets")
    host.fill("/etc/cpuplugd.conf", 'HOTUNPLUG="(idle > 1)"')
    if dispatching is not None:
        host.fill("/sys/devices/system/cpu/dispatching", dispatching)
    monkeypatch.setattr(services, "services", lambda host: [{"service": "cpuplugd", "version": version}])
    record = run(host)["tuning"][0]
    assert [other["line"] for other in record["conflicts"]] == lines
    assert record["verdict"] == "changed"


def cpus_of(host):
    return cpu_lists.format_list(cpu_lists.cpus_of(cpu_lists.parse_mask(host.value(QUEUE))))


@pytest.mark.parametrize(
    "threads, params, cpus",
    [
        (1, {}, "0-15"),
        (1, {"every": 4}, "0,4,8,12"),
        (1, {"cpus": "entitled"}, "0-7"),
        (2, {"every": 2}, ",".join(str(cpu) for cpu in range(0, 32, 2))),
        (2, {"every": 4, "unit": "core"}, "0-1,8-9,16-17,24-25"),
        (2, {"cpus": "0-8", "every": 2, "unit": "core"}, "0-1,4-5,8"),
    ],
)
def test_the_mask_of_a_request(tmp_path, threads, params, cpus):
    host = VerticalLpar(tmp_path, threads)
    assert only(run(host, **params))["verdict"] == "changed"
    assert cpus_of(host) == cpus
    assert only(run(host, check=True, **params))["verdict"] == "compliant"


@pytest.mark.parametrize(
    "online, cpus", [(set(range(32)) - {2, 3, 9}, "0-1,8,16-17,24-25"), (range(0, 32, 2), "0,8,16,24")]
)
def test_a_core_keeps_its_number_while_threads_are_offline(tmp_path, online, cpus):
    host = VerticalLpar(tmp_path, threads=2)
    host.online(online)
    assert only(run(host, every=4, unit="core"))["verdict"] == "changed"
    assert cpus_of(host) == cpus


def test_entitlement_that_moves_is_drift_until_the_next_run(tmp_path):
    host = VerticalLpar(tmp_path)
    run(host, cpus="entitled")
    host.entitle(("high",) * 2 + ("medium",) * 2 + ("low",) * 12)
    found = only(run(host, check=True, cpus="entitled"))
    assert found["verdict"] == "drifted"
    assert "hsi0 rx-0: CPUs 0-7 (mask 00ff), wanted CPUs 0-3 (mask 000f)" in found["reason"]
    for words in (
        "the mask holds the vertical:low CPUs 4-7,",
        "entitlement now: high 0-1, medium 2-3, low 4-15 (between 3.0 and 3.5 of 16 online cores); PR/SM can move it",
    ):
        assert any(remark.startswith(words) for remark in found["remarks"])
    assert only(run(host, cpus="entitled"))["verdict"] == "changed" and cpus_of(host) == "0-3"
    # someone else gives it low CPUs
    host.fill(QUEUE, "0300")
    assert "the mask holds the vertical:low CPUs 8-9," in only(run(host, check=True, cpus="entitled"))["remarks"][0]


@pytest.mark.parametrize("params, cpus", [({}, "8-15"), ({"every": 4}, "8,12"), ({"cpus": "0-8"}, "8")])
def test_a_mask_that_is_to_hold_low_cpus_is_remarked_before_and_after(tmp_path, params, cpus):
    host = VerticalLpar(tmp_path)
    sentence = "the mask holds the vertical:low CPUs %s, which" % cpus
    for check in (True, False, True):
        remarks = only(run(host, check=check, **params))["remarks"]
        assert len(remarks) == 1 and remarks[0].startswith(sentence)
    for state in ("off", "restored"):
        assert only(run(host, state=state))["remarks"] == []


def test_without_vertical_polarization_all_cpus_are_entitled(tmp_path):
    host = VerticalLpar(tmp_path, mode="horizontal")
    found = only(run(host, cpus="entitled"))
    assert cpus_of(host) == "0-15"
    assert found["remarks"] == ["no CPU is polarized vertically, so entitled takes all online ones"]
    assert only(run(host))["remarks"] == []
    # nor has the machine to have polarization
    host = KernelHost(tmp_path / "x86")
    host.interface("hsi0")
    run(host, cpus="entitled")
    assert host.value(QUEUE) == "f"


def test_a_cpu_that_does_not_show_its_polarization_yet_stops_the_run(tmp_path):
    host = VerticalLpar(tmp_path)
    host.fill(CPU + "/cpu3/polarization", "unknown")
    with pytest.raises(HostError, match="^cpus: entitled: CPU 3 does not show its polarization yet"):
        run(host, cpus="entitled")
    assert cpus_of(host) == ""
    # other requests do not depend on it, and an offline CPU does not count
    run(host)
    host.online(set(range(16)) - {3})
    assert only(run(host, cpus="entitled"))["after"]["running"] == {"rx-0": "00f7"}
    # as in util-linux's dump of a real LPAR, whose only medium CPU is offline
    host.online(range(8, 16))
    with pytest.raises(InputError, match=r"^cpus: entitled: all online CPUs \(8-15\) are vertical:low; give the LPAR"):
        run(host, cpus="entitled")


def of_rps(host, **changes):
    """What cpu_polarization remarks of RPS."""
    return [text for text in only(polarize(host, check=True, **changes))["remarks"] if text.startswith("RPS")]


def test_polarization_names_the_rps_masks_that_hold_low_cpus(tmp_path):
    host = VerticalLpar(tmp_path)
    assert of_rps(host) == []
    run(host)
    assert of_rps(host) == [
        "RPS of hsi0 hands packets to the vertical:low CPUs 8-15; rps_cpus: entitled leaves them out"
    ]
    # who is to be horizontal has no low CPUs then
    assert of_rps(host, mode="horizontal") == []
    run(host, cpus="entitled")
    assert of_rps(host) == []
    # before the switch, masks may hold some
    host = VerticalLpar(tmp_path / "horizontal", mode="horizontal")
    run(host, every=8)
    (remark,) = of_rps(host)
    assert "RPS of hsi0 hands packets to CPUs 0,8, some of which may become vertical:low" in remark
    # dedicated CPUs all become high
    for old, new in (("Dedicated:  0", "Dedicated:  16"), ("Shared:     16", "Shared:     0")):
        host.fill("/proc/sysinfo", host.read("/proc/sysinfo").replace(old, new))
    assert of_rps(host) == []


@pytest.mark.parametrize(
    "queues, entries, flow_cnt, table",
    [(1, None, "32768", "32768"), (3, None, "16384", "32768"), (2, 5000, "4096", "8192")],
)
def test_flow_steering_derives_both_sizes(tmp_path, queues, entries, flow_cnt, table):
    host = KernelHost(tmp_path)
    host.interface("hsi0", queues=queues)
    host.fill(ENTRIES, "0")
    params = {"flow_steering": True, "sock_flow_entries": entries}
    found = run(host, **params)["tuning"]
    assert [record["subject"] for record in found] == ["hsi0", "net.core.rps_sock_flow_entries"]
    assert host.value(ENTRIES) == table
    for queue in range(queues):
        assert host.value("/sys/class/net/hsi0/queues/rx-%d/rps_flow_cnt" % queue) == flow_cnt
    assert found[0]["after"]["stored"] == {"udev rule": "rps_cpus=f, rps_flow_cnt=%s" % flow_cnt}
    assert [record["verdict"] for record in run(host, check=True, **params)["tuning"]] == ["compliant"] * 2
    host.interface("eth0", queues=2)
    run(host, **params)
    share = {"32768": "16384", "8192": "4096"}
    assert host.value("/sys/class/net/eth0/queues/rx-1/rps_flow_cnt") == share[table]
    run(host, state="restored")
    assert host.value(ENTRIES) == "0" and host.value("/sys/class/net/hsi0/queues/rx-0/rps_flow_cnt") == "0"
