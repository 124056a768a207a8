# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tunings in check mode on captures of real kernels, and on machines that no lab has."""

import captured
import pytest
import synthetic
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.cpu_polarization import MIXED, CpuPolarization
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.cpu_topology import CpuTopology
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.hiperdispatch import Hiperdispatch
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.rps import Rps
from kernel import rps_params
from runs import only, runner

LPARS = [name for name in captured.names() if name.startswith("lpar-")]
GUESTS = [name for name in captured.names() if name.startswith("kvm-")]


look_rps = runner(Rps, **rps_params())
look_hiperdispatch = runner(Hiperdispatch, enabled=True, steal_threshold=20, delay_factor=None)
look_polarization, look_topology = runner(CpuPolarization, wait_timeout=1), runner(CpuTopology, sw_siblings=True)


def polarization(host, mode):
    return only(look_polarization(host, check=True, mode=mode))


def topology(host):
    return only(look_topology(host, check=True))


@pytest.mark.parametrize("name", LPARS)
def test_polarization_of_an_lpar_is_what_its_cpus_show(tmp_path, name):
    host = captured.plant(name, tmp_path)
    mode = "horizontal" if name.endswith("horizontal") else "vertical"
    other = "vertical" if mode == "horizontal" else "horizontal"
    for wanted in (mode, other):
        record = polarization(host, wanted)
        assert record["before"]["running"] == {"dispatching": mode}
        running = "dispatching: %s, wanted %s" % (mode, other)
        assert (running in record["reason"]) is (wanted == other)
    assert record["after"]["next_boot"] == {"dispatching": other}
    # old kernels boot horizontally by themselves; whether new ones do these captures do not tell
    stored = {"sysctl.d": other} if "6.12" in name else {"tmpfiles.d": other} if other == "vertical" else None
    assert record["after"]["stored"] == stored
    if name.endswith("unknown"):
        assert record["verdict"] == "drifted" and "CPU 0-3 does not show its polarization yet" in record["reason"]
    online = 2 if "deconfigured" in name else 4
    split = mode == "vertical" and not name.endswith("unknown")
    idle = ["s390.hiperdispatch is 1, and does nothing while the CPUs are horizontal"]
    remarks = {"lpar-linux-6.12-horizontal": idle, "lpar-linux-6.1-horizontal": [MIXED]}.get(name, [])
    # one or two medium cores fit the rule of PR/SM, more do not
    told = " (at least 1.0 of 2 online cores)" if online == 2 else ""
    assert record["remarks"] == (
        ["entitlement of the %d online CPUs: %d medium%s" % (online, online, told)] if split else remarks
    )


@pytest.mark.parametrize("name", LPARS)
def test_topology_and_hiperdispatch_of_an_lpar(tmp_path, name):
    host = captured.plant(name, tmp_path)
    assert topology(host)["verdict"] == "not_applicable"
    record = only(look_hiperdispatch(host, check=True))
    if "6.1-" in name:
        assert record["verdict"] == "unsupported" and "has no s390.hiperdispatch" in record["reason"]
        return
    assert record["before"]["running"] == {"s390.hiperdispatch": "1", "hd_steal_threshold": "30"}
    assert "hd_steal_threshold: 30, wanted 20" in record["reason"]
    assert ("the CPUs are horizontal now" in record["reason"]) is name.endswith("horizontal")


@pytest.mark.parametrize("name", GUESTS)
def test_a_guest_of_kvm_has_topology_and_no_polarization(tmp_path, name):
    host = captured.plant(name, tmp_path)
    record = polarization(host, "vertical")
    assert record["verdict"] == "unsupported" and "guest of KVM" in record["reason"]
    record = topology(host)
    value = host.value("/proc/sys/s390/topology")
    assert record["before"]["running"] == {"s390.topology": value}
    assert ("s390.topology: " in record["reason"]) is (value == "0")


def test_a_guest_of_zvm_and_an_lpar_of_200_cpus_with_gaps_and_vlans(tmp_path):
    assert len(LPARS) >= 6 and GUESTS
    captured.grow(tmp_path / "zvm", synthetic.zvm_guest())
    host = Host(str(tmp_path / "zvm"))
    record = polarization(host, "vertical")
    assert record["verdict"] == "unsupported" and "guest of z/VM" in record["reason"]
    assert topology(host)["verdict"] == "drifted"
    captured.grow(tmp_path, synthetic.large_lpar(8))
    host = Host(str(tmp_path))
    record = polarization(host, "vertical")
    assert record["before"]["running"] == {"dispatching": "vertical"} and "low" in record["remarks"][0]
    assert topology(host)["verdict"] == "not_applicable"
    records = look_rps(host, check=True)["tuning"]
    assert [record["subject"] for record in records] == ["enc100%d" % number for number in (0, 1, 2, 4, 5, 6)]
    mask = "00000000,00003fff,ffffffff,ffffffff,ffffff00,ffffffff,ffffffff,fffff3ff"
    assert {record["wanted"]["rps_cpus"] for record in records} == {mask}


@pytest.mark.parametrize(
    "name", [name for name in captured.names() if "/sys/class/net/lo/mtu" in captured.entries(name)]
)
def test_rps_takes_the_interface_that_carries_traffic(tmp_path, name):
    record = only(look_rps(captured.plant(name, tmp_path), check=True))
    assert record["subject"] == ("enc1" if name in GUESTS else "ctc0")
    cpus, mask = ("0-1,3", "b") if "offline" in name else ("0-3", "f")
    assert record["verdict"] == "drifted"
    assert "rx-0: off (mask 0), wanted CPUs %s (mask %s)" % (cpus, mask) in record["reason"]
