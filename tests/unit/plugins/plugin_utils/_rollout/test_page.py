# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The summary of a rollout as page and as Markdown: every state in words, the next steps, hostile texts."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import rollout_samples as samples
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._pages.text import headline
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import (
    checking,
    keeping,
    page,
    plan,
    stages,
    state,
    steps,
)
from documents import schema_errors

Made = dict[str, Any]
COMMAND = "ansible-playbook zpower.sap_tuning.rollout -i inventory -e rollout_change=chg4711"


def html(made: Made) -> str:
    return "".join(keeping.FORMATS["html"](made))


def markdown(made: Made) -> str:
    return "".join(keeping.FORMATS["md"](made))


class TestPage:
    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("planned", "PLANNED"),
            ("running", "RUNNING OR INTERRUPTED"),
            ("stopped", "STOPPED"),
            ("closed", "STOPPED"),
            ("complete", "COMPLETE"),
        ],
    )
    def test_the_state_is_a_word(self, name: str, words: str) -> None:
        made = samples.SAMPLES[name]()
        assert f"</span> {words}</p>\n<h1>{headline(made['headline'])[0]}</h1>" in html(made)
        assert re.match(f"# . {words}: Rollout of change chg4711\n\n", markdown(made))

    def test_hosts_with_the_same_outcome_are_listed_once(self) -> None:
        source = html(samples.fleet())
        assert "66 hosts: host201, host202, host204, host205, host207, host208 and 60 more" in source
        assert source.count("host399") == 0 and source.count("host299") == 1

    def test_what_the_guard_said_is_shown_once_beside_the_reasons(self) -> None:
        made = samples.stopped()
        assert markdown(made).count(f"\n- {samples.REGRESSED.replace('_', chr(92) + '_')}\n") == 1
        assert "−9.2 %" in html(made) and "▼</span> REGRESSED" in html(made)


class TestMarkdown:
    def test_a_ticket_is_short_and_making_it_changes_nothing(self) -> None:
        made = samples.stopped()
        before = json.dumps(made)
        assert markdown(made) and html(made) and json.dumps(made) == before
        few, many = (markdown(samples.fleet(size)) for size in (400, 4000))
        assert len(many.splitlines()) == len(few.splitlines()) < 100 and len(many) < 8000

    def test_a_batch_that_has_not_ended_says_so(self) -> None:
        text = markdown(samples.running())
        assert (
            "? begun, not ended (soaking, since 2026-11-20 22:03:00 UTC) | 1 | 2026-11-20 22:00:00 UTC | not ended |"
            in text
        )
        assert "- **Last run ended:** not ended\n" in text

    def test_it_has_batches_hosts_guard_and_runs(self) -> None:
        text = markdown(samples.stopped())
        for words in (
            "| Batch 1 (canaries) (app1) | ✓ good | 1 | 2026-11-20 21:01:00 UTC |",
            "| ✖ stopped (while measuring after) | 2 | 2026-11-20 22:00:00 UTC |",
            "| 2026-11-20 22:41:10 UTC | 41 min 10 s | 9 | 2 taken back, 1 unknown |",
            "| Batch 4 (erp) (app9, app10, app11, app12) | – not begun | – | – | – | – | – | 4 unchanged |",
            "| app4 | ∅ lost | ? unknown | 3 | Failed to connect to the host via ssh: No route to host |",
            "| app3 with db | tcp\\_rr (latency\\_p50) | 41.20 us | 45.00 us | −9.2 % | ▼ REGRESSED |",
            "this batch; report of chg4711-batch-2 (results/chg4711-batch-2/report.html).\n",
            "| 2026-11-20 21:00:04 UTC | interrupted | control1, process 4711 | 2.21.5 | – |",
        ):
            assert words in text


class TestSteps:
    def test_after_a_stop(self) -> None:
        mend, unknown, again, fixed = steps.steps(samples.stopped())
        assert "batch 2" in mend and "a new rollout_change" in fixed
        assert "values of app4 are unknown" in unknown and "at most 1 h 5 min" in unknown
        assert "`ansible-playbook zpower.sap_tuning.verify -i inventory --limit app4`" in unknown
        assert "batch 2 is taken back first" in again and f"The next batch is 2: `{COMMAND}`." in again
        # values that were left can be taken back
        (step,) = (step for step in steps.steps(samples.stopped("leave")) if "keeps" in step)
        assert "on app2, app3." in step
        assert step.endswith("`ansible-playbook zpower.sap_tuning.rollback -i inventory --limit app2,app3`.")

    def test_of_a_run_without_an_end_nobody_knows_whether_it_lives(self) -> None:
        made = samples.running()
        wait, probation, again, _fixed = steps.steps(made)
        assert wait.startswith("If process 4711 still runs on control1, wait")
        assert "app2, app3, app4 are on probation" in probation and "at most 1 h 5 min" in probation
        assert probation.endswith("rollback -i inventory -e zpower_probation=only --limit app2,app3,app4`.")
        assert again.startswith("After an interruption, start again") and COMMAND in again
        # a run with an id can be taken over; a run of 0.9.0 has none
        assert "rollout_take_over" not in " ".join(steps.steps(made))
        made["runs"][-1]["id"] = "r3f9c1d20a4b7"
        assert next(steps.steps(made)).endswith("add `-e rollout_take_over=r3f9c1d20a4b7`.")
        # without a lease no host takes anything back
        made["plan"]["confirm_within_s"] = 0
        assert "by itself" not in " ".join(steps.steps(made)) and "by themselves" not in " ".join(steps.steps(made))
        assert dict(plan.conditions(made["plan"]))["Probation"].startswith("without a time limit")

    def test_a_stop_without_a_stopped_batch_says_why_and_a_complete_rollout_needs_nothing(self) -> None:
        first, again, _fixed = steps.steps(samples.window_closed())
        assert first.endswith(": the change window is closed.")
        assert "The next batch is 3" in again and "probation" not in again
        first, back = steps.steps(samples.complete())
        assert first.startswith("Nothing is left to do.") and "rollback" in back

    def test_many_hosts_are_not_all_named_and_hostile_names_are_one_word(self) -> None:
        (step,) = (step for step in steps.steps(samples.fleet()) if "unknown" in step)
        assert "and 14 more" in step and "--limit HOSTS" in step
        (step,) = (step for step in steps.steps(samples.hostile()) if "unknown" in step)
        assert step.count("`") == 2 and "--limit 'app4,<b>?app?</b>; rm -rf /'`." in step


@pytest.mark.parametrize("name", sorted(samples.SAMPLES.keys() - {"hostile"}))
def test_the_samples_are_what_the_schema_of_the_state_says(name: str) -> None:
    assert schema_errors("rollout", json.loads(json.dumps(samples.SAMPLES[name]()))) == []


def test_times_of_a_file_that_somebody_edited_are_shown() -> None:
    made = samples.stopped()
    made["batches"][0].update({"began": "2026-11-20Z", "ended": "2026-11-20T21Z"})
    made["plan"]["window"].update({"not_before": "2026-11-20Z"})
    made["plan"]["fingerprint"] = plan.fingerprint(made["plan"])
    source = html(checking.check(made))
    assert "21 h" in source and "from 2026-11-20 01:00 CET (00:00 UTC)" in source
    made["plan"]["window"].update({"not_after": "9999-12-31T23:59:59Z"})
    with pytest.raises(ValueError, match="plan.window.not_after is '9999-12-31T23:59:59Z'; it must be a time such as"):
        checking.check(made)


def test_the_words_are_those_of_the_state() -> None:
    assert set(page.STATES) == set(checking.STATES) and set(page.OUTCOMES) == set(stages.OUTCOMES)
    assert set(page.VALUES) == {*stages.VALUES, "left"}
    assert set(page.RESULTS) == {*checking.RESULTS, "planned"}


def test_facts_and_conditions_of_plans_with_and_without_options() -> None:
    told = "from 2026-11-20 22:00 CET (21:00 UTC) until 2026-11-21 04:00 CET (03:00 UTC)"
    assert f"**Change window:** {told}\n" in markdown(samples.running())
    text = markdown(samples.bare())
    for fact in ("Change window:** always open", "Tunings on 11 hosts:** rps", "Guard:** off", "Soak:** none"):
        assert f"- **{fact}\n" in text


def test_files_are_written_with_links_to_the_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = samples.stopped()
    made["batches"][0]["guard"]["report"] = str(tmp_path / "else where" / "report.html")
    folder = Path("results") / "rollouts" / made["change"]
    made["plan"]["fingerprint"] = plan.fingerprint(made["plan"])
    paths = keeping.keep(state.Rollout(made), "results")
    assert paths == {"html": str(folder / "rollout.html"), "md": str(folder / "rollout.md")}
    assert sorted(os.listdir(folder)) == ["rollout.html", "rollout.json", "rollout.md"]
    page = Path(paths["html"]).read_text(encoding="utf-8")
    assert 'href="../../chg4711-batch-2/report.html"' in page
    assert 'href="../../../else%20where/report.html"' in page
    assert Path(paths["md"]).read_text(encoding="utf-8") == markdown(made)


def test_a_hostile_path_of_a_report_does_not_become_another_kind_of_address(tmp_path: Path) -> None:
    (address,) = {*keeping.links(samples.hostile(), tmp_path).values()} - {
        *keeping.links(samples.stopped(), tmp_path).values()
    }
    assert address.endswith("javascript%3Aalert%283%29/%3Cscript%3E") and ":" not in address
