# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide the order and the end of a measurement of two states; documented in plugins/modules/before_after.py."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail

from ..modules.before_after import DOCUMENTATION
from ..plugin_utils._actions import continuing, schedules, states
from ..plugin_utils._actions.controller import ControllerAction, argument_spec
from ..plugin_utils._actions.measuring import FACT
from ..plugin_utils._actions.schedules import PHASES
from ..plugin_utils._records import record_files
from ..plugin_utils._report.text import one_line, plural
from ..plugin_utils._series import calibration

Step = Mapping[str, Any]
ALIKE = {"rounds": "measure_rounds", "most": "measure_max_rounds", "minutes": "measure_max_minutes"}
"""Results of measurement_check that all hosts of a play share, and the variables that they come from."""


class ActionModule(ControllerAction):
    ARGUMENTS = argument_spec(DOCUMENTATION)

    def act(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        try:
            return {"changed": False, **self.decide(options["state"], options, variables)}
        except (OSError, ValueError) as error:
            raise AnsibleActionFail(str(error)) from None

    def decide(self, state: str, options: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
        """The result of the state; OSError or ValueError in one sentence."""
        host, hosts = str(variables["inventory_hostname"]), variables["hostvars"]
        batch = [str(name) for name in variables["ansible_play_batch"]]
        if state == "begun":
            return begun(options, {name: hosts[name]["__measure_ready"] for name in batch})
        if state == "found":
            kept = {name: options[name] for name in ("tunings", "design")}
            return {**kept, "untouched": states.compliant(options["tunings"], variables)}
        session = variables["__before_after_session"]
        if state == "planned":
            return planned(options, session, host, batch, hosts)
        if state == "described":
            return {"lines": described(options, session, batch, hosts)}
        plan = variables["__before_after_plan"]
        if state == "looked":
            return looked(options, session, plan, {name: at_step(hosts[name]) for name in plan["together"]})
        end = {"reached": self.reached, "ended": ended}[state]
        return end(options, plan, host, hosts)

    def reached(self, options: Mapping[str, Any], plan: Mapping[str, Any], host: str, hosts: Any) -> dict[str, Any]:
        """Refuse to measure beside a peer in another state; keep the tuning records of the step."""
        step = plan["steps"][options["step"]]
        peers = hosts[host]["__measure_ready"]["peers"]
        at = {name: at_step(hosts[name]) for name in plan["together"]}
        if behind := states.behind(peers, at, options["step"]):
            raise ValueError(
                f"{', '.join(behind)}, which {host} measures against, did not come to the state {step['phase']} of "
                f"round {step['round']}: see why it failed"
            )
        if not step["set"] or self._task.check_mode:
            return {"changed": False}
        ids = {"change": options["change"], "phase": step["phase"], "round": step["round"], "host": host}
        path = states.keep(options["results"], ids, states.tuning_records(plan["tunings"], hosts[host]))
        return {"changed": True, "path": path}


def begun(options: Mapping[str, Any], ready: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What all hosts of the play have in common; ValueError if the change cannot be begun or continued."""
    values = {name: {host: item[name] for host, item in ready.items()} for name in ALIKE}
    found = {name: alike(variable, values[name]) for name, variable in ALIKE.items()}
    if not options["force"]:
        check_useful(options["results"], ready)
    session = {**found, "session": 1, "done": 0, "last": 0, "over": False, "said": "", "unlike": ""}
    if not options["continue"]:
        return session
    loaded = record_files.load_change(options["results"], options["change"])
    continuing.check_same(loaded, ready)
    verdict, reason = continuing.verdict(loaded, options)
    if verdict in continuing.NEED_NO_MORE and not options["force"]:
        raise ValueError(
            f"the change {options['change']} needs no more rounds, it is {verdict}: {reason} (-e before_after_force="
            "true continues it nevertheless)"
        )
    done = continuing.rounds_done(loaded)
    return {
        **session,
        "session": continuing.last_session(loaded) + 1,
        "done": done,
        "last": continuing.last_round(loaded),
        "most": schedules.most_rounds(found["most"], done),
    }


def check_useful(results: str, ready: Mapping[str, Mapping[str, Any]]) -> None:
    """ValueError if the calibration of a host that measures calls that pointless."""
    measuring = {host: item["calibration"] for host, item in ready.items() if item["measures"]}
    known = {name: calibration.read(results, name) or {"hosts": {}} for name in set(measuring.values())}
    for host, name in measuring.items():
        sentences = known[name]["hosts"].get(host, {}).get("pointless")
        if sentences:
            raise ValueError(
                f"measuring on {host} is pointless, according to the calibration {name}: "
                f"{one_line(' '.join(sentences))} Leave the host out with --limit, calibrate again, or measure "
                "nevertheless with -e before_after_force=true"
            )


def alike(variable: str, values: Mapping[str, Any]) -> Any:
    """The value that all hosts share; ValueError if they do not."""
    (first, value), *others = values.items()
    for host, other in others:
        if other != value:
            raise ValueError(
                f"{variable} is {value} on {first} and {other} on {host}: all hosts of a play are measured by one "
                "plan, so give them one value, or run the playbook for each with --limit"
            )
    return value


def planned(
    options: Mapping[str, Any], session: Mapping[str, Any], host: str, batch: list[str], hosts: Any
) -> dict[str, Any]:
    """The steps of a host, and what it has to go back to; ValueError if it cannot be measured."""
    chosen = {name: hosts[name].get("__before_after_found") or {} for name in batch}
    found = chosen[host]
    partners = partners_of(host, batch, hosts)
    if found["tunings"] and not partners:
        raise ValueError(
            f"{host} would be tuned and not measured: it has no measure_peer, and no host of this play measures "
            "against it; set measure_peer, or leave the host out with --limit"
        )
    restarts = sorted({one for name in batch for one in states.waiting(chosen[name].get("tunings", ()), hosts[name])})
    design, warnings = alike("before_after_design", {name: item["design"] for name, item in chosen.items() if item}), []
    if design == "auto":
        design = "blocks" if restarts else "alternate"
        if restarts and host == batch[0]:
            warnings.append(
                f"All rounds before come first, and the report will say weaker evidence: {', '.join(restarts)} "
                "waits for a restart (before_after_design)"
            )
    if design == "blocks" and session["session"] > 1:
        raise ValueError(
            f"the change {options['change']} cannot be continued in blocks: name another change, or set "
            "before_after_design to alternate"
        )
    tuned = states.compliant(found["tunings"], hosts[host])
    known = {record["name"] for record in states.tuning_records(found["tunings"], hosts[host])}
    others = sorted(known.difference(tuned, found["untouched"]))
    # from there the first values can be set, but nothing leads back to the values found
    if others and design == "alternate":
        raise ValueError(
            f"{', '.join(others)} of {host} has neither the values of the inventory nor those found first, and could "
            "not be brought back to what it has now if the measurement failed: run site or rollback first, or measure "
            "in blocks (before_after_design)"
        )
    # without looks there is no reason to measure more
    most = session["rounds"] if design == "blocks" else session["most"]
    # hosts that measure against each other are in the same state at any time; all others have orders of their own
    group = schedules.groups({name: hosts[name]["__measure_ready"]["peers"] for name in batch})[host]
    seed = schedules.seed_of(options["seed"], group, session["session"])
    blocks = schedules.blocks(design, session["rounds"], most, session["done"])
    return {
        "design": design,
        "group": group,
        "record": {"session": session["session"], "seed": seed},
        "steps": schedules.steps(design, seed, most, session["done"], session["last"]),
        "blocks": blocks,
        # a new session is compared with the earlier ones as soon as it has a round
        "looks": [block["end"] - 1 for block in blocks[:-1]] + ([0] if session["session"] > 1 else []),
        "partners": partners,
        "together": batch,
        "tunings": found["tunings"],
        "tuned": tuned,
        "untouched": [name for name in found["untouched"] if name not in tuned],
        "checkpoint": bool(others),
        "at": time.time(),
        **({"warnings": warnings} if warnings else {}),
    }


def partners_of(host: str, batch: Collection[str], hosts: Any) -> list[str]:
    """The hosts whose measurement this host takes part in: itself, and those that measure against it."""
    ready = {name: hosts[name].get("__measure_ready") or {} for name in batch}
    return [name for name in batch if ready[name].get("measures") and (name == host or host in ready[name]["peers"])]


def described(options: Mapping[str, Any], session: Mapping[str, Any], batch: Iterable[str], hosts: Any) -> list[str]:
    """The plan of the play in sentences."""
    plans = [plan for name in batch if (plan := hosts[name].get("__before_after_plan") or {}).get("blocks")]
    ready = [hosts[name]["__measure_ready"] for name in batch if hosts[name]["__measure_ready"]["measures"]]
    blocks, orders = plans[0]["blocks"], {tuple(plan["group"]): plan["steps"] for plan in plans}
    step = schedules.seconds_per_step([item["seconds"] for item in ready], ready[0]["throttle"])
    return [
        *schedules.described(blocks, session["session"], orders),
        schedules.duration([block["end"] * step for block in blocks], len(ready), session["minutes"]),
        *forecast(options, {item["host"]: item["calibration"] for item in ready}, blocks),
    ]


def forecast(
    options: Mapping[str, Any], calibrations: Mapping[str, str], blocks: Iterable[Mapping[str, int]]
) -> list[str]:
    """What the measurement can show at its first look, in sentences."""
    name = next(iter(calibrations.values()))
    known = calibration.read(options["results"], name)
    if known is None:
        return [
            f"The smallest change that this can show is unknown: {options['results']} holds no calibration of the name "
            f"{name}. To measure the noise of these hosts first: ansible-playbook zpower.sap_tuning.calibrate"
        ]
    rounds = next(block["rounds"] for block in blocks)
    found = calibration.forecast(known, calibrations, rounds, options["material_pct"])
    return [one_line(sentence) for sentence in found["sentences"]]


def looked(
    options: Mapping[str, Any], session: Mapping[str, Any], plan: Mapping[str, Any], at: Mapping[str, Any]
) -> dict[str, Any]:
    """The session after a step: whether it is over, and why, in a sentence."""
    loaded = record_files.load_change(options["results"], options["change"])
    if session["session"] > 1:
        reason = continuing.unlike(loaded, session["session"], options["expected_change"])
        if reason:
            count = continuing.set_aside(options["results"], loaded, session["last"], session["session"])
            sentence = (
                f"the change {options['change']} cannot be continued: {reason}; the {plural(count, 'record')} of this "
                "session were set aside, and the earlier ones can be used as before"
            )
            return {**session, "changed": True, "over": True, "said": "", "unlike": sentence}
    begin = options["step"] + 1
    ahead = [block for block in plan["blocks"] if block["begin"] == begin]
    if not ahead:
        return {**session, "changed": False, "said": ""}
    rounds = next(block["rounds"] for block in plan["blocks"] if block["end"] == begin)
    # a host that failed must not keep the others from their verdict
    verdict, reason = continuing.verdict(loaded, options, [name for name in at if at[name] != options["step"]])
    said = f"{plural(rounds, 'round')} of each state: {verdict}. {reason}"
    over = verdict in continuing.DECIDED
    more = ahead[0]["rounds"] - rounds
    if not over and (late := too_late(session, plan, begin, ahead[0]["end"])):
        over, said = True, f"{said} {plural(more, 'more round')} would end after {late}: the time is spent."
    elif not over:
        said = f"{said} {plural(more, 'more round')} of each state follow."
    return {**session, "changed": False, "over": over, "said": said}


def too_late(session: Mapping[str, Any], plan: Mapping[str, Any], done: int, end: int) -> str | None:
    """When a block would end at the pace so far, if that is later than allowed."""
    seconds = (time.time() - plan["at"]) / done * end
    if not session["minutes"] or seconds <= 60 * session["minutes"]:
        return None
    return f"{schedules.duration_text(seconds)} (measure_max_minutes is {session['minutes']:g})"


def at_step(variables: Mapping[str, Any]) -> int:
    """The step that a host has begun; -1 before the first."""
    return int(variables.get("__before_after_at", -1))


def ended(options: Mapping[str, Any], plan: Mapping[str, Any], host: str, hosts: Any) -> dict[str, Any]:
    """Problems, and how to leave the host: in its final state if a partner measured both states, else as found."""
    folder = record_files.change_folder(options["results"], options["change"])
    measured = [measured_phases(plan["steps"], hosts[name], folder) for name in plan["partners"]]
    succeeded = not measured or any(phases.issuperset(PHASES) for phases in measured)
    error = hosts[host].get("__before_after_error")
    problems = [error] if error else []
    if not succeeded:
        problems.append(f"not both states were measured, so {host} was left as it was found")
    return {"succeeded": succeeded, "problems": problems, **left(options, plan, succeeded)}


def left(options: Mapping[str, Any], plan: Mapping[str, Any], succeeded: bool) -> dict[str, Any]:
    """The tunings to take ``back``, to the values of ``checkpoint`` or to the first ones, and then those to ``set``."""
    if succeeded and options["final"] == "restored":
        return {"back": plan["tunings"], "checkpoint": "", "set": []}
    if plan["checkpoint"]:
        return {"back": plan["tunings"], "checkpoint": options["change"], "set": plan["tunings"] if succeeded else []}
    if succeeded:
        return {"back": [], "checkpoint": "", "set": plan["tunings"]}
    return {"back": plan["untouched"], "checkpoint": "", "set": plan["tuned"]}


def measured_phases(planned_steps: list[Step], variables: Mapping[str, Any], folder: Path) -> set[str]:
    """The phases of which a host has measured a whole round in this session.

    Each step begins after the round of the one before. In the last one, every workload must have been measured: the
    facts hold the last good round of each.
    """
    at = at_step(variables)
    if at < 0:
        return set()
    found, last = {step["phase"] for step in planned_steps[:at]}, planned_steps[at]
    if not variables.get("__before_after_error"):
        return found | {last["phase"]}
    entries = [
        entry
        for peers in (variables.get(FACT) or (variables.get("ansible_facts") or {}).get(FACT) or {}).values()
        for peer, entry in peers.items()
        if peer != "loopback" and Path(str(entry.get("record"))).is_relative_to(folder)
    ]
    if entries and all((entry["phase"], entry["round"]) == (last["phase"], last["round"]) for entry in entries):
        found.add(last["phase"])
    return found
