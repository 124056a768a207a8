# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules and options under their names from before 1.0.0: they work, and Ansible names the new name and the end."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._answers.answers import RENAMED
from packaging.version import Version
from playing import CHECKOUT, ansible_playbook, environment

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
    "unite": ({}, "the name of a run with slices belongs there"),
    "workload": ({"side": "client", "command": [{"name": "job", "argv": ["true"]}]}, '"collector": {"collection"'),
}
DEFAULTS = {
    "zpower.sap_tuning.diff": {"kind": "site"},
    "group/zpower.sap_tuning.measuring": {"runs": 1, "warmup": 0, "idle_seconds": 0, "control": False},
    "zpower.sap_tuning.workload": {"workload": "command"},
}
# the value of an option that was called state, further options, and what only that value can answer
EVENTS: dict[str, tuple[dict[str, Any], str, str]] = {
    "before_after": ({}, "found", '"untouched": []'),
    "calibrate": ({"rounds": 8, "results": "."}, "planned", '"first_round": 1'),
    "experiment": ({"change": "c1"}, "decided", "has no plan of an experiment"),
    "rollout": ({}, "planned", "rollout_change is not set"),
}
END = r"\. This feature will be removed from .{,40}2\.0\.0"
WARNING = r"zpower\.sap_tuning\.(\w+) has been deprecated\. Use (\S+)" + END
OPTION = r"The option state of zpower\.sap_tuning\.(\w+) is called event" + END


@pytest.fixture(scope="module", name="run")
def fixture_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], str]:
    """The results of a play that calls each module by its old name, and what Ansible says."""
    folder = tmp_path_factory.mktemp("old")
    tasks: list[dict[str, Any]] = [
        {f"zpower.sap_tuning.{old}": options, "register": old, "ignore_errors": True}
        for old, (options, _words) in CALLS.items()
    ]
    names = [*CALLS]
    for module, (options, event, _words) in EVENTS.items():
        for times, name in (1, "event"), (2, "state"):
            call = {f"zpower.sap_tuning.{module}": {**options, name: event}, "ignore_errors": True}
            tasks += [{**call, "register": f"{module}_{name}"}] * times
            names.append(f"{module}_{name}")
    results = "{{ {" + ", ".join(f"'{old}': {old}" for old in names) + "} | to_json }}"
    tasks.append({"ansible.builtin.copy": {"content": results, "dest": str(folder / "found.json")}})
    play = {"hosts": "localhost", "gather_facts": False, "module_defaults": DEFAULTS, "tasks": tasks}
    (folder / "own.json").write_text(json.dumps([play]))
    command = ["-i", "localhost,", "-c", "local", "-e", "ansible_python_interpreter=/usr/bin/python3", "own.json"]
    settings = environment(ANSIBLE_NOCOLOR="1", ANSIBLE_CALLBACKS_ENABLED="zpower.sap_tuning.tunings")
    done = ansible_playbook(*command, cwd=folder, env=settings)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((folder / "found.json").read_text("utf-8"))
    return {old: json.dumps(result) for old, result in found.items()}, " ".join((done.stdout + done.stderr).split())


def test_every_old_name_is_called() -> None:
    assert {*CALLS} == {*NEW}


@pytest.mark.parametrize("old", CALLS)
def test_a_task_with_the_old_name_gets_the_result_of_the_new_module(run: tuple[dict[str, str], str], old: str) -> None:
    assert CALLS[old][1] in run[0][old]


def test_each_old_name_is_warned_of_once_with_the_new_name_and_the_version(run: tuple[dict[str, str], str]) -> None:
    assert sorted(re.findall(WARNING, run[1])) == sorted(NEW.items()), run[1]


@pytest.mark.parametrize("name", ["event", "state"])
@pytest.mark.parametrize("module", EVENTS)
def test_an_option_works_under_its_new_and_its_old_name(
    run: tuple[dict[str, str], str], module: str, name: str
) -> None:
    assert EVENTS[module][2] in run[0][f"{module}_{name}"]


def test_the_old_name_of_an_option_is_warned_of_once(run: tuple[dict[str, str], str]) -> None:
    assert sorted(re.findall(OPTION, run[1])) == sorted(EVENTS), run[1]


def test_rows_of_old_names_are_in_the_table(run: tuple[dict[str, str], str]) -> None:
    assert re.search(r"TUNINGS \*+ .*\b1 host: .*\d+ rows", run[1]), run[1]


def test_old_names_of_actions_lead_to_the_same_new_ones_and_end_with_a_later_major_version() -> None:
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
