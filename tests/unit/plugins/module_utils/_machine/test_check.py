# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of settings that this collection does not change, and the cluster of a node."""

import socket

import captured
import pytest
import synthetic
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import checks, cluster, routes
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.cluster import parse_cib
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.reading import ReadingHost
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.instances import instances
from clusters import ASCS, CONNECTOR, cib, joined, meta, of_node, property_set
from sapsystem import ASCS01, PROFILES, SapHost

CONTROL = "/sys/devices/system/cpu/smt/control"
SIBLINGS = "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list"


def lpar(threads=2, release=synthetic.SLES):
    """A z15 LPAR whose cores run this many threads; release: its os-release."""
    siblings = "0-1\n" if threads == 2 else "0\n"
    tree = {"/proc/sysinfo": synthetic.sysinfo(), "/etc/os-release": release}
    return dict(tree, **{"/sys/devices/system/cpu/online": "0-1\n", SIBLINGS: siblings})


@pytest.fixture
def smt(tmp_path):
    """A function from entries, and what is wanted, to the record SMT."""

    def record(tree, wanted=None, system="Linux"):
        captured.grow(tmp_path, tree)
        found, *others = checks.records(ReadingHost(str(tmp_path)), system, wanted, None)
        assert [other["subject"] for other in others] == (["z/VM"] if "z/VM gives" in found["reason"] else [])
        assert found["name"] == "platform" and found["subject"] == "SMT"
        assert found["before"] == found["after"] and found["undo"] is None and found["conflicts"] == []
        return found

    return record


@pytest.mark.parametrize("wanted", [None, 2])
def test_two_threads_are_reported_and_right(smt, wanted):
    found = smt(lpar(), wanted)
    assert (found["verdict"], found["restart"]) == ("compliant", "none")
    assert found["reason"] == "2 of 2 possible threads per core"
    assert found["before"]["running"] == {"threads per core": 2}
    assert found["wanted"] == ({} if wanted is None else {"threads_per_core": 2})


def test_a_captured_lpar_without_smt_has_one_thread_and_more_are_unsupported(smt):
    tree = captured.entries("lpar-linux-6.1-horizontal")
    assert smt(tree)["reason"] == "1 of 1 possible threads per core"
    found = smt({}, 2)
    assert found["verdict"] == "unsupported" and "the machine does not have more" in found["reason"]


@pytest.mark.parametrize(
    "threads, wanted, distribution, words",
    [
        (2, 1, "sles 15.6", ["put smt=1 into GRUB_CMDLINE_LINUX_DEFAULT", "grub2-mkconfig", "grub2-install"]),
        (1, 2, "sles 12.5", ["take smt= and nosmt out of GRUB_CMDLINE_LINUX_DEFAULT"]),
        (2, 1, "rhel 9.4", ["grubby --update-kernel=ALL --args=smt=1 and then zipl"]),
        (1, 2, "rhel 8.10", ['--remove-args="smt nosmt" and then zipl']),
        (2, 1, "rhel 7.9", ["put smt=1 into the parameters in /etc/zipl.conf, run zipl"]),
        (1, 2, "debian 13", ["take smt= and nosmt out of the parameters in /etc/zipl.conf"]),
        # a distribution that does not say what it is
        (2, 1, "", ["/etc/zipl.conf"]),
    ],
)
def test_what_it_takes_to_change_it(smt, threads, wanted, distribution, words):
    release = "".join("%s=%s\n" % item for item in zip(("ID", "VERSION_ID"), distribution.split())) or "X=y\n"
    found = smt(lpar(threads, release), wanted)
    assert (found["verdict"], found["restart"], found["remarks"]) == ("drifted", "reboot", [])
    assert found["reason"].startswith("%d of 2 possible threads per core, wanted %d: " % (threads, wanted))
    assert found["reason"].endswith("and reboot")
    assert all(word in found["reason"] for word in words)


@pytest.mark.parametrize(
    "threads, wanted, control, remark",
    [
        (2, 1, "on", "echo off > " + CONTROL),
        (1, 2, "off", "echo on > " + CONTROL),
        (1, 2, "forceoff", None),
        # on already, and the second threads are offline one by one
        (1, 2, "on", None),
        (2, 1, "notimplemented", None),
    ],
)
def test_new_kernels_can_switch_at_once(smt, threads, wanted, control, remark):
    found = smt(dict(lpar(threads), **{CONTROL: control + "\n"}), wanted)
    assert [text.endswith(remark) for text in found["remarks"]] == ([True] if remark else [])


def test_unknown_threads_are_not_a_number(smt):
    tree = {"/proc/sysinfo": "Type: 8561\n", "/sys/devices/system/cpu/online": "garbage\n"}
    assert smt(tree)["reason"] == "an unknown number of an unknown number possible threads per core"
    assert smt(tree, 2)["verdict"] == "drifted"


@pytest.mark.parametrize(
    "tree, system, words",
    [
        (synthetic.zvm_guest(), "Linux", "z/VM gives its guests one thread"),
        ({"/proc/sysinfo": synthetic.sysinfo(guests=[("K", "KVM/Linux")])}, "Linux", "KVM gives its guests"),
        ({"/proc/sysinfo": synthetic.sysinfo(guests=[("X", "Other 1")])}, "Linux", "a hypervisor gives"),
        ({"/proc/cpuinfo": ""}, "Linux", "only in an LPAR of IBM Z"),
        ({"/proc/cpuinfo": ""}, "AIX", "only in an LPAR of IBM Z"),
    ],
)
def test_machines_without_smt(smt, tree, system, words):
    found = smt(tree, 2, system)
    assert found["verdict"] == "not_applicable" and words in found["reason"]
    assert found["wanted"] == {"threads_per_core": 2} and found["before"]["running"] is None


@pytest.mark.parametrize(
    "cores, version, reason, remark",
    [
        (32, "7.3.0", "z/VM runs on 32 cores of its LPAR, which is within its limit", None),
        (33, "6.4.0", "z/VM runs on 33 cores of its LPAR", "z/VM uses at most 64 threads, which is 32 cores"),
        (64, "6.3.0", "z/VM runs on 64 cores of its LPAR", "32 cores with SMT; two z/VM systems"),
        (65, "6.3.0", "65 cores of its LPAR; z/VM uses at most 64 threads, which is 32 cores with SMT", None),
        (80, "7.3.0", "80 cores of its LPAR", "at most 64 threads, which is 32 cores with SMT; a newer"),
        (None, "6.3.0", "the cores of z/VM's LPAR are not known; z/VM uses at most 64 threads", None),
    ],
)
def test_the_threads_that_zvm_can_use(tmp_path, cores, version, reason, remark):
    text = synthetic.sysinfo() + "VM00 Name:            LNX1\nVM00 Control Program: z/VM    %s\n" % version
    lines = [line for line in text.splitlines() if not line.startswith("LPAR CPUs Configured")]
    lines += [] if cores is None else ["LPAR CPUs Configured: %d" % cores]
    captured.grow(tmp_path, {"/proc/sysinfo": "\n".join(lines) + "\n"})
    dummy, found = checks.records(ReadingHost(str(tmp_path)), "Linux", None, None)
    assert (found["subject"], found["verdict"]) == ("z/VM", "drifted" if cores == 65 else "compliant")
    assert reason in found["reason"]
    assert found["before"]["running"] == {"control program": "z/VM %s" % version, "cores of its LPAR": cores}
    assert [remark in said for said in found["remarks"]] == ([True] if remark else [])


@pytest.fixture
def way(tmp_path, monkeypatch):
    """A function from entries and the interface of the route (or what finding it raises) to the record HiperSockets."""

    def record(tree, interface="hsi0", system="Linux"):
        def interface_to(name):
            assert name in ("sapascs", "sapdb1")
            if isinstance(interface, Exception):
                raise interface
            return interface

        monkeypatch.setattr(checks, "interface_to", interface_to)
        captured.grow(tmp_path, dict({"/proc/sysinfo": synthetic.sysinfo()}, **tree))
        host = ReadingHost(str(tmp_path))
        smt, found = checks.records(host, system, None, ["sapdb1"])
        several = checks.records(host, system, None, ["sapdb1", "sapascs", "sapdb1", ""])
        assert [one["subject"] for one in several[1:]] == ["HiperSockets to sapascs", "HiperSockets to sapdb1"]
        assert several[2] == dict(found, subject="HiperSockets to sapdb1")
        assert (smt["subject"], found["subject"], found["name"]) == ("SMT", "HiperSockets", "platform")
        return found

    return record


def test_the_route_through_hipersockets(way):
    found = way(synthetic.interface("hsi0", "HiperSockets"))
    assert (found["verdict"], found["restart"], found["remarks"]) == ("compliant", "none", [])
    assert found["before"]["running"] == {"route": "hsi0", "hsi0": "HiperSockets, MTU 57344, 128 buffers"}
    assert "2 to 4 % less batch elapsed time" in found["reason"]
    assert found["sources"][0].endswith("5.1") and "v1.02" in found["sources"][0]


@pytest.mark.parametrize(
    "kind, buffers, remarks",
    [
        ("HiperSockets", 16, ["its buffers of 64k allow an MTU of 57344", "default of 128 for HiperSockets; its"]),
        ("OSD_25GIG", 16, ["buffer_count is 16, lowered from the driver's default of 64 for OSA"]),
        ("OSD_25GIG", 64, []),
    ],
)
def test_small_values_are_remarks(way, kind, buffers, remarks):
    found = way(synthetic.interface("hsi0", kind, mtu=8192, buffers=buffers))
    assert found["verdict"] == ("drifted" if kind == "OSD_25GIG" else "compliant")
    assert len(found["remarks"]) == len(remarks)
    assert all(words in text for words, text in zip(remarks, found["remarks"]))


@pytest.mark.parametrize(
    "kind, driver, words",
    [
        ("OSD_25GIG", "qeth", "hsi0 (OSD_25GIG, MTU 1500, 128 buffers)"),
        ("none", "mlx5_core", "hsi0 (RoCE, MTU 1500)"),
        ("none", "e1000e", "hsi0 (e1000e, MTU 1500)"),
        ("vlan", None, "hsi0 (unknown, MTU 1500)"),
    ],
)
def test_another_way_is_drifted(way, kind, driver, words):
    found = way(synthetic.interface("hsi0", kind, driver=driver))
    assert (found["verdict"], found["restart"]) == ("drifted", "device")
    assert words in found["reason"] and "not a HiperSockets interface" in found["reason"]


@pytest.mark.parametrize("upper, lower", [("vlan10", ["hsi0"]), ("bond0", ["hsi0", "enc1"])])
def test_the_interfaces_below_count(way, upper, lower):
    tree = synthetic.interface(upper, "vlan" if upper == "vlan10" else "bond")
    tree.update(synthetic.interface("hsi0", "HiperSockets"), **synthetic.interface("enc1", "OSD_25GIG"))
    tree.update({"/sys/class/net/%s/lower_%s" % (upper, name): {"link": "../" + name} for name in lower})
    found = way(tree, upper)
    running = found["before"]["running"]
    assert running["route"] == upper and running["hsi0"] == "HiperSockets, MTU 57344, 128 buffers"
    if upper == "vlan10":
        assert found["verdict"] == "compliant" and len(running) == 2
    else:
        assert found["verdict"] == "drifted" and "leave through enc1 (OSD_25GIG" in found["reason"]


@pytest.mark.parametrize(
    "interface, verdict, words",
    [
        ("lo", "not_applicable", "sapdb1 is this host itself"),
        (socket.gaierror(-2, "Name or service not known"), "failed", "cannot reach sapdb1: Name or service not known"),
        (OSError(101, "Network is unreachable"), "failed", "cannot reach sapdb1: Network is unreachable"),
        (OSError("no route leads there"), "failed", "cannot reach sapdb1: no route leads there"),
        ("gone0", "drifted", "gone0 (unknown)"),
    ],
)
def test_other_ends_of_the_way(way, interface, verdict, words):
    found = way({}, interface)
    assert found["verdict"] == verdict and words in found["reason"]


@pytest.mark.parametrize("system", ["Linux", "AIX"])
def test_only_z_has_hipersockets(way, system):
    found = way({"/proc/sysinfo": "", "/proc/cpuinfo": "processor : 0\n"} if system == "Linux" else {}, system=system)
    assert (found["verdict"], found["before"]["running"]) == ("not_applicable", None)
    assert "one IBM Z machine" in found["reason"]


def test_the_database_host_receives_nothing(monkeypatch):
    opened = []

    class Silent(socket.socket):
        """A socket that finds a way and sends nothing."""

        def connect(self, address):
            assert self.type == socket.SOCK_DGRAM
            opened.append(address[0])
            super().connect(address)

        def send(self, data):
            # the kernel hears the question for the route
            assert self.family == socket.AF_NETLINK
            return super().send(data)

        sendall = sendto = sendmsg = None

    monkeypatch.setattr(checks.socket, "socket", Silent)
    assert checks.interface_to("127.0.0.1") == "lo"
    assert opened == ["127.0.0.1"]


def test_an_invalid_name_has_no_address():
    with pytest.raises(OSError):
        checks.interface_to("x" * 80)


def test_every_address_is_tried(monkeypatch):
    addresses = [
        (socket.AF_INET, socket.SOCK_DGRAM, 0, "", (address, 9)) for address in ("255.255.255.255", "127.0.0.1")
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_arguments: addresses)
    assert checks.interface_to("db") == "lo"
    monkeypatch.setattr(routes, "route_interface", lambda *_arguments: None)
    with pytest.raises(OSError, match="Permission denied|no route|unreachable"):
        checks.interface_to("db")


@pytest.mark.parametrize(
    "path",
    [
        "/var/lib/zpower_sap_tuning/cpu_topology.json",
        "/var/lib/zpower_sap_tuning/checkpoint-exp1/cpu_topology.json",
        "/etc/sysctl.d/91-zpower-sap-tuning-cpu-topology.conf",
    ],
)
def test_a_tuning_that_is_applied_and_not_chosen_is_drifted_with_the_command(tmp_path, path):
    # files of others and the lease are no journal
    others = {"/var/lib/zpower_sap_tuning/checkpoint-exp1/lease.json": "{}", "/etc/sysctl.d/91-other.conf": ""}
    captured.grow(tmp_path, dict(others, **{path: "{}", "/var/lib/zpower_sap_tuning/rps.json": "{}"}))
    host = ReadingHost(str(tmp_path))
    (found,) = checks.orphans(host, "Linux", ["rps", "smc_r"])
    assert (found["name"], found["subject"], found["verdict"]) == ("platform", "cpu_topology", "drifted")
    assert "applied on this host and is not chosen for it (zpower_tunings), see %s;" % path in found["reason"]
    assert found["undo"] == "ansible-playbook zpower.sap_tuning.rollback --limit HOST --tags cpu_topology"
    assert checks.orphans(host, "Linux", ["rps", "cpu_topology"]) == []
    assert [one["subject"] for one in checks.orphans(host, "Linux", [])] == ["cpu_topology", "rps"]


@pytest.mark.parametrize("more, subjects", [({}, ["SMT"]), ({"tunings": []}, ["SMT", "rps"])])
def test_without_the_chosen_tunings_nobody_looks_for_others(tmp_path, more, subjects):
    captured.grow(tmp_path, {"/var/lib/zpower_sap_tuning/rps.json": "{}", "/proc/sysinfo": synthetic.sysinfo()})
    found = checks.records(ReadingHost(str(tmp_path)), "Linux", None, None, **more)
    assert [one["subject"] for one in found] == subjects


RULE = '<rule id="r"><date_expression id="d" operation="gt" start="2026-01-01"/></rule>'
TEMPLATED = '<template id="t" class="ocf" type="SAPInstance">%s</template><primitive id="x" template="t">%s</primitive>'
NAME = '<instance_attributes id="i"><nvpair id="n" name="InstanceName" value="PRD_ASCS01_%s"/></instance_attributes>'
ENSA1 = b"Start_Program_01 = local $(_EN) pf=$(_PF)\n"
UNIT = '<primitive id="x" class="systemd" type="SAPPRD_01"/>'


@pytest.mark.parametrize(
    "resources, maintenance, more",
    [
        (ASCS % "", False, ""),
        (ASCS % meta("maintenance", "true"), True, ""),
        (ASCS % meta("is-managed", "OFF"), True, ""),
        (ASCS % meta("is-managed", "true"), False, ""),
        # a rule may be false, and two sets may contradict each other
        (ASCS % meta("maintenance", "true", RULE), False, ""),
        (ASCS % (meta("maintenance", "true") + meta("maintenance", "false")), False, ""),
        ("<group id='g'>%s%s</group>" % (ASCS % "", meta("is-managed", "false")), True, ""),
        ("<clone id='c'><group id='g'>%s</group>%s</clone>" % (ASCS % "", meta("maintenance", "yes")), True, ""),
        ("<group id='g'>%s%s</group>" % (ASCS % meta("maintenance", "no"), meta("maintenance", "1")), False, ""),
        (ASCS % "", True, "<rsc_defaults>%s</rsc_defaults>" % meta("is-managed", "false")),
        (
            ASCS % '<meta_attributes id-ref="m2"/>',
            True,
            "<rsc_defaults/><z>%s</z>" % meta("maintenance", "on", "", "m2"),
        ),
        (TEMPLATED % (meta("maintenance", "true"), NAME % "vascs"), True, ""),
        (TEMPLATED % (NAME % "vascs", ""), False, ""),
        (UNIT, False, ""),
    ],
)
def test_the_resources_of_an_instance(resources, maintenance, more):
    (found,) = parse_cib(cib(resources, more))[2]
    assert (found.sid, found.number, found.maintenance) == ("PRD", "01", maintenance)


TEMPLATE = '<crm_config><cluster_property_set id="a">%s</cluster_property_set></crm_config>' % ("<nvpair/>" * 20000)
REFERRING = '<primitive><meta_attributes id-ref="a"/></primitive>' * 1000


@pytest.mark.parametrize(
    "data, words",
    [
        (b"", "not XML"),
        (b"<cib>", "not XML"),
        (b"<html/>", "not a configuration"),
        (b"<?xml version='1.0' encoding='klingon'?><cib/>", "not XML"),
        (b'<!DOCTYPE cib [<!ENTITY a "aaaa">]><cib>&a;</cib>', "document type"),
        ('<?xml version="1.0" encoding="utf-16"?><!DOCTYPE cib><cib/>'.encode("utf-16"), "document type"),
        (b" " * (5 << 20), "4 MiB"),
        # 117 KiB took three minutes, and eight times that for twice as many
        (cib(REFERRING, TEMPLATE), "refer to the same sets"),
    ],
)
def test_an_invalid_configuration_is_refused(data, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        parse_cib(data)
    # an active node whose configuration tells nothing
    host = joined(SapHost(tmp_path), data)
    ascs = next(one for one in instances(host) if one.name == "ASCS01")
    assert "is unknown" in cluster.refusal(host, ascs, "smc") and "smc_restart_in_cluster" in cluster.refusal(
        host, ascs, "smc"
    )
    assert cluster.fact(host)["instances"][0]["resources"] == cluster.fact(host)["maintenance"]["node"] == "unknown"


IN_MAINTENANCE = property_set("maintenance-mode", "true")


@pytest.mark.parametrize(
    "change, resource",
    [
        (lambda host: joined(host, cib(ASCS % "")), "rsc_sap_PRD_ASCS01"),
        (lambda host: joined(host, cib(ASCS % "", IN_MAINTENANCE)), None),
        (lambda host: joined(host, cib(ASCS % "", of_node("maintenance", "true"))), None),
        (lambda host: joined(host, cib(ASCS % "", of_node("standby", "true"))), "rsc_sap_PRD_ASCS01"),
        (lambda host: joined(host, cib(ASCS % meta("maintenance", "true"))), None),
        (lambda host: joined(host, cib(ASCS % meta("maintenance", "true") + UNIT)), "x"),
        # that of the other node
        (lambda host: joined(host, cib(ASCS.replace("ASCS01", "ASCS11") % "")), None),
        (lambda host: joined(host, cib(""), halib=True), CONNECTOR),
        (lambda host: joined(host, cib("", IN_MAINTENANCE), halib=True), None),
        (lambda host: joined(host, None), "only root may see it"),
        (lambda host: joined(host, None, daemon=b"pacemaker-remot\n"), "only root may see it"),
        # Pacemaker does not run, which a control group or its absence tells too
        (lambda host: joined(host, cib(ASCS % ""), daemon=b"sshd\n"), None),
        (lambda host: host.fill("/sys/fs/cgroup/system.slice/sshd.service/x", b""), None),
        (lambda host: host.fill("/sys/fs/cgroup/system.slice/pacemaker.service/x", b""), "only root may see it"),
        (lambda host: None, None),
    ],
)
def test_restarts_that_the_cluster_would_take_for_failures(tmp_path, change, resource):
    host = SapHost(tmp_path)
    host.fill(ASCS01, host.data(ASCS01) + ENSA1)
    change(host)
    ascs = next(one for one in instances(host) if one.name == "ASCS01")
    sentence = cluster.refusal(host, ascs, "sap_profile")
    assert (resource or "") in sentence and bool(sentence) is bool(resource)
    if resource:
        assert "maintenance" in sentence and "sap_profile_restart_in_cluster: true" in sentence
        assert "loses its locks: it runs ENSA1 without an ERS" in sentence


def test_locks_survive_only_with_enqueue_2_and_an_ers(tmp_path):
    host = SapHost(tmp_path)

    def told():
        return [sentence for one in instances(host) for sentence in cluster.lost_locks(host, one)]

    host.fill(ASCS01, host.data(ASCS01) + ENSA1)
    host.fill(PROFILES + "PRD_ERS10_app2", b"")
    assert told() == ["A restart of PRD_01 loses its locks: it runs ENSA1"]
    host.fill(ASCS01, host.data(ASCS01).replace(b"$(_EN)", b"enq.sapPRD_ASCS01"))
    assert told() == []
    host.remove(PROFILES + "PRD_ERS10_app2")
    assert told() == ["A restart of PRD_01 loses its locks: no ERS is known"]


def test_a_node_has_a_fact_and_a_row(tmp_path):
    host = SapHost(tmp_path)
    assert checks.facts.cluster(host) is None and checks.cluster(host, "Linux") == []
    host.fill("/proc/1/comm", b"systemd\n")
    assert checks.facts.cluster(host)["member"] is False and checks.cluster(host, "Linux") == []
    joined(host, cib(ASCS % "", of_node("maintenance", "false")), halib=True)
    found = cluster.fact(host)
    assert (found["pacemaker"], found["maintenance"]) == ("active", {"cluster": "off", "node": "off"})
    expected = {"sid": "PRD", "name": "ASCS01", "resources": ["rsc_sap_PRD_ASCS01"], "maintenance": "off"}
    assert found["instances"][0] == dict(expected, connector=CONNECTOR)
    assert found["instances"][1]["resources"] == [] and found["instances"][1]["maintenance"] is None
    (row,) = checks.cluster(host, "Linux")
    assert row["verdict"] == "compliant" and "PRD ASCS01: resource rsc_sap_PRD_ASCS01" in row["reason"]
    assert checks.cluster(host, "AIX") == []
