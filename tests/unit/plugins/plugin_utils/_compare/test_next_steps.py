# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Next steps: the commands, who runs them, and the values that never get into one."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import Any

import pytest
import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import (
    Expected,
    Options,
    compare_change,
)
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.next_steps import (
    MORE_VARIABLES,
    command,
    next_change_name,
)
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment.plans import steps as all_steps
from experiments import make_plan, make_records, make_tunings
from published_studies import study

REPEAT = f"ansible-playbook -i 'my inventory' --limit sap zpower.sap_tuning.before_after\n# {MORE_VARIABLES}"
SMALL = factory.Plan(hosts=("app1", "app2", "app3"))


def steps_of(plan: factory.Plan, repeat: str = REPEAT, expected: Expected = ((), {}), tuned: bool = True) -> list[str]:
    loaded = factory.load(factory.make_change(plan), factory.change_tunings(plan) if tuned else ())
    found: list[str] = compare_change(loaded, expected, Options(repeat=repeat))["next_steps"]
    return found


def commands(steps: list[str]) -> list[str]:
    return [part for step in steps for part in step.split("`")[1::2]]


def test_what_got_worse_is_taken_back_on_its_hosts_alone() -> None:
    records = [
        record
        for plan in (replace(SMALL, effect=0.3), SMALL)
        for record in factory.make_change(plan)
        if (record["host"] == "app2") == (plan.effect > 0)
    ]
    loaded = factory.load(records, factory.change_tunings(SMALL))
    steps = compare_change(loaded, options=Options(repeat=REPEAT))["next_steps"]
    taken_back = "ansible-playbook -i 'my inventory' --limit app2 zpower.sap_tuning.rollback --tags rps"
    assert commands(steps)[0] == taken_back
    assert steps[0].startswith("Take the change back where it made things worse: `")


def test_what_got_better_is_watched_and_what_made_no_difference_can_go() -> None:
    found = commands(steps_of(replace(SMALL, effect=-0.3)))
    assert found == ["ansible-playbook -i 'my inventory' --limit sap zpower.sap_tuning.verify"]
    (found,) = commands(steps_of(replace(SMALL, session_noise=0.001, run_noise=0.001)))
    assert found.endswith("zpower.sap_tuning.rollback --tags rps")


@pytest.mark.parametrize(
    ("effect", "begin"), [(0.3, "Take the change back"), (-0.3, "Keep the change."), (0.0, "Keep the change only if")]
)
def test_our_playbooks_do_not_handle_a_change_that_was_not_our_tuning(effect: float, begin: str) -> None:
    plan = replace(SMALL, effect=effect, session_noise=0.001, run_noise=0.001)
    (step,) = steps_of(plan, "ansible-playbook -i inv zpower.sap_tuning.measure", tuned=False)
    assert step.startswith(begin)
    assert commands([step]) == []
    assert ("undo it by hand" in step) == (effect >= 0)


def test_a_change_measured_by_hand_is_measured_again_by_hand() -> None:
    steps = steps_of(replace(SMALL, rounds=3), "ansible-playbook -i inv zpower.sap_tuning.measure", tuned=False)
    assert steps[0].startswith("Measure 3 more rounds of each state, 6 in all") and "measure_phase=after" in steps[0]
    assert commands(steps)[0] == (
        "ansible-playbook -i inv zpower.sap_tuning.measure"
        " -e zpower_change=rps-2026-11-2 -e measure_rounds=6 -e measure_phase=before"
    )


@pytest.mark.parametrize("rounds", [3, 6])
def test_variables_that_a_command_lacks_are_named_once_below_it(rounds: int) -> None:
    steps = steps_of(replace(SMALL, rounds=rounds, effect=-0.3), REPEAT)
    assert steps[-1].startswith("To each command, add the other extra variables (-e) of that run.")
    assert sum("secret" in step for step in steps) == 1


def unequal(mtu: int) -> list[str]:
    """The commands after a change of the kernel, which was declared, of a setting, and of the MTU."""
    records = list(factory.make_change(SMALL))
    for record in records:
        if record["phase"] == "after":
            record["fingerprint"]["client"].update(kernel="6.12", mtu=9000 + record["round"] % mtu)
            record["context"] = {"packet_size": 2000}
    options = Options(repeat=REPEAT, expected_change=["kernel"])
    found: list[str] = commands(compare_change(factory.load(records), options=options)["next_steps"])
    return found


def test_a_difference_that_is_the_point_can_be_declared_with_what_was_declared_already() -> None:
    declare = shlex.split(unequal(1)[1])
    assert declare[:6] == ["ansible-playbook", "-i", "my inventory", "--limit", "sap", "zpower.sap_tuning.report"]
    assert declare[7] == "zpower_change=rps-2026-11"
    assert json.loads(declare[9]) == {"report_expected_change": ["client.kernel", "client.mtu", "context.packet_size"]}
    # two values within one state cannot be declared
    assert not any("client.mtu" in found for found in unequal(2))


def test_too_few_rounds_and_noise_say_how_many_to_ask_for() -> None:
    few = commands(steps_of(replace(SMALL, rounds=3)))
    assert few[0].endswith(
        "zpower.sap_tuning.before_after -e zpower_change=rps-2026-11 -e before_after_continue=true"
        " -e measure_max_rounds=6"
    )
    noisy = [
        next(step for step in steps_of(replace(SMALL, session_noise=noise, control=False)) if "with this noise" in step)
        for noise in (0.05, 0.2)
    ]
    assert noisy[0].startswith("Measure again at a quieter time, or with this noise measure ")
    more, total = (int(word) for word in noisy[0].split() if word.isdigit())
    assert "two of three" in noisy[0] and "two of three" not in few[0]
    assert more == total - 6 and 8 <= total <= 32 and noisy[0].endswith(f" -e measure_max_rounds={total}`.")
    assert "no verdict is likely within 32 rounds" in noisy[1] and "rounds=" not in noisy[1]


def test_without_any_record_the_measurement_is_named() -> None:
    see, measure = compare_change(factory.load([]), (["app1"], {}))["next_steps"]
    assert "Not measured" in see
    assert commands([measure]) == ["ansible-playbook zpower.sap_tuning.before_after -e zpower_change=rps-2026-11-2"]
    # what was measured elsewhere has no command of ours
    loaded = factory.load(item for item in study("banking") if item["change"] == "published-banking-rps-all")
    assert compare_change(loaded)["next_steps"] == ["Measure 5 more rounds of each state, 6 in all."]


@pytest.mark.parametrize(
    ("hosts", "limit"),
    [
        (["b", "a", "a"], "a,b"),
        (["a;reboot"], "sap"),  # no name of a host: the limit of the run stays
        (["-x"], "sap"),
        (["a`id`"], "sap"),
        ([f"h{number}" for number in range(65)], "sap"),  # too many for a command
        ([], "sap"),
    ],
)
def test_only_plain_names_get_into_a_command(hosts: list[str], limit: str) -> None:
    words = shlex.split(command(REPEAT, "rollback", hosts))
    assert words == ["ansible-playbook", "-i", "my inventory", "--limit", limit, "zpower.sap_tuning.rollback"]


@pytest.mark.parametrize("repeat", ["", "sh -c 'rm'", "ansible-playbook 'open", "ansible-playbook `id` x"])
def test_a_repetition_that_is_not_our_command_is_not_repeated(repeat: str) -> None:
    assert command(repeat, "verify") == "ansible-playbook zpower.sap_tuning.verify"
    assert commands(steps_of(replace(SMALL, rounds=3), repeat))[0].startswith(
        "ansible-playbook zpower.sap_tuning.before_after -e"
    )


def test_a_part_that_got_worse_is_weighed_before_a_change_without_a_difference_is_kept() -> None:
    records = list(factory.make_change(replace(SMALL, hosts=("app1",), sizes=(100, 1000, 10000), effect=-0.1)))
    for record in records:
        if (record["phase"], record["workload"]["bytes"]) == ("after", 10000):
            for run in record["runs"]:
                run["metrics"]["av2_us"] *= 1.5
    report = compare_change(factory.load(records))
    assert report["verdict"] == "UNCHANGED" and "got worse" in report["headline"]
    assert report["next_steps"][0].startswith("Keep the change only if what got worse does not matter to you, because")


@pytest.mark.parametrize("effect", [-0.3, 0.0, 0.3])
def test_the_measurement_of_a_batch_is_the_business_of_its_rollout(effect: float) -> None:
    """The next name after r1-batch-1 is that of the next batch, and the command would go on with it."""
    plan = replace(SMALL, effect=effect, design="blocks", change="r1-batch-1")
    loaded = replace(factory.load(factory.make_change(plan)), change=plan.change)
    options = Options(repeat="ansible-playbook -i inv zpower.sap_tuning.rollout")
    (step,) = compare_change(loaded, options=options)["next_steps"]
    assert step.startswith("This is the measurement of a batch: rollouts/r1/rollout.html says") and not commands([step])


def test_hosts_that_came_into_the_inventory_later_can_be_left_out_of_the_report() -> None:
    steps = steps_of(replace(SMALL, effect=-0.3), expected=([*SMALL.hosts, "new1", "new2", "new3"], {}))
    (found,) = (step for step in steps if "do not belong" in step)
    assert commands([found]) == [
        "ansible-playbook -i 'my inventory' --limit app1,app2,app3 zpower.sap_tuning.report"
        " -e zpower_change=rps-2026-11"
    ]
    few = steps_of(replace(SMALL, effect=-0.3), expected=([*SMALL.hosts, "new1"], {}))
    assert not any("do not belong" in step for step in few), "the verdict does not depend on it"


@pytest.mark.parametrize(
    ("change", "after"),
    [
        ("rps", "rps-2"),
        ("rps-2", "rps-3"),
        ("rps-2026-11", "rps-2026-11-2"),
        ("rps-2026-11-2", "rps-2026-11-2-2"),
        ("r" * 64, "r" * 60 + "-2"),
        ("r" * 62 + "-9", "r" * 60 + "-10"),
    ],
)
def test_every_measurement_is_a_change_of_its_own(change: str, after: str) -> None:
    assert next_change_name(change) == after


class TestExperiment:
    PLAY = "ansible-playbook -i inv zpower.sap_tuning."

    def steps(self, done: Any = None, effect: float = -0.2, noise: float = 0.005, **session: Any) -> list[str]:
        plan = make_plan()
        plan["sessions"][0].update(session)
        records = make_records(plan, {"every-4": effect}, done, noise=noise)
        loaded = replace(factory.load(records, make_tunings(plan, done)), experiment=plan)
        options = Options(repeat=f"{self.PLAY}experiment")
        found: list[str] = compare_change(loaded, options=options)["next_steps"]
        return found

    def test_a_kept_winner_is_written_down_and_watched_and_another_can_be_set(self) -> None:
        (step,) = self.steps(kept="every-4")
        assert step.startswith("Write the settings of every-4 into the inventory")
        assert commands([step]) == [f"{self.PLAY}verify"]
        (found,) = commands(self.steps())
        assert found == self.PLAY + """site -e '{"rps_every": 4, "rps_state": "present"}'"""

    def test_undecided_levels_can_be_decided_by_more_rounds_or_at_a_quieter_time(self) -> None:
        (step,) = self.steps(effect=0.0, noise=0.03)
        assert step.startswith("Go on with the experiment, if possible at a quieter time: ")
        (found,) = commands([step])
        name, _is, rounds = shlex.split(found)[-1].partition("=")
        assert (name, 8 < int(rounds) <= 50) == ("experiment_max_rounds", True)
        (step,) = self.steps(effect=0.0, noise=0.12)
        assert step.startswith("Measure again at a quieter time: `")
        assert commands([step]) == [f"{self.PLAY}experiment -e zpower_change=rps-2026-11-2"]

    def test_without_a_winner_hosts_are_as_found_only_where_the_session_ended_well(self) -> None:
        assert self.steps(effect=0.0) == ["Nothing to do: the hosts are in the state in which they were found."]
        for session in ({"failures": {"app2": "rollback failed"}}, {"ended": None}):
            (found,) = commands(self.steps(effect=0.0, **session))
            assert found == f"{self.PLAY}rollback -e zpower_checkpoint=rps-2026-11"
        # one that ended early goes on
        (step,) = self.steps(done=all_steps(make_plan())[:9])
        assert commands([step]) == [f"{self.PLAY}experiment -e zpower_change=rps-2026-11"]
        assert "does not come back" not in step

    def test_a_host_that_is_behind_for_good_does_not_hold_the_others(self) -> None:
        (step,) = self.steps(hosts=["app1", "app2", "app3"])
        assert step.endswith("`. If a host does not come back, measure the others under another name.")
