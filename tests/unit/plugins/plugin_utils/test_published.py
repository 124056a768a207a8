# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The published figures that are shown beside a site's own."""

from __future__ import annotations

import re

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._published import (
    BY_TUNING,
    SMC_R_AV2_MS,
    SMC_R_RUNS,
    published_for,
)


def test_rps_has_three_sources_of_two_studies():
    found = published_for({"rps"}, {1000})
    assert [item["tuning"] for item in found] == ["rps"] * 3
    assert ["section 5.8" in found[0]["source"], "section 5.11" in found[1]["source"]] == [True, True]
    assert "SAP CRM 7.0" in found[2]["source"]
    assert "4 to 6 %" in found[0]["figures"]


@pytest.mark.parametrize(
    ("tuning", "index"), [(name, i) for name, items in BY_TUNING.items() for i in range(len(items))]
)
def test_printed_percentages_follow_from_the_printed_seconds(tuning, index):
    figures = BY_TUNING[tuning][index].figures
    first, *others = [int(text) for text in re.findall(r"(\d{4,5}) s", figures)]
    sign = -1 if "more elapsed time" in figures else 1
    gains = [sign * 100 * (1 - other / first) for other in others]
    wanted = [int(text) for text in re.findall(r"(\d+)(?: %| to)", figures)]
    if "under" in figures:
        assert max(gains) < wanted[0]
    elif "no change" in figures:
        assert max(gains) < 0.5
    else:
        assert min(wanted) - 0.5 <= min(gains) <= max(gains) <= max(wanted) + 0.5


def test_realtime_scheduling_is_shown_with_its_gain_and_its_loss():
    gain, loss = published_for({"sap_profile"}, {1000})
    assert ["section 5.7" in gain["source"], "section 5.11" in loss["source"]] == [True, True]
    assert ["6 % less" in gain["figures"], "4 % more" in loss["figures"]] == [True, True]
    assert ["16 processors with SMT" in gain["text"], "128 processors without SMT" in loss["text"]] == [True, True]


def test_smc_r_is_given_for_the_sizes_that_were_measured():
    *found, runs, locks = published_for({"smc_r"}, {1000, 10000, 77})
    assert [item["figures"].split(" ms")[0] for item in found] == ["0.080", "0.128"]
    assert all("POWER8" in item["text"] for item in found)
    # The report prints 16.25 % at 1000 and 29.69 % at 10,000 bytes.
    gains = [100 * (1 - SMC_R_AV2_MS[size][2] / SMC_R_AV2_MS[size][0]) for size in (1000, 10000)]
    assert gains == [pytest.approx(16.25, abs=0.01), pytest.approx(29.69, abs=0.01)]
    assert ["table 3" in runs["source"], "locks" in locks["source"]] == [True, True]


@pytest.mark.parametrize("published", SMC_R_RUNS)
def test_percentages_of_smc_r_follow_from_the_seconds(published):
    pairs = re.findall(r"(\d+) s without, (\d+) s with", published.figures)
    gains = [round(100 * (1 - int(seconds) / int(before))) for before, seconds in pairs]
    printed = [int(text) for text in re.findall(r"\d+", published.figures.partition(" %")[0])]
    assert [min(gains), max(gains)] == [min(printed), max(printed)]


def test_other_changes_have_none():
    assert published_for(set(), {1000}) == []
    assert published_for({"kernel-update"}, {1000}) == []


def test_order_is_fixed():
    assert published_for(["rps", "cpu_polarization"], []) == published_for({"cpu_polarization", "rps"}, [])
