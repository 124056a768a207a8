# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules under their names from before 1.0.0: they work, and Ansible names the new name and the end."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._answers.answers import RENAMED
from packaging.version import Version
from playing import CHECKOUT, LOCAL, play

ROUTES = yaml.safe_load((CHECKOUT / "meta" / "runtime.yml").read_text("utf-8"))["plugin_routing"]
NEW = {old: route["redirect"] for old, route in ROUTES["modules"].items() if "redirect" in route}
# how a task calls each, and what only the action of the new name can answer
CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "diff": ({}, "results/site holds no run"),
    "leftovers": ({}, '"failing": ['),
    "platform_check": ({}, '"subject": "SMT"'),
    "report": ({"change": "c1"}, "there is no measurement record of change c1"),
    "scaling": ({"change": "c1", "x": "params.jobs"}, "c1"),
    "trend": ({}, "results on the controller: No such file or directory"),
    "unite": ({}, "give the name of a run with slices"),
    "workload": ({"side": "client", "command": [{"name": "job", "argv": ["true"]}]}, '"collector": {"collection"'),
}
DEFAULTS = {
    "zpower.sap_tuning.diff": {"kind": "site"},
    "group/zpower.sap_tuning.measuring": {"runs": 1, "warmup": 0, "idle_seconds": 0, "control": False},
    "zpower.sap_tuning.workload": {"workload": "command"},
}
END = r"\. This feature will be removed from .{,40}2\.0\.0"
WARNING = r"zpower\.sap_tuning\.(\w+) has been deprecated\. Use (\S+)" + END


def test_old_names_work_and_ansible_warns_about_each_once(tmp_path: Path) -> None:
    tasks: list[dict[str, Any]] = [
        {f"zpower.sap_tuning.{old}": options, "register": old, "ignore_errors": True}
        for old, (options, _words) in CALLS.items()
    ]
    results = "{{ {" + ", ".join(f"'{old}': {old}" for old in CALLS) + "} | to_json }}"
    tasks.append({"ansible.builtin.copy": {"content": results, "dest": str(tmp_path / "found.json")}})
    plays = [{"hosts": "all", "gather_facts": False, "module_defaults": DEFAULTS, "tasks": tasks}]
    code, text = play(tmp_path, {"localhost": LOCAL}, plays, ANSIBLE_CALLBACKS_ENABLED="zpower.sap_tuning.tunings")
    assert code == 0, text
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))
    assert [old for old, (_options, words) in CALLS.items() if words not in json.dumps(found[old])] == []
    said = " ".join(text.split())
    assert sorted(re.findall(WARNING, said)) == sorted(NEW.items()), said
    assert re.search(r"TUNINGS \*+ .*\b1 host: .*\d+ rows", said), said


def test_old_names_of_actions_point_to_the_same_new_ones_and_end_with_a_later_major_version() -> None:
    assert {*CALLS} == {*NEW}
    actions = {path.stem for path in (CHECKOUT / "plugins" / "action").glob("*.py")}
    routed = {old: new for old, new in NEW.items() if new.rpartition(".")[2] in actions}
    assert {old: route["redirect"] for old, route in ROUTES["action"].items()} == routed
    shared = {route["action_plugin"] for route in ROUTES["modules"].values() if "action_plugin" in route}
    short = {old: new.rpartition(".")[2] for old, new in NEW.items()}
    assert {old: short[old] for old, new in NEW.items() if new in shared or short[old] in ROUTES["modules"]} == RENAMED
    version = Version(yaml.safe_load((CHECKOUT / "galaxy.yml").read_text("utf-8"))["version"])
    for old, new in NEW.items():
        assert (CHECKOUT / "plugins" / "modules" / f"{new.rpartition('.')[2]}.py").exists()
        assert not (CHECKOUT / "plugins" / "modules" / f"{old}.py").exists()
        end = Version(ROUTES["modules"][old]["deprecation"]["removal_version"])
        assert end.major > version.major and (end.minor, end.micro) == (0, 0)
