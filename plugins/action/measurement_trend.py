# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One metric over many changes; documented in plugins/modules/measurement_trend.py."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..modules.measurement_trend import DOCUMENTATION
from ..plugin_utils._actions import reporting
from ..plugin_utils._actions.controller import ControllerAction, argument_spec
from ..plugin_utils._compare import comparing
from ..plugin_utils._records import record_files
from ..plugin_utils._records.checks import check_slug
from ..plugin_utils._report.of_trend import FORMATS
from ..plugin_utils._series.trend import TrendStep, trend

CHANGE: dict[str, str | None] = {"change": None, "label": "", "before": "before", "after": "after"}


class ActionModule(ControllerAction):
    ARGUMENTS = argument_spec(DOCUMENTATION)
    VARIABLES = {option: f"trend_{option}" for option in ARGUMENTS}

    def act(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        name = check_slug("name", options["name"])
        limits = comparing.Options(
            material_pct=options["material_pct"], expected_change=tuple(options["expected_change"])
        )
        results = options["results"]
        chosen = [change_of(item) for item in options["changes"]]
        states = [(item["change"], item["before"], item["after"]) for item in chosen]
        for place, (change, before, after) in enumerate(states):
            if (change, before, after) in states[:place]:  # the product of all changes would count them twice
                raise ValueError(f"changes has {change} twice ({before} to {after})")
        steps = [step_of(item, reporting.load(results, item["change"]), limits) for item in chosen]
        if not chosen:
            # all changes with both phases, in the order in which they were measured; each is read once
            read = reporting.measured(results)
            found = [(start, step_of(change_of(loaded.change), loaded, limits)) for start, loaded in read]
            steps = [step for _start, step in sorted(found, key=lambda item: (item[0], item[1].change))]
        if not steps:
            raise ValueError(
                f"{results} holds no change with records of both phases and their times; name them in their order"
            )
        report = trend(name, steps, options["workload"], options["metric"])
        result = reporting.write((report,), FORMATS, (Path(results), name), options["formats"], self._task.check_mode)
        self.say(reporting.lines(result["headline"], result["paths"]))
        return {**result, "changes": [step.change for step in steps]}


def change_of(item: Any) -> dict[str, str]:
    """One entry of ``changes``, the name of a change or a dict; ValueError with what would be right."""
    # A ticket number is a name, too, and YAML reads it as an integer.
    named = isinstance(item, (str, int)) and not isinstance(item, bool)
    given = {"change": item} if named else item
    if not isinstance(given, Mapping) or not set(given) <= set(CHANGE) or not given.get("change"):
        raise ValueError(
            f"changes has {item!r}; an entry is the name of a change, or a dict of change and optionally"
            " label, before and after"
        )
    found = {key: str(given.get(key) or default) for key, default in CHANGE.items()}
    found["label"] = str(given.get("label") or found["change"])
    try:
        for key in ("change", "before", "after"):
            check_slug(key, found[key])
    except ValueError as error:
        raise ValueError(f"changes has {item!r}: {error}") from None
    return found


def step_of(item: Mapping[str, str], loaded: record_files.Loaded, limits: comparing.Options) -> TrendStep:
    """The comparisons of one change, and the problems of its records."""
    found = comparing.compare_pairs(loaded, limits, (item["before"], item["after"]))
    # noise is in the interval of a sum; what else speaks against a figure is not
    unsure = [one.entry for one in found if one.cause not in ("", "noise")]
    problems = comparing.shorten_list(loaded.problems)
    return TrendStep(item["change"], item["label"], [one.entry for one in found], problems, unsure)
