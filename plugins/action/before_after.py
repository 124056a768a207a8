# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan a session of two states, and decide how it leaves a host; documented in plugins/modules/before_after.py."""

import time
from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any, cast

from ..modules.before_after import DOCUMENTATION
from ..plugin_utils._actions.controller import LIMITS, ControllerAction, argument_spec, of_role
from ..plugin_utils._pages.text import one_line
from ..plugin_utils._records import record_files
from ..plugin_utils._series import calibration
from ..plugin_utils._sessions import continuing, schedules, states, two_states
from ..plugin_utils._sessions.session import parts_of

ALIKE = {"rounds": "measure_rounds", "most": "measure_max_rounds", "minutes": "measure_max_minutes"}
"""Results of measurement_check that all hosts of a play share, and the variables that they come from."""

OF_ROLE = of_role("before_after")


class ActionModule(ControllerAction):
    ARGUMENTS = {**OF_ROLE, **LIMITS, **argument_spec(DOCUMENTATION)}
    VARIABLES = {name: f"before_after_{name}" for name in OF_ROLE} | {name: f"report_{name}" for name in LIMITS}
    VARIABLES["tunings"] = "__session_mine"

    def act(self, options: dict[str, Any], variables: dict[str, Any]) -> dict[str, Any]:
        event, host, hosts = options["event"], str(variables["inventory_hostname"]), variables["hostvars"]
        batch = [str(name) for name in variables["ansible_play_batch"]]
        if event == "begun":
            return begun(options, {name: hosts[name]["__measure_ready"] for name in batch})
        if event == "found":
            kept = {name: options[name] for name in ("tunings", "design")}
            return {**kept, "untouched": states.compliant(options["tunings"], variables)}
        if event == "planned":
            session = planned(options, variables["__session"], host, batch, hosts)
            self.say(session["lines"])
            return session
        return two_states.end(cast(two_states.TwoStates, variables["__session"]), host, hosts, options["final"])


def begun(options: Mapping[str, Any], ready: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What all hosts of the play have in common; ValueError if the change cannot be begun or continued."""
    values = {name: {host: item[name] for host, item in ready.items()} for name in ALIKE}
    found = {name: alike(variable, values[name]) for name, variable in ALIKE.items()}
    if not options["force"]:
        check_useful(options["results"], ready)
    session = {**found, "session": 1, "done": 0, "last": 0}
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
        "last": continuing.last_round(loaded),
        "most": schedules.most_rounds(found["most"], done, continuing.declared(loaded)),
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
    options: Mapping[str, Any], begun: Mapping[str, Any], host: str, batch: list[str], hosts: Any
) -> dict[str, Any]:
    """The session of a host, and the plan of the play in sentences; ValueError if the host cannot be measured."""
    chosen = {name: hosts[name].get("__before_after_found") or {} for name in batch}
    found, partners = chosen[host], partners_of(host, batch, hosts)
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
    if design == "blocks" and begun["session"] > 1:
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
    ready = {name: hosts[name]["__measure_ready"] for name in batch}
    joining = {name for name in batch if chosen[name].get("tunings") or ready[name]["throttle"] > 1}
    way_back = {
        "partners": partners,
        "tunings": found["tunings"],
        "tuned": tuned,
        "untouched": [name for name in found["untouched"] if name not in tuned],
        # the values of blocks are set for a while, if nothing else leads back to the values found
        "checkpoint": options["change"] if others else "",
    }
    groups = schedules.groups({name: item["peers"] for name, item in ready.items()}, joining)
    session = order_of(options, begun, design, ready, groups, host)
    for step in session["steps"]:
        step.update(name=step["phase"], back=[], set=found["tunings"] if step["set"] else None, vars={}, probe={})
    return {**session, **way_back, "warnings": warnings}


def order_of(
    options: Mapping[str, Any],
    begun: Mapping[str, Any],
    design: str,
    ready: Mapping[str, Any],
    groups: Mapping[str, tuple[str, ...]],
    host: str,
) -> dict[str, Any]:
    """The steps of a host up to each look, and on the first host the plan of the play in sentences.

    ``groups``: for each host those that are in the same state at any time, because they measure against each other. All
    others have orders of their own.
    """
    number, done = begun["session"], begun["done"]
    # without looks there is no reason to measure more
    most = begun["rounds"] if design == "blocks" else begun["most"]
    ends = schedules.ends(design, begun["rounds"], most, done)
    first = host == next(iter(ready))
    drawn = groups.values() if first else [groups[host]]
    session = [f"session {number}"] if number > 1 else []
    seeds = {group: " ".join([options["seed"], group[0], *session]) for group in drawn}
    orders = {group: schedules.steps(design, seed, most, done, begun["last"]) for group, seed in seeds.items()}
    sizes = [(end, 2 * (end - begin)) for begin, end in pairwise([done, *ends])]
    if number > 1:
        # a new session is compared with the earlier ones as soon as it has a round
        sizes = [(0, 1), (ends[0], sizes[0][1] - 1), *sizes[1:]]
    return {
        **begun,
        **{name: options[name] for name in ("change", "results")},
        "most": most,
        "kind": "state",
        "varied": {},
        "limits": {name: options[name] for name in LIMITS},
        "design": design,
        "seed": seeds[groups[host]],
        "steps": [
            {**one, "session": number, "label": f"round {at}", "hosts": [host]}
            for at, one in enumerate(orders[groups[host]], 1)
        ],
        "parts": parts_of(sizes),
        "at": time.time(),
        "lines": plan_of(options, begun, ends, ready, schedules.described(ends, number, orders)) if first else [],
    }


def plan_of(
    options: Mapping[str, Any], begun: Mapping[str, Any], ends: list[int], ready: Mapping[str, Any], orders: list[str]
) -> list[str]:
    """The plan of the play in sentences: the orders, the time that it takes, and what it can show."""
    measuring = [item for item in ready.values() if item["measures"]]
    step = schedules.seconds_per_step([item["seconds"] for item in measuring], measuring[0]["throttle"])
    seconds = [2 * (end - begun["done"]) * step for end in ends]
    return [
        *orders,
        schedules.duration(seconds, len(measuring), begun["minutes"]),
        *forecast(options, {item["host"]: item["calibration"] for item in measuring}, ends[0]),
    ]


def partners_of(host: str, batch: Collection[str], hosts: Any) -> list[str]:
    """The hosts whose measurement this host takes part in: itself, and those that measure against it."""
    ready = {name: hosts[name].get("__measure_ready") or {} for name in batch}
    return [name for name in batch if ready[name].get("measures") and (name == host or host in ready[name]["peers"])]


def forecast(options: Mapping[str, Any], calibrations: Mapping[str, str], rounds: int) -> list[str]:
    """What the measurement can show at its first look, in sentences."""
    name = next(iter(calibrations.values()))
    known = calibration.read(options["results"], name)
    if known is None:
        return [
            f"The smallest change that this can show is unknown: {options['results']} holds no calibration of the name "
            f"{name}. To measure the noise of these hosts first: ansible-playbook zpower.sap_tuning.calibrate"
        ]
    return list(map(one_line, calibration.forecast(known, calibrations, rounds, options["material_pct"])))
