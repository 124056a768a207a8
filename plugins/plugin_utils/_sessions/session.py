# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A session: what is left to measure of a change, step by step, and what the hosts say on the way.

The roles before_after and experiment plan one, do its steps and end it. It is the registered result ``__session`` on
each host. A step sets one state; a part of the steps ends with a look at the records, where the session may end.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import Any, Literal, TypedDict, cast

from .._answers.rows import Row
from .._experiment.factors import Values
from . import schedules, states
from .states import Variables

Options = Mapping[str, Any]
"""The options of the action."""
Ready = Mapping[str, Any]
"""The result of measurement_check of a host."""
Result = dict[str, Any]
NOT_IN_FORCE = ("not_applicable", "unsupported", "observed", "pending_restart", "failed")
NOT_BACK = ("drifted", "pending_restart", "failed")


class Part(TypedDict):
    """Steps from ``begin`` to before ``end``, with ``rounds`` per state then; ``next``: the size of the next part."""

    rounds: int
    begin: int
    end: int
    next: int


class Step(TypedDict):
    """One round of one state, which ``hosts`` have to measure.

    ``back``: the tunings that are taken back first; ``set``: those that are set for it, null if a host is left as it
    is; ``found``: those that are as found, which are only looked at, with the variables ``probe``.
    """

    name: str
    phase: str
    round: int
    session: int
    label: str
    hosts: list[str]
    back: list[str]
    set: list[str] | None
    found: list[str]
    vars: Values
    probe: Values


class Session(TypedDict, total=False):
    """What is planned for a host, or for all hosts of an experiment.

    ``varied``: the variables with which levels are taken back; ``checkpoint``: the name under which values are set.

    Two states only: ``session``: its number; ``done``, ``most``: the rounds per state so far and of all sessions;
    ``last``: the highest number of a round before it; ``limits``: those of the report; ``partners``: the hosts whose
    measurement this host takes part in; ``tuned``, ``untouched``: the tunings that were found with the values of the
    inventory, and with their first ones.
    """

    kind: Literal["state", "level"]
    change: str
    results: str
    design: str
    seed: str | int
    rounds: int
    steps: list[Step]
    parts: list[Part]
    tunings: list[str]
    varied: Values
    checkpoint: str
    at: float
    session: int
    done: int
    most: int
    last: int
    minutes: float
    limits: Values
    partners: list[str]
    tuned: list[str]
    untouched: list[str]
    warnings: list[str]
    lines: list[str]
    say: list[str]


def session_of(variables: Variables) -> Session:
    """The session of a host."""
    return cast(Session, variables["__session"])


def step_of(variables: Variables) -> int:
    """The last step whose state a host had: a state as soon as it is set, a level after its round. -1 if none."""
    # ansible-core 2.16 keeps a text
    return int((variables.get("__session_held") or {}).get("step", -1))


def parts_of(sizes: Sequence[tuple[int, int]]) -> list[Part]:
    """The parts of a session; ``sizes``: (rounds per state then, number of steps) of each."""
    ends = accumulate(size for _rounds, size in sizes)
    following = [*(size for _rounds, size in sizes[1:]), 0]
    return [
        {"rounds": rounds, "begin": end - size, "end": end, "next": more}
        for (rounds, size), end, more in zip(sizes, ends, following, strict=False)
    ]


def records_of(step: Step, tunings: Collection[str], variables: Variables, check: bool) -> list[Row] | None:
    """The tuning records of a state that was set; ValueError if a tuning of a level is not in force, or cannot be."""
    if step["set"] is None:
        return None
    setting = [name for name in tunings if name in step["set"]]
    records = states.tuning_records(setting, variables)
    able = {record["name"] for record in records if record["verdict"] not in NOT_IN_FORCE}
    unable = [name for name in setting if name not in able]
    if unable and session_of(variables)["kind"] == "level":
        names, why = ", ".join(unable), states.reasons(record for record in records if record["name"] in unable)
        where = f"{variables['inventory_hostname']} ({names}): {why}"
        if check:  # of a cell, which is not a step yet
            raise ValueError(f"level {step['name']} cannot be set on {where}. Nothing was changed.")
        raise ValueError(f"level {step['phase']} is not in force on {where}")
    return records


def held(step: Step, tunings: Collection[str], variables: Variables) -> list[Row]:
    """The tuning records of a level, also of the tunings as found; ValueError if it changed during the round."""
    if states.changed([name for name in tunings if name in (step["set"] or ())], variables):
        raise ValueError(
            f"level {step['phase']} was no longer in force on {variables['inventory_hostname']} after round "
            f"{step['round']}: somebody else changed it, or the lease ran out (experiment_lease)"
        )
    found = states.tuning_records([name for name in tunings if name in step["found"]], variables)
    return [*variables["__session_held"]["records"], *map(states.as_found, found)]


def keep(step: Step, number: int, variables: Variables, check: bool) -> Result:
    """Keep the tuning records of a step; ValueError if a peer of this host is at another one."""
    session, host, hosts = session_of(variables), str(variables["inventory_hostname"]), variables["hostvars"]
    peers = [name for name in variables["__measure_ready"]["peers"] if name in variables["__session_play"]["hosts"]]
    if behind := [name for name in peers if step_of(hosts[name]) != number]:
        raise ValueError(
            f"{', '.join(behind)}, which {host} measures against, was not in the state {step['phase']} in round "
            f"{step['round']}, so this step does not count: see why it failed"
        )
    records = variables["__session_held"]["records"]
    if records is None or check:
        return {}
    ids: dict[str, str | int] = {
        "change": session["change"],
        "phase": step["phase"],
        "round": step["round"],
        "host": host,
    }
    return {"path": states.keep(session["results"], ids, records)}


def lost(tunings: Collection[str], variables: Variables) -> str:
    """The reasons of values that were not taken back: somebody else changed them, or they wait for a restart."""
    records = states.tuning_records(tunings, variables)
    return states.reasons(record for record in records if record["verdict"] in NOT_BACK)


def at_step(options: Options, variables: Variables, check: bool) -> Result:
    """What the role asks before and after the round of a step."""
    event, step, number, tunings = (options[name] for name in ("event", "level", "step", "tunings"))
    if event == "measured":
        return keep(step, number, variables, check)
    if event == "held":
        return {"step": number, "records": held(step, tunings, variables)}
    said = [] if check or not options["part"] else announced(options["part"], number, variables)
    had = number if check or session_of(variables)["kind"] == "state" else number - 1
    return {"step": had, "records": records_of(step, tunings, variables, check), "say": said}


def announced(part: Part, number: int, variables: Variables) -> list[str]:
    """The step that is measured next in one line, which the first host that takes part says for all."""
    here, known, batch = session_of(variables), variables["hostvars"], variables["ansible_play_batch"]
    # a host that failed stays behind
    if variables["inventory_hostname"] != next((at for at in batch if step_of(known[at]) >= number - 1), None):
        return []
    found: dict[str, list[str]] = {}
    for host in batch:
        step = (here if here["kind"] == "level" else session_of(known[host]))["steps"][number]
        if host in step["hosts"] and step_of(known[host]) >= number - 1:
            found.setdefault(step["phase"], []).append(host)
    progress = schedules.describe(number, len(here["steps"]), time.time() - here["at"], part["end"])
    shown = [f"{phase} on {', '.join(names[:5])}{' …' * (len(names) > 5)}" for phase, names in found.items()]
    so_far = variables.get("__session_looked", {}).get("so_far")  # at the last look
    return ["; ".join([f"{progress}: {'; '.join(shown)}", *([f"so far {so_far}"] if so_far else [])])]
