# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan an experiment, go on with it, and say which level won; documented in plugins/modules/experiment.py."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..lookup.tunings import known_tunings, role_variables
from ..plugin_utils._compare import comparing
from ..plugin_utils._experiment import outcomes, plan_files, plans
from ..plugin_utils._experiment.factors import read_factors
from ..plugin_utils._records import record_files

ARGUMENTS: dict[str, Any] = {
    "state": {"type": "str", "choices": ["planned", "decided", "ended"], "default": "planned"},
    "change": {"type": "str", "required": True},
    "results": {"type": "path", "default": "results"},
    "factors": {"type": "list", "elements": "dict"},
    "baseline": {"type": "str"},
    "rounds": {"type": "int", "default": 6},
    "seed": {"type": "int"},
    "hosts": {"type": "list", "elements": "str"},
    "material_pct": {"type": "float", "default": 5.0},
    "failures": {"type": "dict", "default": {}},
    "kept": {"type": "str"},
}
LOST = (
    "The host failed or could not be reached: its checkpoint is taken back by the lease, or by the rollback playbook."
)


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _result, checked = self.validate_argument_spec(argument_spec=ARGUMENTS)
        # ansible-core 2.19 and later hand over subclasses of str and int; a plan holds plain JSON
        options = json.loads(json.dumps(checked))
        alive = [str(host) for host in (task_vars or {}).get("ansible_play_batch") or ()]
        check = bool(self._task.check_mode)
        try:
            if options["state"] == "planned":
                return {**result, **planned(options, options["hosts"] or alive, check)}
            plan = plan_files.read(options["results"], options["change"])
            if plan is None:
                raise ValueError(f"the change {options['change']} below {options['results']} has no plan to go by")
            if options["state"] == "decided":
                return {**result, **decided(plan, options)}
            return {**result, **ended(plan, options, alive, check)}
        except OSError as error:
            raise AnsibleActionFail(f"the plan of the experiment cannot be kept: {error}") from None
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None


def planned(options: Mapping[str, Any], hosts: Collection[str], check: bool) -> dict[str, Any]:
    """Make the plan or go on with the one that is there; the steps that these hosts still have to do."""
    results, change = options["results"], options["change"]
    factors = read_factors(options["factors"], {name: role_variables(name) for name in known_tunings()})
    wanted = plans.plan(change, factors, options["rounds"], options["seed"], options["baseline"] or None)
    folder = record_files.change_folder(results, change)
    loaded = record_files.load_change(results, change) if folder.is_dir() else record_files.Loaded(change)
    there = plan_files.read(results, change)
    if there is None and (loaded.records or loaded.tunings):
        raise ValueError(f"the change {change} has records already that belong to no experiment: name another change")
    if there is not None and (other := plans.different(there, wanted)):
        raise ValueError(f"the change {change} is another experiment already ({other}): name another change")
    plan = there or wanted
    ready = plan_files.finished(plan, loaded, hosts)
    left = _left(plan, ready)
    if left and not check:
        plan["sessions"].append(
            {"started": _now(), "hosts": sorted(hosts), "ended": None, "failures": {}, "kept": None}
        )
        plan["sessions"][-1]["set_aside"] = plan_files.set_aside(results, plan, loaded, ready)
        plan_files.write(results, plan)
    total = len(plans.steps(plan))
    return {
        "changed": bool(left),
        "msg": f"{total - len(left)} of {total} steps are done" if there else f"{total} steps are planned",
        "plan": {name: plan[name] for name in ("baseline", "cells", "rounds", "seed", "order")},
        "tunings": sorted({tuning for factor in plan["factors"] for tuning in factor["tunings"]}),
        "steps": left,
        "resumed": there is not None,
        "remarks": _remarks(plan),
    }


def _left(plan: Mapping[str, Any], ready: Mapping[str, set[tuple[str, int]]]) -> list[dict[str, Any]]:
    """The steps in their order that a host has not finished, each with the hosts that have to measure."""
    cells = {cell["name"]: cell for cell in plan["cells"]}
    found = []
    for phase, number in plans.steps(plan):
        hosts = sorted(host for host, steps in ready.items() if (phase, number) not in steps)
        if hosts:
            cell = {name: cells[phase][name] for name in ("name", "vars", "probe", "set", "found")}
            found.append({"phase": phase, "round": number, "hosts": hosts, **cell})
    return found


def _remarks(plan: Mapping[str, Any]) -> list[str]:
    needed = outcomes.rounds_for(plan, 95.0)
    if plan["rounds"] >= needed:
        return []
    levels = len(plan["cells"]) - 1
    more = "level" if levels == 1 else "levels"
    return [f"{plan['rounds']} rounds cannot have a winner: with {levels} {more} beside the baseline it takes {needed}"]


def decided(plan: dict[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Which level won, from the records alone."""
    loaded = replace(record_files.load_change(options["results"], options["change"]), experiment=plan)
    report = comparing.compare_change(loaded, options=comparing.Options(material_pct=options["material_pct"]))
    outcome = report["experiment"]
    cells = {cell["name"]: cell for cell in plan["cells"]}
    won = cells.get(outcome["winner"], {"vars": {}, "set": []})
    return {
        "changed": False,
        "msg": outcome["reason"],
        "winner": outcome["winner"],
        "vars": won["vars"],
        "tunings": won["set"],
        "progress": {name: outcome["progress"][name] for name in ("done", "steps", "complete")},
    }


def ended(plan: dict[str, Any], options: Mapping[str, Any], alive: Collection[str], check: bool) -> dict[str, Any]:
    """Close the last session with what became of its hosts; nothing to do where it is closed already."""
    session = plan["sessions"][-1] if plan["sessions"] else None
    if session is None or (session["ended"] and options["kept"] in (None, session["kept"])):
        return {"changed": False, "msg": "there is no session to end"}
    if not session["ended"]:
        told = {host: text for host, text in options["failures"].items() if text and host in session["hosts"]}
        session["failures"] = {host: LOST for host in session["hosts"] if host not in alive} | told
        session["ended"] = _now()
    session["kept"] = options["kept"]
    if not check:
        plan_files.write(Path(options["results"]), plan)
    return {"changed": True, "msg": "the session has ended", "failures": session["failures"]}


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
