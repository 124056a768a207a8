# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later

import json
import os
import stat

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.journal import SCHEMA, Journal
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import RUNNING, Knob
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import smc_sockets
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings import cpu_polarization
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._profiles import files as sap_restarts
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.cpu_polarization import CpuPolarization
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.hiperdispatch import Hiperdispatch
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.rps import Rps
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.sap_profile import SapProfile
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.smc import Smc
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.smc_sysctls import SmcSysctls
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.system_base import ITEMS, OPTIONAL, SystemBase
from basekernel import BaseHost
from kernel import KernelHost, rps_params
from places import FIXTURES
from runs import FOLDER, refusal, runner
from sapsystem import Clock, SapHost
from smckernel import SmcHost
from smcsystem import SmcSapHost
from zkernel import ZHost, vertical_lpar


@pytest.fixture
def host(tmp_path):
    (tmp_path / "var" / "lib").mkdir(parents=True)
    return Host(str(tmp_path))


def intended(host, now="0", wanted="f"):
    made = Knob("/k", RUNNING, "rx-0", "eth0 rps_cpus", now)
    made.wanted = wanted
    journal = opened(host)
    journal.intend([("eth0", made)], ())
    journal.close()


def opened(host):
    journal = Journal(host, "rps", FOLDER)
    journal.lock()
    return journal


def test_the_first_value_stays_first_and_every_set_value_is_kept(host):
    assert Journal(host, "rps", FOLDER).entries == {}
    assert os.listdir(host.path("/var/lib")) == []
    intended(host, now="0", wanted="f")
    intended(host, now="f", wanted="5")
    entry = Journal(host, "rps", FOLDER).entries["/k"]
    assert (entry["first"], entry["ours"], entry["subject"]) == ("0", ["f", "5"], "eth0")
    assert stat.S_IMODE(os.stat(host.path(FOLDER)).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(host.path(FOLDER + "/rps.json")).st_mode) == 0o600
    journal = opened(host)
    journal.forget(["/k"])
    journal.close()
    assert os.listdir(host.path("/var/lib")) == []


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", "[" * 100000]
    + [
        json.dumps(dict({"schema": SCHEMA, "tuning": "rps", "knobs": {}}, **changes))
        for changes in (
            {"schema": "other"},
            {"schema": "zpower.sap_tuning/journal/2"},
            {"schema": {}},
            {"tuning": "smc_r"},
            {"tuning": ["rps"]},
            {"machine": 1},
            {"folders": None},
            {"folders": {}},
            {"folders": [1]},
            {"folders": ["etc"]},
            {"knobs": None},
            {"knobs": {"/k": {"ours": []}}},
            {"knobs": {"/k": 1}},
        )
    ],
    ids=len,
)
def test_a_journal_that_cannot_be_understood_is_never_overwritten(host, text):
    host.write(FOLDER + "/rps.json", text)
    sentence = refusal(Journal, host, "rps", FOLDER)
    assert "/rps.json cannot be understood" in sentence and "nothing was changed" in sentence
    assert host.read(FOLDER + "/rps.json") == text


def test_a_folder_that_cannot_be_made_gets_one_sentence(tmp_path):
    (tmp_path / "var").write_text("a file where a folder should be")
    sentence = refusal(opened, Host(str(tmp_path)))
    assert sentence.startswith("nothing was changed: cannot keep a journal in " + FOLDER)


# Journals and stored values as the code of earlier versions wrote them: they are read, complied with and taken back.


JOURNALS = str(FIXTURES / "journals")


def written_by(version):
    """{name of the call: {path: text}}: all files that these calls wrote on a host of the tests."""
    with open(os.path.join(JOURNALS, "version-%s.json" % version), encoding="utf-8") as stream:
        return {name: files for name, files in json.load(stream).items() if name != "$comment"}


def interfaces(root):
    return KernelHost(root).interface("hsi0", queues=2).interface("lo")


RPS = runner(Rps, **rps_params())
OF_SAP = {"restart": [], "restart_timeout": 5, "change": "CHG0042"}
PROFILE = {"sid": "PRD", "instance": "D00", "profile": None, "parameters": {"rdisp/wp_no_btc": 12}}
BASE = [item for item in ITEMS if item not in OPTIONAL]
# how to make the host as it was before, the tuning, and the parameters of the calls that the old code has made
CALLS = {
    "rps": (interfaces, RPS, [{}]),
    "rps checkpoint": (interfaces, RPS, [{"cpus": "0-1"}, {"every": 2, "checkpoint": "exp1"}]),
    "rps probation": (interfaces, RPS, [{"cpus": "0-1"}, {"every": 2, "checkpoint": "probation"}]),
    "smc_sysctls": (SmcHost, runner(SmcSysctls, settings={"wmem": 262144, "rmem": 131072}), [{}]),
    "cpu_polarization": (ZHost, runner(CpuPolarization, mode="vertical", wait_timeout=75), [{}]),
    "sap_profile": (SapHost, runner(SapProfile, **dict(OF_SAP, **PROFILE)), [{}]),
    "hiperdispatch": (vertical_lpar, runner(Hiperdispatch, enabled=True, steal_threshold=15, delay_factor=8), [{}]),
    "system_base": (BaseHost, runner(SystemBase, state="present", items=BASE), [{}]),
    "smc": (SmcSapHost, runner(Smc, instances=["PRD_00"], pnet_ids=[], ueids=[], **OF_SAP), [{}]),
}
WRITTEN = [(version, name) for version in ("0.1.0", "0.9.0") for name in sorted(written_by(version))]
# how a call asks for everything in the journal back
NOTHING = {"smc_sysctls": {"settings": {}}}
# an instance has its new value after a restart; smc also names that the host has no device
VERDICTS = {"sap_profile": {"pending_restart"}, "smc": {"drifted", "pending_restart"}}


@pytest.fixture(params=WRITTEN, ids=" ".join)
def written(request, monkeypatch):
    monkeypatch.setattr(sap_restarts, "time", Clock())
    monkeypatch.setattr(cpu_polarization, "time", Clock())
    monkeypatch.setattr(smc_sockets, "listed", lambda host: [])
    return request.param


def texts(root):
    return {"/" + str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def journals(files):
    """{path: its JSON} of the journals among these files."""
    return {
        path: json.loads(text) for path, text in files.items() if path.startswith(FOLDER) and path.endswith(".json")
    }


def test_a_host_that_was_tuned_is_as_requested_and_the_first_values_come_back(written, tmp_path):
    version, name = written
    make, run, calls = CALLS[name]
    host = make(tmp_path)
    before = texts(tmp_path)
    for path, text in written_by(version)[name].items():
        target = tmp_path / path[1:]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode("utf-8"))
    found = run(host, check=True, **calls[-1])["tuning"]
    verdicts = {record["verdict"] for record in found} - {"not_applicable"}
    assert verdicts == VERDICTS.get(name, {"compliant"}), found
    nothing = dict(calls[-1], state="restored", checkpoint=None, **NOTHING.get(name, {}))
    result = run(host, **nothing)
    assert result["changed"] and not result["failed"]
    assert texts(tmp_path) == before
    assert not run(host, **nothing)["changed"]


def test_what_is_written_today_has_what_the_old_code_reads(written, tmp_path):
    """For the rollback: the same knobs, under the same keys, with the same first values and all fields of the time."""
    version, name = written
    make, run, calls = CALLS[name]
    host = make(tmp_path)
    for more in calls:
        run(host, **more)
    old = journals(written_by(version)[name])
    today = journals({path: text.decode("latin-1") for path, text in texts(tmp_path).items()})
    assert old and set(today) == set(old)
    for path, journal in old.items():
        found = today[path]
        assert set(journal) <= set(found) and set(found["knobs"]) == set(journal["knobs"])
        assert (found["schema"], found["tuning"]) == (journal["schema"], journal["tuning"])
        for key, entry in journal["knobs"].items():
            known = {field: found["knobs"][key].get(field) for field in entry}
            assert known == dict(entry, since=known["since"]) and known["since"]
