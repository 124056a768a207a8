# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Experiments for tests: factors as a user writes them, and the records of a whole experiment with known effects."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any

import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment.factors import read_factors
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment.plans import Step, plan, steps

KNOWN = {
    "rps": ("rps_interfaces", "rps_cpus", "rps_every", "rps_state", "rps_flow_cnt"),
    "cpu_polarization": ("cpu_polarization_mode", "cpu_polarization_state"),
    "smc_r": ("smc_r_preset", "smc_r_state"),
}
CHANGE = "rps-levels"
HOSTS = ("app1", "app2")


def level(name: str, every: int, state: str = "present") -> dict[str, Any]:
    return {"name": name, "vars": {"rps_state": state, "rps_every": every}}


RPS = {"name": "rps", "levels": [level("off", 1, "off"), level("all", 1), level("every-2", 2), level("every-4", 4)]}
POLARIZATION = {
    "name": "polarization",
    "levels": [{"name": "found", "found": True}, {"name": "vertical", "vars": {"cpu_polarization_mode": "vertical"}}],
}


def make_plan(
    *factors: Mapping[str, Any], rounds: int = 8, most: int | None = None, minutes: float = 0.0, **more: Any
) -> dict[str, Any]:
    """Return a plan with one session of both hosts, which has ended well. A level needs 8 rounds to win."""
    budget = (rounds, rounds if most is None else most, minutes)
    made = plan(CHANGE, read_factors([dict(item) for item in factors or (RPS,)], KNOWN), budget, **more)
    ended = {"started": "2026-11-20T10:00:00.000000Z", "hosts": list(HOSTS), "ended": "2026-11-20T11:00:00.000000Z"}
    made["sessions"].append({**ended, "failures": {}, "kept": None, "set_aside": 0})
    return made


def make_records(
    experiment: Mapping[str, Any],
    effects: Mapping[str, float],
    done: Iterable[Step] | None = None,
    noise: float = 0.005,
) -> Iterator[dict[str, Any]]:
    """Return measurement records of these steps (by default all). ``effects``: round-trip change by level."""
    settings = factory.Plan(change=CHANGE)
    rng = random.Random(3)
    places = {step: place for place, step in enumerate(steps({"stopped": None, "max_rounds": 8, **experiment}))}
    for phase, number in places if done is None else done:
        moment = factory.START + timedelta(seconds=24 * places[phase, number])
        for host, peer in zip(HOSTS, HOSTS[::-1]):
            for control in (False, True):
                value = 50.0 * (1.0 if control else 1.0 + effects.get(phase, 0.0)) * math.exp(rng.gauss(0.0, noise))
                values = [value * math.exp(rng.gauss(0.0, noise)) for _run in range(6)]
                where = {"host": host, "peer": peer, "phase": phase, "number": number}
                yield factory.make_record(values, plan=settings, control=control, started=moment, **where)
                moment += timedelta(seconds=6)


def make_tunings(experiment: Mapping[str, Any], done: Iterable[Step] | None = None) -> Iterator[dict[str, Any]]:
    """Return the tunings files of these steps: each level has its own mask."""
    masks = {cell["name"]: "%08x" % (index + 1) for index, cell in enumerate(experiment["cells"])}
    for phase, number in steps(experiment) if done is None else done:
        for host in HOSTS:
            file = factory.make_tunings(host, phase, number, plan=factory.Plan(change=CHANGE))
            file["tunings"][0]["after"] = factory.knob({"rx-0": masks[phase]})
            yield file
