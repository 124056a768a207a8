# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often the verdict is wrong: simulated experiments whose truth is known.

Six rounds of five runs a state after one warm-up run, in ABBA order; every round has its own session noise, every run
its own noise, a tenth of the runs are spikes, and the system may drift from run to run. Seeds are fixed.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics.ranks import mann_whitney, median
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics.verdict import judge
from records_factory import Plan, order, run_values

EXPERIMENTS = 1000
NOISY = Plan(session_noise=0.03, run_noise=0.03, spikes=0.1)
DRIFTING = Plan(session_noise=0.03, run_noise=0.03, spikes=0.1, drift=0.005)


def experiment(plan: Plan, rng: random.Random) -> str:
    """Measure once and judge."""
    samples: dict[str, list[float]] = {"before": [], "after": []}
    for slot, (phase, _number) in enumerate(order(plan.rounds, plan.design)):
        effect = plan.effect if phase == "after" else 0.0
        values = run_values(plan, rng, 50.0, effect, slot * (plan.warmup + plan.runs))
        samples[phase].append(median(values[plan.warmup :]))
    return judge(samples["before"], samples["after"])


def verdicts(plan: Plan, seed: int, **changes: object) -> Counter[str]:
    """The verdicts of EXPERIMENTS experiments."""
    plan = Plan(**{**plan.__dict__, **changes})  # type: ignore[arg-type]
    rng = random.Random(seed)
    return Counter(experiment(plan, rng) for _turn in range(EXPERIMENTS))


@pytest.mark.parametrize("plan", [NOISY, DRIFTING], ids=["noise and spikes", "noise, spikes and 0.5 % drift a run"])
@pytest.mark.parametrize("seed", [1, 2])
def test_without_a_change_at_most_two_percent_are_wrong(plan: Plan, seed: int) -> None:
    found = verdicts(plan, seed)
    assert found["IMPROVED"] + found["REGRESSED"] <= 0.02 * EXPERIMENTS
    assert set(found) <= {"IMPROVED", "REGRESSED", "UNCHANGED", "INCONCLUSIVE"}


@pytest.mark.parametrize("drift", [0.0, 0.0005], ids=["no drift", "0.05 % drift a run"])
def test_a_tenth_less_is_found(drift: float) -> None:
    found = verdicts(NOISY, 3, effect=-0.10, drift=drift)
    assert found["IMPROVED"] >= 0.90 * EXPERIMENTS
    assert found["REGRESSED"] == 0


def test_a_tenth_more_is_found() -> None:
    found = verdicts(NOISY, 4, effect=0.10)
    assert found["REGRESSED"] >= 0.90 * EXPERIMENTS
    assert found["IMPROVED"] == 0


def test_a_tenth_less_under_strong_drift_is_never_called_worse() -> None:
    found = verdicts(DRIFTING, 5, effect=-0.10)
    assert found["REGRESSED"] == 0
    assert found["UNCHANGED"] <= 0.02 * EXPERIMENTS


def test_a_quiet_system_measured_twice_is_unchanged() -> None:
    found = verdicts(Plan(session_noise=0.01, run_noise=0.01), 6)
    assert found["UNCHANGED"] >= 0.99 * EXPERIMENTS
    assert found["IMPROVED"] + found["REGRESSED"] == 0


def test_blocks_under_drift_would_lie() -> None:
    """Why the report calls blocks weaker evidence: the same drift, no change, and nearly every verdict wrong."""
    found = verdicts(DRIFTING, 7, design="blocks")
    assert found["IMPROVED"] + found["REGRESSED"] >= 0.50 * EXPERIMENTS


def test_pooled_runs_would_lie() -> None:
    """Why the unit of evidence is the round: 15 runs of one session a state, no change, more than half significant."""
    rng = random.Random(9)
    plan = Plan(session_noise=0.03, run_noise=0.03, warmup=0, runs=15)
    pairs = [[run_values(plan, rng, 50.0, 0.0, 0) for _state in range(2)] for _turn in range(EXPERIMENTS)]
    wrong = sum(mann_whitney(before, after)[1] < 0.05 for before, after in pairs)
    assert wrong >= 0.50 * EXPERIMENTS


def test_three_rounds_conclude_nothing() -> None:
    assert verdicts(NOISY, 8, rounds=3, effect=-0.5) == {"INCONCLUSIVE": EXPERIMENTS}
