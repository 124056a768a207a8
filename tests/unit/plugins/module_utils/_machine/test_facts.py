# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts of captured LPARs, synthetic machines, other systems and damaged trees, and what tunings ask of them."""

import errno
import gzip
import os

import captured
import pytest
import synthetic
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import kernel as running_kernel
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError, Result
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.kernel import parse_os_release
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import facts as _platform_facts
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import hardware, services
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.reading import ReadingHost
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap import sapcontrol

CPUS = "/sys/devices/system/cpu/"
NOTHING = {"count": None, "list": None}


@pytest.fixture
def look(tmp_path):
    """A function from entries (or the name of a capture) to the facts of a machine that has just these files."""

    def facts(found, host=ReadingHost):
        captured.grow(tmp_path, captured.entries(found) if isinstance(found, str) else found)
        return _platform_facts.facts(host(str(tmp_path)), "Linux")

    return facts


def counts(unknown=0, **changes):
    words = ("high", "medium", "low")
    found = dict({"vertical_" + word: changes.get(word, 0) for word in words}, unknown=unknown)
    return dict(found, horizontal=changes.get("horizontal", 0))


def cpus(online, offline="", deconfigured=""):
    """The fact cpus; each state as (count, list) or an empty text for none."""
    states = (("online", online), ("offline", offline), ("deconfigured", deconfigured))
    return {state: {"count": value[0] if value else 0, "list": value[1] if value else ""} for state, value in states}


LPARS = {
    "horizontal": ("horizontal", counts(horizontal=4), cpus((4, "0-3")), 4),
    "vertical": ("vertical", counts(medium=4), cpus((4, "0-3")), 4),
    "vertical-cpu2-offline-cpu3-deconfigured": (
        "vertical",
        counts(medium=3, unknown=1),
        cpus((2, "0-1"), (1, "2"), (1, "3")),
        3,
    ),
}


@pytest.mark.parametrize(
    ("kernel", "name"), [("6.1", "horizontal"), ("6.1", "vertical")] + [("6.12", name) for name in sorted(LPARS)]
)
def test_captured_lpars(look, name, kernel):
    dispatching, polarization, states, ifls = LPARS[name]
    found = look("lpar-linux-%s-%s" % (kernel, name))
    scheduler = {"drawers": 1, "books": 1, "sockets": 1, "cores": states["online"]["count"]}
    topology = {"facility": True, "s390_topology": 1, "drawers": None, "books": None, "sockets": 1, "cores": 6}
    lpar = {"name": "HERCLAB", "number": 1, "processors": "shared", "capped": False, "ifls": ifls, "ifls_dedicated": 0}
    wanted = {
        "dispatching": dispatching,
        "polarization": polarization,
        "cpus": states,
        "topology": dict(topology, scheduler=scheduler),
        "lpar": dict(lpar, ifls_shared=ifls, ifls_standby=6 - ifls),
        "architecture": "s390x",
        "system": "Linux",
        "machine_type": "2817",
        "machine_model": "M49",
        "generation": "z196",
        "virtualization": "lpar",
        "hypervisors": [],
        "threads_per_core": 1,
        "threads_per_core_possible": 1,
        "smt_control": "notimplemented",
        "kernel_parameters": {},
        "kernel": {"6.1": "6.1.0-50-s390x", "6.12": "6.12.107+deb13-s390x"}[kernel],
    }
    assert {key: found[key] for key in wanted} == wanted
    new = {"enabled": True, "steal_threshold": 30, "delay_factor": 4}
    assert found["hiperdispatch"] == (new if kernel == "6.12" else dict.fromkeys(new))


def test_a_large_lpar(look):
    found = look(synthetic.large_lpar())
    assert found["cpus"] == cpus((196, "0-9,12-95,104-205"), (2, "10-11"), (2, "206-207"))
    assert found["polarization"] == counts(high=64, medium=4, low=130, unknown=2)
    assert (found["threads_per_core"], found["threads_per_core_possible"]) == (2, 2)
    topology = {"facility": True, "s390_topology": 1, "drawers": 5, "books": 2, "sockets": 2, "cores": 12}
    scheduler = {"drawers": 3, "books": 5, "sockets": 9, "cores": 98}
    assert found["topology"] == dict(topology, scheduler=scheduler)
    assert found["generation"] == "z15" and found["lpar"]["ifls"] == 100
    assert found["distribution"] == {"id": "sles", "version": "15.6", "name": "SUSE Linux Enterprise Server 15 SP6"}
    assert found["transparent_hugepages"] == "never" and found["kernel_parameters"] == {"possible_cpus": "256"}
    kinds = [interface["card_type"] for interface in found["interfaces"].values()]
    assert [kinds.count(kind) for kind in ("HiperSockets", "OSA", None)] == [16, 32, 16] and len(kinds) == 64
    assert found["interfaces"]["enc1003"]["lower"] == ["enc1000"]


def test_a_guest_of_zvm(look):
    found = look(synthetic.zvm_guest())
    assert found["virtualization"] == "zvm"
    assert found["hypervisors"] == [{"name": "LNX1", "program": "z/VM 7.3.0"}]
    assert (found["lpar"]["name"], found["lpar"]["processors"]) == ("SAPAPP1", "dedicated")
    # the LPAR of z/VM has SMT, its guests have not
    assert (found["threads_per_core"], found["threads_per_core_possible"]) == (1, 1)
    assert found["dispatching"] == "horizontal" and found["polarization"] == counts(horizontal=4)
    assert found["topology"]["facility"] is False and found["topology"]["s390_topology"] == 0
    assert found["topology"]["scheduler"] == {"drawers": 4, "books": 4, "sockets": 4, "cores": 4}
    assert found["topology"]["sockets"] is None and found["kernel_parameters"] == {"topology": "on"}
    kinds = {name: one["card_type"] for name, one in found["interfaces"].items()}
    assert kinds == {"enc600": "OSA", "enc700": "HiperSockets"}


OLD_KERNEL = "Type: 2817\nLPAR Number: 1\nLPAR Characteristics: Shared Limited\n"


@pytest.mark.parametrize(
    "sysinfo, kind, capped",
    [(synthetic.sysinfo(dedicated=number), kind, False) for number, kind in ((40, "mixed"), (100, "dedicated"))]
    # without counts, shared is told by its word
    + [(OLD_KERNEL, "shared", True)],
)
def test_processors_of_an_lpar(look, sysinfo, kind, capped):
    lpar = look({"/proc/sysinfo": sysinfo})["lpar"]
    assert (lpar["processors"], lpar["capped"]) == (kind, capped)


@pytest.mark.parametrize(
    "cpuinfo, siblings, expected",
    [
        ("max thread id   : 1\n", None, 2),
        ("max thread id   : 1\n", "0", 1),
        ("max thread id   : 0\n", "0-1", 2),
        ("max thread id   : 1\n", "garbage", 2),
        ("", None, None),
    ],
)
def test_threads_per_core(look, cpuinfo, siblings, expected):
    tree = {CPUS + "online": "0-1\n", "/proc/cpuinfo": cpuinfo}
    if siblings:
        tree[CPUS + "cpu0/topology/thread_siblings_list"] = siblings + "\n"
    assert look(tree)["threads_per_core"] == expected


@pytest.mark.parametrize(
    "tree, expected",
    [
        ({"/proc/sysinfo": synthetic.sysinfo()}, 2),
        # a z15 without SMT that a kernel says nothing of
        ({"/proc/sysinfo": "Type: 8561\n"}, None),
        ({"/proc/sysinfo": "Type: 8561\n", "/proc/cpuinfo": "max thread id   : 0\n"}, 1),
        ({"/proc/sysinfo": "Type: 2827\n"}, 1),
        ({}, None),
    ],
)
def test_possible_threads(look, tree, expected):
    assert look(tree)["threads_per_core_possible"] == expected


@pytest.mark.parametrize(
    "shown, cpu0, cpu1, expected",
    [
        ("0", "horizontal", "horizontal", "horizontal"),
        # vertical since before the boot of an old kernel
        ("0", "vertical:high", "vertical:low", "vertical"),
        ("1", "unknown", "unknown", "vertical"),
        ("0", "unknown", "unknown", "horizontal"),
        # only the CPUs that run count
        ("0", "horizontal", "vertical:low", "horizontal"),
        ("2", "unknown", "unknown", None),
        (None, "unknown", "unknown", None),
    ],
)
def test_dispatching(look, shown, cpu0, cpu1, expected):
    tree = {CPUS + "online": "0\n" if cpu0 == "horizontal" else "0-1\n"}
    tree.update({CPUS + "cpu0/polarization": cpu0 + "\n", CPUS + "cpu1/polarization": cpu1 + "\n"})
    if shown is not None:
        tree[CPUS + "dispatching"] = shown + "\n"
    assert look(tree)["dispatching"] == expected


def test_machines_other_than_z(look):
    tree = {"/proc/cpuinfo": "vendor_id\t: GenuineIntel\n", "/proc/sys/kernel/arch": "x86_64\n"}
    tree.update({CPUS + "cpu%d/topology/thread_siblings_list" % cpu: "0-1\n" for cpu in range(2)})
    found = look(dict(tree, **{CPUS + "online": "0-1\n"}))
    assert (found["architecture"], found["virtualization"], found["threads_per_core"]) == ("x86_64", "none", 2)
    unknown = ("machine_type", "generation", "lpar", "dispatching", "threads_per_core_possible", "smt_control")
    assert {found[key] for key in (*unknown, "capacity")} == {None}
    assert found["hypervisors"] == [] and set(found["polarization"].values()) == {None}
    assert found["topology"]["facility"] is False and found["topology"]["cores"] is None
    assert found["cpus"] == dict(cpus((2, "0-1")), deconfigured=NOTHING)


def test_an_empty_tree_has_every_key_and_knows_nothing(look):
    found = look({"/proc": {"folder": True}})
    large = _platform_facts.facts(ReadingHost("/nowhere"), "AIX")
    assert set(found) == set(large)
    known = {key for key, value in found.items() if value not in (None, [])}
    assert known == {"system", "cpus", "polarization", "topology", "hiperdispatch"}
    assert found["cpus"] == dict.fromkeys(("online", "offline", "deconfigured"), NOTHING)


CPACF = " des counter: unsupported\n aes counter: 192\n sha counter: 0\n ecc counter: disabled\n pai_user   : enabled\n"


@pytest.mark.parametrize(
    "features, answer, found",
    [
        ("esan3 zarch msa ldisp", CPACF, (True, True, {"aes": 192, "sha": 0})),
        ("esan3 zarch", " aes counter: 0\n", (False, False, {"aes": 0})),
        ("msa", "cpacfstats: Can't connect to daemon\n", (True, None, None)),
        ("msa", None, (True, None, None)),
    ],
)
def test_encryption_by_the_cpus(tmp_path, monkeypatch, features, answer, found):
    text = "vendor_id       : IBM/S390\nfeatures        : %s\n" % features
    captured.grow(tmp_path, {"/proc/cpuinfo": text})
    host = ReadingHost(str(tmp_path))
    if answer is not None:
        monkeypatch.setattr(
            host, "run", lambda argv, timeout: Result(0, answer, "") if argv == ["cpacfstats"] else None
        )
    assert _platform_facts.cpacf(host) == dict(zip(("available", "used", "counters"), found))


@pytest.mark.parametrize(
    "answer, level",
    [
        ("7300-02-01-2346\n", "7300-02-01-2346"),
        ("7200-05-08-2420\nextra\n", "7200-05-08-2420"),
        ("oslevel: usage\n", None),
        ("", None),
        (HostError("cannot run oslevel: No such file or directory", errno.ENOENT), None),
    ],
)
def test_aix(tmp_path, monkeypatch, answer, level):
    captured.grow(tmp_path, {"/usr/sap/C11/D00": {"folder": True}})
    host, asked = ReadingHost(str(tmp_path)), []

    def run(argv, timeout=30):
        asked.append(argv)
        if isinstance(answer, HostError):
            raise answer
        return Result(0, answer, "")

    monkeypatch.setattr(host, "run", run)
    found = _platform_facts.facts(host, "AIX")
    assert asked == [["oslevel", "-s"], ["lparstat", "-i"]] and found["capacity"]["entitled_cores"] is None
    assert found["aix_level"] == level
    assert [(one["sid"], one["number"], one["type"]) for one in found["sap_instances"]] == [("C11", "00", "D")]
    assert (found["system"], found["virtualization"]) == ("AIX", "none")
    rest = [key for key in found if key not in ("system", "virtualization", "aix_level", "sap_instances")]
    assert {key: found[key] for key in rest if isinstance(found[key], (str, int))} == {}
    assert found["interfaces"] is None and found["topology"]["facility"] is None


@pytest.mark.parametrize("number", [errno.EIO, errno.ENODEV])
def test_files_that_cannot_be_read_cost_only_their_own_facts(look, number):
    files = ("/proc/sysinfo", "/dispatching", "/cpu1/polarization", "/enc1000/mtu", "/os-release")

    class Failing(ReadingHost):
        def _content(self, path, target, follow):
            if path.endswith(files + ("thread_siblings_list",)):
                raise OSError(number, os.strerror(number))
            return super()._content(path, target, follow)

    found = look(synthetic.large_lpar(4), Failing)
    assert (found["machine_type"], found["virtualization"], found["architecture"]) == (None, None, "s390x")
    assert found["dispatching"] == "vertical" and found["distribution"] is None
    assert found["polarization"]["unknown"] == 3
    assert found["interfaces"]["enc1000"]["mtu"] is None and found["interfaces"]["enc1001"]["mtu"] == 1500
    # by /proc/cpuinfo
    assert found["threads_per_core"] == 2 and found["topology"]["scheduler"]["cores"] is None


HOSTILE = {
    "empty": "",
    "lines": "\n\n\n",
    "range": "0-99999999999",
    "minus": "-1",
    "zeros": "\x00" * 100,
    "bytes": "\udcff\udcfe",
    "template": "{{ lookup('pipe', 'id') }}",
    "digits": "9" * 5000,
    "equals": "=" * 999,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_stops_nothing(look, text):
    tree = captured.entries("lpar-linux-6.12-vertical-cpu2-offline-cpu3-deconfigured")
    tree.update(synthetic.interface("enc1000", "HiperSockets"))
    tree.update(synthetic.interface("enc1001", "OSD_25GIG"))
    paths = ["/proc/sysinfo", "/proc/cpuinfo", "/proc/cmdline", "/etc/os-release", "/proc/sys/s390/topology"]
    paths += ["/sys/class/net/enc1000/mtu", "/sys/class/net/enc1000/queues/rx-0/rps_cpus"]
    tree.update(dict.fromkeys(paths + [CPUS + "online", CPUS + "cpu0/polarization"], text))
    found = look(tree)
    assert found["cpus"]["deconfigured"] == {"count": 1, "list": "3"}
    assert found["interfaces"]["enc1001"]["card_type"] == "OSA"


def test_folders_that_are_not_cpus(look):
    names = ("cpu0", "cpufreq", "cpuidle", "cpu-1", "cpu9999999")
    tree = {CPUS + name + "/polarization": "horizontal\n" for name in names}
    assert look(dict(tree, **{CPUS + "online": "0\n"}))["polarization"] == counts(horizontal=1)


def test_sap_instances_of_a_captured_tree_have_no_status(look):
    profile = "/usr/sap/C11/SYS/profile/C11_DVEBMGS00_app1"
    unit = "/etc/systemd/system/SAPC11_00.service"
    (found,) = look(dict.fromkeys(["/usr/sap/C11/DVEBMGS00/exe/sapcontrol", profile, unit], ""))["sap_instances"]
    known = {"sid": "C11", "name": "DVEBMGS00", "number": "00", "type": "DVEBMGS", "role": "application_server"}
    known.update({"primary": True, "host": "app1", "profile": profile, "user": "c11adm", "unit": "SAPC11_00.service"})
    assert found == dict(known, enqueue=None, status=None, status_reason=None, kernel=None)


def test_the_status_of_sap_instances_is_asked_of_the_running_machine(tmp_path, monkeypatch):
    captured.grow(tmp_path, {"/usr/sap/C11/D00/exe/sapcontrol": ""})
    host = ReadingHost("/")
    monkeypatch.setattr(host, "path", lambda path: str(tmp_path) + path)
    monkeypatch.setattr(sapcontrol.SapControl, "status", lambda self: sapcontrol.Status("stopped", [], "why"))
    (found,) = _platform_facts.sap_instances(host)
    assert (found["sid"], found["status"], found["status_reason"]) == ("C11", "stopped", "why")


def test_kernel_parameters():
    text = "root=/dev/dasda1 smt=1 nosmt topology=off possible_cpus=64 xsmt=2 quiet\n"
    expected = {"smt": "1", "nosmt": "", "topology": "off", "possible_cpus": "64"}
    assert _platform_facts.kernel_parameters(text) == expected
    assert _platform_facts.kernel_parameters(None) is None


@pytest.mark.parametrize(
    "text, found",
    [
        ("ID=rhel\nVERSION_ID='9.4'\n", ("rhel", "9.4")),
        ('# x\nID="sles"\n\nVERSION_ID="15.6"\n', ("sles", "15.6")),
        ("no assignment", (None, None)),
    ],
)
def test_os_release(look, text, found):
    assert parse_os_release(text) == {"id": found[0], "version": found[1], "name": None}
    assert look({"/usr/lib/os-release": text})["distribution"]["id"] == found[0]


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
    assert found == [{"name": name, "program": " ".join(program.split())} for name, program in guests]


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
def test_a_damaged_kernel_configuration_is_ignored(host, damage):
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
