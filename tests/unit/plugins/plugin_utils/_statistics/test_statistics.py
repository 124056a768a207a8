# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The statistics against scipy and against brute force."""

from __future__ import annotations

import importlib
import itertools
import math
import random
import statistics

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics import gates, looks, planning, series
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics import ranks as stats

TINY = 1e-12


@pytest.fixture
def oracle():
    """scipy.stats, which only `make gate` installs."""
    return importlib.import_module("scipy.stats")


SIZES = [(3, 3), (4, 6), (5, 5), (6, 6), (6, 4), (8, 7)]


def interval(before, after, level=0.95):
    return stats.Ratios(before, after).interval(level)


def sample(rng, n, digits=None, centre=50.0):
    values = [centre * math.exp(rng.gauss(0, 0.05)) for _turn in range(n)]
    return values if digits is None else [round(value, digits) for value in values]


def midranks(values):
    return [
        sum(other < value for other in values) + (sum(other == value for other in values) + 1) / 2 for value in values
    ]


def permutation_p(before, after):
    """Every split of all values into two groups, ranked separately."""
    together = list(before) + list(after)
    ranks = midranks(together)
    seen = sum(ranks[len(before) :])
    sums = [sum(chosen) for chosen in itertools.combinations(ranks, len(after))]
    lower = sum(total <= seen + 1e-9 for total in sums) / len(sums)
    upper = sum(total >= seen - 1e-9 for total in sums) / len(sums)
    return min(1.0, 2 * min(lower, upper))


@pytest.mark.gate
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_mann_whitney_is_scipys_exact_one_without_ties(oracle, n, m):
    rng = random.Random(n * 100 + m)
    for _turn in range(30):
        before, after = sample(rng, n), sample(rng, m, centre=rng.choice([45.0, 50.0, 53.0]))
        u, p = stats.mann_whitney(before, after)
        wanted = oracle.mannwhitneyu(after, before, method="exact", alternative="two-sided")
        assert u == wanted.statistic
        assert p == pytest.approx(wanted.pvalue, abs=TINY)


@pytest.mark.parametrize(("n", "m"), [(3, 3), (4, 6), (5, 5), (6, 6), (6, 4)])
def test_mann_whitney_with_ties_is_the_exhaustive_permutation(n, m):
    rng = random.Random(n * 10 + m)
    for _turn in range(8):
        before = [float(rng.randint(74, 78)) for _turn in range(n)]
        after = [float(rng.randint(73, 77)) for _turn in range(m)]
        _u, p = stats.mann_whitney(before, after)
        assert p == pytest.approx(permutation_p(before, after), abs=TINY)


@pytest.mark.gate
def test_mann_whitney_of_large_samples_is_scipys_approximation(oracle):
    rng = random.Random(5)
    for digits in (None, 0):
        before, after = sample(rng, 25, digits), sample(rng, 30, digits, centre=51.0)
        _u, p = stats.mann_whitney(before, after)
        wanted = oracle.mannwhitneyu(after, before, method="asymptotic", use_continuity=True)
        assert p == pytest.approx(wanted.pvalue, abs=TINY)


def test_smallest_p_values_that_few_rounds_can_reach():
    assert stats.mann_whitney([1, 2, 3], [4, 5, 6])[1] == pytest.approx(0.1)
    assert stats.mann_whitney([1, 2, 3, 4], [5, 6, 7, 8])[1] == pytest.approx(2 / 70)
    assert stats.mann_whitney([7.0] * 6, [7.0] * 6) == (18.0, 1.0)


@pytest.mark.parametrize("digits", [None, 0])
def test_hodges_lehmann_is_the_median_of_all_ratios(digits):
    rng = random.Random(3)
    for n, m in SIZES:
        before, after = sample(rng, n, digits), sample(rng, m, digits)
        brute = math.exp(statistics.median(math.log(new) - math.log(old) for new in after for old in before))
        assert stats.hodges_lehmann_ratio(before, after) == pytest.approx(brute, abs=TINY)


def brute_interval(before, after, alpha):
    """Test every difference of logarithms and every space between two by exhaustive permutation; the outer hull."""
    logs = [round(math.log(value), 11) for value in before], [round(math.log(value), 11) for value in after]
    points = sorted({round(new - old, 10) for new in logs[1] for old in logs[0]})
    spaces = [points[0] - 1, *((a + b) / 2 for a, b in itertools.pairwise(points)), points[-1] + 1]

    def kept(shift):
        moved = [round(new - shift, 10) for new in logs[1]]
        return permutation_p([round(old, 10) for old in logs[0]], moved) > alpha

    edges = []
    for place, space in enumerate(spaces):
        if kept(space):
            edges += [points[place - 1] if place else -math.inf, points[place] if place < len(points) else math.inf]
    edges += [point for point in points if kept(point)]
    return math.exp(min(edges)), math.exp(max(edges)) if max(edges) < math.inf else math.inf


@pytest.mark.parametrize(
    ("n", "m", "digits"), [(3, 3, None), (4, 4, None), (5, 4, None), (5, 5, 0), (4, 6, 0), (3, 4, 0)]
)
def test_interval_is_the_inverted_test(n, m, digits):
    rng = random.Random(n + 10 * m)
    for _turn in range(6):
        before, after = sample(rng, n, digits), sample(rng, m, digits, centre=47.0)
        low, high = interval(before, after)
        wanted = brute_interval(before, after, 0.05)
        assert (low, high) == (pytest.approx(wanted[0], abs=1e-9), pytest.approx(wanted[1], abs=1e-9))


def test_interval_of_six_and_six_ends_at_the_sixth_ratio():
    rng = random.Random(2)
    before, after = sample(rng, 6), sample(rng, 6)
    ratios = sorted(new / old for new in after for old in before)
    assert interval(before, after) == (pytest.approx(ratios[5], abs=TINY), pytest.approx(ratios[-6], abs=TINY))
    # without ends, and of constants
    assert interval([1.0, 2.0, 3.0], [1.5, 2.5, 3.5]) == (0.0, math.inf)
    assert interval([50.0] * 6, [50.0] * 6) == (1.0, 1.0)
    assert interval([50.0] * 6, [55.0] * 6) == (pytest.approx(1.1), pytest.approx(1.1))


def test_interval_of_large_samples_is_near_the_exact_one(monkeypatch):
    rng = random.Random(4)
    before, after = sample(rng, 15), sample(rng, 15)
    exact = interval(before, after)
    monkeypatch.setattr(stats, "EXACT_MOST", 4)
    stats._critical.cache_clear()
    near = interval(before, after)
    stats._critical.cache_clear()
    assert near == pytest.approx(exact, rel=0.01)


def test_order_and_scale_do_not_matter():
    rng = random.Random(6)
    before, after = sample(rng, 6), sample(rng, 6)
    shuffled = rng.sample(before, 6), rng.sample(after, 6)
    for function in (stats.hodges_lehmann_ratio, interval, stats.mann_whitney):
        assert function(before, after) == function(*shuffled)
    low, high = interval(before, after)
    assert interval(after, before) == (pytest.approx(1 / high), pytest.approx(1 / low))
    assert interval([8 * value for value in before], [8 * value for value in after]) == pytest.approx((low, high))


def test_holm_is_the_step_down_procedure_and_variation_a_share_of_the_mean():
    assert stats.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert stats.holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert stats.holm([]) == []
    assert stats.variation_pct([9.0, 11.0]) == pytest.approx(100 * math.sqrt(2) / 10)
    assert stats.variation_pct([9.0]) is None
    assert stats.variation_pct([0.0, 0.0]) is None


def test_errors_name_what_is_wrong():
    with pytest.raises(ValueError, match="at least one value of each state"):
        stats.mann_whitney([], [1.0])
    with pytest.raises(ValueError, match="positive"):
        stats.hodges_lehmann_ratio([0.0], [1.0])
    with pytest.raises(ValueError, match="between 0 and 1"):
        interval([1.0], [1.0], level=95)
    with pytest.raises(ValueError, match="median"):
        stats.median([])


def test_two_clusters_are_seen_and_one_with_spikes_is_not():
    rng = random.Random(1)
    slow, fast = sample(rng, 14, centre=50.0), [0.7 * value for value in sample(rng, 16, centre=50.0)]
    low, high = stats.two_clusters(slow + fast)
    assert (low, high) == (pytest.approx(35, rel=0.05), pytest.approx(50, rel=0.05))
    assert stats.two_clusters(sample(rng, 30)) is None
    assert stats.two_clusters([*sample(rng, 27), 120.0, 121.0, 122.0]) is None
    assert stats.two_clusters([5.0] * 30) is None


@pytest.mark.parametrize("most", [1, 40])
@pytest.mark.parametrize(("n", "m"), [(20, 21), (7, 60), (33, 40)])
def test_many_differences_are_searched_with_the_result_of_sorting_them(monkeypatch, most, n, m):
    rng = random.Random(n * m)
    for digits in (None, None, 0, 1):
        before, after = sample(rng, n, digits), sample(rng, m, digits, centre=48.0)
        wanted = stats.hodges_lehmann_ratio(before, after), interval(before, after), interval(before, after, 0.99)
        with monkeypatch.context() as patch:
            patch.setattr(stats, "MOST_SORTED", most)
            searched = stats.Ratios(before, after)
            assert (searched.middle(), searched.interval(0.95), searched.interval(0.99)) == wanted


def test_slope_is_the_median_over_all_pairs_of_the_same_state():
    rng = random.Random(14)
    for rounds in (1, 2, 6, 8, 12, 16):
        for digits in (2, 12):
            readings = [(state, round(rng.gauss(0.0, 0.03), digits)) for state in looks.order("site", rounds)]
            slopes = [
                (later - earlier) / (end - begin)
                for (begin, (state, earlier)), (end, (other, later)) in itertools.combinations(enumerate(readings), 2)
                if state == other
            ]
            assert series.slope(readings) == (statistics.median(slopes) if slopes else 0.0)


@pytest.mark.gate
@pytest.mark.parametrize("count", [6, 7, 9])
def test_few_hosts_have_an_interval_of_t_at_a_share_of_the_level(oracle, count):
    rng = random.Random(count)
    ratios = [math.exp(rng.gauss(0.05, 0.03)) for _turn in range(count)]
    logs = [math.log(ratio) for ratio in ratios]
    error = statistics.stdev(logs) / math.sqrt(count)
    for look in (looks.LOOKS[0], looks.LOOKS[4]):
        found = gates.over_hosts(ratios, look)
        for ends, alpha in (
            ((found.low, found.high), 0.85 * look.change),
            ((found.inner_low, found.inner_high), 2 * look.same),
        ):
            wanted = oracle.t.interval(1 - alpha, count - 1, statistics.fmean(logs), error)
            assert [math.log(end) for end in ends] == pytest.approx(wanted, abs=0.005 * error * 6)


@pytest.mark.gate
@pytest.mark.parametrize("count", [10, 12, 20])
def test_many_hosts_have_the_interval_that_inverts_the_signed_rank_test(oracle, count):
    rng = random.Random(count)
    ratios = [math.exp(rng.gauss(0.05, 0.03)) for _turn in range(count)]
    logs = [math.log(ratio) for ratio in ratios]
    look = looks.LOOKS[0]
    found = gates.over_hosts(ratios, look)
    for end, outward in ((found.low, -1), (found.high, 1)):
        beyond, within = (
            oracle.wilcoxon([log - math.log(end) - step * 1e-9 for log in logs], method="exact").pvalue
            for step in (outward, -outward)
        )
        assert beyond <= look.change < within
    means = [(one + other) / 2 for place, one in enumerate(logs) for other in logs[place:]]
    assert math.log(found.ratio) == pytest.approx(statistics.median(means))


def test_hosts_that_share_their_level_with_other_levels_need_more_of_them():
    ratios = [1.1 + 0.001 * place for place in range(10)]
    assert gates.over_hosts(ratios, looks.LOOKS[0]).low > 1.0
    found = gates.over_hosts(ratios, looks.LOOKS[0].shared_by(2))
    assert (found.low, found.high) == (0.0, math.inf)
    assert gates.over_hosts(ratios[:5], looks.LOOKS[0]) is None
    # only the outer interval of fewer hosts has a share of its level
    found = gates.over_hosts(ratios[:6], looks.LOOKS[0])
    widths = math.log(found.high / found.low), math.log(found.inner_high / found.inner_low)
    wanted = planning.student(1 - 0.85 * 0.0022 / 2, 5) / planning.student(1 - 0.010, 5)
    assert (found.confidence, widths[0] / widths[1]) == (pytest.approx(0.9978), pytest.approx(wanted))


@pytest.mark.parametrize(("hits", "of"), [((0, 6), (6, 6)), ((1, 4), (6, 6)), ((3, 0), (5, 9)), ((2, 9), (30, 16))])
def test_more_hits_after_are_fishers_one_sided_test(hits, of):
    """As many hits in all, or more of them after: the share of all ways to draw them."""
    ways = [math.comb(of[1], after) * math.comb(of[0], sum(hits) - after) for after in range(sum(hits) + 1)]
    assert gates.more_after(hits, of) == pytest.approx(sum(ways[hits[1] :]) / sum(ways))


def test_a_harmed_host_is_far_below_the_others_by_their_own_spread():
    logs = {f"app{place}": 0.1 + 0.01 * math.sin(7.0 * place) for place in range(24)}
    middle = statistics.median(logs.values())
    deviation = 1.4826 * statistics.median([abs(log - middle) for log in logs.values()])
    far = 1 + statistics.NormalDist().inv_cdf(1 - 0.01 / 24)
    assert far == pytest.approx(4.34, abs=0.005)
    for offset, named in ((0.001, ["app7"]), (-0.001, [])):
        ratios = {name: math.exp(log) for name, log in logs.items()}
        # one value among 24 hardly moves the median, and not at all if it was below it before
        assert logs["app7"] < middle
        ratios["app7"] = math.exp(middle - (far + offset) * deviation)
        assert gates.harmed(ratios, ["app7"], 0.05) == named
        assert gates.harmed(ratios, [], 0.05) == []
    assert gates.harmed({f"app{place}": 0.8 for place in range(10)}, ["app3"], 0.05) == []
    # of few hosts one has to be worse than the others by more than the limit, in whatever they lose together
    assert gates.harmed({"a": 0.9, "b": 1.1}, ["a"], 0.05) == gates.harmed({"a": 0.9}, ["a"], 0.05) == ["a"]
    assert gates.harmed({"a": 0.94, "b": 0.97, "c": 0.98}, ["a"], 0.05) == []


def test_a_stalled_round_is_far_below_the_others_and_over_twice_as_long():
    quiet = [0.01 * math.sin(5.0 * place) for place in range(16)]
    assert gates.stalled(quiet) == [False] * 16
    for below, stalls in ((0.60, False), (0.75, True)):
        assert gates.stalled([*quiet[:15], -below]) == [False] * 15 + [stalls]
    wide = [0.4 * (-1) ** place for place in range(15)]
    deviation = 1.4826 * 0.4
    assert gates.stalled([*wide, 0.4 - 5 * deviation + 0.01])[-1] is False
    assert gates.stalled([*wide, -0.41 - 5 * deviation - 0.4])[-1] is True


def van_elteren(strata, shift):
    """z of the stratified rank test, with ``after`` shifted down."""
    score = variance = 0.0
    for before, after in strata:
        n, m = len(before), len(after)
        u = sum((new - shift > old) - (new - shift < old) for new in after for old in before) / 2
        score += u / (n + m + 1)
        variance += n * m / 12 / (n + m + 1)
    return score / math.sqrt(variance)


def test_starts_of_several_hosts_have_the_interval_that_inverts_van_elterens_test():
    rng = random.Random(3)
    strata = [
        ([rng.gauss(level, 0.03) for _start in range(n)], [rng.gauss(level + 0.1, 0.03) for _start in range(m)])
        for level, n, m in ((0.0, 10, 5), (2.3, 5, 10), (0.4, 6, 6))
    ]
    found = gates.stratified(
        [tuple([*map(math.exp, side)] for side in both) for both in strata], gates.starts_look(False, 1)
    )
    z = statistics.NormalDist().inv_cdf(1 - 0.03 / 2)
    for end, sign in ((found.low, 1), (found.high, -1)):
        outside, inside = (sign * van_elteren(strata, math.log(end) - sign * step) for step in (1e-9, -1e-9))
        assert outside >= z > inside
    assert abs(van_elteren(strata, math.log(found.ratio))) < 0.05
    assert found.low < math.exp(0.1) < found.high
    assert (found.inner_low, found.inner_high) == (found.low, found.high)
