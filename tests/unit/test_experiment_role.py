# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the roles experiment and before_after decide themselves: the variables of a level, the order of the states."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
EXPERIMENT, BEFORE_AFTER = (CHECKOUT / "roles" / name for name in ("experiment", "before_after"))
# ansible-core 2.16 cannot call an interpreter in a folder with a blank, where the checkout and its .venv may lie
LOCAL = {"ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3"}


def play(
    folder: Path, tasks: list[dict[str, Any]], *arguments: str, hosts: dict[str, Any] | None = None
) -> tuple[bool, str]:
    """Whether these tasks pass on hosts of this machine, and what is said."""
    inventory = {"all": {"hosts": {name: {**LOCAL, **values} for name, values in (hosts or {"app1": {}}).items()}}}
    (folder / "hosts.json").write_text(json.dumps(inventory))
    (folder / "play.yml").write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": tasks}]))
    program = os.path.join(os.path.dirname(sys.executable), "ansible-playbook")
    command = [program, "-i", str(folder / "hosts.json"), str(folder / "play.yml"), *arguments]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(CHECKOUT / ".cache" / "collections")}
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    return done.returncode == 0, done.stdout + done.stderr


LEVEL = {
    "name": "every-4",
    "vars": {"rps_every": 4, "rps_flow_cnt": None, "rps_interfaces": ["hsi0"], "rps_force": True, "rps_cpus": "0-3"},
    "probe": {"cpu_polarization_mode": "vertical"},
    "set": ["rps"],
    "found": ["cpu_polarization"],
}


def level_tasks(*checks: str) -> list[dict[str, Any]]:
    return [
        {"ansible.builtin.include_vars": str(EXPERIMENT / "vars" / "main.yml")},
        {
            "ansible.builtin.include_tasks": str(EXPERIMENT / "tasks" / "variables.yml"),
            "vars": {"__experiment_level": LEVEL},
        },
        {"ansible.builtin.assert": {"that": list(checks)}},
    ]


def test_the_variables_of_a_level_keep_their_types_and_win_over_the_inventory(tmp_path: Path) -> None:
    checks = (
        "rps_every | int == 4",
        "rps_flow_cnt is none",
        "rps_interfaces == ['hsi0']",
        "rps_force is sameas true",
        "rps_cpus == '0-3'",
        "cpu_polarization_mode == 'vertical'",
    )
    passed, text = play(tmp_path, level_tasks(*checks), hosts={"app1": {"rps_every": 2, "rps_flow_cnt": 32768}})
    assert passed, text


def test_a_variable_that_was_given_on_the_command_line_as_well_is_told(tmp_path: Path) -> None:
    passed, text = play(tmp_path, level_tasks("true"), "-e", "rps_every=2")
    assert not passed
    assert "rps_every is 2 on app1, and level every-4 sets it to 4: it was given with -e" in text


def test_what_a_level_has_set_is_nothing_that_a_later_play_sees(tmp_path: Path) -> None:
    """set_fact lasts until the end of ansible-playbook: site in the same run would apply the level measured last."""
    plan = {"tunings": ["rps"], "plan": {"cells": [{"vars": {}}, {"vars": LEVEL["vars"]}]}}
    before = {"name": "before", "vars": "{{ __experiment_before }}", "probe": {}}
    tasks = [
        {"ansible.builtin.include_vars": str(EXPERIMENT / "vars" / "main.yml")},
        {"ansible.builtin.set_fact": {"__experiment_plan": plan}},
        {
            "ansible.builtin.include_tasks": str(EXPERIMENT / "tasks" / "remember.yml"),
            "vars": {"role_path": str(EXPERIMENT)},
        },
        {"ansible.builtin.include_tasks": str(EXPERIMENT / "tasks" / "variables.yml")}
        | {"vars": {"__experiment_level": {**LEVEL, "probe": {}}}},
        {"ansible.builtin.assert": {"that": "rps_every | int == 4 and rps_force"}},
        {"ansible.builtin.include_tasks": str(EXPERIMENT / "tasks" / "variables.yml")}
        | {"vars": {"__experiment_level": before}},
        # the inventory's, and the defaults of the role where it says nothing
        {"ansible.builtin.assert": {"that": ["rps_every | int == 2", "rps_flow_cnt | int == 32768"]}},
        {"ansible.builtin.assert": {"that": ["rps_interfaces == ['auto']", "rps_force is sameas false"]}},
        {"ansible.builtin.assert": {"that": ["rps_cpus is none"]}},
    ]
    hosts = {"app1": {"rps_every": 2, "rps_flow_cnt": 32768, "rps_cpus": None}}
    passed, text = play(tmp_path, tasks, hosts=hosts)
    assert passed, text


ASTRAY = {
    # role: what a host says of itself, where the others have to be, and when they began together
    "experiment": ("__experiment_held", "every-4 2", "__experiment_together"),
    "before_after": ("__before_after_at", "after 2", "__before_after_together"),
}


@pytest.mark.parametrize("role", list(ASTRAY))
@pytest.mark.parametrize(
    ("at", "together", "astray"),
    [
        ("here", ["app1", "app2"], []),
        ("elsewhere", ["app1", "app2"], ["app2"]),
        # a peer that is no host of the play is left as it is
        ("elsewhere", ["app1"], []),
    ],
)
def test_a_peer_that_did_not_get_as_far_is_known(
    tmp_path: Path, role: str, at: str, together: list[str], astray: list[str]
) -> None:
    """Who fails stays at the level of before; whoever measures against it must not take that for the new level."""
    fact, here, began = ASTRAY[role]
    places = {"here": here, "elsewhere": here.replace("2", "1")}
    tasks = [
        {"ansible.builtin.include_vars": str(CHECKOUT / "roles" / role / "vars" / "main.yml")},
        {"ansible.builtin.set_fact": {fact: "{{ place }}", began: together}},
        {"ansible.builtin.assert": {"that": [f"__{role}_astray == {astray}"]}, "when": "inventory_hostname == 'app1'"},
    ]
    level = {"__experiment_level": {"phase": "every-4", "round": 2}}
    peers = {"measure_peer": "app2", "measure_enqueue_peer": "app2"}
    hosts = {"app1": {**peers, **level, "place": here}, "app2": {**level, "place": places[at]}}
    passed, text = play(tmp_path, tasks, hosts=hosts)
    assert passed, text


@pytest.mark.parametrize("role", ["experiment", "before_after"])
def test_a_change_may_be_called_by_a_number(tmp_path: Path, role: str) -> None:
    tasks = [{"ansible.builtin.include_role": {"name": f"zpower.sap_tuning.{role}"}}]
    given = {"zpower_change": 4711, "zpower_tunings": [], "zpower_results": str(tmp_path), "measure_rounds": 1}
    _passed, text = play(tmp_path, tasks, "-e", json.dumps(given))
    assert "no host of this play has a measure_peer" in text


def test_before_and_after_of_a_change_with_records_is_refused_before_the_host_is_touched(tmp_path: Path) -> None:
    tasks = [{"ansible.builtin.include_role": {"name": "zpower.sap_tuning.before_after"}}]
    given = {"zpower_change": "again", "zpower_tunings": ["rps"], "zpower_results": str(tmp_path)}
    hosts = {"app1.example": {"measure_peer": "app2.example"}, "app2.example": {}}
    (tmp_path / "again" / "app1.example").mkdir(parents=True)
    (tmp_path / "again" / "app1.example" / "tunings-after-1.json").write_text("{}")
    passed, text = play(tmp_path, tasks, "--limit", "app1.example", "-e", json.dumps(given), hosts=hosts)
    assert not passed
    assert f"{tmp_path}/again/app1.example holds records already: name another change" in text
    assert "TASK [zpower.sap_tuning.rps" not in text
    # another host of the same change is measured later
    _passed, text = play(tmp_path, tasks, "--limit", "app2.example", "-e", json.dumps(given), hosts=hosts)
    assert "holds records already" not in text and "no host of this play has a measure_peer" in text


def order_of(folder: Path, *restarts: list[dict[str, str]]) -> str:
    """The order that before_after chooses for hosts whose tunings say this."""
    vars_file = str(BEFORE_AFTER / "vars" / "main.yml")
    hosts = {
        f"app{at}": {"before_after_tunings": ["rps", "sap_profile"], "rows": rows} for at, rows in enumerate(restarts)
    }
    tasks = [
        {"ansible.builtin.include_vars": vars_file},
        {"ansible.builtin.set_fact": {"__rps_result": {"tuning": "{{ rows }}"}, "before_after_design": "auto"}},
        {"ansible.builtin.set_fact": {"__before_after_restarts": "{{ __before_after_waiting }}"}},
        {
            "ansible.builtin.set_fact": {
                "__before_after_order": "{{ 'blocks' if __before_after_all_restarts | length > 0 else 'alternate' }}"
            }
        },
        {"ansible.builtin.debug": {"msg": "order {{ __before_after_chosen }}"}},
    ]
    passed, text = play(folder, tasks, hosts=hosts)
    assert passed, text
    return " ".join(word for word in ("alternate", "blocks") if f"order {word}" in text)


def row(restart: str, verdict: str = "drifted") -> dict[str, str]:
    return {"name": "sap_profile", "subject": "x", "verdict": verdict, "restart": restart}


@pytest.mark.parametrize(
    ("rows", "order"),
    [
        ([[row("none")]], "alternate"),
        ([[]], "alternate"),
        ([[row("instance")]], "blocks"),
        ([[row("none"), row("reboot")]], "blocks"),
        ([[row("instance", "not_applicable"), row("reboot", "unsupported")]], "alternate"),
        ([[row("none")], [row("device")]], "blocks"),
    ],
)
def test_states_take_turns_only_where_nothing_waits_for_a_restart_on_any_host(
    tmp_path: Path, rows: list[list[dict[str, str]]], order: str
) -> None:
    assert order_of(tmp_path, *rows) == order
