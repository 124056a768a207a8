# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shared by actions: their options and attributes, and their one way to ask a host."""

import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import yaml
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from .._answers import facts
from .._answers.answers import Answer, Parser, heard
from .._answers.text import clean, clean_json, one_line, shorten
from .._statistics.verdict import Limits
from . import variables
from .role_options import ZERO, common_options, host_timeout, templated

# read where Ansible loads an action, before it forks the process of each host
variables.known()
variables.defaults()
PARTS = ("type", "elements", "choices", "default", "required")
RESULTS = {"type": "path", "default": "results"}
"""The option that all these modules have from the documentation fragment ``controller``."""


def argument_spec(documentation: str) -> dict[str, dict[str, object]]:
    """The argument spec of a module with the documentation fragment ``controller``."""
    return {"results": RESULTS, **documented(documentation)}


def documented(documentation: str) -> dict[str, dict[str, Any]]:
    """The argument spec from the documentation of a module; suboptions are left to checks with better sentences."""
    options = yaml.load(documentation, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))["options"]
    return {name: {part: option[part] for part in PARTS if part in option} for name, option in options.items()}


def of_role(role: str) -> dict[str, dict[str, object]]:
    """The argument spec of the variables of a role, without its name in front, from its argument_specs.yml.

    A default that is a template belongs to the role alone.
    """
    return {
        variable.removeprefix(f"{role}_"): {
            part: spec[part] for part in PARTS if part in spec and "{{" not in str(spec[part])
        }
        for variable, spec in variables.role_specs(role).items()
    }


LIMITS = {
    "material_pct": {"type": "float", "default": Limits.material_pct},
    "expected_change": of_role("report")["expected_change"],
}
"""The options of actions that judge as the report does."""


def runs(tags: Iterable[str], run: Iterable[str], skip: Iterable[str]) -> bool:
    """Whether Ansible would run a task with these tags, at least one and not "always".

    run, skip: the task's ansible_run_tags and ansible_skip_tags.
    """
    own, asked = set(tags), set(run)
    chosen = own & asked or ("never" not in own and asked & {"all", "tagged"})
    return bool(chosen) and not (own | {"all", "tagged"}) & set(skip)


def check_tags(tags: list[str]) -> None:
    """ValueError if tags would leave tasks of the measurement out."""
    if "all" not in tags:
        raise ValueError(
            f"--tags {','.join(tags)} would leave the measurement out: tags choose tunings in verify, site "
            "and rollback only; leave --tags out, and choose tunings with zpower_tunings"
        )


class HostTimeoutError(BaseException):
    """As ansible-core's own, not an Exception: connection plugins catch those."""


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """Raise HostTimeoutError in the block after these seconds, 0 for never. A task's own ``timeout`` wins."""

    def end(_signal: int, _frame: object) -> None:
        raise HostTimeoutError

    if not seconds or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return
    kept = signal.signal(signal.SIGALRM, end)
    try:
        signal.alarm(seconds)
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, kept)


class HonestAction(ActionBase):
    """Base action in which hosts decide nothing: facts named like its variables are refused, answers are parsed.

    It also refuses variables that are misspelt or of a wrong type. The callback does so for all hosts at once, before a
    playbook of the collection begins; this is for plays of the user's own, and for variables of roles and tasks.
    A subclass has ``perform``, whose OSError and ValueError fail the task with their sentence.
    """

    TRANSFERS_FILES = False
    _supports_check_mode = True

    def perform(self, given: dict[str, object]) -> Mapping[str, object]:
        """The result, from the variables of the task."""
        raise NotImplementedError

    def run(self, tmp: Any = None, task_vars: dict[str, object] | None = None) -> dict[str, object]:
        given = task_vars or {}
        value_of = templated(self._templar, given)
        try:
            facts.check(given)
            # other templates are left to the task that uses them
            wrong = variables.mistakes(given, lambda name: value_of(name) if name == variables.OWN else None)
            if found := dict.fromkeys(wrong, ()):
                raise ValueError(variables.refusal(found, 0))
            return {**super().run(tmp, task_vars), **self.perform(given)}
        except OSError as error:
            where = f"{error.filename} on the controller: " if error.filename else ""
            raise AnsibleActionFail(f"{where}{error.strerror or error}") from None
        except ValueError as error:
            # ansible-core 2.21 would print a cause behind the sentence once more
            raise AnsibleActionFail(one_line(error)) from None

    def own_role(self) -> str:
        """The name of the role of this collection that has this task; empty for a task elsewhere."""
        collection, _dot, role = str(self._task._role or "").rpartition(".")
        return role if collection == "zpower.sap_tuning" else ""

    def check_common(self, value_of: Callable[[str], Any]) -> None:
        """ValueError for variables that no tuning of this call can use; a warning for a deprecated one."""
        common_options(value_of)
        if value_of("zpower_probation") == "compare" and not self._task.check_mode:
            raise ValueError("zpower_probation=compare is for verify")
        if str(value_of("zpower_confirm_within")).strip() == "0":
            self._display.warning(ZERO)

    def _parse_returned_data(self, res: dict[str, Any], *more: Any) -> Any:
        # ansible-core prints what follows an answer, and from 2.19 on keeps its warnings where no action sees them
        return super()._parse_returned_data({**res, "stdout": clean_json(res["stdout"])}, *more)

    def limit(self, variables: Mapping[str, object], options: Mapping[str, Any] | None = None) -> int:
        """The seconds to wait for the host. options: those of the tunings that are called."""
        return host_timeout(templated(self._templar, variables), {} if self._task.check_mode else options or {})

    def ask(
        self,
        module: str,
        options: dict[str, object],
        variables: dict[str, object],
        fields: Mapping[str, Parser],
        limit: int = 0,
    ) -> Answer:
        """The answer of a module on the host, with these fields beside those of every module.

        ValueError if it takes longer than the limit in seconds; 0 means that it has no limit.
        """
        try:
            with time_limit(limit):
                given = self._execute_module(module_name=module, module_args=options, task_vars=variables)
        except HostTimeoutError:
            raise ValueError(f"the host did not answer within {limit} s (zpower_host_timeout)") from None
        answer = heard(given, fields)
        if self._discovered_interpreter_key:  # found by the controller; without it each task would look again
            answer["ansible_facts"] = {self._discovered_interpreter_key: self._discovered_interpreter}
        return answer


class ControllerAction(HonestAction):
    """An action that checks its options, then acts; a subclass has the argument spec, further rules, and ``act``.

    As a part of a role it also has ``VARIABLES``: an option that the task leaves out has the value of its variable.
    """

    ARGUMENTS: dict[str, dict[str, Any]] = {}
    RULES: dict[str, object] = {}
    VARIABLES: Mapping[str, str] = {}
    _requires_connection = False

    def act(self, options: dict[str, object], variables: dict[str, object]) -> dict[str, object]:
        """The result for checked options and the variables of the task."""
        raise NotImplementedError

    def say(self, lines: Iterable[str]) -> None:
        """Print lines, a sentence or the row of a table each."""
        for line in lines:
            self._display.display(clean(line).replace("\n", " "))

    def perform(self, given: dict[str, object]) -> Mapping[str, object]:
        value_of = templated(self._templar, given)
        asked = {option: value_of(name) for option, name in self.VARIABLES.items() if option not in self._task.args}
        # an empty field of a survey is not set
        self._task.args = {name: value for name, value in asked.items() if value not in (None, "")} | self._task.args
        try:
            _result, options = self.validate_argument_spec(argument_spec=self.ARGUMENTS, **self.RULES)
            return self.act(options, given)
        except (AnsibleActionFail, ValueError) as error:
            sentence = variables.in_variables(self._names(asked), one_line(error))
            raise ValueError(shorten(sentence, variables.LONGEST)) from None

    def _names(self, asked: Iterable[str]) -> dict[str, str]:
        """The variables that stand for options: those that were asked for, in a role all that the role has."""
        role = self.own_role()
        names = {option: self.VARIABLES[option] for option in asked if not self.VARIABLES[option].startswith("_")}
        return names | (variables.option_names(role) if role else {})
