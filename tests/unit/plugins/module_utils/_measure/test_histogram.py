# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The distribution of round trips: bins, their text, and how texts add up."""

import random

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net import histogram
from hypothesis import given
from hypothesis import strategies as st


def lognormal(count, median_us, sigma, seed):
    chance = random.Random(seed)
    return [median_us * chance.lognormvariate(0.0, sigma) for _index in range(count)]


@pytest.mark.parametrize("to_us, samples", [(1e-3, [100500, 1000000]), (1e6, [100.5e-6, 1000e-6])])
def test_the_clock_s_unit_makes_no_difference(to_us, samples):
    numbers = list(histogram.bins([histogram.histogram(samples, to_us)]))
    assert numbers == [463, 694]
    assert [
        histogram.WIDTH**number <= value < histogram.WIDTH ** (number + 1)
        for number, value in zip(numbers, (100.5, 1000))
    ]


def test_the_text_names_only_the_first_bin_of_neighbours():
    text = histogram.histogram([1.0] + [1.015] * 5 + [1.025] * 12 + [60.6], 1.0)
    assert text == "0:1,5,12 412:1"
    assert histogram.bins([text]) == {0: 1, 1: 5, 2: 12, 412: 1}
    # round trips that no clock can tell, or that take days
    assert histogram.histogram([0.0, 0.2, 1.0, 1e13], 1.0) == "0:3 2450:1"


def test_parts_add_up_to_the_histogram_of_everything():
    samples = lognormal(5000, 60.0, 0.5, 2)
    parts = [histogram.histogram(samples[start::4], 1.0) for start in range(4)]
    assert histogram.merge(parts) == histogram.histogram(samples, 1.0)
    assert histogram.merge([]) is None


def test_two_modes_and_a_long_tail_fit_into_two_kilobytes():
    samples = lognormal(30000, 60.0, 0.15, 3) + lognormal(10000, 110.0, 0.1, 4)
    samples += [random.Random(5).uniform(200, 20000) for _index in range(60)]
    assert len(histogram.histogram(samples, 1.0)) < 2000


def test_which_texts_are_known():
    for text in ("5:1", "340:1,5,12 412:1", "0:3 2450:1", "1:1" + ",1" * 9998):
        assert histogram.FORMAT.fullmatch(text)
    others = ["", " ", "5", "5:", ":5", "5:1,", "5:1 ", " 5:1", "5:1  6:1", "5:-1", "5:1.5", "5:1\n", "5:\u0661"]
    for text in others + ["5:1_0", "12345:1", "5:" + "1" * 13, "1:1" + ",1" * 9999]:
        assert not histogram.FORMAT.fullmatch(text), text


@given(st.lists(st.floats(0.0, 1e15), min_size=1))
def test_nothing_is_lost_and_the_text_is_always_known(samples):
    text = histogram.histogram(samples, 1.0)
    assert histogram.FORMAT.fullmatch(text)
    assert sum(histogram.bins([text]).values()) == len(samples)
    assert histogram.merge([text]) == text
