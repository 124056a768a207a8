# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The session of an experiment: its plan, its looks at the levels, the winner, and how it ends."""

import json
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import cast

from .._compare import comparing
from .._compare.shapes import Part as OfReport
from .._compare.shapes import Report, Row
from .._experiment import outcomes, plans
from .._experiment.factors import read_factors
from .._pages.text import DASH, interval, plural
from .._records import record_files
from .._records.checks import microseconds
from .._statistics import looks
from . import schedules, session, states
from .session import Options, Result, Step
from .states import Variables

LOST = (
    "The host failed or could not be reached: its checkpoint is taken back by the lease, or by the rollback playbook."
)


def read_plan(options: Options) -> plans.Plan:
    """The plan of a change; ValueError if there is none."""
    plan = plans.read_plan(options["results"], options["change"])
    if plan is None:
        where = f"the change {options['change']} below {options['results']}"
        raise ValueError(f"{where} has no plan of an experiment")
    return plan


def planned(options: Options, hosts: Collection[str], known: Mapping[str, Iterable[str]], check: bool) -> Result:
    """Make the plan or resume the existing one; the steps that are left for these hosts.

    ``known``: the variables of each tuning's role.
    """
    results, change = options["results"], options["change"]
    factors = read_factors(options["factors"], known)
    most = options["rounds"] if options["max_rounds"] is None else options["max_rounds"]
    budget = (options["rounds"], most, options["max_minutes"])
    wanted = plans.plan(change, factors, budget, options["seed"], options["baseline"] or None)
    loaded = record_files.load_change(options["results"], options["change"])
    there = plans.read_plan(results, change)
    if there is None and (loaded.records or loaded.tunings):
        raise ValueError(f"the change {change} already has records that belong to no experiment: name another change")
    if there is not None and (other := plans.different(there, wanted)):
        raise ValueError(f"the change {change} is already another experiment ({other}): name another change")
    if there is None:
        schedules.check_most("experiment_max_rounds", most, options["rounds"])
    elif most > there["max_rounds"]:
        schedules.check_added(there["max_rounds"], most, there["max_rounds"])
    plan = wanted if there is None else plans.with_budget(there, wanted, hosts)
    plan["material_pct"] = plans.choose_limit(options["material_pct"], plan)
    every = plans.finished(plan, loaded.records, loaded.tunings, plans.hosts_of(plan).union(hosts))
    _look(plan, loaded, every, options)
    if there is not None and plans.end_of(there) <= plans.rounds_done(plan, every) < plans.end_of(plan):
        plan["continued"] = [*plan["continued"], plans.end_of(there)]
    ready = {host: every[host] for host in hosts}
    left = _left(plan, ready)
    ends = schedules.ends("alternate", plan["rounds"], plans.end_of(plan), 0)
    sizes = [(end, sum(begin < step["round"] <= end for step in left)) for begin, end in pairwise([0, *ends])]
    changed = bool(left) or plan != there
    if changed and not check:
        if left:
            begun = plans.Session(
                started=states.now(), hosts=sorted(hosts), ended=None, failures={}, kept=None, set_aside=None
            )
            plan["sessions"] = [*plan["sessions"], begun]
            begun["set_aside"] = plans.set_aside(results, plan, loaded, ready)
        plans.write_plan(results, plan)
    total, needed, others = len(plans.steps(plan)), outcomes.rounds_for(plan), len(plan["cells"]) - 1
    fixed = plan["stopped"] or plan["rounds"] == plan["max_rounds"]
    steps = f"{total} steps" if fixed else f"at most {total} steps"
    progress = f"{steps} are planned" if there is None else f"{total - len(left)} of {steps} are done"
    few = f"{plan['max_rounds']} rounds are too few for a winner"
    remarks = [f"{few}: {plural(others, 'level')} beside the baseline need {needed}"]
    remarks = remarks if plan["max_rounds"] < needed else []
    return {
        "changed": changed,
        "msg": progress,
        **{name: options[name] for name in ("change", "results", "rounds")},
        "kind": "level",
        "design": "alternate",
        "seed": plan["seed"],
        "material_pct": plan["material_pct"],
        "checkpoint": change,
        # a level is taken back with options such as the instances to restart
        "varied": {name: value for cell in plan["cells"] for name, value in cell["vars"].items()},
        "plan": {name: plan[name] for name in ("baseline", "cells", "rounds", "max_rounds", "seed", "order")},
        "tunings": sorted({tuning for factor in plan["factors"] for tuning in factor["tunings"]}),
        "steps": left,
        "parts": session.parts_of([(end, size) for end, size in sizes if size]),
        "resumed": there is not None,
        "remarks": remarks,
        "at": time.time(),
        "say": [progress, *remarks, *(", ".join(block) for block in plan["order"])] if check else [],
    }


def looked(options: Options, check: bool) -> Result:
    """Whether the experiment ends after this part: all levels are decided, or the next part would take too long."""
    plan, part = read_plan(options), options["part"]
    began = microseconds(plan["sessions"][-1]["started"]) or 0
    loaded = record_files.load_change(options["results"], options["change"])
    pooled = _look(plan, loaded, plans.finished(plan, loaded.records, loaded.tunings, plans.hosts_of(plan)), options)
    if pooled is not None and outcomes.decided(plan, pooled):
        reason = "every level is decided"
    elif part["next"] and schedules.too_late(began / 1e6, part["end"], part["end"] + part["next"], plan["max_minutes"]):
        plan["stopped"] = part["rounds"]
        reason = f"the next rounds would end after the limit of {plan['max_minutes']:g} minutes"
    else:
        known = {level: interval(row) for level, row in outcomes.first_rows(pooled or ()).items()}
        so_far = ", ".join(f"{level} {text}" for level, text in known.items() if text != DASH)
        return {"changed": False, "msg": "the experiment goes on", "over": False, "so_far": so_far}
    if not check:
        plans.write_plan(options["results"], plan)
    said = f"the experiment ends after {plan['stopped']} rounds of each level: {reason}"
    return {"changed": True, "msg": said, "over": True, "say": [said]}


def _look(
    plan: plans.Plan, loaded: record_files.Loaded, every: Mapping[str, set[plans.Step]], options: Options
) -> list[Row] | None:
    """The pooled rows if all hosts have come to a look, which stops the plan if every level is decided there.

    ``every``: the steps of each host.
    """
    rounds = plans.rounds_done(plan, every)
    if not plan["rounds"] <= rounds < plans.end_of(plan) or rounds not in {look.rounds for look in looks.LOOKS}:
        return None
    pooled = _report(plan, loaded, options)["pooled"]
    if outcomes.decided(plan, pooled):
        plan["stopped"] = rounds
    return pooled


def _report(plan: plans.Plan, loaded: record_files.Loaded, options: Options) -> Report:
    material_pct = plans.choose_limit(options["material_pct"], plan)
    limits = comparing.Options(material_pct=material_pct, expected_change=options["expected_change"])
    return comparing.compare_change(replace(loaded, experiment=dict(plan)), options=limits)


def _left(plan: plans.Plan, ready: Mapping[str, set[plans.Step]]) -> list[Step]:
    """The steps in their order that a host has not finished, each with the hosts that have to measure."""
    cells = {cell["name"]: cell for cell in plan["cells"]}
    varied = sorted({tuning for factor in plan["factors"] for tuning in factor["tunings"]})
    found: list[Step] = []
    for phase, number in plans.steps(plan):
        hosts = sorted(host for host, steps in ready.items() if (phase, number) not in steps)
        if hosts:
            # after a step that sets nothing there is nothing to take back; the first may follow an interrupted session
            back = varied if not found or found[-1]["set"] else []
            cell, label, session_ = cells[phase], f"{phase} {number}", plans.session_of(plan, (phase, number))
            ids = {"phase": phase, "round": number, "session": session_, "label": label, "hosts": hosts, "back": back}
            own = {"name": phase, "vars": cell["vars"], "probe": cell["probe"], "set": cell["set"]}
            found.append(cast(Step, {**ids, **own, "found": cell["found"]}))
    return found


def decided(plan: plans.Plan, options: Options) -> Result:
    """Which level won, from the records alone."""
    report = _report(plan, record_files.load_change(options["results"], options["change"]), options)
    outcome = cast(OfReport, report["experiment"])
    won = next((cell for cell in plan["cells"] if cell["name"] == outcome["winner"]), None)
    return {
        "changed": False,
        "msg": outcome["reason"],
        "say": [outcome["reason"]],
        "winner": outcome["winner"],
        "vars": won["vars"] if won else {},
        "tunings": won["set"] if won else [],
        "progress": {name: outcome["progress"][name] for name in ("done", "steps", "complete")},
    }


def ended(options: Options, variables: Variables, check: bool) -> Result:
    """Close the last session, note how its hosts ended, and see which level won; or note the level that was kept."""
    plan, kept = read_plan(options), options["kept"]
    hosts = {host: variables["hostvars"][host] for host in variables["ansible_play_batch"]}
    lost = {host: session.lost(known.get("__session_mine", ()), known) for host, known in hosts.items()}
    texts = {host: (known.get("__session_error"), lost[host]) for host, known in hosts.items()}
    errors = {host: "; ".join(filter(None, both)) for host, both in texts.items()}
    last = plan["sessions"][-1] if plan["sessions"] else None
    changed = last is not None and not (last["ended"] and kept in (None, last["kept"]))
    if last is not None and changed:
        if not last["ended"]:
            failures = {host: errors.get(host, LOST) for host in last["hosts"]}
            last["failures"] = {host: text for host, text in failures.items() if text}
            last["ended"] = states.now()
        last["kept"] = kept
        if not check:
            plans.write_plan(options["results"], plan)
    found: Result = {"say": []}
    if kept is None:
        found = decided(plan, options)
    elif changed and (values := next(cell["vars"] for cell in plan["cells"] if cell["name"] == kept)):
        found["say"] = [f"{kept} is set. To keep it with site and verify, put this into the inventory:"]
        found["say"] += [f"{name}: {json.dumps(value)}" for name, value in values.items()]
    msg = "the session has ended" if changed else "there is no session to end"
    return {**found, "changed": changed, "msg": msg, "lost": lost, "errors": errors}
