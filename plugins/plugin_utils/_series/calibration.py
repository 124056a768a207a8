# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A calibration file, and what a planned measurement can show according to it."""

import math
import os
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from .._records import record_files
from .._records.checks import Fields, check_numbers, wrong
from .._statistics import planning
from .._statistics.ranks import short
from .._statistics.verdict import coarse

SCHEMA = "zpower.sap_tuning/calibration/1"
FILE = "calibration.json"
Calibration = dict[str, Any]
"""The file, or the entry of a host in it."""
SPREADS = ("runs_pct", "rounds_pct", "medians_pct", "upper_pct")
WANTED_PCT = (3.0, 5.0, 10.0, 20.0)
"""The changes for which a forecast says how many rounds they take."""

UNSURE = 1.15
"""A calibration that promises few rounds has often found too little noise.

Simulated for this collection (250 calibrations of 12 rounds a cell, eight noises): of those that promise at most 32
rounds, 69 to 97 % keep it, without this factor 53 to 93 %.
"""

MATERIAL_SHARE = 0.6
"""A change is found reliably if the material limit is at most this share of it."""


def read(results: str | os.PathLike[str], name: str) -> Calibration | None:
    """The calibration in the folder of a change; None if there is none. ValueError in one sentence if it is damaged."""
    path = record_files.change_folder(os.fspath(results), name) / FILE
    return record_files.read_checked(path, _checked, "; calibrate again, or move it away")


def _checked(found: Any) -> Calibration:
    """A calibration in which everything that a forecast needs has the right type; else ValueError."""
    fields = Fields(found, "the calibration", "")
    if found.get("schema") != SCHEMA:
        raise wrong("schema", found.get("schema"), SCHEMA)
    hosts = fields.required_object("hosts")
    for host in hosts.item:
        one = hosts.required_object(host)
        _check_spreads(one.required_object("pooled"))
        times = {name: one.item.get(name) for name in ("seconds_per_round", "seconds_per_run", "step_pct")}
        check_numbers(times, one.prefix.rstrip("."))
        for place, sentence in enumerate(one.optional_list("pointless")):
            if not isinstance(sentence, str):
                raise wrong(f"{one.prefix}pointless[{place}]", sentence, "text")
        ends = one.optional_object("fingerprint")
        for end in ends.item:
            items = ends.required_object(end)
            for item in items.item:
                items.optional_text(item)
    if fields.item.get("site") is not None:
        _check_spreads(fields.required_object("site"))
    return fields.item


def _check_spreads(fields: Fields) -> None:
    """ValueError unless the upper bound is a positive number, and the other spreads are numbers."""
    check_numbers({name: fields.item.get(name) for name in SPREADS}, fields.prefix.rstrip("."))
    upper = fields.item.get("upper_pct")
    if upper is None or upper <= 0:
        raise wrong(f"{fields.prefix}upper_pct", upper, "a number above 0")


def forecast(calibration: Calibration, hosts: Iterable[str], rounds: int, material_pct: float) -> list[str]:
    """Sentences: what this many rounds per state can show on these hosts together, with 80 % certainty.

    Uses the upper bound of the noise.
    """
    usable, sentences = _usable(calibration, hosts, material_pct)
    if not usable:
        return sentences
    spread, material = _spread(calibration, usable), material_pct / 100.0
    times = [calibration["hosts"][host].get("seconds_per_round") for host in usable]
    each = None if None in times else 2 * max(times)
    smallest = planning.smallest_change(spread, rounds, material)
    if math.isinf(smallest):
        first = f"{rounds} rounds per state cannot show any change: more are needed for a verdict"
    else:
        pct = percent(smallest)
        size = f"{pct:.1f}" if pct < 10.0 else f"{pct:.0f}"
        first = f"{rounds} rounds per state can show a change of {size} %{_about(rounds, each)}"
    told: dict[int, str] = {}
    for change in WANTED_PCT:
        # a change within the material limit takes a smaller limit
        limit = short(MATERIAL_SHARE * change) if change <= material_pct else material_pct
        needed = planning.rounds_for(spread, math.log1p(change / 100.0), limit / 100.0)
        if needed is not None and needed != rounds:
            lower = "" if limit == material_pct else f" and a material limit of {limit:g} %"
            told.setdefault(needed, f"{change:g} % takes {needed} rounds{lower}{_about(needed, each)}")
    unchanged = planning.rounds_for_unchanged(UNSURE * spread, material)
    many = (
        f"not even {planning.MOST_ROUNDS} rounds say so (UNCHANGED)"
        if unchanged is None
        else f"{unchanged} rounds per state say so (UNCHANGED) in 2 of 3 measurements{_about(unchanged, each)}"
    )
    return [
        *sentences,
        "; ".join([first, *told.values()]) + ".",
        f"No change up to the material limit of {material_pct:g} % can be shown, however many rounds are measured.",
        f"If nothing changes, {many}.",
    ]


def _usable(calibration: Calibration, hosts: Iterable[str], material_pct: float) -> tuple[list[str], list[str]]:
    """The hosts that are calibrated, and a sentence for each of the others, or with too coarse figures."""
    usable, sentences = [], []
    for host in hosts:
        if host not in calibration["hosts"]:
            sentences.append(f"{host} is not in the calibration {calibration.get('change')}.")
            continue
        usable.append(host)
        step = calibration["hosts"][host].get("step_pct") or 0.0
        if coarse(step, material_pct):
            text = f"one step of the figures of {host} is {step:.3g} %, too coarse for a limit of {material_pct:g} %"
            sentences.append(f"{text}: use longer runs or a finer clock.")
    return usable, sentences


def _spread(calibration: Calibration, hosts: Sequence[str]) -> float:
    """The upper bound of the noise of a verdict, which judges the mean of all hosts in each round; a fraction.

    If only some of the calibrated hosts are measured, their noise counts as fully correlated. That bound may be too
    large, never too small.
    """
    if len(hosts) > 1 and set(hosts) == set(calibration["hosts"]) and calibration.get("site"):
        return fraction(calibration["site"]["upper_pct"])
    return fmean(fraction(calibration["hosts"][host]["pooled"]["upper_pct"]) for host in hosts)


def _about(rounds: int, each: float | None) -> str:
    return "" if each is None else f", about {duration(short(rounds * each))}"


def duration(seconds: float) -> str:
    """``45 s``, ``12 min``, ``2 h 10 min``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def percent(size: float) -> float:
    """A logarithm as a change in percent."""
    return short(100.0 * math.expm1(size))


def fraction(pct: float) -> float:
    """The inverse of :func:`percent`."""
    return math.log1p(pct / 100.0)
