# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The batches of a rollout, the digest of its plan and the plan for people."""

from __future__ import annotations

import copy
import json
from datetime import datetime, timezone
from typing import Any

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import plan as plans
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import state as states
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import windows
from hypothesis import given, settings
from hypothesis import strategies as st
from rollout_samples import APPS, made_plan, numbered

NOW = datetime(2026, 11, 28, 20, 0, tzinfo=timezone.utc)
GROUPS = {"erp": APPS[:6], "bw": [*APPS[5:9], "db1"], "dev": ["dev1"]}


def sizes(canaries: object = 0, batches: object = "100%", by: object = (), hosts: list[str] = APPS) -> list[int]:
    return [len(batch["hosts"]) for batch in plans.build(hosts, GROUPS, canaries, batches, by)]


def refused(canaries: object = 0, batches: object = "25%", by: object = (), hosts: list[str] = APPS) -> str:
    with pytest.raises(ValueError) as error:
        plans.build(hosts, GROUPS, canaries, batches, by)
    return str(error.value)


class TestBuild:
    @given(
        st.integers(1, 40),
        st.one_of(st.integers(0, 40), st.integers(0, 100).map("{}%".format), st.lists(st.integers(0, 39), max_size=5)),
        st.lists(st.one_of(st.integers(1, 50), st.integers(1, 100).map("{}%".format)), max_size=4),
        st.lists(st.sets(st.integers(0, 39)), max_size=4),
        st.randoms(use_true_random=False),
    )
    @settings(deadline=None)
    def test_every_host_is_in_one_batch_and_the_order_is_kept(
        self, count: int, canaries: Any, batches: list[Any], members: list[set[int]], random: Any
    ) -> None:
        hosts = [f"app{number}" for number in range(count)]
        random.shuffle(hosts)
        groups = {f"g{place}": [f"app{number}" for number in some] for place, some in enumerate(members)}
        if isinstance(canaries, int):
            canaries = min(canaries, count)
        if isinstance(canaries, list):
            canaries = [f"app{number % count}" for number in canaries]
        made = plans.build(hosts, groups, canaries, batches, list(groups))

        assert [batch["number"] for batch in made] == list(range(1, len(made) + 1))
        assert sorted(host for batch in made for host in batch["hosts"]) == sorted(hosts)
        assert all(batch["hosts"] == [host for host in hosts if host in batch["hosts"]] for batch in made)
        assert not any(batch["canary"] for batch in made[1:])
        first_group = {host: next((g for g in groups if host in groups[g]), None) for host in hosts}
        for batch in made:
            if not batch["canary"]:
                assert {first_group[host] for host in batch["hosts"]} == {batch["group"]}
        turns = [batch["group"] for batch in made if not batch["canary"]]
        assert turns == sorted(turns, key=[*groups, None].index)
        for group in set(turns):  # within a group the inventory's order goes on from batch to batch
            turn = [batch for batch in made if not batch["canary"] and batch["group"] == group]
            told = [host for batch in turn for host in batch["hosts"]]
            assert told == [host for host in hosts if host in told]

    @pytest.mark.parametrize(
        ("canaries", "first"),
        [
            (1, APPS[:1]),
            ("2", APPS[:2]),
            (" 2 ", APPS[:2]),
            ([2], APPS[:2]),
            (12, APPS),
            ("10%", APPS[:1]),
            ("1%", APPS[:1]),
            (["50 %"], APPS[:6]),
            (["app9", "app2"], ["app2", "app9"]),
            ("app9, app2", ["app2", "app9"]),
            (["bw", "app1"], ["app1", *APPS[5:9]]),
            ("bw", APPS[5:9]),
            (("app1", "app1"), ["app1"]),
        ],
    )
    def test_canaries(self, canaries: object, first: list[str]) -> None:
        made = plans.build(APPS, GROUPS, canaries, [50], [])
        assert made[0] == {"number": 1, "canary": True, "group": None, "hosts": first}
        assert [host for batch in made[1:] for host in batch["hosts"]] == [host for host in APPS if host not in first]

    @pytest.mark.parametrize("canaries", [0, "0", "0%", "", " ", None, [], [""][:0]])
    def test_no_canaries(self, canaries: object) -> None:
        assert [batch["canary"] for batch in plans.build(APPS, GROUPS, canaries, "100%", [])] == [False]

    def test_all_canaries_and_a_host_with_a_number_as_its_name(self) -> None:
        assert sizes("100%") == [12]
        assert sizes(4, "50%") == [4, 4, 4], "percentages are of the hosts behind the canaries"
        assert plans.build(["1", "2", "3"], {}, "3", "100%")[0]["hosts"] == ["3"]

    @pytest.mark.parametrize(
        ("batches", "expected"),
        [
            ([2], [2, 2, 2, 2, 2, 2]),
            ("5", [5, 5, 2]),
            (5, [5, 5, 2]),
            ("25%", [3, 3, 3, 3]),
            ("2, 25%", [2, 3, 3, 3, 1]),
            ([1, "50%", "100%"], [1, 6, 5]),
            (["1%"], [1] * 12),
            ([100], [12]),
            ("", [3, 3, 3, 3]),
            (None, [3, 3, 3, 3]),
        ],
    )
    def test_batches(self, batches: object, expected: list[int]) -> None:
        assert sizes(batches=batches) == expected

    def test_by_groups(self) -> None:
        made = plans.build(APPS, GROUPS, "app1", ["50%"], ["bw", "erp", "dev"])
        assert [(batch["group"], " ".join(batch["hosts"])) for batch in made] == [
            (None, "app1"),
            ("bw", "app6 app7"),
            ("bw", "app8 app9"),
            ("erp", "app2 app3"),
            ("erp", "app4 app5"),
            (None, "app10"),
            (None, "app11"),
            (None, "app12"),
        ]
        assert plans.build(APPS, GROUPS, "app1", ["50%"], "bw, erp, dev") == made

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"canaries": 13}, "is 13, and the play has only 12 hosts"),
            ({"canaries": 2, "hosts": ["a"]}, "is 2, and the play has only 1 host"),
            *(
                ({"canaries": value}, f"is {value!r}; it must be a whole number")
                for value in ("150%", "-1", -1, 1.5, "1.5", True)
            ),
            ({"canaries": "app99"}, "names 'app99', which is neither a host nor a group of this play"),
            ({"canaries": "app1, 2"}, "names '2', which is neither a host nor a group of this play"),
            ({"canaries": ["dev"]}, "names 'dev', which has no host in this play"),
            *(
                ({"batches": value}, f"holds {value!r}; it must be a whole number")
                for value in (0, "150%", "all", True)
            ),
            *(({"batches": [value]}, f"holds {value!r}; it must be a whole number") for value in (-3, "0%", 1.5)),
            ({"batches": [[2]]}, "holds a list; it must be a whole number"),
            ({"by": ["erp", "prod"]}, "names 'prod', which is not a group of the inventory"),
        ],
        ids=str,
    )
    def test_errors(self, given: dict[str, Any], words: str) -> None:
        assert refused(**given).startswith(f"rollout_{next(iter(given))} {words}")


class TestDigests:
    def test_the_order_of_keys_does_not_count(self) -> None:
        one = {"rps": {"rps_cpus": "auto", "rps_count": 6}, "smc": {"smc_enabled": True}}
        two = {"smc": {"smc_enabled": True}, "rps": {"rps_count": "6", "rps_cpus": "auto"}}
        assert plans.wanted(one) == plans.wanted(two)
        assert plans.wanted(one) != plans.wanted({**one, "smc": {"smc_enabled": False}})
        assert plans.wanted({"rps": {"rps_cpus": ["a", "b"]}}) != plans.wanted({"rps": {"rps_cpus": ["b", "a"]}})

    def test_the_fingerprint_survives_the_file(self) -> None:
        plan = made_plan(guard={"cpu_pct": 5.0, "workloads": ["rr"]})
        again = json.loads(json.dumps(plan, sort_keys=True))
        assert plans.fingerprint(again) == plans.fingerprint(plan)
        again["batches"][1]["hosts"].reverse()
        again["guard"]["cpu_pct"] = 5
        again["tunings"]["app1"].reverse()
        again["window"] = {"not_before": None, "not_after": None, "time_zone": "Asia/Tokyo"}
        assert plans.fingerprint({**again, "fingerprint": "of before", "collection": "1"}) == plans.fingerprint(plan)


LATER = "later batches stay untouched"
UNLIMITED = "without a time limit; a host does not take values back by itself"
LIMITED = "a host takes its batch's values back by itself after 1 h 10 min, unless the batch is confirmed"
MEASURES = "measures before and after each batch"
DRIFT = "slower times do not count while the load drifts, because a drift looks like an effect"


class TestDifferences:
    @pytest.mark.parametrize(
        ("more", "told"),
        [
            ({}, []),
            ({"soak_s": 60}, ["Soak: 1 min (was: 10 min)"]),
            (
                {"on_failure": "leave"},
                [f"On failure: the batch keeps its values, {LATER} (was: the batch is taken back, {LATER})"],
            ),
            ({"confirm_within_s": 0}, [f"Probation: {UNLIMITED} (was: {LIMITED})"]),
            (
                {"guard": {"cpu_pct": 5, "workloads": ["rr"]}},
                [f"Guard: {MEASURES}: rr; at most 5 % more CPU time; {DRIFT} (was: off)"],
            ),
            (
                {"guard": {"cpu_pct": 5, "workloads": [], "material_pct": 3.0, "expected_change": ["kernel"]}},
                [
                    f"Guard: {MEASURES}; at most 5 % more CPU time, report_material_pct 3, report_expected_change"
                    f" kernel; {DRIFT} (was: off)"
                ],
            ),
            ({"collection": "0.9.1"}, ["the collection is 0.9.1, and was 0.9.0"]),
            (
                {"batches": numbered([APPS[:1], APPS[1:]])},
                ["the batches have 1 + 11 hosts, and had 1 + 4 + 4 + 3"],
            ),
            (
                {"batches": numbered([APPS[:1], [*APPS[1:4], "app6"], ["app5", *APPS[6:9]], APPS[9:]])},
                ["batch 2 has other hosts", "batch 3 has other hosts"],
            ),
            (
                {"batches": numbered([APPS[:1], APPS[1:5], APPS[5:9], APPS[9:]], group="erp")},
                [f"batch {number} has other groups" for number in (2, 3, 4)],
            ),
            (
                {"batches": numbered([APPS[:1], APPS[1:5], APPS[5:9], APPS[9:11]])},
                ["app12 has left"],
            ),
            (
                {"batches": numbered([["new1"], ["new2"], ["new3", "new4", "new5"], APPS])},
                ["new1, new2, new3 and 2 more have joined"],
            ),
        ],
        ids=lambda value: str(value)[:40],
    )
    def test_each_of_them(self, more: dict[str, Any], told: list[str]) -> None:
        old = made_plan(collection="0.9.0")
        new = {**old, **more}
        assert plans.differences(old, new) == told
        if "collection" not in more:
            assert (plans.fingerprint(old) != plans.fingerprint(new)) == bool(told)

    def test_values_and_tunings_of_hosts_are_told_for_five(self) -> None:
        old = made_plan(collection="0.9.0")
        new = copy.deepcopy(old)
        new["wanted"]["app3"] = "another"
        new["tunings"]["app4"] = ["rps"]
        new["tunings"]["app5"].append("cpu_topology")
        assert plans.differences(old, new) == [
            "the wanted values of app3 are others",
            "app4 no longer gets smc",
            "app5 also gets cpu_topology",
        ]
        told = plans.differences(old, {**old, "wanted": dict.fromkeys(APPS, "others")})
        assert told[4:] == ["the wanted values of app5 are others", "and 7 more"]


def told_of(plan: dict[str, Any], **batches: dict[str, str]) -> list[str]:
    """The lines of a rollout with this plan; ``batches``: by state, those after them wait."""
    rollout = states.new("smc-2026", "0.9.0", plan).document
    for batch, (word, more) in zip(rollout["batches"], batches.items(), strict=False):
        batch.update({"state": word, **more})  # type: ignore[typeddict-item]
    return plans.lines(rollout, windows.parse("2026-11-28 22:00", "2026-11-29 04:00", "Europe/Berlin", NOW), NOW)


class TestLines:
    def test_before_the_first_start(self) -> None:
        plan = made_plan(guard={"cpu_pct": 5, "workloads": ["rr"]})
        plan["tunings"]["app12"] = []
        told = told_of(plan)
        assert told[:8] == [
            "Rollout smc-2026: 12 hosts in 4 batches",
            "  Batch 1 (canaries), 1 host: app1",
            "  Batch 2, 4 hosts: app2, app3, app4, app5",
            "  Batch 3, 4 hosts: app6, app7, app8, app9",
            "  Batch 4, 3 hosts: app10, app11, app12",
            "Tunings on 11 hosts: rps, smc",
            "Tunings on 1 host: none",
            "Window: from 2026-11-28 22:00 CET (21:00 UTC) until 2026-11-29 04:00 CET (03:00 UTC)",
        ]
        for line, words in zip(
            told[8:],
            (
                "  The change window opens 2026-11-28 22:00 CET (21:00 UTC)",
                "Soak: 10 min",
                "Guard: measures before and after each batch: rr; at most 5 % more CPU time; slower times do not",
                "Probation: a host takes its batch's values back by itself after 1 h 10 min",
                "On failure: the batch is taken back",
            ),
            strict=True,
        ):
            assert line.startswith(words)

    def test_after_a_stop(self) -> None:
        plan = made_plan(on_failure="leave", confirm_within_s=0, soak_s=0)
        told = told_of(plan, good={"ended": "2026-11-28T19:00:00Z"}, stopped={}, running={}, waiting={})
        assert [line.partition("; ")[2] for line in told[1:5]] == [
            "good",
            "stopped",
            "begun, not ended",
            "",
        ]
        assert "Tunings: rps, smc" in told
        assert told[-4:-2] == ["Soak: none", "Guard: off"]
        assert told[-2].startswith("Probation: without a time limit")
        assert told[-1].startswith("On failure: the batch keeps its values")

    def test_long_lists_are_shortened(self) -> None:
        hosts = [f"app{number}" for number in range(1, 101)]
        tunings = {host: [f"t{number % 7}"] for number, host in enumerate(hosts)}
        told = told_of(made_plan(batches=plans.build(hosts, {}, 0, "100%"), tunings=tunings))
        assert told[1].endswith("app9, app10 and 90 more")
        assert told[6] == "Other hosts: 3 other choices of tunings"
