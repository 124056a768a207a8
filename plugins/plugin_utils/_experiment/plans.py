# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of an experiment with more than two states, which stands in ``<results>/<change>/experiment.json``.

A **cell** is one level of each factor. Every **block** has each cell once, in an order drawn for that block, so that a
drift of the site falls on all cells alike. A **step** is one cell in one block: a round of measurement, whose phase is
the cell's name and whose number is the block's. Pure functions.
"""

from __future__ import annotations

import math
import random
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from .._records.validate import MOST_ROUNDS, check_slug
from .factors import Factor, Level

SCHEMA = "zpower.sap_tuning/experiment/1"
MOST_CELLS = 64
DEFINITION = ("factors", "baseline", "rounds", "seed")
"""What a second run under the same name has to ask for as well."""

Plan = Mapping[str, Any]
Step = tuple[str, int]
"""(phase, round) of the records of a step."""


def plan(
    change: str, factors: Sequence[Factor], rounds: int, seed: int | None = None, baseline: str | None = None
) -> dict[str, Any]:
    """The whole experiment before its first step; ValueError in one sentence where it makes no sense.

    Without a seed the name of the change is one, so that check mode shows the order that the run will have.
    """
    check_slug("change", change)
    if not 1 <= rounds <= MOST_ROUNDS:
        raise ValueError(f"rounds is {rounds}; it has to lie between 1 and {MOST_ROUNDS}")
    size = math.prod(len(factor.levels) for factor in factors)
    if size > MOST_CELLS:
        raise ValueError(f"the factors have {size} combinations of levels; more than {MOST_CELLS} are not measured")
    cells = [_cell(factors, levels) for levels in product(*(factor.levels for factor in factors))]
    names = [cell["name"] for cell in cells]
    double = sorted({name for name in names if names.count(name) > 1})
    if double:
        raise ValueError(f"two combinations of levels would both be called {double[0]}: give the levels other names")
    base = names[0] if baseline is None else baseline
    if base not in names:
        raise ValueError(f"baseline is {base!r}; it has to be one of {', '.join(names)}")
    number = zlib.crc32(change.encode()) if seed is None else seed
    return {
        "schema": SCHEMA,
        "change": change,
        "factors": [_factor_entry(factor) for factor in factors],
        "cells": cells,
        "baseline": base,
        "rounds": rounds,
        "seed": number,
        "order": list(_order(names, rounds, number)),
        "sessions": [],
    }


def _factor_entry(factor: Factor) -> dict[str, Any]:
    levels = [{"name": level.name, "found": level.found, "vars": level.vars} for level in factor.levels]
    return {"name": factor.name, "tunings": list(factor.tunings), "levels": levels}


def _cell(factors: Sequence[Factor], levels: Sequence[Any]) -> dict[str, Any]:
    """One combination of levels: ``set`` are the tunings that its variables set, ``found`` those taken back for it.

    ``probe`` are the variables with which the tunings taken back are looked at: those of another level, so that the
    records of both are about the same interfaces, profiles and so on.
    """
    pairs = list(zip(factors, levels, strict=True))
    others = [next(other for other in factor.levels if not other.found) for factor, level in pairs if level.found]
    name = check_slug("the name of a combination of levels", ".".join(level.name for level in levels))
    return {
        "name": name,
        "levels": {factor.name: level.name for factor, level in pairs},
        "vars": {variable: value for level in levels for variable, value in level.vars.items()},
        "probe": {variable: value for level in others for variable, value in level.vars.items()},
        "set": sorted({tuning for factor, level in pairs if not level.found for tuning in factor.tunings}),
        "found": sorted({tuning for factor, level in pairs if level.found for tuning in factor.tunings}),
    }


def _order(names: Sequence[str], rounds: int, seed: int) -> Iterator[list[str]]:
    chance = random.Random(seed)
    for _block in range(rounds):
        block = list(names)
        chance.shuffle(block)
        yield block


def different(there: Plan, wanted: Plan) -> str | None:
    """What is not the same in two plans of one name, in one sentence; None if the second continues the first."""
    for name in DEFINITION:
        if there[name] != wanted[name]:
            was, now = (_shown(name, item) for item in (there, wanted))
            return f"its {name} was {was}, and is {now} now"
    return None


def _shown(name: str, item: Plan) -> str:
    return str([factor["levels"] for factor in item["factors"]]) if name == "factors" else str(item[name])


def steps(experiment: Plan) -> list[Step]:
    """Every step in the order of time."""
    return [(name, block) for block, names in enumerate(experiment["order"], 1) for name in names]


def done(experiment: Plan, tuned: Iterable[Step], measured: Iterable[Step]) -> set[Step]:
    """The finished steps of one host: its tunings file, written when a step ends, and a measurement if it has any."""
    finished, known = set(tuned) & set(steps(experiment)), set(measured)
    return finished & known if known else finished


def validate(given: object, change: str) -> str | None:
    """What is wrong with a plan read from a file, in one sentence; None if it is one of this change.

    The whole plan follows from its factors, so it is sound where it can be made again from them.
    """
    try:
        if not isinstance(given, dict) or given["schema"] != SCHEMA:
            return f"it is no plan of an experiment; this version reads {SCHEMA}"
        if given["change"] != change:
            return f"it belongs to the change {given['change']}"
        factors = [_read_factor(item) for item in given["factors"]]
        again = plan(change, factors, given["rounds"], given["seed"], given["baseline"])
        names = sorted(cell["name"] for cell in again["cells"])
        if given["cells"] != again["cells"] or [sorted(block) for block in given["order"]] != [names] * again["rounds"]:
            return "its cells or their order do not follow from its factors"
        for session in given["sessions"]:
            if not all(isinstance(host, str) for host in session["hosts"]) or not isinstance(session["started"], str):
                return "a session of it has no hosts or no start"
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return f"it is no sound plan of an experiment ({error!r})"
    return None


def _read_factor(item: Mapping[str, Any]) -> Factor:
    levels = tuple(
        Level(check_slug("level", entry["name"]), dict(entry["vars"]), entry["found"]) for entry in item["levels"]
    )
    return Factor(check_slug("factor", item["name"]), levels, tuple(item["tunings"]))
