# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every role has what a reader looks for, and its defaults and its argument specification name the same variables."""

import re
from pathlib import Path

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import known
from playing import ansible_playbook, environment

COLLECTION = "zpower.sap_tuning."
# The parts of a README in their order.
FORM = [
    r"\A<!--\n(?:.*\n)+?-->\n\n# Role (\w+): \S.*\n",
    r"\]\(\.\./\.\./docs/",
    r"^Variables: \[docs/variables\.md\]\(\.\./\.\./docs/variables\.md#(?:role-)?(\w+)\), "
    r"or `ansible-doc -t role zpower\.sap_tuning\.(\w+)`\.$",
    r"^```yaml\n",
    r"\*\*Taken back\*\*|nothing to take back|To undo it, ",
]
ROLES = sorted(path for path in (Path(__file__).parents[2] / "roles").iterdir() if path.is_dir())


def variables(role):
    """The variables in defaults/main.yml, and the options in meta/argument_specs.yml, of one role."""
    defaults = yaml.safe_load((role / "defaults" / "main.yml").read_text(encoding="utf-8")) or {}
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]
    return defaults, specs["main"].get("options", {})


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_defaults_and_argument_specs_name_the_same_variables(role):
    defaults, options = variables(role)
    assert set(defaults) == set(options)
    assert all(name.startswith(role.name + "_") for name in options)


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_documented_defaults_are_the_real_ones(role):
    defaults, options = variables(role)
    plain = {name: value for name, value in defaults.items() if "{{" not in str(value)}
    documented = {name: options[name]["default"] for name in plain if "default" in options[name]}
    assert documented == {name: plain[name] for name in documented}


def readme(role):
    return (role / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_the_readme_has_the_form_of_all(role):
    places = [re.search(part, readme(role), re.MULTILINE) for part in FORM]
    assert None not in places
    assert places[0][1] == role.name
    assert places[2].groups() == (role.name, role.name)
    # the way back may stand above the example
    starts = [place.start() for place in places[:-1]]
    assert starts == sorted(starts)


def examples(role):
    """The plays of the examples of a README."""
    return [
        play
        for text in re.findall(r"^```yaml\n(.*?)^```", readme(role), re.MULTILINE | re.DOTALL)
        for play in yaml.safe_load(text)
    ]


def mistakes(plays):
    """What argument specifications say against the variables of these plays."""
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
def test_the_examples_set_what_the_argument_specs_know(role):
    plays = examples(role)
    shown = {entry["role"] for play in plays for entry in play.get("roles", [])}
    shown |= {play.get("ansible.builtin.import_playbook") for play in plays}
    assert COLLECTION + role.name in shown
    assert mistakes(plays) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rps_evry": 4}, "no variable is called rps_evry"),
        ({"rps_every": "many"}, "rps_every"),
        ({"rps_state": "on"}, "rps_state"),
    ],
)
def test_a_mistake_in_an_example_is_found(given, words):
    (found,) = mistakes([{"hosts": "all", "roles": [{"role": "zpower.sap_tuning.rps", "vars": given}]}])
    assert words in found


def test_ansible_parses_all_examples(tmp_path):
    plays = [play for role in ROLES for play in examples(role)]
    assert len(plays) >= len(ROLES)
    (tmp_path / "examples.yml").write_text(yaml.safe_dump(plays), encoding="utf-8")
    done = ansible_playbook("--syntax-check", "-i", "localhost,", "examples.yml", cwd=tmp_path, env=environment())
    assert done.returncode == 0, done.stdout + done.stderr
