# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A calibration file, and what a planned measurement can show according to it."""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from .._records import record_files
from .._records.checks import Fields, check_numbers, wrong
from .._statistics import planning
from .._statistics.ranks import short
from .._statistics.verdict import coarse

SCHEMA = "zpower.sap_tuning/calibration/1"
FILE = "calibration.json"
SPREADS = ("runs_pct", "rounds_pct", "medians_pct", "upper_pct")
WANTED_PCT = (3.0, 5.0, 10.0, 20.0)
"""The changes for which a forecast says how many rounds they take."""

MATERIAL_SHARE = 0.6
"""A change is found reliably if the material limit is at most this share of it."""


def read(results: str | os.PathLike[str], name: str) -> dict[str, Any] | None:
    """The calibration in the folder of a change; None if there is none. ValueError in one sentence if it is damaged."""
    path = record_files.change_folder(os.fspath(results), name) / FILE
    return record_files.read_checked(path, _checked, "; calibrate again, or move it away")


def _checked(found: Any) -> dict[str, Any]:
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


def forecast(calibration: Mapping[str, Any], hosts: Iterable[str], rounds: int, material_pct: float) -> dict[str, Any]:
    """What a measurement with so many rounds per state can show on these hosts together, with 80 % certainty.

    Uses the upper bound of the noise. Keys: ``smallest_change_pct`` (null if so few rounds decide nothing),
    ``rounds_for_unchanged``, ``rounds_for`` (a list of ``change_pct``, ``material_pct``, ``rounds`` and ``seconds``),
    ``seconds`` of this measurement, and ``sentences``. Rounds are null if no look has as many; without a calibrated
    host everything but the sentences is null or empty.
    """
    usable, sentences = _usable(calibration, hosts, material_pct)
    if not usable:
        return {
            **dict.fromkeys(("smallest_change_pct", "rounds_for_unchanged", "seconds")),
            "rounds_for": [],
            "sentences": sentences,
        }
    spread = _spread(calibration, usable)
    times = [calibration["hosts"][host].get("seconds_per_round") for host in usable]
    each = None if None in times else 2 * max(times)
    material = material_pct / 100.0
    smallest = planning.smallest_change(spread, rounds, material)
    unchanged = planning.rounds_for_unchanged(spread, material)
    wanted = [_rounds_for(spread, change, material_pct, each) for change in WANTED_PCT]
    found = {
        "smallest_change_pct": None if math.isinf(smallest) else percent(smallest),
        "rounds_for_unchanged": unchanged,
        "rounds_for": wanted,
        "seconds": _times(rounds, each),
    }
    return {**found, "sentences": [*sentences, *_sentences(found, rounds, material_pct, each)]}


def _rounds_for(spread: float, change: float, limit: float, each: float | None) -> dict[str, Any]:
    """Rounds for a change; one within the material limit takes a smaller limit."""
    material = short(MATERIAL_SHARE * change) if change <= limit else limit
    rounds = planning.rounds_for(spread, math.log1p(change / 100.0), material / 100.0)
    return {"change_pct": change, "material_pct": material, "rounds": rounds, "seconds": _times(rounds, each)}


def _times(rounds: int | None, each: float | None) -> float | None:
    return None if rounds is None or each is None else short(rounds * each)


def _usable(calibration: Mapping[str, Any], hosts: Iterable[str], material_pct: float) -> tuple[list[str], list[str]]:
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


def _spread(calibration: Mapping[str, Any], hosts: Sequence[str]) -> float:
    """The upper bound of the noise of a verdict, which judges the mean of all hosts in each round; a fraction.

    If only some of the calibrated hosts are measured, their noise counts as fully correlated. That bound may be too
    large, never too small.
    """
    if len(hosts) > 1 and set(hosts) == set(calibration["hosts"]) and calibration.get("site"):
        return fraction(calibration["site"]["upper_pct"])
    return fmean(fraction(calibration["hosts"][host]["pooled"]["upper_pct"]) for host in hosts)


def _sentences(found: Mapping[str, Any], rounds: int, limit: float, each: float | None) -> list[str]:
    smallest = found["smallest_change_pct"]
    if smallest is None:
        first = f"{rounds} rounds per state cannot show any change: more are needed for a verdict"
    else:
        first = f"{rounds} rounds per state can show a change of {_size(smallest)} %{_about(found['seconds'])}"
    told: dict[int, str] = {}
    for entry in found["rounds_for"]:
        if entry["rounds"] is not None and entry["rounds"] != rounds:
            lower = "" if entry["material_pct"] == limit else f" and a material limit of {entry['material_pct']:g} %"
            words = f"{entry['change_pct']:g} % takes {entry['rounds']} rounds{lower}{_about(entry['seconds'])}"
            told.setdefault(entry["rounds"], words)
    unchanged = found["rounds_for_unchanged"]
    many = f"{unchanged} rounds per state say so" if unchanged else f"not even {planning.MOST_ROUNDS} rounds say so"
    return [
        "; ".join([first, *told.values()]) + ".",
        f"No change up to the material limit of {limit:g} % can be shown, however many rounds are measured.",
        f"If nothing changes, {many} (UNCHANGED){_about(_times(unchanged, each))}.",
    ]


def _size(pct: float) -> str:
    return f"{pct:.1f}" if pct < 10.0 else f"{pct:.0f}"


def _about(seconds: float | None) -> str:
    return "" if seconds is None else f", about {duration(seconds)}"


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
