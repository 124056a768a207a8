# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Factors and levels as a user wrote them, checked; each mistake gets one sentence that says what would be right."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import combinations
from typing import Annotated, Any, TypedDict

from .._records.checks import check_slug

Slug = Annotated[str, check_slug]
Values = dict[str, Any]
"""Variables of roles with their values."""


class Level(TypedDict):
    """One value of a factor: variables of roles, or the state in which the hosts were found (no variables)."""

    name: Slug
    vars: Values
    found: bool


class Factor(TypedDict):
    """What is varied, and the tunings whose variables its levels set, sorted; as the plan has it."""

    name: Slug
    tunings: list[str]
    levels: list[Level]


def read_factors(given: Sequence[Values], known: Mapping[str, Iterable[str]]) -> list[Factor]:
    """The factors of an experiment; ValueError in one sentence.

    ``given`` has the types of the role's specification; ``known``: the variables of each tuning's role.
    """
    if not given:
        raise ValueError("experiment_factors is empty: it must be a list of factors, each with a name and its levels")
    factors = [_factor(item, f"experiment_factors[{index}]", known) for index, item in enumerate(given)]
    _distinct([factor["name"] for factor in factors], "experiment_factors")
    _apart(factors)
    return factors


def _factor(item: Values, where: str, known: Mapping[str, Iterable[str]]) -> Factor:
    name = _name(item["name"], f"{where}.name")
    if len(item["levels"]) < 2:
        raise ValueError(f"factor {name} needs a list of at least two levels, so that one is compared with the others")
    levels = [_level(entry, f"factor {name}, levels[{index}]") for index, entry in enumerate(item["levels"])]
    _distinct([level["name"] for level in levels], f"factor {name}")
    _comparable(name, levels)
    tunings = {_tuning(variable, name, known) for level in levels for variable in level["vars"]}
    return {"name": name, "tunings": sorted(tunings), "levels": levels}


def _level(item: Values, where: str) -> Level:
    name, found, variables = _name(item["name"], f"{where}.name"), bool(item.get("found")), item.get("vars") or {}
    if found == bool(variables):
        raise ValueError(f"level {name} ({where}) needs either vars, the variables that it sets, or found: true")
    for variable, value in variables.items():
        if variable.endswith("_state") and value == "restored":
            raise ValueError(f"level {name} sets {variable} to restored: write found: true in place of its variables")
    return {"name": name, "vars": dict(variables), "found": found}


def _comparable(factor: str, levels: Sequence[Level]) -> None:
    """A level that leaves a variable out would run with what the level before it, or the inventory, has set."""
    setting = [level for level in levels if not level["found"]]
    if len(levels) - len(setting) > 1:
        raise ValueError(f"factor {factor} has more than one level with found: true; the state found is one level")
    for level in setting[1:]:
        missing = sorted(set(setting[0]["vars"]) ^ set(level["vars"]))
        if missing:
            raise ValueError(
                f"factor {factor}: {missing[0]} is set in one of the levels {setting[0]['name']} and {level['name']} "
                "only; every level has to set the same variables"
            )
    for earlier, level in combinations(setting, 2):
        if earlier["vars"] == level["vars"]:
            names = f"{earlier['name']} and {level['name']}"
            raise ValueError(f"factor {factor}: the levels {names} set the same values")


def _tuning(variable: str, factor: str, known: Mapping[str, Iterable[str]]) -> str:
    """The tuning whose role has this variable."""
    fitting = [name for name in known if variable.startswith(name + "_")]
    if not fitting:
        raise ValueError(
            f"factor {factor} sets {variable}, which is not a variable of a tuning: it takes those of the roles "
            f"{', '.join(sorted(known))}"
        )
    name = max(fitting, key=len)
    variables = list(known[name])
    if variable not in variables:
        close = get_close_matches(variable, variables, n=1)
        meant = f"did you mean {close[0]}?" if close else f"the role {name} has {', '.join(variables)}"
        raise ValueError(f"factor {factor} sets {variable}, and there is no such variable; {meant}")
    return name


def _apart(factors: Sequence[Factor]) -> None:
    """Crossed factors must not fight over a variable, nor over whether a tuning is set or as found."""
    for earlier, factor in combinations(factors, 2):
        both = sorted(_variables(earlier) & _variables(factor))
        if both:
            raise ValueError(f"the factors {earlier['name']} and {factor['name']} both set {both[0]}")
        shared = sorted(set(earlier["tunings"]) & set(factor["tunings"]))
        found = [item["name"] for item in (earlier, factor) if any(level["found"] for level in item["levels"])]
        if shared and found:
            raise ValueError(
                f"factor {found[0]} has a level with found: true, and the factors {earlier['name']} and "
                f"{factor['name']} both set the tuning {shared[0]}, which is either set or as found: write the level "
                "with variables"
            )


def _variables(factor: Factor) -> set[str]:
    return {variable for level in factor["levels"] for variable in level["vars"]}


def _name(given: object, where: str) -> str:
    if isinstance(given, bool):
        raise ValueError(f"{where} is {given!r}: YAML takes on, off, yes and no for true and false; put it in quotes")
    return check_slug(where, str(given) if isinstance(given, int) else given)


def _distinct(names: Sequence[str], where: str) -> None:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ValueError(f"{where}: the name {name} is used twice")
