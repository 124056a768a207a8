# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SAP instances on SMC: the line in the profile, the library in the processes, their connections, and the rollback."""

import os

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.journal import Journal
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.run import Run
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import smc_sockets
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._profiles import files as sap_restarts
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.sap_profile import SapProfile
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.smc import Smc
from clusters import ASCS, CIB, cib, joined, meta
from kernel import KernelHost
from runs import DEFAULTS, FOLDER, runner
from sapsystem import ASCS01, D00, D00_TEXT, DEFAULT, Clock, SapHost
from smcsystem import LIBRARY, RELEASE, TCP, SmcSapHost

run = runner(Smc, instances=["PRD_00"], pnet_ids=[], ueids=[], restart=[], restart_timeout=5, change="CHG0042")
LINE = b"SETENV_00 = LD_PRELOAD=libsmc-preload.so"
MODULES_DEP = "/lib/modules/%s/modules.dep" % RELEASE
LOADED, NOT = {"LD_PRELOAD": "libsmc-preload.so"}, {"LD_PRELOAD": "not loaded"}
ESTABLISHED = "   0: 0A00000A:9C40 0A00000B:0CE4 01 00000000:00000000 00:00000000 00000000  1000        0 %d 1 0\n"


@pytest.fixture
def sockets(monkeypatch):
    found = []
    monkeypatch.setattr(smc_sockets, "listed", lambda host: found)
    return found


@pytest.fixture
def host(tmp_path, monkeypatch, sockets):
    monkeypatch.setattr(sap_restarts, "time", Clock())
    return SmcSapHost(tmp_path)


def of(result, path=D00):
    (found,) = [record for record in result["tuning"] if record["subject"] == path]
    return found


def test_the_line_is_stored_at_once_and_in_force_after_a_restart(host):
    before = host.profiles()
    predicted = run(host, check=True)
    assert predicted["changed"] and host.profiles() == before
    assert of(predicted)["verdict"] == "drifted"
    result = run(host)
    assert result["diff"] == predicted["diff"]
    assert "%s LD_PRELOAD (stored): libsmc-preload.so\n" % D00 in result["diff"]["after"]
    found = of(result)
    assert (found["verdict"], found["restart"]) == ("pending_restart", "instance")
    assert "LD_PRELOAD: not loaded is in force, libsmc-preload.so after a restart of the instance" in found["reason"]
    assert found["after"] == {"running": NOT, "stored": LOADED, "next_boot": LOADED}
    assert host.data(D00).startswith(D00_TEXT + b"\n# zpower.sap_tuning ") and host.data(D00).endswith(LINE)
    assert b" change CHG0042\n" in host.data(D00)
    assert dict(host.profiles(), PRD_D00_app1=before["PRD_D00_app1"]) == before
    told = "to restart PRD_00, as prdadm: sapcontrol -nr 00 -function Stop, then sapcontrol -nr 00 -function "
    told += "RestartService, then sapcontrol -nr 00 -function Start; or smc_restart: [PRD_00]"
    assert told in found["remarks"]
    second = run(host, instances=["/usr/sap/PRD/SYS/profile/PRD_D00_app1"])
    assert not second["changed"] and of(second)["verdict"] == "pending_restart"
    assert not [call for call in host.calls if " Stop" in call or "-nr 01" in call]
    # neither ld.so.preload nor a default of systemd names the library, which would change other programs
    files = KernelHost.tree(host, "/etc")
    assert [path for path, text in files.items() if "preload" in path + text] == []
    # without entries only the modules are kept
    assert [path for path in files if "zpower" in path] == ["/etc/modules-load.d/91-zpower-sap-tuning-smc.conf"]


def test_a_restart_by_name_loads_the_library_and_the_rollback_takes_it_out(host):
    before = host.profiles()
    predicted = run(host, check=True, restart=["PRD_00"])
    result = run(host, restart=["PRD_00", "ABC_77"])
    assert result["diff"] == predicted["diff"]
    assert of(result)["verdict"] == "changed" and of(result)["after"]["running"] == LOADED
    again = run(host, restart=["PRD_00"])
    assert not again["changed"] and of(again)["verdict"] == "compliant"
    # a program without the library is named, and one that was replaced on disk counts
    for pid in (100, 101, 102):
        host.write_text("/proc/%d/maps" % pid, "7f02-7f03 r-xp 00000000 08:01 43   %s (deleted)\n" % LIBRARY)
    host.process(103, "icman", D00, "")
    found = of(run(host))
    assert found["verdict"] == "compliant"
    assert "3 of 4 processes of PRD_00 have loaded libsmc-preload.so; without it: icman (103)" in found["remarks"]
    text = host.data(D00)
    host.fill(D00, text + b"\nSETENV_20 = LD_PRELOAD=libother.so")
    found = of(run(host, check=True))
    assert found["verdict"] == "drifted" and "sets LD_PRELOAD again without %(LD_PRELOAD), so PRD" in found["reason"]
    host.fill(D00, text)
    back = run(host, state="restored", instances=[])
    assert of(back)["verdict"] == "pending_restart" and host.profiles() == before
    assert "libsmc-preload.so is in force, not loaded after a restart" in of(back)["reason"]
    done = run(host, state="restored", instances=[], restart=["PRD_00"])
    assert of(done)["after"]["running"] == NOT and not host.exists("/var/lib/zpower_sap_tuning/smc.json")
    assert not run(host, state="restored", instances=[])["changed"]


@pytest.mark.parametrize(
    "names, sentence",
    [
        (["PRD_00", D00], "PRD_00 is named twice"),
        (["PRD"], "instances: 'PRD' is not an instance; write system and number, such as PRD_00"),
        (["PRD_77"], "instances: this host has no instance PRD_77; it has PRD_01, PRD_00"),
        ([DEFAULT], "instances: .*DEFAULT.PFL is not the profile of an instance of this host"),
        (["PRD_01"], "SETENV_99 is used already"),
        (["PRD_00"], r"SETENV_12 \(line [0-9]+\) makes LD_PRELOAD longer than the 128 KiB"),
    ],
)
def test_impossible_requests_are_refused(host, names, sentence):
    # each line doubles it
    doubling = b"\nSETENV_%02d = LD_PRELOAD=%%(LD_PRELOAD):%%(LD_PRELOAD)"
    host.fill(
        D00, host.data(D00) + b"\nSETENV_00 = LD_PRELOAD=" + b"x" * 31 + b"".join(doubling % n for n in range(1, 40))
    )
    host.fill(ASCS01, host.data(ASCS01) + b"\nSETENV_99 = A=1")
    with pytest.raises(InputError, match=sentence):
        run(host, instances=names)
    assert not host.exists("/var/lib")


@pytest.mark.parametrize(
    "path, lines, new",
    [
        (D00, "SETENV_00 = A=1\nSETENV_05 = B=$(DIR)/x\nSETENV_3=C", b"SETENV_06 = LD_PRELOAD=libsmc-preload.so"),
        (D00, "SETENV_00 = LD_PRELOAD=libx.so", b"SETENV_01 = LD_PRELOAD=libsmc-preload.so:%(LD_PRELOAD)"),
        (DEFAULT, "SETENV_08 = LD_PRELOAD=libx.so", b"SETENV_09 = LD_PRELOAD=libsmc-preload.so:%(LD_PRELOAD)"),
        (D00, "#SETENV_07 = LD_PRELOAD=libx.so", LINE),
    ],
)
def test_a_new_line_gets_the_number_above_the_used_ones_and_keeps_other_libraries(host, path, lines, new):
    host.fill(path, host.data(path) + b"\n" + lines.encode())
    before = host.data(D00)
    run(host)
    assert host.data(D00).splitlines()[-1] == new
    run(host, state="restored", instances=[])
    assert host.data(D00) == before


def test_a_default_profile_with_the_library_does_not_keep_the_rollback_from_ending(host):
    host.fill(DEFAULT, host.data(DEFAULT) + b"SETENV_07 = LD_PRELOAD=libsmc-preload.so\n")
    before = host.profiles()
    run(host, restart=["PRD_00"])
    predicted = run(host, check=True, state="restored", restart=["PRD_00"])
    result = run(host, state="restored", restart=["PRD_00"])
    assert of(result)["verdict"] == "changed" and result["diff"] == predicted["diff"]
    assert host.profiles() == before and of(result)["after"]["running"] == LOADED
    assert Journal(host, "smc", FOLDER).entries == {}
    run(host)
    doubled = b"".join(b"SETENV_%d = LD_PRELOAD=x%%(LD_PRELOAD)%%(LD_PRELOAD)\n" % number for number in range(10, 60))
    host.fill(DEFAULT, host.data(DEFAULT) + doubled)
    assert of(run(host, state="restored"))["verdict"] == "pending_restart"


def test_a_kernel_without_smc_is_refused_and_told_loudly_if_it_comes_later(host):
    with_smc = {path: host.data(path) for path in ("/proc/net/protocols", MODULES_DEP)}
    host.kernel_without_smc()
    before = host.profiles()
    for check in (True, False):
        with pytest.raises(HostError, match="nothing was changed: .*every TCP socket of PRD_00 would fail"):
            run(host, check=check)
    assert host.profiles() == before and not host.exists("/var/lib")
    for path, data in with_smc.items():
        host.fill(path, data)
    run(host, restart=["PRD_00"])
    host.kernel_without_smc()
    result = run(host, check=True)
    assert not result["changed"] and of(result)["verdict"] == "drifted" and "DANGER: " in of(result)["reason"]
    assert "every TCP socket of PRD_00 fails from its next start on" in of(result)["reason"]
    assert of(run(host, state="restored", instances=[]))["verdict"] == "pending_restart"
    assert LINE not in host.data(D00)


def test_a_missing_library_is_refused_and_told_if_it_goes_later(host):
    host.remove(LIBRARY)
    before = host.profiles()
    with pytest.raises(HostError, match="nothing was changed: .*install smc-tools"):
        run(host)
    assert host.profiles() == before and not host.exists("/var/lib")
    debian = "/usr/lib/s390x-linux-gnu/libsmc-preload.so"
    host.write_text(debian, "")
    run(host, restart=["PRD_00"])
    host.remove(debian)
    found = of(run(host, check=True))
    assert found["verdict"] == "drifted" and "so PRD_00 uses TCP from its next start on" in found["reason"]


def test_a_library_that_setuid_programs_ignore_is_a_remark_and_a_line_of_the_site_is_left(host):
    def told(record):
        return [text for text in record["remarks"] if "set-user-ID" in text]

    assert told(of(run(host, restart=["PRD_00"]))) == []
    os.chmod(host.path(LIBRARY), 0o755)
    found = of(run(host, check=True))
    assert found["verdict"] == "compliant"
    (remark,) = told(found)
    assert remark.startswith(LIBRARY + " lacks the set-user-ID bit") and remark.endswith("chmod 4755 " + LIBRARY)
    assert told(of(run(host, state="restored", instances=[]))) == []
    # a line of the site is left as it is, and a stopped instance takes its when it starts
    host.fill(D00, D00_TEXT + b"\nSETENV_04 = LD_PRELOAD=/usr/lib64/libsmc-preload.so")
    host.running["00"] = None
    host.end("00")
    before = host.profiles()
    found = of(run(host, restart=["PRD_00"]))
    assert found["verdict"] == "compliant" and host.profiles() == before and found["after"]["running"] is None
    assert found["after"]["stored"] == {"LD_PRELOAD": "/usr/lib64/libsmc-preload.so"}
    assert "PRD_00 has no running process, and reads its profile when it starts" in found["remarks"]
    assert len([call for call in host.calls if call.endswith(" Start")]) == 1


def test_the_module_is_loaded_before_the_profile_is_written(host):
    host.write_text("/proc/net/protocols", "TCP 2432 5\n")
    host.module = False
    before = host.profiles()
    result = run(host)
    assert result["failed"] and host.profiles() == before
    assert "was not changed: modprobe smc" in of(result)["reason"] and "Operation not permitted" in of(result)["reason"]
    host.module = True
    run(host)
    assert host.calls.count("modprobe smc") > 1 and LINE in host.data(D00)


def test_an_instance_that_is_no_longer_asked_for_is_an_orphan(host):
    (found,) = run(host, instances=[])["tuning"]
    assert found["verdict"] == "not_applicable" and "no instance, PNET ID or UEID is asked for" in found["reason"]
    run(host)
    params = dict(DEFAULTS, instances=[], pnet_ids=[], ueids=["A"], restart=[], restart_timeout=5, change="")
    found = of(Run(Smc(host, params), Journal(host, "smc", FOLDER), "present", True, complete=True).run())
    assert found["verdict"] == "drifted" and "no longer asked for" in found["reason"]


def smc(mode, inode, reason=0):
    return smc_sockets.SmcSocket(mode, reason, 0, 40000, "10.0.0.2", 3300, inode)


def test_connections_are_counted_with_the_kernels_reasons(host, sockets):
    run(host, restart=["PRD_00"])
    for pid, inode in ((100, 1), (101, 1), (101, 2), (102, 3), (103, 4), (103, 5)):
        host.opens(pid, inode)
    listening = smc_sockets.SmcSocket(None, 0, 0, 3300, "0.0.0.0", 0, 4)
    sockets += [smc("SMCR", 1), smc("SMCD", 2), smc("TCP", 3, 0x03010000), listening, smc("SMCR", 99)]
    host.write_text("/proc/net/tcp", TCP + ESTABLISHED % 5 + ESTABLISHED % 77)
    found = of(run(host))
    assert (
        "connections of PRD_00 now: 1 SMCD, 1 SMCR, 1 TCP instead of SMC, 0x03010000 (the peer does not support SMC), "
        "1 TCP, not opened as SMC"
    ) in found["remarks"]
    assert found["verdict"] == "compliant"


def test_the_variable_alone_is_neither_proof_nor_a_reason_to_restart_again(host):
    host.loads = False
    told = "PRD_00 was started with LD_PRELOAD=libsmc-preload.so, and no process of it has loaded"
    for _time in range(2):
        result = run(host, restart=["PRD_00"])
        assert of(result)["verdict"] == "pending_restart" and told in of(result)["reason"]
        assert len([call for call in host.calls if " Stop" in call]) == 1
    assert not result["changed"]


def test_a_restart_that_does_not_bring_the_variable_is_a_failure(host, monkeypatch):
    monkeypatch.setattr(host, "start_instance", lambda number: SapHost.start_instance(host, number))
    host.process(100, "dw.sapPRD_D00", D00, "")
    monkeypatch.setattr(host, "end", lambda number: None)
    result = run(host, restart=["PRD_00"])
    assert result["failed"] and "not loaded, although libsmc-preload.so was written" in of(result)["reason"]
    assert "were started without the variable LD_PRELOAD" in of(result)["reason"]


def test_processes_that_this_user_may_not_read_are_unknown(host, monkeypatch):
    real = SmcSapHost.data

    def data(self, path, follow=True):
        if path.endswith("/maps"):
            raise HostError("cannot read %s: Permission denied" % path, 13)
        return real(self, path, follow)

    monkeypatch.setattr(SmcSapHost, "data", data)
    found = of(run(host))
    assert found["verdict"] == "changed"
    told = "whether PRD_00 has loaded libsmc-preload.so is not known"
    assert [remark for remark in found["remarks"] if remark.startswith(told)]


def test_a_captured_tree_is_not_asked_for_the_sockets_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(smc_sockets, "sockets", lambda: pytest.fail("the kernel of this machine was asked"))
    host = SmcSapHost(tmp_path)
    assert "connections of PRD_00 now: none" in of(run(host, check=True))["remarks"]

    def fails(_host):
        raise OSError(2, "No such file or directory")

    monkeypatch.setattr(smc_sockets, "listed", fails)
    told = "how the connections of PRD_00 travel is not known ([Errno 2] No such file or directory)"
    assert told in of(run(host, check=True))["remarks"]


# two tunings that write one profile

profile = runner(
    SapProfile, restart=[], restart_timeout=5, sid="PRD", instance="D00", profile=None, change="", profiles=[]
)


@pytest.mark.parametrize("first, second", [(run, profile), (profile, run)])
def test_two_tunings_write_one_profile_and_each_takes_back_its_own(host, first, second):
    before = host.profiles()
    given = {run: {}, profile: {"parameters": {"rdisp/wp_no_btc": 12, "zz/new": "1"}}}
    for one in (first, second):
        one(host, **given[one])
    text = host.data(D00)
    assert LINE in text and b"zz/new = 1" in text and b"rdisp/wp_no_btc = 12" in text
    for one in (first, second):
        request = {"instances": []} if one is run else {"sid": None, "instance": None}
        one(host, state="restored", **request)
    assert host.profiles() == before


# a node of a cluster


@pytest.mark.parametrize("tuning", [run, profile])
def test_what_a_cluster_manages_is_not_restarted_behind_its_back(host, tuning):
    asked = {run: {"instances": ["PRD_01"]}, profile: {"instance": "ASCS01", "parameters": {"zz/new": "1"}}}[tuning]
    asked = dict(asked, restart=["PRD_00", "PRD_01"])
    joined(host, cib(ASCS % ""))
    before = host.profiles()
    for more in ({"check": True}, {}):
        result = tuning(host, **asked, **more)
        found = of(result, ASCS01)
        assert result["failed"] and found["verdict"] == "failed" and "rsc_sap_PRD_ASCS01" in found["reason"]
        assert "--set-parameter maintenance" in found["reason"] and host.profiles() == before
    found = of(tuning(host, **dict(asked, restart=[])), ASCS01)
    assert found["verdict"] == "pending_restart" and "Stop" not in "".join(found["remarks"])
    # by name, and the rollback in maintenance
    assert of(tuning(host, **asked, restart_in_cluster=True), ASCS01)["verdict"] == "changed"
    tuned, back = host.profiles(), dict(asked, state="restored", parameters={})
    assert "PRD_01 is not restarted" in of(tuning(host, **back), ASCS01)["reason"] and host.profiles() == tuned
    host.fill(CIB, cib(ASCS % meta("maintenance", "true")))
    predicted, done = (of(tuning(host, check=check, **back), ASCS01) for check in (True, False))
    for record in (predicted, done):
        assert "A restart of PRD_01 loses its locks: no ERS is known" in record["remarks"]
    assert done["verdict"] == "changed" and host.profiles() == before
    assert len([call for call in host.calls if call.endswith("-nr 01 -function Stop")]) == 2


def test_a_restart_that_a_cluster_forbids_is_told_although_nothing_needs_it(host):
    joined(host, cib(ASCS % ""))
    host.fill(ASCS01, host.data(ASCS01) + b"\nStart_Program_01 = local enq.sapPRD_ASCS01\n")
    found = of(profile(host, True, instance="ASCS01", parameters={"enque/table_size": 1}, restart=["PRD_01"]), ASCS01)
    assert found["verdict"] == "not_applicable" and "rsc_sap_PRD_ASCS01" in found["remarks"][0]
