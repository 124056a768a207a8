# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Experiments with known results: how their states are made, and what their reports must say."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

INTERFACE = "hsi0"
NEIGHBOUR = [sys.executable, str(Path(__file__).resolve().parent / "neighbour.py")]
CPU_METRIC = "cpu_us_per_unit"
# Parts of the report's flags: other work changed as well, so a lower CPU cost is not credited to the change.
NOT_ALONE, NOT_CREDITED = "the change alone does not explain", "is not credited"

Command = list[str]
Report = Mapping[str, Any]


class Shaper(NamedTuple):
    """A way to set the round trip time of the network between the hosts: short, and 10 % longer."""

    name: str
    short: Command
    long: Command


def _tc(*words: str) -> Command:
    return ["tc", "qdisc", "replace", "dev", INTERFACE, "root", *words]


# 1 ms of delay, plus about 0.1 ms in the hosts.
NETEM = Shaper("tc netem", _tc("netem", "delay", "1000us"), _tc("netem", "delay", "1110us"))
# For kernels without netem: a bucket of one frame. Messages of 1000 bytes are 1066 on the cable, one at a time, so that
# only the rate determines the round trip time: 426 and 469 µs.
TBF = Shaper(
    "tc tbf",
    _tc("tbf", "rate", "20000kbit", "burst", "1600", "latency", "100ms"),
    _tc("tbf", "rate", "18182kbit", "burst", "1600", "latency", "100ms"),
)
SHAPERS = (NETEM, TBF)
UNSHAPED = ["tc", "qdisc", "delete", "dev", INTERFACE, "root"]


class Case(NamedTuple):
    """One kind of experiment. states: {phase: commands that make it} for a shaper; leave: commands to undo them all."""

    name: str
    title: str
    repeats: int
    states: Callable[[Shaper], dict[str, list[Command]]]
    leave: list[Command]
    wanted: str
    good: Callable[[Report], bool]
    most_bad: int


def order(rounds: int) -> list[tuple[str, int]]:
    """Return phase and round of each step: before, after, after, before, and so on."""
    phases = itertools.cycle(["before", "after", "after", "before"])
    return [(phase, number // 2 + 1) for number, phase in zip(range(2 * rounds), phases, strict=False)]


def compared(report: Report) -> Mapping[str, Any]:
    """Return the only comparison of a report that is not a control."""
    (found,) = [item for item in report["comparisons"] if not item["control"]]
    return found


def says_nothing_changed(report: Report) -> bool:
    return report["verdict"] in ("UNCHANGED", "INCONCLUSIVE")


def says(verdict: str) -> Callable[[Report], bool]:
    return lambda report: report["verdict"] == verdict


def flags_the_neighbour(report: Report) -> bool:
    """Return whether the change of other work is reported and no improvement is credited to the change."""
    comparison = compared(report)
    return any(NOT_ALONE in text for text in comparison["flags"]) and not credited(comparison)


def credited(comparison: Mapping[str, Any]) -> bool:
    """Return whether the verdict is IMPROVED without a warning, or a lower CPU cost is credited to the change."""
    return (comparison["verdict"] == "IMPROVED" and not comparison["warnings"]) or any(
        entry["metric"].startswith(CPU_METRIC)
        and entry["flag"]
        and entry["ratio"] > 1
        and NOT_CREDITED not in entry["flag"]
        for entry in comparison["secondary"]
    )


CASES = (
    Case(
        "aa",
        "nothing is changed",
        20,
        lambda _shaper: {"before": [], "after": []},
        [],
        "UNCHANGED or INCONCLUSIVE",
        says_nothing_changed,
        1,
    ),
    Case(
        "slower",
        "round trips take 10 % longer",
        10,
        lambda shaper: {"before": [shaper.short], "after": [shaper.long]},
        [UNSHAPED],
        "REGRESSED",
        says("REGRESSED"),
        1,
    ),
    Case(
        "faster",
        "the 10 % are taken away",
        10,
        lambda shaper: {"before": [shaper.long], "after": [shaper.short]},
        [UNSHAPED],
        "IMPROVED",
        says("IMPROVED"),
        1,
    ),
    Case(
        "neighbour",
        "a busy neighbour goes away",
        10,
        lambda _shaper: {"before": [[*NEIGHBOUR, "start"]], "after": [[*NEIGHBOUR, "stop"]]},
        [[*NEIGHBOUR, "stop"]],
        "flagged, and not credited",
        flags_the_neighbour,
        0,
    ),
)
