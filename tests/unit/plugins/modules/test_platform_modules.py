# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules platform_info and platform_settings_info: what they accept and return, and that they change nothing."""

import json
import platform
from pathlib import Path

import captured
import pytest
import synthetic
from ansible_collections.zpower.sap_tuning.plugins.module_utils._captures.host import CapturedHost
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import smc_sockets
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.reading import ReadingHost
from ansible_collections.zpower.sap_tuning.plugins.modules import platform_info, platform_settings_info
from modules import caller

CHECKOUT = Path(__file__).resolve().parents[4]


@pytest.fixture
def info(monkeypatch, capsys):
    return caller(platform_info.main, monkeypatch, capsys)


@pytest.fixture
def check(monkeypatch, capsys):
    return caller(platform_settings_info.main, monkeypatch, capsys)


def test_facts_of_a_captured_folder(tmp_path, info, warned):
    captured.grow(tmp_path, synthetic.large_lpar(4))
    result = info(root=str(tmp_path))
    found = result["ansible_facts"]["zpower_platform"]
    assert result["changed"] is False and warned == []
    assert (found["machine_type"], found["virtualization"], len(found["interfaces"])) == ("8561", "lpar", 4)
    assert info(root=str(tmp_path), _ansible_check_mode=True)["ansible_facts"] == result["ansible_facts"]


@pytest.mark.may_skip("targets have no PyYAML")
def test_everything_returned_is_documented_and_vice_versa(tmp_path, info):
    yaml = pytest.importorskip("yaml")
    tree = synthetic.zvm_guest()
    captured.grow(tmp_path, tree)
    found = info(root=str(tmp_path))["ansible_facts"]["zpower_platform"]
    contains = yaml.safe_load(platform_info.RETURN)["ansible_facts"]["contains"]["zpower_platform"]["contains"]
    assert set(found) == set(contains)


def test_this_machine_is_the_default_and_aix_needs_no_proc(info, monkeypatch):
    assert info()["ansible_facts"]["zpower_platform"]["kernel"] == platform.release()

    def refuse(self, argv, timeout=30):
        raise HostError("cannot run oslevel")

    monkeypatch.setattr(platform, "system", lambda: "AIX")
    monkeypatch.setattr(ReadingHost, "run", refuse)
    found = info()["ansible_facts"]["zpower_platform"]
    assert (found["system"], found["aix_level"], found["kernel"]) == ("AIX", None, None)


@pytest.mark.parametrize("folder", ["", "nowhere", "empty"])
def test_a_root_that_is_not_a_capture_gets_one_sentence(tmp_path, info, folder):
    (tmp_path / "empty" / "sys").mkdir(parents=True)
    root = str(tmp_path / folder).rstrip("/")
    result = info(root=root)
    assert result["failed"] and result["msg"].startswith("root: ") and root in result["msg"]


def test_what_cannot_be_read_is_a_warning(tmp_path, info, warned, monkeypatch):
    captured.grow(tmp_path, synthetic.zvm_guest())
    data = CapturedHost.data

    def refuse(self, path, follow=True):
        if path == "/proc/cmdline":
            raise HostError("cannot read /proc/cmdline: it is contradictory")
        return data(self, path, follow)

    monkeypatch.setattr(CapturedHost, "data", refuse)
    result = info(root=str(tmp_path))
    assert warned == ["cannot read /proc/cmdline: it is contradictory"]
    assert result["ansible_facts"]["zpower_platform"]["kernel_parameters"] is None


def test_check_reports_and_changes_nothing(tmp_path, check, monkeypatch):
    captured.grow(tmp_path, synthetic.large_lpar(1))
    host = ReadingHost(str(tmp_path))
    monkeypatch.setattr(platform_settings_info, "host_and_system", lambda root: (host, "Linux"))

    def tree():
        return {str(path): path.lstat().st_mtime_ns for path in tmp_path.rglob("*")}

    before = tree()
    result = check(threads_per_core=2)
    assert (result["changed"], result["msg"], len(result["tuning"])) == (False, "2 compliant", 2)
    assert "threads_per_core" in check(threads_per_core=3)["msg"]
    # a module that only looks does not fail because of what it sees
    assert check(threads_per_core=1, _ansible_check_mode=True)["tuning"][0]["verdict"] == "drifted"
    monkeypatch.setattr(smc_sockets, "kernel_has_smc", lambda host: False)
    found = check(database_host="127.0.0.1", smc_peers=["127.0.0.1"])["tuning"]
    assert [record["subject"] for record in found] == ["SMT", "capacity", "HiperSockets", "SMC"]
    assert found[-1]["wanted"] == {"smc_peers": ["127.0.0.1"]} and tree() == before
    schema = json.loads((CHECKOUT / "docs" / "schemas" / "tunings-1.schema.json").read_text(encoding="utf-8"))
    for record in found:
        assert set(record) == set(schema["$defs"]["tuning"]["properties"])
