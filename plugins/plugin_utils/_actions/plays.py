# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a play says to the callback before its first task: its variables and what is wrong with them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible.playbook.block import Block
from ansible.template import Templar

from .._answers import facts
from .role_options import templated
from .variables import choose, known_tunings, mistakes, refusal


def variable(play: Any, host: Any, name: str) -> Any:
    """A variable as the first host of the play has it; None if it is not set. Raises what a template raises."""
    manager = play.get_variable_manager()
    variables = manager.get_vars(play=play, host=host)
    if facts.deciding(variables):  # the tasks of that host fail; here the others still need a folder
        kept, manager._fact_cache = manager._fact_cache, {str(host): {}}
        try:
            variables = manager.get_vars(play=play, host=host)
        finally:
            manager._fact_cache = kept
    return Templar(loader=play.get_loader(), variables=variables).template(variables.get(name))


def wrong_variables(play: Any, hosts: list[Any]) -> str:
    """What is wrong with the variables of the hosts of a play, in one text; empty if nothing is."""
    found: dict[str, list[str]] = {}
    for host in hosts:
        variables = play.get_variable_manager().get_vars(play=play, host=host)
        value_of = templated(Templar(loader=play.get_loader(), variables=variables), variables)
        for sentence in (*mistakes(variables, value_of), *unknown_tunings(value_of)):
            found.setdefault(sentence, []).append(str(host))
    # the braces would be a template
    return refusal(found, len(hosts)).replace("{", "{ ")


def unknown_tunings(value_of: Callable[[str], Any]) -> list[str]:
    """What is wrong with zpower_tunings of a host, in a list; a missing value is left to the task that needs it."""
    try:
        given = value_of("zpower_tunings")
    except ValueError:
        return []
    try:
        choose(given if str(given or "").strip() else [], known_tunings())
    except ValueError as error:
        return [str(error)]
    return []


def put_in_front(play: Any, message: str) -> None:
    """Let a play fail before its first task. Ansible would turn an error of a callback into a warning."""
    task = {"name": "Variables of zpower.sap_tuning", "run_once": True, "tags": ["always"]}
    task["ansible.builtin.fail"] = {"msg": message}
    first = {"play": play, "variable_manager": play.get_variable_manager(), "loader": play.get_loader()}
    play.pre_tasks = [Block.load({"block": [task]}, **first), *play.pre_tasks]


def results_folder(play: Any, host: Any) -> Path:
    named = str(variable(play, host, "zpower_results") or "results")
    return Path(os.path.expanduser(os.path.expandvars(named)))


def sources_of(inventory: Any) -> list[str]:
    """The files and lists of hosts that Ansible could read."""
    return list(map(str, inventory._inventory.processed_sources))
