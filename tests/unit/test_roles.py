# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every role has what a reader looks for, and its defaults and its argument specification name the same variables."""

from pathlib import Path

import pytest
import yaml

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


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_the_readme_names_every_variable(role):
    readme = (role / "README.md").read_text(encoding="utf-8")
    _defaults, options = variables(role)
    assert [name for name in options if name not in readme] == []
