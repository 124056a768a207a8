# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""mistakes.yml: each mistake ends the run with an exit code and one sentence, before a host is measured or changed.

Most are tried without a playbook: test_variables.py makes sure that what is found here ends every playbook with exit
code 2.
"""

from __future__ import annotations

import datetime
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from actions import run_action
from ansible.errors import AnsibleActionFail
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.zpower.sap_tuning.plugins.action.tunings import WITH_ROWS
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.plays import unknown_tunings
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.role_options import common_options
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import (
    mistakes,
    refusal,
    role_specs,
    role_values,
    trusted,
)
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import command, waivers
from rollout_play import Play
from sites import COMPLIANT, Site

CHECKOUT = Path(__file__).resolve().parents[2]
TABLES = yaml.safe_load((CHECKOUT / "tests" / "unit" / "mistakes.yml").read_text("utf-8"))
LONG, HUGE = "x" * 10_000, 10**400
REACHED = "Tunings of this host"
"""The name of the first task that reaches a host."""


def meant(value: Any) -> Any:
    """Return the value of a table, with its short forms expanded."""
    if isinstance(value, str):
        return HUGE if value == "<huge>" else value.replace("<long>", LONG)
    if isinstance(value, dict):
        return {meant(key): meant(item) for key, item in value.items()}
    return [meant(item) for item in value] if isinstance(value, list) else value


def rows(table: str) -> Any:
    found, names = TABLES[table], [row[0] for row in TABLES[table]]
    return pytest.mark.parametrize(("given", "begins"), [meant(row[1:]) for row in found], ids=names)


def one_sentence(said: str, begins: str) -> None:
    """Check the sentence that a user reads: short, once, in plain words."""
    assert said.startswith(begins)
    assert len(said) <= 500 and "\n" not in said
    assert not re.search(r"Traceback|<class|object at 0x|Error\b(?! rendering)|lookup plugin|_Ansible|datetime\.", said)
    parts = said.split("; ")
    assert len(parts) == len({*parts})


@rows("variables")
def test_variables_are_refused_before_the_first_task(given: dict[str, Any], begins: str) -> None:
    (said,) = mistakes({"zpower_tunings": ["rps"], **given})
    one_sentence(refusal({said: ["app1"]}, 1), begins)


def tasks(items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for item in items:
        yield item
        yield from tasks(item.get("block", []))


@pytest.mark.parametrize(
    ("role", "given", "begins"),
    [(row[0], *meant(row[2:])) for row in TABLES["in_role"]],
    ids=[f"{row[0]}: {row[1]}" for row in TABLES["in_role"]],
)
def test_the_first_task_of_a_role_refuses_bad_variables(
    tmp_path: Path, role: str, given: dict[str, Any], begins: str
) -> None:
    module = {"report": "measurement_report", "trend": "measurement_trend", "scaling": "measurement_scaling"}
    module["before_after"] = "experiment"
    name, file = ("measurement_check", "ready") if role == "measure" else (module.get(role, role), "main")
    text = (CHECKOUT / "roles" / role / "tasks" / f"{file}.yml").read_text("utf-8")
    written = next(task for task in tasks(yaml.safe_load(text)) if f"zpower.sap_tuning.{name}" in task)
    hosts = {"groups": {"all": ["app1", "app2"]}, "ansible_play_hosts_all": ["app1"], "ansible_play_batch": ["app1"]}
    site = {"zpower_results": str(tmp_path), "zpower_change": "c1", "measure_peer": "app2"}
    defaults = {**role_values("measure"), **role_values("report"), **role_values(role)}
    variables = {**defaults, "inventory_hostname": "app1", **hosts, **site, **trusted(given)}
    templar = Templar(loader=DataLoader(), variables=variables)
    arguments = dict(templar.template(trusted(written[f"zpower.sap_tuning.{name}"] or {})))
    action = importlib.import_module(f"ansible_collections.zpower.sap_tuning.plugins.action.{name}")
    with pytest.raises(AnsibleActionFail) as caught:
        run_action(action, arguments, variables=variables, templar=templar, role=role)
    said = str(caught.value)
    one_sentence(said, begins)
    assert said.split(" ", maxsplit=1)[0] not in {variable.removeprefix(f"{role}_") for variable in role_specs(role)}
    assert list(tmp_path.iterdir()) == []


@rows("rollout")
def test_the_plan_of_a_rollout_refuses_bad_variables(tmp_path: Path, given: dict[str, Any], begins: str) -> None:
    play = Play(tmp_path)
    for variables in play.hosts.values():
        variables.update(trusted(given))
    with pytest.raises(AnsibleActionFail) as caught:
        play.step("planned", change=given.get("rollout_change", "c1"))
    one_sentence(str(caught.value), begins)
    assert not (tmp_path / "rollouts" / "c1" / "rollout.json").exists()


@rows("together")
def test_variables_that_contradict_each_other(given: dict[str, Any], begins: str) -> None:
    with pytest.raises(ValueError, match=".") as caught:
        common_options(given.get)
    one_sentence(str(caught.value), begins)


@rows("tunings")
def test_tunings_that_do_not_exist_are_refused_before_the_first_task(given: object, begins: str) -> None:
    (said,) = unknown_tunings({"zpower_tunings": given}.get)
    one_sentence(said, begins)


@rows("waivers")
def test_a_waiver_with_a_mistake_accepts_nothing(given: object, begins: str) -> None:
    found, (said,) = waivers.parse(given, WITH_ROWS)
    assert found == []
    one_sentence(said, begins)


@rows("commands")
def test_a_command_that_cannot_be_called(given: object, begins: str) -> None:
    with pytest.raises(ValueError, match=".") as caught:
        command.parse(given)
    one_sentence(str(caught.value), begins)


@pytest.mark.parametrize(
    ("playbook", "options", "file", "code", "said"),
    [
        pytest.param(*row[1:], id=row[0], marks=[] if row[0] == "broken YAML in group_vars" else pytest.mark.gate)
        for row in TABLES["playbooks"]
    ],
)
def test_a_playbook_ends_with_its_code_and_one_sentence(
    tmp_path: Path, playbook: str, options: list[str], file: dict[str, str] | None, code: int, said: str
) -> None:
    site = Site(tmp_path, {"app1": COMPLIANT})
    if file:
        (tmp_path / file["file"]).parent.mkdir()
        (tmp_path / file["file"]).write_text(file["text"])
    status, text = site.play(f"zpower.sap_tuning.{playbook}", *options)
    assert status == code, text
    assert said in " ".join(text.split())
    assert "Traceback" not in text
    assert REACHED not in text or "--skip-tags" in options


def test_a_date_without_quotes_is_a_date() -> None:
    """YAML reads it so, in the table as in an inventory."""
    (given,) = [row[1] for row in TABLES["variables"] if row[0] == "a day for a number"]
    assert given == {"rps_every": datetime.date(2026, 1, 1)}
