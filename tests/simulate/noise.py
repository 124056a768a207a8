# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Noise models for simulated experiments: logarithms of round medians, with nothing changed.

A model is called with a generator, the number of series (host and workload) and the number of rounds, and gives an
array of that shape. A round is the median of RUNS runs; models of single runs draw these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Logs = NDArray[np.float64]
Model = Callable[[np.random.Generator, int, int], Logs]

RUNS = 5
RUN_NOISE = 0.02


class Noise(NamedTuple):
    """What moves the rounds while nothing changes; ``drift``: how much the logarithm falls per run, in every series."""

    model: Model
    drift: float = 0.0

    def draw(self, rng: np.random.Generator, series: int, rounds: int, shared: float) -> Logs:
        """``series`` comparisons that have the share ``shared`` of the variance in common."""
        values = self.model(rng, series, rounds)
        if shared:
            values = math.sqrt(1.0 - shared) * values + math.sqrt(shared) * self.model(rng, 1, rounds)
        return values - self.drift * (RUNS + 1) * np.arange(rounds)  # a warm-up run comes first


def of_runs(draw: Callable[[np.random.Generator, tuple[int, int, int]], Logs]) -> Model:
    """Every run has noise of its own."""
    return lambda rng, series, rounds: np.sort(draw(rng, (series, rounds, RUNS)), axis=-1)[..., RUNS // 2]


runs_of_2_pct = of_runs(lambda rng, size: rng.normal(0.0, RUN_NOISE, size))


def beside(more: Model) -> Model:
    """A model on top of the noise of the runs."""
    return lambda rng, series, rounds: runs_of_2_pct(rng, series, rounds) + more(rng, series, rounds)


def per_round(sigma: float) -> Model:
    """Each round moves as a whole."""
    return beside(lambda rng, series, rounds: rng.normal(0.0, sigma, (series, rounds)))


def square(period: int, size: float = 0.05) -> Model:
    """Up and down by ``size``, each for half of ``period`` rounds, with a random begin."""

    def draw(rng: np.random.Generator, series: int, rounds: int) -> Logs:
        begin = rng.uniform(0.0, period)
        up = np.floor((np.arange(rounds) + begin) * 2.0 / period) % 2
        return np.broadcast_to(np.where(up, size, -size), (series, rounds))

    return beside(draw)


def autoregressive(factor: float, sigma: float = 0.02) -> Model:
    """Each round keeps ``factor`` of the deviation of the one before."""

    def draw(rng: np.random.Generator, series: int, rounds: int) -> Logs:
        shocks = rng.normal(0.0, sigma * math.sqrt(1.0 - factor**2), (series, rounds))
        values = np.empty((series, rounds))
        values[:, 0] = rng.normal(0.0, sigma, series)
        for place in range(1, rounds):
            values[:, place] = factor * values[:, place - 1] + shocks[:, place]
        return values

    return beside(draw)


def sometimes(share: float, size: float) -> Model:
    """A share of the rounds is slower by ``size``: two modes, or bursts."""
    return beside(lambda rng, series, rounds: np.where(rng.random((series, rounds)) < share, -size, 0.0))


def spikes(session: float, run: float, share: float) -> Model:
    """Noise of rounds and of runs, and a share of the runs that takes 1.5 to 3 times as long."""

    def draw(rng: np.random.Generator, size: tuple[int, int, int]) -> Logs:
        longer = np.where(rng.random(size) < share, np.log(rng.uniform(1.5, 3.0, size)), 0.0)
        return rng.normal(0.0, session, (*size[:2], 1)) + rng.normal(0.0, run, size) - longer

    return of_runs(draw)


def pareto(shape: float = 2.0, scale: float = 0.02) -> Model:
    """Runs with a heavy tail on the slow side."""
    return of_runs(lambda rng, size: -scale * rng.pareto(shape, size))


NOISES: dict[str, Noise] = {
    "runs 2 %": Noise(runs_of_2_pct),
    "runs lognormal, sigma 0.15": Noise(of_runs(lambda rng, size: rng.normal(0.0, 0.15, size))),
    "rounds 2 %": Noise(per_round(0.02)),
    "rounds 3 %": Noise(per_round(0.03)),
    "rounds 5 %": Noise(per_round(0.05)),
    "AR(1) 0.8": Noise(autoregressive(0.8)),
    "drift 0.05 % per run": Noise(runs_of_2_pct, 0.0005),
    "drift 0.2 % per run": Noise(runs_of_2_pct, 0.002),
    "drift 0.5 % per run": Noise(runs_of_2_pct, 0.005),
    "bimodal: 15 % in 15 % of the rounds": Noise(sometimes(0.15, 0.15)),
    "bimodal: 15 % in half of the rounds": Noise(sometimes(0.5, 0.15)),
    "bursts: 50 % in 5 % of the rounds": Noise(sometimes(0.05, 0.5)),
    "rounds 3 %, runs 3 %, spikes in 10 % of the runs": Noise(spikes(0.03, 0.03, 0.1)),
    "runs with a Pareto tail": Noise(pareto()),
    **{f"square wave of {period} rounds": Noise(square(period)) for period in range(2, 9)},
}
