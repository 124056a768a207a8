# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One call for several tunings: each result, and what it leaves on the host, equals that of the tuning's own module."""

import errno
import importlib
import json
import os
import platform
import re
import subprocess
import sys

import pytest
from aix import AixHost
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.zpower.sap_tuning.plugins.module_utils import _engine
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import entry_point
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.places import folder_of
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings import _unused
from ansible_collections.zpower.sap_tuning.plugins.modules import tunings
from basekernel import base_files
from kernel import KernelHost
from modules import caller
from qethhost import QethHost
from sapsystem import SapHost
from smckernel import SYSCTLS, SmcHost
from smcsystem import SmcSapHost
from sysctls import ALL, TABLES, fill, request
from zkernel import ZHost, vertical_lpar

MASK = "/sys/class/net/hsi0/queues/rx-0/rps_cpus"


def lpar(root):
    host = ZHost(root).interface("hsi0", queues=2)
    host.fill("/proc/sys/net/core/rps_sock_flow_entries", "0")
    for name, value in SmcHost.values.items():
        host.fill(SYSCTLS + name, value)
    base_files(host, "SLES 15")
    for kind in TABLES:
        fill(host, kind)
    return host


def guest(root):
    return ZHost(root, facility=False).interface("hsi0")


def osa(root):
    host = QethHost(root)
    host.card("enc600", "0.0.0600")
    return host


WANTED = {
    "qeth": {"devices": ["osa"], "buffer_count": 96},
    "rps": {"interfaces": ["hsi0"], "cpus": "0-2", "sock_flow_entries": 4096},
    "cpu_polarization": {"mode": "vertical"},
    "cpu_topology": {"sw_siblings": "yes"},
    "hiperdispatch": {"enabled": "no", "steal_threshold": "15"},
    "smc_sysctls": {"settings": {"wmem": "131072", "smcr_testlink_time": 60}},
    "sap_profile": {
        "profiles": [
            {"sid": "PRD", "instance": "D00", "parameters": {"rdisp/wp_no_btc": 12}},
            {"sid": "PRD", "instance": "DEFAULT", "parameters": {"a/b": "1"}, "left_to": "app2"},
        ]
    },
    "smc": {
        "instances": ["PRD_00"],
        "pnet_ids": [{"name": "SAPNET", "interface": "enc1"}, {"name": "SAPNET", "device": "mlx5_0"}],
        "ueids": ["SAP.1"],
    },
    "smc_r": {"preset": "optimized"},
    "aix_device_attributes": {"devices": {"sys0": {"maxuproc": 4096}}},
    "aix_tunables": {"values": {"no.tcp_nodelayack": {"value": 1, "reason": "measured"}}},
    "system_base": {"state": "present", "items": ["vm.max_map_count", "kernel.shm", "kernel.sem", "vm.dirty"]},
}
WANTED = dict({kind.name: request(kind) for kind in TABLES}, **WANTED)


def options(more, kind):
    found = {name: dict(given, complete=True, **more) for name, given in WANTED.items()}
    if more.get("state") == "restored" and kind is not SapHost:
        # their own modules say that there is no such system
        del found["sap_profile"]["profiles"], found["smc"]["instances"]
    return found


def drift(host):
    """Change, as another administrator would, a value that the host has."""
    for path, text in ((MASK, "1"), (SYSCTLS + "wmem", "70000")):
        if host.exists(path):
            host.fill(path, text)
    if isinstance(host, AixHost):
        host.devices["sys0"].stored["maxuproc"] = host.devices["sys0"].in_force["maxuproc"] = "3000"


def nothing(*_arguments):
    pass


# [(what happens before, check mode, more options of each tuning)]
LIVES = {
    "applied, found, drifted and taken back": [
        (nothing, True, {}),
        (nothing, False, {}),
        (nothing, False, {}),
        (drift, True, {}),
        (nothing, True, {"state": "restored"}),
        (nothing, False, {"state": "restored"}),
        (nothing, False, {"state": "restored", "force": True}),
    ],
    "a checkpoint above a tuned state": [
        (nothing, False, {}),
        (drift, False, {"checkpoint": "trial"}),
        (nothing, True, {}),
        (nothing, False, {}),
        (nothing, False, {"checkpoint": "trial", "state": "restored"}),
        (nothing, False, {"checkpoint": "trial", "lease": 0}),
        (nothing, False, {"lease": 5}),
        (nothing, False, {"state": "restored"}),
    ],
    "a probation above a tuned state": [
        (nothing, False, {}),
        (drift, False, {"confirm_within": "0"}),
        (nothing, False, {"confirm_within": "0", "state": "restored"}),
        (drift, True, {"confirm_within": "0"}),
        (nothing, False, {"confirm_within": "0"}),
        (nothing, True, {"state": "confirmed"}),
        (nothing, False, {"state": "confirmed"}),
        (nothing, False, {"confirm_within": "soon"}),
        (nothing, False, {"confirm_within": "0", "checkpoint": "trial"}),
        (nothing, False, {"state": "restored"}),
    ],
    "no such option or value": [(nothing, False, {"colour": "red"}), (nothing, False, {"force": "perhaps"})],
}


@pytest.fixture
def hosts(monkeypatch):
    """Return the host of the next call."""
    chosen = []
    for user in (entry_point, _unused):
        monkeypatch.setattr(user, "Host", lambda: chosen[-1])
    return chosen


@pytest.fixture
def own(monkeypatch, capsys):
    """Return the results of one call of each tuning's own module."""

    def call(wanted, check):
        found = {}
        for name, given in wanted.items():
            module = importlib.import_module(tunings.__name__.replace(".tunings", "." + name))
            names = {"_ansible_module_name": "zpower.sap_tuning." + name}
            found[name] = caller(module.main, monkeypatch, capsys)(_ansible_check_mode=check, **names, **given)
            found[name].pop("invocation", None)
        return found

    return call


@pytest.fixture
def one(monkeypatch, capsys):
    return caller(tunings.main, monkeypatch, capsys)


def left(host):
    """Return {path: text} of all files of the host."""
    found = {}
    for folder, _folders, names in os.walk(host.root):
        for path in [os.path.join(folder, name) for name in names]:
            if not os.path.exists(path):
                found[os.path.relpath(path, host.root)] = os.readlink(path)
                continue
            with open(path, "rb") as stream:
                text = stream.read().decode("latin-1")
            found[os.path.relpath(path, host.root)] = timeless(text)
    return found


def timeless(text):
    """Return the text without times: the two ways may run in different seconds."""
    return re.sub(r"\d{4}-\d\d-\d\d[T ][\d:]+Z?", "TIME", text)


KINDS = [lpar, guest, SapHost, AixHost]
# every life of one machine, and the first of the others, are the sample of each change
MANY = [
    pytest.param(kind, life, marks=[] if kind is lpar or number == 0 else pytest.mark.nightly)
    for kind in KINDS
    for number, life in enumerate(LIVES)
]


@pytest.mark.parametrize("kind, life", MANY)
def test_one_call_equals_many(kind, life, tmp_path, monkeypatch, hosts, own, one):
    if kind is AixHost:
        monkeypatch.setattr(platform, "system", lambda: "AIX")
    apart, together = kind(tmp_path / "apart"), kind(tmp_path / "together")
    seen = set()
    for before, check, more in LIVES[life]:
        for host in (apart, together):
            before(host)
        wanted = options(more, kind)
        hosts.append(apart)
        expected = own(wanted, check)
        hosts.append(together)
        result = one(names=list(wanted), tunings=wanted, _ansible_check_mode=check)
        assert json.loads(timeless(json.dumps(result["tunings"]))) == json.loads(timeless(json.dumps(expected)))
        assert list(result["tunings"]) == list(wanted)
        assert result["changed"] is any(found.get("changed", False) for found in expected.values())
        assert bool(result.get("failed")) is any(found["failed"] for found in expected.values())
        assert left(together) == left(apart)
        seen |= {row["verdict"] for found in expected.values() for row in found.get("tuning", [])}
    assert life == "no such option or value" or {"changed", "compliant", "drifted"} <= seen


def test_an_error_in_one_tuning_leaves_the_others_alone(tmp_path, monkeypatch, hosts, one):
    hosts.append(lpar(tmp_path))
    hosts[0].errors[MASK] = errno.EROFS
    # an unquoted off of YAML is off
    found = one(tunings={"rps": {"interfaces": ["hsi0"], "state": False}}, _ansible_check_mode=True)["tunings"]
    assert found["rps"]["tuning"][0]["wanted"]["state"] == "off"
    result = one(names=["rps", "cpu_topology", "cpu_polarization"], tunings=WANTED)
    assert result["failed"] and result["msg"].startswith("rps: ") and "read-only" in result["msg"]
    assert result["tunings"]["rps"]["tuning"][0]["verdict"] == "failed"
    assert result["tunings"]["cpu_polarization"]["tuning"][0]["verdict"] == "changed"
    assert result["changed"] is True
    # so does a defect
    monkeypatch.setattr(tunings.tuning_class("rps"), "select", lambda _self: {}["none"])
    result = one(tunings={"rps": {}, "cpu_topology": {}})
    assert result["msg"] == "rps: unexpected error: KeyError: 'none'"
    assert "in <lambda>" in result["tunings"]["rps"]["exception"]
    assert result["tunings"]["cpu_topology"]["failed"] is False


@pytest.mark.parametrize("more", [WANTED, {}])
def test_an_unknown_tuning_is_an_error_before_anything_runs(more, tmp_path, hosts, one):
    hosts.append(lpar(tmp_path))
    assert one(tunings=dict(more, rsp={"state": "restored"}))["msg"] == "there is no tuning 'rsp'"
    assert hosts[0].log == []


LINUX = "/var/lib/zpower_sap_tuning"
HOME = {name: lpar for name in ALL}
HOME.update(cpu_topology=guest, hiperdispatch=vertical_lpar, qeth=osa, sap_profile=SapHost, smc=SmcSapHost)
HOME.update(aix_device_attributes=AixHost, aix_tunables=AixHost, smc_r=AixHost)
UNIT = "/etc/systemd/system/SAPPRD_00.service"
OF_THE_MACHINE = ("proc", "sys", "sapmnt", "etc/fstab", "etc/tunables")
# calls that leave files: each writes journals of its own
LEAVING = ({}, {"checkpoint": "trial"}, {"checkpoint": "trial", "lease": 0}, {"confirm_within": "0"})


def base():
    return folder_of(platform.system())


def put(host, path, text="", mode=0o600):
    os.makedirs(os.path.dirname(host.path(path)), 0o700, exist_ok=True)
    Host(host.root).write(path, text, mode)


def make_ready(host, name):
    """Give the host what a tuning needs to store its values."""
    if name == "sap_profile":
        put(host, UNIT)
        os.makedirs(host.path("/etc/security/limits.d"))
    if name == "smc":
        os.makedirs(host.path("/run/systemd/system"))


def apply(name):
    """Return a host on which the tuning is applied."""

    def act(host, own):
        make_ready(host, name)
        assert own({name: WANTED[name]}, False)[name]["changed"]

    return act


def only_file(path, text=""):
    def act(host, _own):
        put(host, path() if callable(path) else path, text)

    return act


def in_base(text):
    return lambda: base() + "/" + text


def drop_ins(host, name):
    """Return the paths of all drop-in files that a tuning may write on a host."""
    tuning = tunings.tuning_class(name)
    params = ArgumentSpecValidator(entry_point.argument_spec(tuning)).validate({"state": "restored"})
    return {drop_in.path for drop_in in tuning(host, params.validated_parameters).drop_ins}


@pytest.mark.gate
@pytest.mark.parametrize("name", ALL)
def test_a_tuning_is_used_if_one_of_its_files_is_left(name, tmp_path, monkeypatch, hosts, own):
    if HOME[name] is AixHost:
        monkeypatch.setattr(platform, "system", lambda: "AIX")
    host = HOME[name](tmp_path / "host")
    hosts.append(host)
    make_ready(host, name)
    before, written = set(left(host)), drop_ins(host, name)
    for more in LEAVING:
        own({name: dict(WANTED[name], **more)}, False)
        written |= {"/" + path for path in set(left(host)) - before if not path.startswith(OF_THE_MACHINE)}
        own({name: dict(more, state="restored")}, False)
    assert base() + "/" + name + ".json" in written
    written |= {base() + "/checkpoint-trial/" + name + end for end in (".guardian", ".lease")}
    written |= {"%s/.zpower-%s.k4x" % os.path.split(path) for path in written}  # being written when the run was killed
    found = {}
    for number, path in enumerate(sorted(written)):
        hosts.append(KernelHost(tmp_path / str(number)))
        put(hosts[-1], path)
        if name == "sap_profile":
            put(hosts[-1], UNIT)
        found[path] = _unused.unused(ALL)
    of_all = {path for path in written if path.endswith(("/lease.json", "/.zpower-lease.json.k4x"))}
    assert found == {path: [] if path in of_all else [one for one in ALL if one != name] for path in written}


@pytest.fixture
def pair(tmp_path, monkeypatch, hosts, own, one):
    """Return the tunings that one call did not import; it rolled a host back as their own modules did another one."""

    def compare(kind, act, names=None):
        names = names or ALL
        if kind is AixHost:
            monkeypatch.setattr(platform, "system", lambda: "AIX")
        apart, together = kind(tmp_path / "apart"), kind(tmp_path / "together")
        for host in (apart, together):
            hosts.append(host)
            act(host, own)
        looked, unused = [], _unused.unused
        monkeypatch.setattr(_unused, "unused", lambda asked: looked.append(unused(asked)) or looked[-1])
        for check in (True, False, False):
            wanted = {name: {"state": "restored", "complete": True} for name in names}
            hosts.append(apart)
            expected = own(wanted, check)
            hosts.append(together)
            result = one(tunings=wanted, _ansible_check_mode=check)
            found = json.loads(timeless(json.dumps(result["tunings"])).replace("/together/", "/apart/"))
            assert found == json.loads(timeless(json.dumps(expected)))
            assert left(together) == left(apart)
            assert folders(together) == folders(apart)
        return looked[0]

    return compare


def folders(host):
    return sorted(os.path.relpath(folder, host.root) for folder, _folders, _names in os.walk(host.root))


def files_of_others(host, _own):
    put(host, "/etc/sysctl.d/99-zpower.conf")
    put(host, "/etc/systemd/system/SAPPRD_00.service.d/override.conf")
    put(host, LINUX + "/lost+found/file")


@pytest.mark.parametrize("kind, act", [(kind, nothing) for kind in KINDS] + [(lpar, files_of_others)])
def test_nothing_was_used(kind, act, pair):
    assert pair(kind, act) == ALL


@pytest.mark.parametrize("name", ALL)
def test_only_an_applied_tuning_is_rolled_back_and_looked_at(name, pair):
    assert pair(HOME[name], apply(name)) == [other for other in ALL if other != name]


@pytest.mark.parametrize("text", ["{", "[]", "# by hand\n"])
def test_a_file_that_the_collection_did_not_write_is_left_to_its_tuning(text, pair):
    path = "/etc/udev/rules.d/91-zpower-sap-tuning-rps.rules" if text.startswith("#") else LINUX + "/rps.json"
    assert pair(lpar, only_file(path, text)) == [other for other in ALL if other != "rps"]


def empty(path):
    def act(host, _own):
        os.makedirs(host.path(path()), 0o700)

    return act


def unreadable(folder):
    def act(host, _own):
        put(host, folder + "/something")
        host.listdir = lambda path: refuse(path) if path == folder else type(host).listdir(host, path)

    def refuse(path):
        raise HostError("cannot list %s: Input/output error" % path)

    return act


DOUBTS = [
    (kind, act)
    for kind in (lpar, AixHost)
    for act in (
        empty(base),
        empty(in_base("checkpoint-trial")),
        only_file(in_base("checkpoint-trial/lease.json"), "{}"),
    )
]
FOLDERS = [LINUX, "/etc/sysctl.d", "/etc/systemd/system", "/etc/security/limits.d"]


@pytest.mark.parametrize("kind, act", DOUBTS + [(lpar, unreadable(folder)) for folder in FOLDERS])
def test_in_doubt_every_tuning_looks_itself(kind, act, pair):
    assert pair(kind, act) == []


@pytest.mark.parametrize("folder", [LINUX, "/etc/sysctl.d", "/etc/systemd/system/SAPPRD_00.service.d"])
def test_a_folder_of_another_user_is_not_looked_into(folder, tmp_path, monkeypatch, hosts):
    hosts.append(Host(str(tmp_path)))
    put(hosts[0], folder + "/something")
    monkeypatch.setattr(Host, "owner", lambda _host, path: 1234 if path == folder else None)
    monkeypatch.setattr(Host, "as_user", None)
    assert _unused.unused(ALL) == []


@pytest.mark.parametrize(
    "more",
    [{"checkpoint": "trial"}, {"lease": 5}, {"state": "present"}, {"state": "confirmed"}, {"confirm_within": "0"}],
)
def test_other_calls_are_left_to_the_tuning(more, tmp_path, hosts, own, one):
    hosts.append(lpar(tmp_path))
    wanted = {"cpu_polarization": dict({"state": "restored"}, **more)}
    assert tunings.unused(["cpu_polarization"], wanted) == {}
    assert one(tunings=wanted, _ansible_check_mode=True)["tunings"] == own(wanted, True)


def test_every_tuning_can_be_chosen():
    """Ansible packs the modules that are imported by name, so each tuning has a line there."""
    assert [tunings.tuning_class(name).name for name in ALL] == ALL
    assert sorted(WANTED) == ALL


CALL = """
import json, sys
import %s as tunings
from ansible.module_utils import basic
from %s import Host
Host.__init__.__defaults__ = (sys.argv[1],)
basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": json.loads(sys.argv[2])}).encode()
basic._ANSIBLE_PROFILE = "legacy"
try:
    tunings.main()
except SystemExit:
    print()
print(" ".join(sys.modules))
""" % (tunings.__name__, Host.__module__)


def called(root, **arguments):
    """Return (the result of each tuning, the files of the collection that were imported) for a call below root."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(path for path in sys.path if path))
    arguments = json.dumps(dict(arguments, _ansible_remote_tmp=str(root)))
    command = [sys.executable, "-c", CALL, str(root), arguments]
    lines = subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=True).stdout.decode().splitlines()
    result = json.loads(next(line for line in lines if line.startswith("{")))
    start = _engine.__name__.rpartition(".")[0] + "."
    names = [name[len(start) :] for name in lines[-1].split() if name.startswith(start)]
    return result["tunings"], {name for name in names if "." in name}


def chosen(found):
    return [name for name in ALL if "_tunings." + name in found]


def test_a_rollback_imports_no_tuning_without_files(tmp_path):
    back = {name: {"state": "restored"} for name in ALL}
    _results, found = called(tmp_path, tunings=back)
    assert {name for name in found if name.startswith("_tunings.")} == {"_tunings._unused"}
    assert not {"_engine.run", "_engine.journal"} & found
    Host(str(tmp_path)).write("/etc/tmpfiles.d/91-zpower-sap-tuning-cpu-polarization.conf", "# by hand\n")
    _results, found = called(tmp_path, tunings=back)
    assert chosen(found) == ["cpu_polarization"] and {"_engine.run", "_engine.journal"} <= found


LATE = {"_engine." + name for name in ("archive", "confirm", "lease", "service", "setter", "way_back")}
NEEDLESS = ("_sap.sapcontrol", "_machine.smc", "_machine.routes", "_host.netlink", "_engine.captured", "_tunings._smc")


def test_a_call_for_rps_imports_only_what_it_needs(tmp_path):
    """Ansible's archive has no byte code, so each imported file is compiled in each call."""
    KernelHost(tmp_path).interface("hsi0", queues=2)
    options = {"tunings": {"rps": {"interfaces": ["hsi0"]}}, "check_platform": True, "platform": {"tunings": ["rps"]}}
    results, found = called(tmp_path, _ansible_check_mode=True, **options)
    assert results["rps"]["msg"] == "1 drifted" and chosen(found) == ["rps"]
    assert len(found) <= 40, sorted(found)
    assert {name.split(".")[0] for name in found} == {"_host", "_engine", "_machine", "_sap", "_tunings"}
    assert not [name for name in found if name.startswith(NEEDLESS)] and not found & LATE
    # a guardian can import nothing, and the service of a probation has only the files that the call imported
    results, found = called(tmp_path, **options)
    assert results["rps"]["msg"] == "1 changed" and found >= LATE
