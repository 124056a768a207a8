# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run several tunings of a host in one module call; documented in plugins/modules/tunings.py."""

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import Any, cast

from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.loader import lookup_loader

from ..lookup.tunings import known_tunings
from ..modules.tunings import DOCUMENTATION
from ..plugin_utils._actions.controller import HonestAction, documented, runs
from ..plugin_utils._actions.role_options import capture, module_options, scope, templated
from ..plugin_utils._actions.variables import in_variables, option_names, role_specs, role_values
from ..plugin_utils._answers.answers import Answer, by_tuning, sentences, structure
from ..plugin_utils._answers.rows import rows_of
from ..plugin_utils._evidence import waivers, waiving
from ..plugin_utils._evidence.document import failing as failing_of
from ..plugin_utils._evidence.shapes import Host, WaivedRow
from ..plugin_utils._pages.text import one_line, shorten

MODULE = "zpower.sap_tuning.tunings"
LONGEST_SENTENCE, LONGEST_DAYS = 300, 36_500
SHOWN = {"ansible_facts", "changed", "failed", "failing", "msg", "warnings", "_ansible_verbose_override"}
"""What a brief task shows when it fails."""
TUNINGS = known_tunings()
WITH_ROWS = [*TUNINGS, "platform"]
ARGUMENTS = documented(DOCUMENTATION)
ARGUMENTS["names"]["choices"] = TUNINGS

# Read where Ansible loads this plugin, before it forks the process of each host.
for role in WITH_ROWS:
    role_values(role)
lookup_loader.get("zpower.sap_tuning.tunings")


class ActionModule(HonestAction):
    _supports_diff = True

    def perform(self, given: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        if self._display.verbosity < 2:  # -v shows all rows of the table, and not the whole result
            result["_ansible_verbose_override"] = True
        _result, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        variables, tunings = {**given, **arguments["variables"]}, arguments["tunings"]
        if arguments["failing"] is not None and not arguments["names"]:  # a second task without anything to do
            failing = arguments["failing"]
            return {**result, "failed": bool(failing), "failing": failing, "msg": "; ".join(failing)}
        unknown = [name for name in tunings if name not in TUNINGS]
        if unknown:
            raise ValueError(f"there is no tuning '{unknown[0]}': tunings takes {', '.join(TUNINGS)}")
        named = tunings if arguments["names"] is None else arguments["names"]
        names = list(dict.fromkeys(map(str.__str__, named)))  # no cache finds the tagged strings of ansible-core 2.19
        self._check_tags(WITH_ROWS if arguments["check_platform"] else TUNINGS, variables)
        chosen = [name for name in names if self._tagged(name, variables)]
        self.check_common(templated(self._templar, variables))
        of_host = self._of_host(variables)
        options, mistakes = self._options(chosen, variables)
        platform = self._platform(names, arguments, variables)
        if mistakes and arguments["stop_on_error"]:
            raise ValueError("; ".join(mistakes.values()))
        later = variables.get("__sap_profile_order", {}).get("later", {})
        changing = arguments["defer"] and not self._task.check_mode
        waits = changing and variables["inventory_hostname"] in later
        deferred = ["sap_profile"] if waits and "sap_profile" in options else []
        # instances are restarted on one host after the other
        restarts = changing and bool(options.get("smc", {}).get("restart"))
        deferred += ["smc"] if restarts else []
        chosen = [name for name in chosen if name not in deferred]
        called = [name for name in chosen if name in options]
        answer = Answer()
        if called or platform:
            module_args = {
                "names": called,
                "tunings": {name: {**options[name], **(tunings.get(name) or {})} for name in called},
                "stop_on_error": arguments["stop_on_error"],
                **({"preflight": True} if arguments["preflight"] else {}),
                **platform,
            }
            fields = {"tunings": by_tuning(called), "tuning": rows_of, "platform": structure, "preflight": sentences}
            answer = self.ask(MODULE, module_args, variables, fields)
            if "invocation" in answer:
                answer["invocation"] = {"module_args": module_args}  # as the controller knows it: see brief()
            if "tunings" not in answer:  # the host could not be reached, or the module did not start
                return result | answer | of_host
        elif not mistakes and not deferred:
            result.update(skipped=True, skip_reason="no tuning is chosen for this host, or the tags match none of them")
        # what the controller knows stands above what the host says
        result = result | together(chosen, answer, mistakes) | of_host | {"deferred": deferred}
        result["throttle"] = 1 if restarts else later[variables["inventory_hostname"]] if deferred else 0
        rows, demanded = unaccepted(variables["inventory_hostname"], result)
        found = [row["reason"] for row in rows if row["verdict"] in failing_of("rollback", self._task.check_mode)[1:]]
        if arguments["preflight"]:
            result["preflight"] = [*answer.get("preflight", []), *of_platform(rows)]
        failing = result["errors"] + (found if arguments["drift"] == "fail" else demanded)
        failing += arguments["failing"] or []
        result["msg"] = "; ".join(failing) or result["msg"]
        result |= {"drift": found, "failing": failing, "failed": bool(failing) and not arguments["defer"]}
        return brief(result) if arguments["brief"] and result["failed"] else result

    def _check_tags(self, known: Iterable[str], variables: Mapping[str, Any]) -> None:
        asked = set(variables.get("ansible_run_tags", ("all",)))
        if not asked & {*known, *self._task.tags, "all", "tagged"} - {"always"}:
            fitting = ", ".join([*known, "all", "tagged"])
            raise ValueError(f"nothing was done: --tags {','.join(sorted(asked))} matches none of {fitting}")

    def _rollback(self, variables: Mapping[str, Any]) -> bool:
        """Whether everything is taken back. Then waivers and the requests to the platform do not count."""
        return bool(boolean(templated(self._templar, variables)("zpower_rollback"), strict=False))

    def _of_host(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        """What the evidence needs to know of the host: its waivers, its groups, and the verdicts that fail here."""
        value_of, rollback = templated(self._templar, variables), self._rollback(variables)
        value = None if rollback else value_of(waivers.VARIABLE)
        strict = [] if rollback else [name for name in waiving.REPORTED if value_of(f"zpower_{name}") == "fail"]
        days = value_of(waivers.LONGEST_DAYS)
        latest = "" if days in (None, "") else (waiving.DAY + timedelta(min(int(days), LONGEST_DAYS))).isoformat()
        # one controller of several may know a part of the inventory only
        groups = {} if value_of("zpower_run") else variables.get("groups", {})
        everyone = tuple(map(tuple, waivers.of_everyone(value, groups)))
        limits = waivers.WaiverLimits(latest, value_of(waivers.BROAD) != "fail", everyone)
        if not self._task.check_mode and (mistakes := waivers.parse(value, WITH_ROWS, limits)[1]):
            raise ValueError("; ".join(mistakes))  # before a value is set; what only looks tells them at its end
        found = {"waivers": dated(value), "waiver_limits": list(limits), "strict": strict}
        return {**found, "groups": ["all", *variables.get("group_names", ())]}

    def _platform(self, names: list[str], arguments: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the platform check of these tunings, none if it is not chosen."""
        if not arguments["check_platform"] or not self._tagged("platform", variables):
            return {}
        asked = {} if self._rollback(variables) else self._platform_options(variables)
        return {"check_platform": True, "platform": {**asked, "tunings": names, **arguments["platform"]}}

    def _platform_options(self, variables: Mapping[str, Any]) -> dict[str, Any]:
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
        self, names: Iterable[str], variables: Mapping[str, Any]
    ) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
        """({name: options of its module}, {name: a mistake in one of its variables})."""
        options, mistakes = {}, {}
        for name in names:
            # as if the role were in the play
            own = role_values(name)
            if variables.keys().isdisjoint(own.get(f"__{name}_deprecated", ())):
                own = {key: value for key, value in own.items() if not key.startswith("__")}  # a slow template less
            with scope(self._templar, {**own, **variables}) as value_of:
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


def brief(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result of which Ansible prints only the sentences; the callback C(tunings) finds the rest where it is kept."""
    shown = {name: value for name, value in result.items() if name in SHOWN}
    hidden = {name: value for name, value in result.items() if name not in {*SHOWN, "invocation"}}
    return {**shown, "invocation": {**result.get("invocation", {}), "result": hidden}}


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
        **{name: value for name, value in answer.items() if name != "preflight"},
        "changed": bool(answer.get("changed")),
        "failed": bool(errors),
        "msg": "; ".join(errors) or answer.get("msg", ""),
        "errors": errors,
        "tunings": results,
        "tuning": checked + records,
        "diff": [
            {**diff, "before_header": name, "after_header": name} for name, diff in diffs.items() if any(diff.values())
        ],
    }


def unaccepted(host: str, result: Mapping[str, Any]) -> tuple[list[WaivedRow], list[str]]:
    """The rows of the records, with the verdict ``waived`` for those that a waiver accepts on the day of this run, and
    the reasons of those that fail in every run."""
    limits = waivers.WaiverLimits.of(result["waiver_limits"])
    by_host, _mistakes = waivers.gather({host: result["waivers"]}, WITH_ROWS, {host: limits})
    rows = cast(list[WaivedRow], rows_of(result["tuning"]))
    enforced = waiving.enforce(rows, result["strict"])
    one: Host = {"host": host, "outcome": "ok", "message": "", "rows": rows, "platform": None}
    waiving.apply([one], by_host, {host: result["groups"]}, waiving.DAY, True)
    return rows, [row["reason"] for row in enforced if row["verdict"] == "drifted"]


def of_platform(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The sentences of the platform check that speak against a change of this host."""
    bad = [row for row in rows if row["name"] == "platform" and row["verdict"] in ("drifted", "failed")]
    return [shorten(one_line(f"{row['subject']}: {row['reason']}"), LONGEST_SENTENCE) for row in bad]
