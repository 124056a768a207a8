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
  - Checks the names of tunings that an inventory chose, and returns them without repetition in the order given.
  - The tunings that exist are the files of the collection's C(plugins/module_utils/_tunings).
  - A variable of the host that is no variable of a chosen tuning's role, or of the role C(platform), but almost spelled
    like one, such as C(rps_evry), is an error, because Ansible would ignore it without a word.
options:
  _terms:
    description:
      - One list of names. V(all) in it stands for every tuning.
      - An empty list gives an empty list. V(none) is an error that names the tunings there are.
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

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.module_utils.common.yaml import yaml_load
from ansible.plugins.lookup import LookupBase

COLLECTION = Path(__file__).resolve().parents[2]


@cache
def role_variables(name: str) -> tuple[str, ...]:
    """The variables of a tuning's role, from its argument_specs.yml."""
    specs = yaml_load((COLLECTION / "roles" / name / "meta" / "argument_specs.yml").read_text("utf-8"))
    return tuple(specs["argument_specs"]["main"]["options"])


def check_spelling(name: str, known: Iterable[str], given: Iterable[str]) -> None:
    """Raises ValueError for a variable that begins with the tuning's name and is almost one of the known ones."""
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
    """The chosen names, checked; raises ValueError with one sentence."""
    if isinstance(chosen, str):
        chosen = [chosen]
    if not isinstance(chosen, (list, tuple)):
        raise ValueError(f"no tunings are chosen: set zpower_tunings to a list of some of {', '.join(known)}")
    unknown = [name for name in chosen if name not in [*known, "all"]]
    if unknown:
        raise ValueError(f"there is no tuning '{unknown[0]}': zpower_tunings takes {', '.join(known)}, or all")
    names = known if "all" in chosen else chosen
    return list(dict.fromkeys(names))


class LookupModule(LookupBase):
    def run(self, terms: list[Any], variables: Any = None, **kwargs: Any) -> list[str]:
        # a query() with an empty list may arrive as no term at all
        try:
            chosen = choose(terms[0] if terms else [], known_tunings())
            # verify shows the rows of the role platform, whatever the tunings
            for name in [*chosen, "platform"]:
                check_spelling(name, role_variables(name), variables or {})
            return chosen
        except ValueError as error:
            raise AnsibleError(str(error)) from error
