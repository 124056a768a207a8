# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""RPS on Linux on Z: qeth interfaces by card type, CPUs that come and go."""

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import services
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.rps import Rps
from kernel import KernelHost, rps_params
from runs import only, runner, verdicts

QUEUE = "/sys/class/net/%s/queues/rx-0/rps_cpus"


run = runner(Rps, **rps_params())


@pytest.fixture
def machine(tmp_path):
    """HiperSockets and OSA under names that say nothing, and cards that carry no data."""
    host = KernelHost(tmp_path)
    host.qeth("enc1000", "HiperSockets")
    host.qeth("enc2000", "OSD_10GIG")
    host.qeth("enc3000", "Virt.NIC Hiper")
    host.qeth("enc4000", "Virt.NIC QDIO")
    host.qeth("enc5000", "OSM_1000", packets=7)
    host.qeth("hsi7", "unknown", packets=7)
    host.interface("eth0", packets=0)
    return host


@pytest.mark.parametrize(
    "interfaces, subjects",
    [
        (["auto"], ["enc1000", "enc2000", "enc3000", "enc4000"]),
        (["hipersockets"], ["enc1000", "enc3000"]),
        (["osa"], ["enc2000", "enc4000"]),
        (["hipersockets", "eth0"], ["enc1000", "enc3000", "eth0"]),
    ],
)
def test_qeth_interfaces_are_taken_by_card_type(machine, interfaces, subjects):
    result = run(machine, check=True, interfaces=interfaces)
    assert [record["subject"] for record in result["tuning"]] == subjects


def test_restored_by_card_type_leaves_the_other_cards(machine):
    run(machine)
    run(machine, interfaces=["osa"], state="restored")
    assert machine.value(QUEUE % "enc2000") == "0" and machine.value(QUEUE % "enc1000") == "f"


def test_without_such_a_card_the_answer_is_not_applicable(tmp_path):
    host = KernelHost(tmp_path)
    host.qeth("enc5000", "OSN", packets=7)
    assert "enc5000: its card type is for management only, or unknown" in only(run(host))["reason"]
    host.interface("hsi0")
    record = only(run(host, interfaces=["hipersockets"]))
    assert record["verdict"] == "not_applicable" and "no HiperSockets interface" in record["reason"]


def test_a_down_interface_is_left_out_whatever_its_card(machine):
    machine.fill("/sys/class/net/enc1000/operstate", "down")
    assert "enc1000" not in verdicts(run(machine, check=True))


def test_a_mask_written_while_a_cpu_was_offline_is_found_and_mended(tmp_path):
    host = KernelHost(tmp_path, online="0-1,3")
    host.qeth("enc1000", "HiperSockets")
    assert only(run(host))["after"]["running"] == {"rx-0": "b"}
    host.fill("/sys/devices/system/cpu/online", "0-3")
    found = only(run(host, check=True))
    assert found["verdict"] == "drifted" and "CPUs 0-1,3 (mask b), wanted CPUs 0-3 (mask f)" in found["reason"]
    assert only(run(host))["after"]["running"] == {"rx-0": "f"}
    assert only(run(host, check=True))["verdict"] == "compliant"


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
