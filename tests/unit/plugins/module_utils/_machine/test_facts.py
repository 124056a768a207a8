# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts of captured LPARs and synthetic machines, of other systems, and of trees in which something is wrong."""

import errno
import os

import captured
import pytest
import synthetic
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError, Result
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.kernel import parse_os_release
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import facts as _platform_facts
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
    "vertical-cpu2-offline": ("vertical", counts(medium=4), cpus((3, "0-1,3"), (1, "2")), 4),
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


def test_what_is_no_z(look):
    tree = {"/proc/cpuinfo": "vendor_id\t: GenuineIntel\n", "/proc/sys/kernel/arch": "x86_64\n"}
    tree.update({CPUS + "cpu%d/topology/thread_siblings_list" % cpu: "0-1\n" for cpu in range(2)})
    found = look(dict(tree, **{CPUS + "online": "0-1\n"}))
    assert (found["architecture"], found["virtualization"], found["threads_per_core"]) == ("x86_64", "none", 2)
    for key in (
        "machine_type",
        "generation",
        "lpar",
        "dispatching",
        "threads_per_core_possible",
        "smt_control",
        "capacity",
    ):
        assert found[key] is None
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
        ("7300-00-00-0000\n", "7300-00-00-0000"),
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


def test_cpu_folders_that_are_none(look):
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
