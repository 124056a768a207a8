# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run several tunings of a host in one module call; documented in plugins/modules/tunings.py."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime, timezone
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase

from ..lookup.tunings import known_tunings, role_specs, role_values, role_variables
from ..modules.tunings import DOCUMENTATION
from ..plugin_utils._actions.controller import documented
from ..plugin_utils._actions.role_options import capture, common_options, module_options, scope, templated
from ..plugin_utils._actions.tags import runs
from ..plugin_utils._evidence import waivers, waiving
from ..plugin_utils._evidence.document import failing as failing_of
from ..plugin_utils._evidence.rows import rows_of
from ..plugin_utils._report.text import one_line, shorten

MODULE = "zpower.sap_tuning.tunings"
LONGEST_SENTENCE = 300
TUNINGS = known_tunings()
WITH_ROWS = [*TUNINGS, "platform"]
ARGUMENTS = documented(DOCUMENTATION)
ARGUMENTS["names"]["choices"] = TUNINGS

# Read where Ansible loads this plugin, before it forks the process of each host.
for role in WITH_ROWS:
    role_variables(role)
    role_values(role)


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _supports_check_mode = True
    _supports_diff = True

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        if self._display.verbosity < 2:  # -v shows all rows of the table, and not the whole result
            result["_ansible_verbose_override"] = True
        _result, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        variables, given = {**(task_vars or {}), **arguments["variables"]}, arguments["tunings"]
        if arguments["failing"] is not None and not arguments["names"]:  # a second task without anything to do
            failing = arguments["failing"]
            return {**result, "failed": bool(failing), "failing": failing, "msg": "; ".join(failing)}
        unknown = [name for name in given if name not in TUNINGS]
        if unknown:
            raise AnsibleActionFail(f"there is no tuning '{unknown[0]}': tunings takes {', '.join(TUNINGS)}")
        names = list(dict.fromkeys(given if arguments["names"] is None else arguments["names"]))
        self._check_tags(WITH_ROWS if arguments["check_platform"] else TUNINGS, variables)
        chosen = [name for name in names if self._tagged(name, variables)]
        try:
            common_options(templated(self._templar, variables))
        except ValueError as error:  # one for all tunings
            raise AnsibleActionFail(str(error)) from error
        result.update(self._of_host(variables))
        options, mistakes = self._options(chosen, variables)
        platform = {}
        if arguments["check_platform"] and self._tagged("platform", variables):
            asked = {} if self._rollback(variables) else self._platform(variables)
            platform = {
                "check_platform": True,
                "platform": {**asked, "tunings": names, **arguments["platform"]},
            }
        if mistakes and arguments["stop_on_error"]:
            raise AnsibleActionFail("; ".join(mistakes.values()))
        later = variables.get("__sap_profile_order", {}).get("later", {})
        changing = arguments["defer"] and not self._task.check_mode
        waits = changing and variables["inventory_hostname"] in later
        deferred = ["sap_profile"] if waits and "sap_profile" in options else []
        # instances are restarted on one host after the other
        restarts = changing and bool(options.get("smc", {}).get("restart"))
        deferred += ["smc"] if restarts else []
        chosen = [name for name in chosen if name not in deferred]
        called = [name for name in chosen if name in options]
        answer: dict[str, Any] = {}
        if called or platform:
            module_args = {
                "names": called,
                "tunings": {name: {**options[name], **(given.get(name) or {})} for name in called},
                "stop_on_error": arguments["stop_on_error"],
                **({"preflight": True} if arguments["preflight"] else {}),
                **platform,
            }
            answer = self._execute_module(module_name=MODULE, module_args=module_args, task_vars=variables)
            if "tunings" not in answer:  # the host could not be reached, or the module did not start
                return {**result, **answer}
        elif not mistakes and not deferred:
            result.update(skipped=True, skip_reason="no tuning is chosen for this host, or the tags match none of them")
        result.update(together(chosen, answer, mistakes), deferred=deferred)
        result["throttle"] = 1 if restarts else later[variables["inventory_hostname"]] if deferred else 0
        rows = unaccepted(variables["inventory_hostname"], result)
        found = [row["reason"] for row in rows if row["verdict"] in failing_of("verify", True)[1:]]
        if arguments["preflight"]:
            result["preflight"] = [*answer.get("preflight", []), *of_platform(rows)]
        failing = result["errors"] + (found if arguments["drift"] == "fail" else []) + (arguments["failing"] or [])
        if failing:
            result["msg"] = "; ".join(failing)
        return {**result, "drift": found, "failing": failing, "failed": bool(failing) and not arguments["defer"]}

    def _check_tags(self, known: Iterable[str], variables: Mapping[str, Any]) -> None:
        asked = set(variables.get("ansible_run_tags", ("all",)))
        if not asked & {*known, *self._task.tags, "all", "tagged"} - {"always"}:
            fitting = ", ".join([*known, "all", "tagged"])
            raise AnsibleActionFail(f"nothing was done: --tags {','.join(sorted(asked))} matches none of {fitting}")

    def _rollback(self, variables: Mapping[str, Any]) -> bool:
        """Whether everything is taken back. Then waivers and the requests to the platform do not count."""
        return bool(boolean(templated(self._templar, variables)("zpower_rollback"), strict=False))

    def _of_host(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        """What the evidence needs to know of the host: its waivers and its groups."""
        value = None if self._rollback(variables) else templated(self._templar, variables)(waivers.VARIABLE)
        return {"waivers": dated(value), "groups": ["all", *variables.get("group_names", ())]}

    def _platform(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        """The options of the platform check, without the tunings, which this task knows."""
        names = [name for name in role_specs("platform") if name != "platform_tunings"]
        with scope(self._templar, {**role_values("platform"), **variables}) as value_of:
            found = {name.removeprefix("platform_"): value_of(name) for name in names}
        found["root"] = capture(templated(self._templar, variables)) or None
        return {name: value for name, value in found.items() if value is not None}

    def _tagged(self, name: str, variables: Mapping[str, Any]) -> bool:
        """Whether the task of this tuning's role would be run, if it stood in the place of this task."""
        own = set(self._task.tags) - {"always"}
        return runs(own | {name}, variables.get("ansible_run_tags", ("all",)), variables.get("ansible_skip_tags", ()))

    def _options(
        self, names: Iterable[str], variables: Mapping[str, Any]
    ) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
        """({name: options of its module}, {name: a mistake in one of its variables})."""
        options, mistakes = {}, {}
        for name in names:
            # as if the role were in the play
            with scope(self._templar, {**role_values(name), **variables}) as value_of:
                try:
                    options[name] = module_options(name, role_specs(name), value_of)
                except ValueError as error:
                    mistakes[name] = str(error)
        return options, mistakes


def dated(value: Any) -> Any:
    """The value with the days that YAML reads as such as text again, which every result can hold."""
    if isinstance(value, Mapping):
        return {key: dated(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [dated(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value


def together(names: Iterable[str], answer: Mapping[str, Any], mistakes: Mapping[str, str]) -> dict[str, Any]:
    """The module's answer with the tunings that were not called because of a mistake, and all records and diffs."""
    wrong = {name: {"failed": True, "msg": text} for name, text in mistakes.items()}
    results = {**answer.get("tunings", {}), **wrong}
    results = {name: results[name] for name in names}
    checked = answer.get("tuning", [])
    errors = [f"{name}: {results[name]['msg']}" for name in names if results[name].get("failed")]
    errors += [f"{row['subject']}: {row['reason']}" for row in checked if row["verdict"] == "failed"]
    return {
        **answer,
        "changed": bool(answer.get("changed")),
        "failed": bool(errors),
        "msg": "; ".join(errors) or answer.get("msg", ""),
        "errors": errors,
        "tunings": results,
        "tuning": checked + [record for one in results.values() for record in one.get("tuning", [])],
        "diff": [
            {**one["diff"], "before_header": name, "after_header": name}
            for name, one in results.items()
            if any(one.get("diff", {}).values())
        ],
    }


def unaccepted(host: str, result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of the records, with the verdict ``waived`` for those that a waiver accepts today (UTC)."""
    by_host, _mistakes = waivers.gather({host: result["waivers"]}, WITH_ROWS)
    rows = rows_of(result["tuning"])
    today = datetime.now(timezone.utc).date()
    waiving.apply([{"host": host, "outcome": "ok", "rows": rows}], by_host, {host: result["groups"]}, today, True)
    return rows


def of_platform(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The sentences of the platform check that speak against a change of this host."""
    bad = [row for row in rows if row["name"] == "platform" and row["verdict"] in ("drifted", "failed")]
    return [shorten(one_line(f"{row['subject']}: {row['reason']}"), LONGEST_SENTENCE) for row in bad]
