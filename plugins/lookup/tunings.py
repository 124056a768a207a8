# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tunings of this collection by name."""

from __future__ import annotations

DOCUMENTATION = r"""
---
name: tunings
short_description: Names of the tunings of zpower.sap_tuning
version_added: 0.1.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Checks the names of tunings that an inventory chose and returns each name once, in the given order.
  - Each file in the collection's C(plugins/module_utils/_tunings) is a tuning.
  - A host variable that is spelled almost like a variable of a chosen tuning's role, or of the role C(platform), such
    as C(rps_evry), is an error, because Ansible would silently ignore it.
options:
  _terms:
    description:
      - One list of names, or a text with commas between them. V(all) among them stands for every tuning.
      - An empty list gives an empty list. Null and an empty text, as an empty field of a survey of AWX arrives, mean
        C(zpower_tunings) of the host. If that has neither names nor an empty list, the error names the available
        tunings.
    type: list
    elements: raw
    required: true
"""

EXAMPLES = r"""
- name: The tunings of this host
  ansible.builtin.debug:
    msg: "{{ query('zpower.sap_tuning.tunings', zpower_tunings) }}"
"""

RETURN = r"""
_list:
  description: The names.
  type: list
  elements: str
"""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.module_utils.common.yaml import yaml_load
from ansible.plugins.lookup import LookupBase

from ..plugin_utils._actions.role_options import templated

try:
    from ansible.template import trust_as_template
except ImportError:  # before ansible-core 2.19

    def trust_as_template(value: str) -> str:
        return value


COLLECTION = Path(__file__).resolve().parents[2]


@cache
def role_variables(name: str) -> tuple[str, ...]:
    """The variables of a tuning's role (argument_specs.yml) and its deprecated ones (vars/main.yml)."""
    internal = COLLECTION / "roles" / name / "vars" / "main.yml"
    deprecated = yaml_load(internal.read_text("utf-8")).get(f"__{name}_deprecated", []) if internal.exists() else []
    return (*role_specs(name), *deprecated)


@cache
def role_specs(name: str) -> dict[str, dict[str, Any]]:
    """The variables of a role with their types and choices, from its argument_specs.yml."""
    specs = yaml_load((COLLECTION / "roles" / name / "meta" / "argument_specs.yml").read_text("utf-8"))
    return dict(specs["argument_specs"]["main"]["options"])


@cache
def role_values(name: str) -> dict[str, Any]:
    """The variables that a role has by itself, untemplated: those of defaults/main.yml and of vars/main.yml."""
    files = (COLLECTION / "roles" / name / folder / "main.yml" for folder in ("defaults", "vars"))
    found: dict[str, Any] = {}
    for path in files:
        found.update(yaml_load(path.read_text("utf-8")) if path.exists() else {})
    return {name: trusted(value) for name, value in found.items()}


def trusted(value: Any) -> Any:
    """The value with templates that Ansible follows: from 2.19 on, only what it has read itself is a template."""
    if isinstance(value, str):
        return trust_as_template(value)
    if isinstance(value, dict):
        return {key: trusted(item) for key, item in value.items()}
    return [trusted(item) for item in value] if isinstance(value, list) else value


def check_spelling(name: str, known: Iterable[str], given: Iterable[str]) -> None:
    """Raises ValueError for a variable that begins with the tuning's name and is spelled almost like a known one."""
    for variable in sorted(given):
        if variable.startswith(name + "_") and variable not in known:
            meant = get_close_matches(variable, known, n=1, cutoff=0.8)
            if meant:
                raise ValueError(f"there is no variable '{variable}'; did you mean {meant[0]}?")


def known_tunings() -> list[str]:
    """The names of all tunings, sorted."""
    folder = COLLECTION / "plugins" / "module_utils" / "_tunings"
    return sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))


def choose(chosen: object, known: list[str]) -> list[str]:
    """The chosen names (a list, or a text with commas), checked; raises ValueError with one sentence."""
    if isinstance(chosen, str):
        chosen = [name.strip() for name in chosen.split(",") if name.strip()] or None
    if not isinstance(chosen, (list, tuple)):
        raise ValueError(f"no tunings are chosen: set zpower_tunings to a list of some of {', '.join(known)}")
    unknown = [name for name in chosen if name not in [*known, "all"]]
    if unknown:
        raise ValueError(f"there is no tuning '{unknown[0]}': zpower_tunings takes {', '.join(known)}, or all")
    names = known if "all" in chosen else chosen
    return list(dict.fromkeys(names))


def asked_for(given: object, value_of: Callable[[str], object]) -> object:
    """The tunings that a variable names; if it is empty, those in zpower_tunings of the host."""
    empty = given is None or (isinstance(given, str) and not given.strip())
    return value_of("zpower_tunings") if empty else given


class LookupModule(LookupBase):
    def run(self, terms: list[Any], variables: Any = None, **kwargs: Any) -> list[str]:
        # a query() with an empty list may arrive as no term at all
        asked = terms[0] if terms else []
        try:
            chosen = choose(asked_for(asked, templated(self._templar, variables or {})), known_tunings())
            # verify shows the rows of the role platform, whatever the tunings
            for name in [*chosen, "platform"]:
                check_spelling(name, role_variables(name), variables or {})
            return chosen
        except ValueError as error:
            raise AnsibleError(str(error)) from error
