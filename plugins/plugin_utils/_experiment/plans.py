# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of an experiment with more than two states, which stands in ``<results>/<change>/experiment.json``.

A **cell** is one level of each factor. A **step** is one round of one cell: its phase is the cell's name, its number
counts the rounds of that cell. A **block** has every cell equally often, in random order, and ends at a look of
_statistics.looks, where the experiment may end. (Plans of earlier versions have each cell once per block.)
"""

import math
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Literal, TypedDict, cast

from .._records import record_files
from .._records.checks import MOST_ROUNDS, check_slug
from .._records.files import folder_below
from .._records.grouping import by_key
from .._records.round import Round
from .._records.shapes import NotRequired, check_shape
from .._statistics import looks
from .._statistics.verdict import Limits
from .factors import Factor, Level, Values

SCHEMA = "zpower.sap_tuning/experiment/1"
FILE = "experiment.json"
UNFINISHED = "unfinished-"
"""Files with this prefix lie beside the folders of the hosts, where no record is read."""
MOST_CELLS = 64
DEFINITION: tuple[Literal["factors", "baseline", "seed"], ...] = ("factors", "baseline", "seed")
"""What a second run under the same name has to ask for as well."""

Step = tuple[str, int]
"""(phase, round) of the records of a step."""


class Session(TypedDict):
    """One run of the playbook, see docs/schemas/experiment-1.schema.json. Earlier versions lack what may be None."""

    started: str
    hosts: list[str]
    ended: str | None
    failures: dict[str, str] | None
    kept: str | None
    set_aside: int | None


class Cell(TypedDict):
    """One combination of levels: ``set`` are the tunings that its variables set, ``found`` those taken back for it.

    ``probe`` are the variables with which the tunings taken back are looked at: those of another level, so that the
    records of both are about the same interfaces, profiles and so on.
    """

    name: str
    levels: dict[str, str]
    vars: Values
    probe: Values
    set: list[str]
    found: list[str]


class Plan(TypedDict):
    """The file, as check_plan() gives it; what follows from its factors is compared with them."""

    schema: str
    change: str
    factors: list[Factor]
    cells: list[Cell]
    baseline: str
    rounds: int
    max_rounds: int
    max_minutes: float
    material_pct: NotRequired[float]
    stopped: int | None
    continued: list[int]
    seed: int
    order: list[list[str]]
    sessions: list[Session]


def plan(
    change: str,
    factors: Sequence[Factor],
    budget: tuple[int, int, float],
    seed: int | None = None,
    baseline: str | None = None,
) -> Plan:
    """The whole experiment before its first step; ValueError in one sentence where it makes no sense.

    ``budget``: rounds per cell before the first look, and at most; minutes after which a session ends, 0 for no limit.
    Without a seed the name of the change is one, so that check mode shows the order that the run will have.
    """
    check_slug("change", change)
    rounds, most, minutes = budget
    if not 1 <= rounds <= MOST_ROUNDS:
        raise ValueError(f"rounds is {rounds}; it must be between 1 and {MOST_ROUNDS}")
    if not rounds <= most <= MOST_ROUNDS:
        raise ValueError(f"max_rounds is {most}; it must be between rounds ({rounds}) and {MOST_ROUNDS}")
    if not 0.0 <= minutes < math.inf:
        raise ValueError(f"max_minutes is {minutes}; it must be minutes, or 0 for no limit")
    size = math.prod(len(factor["levels"]) for factor in factors)
    if size > MOST_CELLS:
        raise ValueError(f"the factors have {size} combinations of levels; more than {MOST_CELLS} are not measured")
    cells = [_cell(factors, levels) for levels in product(*(factor["levels"] for factor in factors))]
    names = [cell["name"] for cell in cells]
    double = sorted({name for name in names if names.count(name) > 1})
    if double:
        raise ValueError(f"two combinations of levels would both be called {double[0]}: give the levels other names")
    base = names[0] if baseline is None else baseline
    if base not in names:
        raise ValueError(f"baseline is {base!r}; it must be one of {', '.join(names)}")
    number = zlib.crc32(change.encode()) if seed is None else seed
    drawn, order = looks.order(str(number), most, names), []
    for count in looks.blocks(most):
        order.append(drawn[: count * size])
        drawn = drawn[count * size :]
    return {
        "schema": SCHEMA,
        "change": change,
        "factors": list(factors),
        "cells": cells,
        "baseline": base,
        "rounds": rounds,
        "max_rounds": most,
        "max_minutes": minutes,
        "stopped": None,
        "continued": [],
        "seed": number,
        "order": order,
        "sessions": [],
    }


def choose_limit(asked: float | None, experiment: Mapping[str, Any] | None) -> float:
    """Return the material limit in percent: the one asked for, else that of the experiment, else the usual one."""
    return (experiment or {}).get("material_pct", Limits.material_pct) if asked is None else asked


def _cell(factors: Sequence[Factor], levels: Sequence[Level]) -> Cell:
    pairs = list(zip(factors, levels, strict=True))
    others = [
        next(other for other in factor["levels"] if not other["found"]) for factor, level in pairs if level["found"]
    ]
    name = check_slug("the name of a combination of levels", ".".join(level["name"] for level in levels))
    return {
        "name": name,
        "levels": {factor["name"]: level["name"] for factor, level in pairs},
        "vars": {variable: value for level in levels for variable, value in level["vars"].items()},
        "probe": {variable: value for level in others for variable, value in level["vars"].items()},
        "set": sorted({tuning for factor, level in pairs if not level["found"] for tuning in factor["tunings"]}),
        "found": sorted({tuning for factor, level in pairs if level["found"] for tuning in factor["tunings"]}),
    }


def with_budget(there: Plan, wanted: Plan, hosts: Iterable[str]) -> Plan:
    """The existing plan with the budget of another one. A larger one, or a new host, opens a plan that has stopped.

    The rounds of a plan never become fewer, because its steps may be measured already. Rounds that are added follow
    those that are there.
    """
    more_rounds = wanted["max_rounds"] > there["max_rounds"]
    more_time = (wanted["max_minutes"] or math.inf) > (there["max_minutes"] or math.inf)
    new_hosts = not set(hosts) <= hosts_of(there)
    order = there["order"]
    if more_rounds:
        count: Counter[str] = Counter()
        for block in wanted["order"]:
            rest = [name for name in block if _count(count, name) > there["max_rounds"]]
            order = [*order, rest] if rest else order
    return {
        **there,
        "rounds": wanted["rounds"],
        "max_rounds": max(there["max_rounds"], wanted["max_rounds"]),
        "max_minutes": wanted["max_minutes"],
        "stopped": None if more_rounds or more_time or new_hosts else there["stopped"],
        "order": order,
    }


def _count(seen: Counter[str], name: str) -> int:
    seen[name] += 1
    return seen[name]


def hosts_of(experiment: Plan) -> set[str]:
    """Every host that took part in a session."""
    return {host for session in experiment["sessions"] for host in session["hosts"]}


def different(there: Plan, wanted: Plan) -> str | None:
    """What is not the same in two plans of one name, in one sentence; None if the second continues the first."""
    for name in DEFINITION:
        if there[name] != wanted[name]:
            both: tuple[Any, Any] = (there[name], wanted[name])
            was, now = ([factor["levels"] for factor in item] if name == "factors" else item for item in both)
            return f"its {name} was {was}, and is {now} now"
    return None


def end_of(experiment: Plan) -> int:
    """Rounds per cell with which the experiment is complete."""
    return experiment["stopped"] or experiment["max_rounds"]


def steps(experiment: Plan) -> list[Step]:
    """Every step up to the end of the experiment, in the order of time."""
    count: Counter[str] = Counter()
    planned = [(name, _count(count, name)) for block in experiment["order"] for name in block]
    return [(name, number) for name, number in planned if number <= end_of(experiment)]


def session_of(experiment: Plan, step: Step) -> int:
    """The session that a step belongs to: 1, and one more each time the experiment was continued after its end.

    Time lies between sessions, so the report takes the level and the slope of each out separately. A run that was
    interrupted and resumed is one session, because its blocks are not whole.
    """
    return 1 + sum(step[1] > end for end in experiment["continued"])


def rounds_done(experiment: Plan, finished: Mapping[str, Iterable[Step]]) -> int:
    """Rounds per cell that every host has finished; ``finished``: the finished steps by host."""
    numbers = [number for ready in finished.values() for name, number in set(steps(experiment)).difference(ready)]
    return min(numbers, default=end_of(experiment) + 1) - 1


def finished(
    experiment: Plan, records: Iterable[Round], tunings: Iterable[Mapping[str, Any]], hosts: Iterable[str]
) -> dict[str, set[Step]]:
    """The finished steps of each of these hosts: they have a tunings file, and a measurement if the host has any."""
    planned = set(steps(experiment))
    measured = by_key((item.host, item.slot) for item in records)
    tuned = by_key((file["host"], (file["phase"], file["round"])) for file in tunings)
    return {
        host: planned.intersection(tuned.get(host, ())).intersection(measured.get(host) or planned) for host in hosts
    }


def check_plan(given: Any, change: str) -> Plan:
    """A plan read from a file, with what those of earlier versions lack; ValueError unless it is one of this change.

    The whole plan follows from its factors, so it is sound where it can be made again from them.
    """
    try:
        if not isinstance(given, dict) or given["schema"] != SCHEMA:
            raise ValueError(f"it is not a plan of an experiment; this version reads {SCHEMA}")
        if given["change"] != change:
            raise ValueError(f"it belongs to the change {given['change']}")
        # earlier versions had a fixed number of rounds
        whole = {"max_rounds": given["rounds"], "max_minutes": 0.0, "stopped": None, "continued": [], **given}
        check_shape(whole, Plan)
        Limits(material_pct=choose_limit(None, whole))
        budget = (whole["rounds"], whole["max_rounds"], whole["max_minutes"])
        again = plan(change, whole["factors"], budget, whole["seed"], whole["baseline"])
        ends = [*whole["continued"], *([] if whole["stopped"] is None else [whole["stopped"]])]
        # every block has each cell equally often, and all of them as often as the experiment has rounds
        counts = [Counter(block) for block in whole["order"]]
        names = {cell["name"] for cell in again["cells"]}
        sound = all(1 <= end <= whole["max_rounds"] for end in ends) and all(
            set(count) == names and len(set(count.values())) == 1 for count in counts
        )
        rounds = sum(count[again["baseline"]] for count in counts)
        if not sound or rounds != whole["max_rounds"] or whole["cells"] != again["cells"]:
            raise ValueError("its cells, their order or its end do not follow from its factors")
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"it is not a sound plan of an experiment ({error!r})") from None
    return cast(Plan, whole)


def read_plan(results: Path | str, change: str) -> Plan | None:
    """The plan of a change; None if there is none, ValueError in one sentence if it cannot be used."""
    return record_files.read_checked(
        record_files.change_folder(results, change) / FILE, lambda given: check_plan(given, change)
    )


def write_plan(results: Path | str, plan: Plan) -> Path:
    """Write the plan to its place and return that."""
    path = record_files.change_folder(results, plan["change"]) / FILE
    record_files.write_json(path, plan, results)
    return path


def set_aside(results: Path | str, plan: Plan, loaded: record_files.Loaded, ready: Mapping[str, set[Step]]) -> int:
    """Set the files of unfinished steps of these hosts aside, so that the steps can be done again; how many."""
    planned = set(steps(plan))

    def unfinished(host: str, phase: str, number: int) -> bool:
        return (phase, number) in planned - ready.get(host, planned)

    return move_aside(results, loaded, unfinished, len(plan["sessions"]))


def move_aside(
    results: Path | str, loaded: record_files.Loaded, chosen: Callable[[str, str, int], bool], session: int
) -> int:
    """Move records to ``<change>/unfinished-<session>-<host>-<file>``, where none is lost or overwritten; how many.

    ``chosen``: whether the records of this host, phase and round are moved.
    """
    measured = (
        record_files.path_of(results, loaded.change, item)
        for item in loaded.records
        if chosen(item.host, item.phase, item.number)
    )
    tuned = (
        record_files.record_path(results, item)
        for item in loaded.tunings
        if chosen(item["host"], item["phase"], item["round"])
    )
    folder, paths = record_files.change_folder(results, loaded.change), sorted({*measured, *tuned})
    for path in paths:
        aside = f"{UNFINISHED}{session}-{path.parent.name}-{path.name}"
        more = 1
        while os.path.lexists(folder / aside):
            more += 1
            aside = f"{UNFINISHED}{session}.{more}-{path.parent.name}-{path.name}"
        with folder_below(path.parent, Path(results)) as old, folder_below(folder, Path(results)) as new:
            os.rename(path.name, aside, src_dir_fd=old, dst_dir_fd=new)
    return len(paths)
