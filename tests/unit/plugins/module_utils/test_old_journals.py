# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Journals and stored values of version 0.1.0, as its code wrote them: they are read, complied with and taken back."""

import json
import os

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.journal import SCHEMA
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap import restart
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings import cpu_polarization
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.cpu_polarization import CpuPolarization
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.rps import Rps
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.sap_profile import SapProfile
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.smc_sysctls import SmcSysctls
from kernel import KernelHost, rps_params
from runs import FOLDER, only, runner
from sapsystem import SapHost
from smckernel import SmcHost
from zkernel import ZHost

FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "fixtures", "journals")


def of_version_010():
    """{tuning: {path: text}}: all files that one call of each tuning wrote on a host of the tests."""
    with open(os.path.join(FIXTURES, "version-0.1.0.json"), encoding="utf-8") as stream:
        return json.load(stream)


class Clock:
    """Time passes only while the code sleeps."""

    def __init__(self):
        self.now = 0.0

    def time(self):
        return self.now

    monotonic = time

    def sleep(self, seconds):
        self.now += seconds


def interfaces(root):
    host = KernelHost(root)
    host.interface("hsi0", queues=2)
    host.interface("lo")
    return host


# how to make the host as it was before, and the call that version 0.1.0 has made
CALLS = {
    "rps": (interfaces, runner(Rps, **rps_params())),
    "smc_sysctls": (SmcHost, runner(SmcSysctls, settings={"wmem": 262144, "rmem": 131072})),
    "cpu_polarization": (ZHost, runner(CpuPolarization, mode="vertical", wait_timeout=75)),
    "sap_profile": (
        SapHost,
        runner(
            SapProfile,
            restart=[],
            restart_timeout=5,
            sid="PRD",
            instance="D00",
            profile=None,
            change="CHG0042",
            parameters={"rdisp/wp_no_btc": 12},
        ),
    ),
}
# how a call asks for everything in the journal back
NOTHING = {"smc_sysctls": {"settings": {}}}


@pytest.fixture(params=sorted(CALLS))
def name(request, monkeypatch):
    monkeypatch.setattr(restart, "time", Clock())
    monkeypatch.setattr(cpu_polarization, "time", Clock())
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


def tuned(name, root):
    """The host as version 0.1.0 left it, what its files were before, and the call."""
    make, run = CALLS[name]
    host = make(root)
    before = texts(root)
    put(host, of_version_010()[name])
    return host, before, run


def test_they_lack_what_later_versions_added():
    for name in CALLS:
        journal = json.loads(of_version_010()[name]["%s/%s.json" % (FOLDER, name)])
        assert journal["schema"] == SCHEMA and set(journal) == {"knobs", "schema", "tuning"}
        assert {field for entry in journal["knobs"].values() for field in entry} == {
            "family",
            "first",
            "ours",
            "since",
            "subject",
        }


def test_a_host_that_was_tuned_is_as_requested(name, tmp_path):
    host, _before, run = tuned(name, tmp_path)
    found = only(run(host, check=True))
    # an instance has its new value after a restart
    assert found["verdict"] == ("pending_restart" if name == "sap_profile" else "compliant"), found["reason"]


def test_the_first_values_come_back(name, tmp_path):
    host, before, run = tuned(name, tmp_path)
    result = run(host, state="restored", **NOTHING.get(name, {}))
    assert result["changed"] and not result["failed"]
    assert texts(tmp_path) == before
    assert not run(host, state="restored", **NOTHING.get(name, {}))["changed"]
