# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tunings ask of a machine: on captured LPARs, on synthetic machines, and on what is no IBM Z at all."""

import gzip
import os

import captured
import pytest
import synthetic
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import kernel as running_kernel
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError, Result
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import hardware, services

OPTION = "CONFIG_SCHED_TOPOLOGY_VERTICAL"


@pytest.fixture
def host(tmp_path):
    return Host(str(tmp_path))


def grow(host, found):
    captured.grow(host.root, found)
    return host


def test_the_machine_is_told_with_and_without_sysinfo(host):
    assert hardware.machine_type(host, None) is None
    grow(host, {"/proc/cpuinfo": "processor 0: version = 00,  identification = 012623,  machine = 3931\n"})
    assert hardware.machine_type(host, None) == "3931"
    # the first of two lines counts
    assert hardware.machine_type(host, hardware.parse_sysinfo("Type: 2817\nType: 8561\n")) == "2817"


def test_the_magnitudes_are_those_that_linux_uses():
    lines = "CPU Topology HW:      0 0 5 2 2 12\nCPU Topology SW:      0 0 0 10 2 12\n"
    assert hardware.parse_sysinfo(lines).magnitudes == {"drawers": None, "books": 10, "sockets": 2, "cores": 12}
    # without CONFIG_SCHED_TOPOLOGY there is the one line
    found = hardware.parse_sysinfo(lines.splitlines()[0])
    assert found.magnitudes == {"drawers": 5, "books": 2, "sockets": 2, "cores": 12}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n:\n::: :\n",
        "Type:\nModel:\nLPAR Number:\n",
        "LPAR Number:          many\nCPU Topology HW:      1 2 three 4 5 6\n",
        "CPU Topology SW:      0 0 0 4 6\nCPUs S-MTID:          -\n",
        "\x00\x1b[2J Type: \ufffd\n",
    ],
    ids=["empty", "colons", "no values", "words", "five", "control"],
)
def test_a_broken_sysinfo_tells_nothing(text):
    found = hardware.parse_sysinfo(text)
    assert found._replace(type=None, model=None) == hardware.Sysinfo(None, None, None, [], {}, None)


@pytest.mark.parametrize(
    "guests, kind",
    [
        ([], "lpar"),
        ([("LNX1", "z/VM    7.3.0   ")], "zvm"),
        ([("KVMguest", "KVM/Linux       ")], "kvm"),
        ([("INNER", "KVM/Linux"), ("OUTER", "z/VM    7.3.0")], "kvm"),
        ([("WHO", "Something 1.0")], "other"),
    ],
)
def test_virtualization_by_the_innermost_hypervisor(host, guests, kind):
    assert hardware.virtualization(host) is None
    grow(host, {"/proc/cpuinfo": "processor\t: 0\nvendor_id\t: GenuineIntel\n"})
    assert hardware.virtualization(host) == "none"
    grow(host, {"/proc/sysinfo": synthetic.sysinfo(guests=guests)})
    assert hardware.virtualization(host) == kind
    found = hardware.sysinfo(host).hypervisors
    assert found == [(name, " ".join(program.split())) for name, program in guests]


def test_release_by_either_file(host):
    assert running_kernel.release(host) is None
    grow(host, {"/proc/version": "Linux version 6.1.0-50-s390x (someone) (gcc) #1 SMP\n"})
    assert running_kernel.release(host) == "6.1.0-50-s390x"
    grow(host, {"/proc/sys/kernel/osrelease": "6.1.0-51-s390x\n"})
    assert running_kernel.release(host) == "6.1.0-51-s390x"
    grow(host, {"/proc/sys/kernel/osrelease": "", "/proc/version": "garbage"})
    assert running_kernel.release(host) is None


@pytest.mark.parametrize(
    "path, line, value",
    [
        ("/boot/config-6.12.1", OPTION + "=y", "y"),
        ("/usr/lib/modules/6.12.1/config", "# %s is not set" % OPTION, "n"),
        ("/lib/modules/6.12.1/config", OPTION + '="text"', "text"),
        ("/proc/config.gz", OPTION + "=y", "y"),
        ("/proc/config.gz", "CONFIG_OTHER=y", "n"),
        ("/proc/config.gz", "X" + OPTION + "=y", "n"),
        ("/boot/config-6.12.1", OPTION + "_MORE=y", "n"),
    ],
)
def test_kernel_option(host, path, line, value):
    grow(host, {"/proc/sys/kernel/osrelease": "6.12.1\n"})
    assert running_kernel.kernel_option(host, OPTION) is None
    text = "CONFIG_64BIT=y\n%s\n" % line
    if path.endswith(".gz"):
        with gzip.open(host.path(path), "wb") as stream:
            stream.write(text.encode("ascii"))
    else:
        grow(host, {path: text})
    assert running_kernel.kernel_option(host, OPTION) == value


@pytest.mark.parametrize("damage", ["no gzip", "cut", "bits", "folder", "fifo"])
def test_a_damaged_kernel_configuration_is_none(host, damage):
    path = host.path("/proc/config.gz")
    os.makedirs(path if damage == "folder" else os.path.dirname(path))
    packed = bytearray(gzip.compress((OPTION + "=y\n" + "CONFIG_X=%d\n" * 400 % tuple(range(400))).encode("ascii")))
    if damage == "fifo":
        os.mkfifo(path)
    elif damage != "folder":
        if damage == "cut":
            packed = packed[:100]
        elif damage == "bits":
            packed[40:80] = b"\xff" * 40
        with open(path, "wb") as stream:
            stream.write(b"CONFIG_X=y\n" if damage == "no gzip" else bytes(packed))
    assert running_kernel.kernel_option(host, OPTION) is None


def test_the_configuration_of_another_kernel_is_not_taken(host):
    secret = OPTION + "=y\n"
    tree = {"/proc/sys/kernel/osrelease": "x/../../secret\n", "/secret": secret, "/boot/config-6.1.0": secret}
    assert running_kernel.kernel_option(grow(host, tree), OPTION) is None


KINDS = {
    "HiperSockets": "HiperSockets,Virt.NIC Hiper,GuestLAN Hiper",
    "OSA": "OSD_25GIG,OSD_GbE_LANE,OSX_10GIG,OSN,HSTR,Virt.NIC QDIO",
    None: "unknown,n/a",
}


@pytest.mark.parametrize(
    "driver, card, kind",
    [("qeth", card, kind) for kind, cards in KINDS.items() for card in cards.split(",")]
    + [("qeth", None, None), ("mlx5_core", None, "RoCE"), ("virtio_net", None, "virtio")]
    + [("e1000e", None, None), (None, None, None)],
)
def test_card_type(driver, card, kind):
    assert hardware.card_type(driver, card) == kind


def test_an_interface_with_everything(host):
    grow(host, synthetic.interface("enc1000", "HiperSockets"))
    tx = "/sys/class/net/enc1000/queues/tx-%s"
    grow(host, {tx % "10/xps_cpus": "f0\n", tx % "2/xps_cpus": "0f\n", tx % "3/tx_timeout": "0\n"})
    mask = "00000000,00000011,11111111,11111111,11111111,11111111,11111111,11111111"
    known = {"driver": "qeth", "card_type": "HiperSockets", "card": "HiperSockets", "buffer_count": 128}
    known.update(inbuf_size="64k", mtu=57344, operstate="up", receive_queues=1, rps_cpus={"rx-0": mask}, lower=[])
    queues = {"tx-0": "0", "tx-2": "0f", "tx-3": None, "tx-10": "f0"}
    assert hardware.interfaces(host) == {"enc1000": dict(known, xps_cpus=queues)}
    assert list(hardware.interfaces(host)["enc1000"]["xps_cpus"]) == list(queues)


def test_interfaces_of_other_drivers_have_no_qeth_values(host):
    grow(host, synthetic.interface("ens1", "none", driver="mlx5_core"))
    ens1 = {"device/buffer_count": "7\n", "mtu": "many\n"}
    ens1.update({"queues/rx-%s/rps_cpus" % queue: "f\n" for queue in ("10", "9", "x")})
    grow(host, {"/sys/class/net/ens1/" + path: text for path, text in ens1.items()})
    grow(host, {"/sys/class/net/bonding_masters": "bond0\n"})
    ((name, found),) = hardware.interfaces(host).items()
    assert (name, found["card_type"], found["buffer_count"], found["mtu"]) == ("ens1", "RoCE", None, None)
    assert found["receive_queues"] == 3 and list(found["rps_cpus"]) == ["rx-0", "rx-9", "rx-10"]


def test_lowest_ends_in_a_circle():
    found = {"a": {"lower": ["b"]}, "b": {"lower": ["a"]}, "vlan": {"lower": ["hsi1"]}, "hsi1": {"lower": ["away"]}}
    assert hardware.lowest_interfaces(found, "vlan") == ["hsi1"]
    assert hardware.lowest_interfaces(found, "a") == []


WANTS = "/etc/systemd/system/multi-user.target.wants/"


@pytest.mark.parametrize("folder", ["/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice"])
def test_enabled_and_running(host, folder):
    assert services.services(host) == []
    grow(host, {"/usr/lib/systemd/system/tuned.service": "[Unit]\n"})
    # no service is no conflict
    assert services.services(host) == []
    # the link points to a file that this tree does not hold
    grow(host, {WANTS + "tuned.service": {"link": "/gone/tuned.service"}})
    (found,) = services.services(host)
    assert (found["service"], found["enabled"], found["running"]) == ("tuned", True, None)
    grow(host, {folder + "/irqbalance.service": {"folder": True}})
    irqbalance, tuned = services.services(host)
    assert (irqbalance["service"], irqbalance["enabled"], irqbalance["running"]) == ("irqbalance", False, True)
    assert (tuned["enabled"], tuned["running"], tuned["version"]) == (True, False, None)


def test_details(host):
    for service in ("cpuplugd", "sapconf", "saptune", "tuned"):
        grow(host, {WANTS + service + ".service": {"link": "/gone"}})
    grow(host, {"/sys/fs/cgroup/system.slice": {"folder": True}})
    first = {one["service"]: one for one in services.services(host)}
    assert first["saptune"]["running"] is None and first["sapconf"]["running"] is None
    assert first["saptune"]["detail"] == "it applies no SAP notes"
    assert first["tuned"]["detail"] == "it has no active profile"
    grow(host, {"/etc/tuned/active_profile": "sap-netweaver\n", "/usr/lib/tuned/functions": "#\n"})
    words = next(one["detail"] for one in services.services(host) if one["service"] == "tuned")
    assert "sets nothing" in words and "no profile sap-netweaver" in words
    grow(host, {"/usr/lib/tuned/sap-netweaver/tuned.conf": "[main]\n"})
    grow(host, {"/etc/sysconfig/saptune": '# notes\nNOTE_APPLY_ORDER="941735 1771258"\nTUNE_FOR_NOTES=" "\n'})
    second = {one["service"]: one for one in services.services(host)}
    assert second["saptune"]["detail"] == "it applies the SAP notes 941735 1771258"
    assert second["tuned"]["detail"] == "its active profile is sap-netweaver"
    assert "before version 2.35.0" in second["cpuplugd"]["detail"]


@pytest.mark.parametrize(
    "answer, version",
    [
        ("version 2.35.0-build-20241007\nCopyright IBM\n", "2.35.0"),
        ("version 1.34.0\n", "1.34.0"),
        ("version unknown\n", None),
        ("", None),
        (HostError("cpuplugd did not answer within 30 s"), None),
    ],
)
def test_version_of_cpuplugd(host, monkeypatch, answer, version):
    grow(host, {WANTS + "cpuplugd.service": {"link": "/gone"}})
    asked = []

    def run(argv, timeout=30):
        asked.append(argv)
        if isinstance(answer, HostError):
            raise answer
        return Result(0, "cpuplugd: Linux on System z CPU hotplug daemon " + answer if answer else "", "")

    monkeypatch.setattr(host, "run", run)
    assert services.services(host)[0]["version"] == version
    assert asked == [["cpuplugd", "--version"]]
