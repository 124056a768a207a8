# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The faces platform_info and platform_settings_info: what they take and return, and that they change nothing."""

import json
import os
import platform
import re
from pathlib import Path

import captured
import pytest
import smckernel
import synthetic
from ansible.module_utils.basic import AnsibleModule
from ansible_collections.zpower.sap_tuning.plugins.module_utils._captures.host import CapturedHost
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import netlink
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import smc_facts
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.reading import ReadingHost
from ansible_collections.zpower.sap_tuning.plugins.modules import platform_info, platform_settings_info
from modules import caller

CHECKOUT = Path(__file__).resolve().parents[4]


@pytest.fixture
def info(monkeypatch, capsys):
    return caller(platform_info.main, monkeypatch, capsys)


@pytest.fixture
def warnings(monkeypatch):
    """The warnings that the module gives; where they go then depends on who imports ansible."""
    given = []
    monkeypatch.setattr(AnsibleModule, "warn", lambda self, text: given.append(text))
    return given


@pytest.fixture
def check(monkeypatch, capsys):
    return caller(platform_settings_info.main, monkeypatch, capsys)


PAGE = os.path.join(os.path.dirname(platform_info.__file__), "..", "..", "docs", "platform.md")


def documented():
    """The nested keys of the tables of facts in docs/platform.md: `lpar.name`, `.number` are two keys of lpar."""
    known = {}
    with open(PAGE, encoding="utf-8") as stream:
        facts = stream.read().split("## Facts\n")[1].split("## SMT\n")[0]
    for row in re.findall(r"(?m)^\| (`.*?`) \|", facts):
        parent = ""
        for name in re.findall("`(.*?)`", row):
            path = (parent + name if name.startswith(".") else name).replace("[]", "").replace(".<name>", "")
            parent = path.rpartition(".")[0]
            level = known
            for key in path.split("."):
                level = level.setdefault(key, {})
    return known


def returned(value, known):
    """The nested keys of what was returned, as deep as known goes; a list counts by its first item."""
    if isinstance(value, list):
        value = value[0] if value else {}
    return {key: returned(value[key], known.get(key, {})) for key in value} if known and value else {}


def test_facts_of_a_captured_folder(tmp_path, info, warnings):
    captured.grow(tmp_path, synthetic.large_lpar(4))
    result = info(root=str(tmp_path))
    found = result["ansible_facts"]["zpower_platform"]
    assert result["changed"] is False and warnings == []
    assert (found["machine_type"], found["virtualization"], len(found["interfaces"])) == ("8561", "lpar", 4)
    assert info(root=str(tmp_path), _ansible_check_mode=True)["ansible_facts"] == result["ansible_facts"]


def test_everything_returned_is_documented_and_the_other_way_round(tmp_path, info, monkeypatch):
    yaml = pytest.importorskip("yaml")
    tree = synthetic.zvm_guest()
    tree["/usr/sap/C11/D00"] = {"folder": True}
    tree["/etc/os-release"] = synthetic.SLES
    tree["/etc/systemd/system/multi-user.target.wants/tuned.service"] = {"link": "/gone"}
    captured.grow(tmp_path, tree)
    found = info(root=str(tmp_path))["ansible_facts"]["zpower_platform"]
    contains = yaml.safe_load(platform_info.RETURN)["ansible_facts"]["contains"]["zpower_platform"]["contains"]
    known = documented()
    assert set(found) == set(contains) == set(known)
    # a captured tree does not tell of SMC
    smckernel.Answers(monkeypatch, netlink, family=None)
    found["smc"] = smc_facts.smc()
    # one interface stands for all
    found["interfaces"] = found["interfaces"]["enc600"]
    # this kernel has no SMC, so its facts have no more than their first level
    first_level = dict(known, smc=dict.fromkeys(known["smc"], {}))
    assert returned(found, first_level) == first_level
    # the samples show all nested keys
    samples = {name: entry["sample"] for name, entry in contains.items()}
    samples["interfaces"] = samples["interfaces"]["hsi0"]
    assert returned(samples, known) == known


def test_this_machine_is_the_default(info):
    result = info()
    assert result["ansible_facts"]["zpower_platform"]["kernel"] == platform.release()


@pytest.mark.parametrize("folder", ["", "nowhere", "empty"])
def test_a_root_that_is_no_capture_is_one_sentence(tmp_path, info, folder):
    (tmp_path / "empty" / "sys").mkdir(parents=True)
    root = str(tmp_path / folder).rstrip("/")
    result = info(root=root)
    assert result["failed"] and result["msg"].startswith("root: ") and root in result["msg"]


def test_what_cannot_be_read_is_a_warning(tmp_path, info, warnings, monkeypatch):
    captured.grow(tmp_path, synthetic.zvm_guest())
    data = CapturedHost.data

    def refuse(self, path, follow=True):
        if path == "/proc/cmdline":
            raise HostError("cannot read /proc/cmdline: it is contradictory")
        return data(self, path, follow)

    monkeypatch.setattr(CapturedHost, "data", refuse)
    result = info(root=str(tmp_path))
    assert warnings == ["cannot read /proc/cmdline: it is contradictory"]
    assert result["ansible_facts"]["zpower_platform"]["kernel_parameters"] is None


def test_aix_needs_no_proc(info, monkeypatch):
    def refuse(self, argv, timeout=30):
        raise HostError("cannot run oslevel")

    monkeypatch.setattr(platform, "system", lambda: "AIX")
    monkeypatch.setattr(ReadingHost, "run", refuse)
    found = info()["ansible_facts"]["zpower_platform"]
    assert (found["system"], found["aix_level"], found["kernel"]) == ("AIX", None, None)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"threads_per_core": 3}, "threads_per_core must be one of: 1, 2"),
        ({"threads_per_core": "many"}, "threads_per_core"),
        ({"database": "x"}, "Unsupported parameters"),
    ],
)
def test_mistyped_wishes_are_refused(check, arguments, words):
    result = check(**arguments)
    assert result["failed"] and words in result["msg"]


def test_check_tells_and_changes_nothing(tmp_path, check, monkeypatch):
    captured.grow(tmp_path, synthetic.large_lpar(1))
    host = ReadingHost(str(tmp_path))
    monkeypatch.setattr(platform_settings_info, "host_and_system", lambda root: (host, "Linux"))

    def tree():
        return {str(path): path.lstat().st_mtime_ns for path in tmp_path.rglob("*")}

    before = tree()
    result = check(threads_per_core=2)
    assert (result["changed"], result["msg"], len(result["tuning"])) == (False, "2 compliant", 2)
    # a module that only looks does not fail for what it sees
    assert check(threads_per_core=1, _ansible_check_mode=True)["tuning"][0]["verdict"] == "drifted"
    both = check(database_host="127.0.0.1")
    assert [record["subject"] for record in both["tuning"]] == ["SMT", "capacity", "HiperSockets"]
    assert tree() == before


def test_every_record_has_the_keys_of_the_schema(check):
    schema = json.loads((CHECKOUT / "docs" / "schemas" / "tunings-1.schema.json").read_text(encoding="utf-8"))
    for record in check(database_host="localhost")["tuning"]:
        assert set(record) == set(schema["$defs"]["tuning"]["properties"])
