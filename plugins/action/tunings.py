# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run several tunings of a host in one module call; documented in plugins/modules/tunings.py."""

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean

from ..modules.tunings import DOCUMENTATION
from ..plugin_utils._actions.controller import HonestAction, documented, runs
from ..plugin_utils._actions.role_options import capture, module_options, scope, templated
from ..plugin_utils._actions.variables import (
    asked_for,
    choose,
    in_variables,
    known_tunings,
    option_names,
    role_specs,
    role_values,
)
from ..plugin_utils._answers.answers import Answer, Parser, by_tuning, sentences
from ..plugin_utils._answers.rows import merge, plain, rows_of
from ..plugin_utils._evidence import waivers, waiving
from ..plugin_utils._evidence.document import MOST_FACTS, failing
from ..plugin_utils._evidence.shapes import WaiverUse
from ..plugin_utils._pages.text import one_line, shorten

MODULE = "zpower.sap_tuning.tunings"
LONGEST_SENTENCE, LONGEST_DAYS = 300, 36_500
FOR_TASKS = {"deferred", "drift", "errors", "later", "platform", "preflight", "throttle", "tuning", "tunings"}
"""What is returned for later tasks; a task that fails would print it, and templating it costs time for each host."""
FIELDS: dict[str, Parser] = {"tuning": rows_of, "platform": partial(plain, most=MOST_FACTS), "preflight": sentences}
TUNINGS = known_tunings()
WITH_ROWS = [*TUNINGS, "platform"]
ARGUMENTS = documented(DOCUMENTATION)
ARGUMENTS["names"]["choices"] = TUNINGS

# Read where Ansible loads this plugin, before it forks the process of each host.
for role in WITH_ROWS:
    role_values(role)


class ActionModule(HonestAction):
    _supports_diff = True

    def perform(self, given: dict[str, object]) -> dict[str, object]:
        # -v shows all rows of the table, and not the whole result
        quiet = {"_ansible_verbose_override": True} if self._display.verbosity < 2 else {}
        arguments = self._arguments(given)
        bad = arguments["failing"] or []
        if arguments["failing"] is not None and not arguments["names"]:  # a second task without anything to do
            return {**quiet, "failed": bool(bad), "failing": bad, "msg": "; ".join(bad)}
        variables, tunings, names = {**given, **arguments["variables"]}, arguments["tunings"], arguments["names"]
        host = variables["inventory_hostname"]
        self._check_tags(WITH_ROWS if arguments["check_platform"] else TUNINGS, variables)
        chosen = [name for name in names if self._tagged(name, variables)]
        self.check_common(templated(self._templar, variables))
        accepted, problems = self._waivers(variables)
        options, mistakes = self._options(chosen, variables)
        platform = self._platform(names, arguments, variables)
        deferred, throttle = self._deferred(options, variables) if arguments["defer"] else ([], 0)
        chosen = [name for name in chosen if name not in deferred]
        called = [name for name in chosen if name in options]
        answer = Answer()
        module_args: dict[str, Any] = {
            "names": called,
            "tunings": {name: {**options[name], **(tunings.get(name) or {})} for name in called},
            **({"preflight": True} if arguments["preflight"] else {}),
            **platform,
        }
        if called or platform:
            fields = {**FIELDS, "tunings": by_tuning(called)}
            answer = self.ask(MODULE, module_args, variables, fields, self.limit(variables, module_args["tunings"]))
            answer.pop("invocation", None)  # the controller knows it, and the evidence is there
            if "tunings" not in answer:  # the host could not be reached, or the module did not start
                return {**quiet, **answer}
        elif not mistakes and not deferred:
            reason = "no tuning is chosen for this host, or the tags match none of them"
            answer = Answer(skipped=True, skip_reason=reason)
        # what the controller knows stands above what the host says
        result = together(chosen, answer, mistakes)
        groups, strict = ["all", *variables.get("group_names", ())], self._strict(variables)
        rows, uses, demanded = waiving.judge(result["tuning"], accepted, [host, *groups], strict)
        drift = [row["reason"] for row in rows if row["verdict"] in failing("rollback", self._task.check_mode)[1:]]
        bad = result["errors"] + (drift if arguments["drift"] == "fail" else demanded) + bad
        if arguments["preflight"]:
            result["preflight"] = [*answer.get("preflight", []), *of_platform(rows)]
        evidence: dict[str, object] = {
            name: result[name] for name in ("tunings", "errors", "platform") if name in result
        }
        evidence |= {"tuning": rows, "drift": drift, "waivers": uses, "problems": problems}
        result |= {"drift": drift, "failing": bad, "msg": "; ".join(bad) or result["msg"], "deferred": deferred}
        result |= {"failed": bool(bad) and arguments["fail"] and not deferred, "throttle": throttle}
        # as one text: Ansible walks every value of a result for each callback
        result["invocation"] = {"evidence": json.dumps(evidence)}
        if self._display.verbosity > 2:
            result["invocation"]["module_args"] = module_args
        records = self._task.register and arguments["records"]
        if deferred or records:
            result["later"] = True
        if result["failed"] or not records:
            needed = {"deferred", "later", "throttle"} if deferred else set()
            result = {name: value for name, value in result.items() if name not in FOR_TASKS - needed}
        return {**quiet, **result}

    def _arguments(self, variables: dict[str, object]) -> dict[str, Any]:
        """Return the options; a task of a role leaves some out, because templates would cost more than the call."""
        role, value_of, asked = self.own_role(), templated(self._templar, variables), {}
        if role in ("tune", "verify"):
            asked = {"drift": "warn", "records": bool(value_of("tune_change"))}
            if role == "verify":
                asked["drift"] = value_of("zpower_drift") or "fail"
            if variables.get(f"{role}_drift") != role_values(role)[f"{role}_drift"]:
                asked["drift"] = value_of(f"{role}_drift")
            if "names" not in self._task.args:
                asked["names"] = choose(asked_for(value_of(f"{role}_tunings"), value_of), TUNINGS)
        self._task.args = {**asked, **self._task.args}
        arguments: dict[str, Any] = self.validate_argument_spec(argument_spec=ARGUMENTS)[1]
        if unknown := [name for name in arguments["tunings"] if name not in TUNINGS]:
            raise ValueError(f"there is no tuning '{unknown[0]}': tunings takes {', '.join(TUNINGS)}")
        named = arguments["tunings"] if arguments["names"] is None else arguments["names"]
        # no cache finds the tagged strings of ansible-core 2.19
        return {**arguments, "names": list(dict.fromkeys(map(str.__str__, named)))}

    def _deferred(self, options: Mapping[str, Any], variables: Mapping[str, Any]) -> tuple[list[str], int]:
        """The tunings that wait for a second task, and its throttle: instances are restarted on one host at a time."""
        if self._task.check_mode:
            return [], 0
        host, later = variables["inventory_hostname"], variables.get("__sap_profile_order", {}).get("later", {})
        waits, restarts = host in later and "sap_profile" in options, bool(options.get("smc", {}).get("restart"))
        return ["sap_profile"] * waits + ["smc"] * restarts, 1 if restarts else later[host] if waits else 0

    def _check_tags(self, known: Iterable[str], variables: Mapping[str, Any]) -> None:
        asked = set(variables.get("ansible_run_tags", ("all",)))
        if not asked & {*known, *self._task.tags, "all", "tagged"} - {"always"}:
            fitting = ", ".join([*known, "all", "tagged"])
            raise ValueError(f"nothing was done: --tags {','.join(sorted(asked))} matches none of {fitting}")

    def _rollback(self, variables: Mapping[str, object]) -> bool:
        """Whether everything is taken back. Then waivers and the requests to the platform do not count."""
        return bool(boolean(templated(self._templar, variables)("zpower_rollback"), strict=False))

    def _strict(self, variables: Mapping[str, object]) -> list[str]:
        """The verdicts that only report, and fail on this host."""
        value_of = templated(self._templar, variables)
        return [] if self._rollback(variables) else [n for n in waiving.REPORTED if value_of(f"zpower_{n}") == "fail"]

    def _waivers(self, variables: Mapping[str, Any]) -> tuple[list[WaiverUse], list[str]]:
        """The waivers of this host, and the mistakes in them."""
        value_of = templated(self._templar, variables)
        value = None if self._rollback(variables) else value_of(waivers.VARIABLE)
        days = value_of(waivers.LONGEST_DAYS)
        latest = "" if days in (None, "") else (waivers.DAY + timedelta(min(int(days), LONGEST_DAYS))).isoformat()
        # one controller of several may know a part of the inventory only
        groups = {} if value_of("zpower_run") else variables.get("groups", {})
        found, mistakes = waivers.parse(value, WITH_ROWS, latest, value_of(waivers.BROAD) != "fail", groups)
        if mistakes and not self._task.check_mode:
            raise ValueError("; ".join(mistakes))  # before a value is set; what only looks tells them at its end
        return found, mistakes

    def _platform(
        self, names: list[str], arguments: Mapping[str, Any], variables: Mapping[str, Any]
    ) -> dict[str, object]:
        """Return the arguments of the platform check of these tunings, none if it is not chosen."""
        if not arguments["check_platform"] or not self._tagged("platform", variables):
            return {}
        asked = {} if self._rollback(variables) else self._platform_options(variables)
        return {"check_platform": True, "platform": {**asked, "tunings": names, **arguments["platform"]}}

    def _platform_options(self, variables: Mapping[str, object]) -> dict[str, object]:
        """Return the options of the platform check, without the tunings, which this task knows."""
        names = [name for name in role_specs("platform") if name != "platform_tunings"]
        with scope(self._templar, {**role_values("platform"), **variables}) as value_of:
            found = {name.removeprefix("platform_"): value_of(name) for name in names}
        found["root"] = capture(templated(self._templar, variables)) or None
        return {name: value for name, value in found.items() if value is not None}

    def _tagged(self, name: str, variables: Mapping[str, Any]) -> bool:
        """Whether --tags and --skip-tags select this tuning, as they would select the task of its role."""
        own = set(self._task.tags) - {"always"}
        return runs(own | {name}, variables.get("ansible_run_tags", ("all",)), variables.get("ansible_skip_tags", ()))

    def _options(
        self, names: Iterable[str], variables: Mapping[str, object]
    ) -> tuple[dict[str, dict[str, object]], dict[str, str]]:
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


def together(names: Iterable[str], answer: Answer, mistakes: Mapping[str, str]) -> dict[str, Any]:
    """The module's answer with the tunings that were not called because of a mistake, and all records and diffs."""
    wrong = {name: Answer(failed=True, msg=text) for name, text in mistakes.items()}
    results = {**answer.get("tunings", {}), **wrong}
    results = {name: results[name] for name in names}
    checked = answer.get("tuning", [])
    for name, one in results.items():
        one["msg"] = in_variables(option_names(name), one.get("msg", ""))
    errors = [f"{name}: {one['msg']}" for name, one in results.items() if one.get("failed")]
    errors += [f"{row['subject']}: {row['reason']}" for row in checked if row["verdict"] == "failed"]
    records = [record for one in results.values() for record in one.pop("tuning", [])]
    diffs = {name: one.pop("diff", {}) for name, one in results.items()}
    return {
        **{name: value for name, value in answer.items() if name not in ("preflight", "platform")},
        **({"platform": facts} if isinstance(facts := answer.get("platform"), dict) else {}),
        "changed": bool(answer.get("changed")),
        "failed": bool(errors),
        "msg": "; ".join(errors) or answer.get("msg", ""),
        "errors": errors,
        "tunings": results,
        "tuning": merge(checked + records, len(checked + records)),
        "diff": [
            {**diff, "before_header": name, "after_header": name} for name, diff in diffs.items() if any(diff.values())
        ],
    }


def of_platform(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The sentences of the platform check that speak against a change of this host."""
    bad = [row for row in rows if row["name"] == "platform" and row["verdict"] in ("drifted", "failed")]
    return [shorten(one_line(f"{row['subject']}: {row['reason']}"), LONGEST_SENTENCE) for row in bad]
