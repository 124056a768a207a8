# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The published figures that are shown beside a site's own."""

from __future__ import annotations

import re

import published_studies as studies
import pytest
import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import compare_change
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.published import (
    BY_SET,
    BY_TUNING,
    SMC_R_AV2_MS,
    SMC_R_RUNS,
    published_for,
)


def words_in(item, field, *words):
    return all(word in item[field] for word in words)


def test_each_tuning_has_its_sources_and_another_change_has_none():
    found = published_for({"rps"}, {1000})
    assert [item["tuning"] for item in found] == ["rps"] * 3
    for item, source in zip(found, ("section 5.8", "section 5.11", "SAP CRM 7.0"), strict=True):
        assert words_in(item, "source", source)
    assert words_in(found[0], "figures", "4 to 6 %")
    assert published_for(set(), {1000}) == published_for({"kernel-update"}, {1000}) == []
    assert published_for(["rps", "cpu_polarization"], []) == published_for({"cpu_polarization", "rps"}, [])


def test_settings_of_the_profile_are_shown_with_gain_and_loss_or_say_that_they_have_no_figure():
    gain, loss, *_others, updates, memory = published_for({"sap_profile"}, {1000})
    assert words_in(gain, "source", "section 5.7") and words_in(loss, "source", "section 5.11")
    assert words_in(gain, "figures", "6 % less") and words_in(loss, "figures", "4 % more")
    assert words_in(gain, "text", "16 processors with SMT") and words_in(loss, "text", "128 processors without SMT")
    assert words_in(updates, "text", "dynp/luw_id_format") and words_in(updates, "figures", "no figure")
    assert words_in(memory, "text", "es/implementation") and words_in(memory, "figures", "alike")


@pytest.mark.parametrize(
    ("tuning", "index"),
    [(name, i) for name, items in BY_TUNING.items() for i, item in enumerate(items) if " s " in item[2]],
)
def test_printed_percentages_follow_from_the_printed_seconds(tuning, index):
    figures = BY_TUNING[tuning][index][2]
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


def test_smc_r_is_given_for_the_sizes_that_were_measured():
    *found, runs, locks, load = published_for({"smc_r"}, {1000, 10000, 77})
    assert [item["figures"].split(" ms")[0] for item in found] == ["0.080", "0.128"]
    assert all("POWER8" in item["text"] for item in found)
    # The report prints 16.25 % at 1000 and 29.69 % at 10,000 bytes.
    gains = [100 * (1 - SMC_R_AV2_MS[size][2] / SMC_R_AV2_MS[size][0]) for size in (1000, 10000)]
    assert gains == [pytest.approx(16.25, abs=0.01), pytest.approx(29.69, abs=0.01)]
    assert ["table 3" in runs["source"], "locks" in locks["source"], "SD-like" in load["source"]] == [True] * 3


@pytest.mark.parametrize("published", [item for item in SMC_R_RUNS if " s without" in item[2]])
def test_percentages_of_smc_r_follow_from_the_seconds(published):
    pairs = re.findall(r"(\d+) s without, (\d+) s with", published[2])
    gains = [round(100 * (1 - int(seconds) / int(before))) for before, seconds in pairs]
    printed = [int(text) for text in re.findall(r"\d+", published[2].partition(" %")[0])]
    assert [min(gains), max(gains)] == [min(printed), max(printed)]


def test_workloads_have_theirs_also_without_a_tuning_and_nothing_is_named_twice():
    locks, load = published_for((), (), {"enqueue"})
    assert locks["tuning"] == "enqueue" and words_in(locks, "source", "locks") and words_in(load, "source", "SD-like")
    others = published_for((), (), {"fio", "network", "guests", "niping", ""})
    assert [item["tuning"] for item in others] == ["fio", "guests", "network"]
    found = published_for({"smc_r"}, (), {"enqueue"})
    assert len(found) == len({(item["source"], item["text"]) for item in found}) == len(SMC_R_RUNS)


ALL = [item for items in (*BY_TUNING.values(), *BY_SET.values(), SMC_R_RUNS) for item in items]


def study_figures():
    """Every figure of the files in docs/published, as text."""
    known = set()
    for name in studies.NAMES:
        for record in studies.study(name):
            known |= {f"{value:g}" if value < 1e4 else str(value) for value in record["runs"][0]["metrics"].values()}
    return known


def test_every_figure_is_one_of_the_studies():
    known = study_figures()
    seen = 0
    for item in ALL:
        figures = re.sub(r"\b(\d+ to )?\d+ % (less|more)( \w+){0,2}|\b\d+ \w*bytes", "", item[2])
        for number in re.findall(r"\d[\d,]+\d", figures):
            seen += 1
            assert number.replace(",", "") in known, (number, item[2])
    assert seen > 50
    for size, values in SMC_R_AV2_MS.items():
        printed = {
            state["figures"]["av2_us"]
            for (_change, workload, _phase), state in studies.states("smc_r").items()
            if workload == f"niping-{size}B"
        }
        assert {round(1000 * value) for value in values} == printed


def test_percentages_of_sets_are_those_of_the_studies():
    known = {item[3]["figures"]["printed_gain_pct"] for item in studies.pairs("z14")}
    for name in ("network", "fio"):
        printed = {int(text) for text in re.findall(r"(\d+)(?= %| to \d+ %)", BY_SET[name][0][2])}
        assert printed and printed <= known
    load = BY_SET["enqueue"][1][2]
    pairs = re.findall(r"(\d+) % more[^:]*: ([\d,]+) without, ([\d,]+) with", load)
    assert len(pairs) == 2
    for percent, *values in pairs:
        before, after = (int(text.replace(",", "")) for text in values)
        assert round(100 * (after / before - 1)) == int(percent)


def test_a_report_shows_what_fits_its_workloads_and_the_settings_around_them():
    record = factory.make_record([50.0] * 6)
    assert compare_change(factory.load([record]))["published"] == []
    record["workload"]["set"] = "fio"
    record["context"] = {"guests": 4, "jobs": 128}
    found = compare_change(factory.load([record]))["published"]
    assert [item["tuning"] for item in found] == ["fio", "guests"]
