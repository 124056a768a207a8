# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What single sections of the report say: the decision, the experiment, the context, CPU cost, the commands."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._pages import text
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import costs, view
from rendering import render
from report_samples import fleet, sample


def section(report: dict[str, Any], ident: str) -> str:
    """The words of one section, tags taken out; empty where the page does not have it."""
    found = re.search(rf'<section id="{ident}".*?</section>', render(report, "html"), re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", found[0])).split()) if found else ""


class TestDecision:
    @pytest.mark.parametrize(
        ("name", "decision"),
        [
            ("improved", "Keep the change."),
            ("regressed", "Do not keep the change as it is."),
            ("unchanged", "The change makes no material difference here."),
            ("incomparable", "Do not decide yet: the two states cannot be compared."),
        ],
    )
    def test_the_first_sentences_say_it(self, name: str, decision: str) -> None:
        page = render(sample(name), "html")
        assert f'<p class="decision">{decision}</p>' in page[: page.index("<dl")]
        assert f"**{decision}**" in "".join(render(sample(name), "md").split("\n")[:5])

    def test_what_is_undecided_shows_its_figures_below_the_headline(self) -> None:
        report = {**sample("improved"), "verdict": "INCONCLUSIVE"}
        row = report["pooled"][0]
        row.update(verdict="INCONCLUSIVE", cause="noise", reason="3.1 % better: neither beyond nor within it.")
        assert view.decision(report) == "Do not decide yet: do the next step first."
        assert f"{row['hosts']} hosts: {row['reason']}" in section(report, "overview")

    @pytest.mark.parametrize("lost", ["NOT COMPARABLE", "NO DATA"])
    @pytest.mark.parametrize("verdict", ["IMPROVED", "UNCHANGED"])
    def test_with_half_of_the_comparisons_lost_there_is_no_decision(self, verdict: str, lost: str) -> None:
        report = {**sample("improved"), "verdict": verdict}
        report["pooled"][0]["verdict"] = verdict
        judged = [item for item in report["comparisons"] if not item["control"]]
        for item in judged[:2]:
            item["verdict"] = lost
        assert "have no result" not in view.decision(report)
        judged[2]["verdict"] = lost
        assert view.decision(report) == "Do not decide yet: 3 of 6 comparisons have no result."
        assert "3 of 6 comparisons have no result" in render(report, "md")

    def test_nothing_but_a_plain_improvement_is_a_plain_yes(self) -> None:
        assert view.decision({**sample("improved"), "verdict": "SPLENDID"}).startswith("Do not decide yet")
        report = sample("improved")
        report["pooled"][0]["verdict"] = "INCONCLUSIVE"
        assert view.decision(report).startswith("Do not decide yet"), "the row that decides has to agree"
        report = sample("improved")
        report["protocol"]["design"] = "blocks"
        assert view.decision(report).endswith("the start times do not show that the states alternated.")
        report = sample("improved")
        report["pooled"][0]["warnings"] = True
        assert view.decision(report).startswith("Better, but with side effects")
        assert view.decision(sample("experiment")) == "", "it decides by itself"


class TestExperiment:
    def test_winner_progress_and_levels(self) -> None:
        report = sample("experiment")
        words = section(report, "experiment")
        for told in (
            "every-4 , kept on the hosts",
            "32 of 32 steps",
            "8 rounds of each of 4 levels in random order, seed",
            "rps_every = 4 rps_state = present",
            "\u25bc REGRESSED 2 regressed",
            "because 3 levels are compared at once",
        ):
            assert told in words
        for row in report["pooled"]:
            row["confidence_pct"] = 99.93
        assert section(report, "experiment").count("99.93 % interval") == 3
        report["experiment"]["levels"] = report["experiment"]["levels"][:2]
        assert "at once" not in section(report, "experiment")
        # a report of before and after has no such section
        assert section(sample("improved"), "experiment") == ""
        assert "The experiment" not in render(sample("improved"), "md")

    def test_one_that_ended_early_says_how_far_it_came_and_why(self) -> None:
        report = sample("unfinished")
        words = section(report, "experiment")
        assert "Winner none" in words
        assert "9 of 32 steps, not complete" in words
        assert "app2: the host could not be reached" in words
        told = render(report, "md")
        assert "9 of 32 steps" in told
        assert "ended early:\n\n- app2: the host could not be reached\n" in told
        assert "ended early" not in render(sample("experiment"), "md")

    def test_each_level_has_its_own_runs(self) -> None:
        report = sample("experiment")
        page = render(report, "html")
        charts = re.findall(r'<svg class="runs".*?</svg>', page, re.DOTALL)
        judged = [item for item in report["comparisons"] if not item["control"]]
        drawn = [chart for chart in charts if "control" not in chart]
        assert len(drawn) == len(judged) == 6
        assert all("96 runs in 16 rounds" in chart for chart in drawn)  # the baseline and one level, no other

    def test_a_level_has_the_verdict_of_its_pooled_row(self) -> None:
        report = sample("experiment")
        row = next(row for row in report["pooled"] if row["contrast"] == "every-2")
        row.update(verdict="IMPROVED", warnings=True, ratio=1.5, guards=["retransmits"])
        levels = {level["name"]: level for level in view.levels_of(report)}
        assert text.verdict_word(levels["every-2"]) == "IMPROVED, WITH WARNINGS"
        assert (levels["every-2"]["ratio"], levels["every-2"]["guards"]) == (1.5, ["retransmits"])
        assert text.verdict_word(levels["every-4"]) == "IMPROVED"
        (unknown,) = view.levels_of({"experiment": {"levels": [{"name": "x"}]}, "pooled": report["pooled"]})
        assert text.verdict_word(unknown) == "NO DATA"
        # the warnings of the experiment are those of the winner
        assert report["experiment"]["winner"] == "every-4" and text.verdict_word(report) == "IMPROVED"
        next(row for row in report["pooled"] if row["contrast"] == "every-4")["warnings"] = True
        assert text.verdict_word(report) == "IMPROVED, WITH WARNINGS"


class TestExtent:
    def test_what_all_comparisons_share_is_said_once(self) -> None:
        report = sample("improved")
        words = section(report, "pairs")
        assert words.count("6 rounds, 30 runs per state") == 2  # once per pair of hosts
        assert view.common_extent(report["comparisons"]) == "6 rounds, 30 runs per state"

    @pytest.mark.parametrize("difference", [{"rounds": 5, "runs": 25}, {"failed_runs": 1}])
    def test_a_difference_is_shown_in_each_row(self, difference: dict[str, int]) -> None:
        report = sample("improved")
        report["comparisons"][0]["after"].update(difference)
        assert view.common_extent(report["comparisons"]) == ""
        words = section(report, "pairs")
        assert words.count("6 rounds, 30 runs per state") == 1
        assert "1 failed" in words if "failed_runs" in difference else "5 rounds, 25 runs" in words
        assert words.count("6 rounds, 30 runs") >= 5


class TestContext:
    def test_what_differs_what_is_the_same_and_what_was_declared(self) -> None:
        words = section(sample("incomparable"), "context")
        assert "Declared beforehand as allowed to differ: kernel." in words
        assert "packet_size before: 1000 after: 2000 \u2260 differs" in words
        assert "parallel_jobs 32 = the same" in words
        assert "figures source sap_job_log, jobs.csv, transaction SM37" in words
        assert "client.kernel 6.4.0-150600 6.4.0-150600.23 \u2260 declared" in section(
            sample("incomparable"), "comparability"
        )

    def test_what_one_state_alone_knows_is_not_the_same(self) -> None:
        report = sample("improved")
        assert section(report, "context") == ""
        report["context"] = [{"kind": "context", "name": "jobs", "values": {"after": ["32"]}}]
        assert "jobs after: 32 \u2260 known only for after" in section(report, "context")


class TestCost:
    def test_every_end_with_figures_has_both_marks(self) -> None:
        found = [cost for item in sample("regressed")["comparisons"] for cost in costs.costs_of(item)]
        found[0].entry["after"] = None
        axis = costs.make_axis(found)
        drawn = [costs.draw(cost, axis) for cost in found]
        assert drawn[0] == ""
        assert all(re.findall(r'class="run (\w+)"', one) == ["change", "before", "after"] for one in drawn[1:])

    def test_the_text_for_a_ticket_has_the_figures_of_the_page(self) -> None:
        report = sample("regressed")
        rows = [
            line for line in render(report, "md").splitlines() if re.match(r"\| app\d .* \| (client|server) \|", line)
        ]
        assert len(rows) == 4
        words = section(report, "cpu")
        for cell in [cell.strip() for row in rows for cell in re.split(r" \| |(?= \(weak)", row.strip("|"))]:
            assert cell in words

    def test_the_reason_why_there_is_no_itr_and_the_name_of_the_unit_are_said(self) -> None:
        report = sample("improved")
        kpi = report["comparisons"][0]["kpi"]["client"]["before"]
        kpi.update(itr_per_h=None, itr_reason="utilization 2.1 % is under 5 %")
        for item in report["comparisons"]:
            item["unit_of_work"] = "lock"
        words = section(report, "cpu")
        assert "No ITR: utilization 2.1 % is under 5 %." in words
        kpi.update(itr_per_h=5.85, itr_weak="the utilization was down to 12.3 %")
        words = section(report, "cpu")
        assert "5.85 (weak)" in words and "Weak ITR: the utilization was down to 12.3 %" in words
        assert "5.85 (weak)" in render(report, "md")
        assert "CPU time per unit of work (lock)" in words


class TestCommands:
    def test_they_stand_apart_and_can_be_copied(self) -> None:
        page, ticket = (render(sample("improved"), form) for form in ("html", "md"))
        command = "ansible-playbook -i inventory zpower.sap_tuning.verify"
        assert f'<code class="command">{command}</code></li>' in page
        assert f"stays: `{command}`.\n" in ticket

    @pytest.mark.parametrize("step", ["odd ` one", "a `<script>` b", "`|`"])
    def test_their_content_stays_text(self, step: str) -> None:
        report = {**sample("improved"), "next_steps": [step]}
        assert "<script>" not in render(report, "html")
        assert "<script>" not in re.sub(r"`[^`]*`", "", render(report, "md"))

    def test_parts(self) -> None:
        assert text.with_code("a `b` c") == [(False, "a "), (True, "b"), (False, " c")]
        assert text.with_code("a ` b") == [(False, "a ` b")]


def test_a_fleet_can_be_filtered_by_what_occurs_in_it() -> None:
    page = render(fleet(100), "html")
    assert re.findall(r'<p class="filter" id="only-(\w+)">', page) == ["regressed", "improved"]
    assert 'href="#only-unchanged"' not in page
    assert page.count('<tr class="v-regressed">') == 5
    assert '<a href="#cap-all-1">' in page and 'id="cap-all-1"' in page
    assert 'class="filter"' not in render(sample("improved"), "html")
