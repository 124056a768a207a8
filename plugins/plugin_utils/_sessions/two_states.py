# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The session of before_after: its plan, its looks at the verdict, and how a host is left."""

import time
from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any, cast

from .._experiment.factors import Values
from .._experiment.plans import move_aside
from .._pages.text import one_line, plural
from .._records import record_files
from .._series import calibration
from .._statistics.looks import PHASES
from . import continuing, schedules, states
from .session import Options, Part, Ready, Result, Session, Step, parts_of, session_of, step_of
from .states import Variables

ALIKE = (("rounds", "measure_rounds"), ("most", "measure_max_rounds"), ("minutes", "measure_max_minutes"))
"""Results of measurement_check that all hosts of a play share, and the variables that they come from."""
LIMITS = ("material_pct", "expected_change")


def begun(options: Options, ready: Mapping[str, Ready]) -> Session:
    """What all hosts of the play have in common; ValueError if the change cannot be begun or continued."""
    found = {name: alike(variable, {host: item[name] for host, item in ready.items()}) for name, variable in ALIKE}
    if not options["force"]:
        check_useful(options["results"], ready)
    session = cast(Session, {**found, "session": 1, "done": 0, "last": 0})
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
        "session": max(item.protocol.session for item in loaded.records) + 1,
        "done": done,
        "last": max([item.number for item in loaded.records] + [file["round"] for file in loaded.tunings], default=0),
        "most": schedules.most_rounds(found["most"], done, continuing.declared(loaded)),
    }


def check_useful(results: str, ready: Mapping[str, Ready]) -> None:
    """ValueError if the calibration of a host that measures calls that pointless."""
    measuring = {host: item["calibration"] for host, item in ready.items() if item["measures"]}
    known = {name: calibration.read(results, name) or {"hosts": {}} for name in set(measuring.values())}
    for host, name in measuring.items():
        if sentences := known[name]["hosts"].get(host, {}).get("pointless"):
            raise ValueError(
                f"measuring on {host} is pointless, according to the calibration {name}: "
                f"{one_line(' '.join(sentences))} Leave the host out with --limit, calibrate again, or measure "
                "nevertheless with -e before_after_force=true"
            )


def alike(variable: str, values: Values) -> Any:
    """The value that all hosts share; ValueError if they do not."""
    (first, value), *others = values.items()
    for host, other in others:
        if other != value:
            raise ValueError(
                f"{variable} is {value} on {first} and {other} on {host}: all hosts of a play are measured by one "
                "plan, so give them one value, or run the playbook for each with --limit"
            )
    return value


def planned(options: Options, begun: Session, host: str, ready: Mapping[str, Ready], hosts: Any) -> Session:
    """The session of a host, and the plan of the play in sentences; ValueError if the host cannot be measured."""
    tunings = {name: hosts[name]["__session_mine"] for name in ready}
    mine = tunings[host]
    partners = [name for name, item in ready.items() if item["measures"] and host in (name, *item["peers"])]
    if mine and not partners:
        raise ValueError(
            f"{host} would be tuned and not measured: it has no measure_peer, and no host of this play measures "
            "against it; set measure_peer, or leave the host out with --limit"
        )
    design, warnings = design_of(tunings, hosts)
    if design == "blocks" and begun["session"] > 1:
        raise ValueError(
            f"the change {options['change']} cannot be continued in blocks: name another change, or set "
            "before_after_design to alternate"
        )
    # the tunings with the values of the inventory, those of the rest with their first ones, and all others
    tuned = states.compliant(mine, hosts[host])
    first_ones = states.compliant(mine, {"__tunings_result": hosts[host]["__session_found"]})
    untouched = [name for name in first_ones if name not in tuned]
    there = {record["name"] for record in states.tuning_records(mine, hosts[host])}
    others = sorted(there.difference(tuned, untouched))
    # from others the first values can be set, but nothing leads back to the values found
    if others and design == "alternate":
        raise ValueError(
            f"{', '.join(others)} of {host} has neither the values of the inventory nor those found first, and could "
            "not be brought back to what it has now if the measurement failed: run site or rollback first, or measure "
            "in blocks (before_after_design)"
        )
    joining = {name for name, item in ready.items() if tunings[name] or item["throttle"] > 1}
    groups = schedules.groups({name: item["peers"] for name, item in ready.items()}, joining)
    first = host == next(iter(ready))
    most = begun["rounds"] if design == "blocks" else begun["most"]
    ends = schedules.ends(design, begun["rounds"], most, begun["done"])
    sizes, again = [(end, 2 * (end - begin)) for begin, end in pairwise([begun["done"], *ends])], []
    if begun["session"] > 1:
        # a new session is compared with the earlier ones as soon as it has a round
        sizes[:1], again = [(0, 1), (ends[0], sizes[0][1] - 1)], [f"session {begun['session']}"]
    seeds = {
        group: " ".join([options["seed"], group[0], *again]) for group in (groups.values() if first else [groups[host]])
    }
    orders = {group: schedules.steps(design, seed, most, begun["done"], begun["last"]) for group, seed in seeds.items()}
    more = {"session": begun["session"], "hosts": [host], "back": [], "found": [], "vars": {}, "probe": {}}
    lines = plan_of(options, begun, ends, ready, schedules.described(ends, begun["session"], orders)) if first else []
    return {
        **begun,
        "most": most,
        "change": options["change"],
        "results": options["results"],
        "kind": "state",
        "limits": {name: options[name] for name in LIMITS},
        "design": design,
        "seed": seeds[groups[host]],
        "steps": [
            cast(Step, {**step, **more, "label": f"round {at}", "set": mine if step["set"] else None})
            for at, step in enumerate(orders[groups[host]], 1)
        ],
        "parts": parts_of(sizes),
        "varied": {},
        # the values of blocks are set for a while, if nothing else leads back to the values found
        "checkpoint": options["change"] if others else "",
        "partners": partners,
        "tunings": mine,
        "tuned": tuned,
        "untouched": untouched,
        "at": time.time(),
        "warnings": warnings if first else [],
        "lines": lines,
        "say": lines,
    }


def design_of(tunings: Mapping[str, Collection[str]], hosts: Any) -> tuple[str, list[str]]:
    """The design of the play, and a warning if a restart leaves no choice."""
    design = alike("before_after_design", {name: hosts[name]["__session_play"]["design"] for name in tunings})
    restarts = sorted({one for name, chosen in tunings.items() for one in states.waiting(chosen, hosts[name])})
    if design != "auto" or not restarts:
        return "alternate" if design == "auto" else design, []
    return "blocks", [
        f"All rounds before come first, and the report will say weaker evidence: {', '.join(restarts)} waits for a "
        "restart (before_after_design)"
    ]


def plan_of(
    options: Options, begun: Session, ends: list[int], ready: Mapping[str, Ready], orders: list[str]
) -> list[str]:
    """The plan of the play in sentences: the orders, the time that it takes, and what its first look can show."""
    measuring = [item for item in ready.values() if item["measures"]]
    each = [item["seconds"] for item in measuring]
    # this many hosts measure at the same time
    step = max([sum(each) / max(1, measuring[0]["throttle"]), *each])
    seconds = [2 * (end - begun["done"]) * step for end in ends]
    name = measuring[0]["calibration"]
    known = calibration.read(options["results"], name)
    shows = [
        f"The smallest change that this can show is unknown: {options['results']} holds no calibration of the name "
        f"{name}. To measure the noise of these hosts first: ansible-playbook zpower.sap_tuning.calibrate"
    ]
    if known is not None:
        shows = calibration.forecast(known, [item["host"] for item in measuring], ends[0], options["material_pct"])
    return [*orders, schedules.duration_of(seconds, len(measuring), begun["minutes"]), *map(one_line, shows)]


def looked(part: Part, variables: Variables) -> Result:
    """A look at the session, without the hosts that failed before, which must not keep the others from a verdict."""
    hosts, at = variables["hostvars"], part["end"] - 1
    behind = [host for host in variables["__session_play"]["hosts"] if step_of(hosts[host]) != at]
    found = look(session_of(variables), part, behind)
    return {**found, "say": [found["msg"]] if found["msg"] else []}


def look(session: Session, part: Part, behind: Collection[str]) -> Result:
    """Whether the measurement is over after a part, and why, in a sentence; ``behind``: hosts that failed before."""
    loaded = record_files.load_change(session["results"], session["change"])
    going: Result = {"changed": False, "over": False, "msg": "", "unlike": ""}
    if session["session"] > 1:
        reason = continuing.unlike(loaded, session["session"], session["limits"]["expected_change"])
        if reason:
            last, number = session["last"], session["session"]
            count = move_aside(session["results"], loaded, lambda _host, _phase, round_: round_ > last, number)
            sentence = (
                f"the change {session['change']} cannot be continued: {reason}; the {plural(count, 'record')} of this "
                "session were set aside, and the earlier ones can be used as before"
            )
            return {**going, "changed": True, "over": True, "unlike": sentence}
    if not part["rounds"] or not part["next"]:
        return going
    verdict, reason = continuing.verdict(loaded, session["limits"], behind)
    said = f"{plural(part['rounds'], 'round')} of each state: {verdict}. {reason}"
    if verdict in continuing.DECIDED:
        return {**going, "over": True, "msg": said}
    more, minutes = plural(part["next"] // 2, "more round"), session["minutes"]
    if late := schedules.too_late(session["at"], part["end"], part["end"] + part["next"], minutes):
        limit = f"{calibration.duration(late)} (measure_max_minutes is {minutes:g})"
        return {**going, "over": True, "msg": f"{said} {more} would end after {limit}: the time is spent."}
    return {**going, "msg": f"{said} {more} of each state follow."}


def end(session: Session, host: str, hosts: Any, final: str) -> Result:
    """Problems, and how to leave the host: in its final state if a partner measured both states, else as found.

    The tunings to take ``back``, to the values of ``checkpoint`` or to the first ones, and then those to ``set``.
    """
    # a partner of a host without tunings may have an order of its own
    measured = [_measured(hosts[name].get("__session", session), name, hosts[name]) for name in session["partners"]]
    succeeded = not measured or any(phases.issuperset(PHASES) for phases in measured)
    error = hosts[host].get("__session_error")
    problems = [error] if error else []
    if not succeeded:
        problems.append(f"not both states were measured, so {host} was left as it was found")
    tunings, checkpoint = session["tunings"], session["checkpoint"]
    if succeeded and final == "restored":
        back, checkpoint, set_ = tunings, "", []
    elif checkpoint:
        back, set_ = tunings, tunings if succeeded else []
    elif succeeded:
        back, set_ = [], tunings
    else:
        back, set_ = session["untouched"], session["tuned"]
    return {"succeeded": succeeded, "problems": problems, "back": back, "checkpoint": checkpoint, "set": set_}


def _measured(session: Session, host: str, variables: Variables) -> set[str]:
    """Return the phases in which a host has measured a whole round in this session.

    Each step begins after the round of the one before. In the last one, every workload of this session must have been
    measured: its records are here.
    """
    at, steps = step_of(variables), session["steps"]
    if at < 0:
        return set()
    found, last = {step["phase"] for step in steps[:at]}, steps[at]
    if not variables.get("__session_error"):
        return found | {last["phase"]}
    begun: dict[Any, set[tuple[str, str]]] = {(step["phase"], step["round"]): set() for step in steps[: at + 1]}
    for item in record_files.load_change(session["results"], session["change"]).records:
        if item.host == host and not item.workload.control and item.good and item.slot in begun:
            begun[item.slot].add((item.workload.name, item.peer))
    there = begun[last["phase"], last["round"]]
    return found | ({last["phase"]} if there and there == set().union(*begun.values()) else set())
