# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Journals and stored values as the code of earlier versions wrote them: they are read, complied with and taken back.

The files are those that the calls below left on hosts of the tests; see docs/upgrading.md for the way back.
"""

import json
import os

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.journal import SCHEMA
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import smc_sockets
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings import cpu_polarization
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._profiles import restarts as sap_restarts
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
from runs import FOLDER, runner
from sapsystem import Clock, SapHost
from smckernel import SmcHost
from smcsystem import SmcSapHost
from zkernel import ZHost

JOURNALS = str(FIXTURES / "journals")


def written_by(version):
    """{name of the call: {path: text}}: all files that these calls wrote on a host of the tests."""
    with open(os.path.join(JOURNALS, "version-%s.json" % version), encoding="utf-8") as stream:
        return {name: files for name, files in json.load(stream).items() if name != "$comment"}


def interfaces(root):
    host = KernelHost(root)
    host.interface("hsi0", queues=2)
    host.interface("lo")
    return host


def lpar(root):
    host = ZHost(root, sysctl=True, vertical=True)
    host.hiperdispatch()
    host.boots_vertical()
    return host


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
    "hiperdispatch": (lpar, runner(Hiperdispatch, enabled=True, steal_threshold=15, delay_factor=8), [{}]),
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


def put(host, files):
    for path, text in files.items():
        target = host.path(path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)


def texts(root):
    """{path: bytes} of every file below a folder."""
    found = {}
    for folder, _folders, names in os.walk(str(root)):
        for path in (os.path.join(folder, file) for file in names):
            with open(path, "rb") as stream:
                found[os.path.relpath(path, str(root))] = stream.read()
    return found


def tuned(written, root):
    """The host as the old code left it, what its files were before, and the last call."""
    version, name = written
    make, run, calls = CALLS[name]
    host = make(root)
    before = texts(root)
    put(host, written_by(version)[name])
    return host, before, lambda host, **more: run(host, **dict(calls[-1], **more))


def journals(files):
    """{path: its JSON} of the journals among these files."""
    return {
        path: json.loads(text) for path, text in files.items() if path.startswith(FOLDER) and path.endswith(".json")
    }


def test_those_of_0_1_0_lack_what_later_versions_added():
    for name, files in written_by("0.1.0").items():
        journal = json.loads(files["%s/%s.json" % (FOLDER, name)])
        assert journal["schema"] == SCHEMA and set(journal) == {"knobs", "schema", "tuning"}
        assert {field for entry in journal["knobs"].values() for field in entry} == {
            "family",
            "first",
            "ours",
            "since",
            "subject",
        }


def test_a_host_that_was_tuned_is_as_requested(written, tmp_path):
    host, _before, run = tuned(written, tmp_path)
    found = run(host, check=True)["tuning"]
    verdicts = {record["verdict"] for record in found} - {"not_applicable"}
    assert verdicts == VERDICTS.get(written[1], {"compliant"}), found


def test_the_first_values_come_back(written, tmp_path):
    host, before, run = tuned(written, tmp_path)
    nothing = {"state": "restored", "checkpoint": None}
    nothing.update(NOTHING.get(written[1], {}))
    result = run(host, **nothing)
    assert result["changed"] and not result["failed"]
    assert texts(tmp_path) == before
    assert not run(host, **nothing)["changed"]


def test_what_is_written_today_has_what_the_old_code_reads(written, tmp_path):
    """For the way back: the same knobs, under the same keys, with the same first values and all fields of the time."""
    version, name = written
    make, run, calls = CALLS[name]
    host = make(tmp_path)
    for more in calls:
        run(host, **more)
    old = journals(written_by(version)[name])
    today = journals({"/" + path: text.decode("latin-1") for path, text in texts(tmp_path).items()})
    assert old and set(today) == set(old)
    for path, journal in old.items():
        assert set(journal) <= set(today[path]) and (today[path]["schema"], today[path]["tuning"]) == (
            journal["schema"],
            journal["tuning"],
        )
        assert set(today[path]["knobs"]) == set(journal["knobs"])
        for key, entry in journal["knobs"].items():
            found = today[path]["knobs"][key]
            assert {field: found.get(field) for field in entry} == dict(entry, since=found["since"])
