# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan an experiment, resume it, and say which level won; documented in plugins/modules/experiment.py."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail

from ..lookup.tunings import known_tunings, role_variables
from ..modules.experiment import DOCUMENTATION
from ..plugin_utils._actions import states
from ..plugin_utils._actions.controller import ControllerAction, argument_spec
from ..plugin_utils._compare import comparing
from ..plugin_utils._experiment import outcomes, plan_files, plans
from ..plugin_utils._experiment.factors import read_factors
from ..plugin_utils._records import record_files

NOT_IN_FORCE = ("not_applicable", "unsupported", "pending_restart", "failed")
NOT_BACK = ("drifted", "pending_restart", "failed")
TIME = "%Y-%m-%dT%H:%M:%S.%fZ"
LOST = (
    "The host failed or could not be reached: its checkpoint is taken back by the lease, or by the rollback playbook."
)


class ActionModule(ControllerAction):
    ARGUMENTS = argument_spec(DOCUMENTATION)

    def act(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        # ansible-core 2.19 and later hand over subclasses of str and int; a plan holds plain JSON
        options = json.loads(json.dumps(options))
        alive = [str(host) for host in variables.get("ansible_play_batch") or ()]
        check = bool(self._task.check_mode)
        try:
            if options["state"] == "planned":
                return planned(options, options["hosts"] or alive, check)
            if options["state"] in STEP:
                return {"changed": False, **STEP[options["state"]](options, variables, check)}
            plan = plan_files.read(options["results"], options["change"])
            if plan is None:
                where = f"the change {options['change']} below {options['results']}"
                raise ValueError(f"{where} has no plan of an experiment")
            if options["state"] == "decided":
                return decided(plan, options)
            if options["state"] == "looked":
                return looked(plan, options, check)
            return ended(plan, options, alive, check)
        except OSError as error:
            raise AnsibleActionFail(f"the plan of the experiment cannot be kept: {error}") from None
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None


def planned(options: Mapping[str, Any], hosts: Collection[str], check: bool) -> dict[str, Any]:
    """Make the plan or resume the existing one; the steps that are left for these hosts."""
    results, change = options["results"], options["change"]
    factors = read_factors(options["factors"], {name: role_variables(name) for name in known_tunings()})
    most = options["rounds"] if options["max_rounds"] is None else options["max_rounds"]
    budget = plans.Budget(options["rounds"], most, options["max_minutes"])
    wanted = plans.plan(change, factors, budget, options["seed"], options["baseline"] or None)
    loaded = _load(options)
    there = plan_files.read(results, change)
    if there is None and (loaded.records or loaded.tunings):
        raise ValueError(f"the change {change} already has records that belong to no experiment: name another change")
    if there is not None and (other := plans.different(there, wanted)):
        raise ValueError(f"the change {change} is already another experiment ({other}): name another change")
    plan = wanted if there is None else plans.with_budget(there, wanted, hosts)
    every = plan_files.finished(plan, loaded, plans.hosts_of(plan).union(hosts))
    _look(plan, loaded, every, options)
    if there is not None and plans.end_of(there) <= plans.rounds_done(plan, every) < plans.end_of(plan):
        plan["continued"] = [*plan["continued"], plans.end_of(there)]
    ready = plan_files.finished(plan, loaded, hosts)
    left = _left(plan, ready)
    changed = bool(left) or plan != there
    if changed and not check:
        if left:
            session: dict[str, Any] = {
                "started": _now(),
                "hosts": sorted(hosts),
                "ended": None,
                "failures": {},
                "kept": None,
            }
            plan["sessions"] = [*plan["sessions"], session]
            plan["sessions"][-1]["set_aside"] = plan_files.set_aside(results, plan, loaded, ready)
        plan_files.write(results, plan)
    return {
        "changed": changed,
        "msg": _progress(plan, len(left), there is not None),
        "plan": {name: plan[name] for name in ("baseline", "cells", "rounds", "max_rounds", "seed", "order")},
        "tunings": sorted({tuning for factor in plan["factors"] for tuning in factor["tunings"]}),
        "steps": left,
        "parts": _parts(plan, left),
        "resumed": there is not None,
        "remarks": _remarks(plan),
        "at": time.time(),
    }


def _progress(plan: Mapping[str, Any], left: int, resumed: bool) -> str:
    total = len(plans.steps(plan))
    known = plan["stopped"] or plan["rounds"] == plan["max_rounds"]
    steps = f"{total} steps" if known else f"at most {total} steps"
    return f"{total - left} of {steps} are done" if resumed else f"{steps} are planned"


def looked(plan: dict[str, Any], options: Mapping[str, Any], check: bool) -> dict[str, Any]:
    """Whether the experiment ends after this part: all levels are decided, or the next part would take too long."""
    loaded = _load(options)
    if _look(plan, loaded, plan_files.finished(plan, loaded, plans.hosts_of(plan)), options):
        reason = "every level is decided"
    elif _too_long(plan, options["part"]):
        plan["stopped"] = options["part"]["rounds"]
        reason = f"the next rounds would end after the limit of {plan['max_minutes']:g} minutes"
    else:
        return {"changed": False, "msg": "the experiment goes on", "over": False}
    if not check:
        plan_files.write(options["results"], plan)
    rounds = f"{plan['stopped']} rounds of each level"
    return {"changed": True, "msg": f"the experiment ends after {rounds}: {reason}", "over": True}


def _look(
    plan: dict[str, Any],
    loaded: record_files.Loaded,
    every: Mapping[str, set[plans.Step]],
    options: Mapping[str, Any],
) -> bool:
    """Stop the plan if all hosts have come to a look and every level is decided there; ``every``: their steps."""
    rounds = plans.rounds_done(plan, every)
    if not plan["rounds"] <= rounds < plans.end_of(plan) or not plans.is_look(rounds):
        return False
    if not outcomes.decided(plan, _report(plan, loaded, options)["pooled"]):
        return False
    plan["stopped"] = rounds
    return True


def _too_long(plan: Mapping[str, Any], part: Mapping[str, Any]) -> bool:
    """Whether the next part would end after the limit, if its steps take as long as those of this session so far."""
    if not plan["max_minutes"] or not part["next"]:
        return False
    began = datetime.strptime(plan["sessions"][-1]["started"], TIME).replace(tzinfo=timezone.utc)
    seconds = (datetime.now(timezone.utc) - began).total_seconds()
    return bool(seconds * (1.0 + part["next"] / part["end"]) > 60.0 * plan["max_minutes"])


def _load(options: Mapping[str, Any]) -> record_files.Loaded:
    results, change = options["results"], options["change"]
    folder = record_files.change_folder(results, change)
    return record_files.load_change(results, change) if folder.is_dir() else record_files.Loaded(change)


def _report(plan: Mapping[str, Any], loaded: record_files.Loaded, options: Mapping[str, Any]) -> dict[str, Any]:
    limits = comparing.Options(material_pct=options["material_pct"])
    return comparing.compare_change(replace(loaded, experiment=dict(plan)), options=limits)


def _left(plan: Mapping[str, Any], ready: Mapping[str, set[tuple[str, int]]]) -> list[dict[str, Any]]:
    """The steps in their order that a host has not finished, each with the hosts that have to measure."""
    cells = {cell["name"]: cell for cell in plan["cells"]}
    found = []
    for phase, number in plans.steps(plan):
        hosts = sorted(host for host, steps in ready.items() if (phase, number) not in steps)
        if hosts:
            cell = {name: cells[phase][name] for name in ("name", "vars", "probe", "set", "found")}
            session = plans.session_of(plan, (phase, number))
            found.append({"phase": phase, "round": number, "session": session, "hosts": hosts, **cell})
    return found


def _parts(plan: Mapping[str, Any], left: Collection[Mapping[str, Any]]) -> list[dict[str, int]]:
    """Which steps lie before each look: from ``begin`` to before ``end``; ``next``: the size of the next part."""
    found: list[dict[str, int]] = []
    for rounds, inside in plans.parts(plan, [(step["phase"], step["round"]) for step in left]):
        begin = found[-1]["end"] if found else 0
        if found:
            found[-1]["next"] = len(inside)
        found.append({"rounds": rounds, "begin": begin, "end": begin + len(inside), "next": 0})
    return found


def _remarks(plan: Mapping[str, Any]) -> list[str]:
    needed = outcomes.rounds_for(plan)
    if plan["max_rounds"] >= needed:
        return []
    levels = len(plan["cells"]) - 1
    more = "level" if levels == 1 else "levels"
    return [f"{plan['max_rounds']} rounds are too few for a winner: {levels} {more} beside the baseline need {needed}"]


def decided(plan: dict[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Which level won, from the records alone."""
    report = _report(plan, record_files.load_change(options["results"], options["change"]), options)
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
    """Close the last session and note how its hosts ended; nothing to do if it is closed already."""
    session = plan["sessions"][-1] if plan["sessions"] else None
    if session is None or (session["ended"] and options["kept"] in (None, session["kept"])):
        return {"changed": False, "msg": "there is no session to end"}
    if not session["ended"]:
        reported = {host: text for host, text in options["failures"].items() if text and host in session["hosts"]}
        session["failures"] = {host: LOST for host in session["hosts"] if host not in alive} | reported
        session["ended"] = _now()
    session["kept"] = options["kept"]
    if not check:
        plan_files.write(Path(options["results"]), plan)
    return {"changed": True, "msg": "the session has ended", "failures": session["failures"]}


def set_level(options: Mapping[str, Any], variables: Mapping[str, Any], check: bool) -> dict[str, Any]:
    """The tuning records of the level; ValueError if a tuning that it sets is not in force, or cannot be."""
    level, host = options["level"], variables["inventory_hostname"]
    setting = [name for name in options["tunings"] if name in level["set"]]
    records = states.tuning_records(setting, variables)
    able = {record["name"] for record in records if record["verdict"] not in NOT_IN_FORCE}
    unable = [name for name in setting if name not in able]
    if unable:
        names, why = ", ".join(unable), states.reasons(record for record in records if record["name"] in unable)
        if check:
            raise ValueError(f"level {level['name']} cannot be set on {host} ({names}): {why}. Nothing was changed.")
        raise ValueError(f"level {level['phase']} is not in force on {host} ({names}): {why}")
    return {"records": records}


def held(options: Mapping[str, Any], variables: Mapping[str, Any], _check: bool) -> dict[str, Any]:
    """The step that this host measured, and the records of its tunings as found; ValueError if the level changed."""
    level = options["level"]
    if states.changed([name for name in options["tunings"] if name in level["set"]], variables):
        raise ValueError(
            f"level {level['phase']} was no longer in force on {variables['inventory_hostname']} after round "
            f"{level['round']}: somebody else changed it, or the lease ran out (experiment_lease)"
        )
    found = states.tuning_records([name for name in options["tunings"] if name in level["found"]], variables)
    return {"at": f"{level['phase']} {level['round']}", "found": found}


def measured(options: Mapping[str, Any], variables: Mapping[str, Any], check: bool) -> dict[str, Any]:
    """Keep the tuning records, with which the step is done; ValueError if a peer had another level."""
    level, host, hosts = options["level"], str(variables["inventory_hostname"]), variables["hostvars"]
    here, together = variables["__experiment_held"]["at"], variables["__experiment_together"]
    at = {peer: (hosts[peer].get("__experiment_held") or {}).get("at") for peer in together}
    if behind := states.behind(variables["__measure_ready"]["peers"], at, here):
        raise ValueError(
            f"{', '.join(behind)}, which {host} measures against, was not at level {level['phase']} until the end of "
            f"round {level['round']}, so this step does not count: see why it failed"
        )
    tunings = [
        *variables["__experiment_tuned"]["records"],
        *map(states.as_found, variables["__experiment_held"]["found"]),
    ]
    ids = {"change": options["change"], "phase": level["phase"], "round": level["round"], "host": host}
    return {"changed": True, **({} if check else {"path": states.keep(options["results"], ids, tunings)})}


def restored(options: Mapping[str, Any], variables: Mapping[str, Any], _check: bool) -> dict[str, Any]:
    """The values that were not taken back, because somebody else changed them or they wait for a restart."""
    records = states.tuning_records(options["tunings"], variables)
    lost = states.reasons(record for record in records if record["verdict"] in NOT_BACK)
    error = options["failures"].get(variables["inventory_hostname"])
    return {"lost": lost, "error": "; ".join(text for text in (error, lost) if text)}


STEP = {"set": set_level, "held": held, "measured": measured, "restored": restored}


def _now() -> str:
    return datetime.now(timezone.utc).strftime(TIME)
