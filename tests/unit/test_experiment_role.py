# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the roles experiment and before_after decide themselves: the variables of a level, the order of the states."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from actions import run_action
from ansible.errors import AnsibleActionFail
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.zpower.sap_tuning.plugins.action import experiment
from ansible_collections.zpower.sap_tuning.plugins.modules.tunings import DOCUMENTATION
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import trusted
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment import plans
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment.plans import steps
from experiments import CHANGE, make_plan, make_records, make_tunings
from linked_collection import linked_collection
from playing import CHECKOUT, LOCAL, play
from records_factory import write_change

EXPERIMENT = CHECKOUT / "roles" / "experiment"


def templated(text: str, variables: dict[str, Any]) -> Any:
    return Templar(loader=DataLoader(), variables=variables).template(trusted(text))


def must_play(folder: Path, tasks: list[dict[str, Any]], hosts: dict[str, Any], *arguments: str, **env: str) -> str:
    """The output of tasks that must succeed."""
    plays = [{"hosts": "all", "gather_facts": False, "tasks": tasks}]
    code, text = play(folder, {name: {**LOCAL, **known} for name, known in hosts.items()}, plays, *arguments, **env)
    assert code == 0, text
    return text


# the module tunings, which logs its calls; the action reads its documentation
NOTING = f"""\
import json
import os

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = {DOCUMENTATION!r}


def main():
    options = {{"names": {{}}, "tunings": {{"type": "dict"}}}}
    module = AnsibleModule(options, supports_check_mode=True)
    tunings = module.params["tunings"]
    with open(os.environ["CALLS"], "a") as calls:
        calls.write(json.dumps({{"check": module.check_mode, **tunings}}) + "\\n")
    row = {{"subject": "x", "verdict": "compliant", "reason": "", "restart": "none"}}
    results = {{name: {{"changed": False, "tuning": [{{"name": name, **row}}]}} for name in tunings}}
    module.exit_json(changed=False, tunings=results, msg="")


if __name__ == "__main__":
    main()
"""
LEVEL = {
    "name": "every-4",
    "vars": {"rps_every": 4, "rps_flow_cnt": None, "rps_interfaces": ["hsi0"], "rps_force": True, "rps_cpus": "0-3"},
    "probe": {"cpu_polarization_mode": "vertical"},
    "set": ["rps"],
    "found": ["cpu_polarization"],
}
STEP = {"phase": "every-4", "round": 2, "session": 1, "hosts": []}
LATER = "rps_every | int == 2 and rps_flow_cnt | int == 32768 and rps_force is undefined"


def step(folder: Path, level: dict[str, Any], *arguments: str, hosts: int = 1) -> list[dict[str, Any]]:
    """Return the calls of the tunings in a step of hosts that do not measure; the inventory has other values."""
    settings = {"ANSIBLE_COLLECTIONS_PATH": str(linked_collection(folder, "tunings", NOTING))}
    tunings = [*level["set"], *level["found"]]
    session = {"kind": "level", "tunings": tunings, "checkpoint": "c1", "varied": level["vars"], "change": "c1"}
    facts = {"__session": session, "__session_mine": tunings, "experiment_lease": 900}
    tasks = [
        {"ansible.builtin.set_fact": {**facts, "__measure_ready": {"workloads": []}}},
        {
            "ansible.builtin.include_tasks": str(EXPERIMENT / "tasks" / "step.yml"),
            "vars": {"__session_step": {**level, **STEP, "back": tunings}, "__session_index": 0},
        },
        # for a later play of the same run, such as site
        {"ansible.builtin.assert": {"that": LATER}},
    ]
    known = {"rps_every": 2, "rps_flow_cnt": 32768, "ansible_become": False}
    all_hosts = {f"app{number}": known for number in range(1, hosts + 1)}
    must_play(folder, tasks, all_hosts, *arguments, CALLS=str(folder / "calls"), **settings)
    return [json.loads(line) for line in (folder / "calls").read_text().splitlines()]


@pytest.mark.gate
def test_the_variables_of_a_level_win_only_in_its_calls(tmp_path: Path) -> None:
    back, set_, look = step(tmp_path, LEVEL, "-e", "rps_every=2")
    both = {"checkpoint": "c1", "complete": True}
    chosen = {"every": 4, "unit": "cpu", "flow_steering": False, "force": True, "cpus": "0-3"}
    values = {**both, **chosen, "interfaces": ["hsi0"], "state": "present"}
    # null is a value in its own right, which the inventory does not replace
    assert set_ == {"check": False, "rps": {**values, "lease": 900}}
    assert (look["check"], look["rps"]) == (True, values)
    assert look["cpu_polarization"]["mode"] == "vertical"
    assert set(back) == {"check", "cpu_polarization", "rps"} and back["check"] is False
    # the options of a rollback, such as the instances to restart, are those of the level
    assert back["rps"] == {**both, **chosen, "state": "restored"}


@pytest.mark.gate
def test_the_first_host_changes_the_shared_profile_of_a_level(tmp_path: Path) -> None:
    """No variable of the inventory says that there is such a profile. A host that waits makes two calls."""
    profile = {"sap_profile_sid": "PRD", "sap_profile_instance": "DEFAULT", "sap_profile_parameters": {"a": 1}}
    level = {**LEVEL, "vars": {**LEVEL["vars"], **profile}, "set": ["rps", "sap_profile"], "found": []}
    calls = step(tmp_path, level, hosts=2)
    left = [
        (call["check"], "rps" in call, call["sap_profile"]["profiles"][0].get("left_to"))
        for call in calls
        if call.get("sap_profile", {}).get("profiles")
    ]
    look = [(True, True, "app1"), (True, True, None)]
    assert left[0] == (False, True, None) and left[1] == (False, False, "app1") and sorted(left[2:], key=str) == look
    waiting = [call for call in calls if "sap_profile" not in call]
    assert [call["rps"]["every"] for call in waiting] == [4]


@pytest.mark.gate
@pytest.mark.parametrize(("noise", "measured"), [(0.005, ["one"]), (0.2, ["one", "two", "three"])])
def test_no_part_is_measured_once_every_level_is_decided(tmp_path: Path, noise: float, measured: list[str]) -> None:
    plan = make_plan(rounds=6, most=12)
    done = steps(plan)[:32]
    write_change(tmp_path / "results", make_records(plan, {"every-4": -0.2}, done, noise), make_tunings(plan, done))
    plans.write_plan(tmp_path / "results", plan)
    shutil.copy(EXPERIMENT / "tasks" / "part.yml", tmp_path)
    stub = {"ansible.builtin.debug": {"msg": "measured {{ __session_step.phase }}; {{ __session_part.rounds }}"}}
    (tmp_path / "step.yml").write_text(json.dumps([stub]))
    names = {8: "one", 10: "two", 12: "three"}
    parts = [{"rounds": rounds, "begin": at, "end": at + 1, "next": int(at < 2)} for at, rounds in enumerate(names)]
    left = [{"phase": name, "round": rounds, "label": name, "session": 1} for rounds, name in names.items()]
    tasks = [
        {
            "ansible.builtin.set_fact": {
                "__session": {"kind": "level", "steps": left, "parts": parts},
                "__session_looked": {"over": False},
                "experiment_change": CHANGE,
                "experiment_results": str(tmp_path / "results"),
                "experiment_material_pct": 5.0,
            }
        },
        {
            "ansible.builtin.include_tasks": str(tmp_path / "part.yml"),
            "loop": "{{ __session.parts }}",
            "loop_control": {"loop_var": "__session_part"},
        },
    ]
    text = must_play(tmp_path, tasks, {"app1": {}, "app2": {}})
    for name in names.values():
        assert text.count(f"measured {name}; ") == (2 if name in measured else 0), text


READY = {"measures": True, "peers": ["app2"]}
STEP_2 = {"phase": "every-4", "round": 2}


@pytest.mark.parametrize("kind", ["level", "state"])
@pytest.mark.parametrize(
    ("at", "together", "astray"),
    [
        ("here", ["app1", "app2"], []),
        ("elsewhere", ["app1", "app2"], ["app2"]),
        # a peer that is not a host of the play is left as it is
        ("elsewhere", ["app1"], []),
    ],
)
def test_a_peer_on_an_old_level_is_known(
    tmp_path: Path, kind: str, at: str, together: list[str], astray: list[str]
) -> None:
    """A host that fails stays at the old level; a host that measures against it must not take it for the new one."""
    session = {"kind": kind, "change": "c1", "results": str(tmp_path / "results")}
    facts = {"__session": session, "__session_play": {"hosts": together}, "__measure_ready": READY}
    here, elsewhere = ({"__session_held": {"step": step, "records": []}} for step in (1, 0))
    hosts = {"app1": {**facts, **here}, "app2": {**facts, **(here if at == "here" else elsewhere)}}
    task = {"event": "measured", "level": STEP_2, "step": 1}
    said = f"^{', '.join(astray)}, which app1 measures against, was not in the state every-4 in round 2"
    with pytest.raises(AnsibleActionFail, match=said) if astray else contextlib.nullcontext():
        run_action(experiment, task, variables={**hosts["app1"], "hostvars": hosts})


def test_check_mode_tries_every_level_and_measures_none() -> None:
    tasks = yaml.safe_load((EXPERIMENT / "tasks" / "main.yml").read_text("utf-8"))
    name = "ansible.builtin.include_tasks"
    included = {task[name]: task for task in tasks if name in task}
    assert [*included] == ["try.yml", "run.yml"]
    assert "when" not in included["try.yml"] and included["try.yml"]["loop"].startswith("{{ __session.plan.cells ")
    assert included["run.yml"]["when"] == "not ansible_check_mode"
    tried = yaml.safe_load((EXPERIMENT / "tasks" / "try.yml").read_text("utf-8"))
    assert [task["check_mode"] for task in tried] == [True, True]


@pytest.mark.parametrize(
    ("final", "winner", "lost", "sets"),
    [
        ("winner", "every-2", False, True),
        ("restored", "every-2", False, False),
        ("winner", None, False, False),
        ("winner", "every-2", True, False),
    ],
)
def test_levels_that_were_restored_are_not_set_again(final: str, winner: str | None, lost: bool, sets: bool) -> None:
    """After the levels are rolled back, only one task of the role sets values: those of the winner."""
    tasks = yaml.safe_load((EXPERIMENT / "tasks" / "run.yml").read_text("utf-8"))
    after = tasks[next(place for place, task in enumerate(tasks) if task["name"].startswith("End the session")) :]
    (setting,) = [task for task in after if "ansible.builtin.include_tasks" in task]
    assert setting["ansible.builtin.include_tasks"] == "keep.yml"
    outcome = {"__session_end": {"winner": winner, "lost": {"app1": lost}}}
    variables = {"inventory_hostname": "app1", "experiment_final": final, **outcome}
    assert str(templated(f"{{{{ {setting['when']} }}}}", variables)) == str(sets)
