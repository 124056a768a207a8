# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Ansible tells the callback: the variables of a play and what is wrong with them, and outcomes of tasks."""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ansible import context
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.playbook.block import Block
from ansible.release import __version__ as ansible_core_version
from ansible.template import Templar

from .._answers import facts
from .role_options import templated
from .variables import COLLECTION, COMMON, choose, collection_version, known_tunings, mistakes, refusal

VARIABLE = "zpower_evidence"
KINDS: list[str] = COMMON["zpower_kind"]["choices"]
LOOKUP_SAID = re.compile(
    r".*lookup plugin 'zpower\.sap_tuning\.\w+'"
    r"(?: failed: |\. Error was a <class '[\w.]+'>, original message: )(?P<said>.+)",
    re.DOTALL,
)


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
    """What is wrong with the variables of the hosts of a play, in one text; empty if nothing is. ValueError."""
    found: dict[str, list[str]] = {}
    try:
        for host in hosts:
            variables = play.get_variable_manager().get_vars(play=play, host=host)
            value_of = templated(Templar(loader=play.get_loader(), variables=variables), variables)
            for sentence in (*mistakes(variables, value_of), *unknown_tunings(value_of)):
                found.setdefault(sentence, []).append(str(host))
    except Exception as error:  # pylint: disable=broad-exception-caught  # files of variables and templates
        # before ansible-core 2.19 the text has the file and its line
        places = [getattr(one, "obj", None) for one in (error, error.__context__)]
        where = next((f"{place}: " for place in places if getattr(place, "line_num", None)), "")
        raise ValueError(f"the variables of the play '{play.get_name()}' cannot be read: {where}{error}") from None
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


def kind(play: Any) -> str:
    """The kind of the evidence of a play, empty if it writes none. ValueError for an unknown one."""
    value = play.get_vars().get(VARIABLE)
    found = next((known for known in KINDS if value == known), "")
    if value is not None and not found:
        about = f"{VARIABLE} of the play '{play.get_name()}' is {str(value)!r}"
        raise ValueError(f"{about}: it must be one of {', '.join(KINDS)}")
    return found


def rolls_back(play: Any, hosts: list[Any]) -> bool:
    """Whether the first host takes everything back; a mistake in the variable is left to the call on each host."""
    try:
        return bool(boolean(variable(play, hosts[0] if hosts else None, "zpower_rollback"), strict=False))
    except Exception:  # pylint: disable=broad-exception-caught
        return False


def part(outcome: Any, name: str) -> Any:
    """Host, task or result of the outcome of a task; in ansible-core 2.16 these names have an underscore."""
    return getattr(outcome, name if hasattr(outcome, name) else f"_{name}")


def own_words(text: str) -> str:
    """The sentence of a lookup plugin of this collection, without the chain that ansible-core puts before it."""
    found = LOOKUP_SAID.search(text)
    if found is None:
        return text.removeprefix("Task failed: ")
    said = found["said"]
    half = len(said) // 2
    # up to ansible-core 2.18 the sentence comes twice
    return said[: half - 1] if said[: half - 1] == said[half + 1 :] else said


def message(shown: Mapping[str, Any], task: Any) -> str:
    """Why a task failed on a host."""
    items = shown.get("results")
    failed = [item for item in items if isinstance(item, Mapping) and item.get("failed")] if items else []
    said = [own_words(str(part.get("msg") or "")) for part in (*failed[:1], shown)]
    lines = str(shown.get("module_stderr") or "").strip().splitlines()
    return "; ".join([text for text in said if text][:1] + lines[-1:]) or f"the task {task.get_name()} failed"


def command_line() -> dict[str, object]:
    """What runs, as the command line says it."""
    given = context.CLIARGS
    tags, skipped = ([str(tag) for tag in given.get(name) or ()] for name in ("tags", "skip_tags"))
    return {
        "collection": collection_version(COLLECTION),
        "ansible_core": ansible_core_version,
        "inventory": ", ".join(map(str, given.get("inventory") or ())),
        "limit": str(given.get("subset") or "") or None,
        "tags": [] if tags == ["all"] else tags,
        "skip_tags": skipped,
        "check": bool(given.get("check")),
    }
