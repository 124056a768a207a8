# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which SAP instances a host has, and which profile is whose, from trees as they lie on disks."""

import errno
import os
import platform
import pwd
import time

import captured
import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import commands
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.reading import opened
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.locks import enqueue
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap import instances, processes, realtime, start_times
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.instances import Instance
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.sapcontrol import SapControl
from waiting import until

FOLDER = {"folder": True}
PROFILES = "/usr/sap/PRD/SYS/profile/"
OLD_LAYOUT = (
    "LD_LIBRARY_PATH=/usr/sap/PRD/D00/exe:$LD_LIBRARY_PATH; export LD_LIBRARY_PATH;"
    " /usr/sap/PRD/D00/exe/sapstartsrv pf=%s -D -u prdadm\n"
)
NEW_LAYOUT = "systemctl --no-ask-password start SAPPRD_00 # sapstartsrv pf=%s\n"
UNIT = "[Service]\nExecStart=/usr/sap/PRD/D00/exe/sapstartsrv pf=%s\nLimitNOFILE=1048576\n"

ENSA1_ASCS = """\
SAPSYSTEMNAME = PRD
_CPARG0 = list:$(DIR_CT_RUN)/scs.lst
_EN = en.sap$(SAPSYSTEMNAME)_$(INSTANCE_NAME)
Execute_03 = local rm -f $(_EN)
Execute_04 = local ln -s -f $(DIR_EXECUTABLE)/enserver$(FT_EXE) $(_EN)
Start_Program_00 = local $(_MS) pf=$(_PF)
Start_Program_01 = local $(_EN) pf=$(_PF)
"""
ENSA2_ASCS = """\
_ENQ = enq.sap$(SAPSYSTEMNAME)_$(INSTANCE_NAME)
Restart_Program_00 = local $(_MS) pf=$(_PF)
Start_Program_01 = local $(_ENQ) pf=$(_PF)
"""


@pytest.fixture
def grown(tmp_path):
    def plant(tree, kind=Host):
        captured.grow(tmp_path, tree)
        return kind(str(tmp_path))

    return plant


def test_all_kinds_of_instances_sorted(grown):
    prd = ("D00", "DVEBMGS02", "ASCS01", "ERS10", "SCS03", "J04", "JC05", "G06", "SYS", "D1", "d07", "D00.old")
    others = ("H4H/HDB10", "DAA/SMDA98", "WD1/W20", "hostctrl/exe", "trans/D00", "TOOLONG/D00", "prd/D00")
    tree = {"/usr/sap/" + name: FOLDER for name in ["PRD/" + name for name in prd] + list(others)}
    found = instances.instances(grown(tree))
    assert [" ".join((one.sid, one.name, one.number, one.type, one.role)) for one in found] == [
        "DAA SMDA98 98 SMDA diagnostics",
        "H4H HDB10 10 HDB hana",
        "PRD ASCS01 01 ASCS ascs",
        "PRD D00 00 D application_server",
        "PRD DVEBMGS02 02 DVEBMGS application_server",
        "PRD ERS10 10 ERS ers",
        "PRD G06 06 G other",
        "PRD J04 04 J java",
        "PRD JC05 05 JC java",
        "PRD SCS03 03 SCS ascs",
        "WD1 W20 20 W web_dispatcher",
    ]


def test_what_does_not_exist_is_not_an_instance(grown):
    assert instances.instances(grown({"/proc": FOLDER})) == []
    (one,) = instances.instances(grown({"/usr/sap/PRD/D00/exe": FOLDER}))
    assert (one.primary, one.host, one.profile, one.exe, one.enqueue, one.unit) == (None,) * 6
    (one,) = instances.instances(grown({"/usr/sap/PRD/SYS/exe/run/sapcontrol": ""}))
    assert one.exe == "/usr/sap/PRD/SYS/exe/run"
    (one,) = instances.instances(grown({"/usr/sap/PRD/D00/exe/sapcontrol": ""}))
    assert (one.exe, one.home) == ("/usr/sap/PRD/D00/exe", "/usr/sap/PRD/D00")


@pytest.mark.parametrize("line", [OLD_LAYOUT, NEW_LAYOUT])
def test_an_active_line_of_sapservices_is_an_instance_whose_folder_is_elsewhere(grown, line):
    text = "#!/bin/sh\nlimit.descriptors=1048576\n" + line % (PROFILES + "PRD_D00_app1")
    (one,) = instances.instances(grown({"/usr/sap/sapservices": text}))
    # named, but on a file system that is not mounted
    assert (one.sid, one.name, one.profile, one.exe) == ("PRD", "D00", None, None)
    for comment in ("#", " \t # "):
        assert instances.instances(grown({"/usr/sap/sapservices": text.replace("\n", "\n" + comment)})) == []


def test_lines_of_sapservices():
    text = (
        "#!/bin/sh\n\n"
        + OLD_LAYOUT % "/usr/sap/PRD/SYS/profile/START_D00_app1"
        + "#"
        + NEW_LAYOUT % "/usr/sap/PRD/ERS10/profile/PRD_ERS10_ers"
        + "/usr/sap/hostctrl/exe/sapstartsrv pf=/usr/sap/hostctrl/exe/host_profile -D\n"
        + '  /usr/sap/H4H/HDB10/exe/sapstartsrv pf="/usr/sap/H4H/SYS/profile/H4H_HDB10_db" -D -u h4hadm;\n'
        + "sapstartsrv without a profile\nsapstartsrv pf=/elsewhere/START_D00_app1\n"
    )
    found = [tuple(one) for one in instances.parse_services(text)]
    assert found == [
        ("PRD", "D00", "/usr/sap/PRD/SYS/profile/PRD_D00_app1", True),
        ("PRD", "ERS10", "/usr/sap/PRD/ERS10/profile/PRD_ERS10_ers", False),
        ("H4H", "HDB10", "/usr/sap/H4H/SYS/profile/H4H_HDB10_db", True),
    ]
    # a NUL hides its own line only
    (one,) = instances.parse_services(OLD_LAYOUT % (APP1 + "\0x") + OLD_LAYOUT % APP1)
    assert one.profile == APP1
    for hostile in ("", "\x00\udcff\n" * 9, "pf=" * 9999, "sapstartsrv " * 9999, "sapstartsrv pf=\n"):
        assert instances.parse_services(hostile) == []


@pytest.mark.parametrize(
    "text, expected",
    [
        (ENSA1_ASCS, "ENSA1"),
        (ENSA2_ASCS, "ENSA2"),
        (ENSA2_ASCS.replace("\n", "\r\n"), "ENSA2"),
        (
            "_ER = er.sap$(SAPSYSTEMNAME)_$(INSTANCE_NAME)\nStart_Program_00 = local $(_ER) pf=$(_PFL) NR=$(SCSID)",
            "ENSA1",
        ),
        ("_ENQR=enqr.sapPRD_ERS10\nRestart_Program_00=local $(_ENQR) pf=$(_PF) NR=$(SCSID)\n", "ENSA2"),
        ("Start_Program_01 = local $(DIR_EXECUTABLE)/enserver pf=$(_PF)\n", "ENSA1"),
        ("Start_Program_01 = local $(DIR_EXECUTABLE)/enq_server$(FT_EXE) pf=$(_PF)\n", "ENSA2"),
        # what was before a conversion stands as a comment, or is linked but not started
        ("#" + "\n#".join(ENSA1_ASCS.splitlines()) + "\n" + ENSA2_ASCS, "ENSA2"),
        ("_EN = en.sapPRD_ASCS01\n" + ENSA2_ASCS, "ENSA2"),
        ("_EN = en.sapPRD_ASCS01\nExecute_04 = local ln -s -f enserver $(_EN)\n", None),
        ("Start_Program_00 = local $(_MS) pf=$(_PF)\n", None),
        ("", None),
    ],
)
def test_the_lock_server_is_the_one_that_is_started(text, expected):
    assert instances.parse_enqueue(text) == expected


def test_only_central_services_and_their_replication_have_a_lock_server(grown):
    names = ("ASCS01", "ERS10", "D00")
    tree = {PROFILES + "PRD_%s_app1" % name: ENSA2_ASCS for name in names}
    tree.update({"/usr/sap/PRD/" + name: FOLDER for name in names})
    found = {one.name: one.enqueue for one in instances.instances(grown(tree))}
    assert found == {"ASCS01": "ENSA2", "ERS10": "ENSA2", "D00": None}


def two_profiles(**more):
    """A tree with profiles of D00 for two hosts, and copies of them."""
    names = ("PRD_D00_app1", "PRD_D00_app2", "PRD_D00_app1.bak", "START_D00_app1", "PRD_D001_app1", ".PRD_D00_app1")
    tree = {PROFILES + name: "" for name in names}
    tree.update({"/usr/sap/PRD/D00": FOLDER, PROFILES + "DEFAULT.PFL": ""})
    tree.update(more)
    return tree


APP1, APP2 = PROFILES + "PRD_D00_app1", PROFILES + "PRD_D00_app2"
HOSTNAME, SERVICES = "/proc/sys/kernel/hostname", "/usr/sap/sapservices"
SYSTEMD, OWN_FOLDER = "/etc/systemd/system/SAPPRD_00.service", "/usr/sap/PRD/D00/profile/PRD_D00_x"


@pytest.mark.parametrize(
    "more, expected",
    [
        ({SERVICES: NEW_LAYOUT % APP2}, APP2),
        ({SERVICES: OLD_LAYOUT % (PROFILES + "START_D00_app2")}, APP2),
        ({SYSTEMD: UNIT % APP2}, APP2),
        ({SERVICES: "#" + NEW_LAYOUT % APP2}, APP2),
        ({HOSTNAME: "app2\n"}, APP2),
        ({HOSTNAME: "APP2.example.com\n"}, APP2),
        ({"/etc/hostname": "app2\n"}, APP2),
        # one before the other
        ({SERVICES: NEW_LAYOUT % APP2, SYSTEMD: UNIT % APP1, HOSTNAME: "app1\n"}, APP2),
        ({SERVICES: "# " + NEW_LAYOUT % APP1, SYSTEMD: UNIT % APP2, HOSTNAME: "app1\n"}, APP2),
        ({SERVICES: "#" + NEW_LAYOUT % APP2, HOSTNAME: "app1\n"}, APP2),
        # two lines for one instance: the one of this host; without that name they tell nothing
        ({SERVICES: NEW_LAYOUT % APP1 + NEW_LAYOUT % APP2, HOSTNAME: "app2\n"}, APP2),
        ({SERVICES: NEW_LAYOUT % APP1 + NEW_LAYOUT % APP2, SYSTEMD: UNIT % APP2}, APP2),
        # what is named and is not there, is another instance's, or another system's
        ({SERVICES: NEW_LAYOUT % (PROFILES + "PRD_D00_gone"), HOSTNAME: "app2\n"}, APP2),
        ({SERVICES: NEW_LAYOUT % (PROFILES + "PRD_D01_app1"), SYSTEMD: UNIT % APP2}, APP2),
        ({SYSTEMD: UNIT % "/usr/sap/QAS/SYS/profile/QAS_D00_app1", HOSTNAME: "app2\n"}, APP2),
        # the replication of locks may have a folder of its own
        ({SERVICES: NEW_LAYOUT % OWN_FOLDER, OWN_FOLDER: ""}, OWN_FOLDER),
    ],
)
def test_which_of_several_profiles_belongs_to_this_host(grown, more, expected):
    host = grown(two_profiles(**more))
    assert instances.profile_of(host, "PRD", "D00") == expected
    (one,) = [one for one in instances.instances(host) if one.name == "D00"]
    assert (one.profile, one.host) == (expected, expected.rpartition("_")[2])


def test_an_only_profile_is_the_one_also_with_a_virtual_host_name(grown):
    host = grown({PROFILES + "PRD_ASCS01_sapascs": "", PROFILES + "PRD_ASCS01_sapascs.1": "", HOSTNAME: "node1\n"})
    assert instances.profile_of(host, "PRD", "ASCS01") == PROFILES + "PRD_ASCS01_sapascs"


def test_this_hosts_own_name(grown, monkeypatch):
    host = grown(two_profiles())
    monkeypatch.setattr(platform, "node", lambda: "app2")
    with pytest.raises(InputError):
        instances.profile_of(host, "PRD", "D00")

    class Running(Host):
        """The tree as if it were the machine itself; AIX has no /proc/sys."""

        def path(self, path):
            return os.path.join(host.root, path.lstrip("/"))

    assert instances.profile_of(Running(), "PRD", "D00") == APP2


def test_the_folder_of_profiles(grown):
    host = grown({"/sapmnt/PRD/profile/DEFAULT.PFL": "", "/sapmnt/QAS/profile": FOLDER})
    assert instances.profile_folder(host, "PRD") == "/sapmnt/PRD/profile"
    assert instances.default_profile(host, "PRD") == "/sapmnt/PRD/profile/DEFAULT.PFL"
    grown({PROFILES + "PRD_D00_app1": ""})
    assert instances.profile_folder(host, "PRD") == "/usr/sap/PRD/SYS/profile"
    with pytest.raises(InputError, match="no default profile: /usr/sap/PRD/SYS/profile/DEFAULT.PFL does not exist"):
        instances.default_profile(host, "PRD")
    grown({PROFILES + "DEFAULT.PFL": ""})
    assert instances.default_profile(host, "PRD") == PROFILES + "DEFAULT.PFL"
    assert instances.profile_folder(host, "XYZ") is None


@pytest.mark.parametrize(
    "sid, name, words",
    [
        ("XYZ", "D00", "sid: this host has no system XYZ: neither /usr/sap/XYZ/SYS/profile nor /sapmnt/XYZ/profile"),
        ("prd", "D00", "sid: prd is not a system ID, such as PRD"),
        ("../../etc", "D00", "sid: ../../etc is not a system ID"),
        ("PRD\n", "D00", "sid: PRD\n is not a system ID"),
        ("PRD", "D0", "instance: D0 is not the name of an instance, such as D00 or ASCS01"),
        ("PRD", "D*", "instance: D* is not the name of an instance"),
        ("PRD", "D07", "instance: PRD has no profile of D07 in /usr/sap/PRD/SYS/profile"),
        ("PRD", "D00", "PRD has several profiles of D00 in /usr/sap/PRD/SYS/profile (PRD_D00_app1, PRD_D00_app2)"),
    ],
)
def test_a_name_without_one_profile_gets_one_sentence(grown, sid, name, words):
    host = grown(two_profiles())
    with pytest.raises(InputError) as error:
        instances.profile_of(host, sid, name)
    assert words in str(error.value)
    assert [one.profile for one in instances.instances(host)] == [None]


class Stale(Host):
    def listdir(self, path):
        if path.endswith("/profile"):
            raise HostError("cannot list %s: Stale file handle" % path, errno.ESTALE)
        return super().listdir(path)


def test_a_shared_folder_that_does_not_answer_hides_only_the_profile(grown):
    host = grown(two_profiles(), Stale)
    (one,) = instances.instances(host)
    assert (one.sid, one.name, one.profile, one.host) == ("PRD", "D00", None, None)
    with pytest.raises(HostError, match="Stale file handle"):
        instances.profile_of(host, "PRD", "D00")


def test_links_of_a_captured_tree_lead_into_it(grown):
    host = grown(
        {
            "/sapmnt/PRD/profile/PRD_ASCS01_ascs": ENSA2_ASCS,
            "/usr/sap/PRD/SYS/profile": {"link": "/sapmnt/PRD/profile"},
            "/usr/sap/PRD/ASCS01": FOLDER,
            "/proc": FOLDER,
            "/sys": FOLDER,
        },
        opened,
    )
    (one,) = instances.instances(host)
    assert (one.profile, one.enqueue) == (PROFILES + "PRD_ASCS01_ascs", "ENSA2")
    assert host.remarks == []


# A process that only calls itself an instance's is not the instance's: its user decides, whom the kernel tells.


ADM, STRANGER = 48123, pwd.getpwnam("nobody").pw_uid
# of this process alone: the same test may run in another session
SID = "%s%02d" % ("EFGHIJKLMN"[os.getpid() // 100 % 10], os.getpid() % 100)
PROFILE = "pf=/usr/sap/{0}/SYS/profile/{0}_D00_app1".format(SID)
D00 = Instance(**dict(dict.fromkeys(Instance._fields), sid=SID, name="D00", number="00", user=SID.lower() + "adm"))
PASSWD = {"/etc/passwd": "root:x:0:0::/root:/bin/sh\n%s:x:%d:79::/home/x:/bin/csh\n" % (D00.user, ADM)}


@pytest.fixture
def start(monkeypatch):
    """A function that starts a process of this name, with these real and effective users; it returns the process id."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    monkeypatch.setattr(processes, "uid_of", lambda name: ADM if name == D00.user else None)
    begun = []

    def begin(name, real, effective=None):
        def become():
            os.setresuid(real, real if effective is None else effective, 0 if effective is None else effective)

        # -p: it keeps its effective user
        child = commands.start([name, "-p", "-c", "sleep 600; :", PROFILE], become, executable="/bin/sh")
        begun.append(child)
        # until then the shell's own child has the shell's name
        until(lambda: sleeps(child.pid), "the shell has started its sleep")
        return child.pid

    yield begin
    for child in begun:
        commands.end(child)


def sleeps(pid):
    """Whether the shell of this process has started its sleep."""
    children = (Host().read("/proc/%d/task/%d/children" % (pid, pid)) or "").split()
    return [(Host().read("/proc/%s/cmdline" % child) or "").split("\0")[0] for child in children] == ["sleep"]


def seen():
    """What counts as the instance's: its processes, its work processes, its start services."""
    return (
        [one.pid for one in processes.of_instance(Host(), D00)],
        [pid for pid, _policy, _priority in realtime.work_processes(Host(), SID, "D00")],
        SapControl(Host(), D00)._service_pids(),
    )


@pytest.mark.parametrize("users", [(STRANGER,), (STRANGER, ADM), (STRANGER, 0), (ADM, STRANGER)])
def test_a_strangers_process_does_not_belong_to_an_instance(start, users):
    """Also if it runs a program that is setuid <sid>adm or setuid root."""
    start("dw.sap%s_D00" % SID, *users)
    start("sapstartsrv", *users)
    assert seen() == ([], [], set())


@pytest.mark.parametrize("users", [(ADM,), (0,), (ADM, 0)])
def test_processes_of_sidadm_and_root_are_those_of_an_instance(start, monkeypatch, users):
    start("dw.sap%s_D00" % SID, STRANGER)
    work, service = start("dw.sap%s_D00" % SID, *users), start("sapstartsrv", *users)
    assert seen() == ([work], [work], {service})
    # without <sid>adm only those of root count
    monkeypatch.setattr(processes, "uid_of", lambda name: None)
    assert seen() == (([work], [work], {service}) if users == (0,) else ([], [], set()))


def process(pid, name, users):
    base, after = "/proc/%d/" % pid, " ".join(["0"] * 17 + ["100000"] + ["0"] * 30)
    files = {base + "cmdline": "%s\0%s\0" % (name, PROFILE), base + "stat": "%d (x) S 1 %s\n" % (pid, after)}
    if users:
        files[base + "status"] = "Name:\tx\nUid:\t%d\t%d\t0\t0\nGid:\t0\t0\t0\t0\n" % users
    return files


@pytest.mark.parametrize(
    "files, users, counts",
    [
        (PASSWD, (ADM, ADM), True),
        (PASSWD, (0, 0), True),
        (PASSWD, (STRANGER, STRANGER), False),
        # a capture that does not tell its users is believed
        (PASSWD, None, True),
        ({}, (STRANGER, STRANGER), True),
        ({"/etc/passwd": PASSWD["/etc/passwd"].replace(D00.user, "y" + D00.user)}, (STRANGER, STRANGER), True),
    ],
)
def test_a_capture_that_tells_its_users_is_judged_by_them(tmp_path, files, users, counts):
    captured.grow(tmp_path, dict(files, **process(7, "dw.sap%s_D00" % SID, users)))
    assert bool(processes.of_instance(Host(str(tmp_path)), D00)) is counts


@pytest.mark.parametrize("user, counts", [(ADM, True), (0, True), (STRANGER, False)])
def test_a_socket_of_a_stranger_does_not_tell_when_the_start_service_began(tmp_path, user, counts):
    """In /tmp, anybody can create it while sapstartsrv does not run."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    socket = "/tmp/.sapstream50013"
    captured.grow(tmp_path, dict(PASSWD, **{socket: "", "/profile": "", "/proc/uptime": "5000.00 1.00\n"}))
    captured.grow(tmp_path, process(7, "sapstartsrv", (ADM, ADM)))
    host = Host(str(tmp_path))
    os.chown(host.path(socket), user, -1)
    # the process is 4000 s old, the socket new
    began = start_times._service_started(host, D00)
    assert (began > time.time() - 3000) is counts


@pytest.mark.parametrize("user, kind", [(ADM, "ENSA2"), (STRANGER, None)])
def test_a_strangers_lock_server_does_not_count(tmp_path, user, kind):
    captured.grow(tmp_path, dict(PASSWD, **process(7, "enq.sap%s_ASCS01" % SID, (user, user))))
    assert enqueue._running_kind(Host(str(tmp_path)), SID, "ASCS01")[0] == kind
    assert processes.owners(Host(), "A\0B") == (0,)
