# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Defaults, argument specification, tasks and README of every role agree; tunings hand on checkpoints and probation."""

import ast
import re
from pathlib import Path

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.role_options import module_options
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import (
    known,
    known_tunings,
    role_specs,
)
from playing import ansible_playbook, environment

COLLECTION = "zpower.sap_tuning."
TOP = Path(__file__).parents[2]
ROLES = sorted(path for path in (TOP / "roles").iterdir() if path.is_dir())
# modules and results of tasks
NO_VARIABLES = {"sap_profile", "smc_sysctls", "smc_r", "system_base", "platform_info", "smc_peers", "zpower_platform"}


def variables(role):
    """Return the variables in defaults/main.yml, and the options in meta/argument_specs.yml, of one role."""
    defaults = yaml.safe_load((role / "defaults" / "main.yml").read_text(encoding="utf-8")) or {}
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]
    return defaults, specs["main"].get("options", {})


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_defaults_and_argument_specs_agree(role):
    defaults, options = variables(role)
    assert set(defaults) == set(options)
    assert all(name.startswith(role.name + "_") for name in options)
    plain = {name: value for name, value in defaults.items() if "{{" not in str(value) and "default" in options[name]}
    assert {name: options[name]["default"] for name in plain} == plain


def test_tasks_and_playbooks_read_only_known_variables():
    name = re.compile(rf"(?<![\w$/.-])((?:zpower|{'|'.join(role.name for role in ROLES)})_[a-z0-9_]*[a-z0-9])\b")
    found = set()
    for path in [*TOP.glob("roles/*/[dtv]*/*.yml"), *TOP.glob("playbooks/*.yml")]:
        found |= {*name.findall(re.sub(r"(?m)^ *#.*$", "", path.read_text(encoding="utf-8")))}
    assert len(found) > 150
    assert found - {*known()} - NO_VARIABLES == set()


HIDDEN = re.compile(r"(?<!\w)__[a-z][a-z_]*[a-z]\b")


def hidden(value, names):
    """Add the hidden variables that YAML sets to names["set"], and those that its templates read to names["read"]."""
    if isinstance(value, str):
        names["read"] |= {*HIDDEN.findall(value)}
    for key, one in value.items() if isinstance(value, dict) else ():
        names["set"] |= {name for name in (key, one if key in ("register", "loop_var") else "") if HIDDEN.match(name)}
        hidden([] if key in ("register", "loop_var") else one, names)
    for one in value if isinstance(value, list) else ():
        hidden(one, names)


def test_hidden_variables_that_are_set_are_read_and_the_other_way_around():
    names = {"set": {"__rollout_plan"}, "read": set()}  # the action rollout returns it as a fact
    for path in [*TOP.glob("roles/*/[dtv]*/*.yml"), *TOP.glob("playbooks/*.yml")]:
        hidden(yaml.safe_load(path.read_text("utf-8")), names)
    for path in (path for face in ("action", "lookup", "plugin_utils") for path in TOP.glob(f"plugins/{face}/**/*.py")):
        texts = [node.value for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Constant)]
        names["read"] |= {text for text in texts if isinstance(text, str) and HIDDEN.fullmatch(text)}
    computed = {f"__{name}" for name in known()}  # module_options() reads the value of a variable under such a name
    assert names["read"] - names["set"] == set()
    assert names["set"] - names["read"] - computed == set()


def examples(role):
    text = (role / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [play for block in blocks for play in yaml.safe_load(block)]


def mistakes(plays):
    """Return what argument specifications say against the variables of these plays."""
    found = []
    for play in plays:
        entries = [{"role": play.get("ansible.builtin.import_playbook")}, *play.get("roles", [])]
        for name, values in ((entry["role"], entry.get("vars", {})) for entry in entries if entry["role"]):
            given = {**play.get("vars", {}), **values}
            found += [f"no variable is called {variable}" for variable in given if variable not in known()]
            _defaults, options = variables(ROLES[0].parent / name.removeprefix(COLLECTION))
            # the defaults of a role set what is required
            chosen = {key: {**option, "required": False} for key, option in options.items() if key in given}
            found += ArgumentSpecValidator(chosen).validate({key: given[key] for key in chosen}).error_messages
    return found


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_the_examples_set_only_variables_of_the_argument_specs(role):
    plays = examples(role)
    shown = {entry["role"] for play in plays for entry in play.get("roles", [])}
    shown |= {play.get("ansible.builtin.import_playbook") for play in plays}
    assert COLLECTION + role.name in shown
    assert mistakes(plays) == []


@pytest.mark.gate
def test_ansible_parses_all_examples(tmp_path):
    plays = [play for role in ROLES for play in examples(role)]
    (tmp_path / "examples.yml").write_text(yaml.safe_dump(plays), encoding="utf-8")
    done = ansible_playbook("--syntax-check", "-i", "localhost,", "examples.yml", cwd=tmp_path, env=environment())
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("role", known_tunings())
def test_the_role_of_a_tuning_changes_something_in_one_call(role):
    paths = (TOP / "roles" / role / "tasks").glob("*.yml")
    tasks = [task for path in paths for task in yaml.safe_load(path.read_text("utf-8"))]
    calls = [task for task in tasks if "zpower.sap_tuning.tuning" in task and not task.get("check_mode")]
    assert [call["zpower.sap_tuning.tuning"] for call in calls] == [{"name": role}]
    assert not any(f"zpower.sap_tuning.{role}" in task for task in tasks)


OFF = {"confirm_within": "0"}


@pytest.mark.parametrize(
    "given, expected",
    [
        ({}, {}),
        ({"zpower_checkpoint": "cp", "zpower_lease": 60}, {"checkpoint": "cp", "lease": 60}),
        ({"zpower_checkpoint": "", "zpower_lease": 0}, {"lease": 0}),
        ({"zpower_confirm_within": "10m"}, {"confirm_within": "10m"}),
        ({"zpower_confirm_within": 0, "zpower_rollback": True}, {**OFF, "state": "restored"}),
        ({"zpower_confirm_within": "unlimited"}, OFF),
        ({"zpower_probation": "only", "zpower_rollback": True}, {**OFF, "state": "restored"}),
        ({"zpower_probation": "compare", "zpower_confirm_within": "10m"}, OFF),
        ({"zpower_confirm": True, "zpower_confirm_within": "10m"}, {"state": "confirmed"}),
        ({"zpower_confirm": False, "zpower_confirm_within": ""}, {}),
    ],
)
def test_every_tuning_gets_the_options_of_checkpoints_and_probation(given, expected):
    for role in known_tunings():
        found = module_options(role, role_specs(role), {"sap_profile_shared": False, **given}.get)
        assert {name: found[name] for name in found if name not in ("complete", "profiles")} == expected, role
