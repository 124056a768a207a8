# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One metric over many changes; documented in plugins/modules/trend.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..plugin_utils._actions import series
from ..plugin_utils._actions.reporting import told
from ..plugin_utils._compare import comparing
from ..plugin_utils._records import record_files
from ..plugin_utils._report.of_trend import FORMATS
from ..plugin_utils._series.trend import Step, Wanted, trend

ARGUMENTS: dict[str, Any] = {
    "results": {"type": "path", "default": "results"},
    "name": {"type": "str", "default": "trend"},
    "changes": {"type": "list", "elements": "raw", "default": []},
    "workload": {"type": "str", "default": "*"},
    "metric": {"type": "str", "default": "*"},
    "material_pct": {"type": "float", "default": 5.0},
    "expected_change": {"type": "list", "elements": "str", "default": []},
    "formats": {"type": "list", "elements": "str", "choices": list(FORMATS), "default": list(FORMATS)},
}
CHANGE: dict[str, str | None] = {"change": None, "label": "", "before": "before", "after": "after"}


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _result, options = self.validate_argument_spec(argument_spec=ARGUMENTS)
        try:
            name = record_files.check_slug("name", options["name"])
            limits = comparing.Options(
                material_pct=options["material_pct"], expected_change=tuple(options["expected_change"])
            )
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
        results = options["results"]
        chosen = [change_of(item) for item in options["changes"]]
        check_once(chosen)
        steps, problems = read(results, chosen, limits) if chosen else read_all(results, limits)
        if not steps:
            raise AnsibleActionFail(
                f"{results} holds no change with records of both phases and their times; name them in their order"
            )
        report = trend(name, steps, Wanted(options["workload"], options["metric"]))
        report["problems"] = [*report["problems"], *problems]
        written = series.write(report, FORMATS, (Path(results), name), options["formats"], self._task.check_mode)
        result.update(told(report, written), changes=[step.change for step in steps])
        return result


def change_of(item: Any) -> dict[str, str]:
    """One entry of ``changes``, the name of a change or a dict; AnsibleActionFail with what would be right."""
    # The number of a ticket is a name, too, and YAML makes an int of it.
    named = isinstance(item, (str, int)) and not isinstance(item, bool)
    given = {"change": item} if named else item
    if not isinstance(given, Mapping) or not set(given) <= set(CHANGE) or not given.get("change"):
        raise AnsibleActionFail(
            f"changes has {item!r}; an entry is the name of a change, or a dict of change and, where they are"
            " wanted, label, before and after"
        )
    found = {key: str(given.get(key) or default) for key, default in CHANGE.items()}
    found["label"] = str(given.get("label") or found["change"])
    try:
        for key in ("change", "before", "after"):
            record_files.check_slug(key, found[key])
    except ValueError as error:
        raise AnsibleActionFail(f"changes has {item!r}: {error}") from None
    return found


def check_once(chosen: list[dict[str, str]]) -> None:
    """AnsibleActionFail for the same two states twice, whose gain the product of all changes would have twice."""
    seen = set()
    for item in chosen:
        states = item["change"], item["before"], item["after"]
        if states in seen:
            raise AnsibleActionFail(f"changes has {item['change']} twice ({item['before']} to {item['after']})")
        seen.add(states)


def read(results: str, chosen: list[dict[str, str]], limits: comparing.Options) -> tuple[list[Step], list[str]]:
    """The comparisons of each change, one change in memory at a time, and what was wrong with the records."""
    found = [step_of(item, series.load(results, item["change"]), limits) for item in chosen]
    return joined(found)


def read_all(results: str, limits: comparing.Options) -> tuple[list[Step], list[str]]:
    """The same for all changes that have both phases, in the order in which they were measured; each is read once."""
    found = [(start, step_of(change_of(loaded.change), loaded, limits)) for start, loaded in series.measured(results)]
    return joined([item for _start, item in sorted(found, key=lambda item: (item[0], item[1][0].change))])


def step_of(item: Mapping[str, str], loaded: record_files.Loaded, limits: comparing.Options) -> tuple[Step, list[str]]:
    """The comparisons of one change, and what was wrong with its records."""
    report = series.compared(loaded, item["before"], item["after"], limits)
    problems = [f"{item['change']}: {problem}" for problem in report["problems"]]
    return Step(item["change"], item["label"], report["comparisons"]), problems


def joined(found: Sequence[tuple[Step, list[str]]]) -> tuple[list[Step], list[str]]:
    """All steps, and all problems."""
    return [step for step, _problems in found], [problem for _step, problems in found for problem in problems]
