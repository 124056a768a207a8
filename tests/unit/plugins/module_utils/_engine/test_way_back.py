# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rollback: interfaces under new names, copied machines, orphans, leftovers of killed runs, broken journals."""

import errno
import itertools
import json
import os
import platform
import shutil
import stat

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import journal
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.journal import Journal
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.run import Run
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.drop_ins import DropIn
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError, Result
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.kernel import machine_of
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings import cpu_topology, smc_sysctls
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._rps.stored import RULES, RULES_HEADER
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.cpu_polarization import (
    DISPATCHING,
    CpuPolarization,
)
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.cpu_topology import CpuTopology
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.rps import FLOW_FILE, Rps
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.sap_profile import SapProfile
from kernel import QUEUE, KernelHost, rps_params
from runs import FOLDER, only, records, refusal, runner, verdicts
from sapsystem import ASCS01, D00, D00_TEXT, SapHost
from smckernel import SYSCTLS, SmcHost

CALLS = ("open", "write", "fsync", "rename", "unlink", "mkdir", "rmdir", "ftruncate")
KILLED = 77


def killed(work, number):
    """Do the work in a child that ends before this call (from 1); whether it came to that call."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            left = itertools.count(1)
            for name in CALLS:
                setattr(os, name, _ending(name, getattr(os, name), left, number))
            work()
            status = 0
        finally:
            os._exit(status)
    status = os.waitpid(child, 0)[1]
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) in (0, KILLED), status
    return os.WEXITSTATUS(status) == KILLED


def _ending(name, call, left, number):
    def counted(*arguments, **options):
        reads = name == "open" and not arguments[1] & os.O_CREAT
        if not reads and next(left) == number:
            os._exit(KILLED)
        return call(*arguments, **options)

    return counted


def whole(host, *tops):
    """{path: (mode, content or None)} of all files and folders below these folders."""
    found = {}
    for top in tops:
        for folder, _folders, names in os.walk(host.path(top)):
            for path in [folder] + [os.path.join(folder, name) for name in names]:
                content = None
                if path != folder:
                    with open(path, "rb") as stream:
                        content = stream.read()
                found[os.path.relpath(path, host.root)] = (stat.S_IMODE(os.stat(path).st_mode), content)
    return found


NET = "/sys/class/net/"
MAIN = FOLDER + "/rps.json"
ID = "/etc/machine-id"
EVERYTHING = ("/etc", "/proc", "/sys", "/var")
ONE_ID, OTHER_ID = "3d1219c7c4c5404aaa1f6d2a48adfda4", "0123456789abcdef0123456789abcdef"

run = runner(Rps, **rps_params())


def complete(host, check=True, **params):
    """A call that names all that is wanted, as a role makes it; verify makes it in check mode."""
    params = rps_params(**params)
    return Run(
        Rps(host, params), Journal(host, "rps", FOLDER), params["state"], check, params["force"], complete=True
    ).run()


def card(host, name, bus_id):
    """Let an interface be one of a device, as /sys shows it."""
    device = host.path("/sys/devices/qeth/" + bus_id)
    os.makedirs(device, exist_ok=True)
    os.symlink(device, host.path(NET + name + "/device"))


def rename(host, old, new):
    os.rename(host.path(NET + old), host.path(NET + new))


def mask(host, name, queue=0):
    return host.value("%s%s/queues/rx-%d/rps_cpus" % (NET, name, queue))


@pytest.fixture
def host(tmp_path):
    host = KernelHost(tmp_path).interface("hsi0", queues=2)
    card(host, "hsi0", "0.0.0600")
    return host


@pytest.mark.parametrize("chosen", [["auto"], ["hsi0"], ["enc1"]])
def test_an_interface_is_taken_back_under_its_new_name_and_its_rule_under_the_old_one(host, chosen):
    run(host)
    rename(host, "hsi0", "enc1")
    # what is not chosen is not an empty journal
    assert "the journal has none of it" in only(run(host, state="restored", interfaces=["eth9"]))["reason"]
    record = only(run(host, state="restored", interfaces=chosen))
    assert (record["subject"], record["verdict"]) == ("enc1", "changed")
    assert [mask(host, "enc1", number) for number in range(2)] == ["0", "0"]
    assert not host.exists(RULES) and not host.exists(FOLDER)


def test_a_permanent_address_is_known_again_and_a_random_one_is_not(host):
    for name, address, kind in (("eth0", "02:00:00:00:00:07", "0"), ("veth0", "02:00:00:00:00:08", "1")):
        host.interface(name)
        host.fill(NET + name + "/address", address)
        host.fill(NET + name + "/addr_assign_type", kind)
    run(host, interfaces=["eth0", "veth0"])
    rename(host, "eth0", "eth1")
    rename(host, "veth0", "veth1")
    found = records(run(host, state="restored"))
    assert found["eth1"]["verdict"] == "changed" and mask(host, "eth1") == "0"
    assert found["veth0"]["verdict"] == "drifted" and "no longer has an interface veth0" in found["veth0"]["reason"]
    assert mask(host, "veth1") == "f"
    assert [entry["subject"] for entry in Journal(host, "rps", FOLDER).entries.values()] == ["veth0"]


def test_a_vlan_with_the_address_of_another_is_not_taken_for_it(host):
    for name in ("eth0.100", "eth0.200"):
        host.interface(name)
        host.fill(NET + name + "/addr_assign_type", "0")
        host.fill(NET + name + "/lower_eth0", "")
    run(host, interfaces=["eth0.100"])
    host.fill(NET + "eth0.200/queues/rx-0/rps_cpus", "f")
    shutil.rmtree(host.path(NET + "eth0.100"))
    assert only(run(host, state="restored"))["verdict"] == "drifted"
    assert mask(host, "eth0.200") == "f"


def test_names_that_were_swapped(host):
    host.interface("hsi1", mask=2)
    card(host, "hsi1", "0.0.0700")
    before = whole(host, "/etc", "/var")
    run(host, interfaces=["hsi*"])
    rename(host, "hsi0", "x")
    rename(host, "hsi1", "hsi0")
    rename(host, "x", "hsi1")
    assert [one["verdict"] for one in run(host, state="restored")["tuning"]] == ["changed", "changed"]
    assert (mask(host, "hsi0"), mask(host, "hsi1")) == ("2", "0")
    assert whole(host, "/etc", "/var") == before


def test_another_device_under_the_old_name_is_left_alone_and_the_values_wait_for_theirs(host):
    run(host)
    shutil.move(host.path(NET + "hsi0"), host.path("/away"))
    host.interface("hsi0", mask=15)
    card(host, "hsi0", "0.0.0700")
    assert verdicts(run(host, state="restored"))["hsi0 (0.0.0600)"] == "drifted"
    assert mask(host, "hsi0") == "f" and not host.exists(RULES)
    # a tuning of the other one has first values of its own
    run(host, interfaces=["hsi0"], every=2)
    shutil.move(host.path("/away"), host.path(NET + "enc1"))
    run(host, state="restored")
    assert (mask(host, "enc1"), mask(host, "hsi0")) == ("0", "f") and not host.exists(FOLDER)


def test_site_under_the_new_name_keeps_the_first_value_and_takes_the_old_rule_out(host):
    before = whole(host, "/etc", "/var")
    run(host)
    rename(host, "hsi0", "enc1")
    found = only(run(host, check=True))
    assert found["verdict"] == "drifted"
    assert "udev rule of hsi0: rps_cpus=f for 4 queues, wanted absent" in found["reason"]
    run(host, every=2)
    assert "hsi0" not in host.read(RULES) and 'NAME=="enc1"' in host.read(RULES)
    assert only(complete(host, every=2))["verdict"] == "compliant"
    run(host, state="restored")
    assert mask(host, "enc1") == "0" and whole(host, "/etc", "/var") == before


def test_a_virtio_device_is_known_by_the_one_below_it(host):
    for name, below in (("eth0", "0.0.0001/virtio4"), ("eth1", "0000:00:03.0/virtio5")):
        host.interface(name)
        card(host, name, below)
    host.fill(NET + "eth1/dev_port", "1")
    interfaces = Rps(host, rps_params()).interfaces
    assert interfaces.by_identity() == {"0.0.0600": "hsi0", "0.0.0001": "eth0", "0000:00:03.0 port 1": "eth1"}


def test_the_files_are_removed_even_on_a_kernel_without_rps(host):
    host.fill(FLOW_FILE, "0")
    run(host, sock_flow_entries=32768)
    for number in range(2):
        os.unlink(host.path("%shsi0/queues/rx-%d/rps_cpus" % (NET, number)))
    os.unlink(host.path(FLOW_FILE))
    run(host, state="restored")
    assert host.listdir("/etc/sysctl.d") == [] and not host.exists(RULES) and not host.exists(FOLDER)


def test_a_copied_host_is_told_and_force_takes_the_journal_for_its_own(host):
    host.fill(ID, ONE_ID)
    run(host)
    assert json.loads(host.read(MAIN))["machine"] == ONE_ID
    host.fill(ID, OTHER_ID)
    before = whole(host, *EVERYTHING)
    for changes in ({"state": "restored"}, {}, {"every": 2}, {"check": True}):
        sentence = refusal(run, host, **changes)
        assert "nothing was changed: the journal %s was written on another machine" % MAIN in sentence
        assert "force: true" in sentence
    assert whole(host, *EVERYTHING) == before
    assert not run(host, force=True)["changed"]
    assert json.loads(host.read(MAIN))["machine"] == OTHER_ID
    assert only(run(host, check=True))["verdict"] == "compliant"
    host.fill(ID, ONE_ID)
    run(host, state="restored", force=True)
    assert mask(host, "hsi0") == "0" and not host.exists(FOLDER)


@pytest.mark.parametrize("then", [None, ONE_ID])
def test_where_one_side_has_no_id_nobody_can_tell(host, then):
    host.fill(ID, "uninitialized" if then else ONE_ID)
    run(host)
    assert ("machine" in json.loads(host.read(MAIN))) is (then is None)
    host.fill(ID, then or "")
    assert run(host, state="restored")["changed"]


@pytest.mark.parametrize("out, number", [("3 app1\n", " 3"), ("-1 NULL\n", ""), ("", "")])
def test_the_id_of_an_aix_partition(host, monkeypatch, out, number):
    monkeypatch.setattr(platform, "system", lambda: "AIX")
    names = os.uname_result(("AIX", "app1", "2", "7", "00F9E2E74C00"))
    monkeypatch.setattr(journal.os, "uname", lambda: names)
    monkeypatch.setattr(host, "run", lambda argv: Result(0, out, "") if argv == ["uname", "-L"] else None)
    assert machine_of(host) == "00F9E2E74C00" + number


def test_an_interface_that_nobody_names_any_more_is_drifted_with_the_command(host):
    host.interface("hsi1")
    run(host, interfaces=["hsi*"])
    for check in (True, False):
        result = complete(host, check, interfaces=["hsi1"])
        assert not result["changed"] and not result["failed"]
        assert verdicts(result) == {"hsi1": "compliant", "hsi0": "drifted"}
        reason = records(result)["hsi0"]["reason"]
        assert "hsi0 rx-0, rx-1: CPUs 0-3 (mask f), wanted off (mask 0)" in reason
        assert "zpower.sap_tuning.rollback --limit HOST --tags rps takes it back" in reason
    assert mask(host, "hsi0") == "f"
    assert only(run(host, check=True, interfaces=["hsi1"]))["verdict"] == "compliant"


def test_a_value_of_a_subject_that_is_now_requested_differently(host):
    run(host, flow_cnt=1024)
    record = only(complete(host))
    assert record["verdict"] == "drifted"
    assert "rx-0 rps_flow_cnt, rx-1 rps_flow_cnt: 1024, wanted 0: set by this collection" in record["reason"]
    assert "mask" not in record["reason"]


def test_a_stored_rule_without_journal_is_shown_noted_by_site_and_taken_back(host):
    run(host)
    shutil.rmtree(host.path(FOLDER))
    record = only(run(host, check=True))
    assert record["verdict"] == "drifted" and "hsi0 udev rule is stored by this collection, but its" in record["reason"]
    assert not host.exists(FOLDER)
    assert not run(host)["changed"]
    entry = Journal(host, "rps", FOLDER).entries["%s hsi0" % RULES]
    assert entry["first"] is None and only(run(host, check=True))["verdict"] == "compliant"
    run(host, state="restored")
    assert not host.exists(RULES) and not host.exists(FOLDER)


def test_rollback_takes_out_a_rule_that_no_journal_knows_and_says_what_is_not_known(host):
    DropIn(host, RULES, RULES_HEADER).put("eth9", "a rule")
    assert "eth9 udev rule: edited by hand, wanted absent" in records(complete(host))["eth9"]["reason"]
    record = only(run(host, state="restored"))
    assert record["verdict"] == "changed" and "the running value before is unknown" in record["remarks"][0]
    assert not host.exists(RULES)


def test_a_moved_guest_shows_what_is_left_on_it(tmp_path):
    host = SmcHost(tmp_path)
    params = dict(settings={"wmem": 262144}, state="present", force=False)
    runner(smc_sysctls.SmcSysctls)(host, **params)
    shutil.rmtree(host.path(SYSCTLS))
    tuning = smc_sysctls.SmcSysctls(host, params)
    record = only(Run(tuning, Journal(host, tuning.name, FOLDER), "present", True, complete=True).run())
    assert record["verdict"] == "drifted" and "there is no net.smc" in record["reason"]
    assert "net.smc.wmem: 262144, wanted absent" in record["reason"]


def test_a_profile_that_is_gone_holds_back_no_other(tmp_path):
    host = SapHost(tmp_path)
    sap = runner(SapProfile, restart=[], restart_timeout=5, sid=None, instance=None, profile=None, change="")
    for path in (D00, ASCS01):
        sap(host, profile=path, parameters={"rdisp/max_wprun_time": 900})
    os.rename(host.path(ASCS01), host.path("/away"))
    for check in (True, False):
        result = sap(host, check, state="restored")
        assert verdicts(result)[ASCS01] == "failed" and result["failed"]
        assert "%s is not there" % ASCS01 in result["msg"] and "the journal keeps its first values" in result["msg"]
    assert host.data(D00) == D00_TEXT
    assert {entry["subject"] for entry in Journal(host, "sap_profile", FOLDER).entries.values()} == {ASCS01}
    os.rename(host.path("/away"), host.path(ASCS01))
    assert not sap(host, state="restored")["failed"] and b"max_wprun_time" not in host.data(ASCS01)
    assert not host.exists(FOLDER)


def rps_tree(root):
    host = KernelHost(root).interface("hsi0", queues=2)
    host.fill(FLOW_FILE, "0")
    return host


rps_run = runner(Rps, **rps_params(sock_flow_entries=32768))
smc_run = runner(smc_sysctls.SmcSysctls, settings={"wmem": 262144})

LIVES = {
    "rps": (rps_tree, rps_run, None),
    "rps-checkpoint": (rps_tree, rps_run, "exp1"),
    "smc_sysctls": (SmcHost, smc_run, None),
}
GATE, NIGHTLY = pytest.mark.gate, pytest.mark.nightly


@pytest.mark.parametrize(
    "life, state",
    [
        ("rps-checkpoint", "restored"),
        pytest.param("rps", "present", marks=GATE),
        pytest.param("rps", "restored", marks=GATE),
        pytest.param("rps-checkpoint", "present", marks=NIGHTLY),
        pytest.param("smc_sysctls", "present", marks=NIGHTLY),
        pytest.param("smc_sysctls", "restored", marks=NIGHTLY),
    ],
)
def test_killed_anywhere_rollback_leaves_the_tree_as_it_was(tmp_path, life, state):
    make, work, checkpoint = LIVES[life]
    for number in itertools.count(1):
        root = tmp_path / str(number)
        root.mkdir()
        host = make(root)
        before = whole(host, *EVERYTHING)
        if state == "restored":
            work(host, checkpoint=checkpoint)
        came = killed(lambda host=host: work(host, state=state, checkpoint=checkpoint), number)
        result = work(host, state="restored")
        assert not result["failed"], (number, result["msg"])
        assert whole(host, *EVERYTHING) == before, number
        if not came:
            break
        shutil.rmtree(str(root))
    assert number > 10


def test_leftovers_of_this_tuning_are_removed_without_waiting_and_those_of_others_stay(host):
    mine = "/etc/udev/rules.d/.zpower-%s.x" % os.path.basename(RULES)
    others = ["/etc/sysctl.d/.zpower-91-zpower-sap-tuning-cpu-topology.conf.x", FOLDER + "/.zpower-cpu_topology.json.x"]
    for path in [mine] + others:
        host.fill(path, "")
    other = Journal(host, "rps", FOLDER)
    other.lock()
    assert not run(host, state="restored")["failed"] and host.exists(mine)
    other.close()
    run(host)
    run(host, state="restored")
    assert all(host.exists(path) for path in others)
    assert host.listdir("/etc/udev/rules.d") == []


def test_an_empty_folder_that_was_there_before_stays(host):
    os.makedirs(host.path("/etc/udev/rules.d"))
    os.mkdir(host.path(FOLDER))
    before = whole(host, *EVERYTHING)
    run(host)
    run(host, state="restored")
    assert whole(host, *EVERYTHING) == before


@pytest.mark.parametrize("checkpoint", [None, "trial"])
def test_a_folder_whose_removal_was_refused_goes_with_the_next_run(host, monkeypatch, checkpoint):
    before, rmdir = whole(host, *EVERYTHING), os.rmdir
    run(host, checkpoint=checkpoint)

    def refuse(path):
        if path.endswith("/rules.d"):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        rmdir(path)

    monkeypatch.setattr(os, "rmdir", refuse)
    assert not run(host, state="restored", checkpoint=checkpoint)["failed"]
    assert host.exists("/etc/udev/rules.d") and mask(host, "hsi0") == "0"
    monkeypatch.setattr(os, "rmdir", rmdir)
    run(host, state="restored")
    assert whole(host, *EVERYTHING) == before


class Both(SmcHost):
    """A host for both tunings."""

    def __init__(self, root):
        super().__init__(root)
        self.interface("hsi0")
        self.fill(FLOW_FILE, "0")

    def put(self, path, value):
        (KernelHost if path.startswith(NET) else SmcHost).put(self, path, value)


def test_a_folder_that_two_tunings_share_goes_with_the_last_of_them(tmp_path):
    host = Both(tmp_path)
    before = whole(host, *EVERYTHING)
    for first, second in ((rps_run, smc_run), (smc_run, rps_run)):
        first(host)
        second(host)
        first(host, state="restored")
        assert host.exists("/etc/sysctl.d")
        second(host, state="restored")
        assert whole(host, *EVERYTHING) == before


@pytest.mark.gate
def test_two_tunings_in_one_folder_at_the_same_time(tmp_path):
    host = Both(tmp_path)
    before = whole(host, *EVERYTHING)
    children = []
    for work in (rps_run, smc_run):
        children.append(os.fork())
        if children[-1] == 0:
            status = 1
            try:
                for _count in range(15):
                    assert not work(host)["failed"] and not work(host, state="restored")["failed"]
                status = 0
            finally:
                os._exit(status)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    assert whole(host, *EVERYTHING) == before


def test_a_folder_that_vanishes_while_a_rule_is_written_is_made_again(host, monkeypatch):
    write, refusals = KernelHost.write, [HostError("cannot write it: No such file or directory", errno.ENOENT)]

    def written(self, path, text, mode=0o644):
        if path == RULES and refusals:
            raise refusals.pop()
        write(self, path, text, mode)

    monkeypatch.setattr(KernelHost, "write", written)
    assert not run(host)["failed"] and refusals == [] and host.exists(RULES)


GOOD = {"subject": "hsi0", "family": "hsi0 rps_cpus", "first": "0", "ours": ["f"], "since": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    "changes",
    [{name: value} for name in ("subject", "family") for value in (None, 1, [], "a\0b", "\ud800")]
    + [{"first": value} for value in (1, [], {}, True, "\ud800", "no mask", None)]
    + [{"ours": value} for value in (None, "f", [], [1], ["f", {}], ["\0"], ["no mask"])]
    + [{name: value} for name in ("since", "identity") for value in (None, 1, [])],
)
def test_an_entry_with_wrong_types_stops_every_run_before_it_changes_anything(host, changes):
    text = json.dumps({"schema": journal.SCHEMA, "tuning": "rps", "knobs": {QUEUE % 0: dict(GOOD, **changes)}})
    host.write(MAIN, text)
    before = whole(host, *EVERYTHING)
    for state in ("present", "restored"):
        sentence = refusal(run, host, state=state)
        assert "the journal %s cannot be understood" % MAIN in sentence and len(sentence) < 700
    assert whole(host, *EVERYTHING) == before


@pytest.mark.parametrize("text", [None, "diagonal", ""])
@pytest.mark.parametrize("tuning, key", [(CpuPolarization, DISPATCHING), (CpuTopology, cpu_topology.FILE)])
def test_first_values_that_no_kernel_has(tmp_path, tuning, key, text):
    host = KernelHost(tmp_path)
    entry = dict(GOOD, subject=tuning.subject, family=key, first=text)
    data = {"schema": journal.SCHEMA, "tuning": tuning.name, "knobs": {key: entry}}
    host.write("%s/%s.json" % (FOLDER, tuning.name), json.dumps(data))
    restored = runner(tuning, state="restored", wait_timeout=1, mode="vertical", sw_siblings=True)
    assert "cannot be understood" in refusal(restored, host)
