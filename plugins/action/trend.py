# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One metric over many changes; documented in plugins/modules/trend.py."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils import _compare, _records, _series
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report.of_trend import FORMATS
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._reporting import told
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._trend import Step, Wanted, trend

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
            name = _records.check_slug("name", options["name"])
            limits = _compare.Options(
                material_pct=options["material_pct"], expected_change=tuple(options["expected_change"])
            )
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from error
        results = options["results"]
        given = [change_of(item) for item in options["changes"]]
        chosen = given or [change_of(found) for found in _series.in_order_of_time(results)]
        if not chosen:
            raise AnsibleActionFail(
                f"{results} holds no change with records of both phases and their times; name them in their order"
            )
        wanted = Wanted(options["workload"], options["metric"])
        steps, problems = read(results, chosen, limits)
        report = trend(name, steps, wanted)
        report["problems"] = [*report["problems"], *problems]
        written = _series.write(report, FORMATS, (Path(results), name), options["formats"], self._task.check_mode)
        result.update(told(report, written), changes=[item["change"] for item in chosen])
        return result


def change_of(item: Any) -> dict[str, str]:
    """One entry of ``changes``, the name of a change or a dict; AnsibleActionFail with what would be right."""
    given = {"change": item} if isinstance(item, str) else item
    if not isinstance(given, Mapping) or not set(given) <= set(CHANGE) or not given.get("change"):
        raise AnsibleActionFail(
            f"changes has {item!r}; an entry is the name of a change, or a dict of change and, where they are"
            " wanted, label, before and after"
        )
    found = {key: str(given.get(key) or default) for key, default in CHANGE.items()}
    found["label"] = str(given.get("label") or found["change"])
    try:
        for key in ("change", "before", "after"):
            _records.check_slug(key, found[key])
    except ValueError as error:
        raise AnsibleActionFail(f"changes has {item!r}: {error}") from error
    return found


def read(results: str, chosen: list[dict[str, str]], limits: _compare.Options) -> tuple[list[Step], list[str]]:
    """The comparisons of each change, one change in memory at a time, and what was wrong with the records."""
    steps, problems = [], []
    for item in chosen:
        loaded = _series.load(results, item["change"])
        report = _series.compared(loaded, item["before"], item["after"], limits)
        steps.append(Step(item["change"], item["label"], report["comparisons"]))
        problems += [f"{item['change']}: {problem}" for problem in report["problems"]]
    return steps, problems
