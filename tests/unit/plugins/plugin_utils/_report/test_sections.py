# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What sections of the report say, in words: decision, pooled rows, experiment, context, CPU cost, commands."""

from __future__ import annotations

import html
import math
import re
from typing import Any

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._pages import text
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import costs, pooled, view
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


ROW: dict[str, Any] = {
    "contrast": "",
    "scope": "site",
    "host": None,
    "hosts": 1,
    "workloads": 7,
    "unit": "rounds",
    "rounds": 8,
    "ratio": 1.031,
    "low": 1.012,
    "high": 1.05,
    "confidence_pct": 99.78,
    "verdict": "IMPROVED",
    "deviations": [],
    "more_rounds": None,
}


@pytest.mark.parametrize(
    ("changes", "title", "label"),
    [
        ({}, "All workloads of this host", "all workloads"),
        ({"workloads": 1}, "The workload of this host", "all workloads"),
        ({"hosts": 1000}, "All workloads of 1,000 hosts", "all 1,000 hosts"),
        ({"scope": "host", "host": "app1"}, "All workloads of app1", "app1"),
        ({"contrast": "every-4", "hosts": 3}, "every-4: all workloads of 3 hosts", "every-4"),
        ({"contrast": "off", "scope": "host", "host": "app1"}, "off: all workloads of app1", "off, app1"),
        ({"hosts": 0, "workloads": 0}, "All workloads", "all 0 hosts"),
    ],
)
def test_a_row_names_its_scope(changes: dict[str, Any], title: str, label: str) -> None:
    assert (pooled.title({**ROW, **changes}), pooled.label({**ROW, **changes})) == (title, label)


def test_a_row_says_what_it_contains_and_how_certain_it_is() -> None:
    for changes, words in (
        ({}, "7 workloads, 8 rounds per state"),
        ({"hosts": 3, "unit": "hosts"}, "7 workloads, 3 hosts, 8 rounds per state"),
        ({"workloads": 1, "unit": "starts", "rounds": 1}, "1 workload, 1 start per state"),
    ):
        assert pooled.extent({**ROW, **changes}) == words
    # never rounded to certainty
    levels = {99.78: "99.8 % interval", 95.0: "95 % interval", 99.96: "99.96 % interval", None: "interval"}
    assert {level: pooled.level({**ROW, "confidence_pct": level}) for level in levels} == levels
    figures = {1.105: "10.5 % better", 0.905: "9.5 % worse", 1.0004: "no different", None: text.DASH}
    assert {ratio: text.better_by(ratio) for ratio in figures} == figures


def test_deviations_are_one_sentence() -> None:
    one = {"kind": "workload", "name": "app1 \u2192 app2, 1000B", "ratio": 1.1, "p": 0.001}
    other = {"kind": "host", "name": "app3", "ratio": 0.9, "p": 0.001}
    assert pooled.deviations(ROW) == ""
    differs = "app1 \u2192 app2, 1000B differs: 10.0 % better than the others."
    assert pooled.deviations({**ROW, "deviations": [one]}) == differs
    unchanged = {**ROW, "verdict": "UNCHANGED", "deviations": [one]}
    assert pooled.deviations(unchanged) == f"No change on the whole, but {differs}"
    assert pooled.deviations({**ROW, "deviations": [one, other]}) == (
        "2 parts differ from the others: app1 \u2192 app2, 1000B (10.0 % better), app3 (10.0 % worse)."
    )
    assert pooled.deviations({**ROW, "deviations": [other] * 12}).endswith(" and 4 more.")


def test_the_rounds_to_add_are_said_once_in_the_next_steps() -> None:
    report = sample("mixed")
    report["pooled"][0]["more_rounds"] = 4
    for row in report["pooled"][1:]:
        row["more_rounds"] = 77
    for item in report["comparisons"]:
        item["rounds_needed"] = 8899
    for form in ("html", "md"):
        said = render(report, form)
        assert said.count("more round") == 1 and "measure 2 more rounds of each state" in said
        assert "77 more" not in said and "8899" not in said


def test_the_control_of_a_host_is_said() -> None:
    row = {**ROW, "control_ratio": 1.002, "control_low": None, "control_high": 1.014}
    assert pooled.control(row) == "The control: +0.2 % (99 % interval open to +1.4 %)."
    assert pooled.control({**ROW, "control_ratio": None}) == ""


def test_hosts_come_worst_first_and_only_a_fleet_counts_them() -> None:
    report = fleet(300)
    rows = pooled.shown(report)
    assert len(rows) == 21 and rows[0]["scope"] == "site"
    assert [row["verdict"] for row in rows[1:5]] == ["REGRESSED"] * 3 + ["IMPROVED"]
    assert pooled.host_counts(pooled.of_hosts(report)).startswith(
        "300 rows of single hosts: 3 regressed, 297 improved."
    )
    assert pooled.host_counts(pooled.of_hosts(sample("improved"))) == ""


def test_the_word_of_a_report_has_the_warnings_of_the_row_that_decides() -> None:
    report = sample("improved")
    report["warnings"] = ["a list of the report"]
    report["comparisons"][0]["warnings"] = report["pooled"][1]["warnings"] = True
    assert text.verdict_word(report) == "IMPROVED"
    report["pooled"][0]["warnings"] = True
    assert text.verdict_word(report) == "IMPROVED, WITH WARNINGS"
    assert render(report, "md").startswith("# \u25b2 IMPROVED, WITH WARNINGS")


def test_number() -> None:
    unknown: list[object] = [None, math.nan, True, "51"]
    assert [text.number(value) for value in unknown] == ["–"] * 4
    shown = {0: "0", 51.234: "51.23", 0.01234: "0.0123", 123.456: "123.5", 38461.5: "38,462", 7.0e7: "70.00 M"}
    shown |= {0.0: "0", 1.21e9: "1,210.0 M", -5.5: "−5.50", 1234: "1,234"}
    assert {value: text.number(value) for value in shown} == shown


def test_gain() -> None:
    shown = {1.043: "+4.3 %", 0.98: "−2.0 %", 1.0001: "0.0 %", None: "–", math.inf: "–"}
    assert {ratio: text.gain(ratio) for ratio in shown} == shown


def test_one_line_has_single_blanks() -> None:
    assert text.one_line(" a\n\n b\t c  d ") == "a b c d"


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("µs → ok", "µs → ok"),
        ("a\x1b[31mb\x00\x7f\x85", "a[31mb"),
        ("\u202e\u2066\u200b\ufeff\u00ad", "[U+202E][U+2066][U+200B][U+FEFF][U+00AD]"),
        ("\u2028", "[U+2028]"),
        ("a\u3164\ufe0f\U000e0101\u2800", "a[U+3164][U+FE0F][U+E0101][U+2800]"),
        ("\ud800\ufffe\U0001fffe", "\ufffd" * 3),
        ("a\nb\tc\u00a0d", "a\nb\tc\u00a0d"),
        (7, "7"),
    ],
)
def test_clean(raw: object, cleaned: str) -> None:
    assert text.clean(raw) == cleaned


def test_opaque_shows_any_json_in_a_fixed_order() -> None:
    assert text.opaque({"rx-10": "f", "rx-2": None, "on": True, "list": [1, {"a": 2}]}) == [
        "list = 1, a = 2",
        "on = yes",
        "rx-2 = –",
        "rx-10 = f",
    ]
    assert text.opaque(None) == text.opaque({}) == ["–"]


def test_a_conflict_is_a_sentence() -> None:
    conflict = {"what": "a rule", "file": "/etc/x", "line": 3, "wins": "yes"}
    assert text.conflict_words(conflict) == "a rule (/etc/x, line 3), wins: yes"
    assert text.conflict_words(dict(conflict, effect="hides CPUs")) == "a rule (/etc/x, line 3): hides CPUs"
    assert text.conflict_words({"what": "a rule"}) == "a rule"
    assert text.conflict_words({"file": "/etc/x"}) == "file = /etc/x"


def test_names_are_sorted_as_people_count() -> None:
    names = ["app10", "app2", "app1", "app02", "x" + "9" * 5000, "²"]
    assert sorted(names, key=text.natural)[:4] == ["app1", "app02", "app2", "app10"]


def test_moments_and_probabilities() -> None:
    assert text.moment("2026-11-20T10:00:00.123456Z") == "2026-11-20 10:00:00 UTC"
    assert text.moment("yesterday") == "yesterday"
    assert text.moment(None) == "–"
    assert [text.probability(p) for p in (0.0042, 0.0001, None)] == ["0.004", "< 0.001", "–"]


def test_an_unknown_verdict_is_not_a_success() -> None:
    assert text.verdict_of({"verdict": "SPLENDID"}).word == "NO DATA"
    assert text.verdict_word({"verdict": "REGRESSED", "warnings": True}) == "REGRESSED"
    assert text.verdict_word({"verdict": "IMPROVED", "warnings": ["a list of the report"]}) == "IMPROVED"


def test_controls_stand_below_the_last_pair_of_their_host() -> None:
    items = [
        {**sample("improved")["comparisons"][0], "host": host, "peer": peer, "bytes": size, "control": not size}
        for host, peer, size in [
            ("a", "loopback", 0),
            ("a", "c", 10),
            ("a", "b", 10),
            ("a", "b", 2),
            ("z", "loopback", 0),
        ]
    ]
    found = [(pair, [(i["peer"], i["bytes"]) for i in members]) for pair, members in view.by_pair(items)]
    assert found == [
        ("a → b", [("b", 2), ("b", 10)]),
        ("a → c", [("c", 10), ("loopback", 0)]),
        ("z → loopback", [("loopback", 0)]),
    ]


@pytest.mark.parametrize(
    ("told", "first", "rest"),
    [
        ("All 8 hosts are confirmed.", "All 8 hosts are confirmed.", ""),
        (f"{'x' * 100}; {'y' * 50}.", f"{'x' * 100};", f"{'y' * 50}."),
        (f"Stopped: {'word ' * 40}end.", "Stopped:", f"{'word ' * 40}end."),
        (f"{'word ' * 40}end.", ("word " * 25).strip(), f"{'word ' * 15}end."),
        ("x" * 300, "x" * 128, "x" * 172),
        ("\u202e" * 40, "[U+202E]" * 16, "[U+202E]" * 24),
    ],
)
def test_a_headline_has_at_most_two_lines_and_loses_nothing(told: str, first: str, rest: str) -> None:
    assert text.headline(told) == (first, rest)
    assert len(first) <= text.MOST_OF_HEADLINE
