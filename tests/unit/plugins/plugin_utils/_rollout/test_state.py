# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state file of a rollout: what is resumed, what is refused, and what a killed controller leaves."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import re
import socket
import stat
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.checks import RESERVED, RUN_KINDS
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import checking, stages, windows
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import plan as plans
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import state as states
from documents import places, put, schema_errors
from rollout_samples import APPS, made_plan, numbered

AT = "2026-11-28T21:00:00Z"
NOW = datetime(2026, 11, 28, 20, 0, tzinfo=timezone.utc)
GUARD = {
    "change": "smc-2026-batch-2",
    "report": "results/smc-2026-batch-2/report.html",
    "sentences": ["app2: REGRESSED"],
    "notes": ["app3 has no peer."],
    "comparisons": [{"host": "app2", "workload": "rr", "metric": "av2_us", "verdict": "regressed", "effect_pct": -7.5}],
}


def run(pid: int = 4711, name: str = "r1") -> dict[str, Any]:
    controller = {"host": "controller1", "pid": pid, "pid_namespace": "pid:[1]"}
    return {"id": name, "began": AT, "controller": controller, "evidence": "", "ansible_core": "2.21.5"}


def fresh(**more: Any) -> states.Rollout:
    rollout = states.new("smc-2026", "0.9.0", made_plan(**more))
    rollout.began(run())
    return rollout


def batch_done(rollout: states.Rollout, number: int) -> None:
    rollout.begin(number, AT)
    for name in rollout.document["plan"]["batches"][number - 1]["hosts"]:
        rollout.document["batches"][number - 1]["hosts"][name] = stages.host_state("ok", "confirmed", 2)
    rollout.end(number, True, AT)


def stopped() -> states.Rollout:
    """Canaries good, app5 of batch 2 drifted."""
    rollout = fresh()
    batch_done(rollout, 1)
    rollout.begin(2, AT)
    rollout.stage(2, "soaking", "2026-11-28T21:05:00Z")
    for name in APPS[1:4]:
        rollout.document["batches"][1]["hosts"][name] = stages.host_state("ok", "taken back", 2)
    rollout.document["batches"][1]["hosts"]["app5"] = stages.host_state(
        "failed", "taken back", 2, ["rps of eth0 is 0, and f was wanted"]
    )
    rollout.end(2, False, "2026-11-28T21:10:00Z", ["app5 drifted during the soak."])
    rollout.document["batches"][1]["guard"] = copy.deepcopy(GUARD)
    rollout.ended("2026-11-28T21:10:00Z", "results/rollout/20261128T210000Z")
    return rollout


def interrupted(stage: str = "applying") -> states.Rollout:
    rollout = fresh()
    batch_done(rollout, 1)
    rollout.begin(2, AT)
    rollout.stage(2, stage, AT)
    rollout.document["batches"][1]["hosts"]["app2"] = stages.host_state("ok", "probation", 2)
    return rollout


def complete() -> states.Rollout:
    rollout = fresh()
    for number in (1, 2, 3, 4):
        batch_done(rollout, number)
    rollout.ended(AT)
    return rollout


STATES = {
    "new": lambda: states.new("smc-2026", "0.9.0", made_plan()),
    "stopped": stopped,
    "interrupted": interrupted,
    "complete": complete,
    "with a guard": lambda: fresh(guard={"cpu_pct": 5, "workloads": ["rr"]}),
}


@pytest.mark.parametrize("make", STATES.values(), ids=STATES)
def test_it_is_what_its_schema_says_and_can_be_read_again(make: Any, tmp_path: Path) -> None:
    rollout = make()
    path = rollout.save(tmp_path)
    assert path == tmp_path / "rollouts" / "smc-2026" / "rollout.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert schema_errors("rollout", json.loads(path.read_text("utf-8"))) == []
    again = states.read(tmp_path, "smc-2026")
    assert again is not None
    assert again.document == rollout.document
    again.refuse(made_plan(guard=rollout.document["plan"]["guard"]))


class TestHeadline:
    @pytest.mark.parametrize(
        ("make", "result", "headline", "hosts"),
        [
            (STATES["new"], "running", "Batch 1 of 4 is next.", "0 of 12 hosts are confirmed, 12 unchanged."),
            (
                stopped,
                "stopped",
                "Batch 2 of 4 stopped: app5 drifted during the soak.",
                "1 of 12 hosts is confirmed, 4 taken back, 7 unchanged.",
            ),
            (
                interrupted,
                "running",
                "Batch 2 of 4 is running: applying.",
                "1 of 12 hosts is confirmed, 1 on probation, 10 unchanged.",
            ),
            (complete, "complete", "All 12 hosts in 4 batches are confirmed.", ""),
        ],
    )
    def test_of_each_state(self, make: Any, result: str, headline: str, hosts: str) -> None:
        rollout = make()
        rollout.conclude()
        assert rollout.document["result"] == result
        assert rollout.document["headline"] == f"{headline} {hosts}".strip()

    def test_a_run_that_ended_between_two_batches_or_in_one(self) -> None:
        rollout = fresh()
        batch_done(rollout, 1)
        rollout.ended(AT, reason="The change window closed.")
        rollout.conclude()
        assert rollout.document["result"] == "stopped"
        assert rollout.document["headline"] == (
            "Stopped before batch 2 of 4: The change window closed. 1 of 12 hosts is confirmed, 11 unchanged."
        )
        rollout = interrupted()
        rollout.ended(AT)
        rollout.conclude()
        assert rollout.document["headline"].startswith("Stopped in batch 2 of 4. 1 of 12 hosts is confirmed,")

    def test_what_somebody_wrote_into_the_file_reaches_no_terminal(self, tmp_path: Path) -> None:
        path = stopped().save(tmp_path)
        document = json.loads(path.read_text("utf-8"))
        batch = next(batch for batch in document["batches"] if batch["state"] == "stopped")
        batch["reasons"] = ["\x1b]0;owned\x07\u202e"]
        path.write_text(json.dumps(document), "utf-8")
        rollout = states.read(tmp_path, "smc-2026")
        assert rollout is not None
        rollout.conclude()
        assert "]0;owned[U+202E]" in rollout.document["headline"] and rollout.document["headline"].isprintable()

    def test_more_than_one_reason_and_text_of_hosts_is_made_harmless(self) -> None:
        rollout = fresh()
        rollout.begin(1, AT)
        rollout.document["batches"][0]["hosts"]["app1"] = stages.host_state(
            "lost", "unknown", 0, ["a\n\x1b[31mb" + "x" * 5000]
        )
        reason = rollout.document["batches"][0]["hosts"]["app1"]["reasons"][0]
        assert reason.startswith("a [31mbxxx")
        assert len(reason) == stages.LONGEST
        rollout.end(1, False, AT, ["app1 is lost", "the batch has no host left"])
        rollout.conclude()
        headline = rollout.document["headline"]
        assert headline.startswith("Batch 1 of 4 stopped: app1 is lost (and 1 more reason).")
        assert headline.endswith("0 of 12 hosts are confirmed, 1 unknown, 11 unchanged.")


class TestResume:
    def test_after_a_stop_the_batch_begins_again(self, tmp_path: Path) -> None:
        stopped().save(tmp_path)
        rollout = states.read(tmp_path, "smc-2026")
        assert rollout is not None
        assert rollout.open() == [2, 3, 4]
        assert [rollout.again(number) for number in (1, 2, 3, 4)] == [False, True, False, False]
        rollout.began(run(4712, "r2"))
        rollout.begin(2, AT)
        batch = rollout.document["batches"][1]
        assert (batch["attempt"], batch["state"], batch["stage"], batch["ended"]) == (2, "running", "preflight", None)
        assert (batch["reasons"], batch["guard"]) == ([], None)
        assert batch["hosts"]["app5"] == {"outcome": "waiting", "values": "taken back", "changed": 0, "reasons": []}
        batch_done(rollout, 2)
        assert rollout.open() == [3, 4]

    @pytest.mark.parametrize(
        ("stage", "values"), [("preflight", "unchanged"), ("measuring before", "unchanged"), ("applying", "unknown")]
    )
    def test_after_a_kill_nobody_knows_the_values(self, stage: str, values: str) -> None:
        rollout = interrupted(stage)
        assert rollout.again(2)
        rollout.begin(2, AT)
        hosts = rollout.document["batches"][1]["hosts"]
        assert hosts["app3"]["values"] == values
        assert hosts["app2"]["values"] == ("unknown" if values == "unknown" else "probation")
        assert rollout.document["batches"][0]["hosts"]["app1"]["values"] == "confirmed"
        # a batch that ended good is not begun again
        assert complete().open() == [] and not complete().again(1)

    def test_another_plan_and_another_version_are_refused_and_another_window_is_not(self) -> None:
        plan = made_plan(soak_s=60, batches=numbered([APPS[:1], APPS[1:]]))
        with pytest.raises(ValueError, match=r"had 1 \+ 4 \+ 4 \+ 3; Soak: 1 min \(was: 10 min\)"):
            stopped().refuse(plan)
        with pytest.raises(ValueError, match=r"another plan: the collection is 1\.0\.0, and was 0\.9\.0\."):
            stopped().refuse(made_plan(), "1.0.0")
        window = {"not_before": None, "not_after": "2026-12-01T03:00:00Z", "time_zone": "UTC"}
        rollout = stopped()
        rollout.refuse(made_plan(window=window), "0.9.0")
        rollout.began(run(), window)
        assert rollout.document["plan"]["window"] == window
        assert schema_errors("rollout", checking.check({**rollout.document, "result": "running", "headline": ""})) == []

    def test_other_limits_of_the_report_are_refused(self) -> None:
        """A plan of 0.9.0 has none, and is continued with any."""
        old = {"cpu_pct": 5, "workloads": ["rr"]}
        limits = {**old, "material_pct": 5.0, "expected_change": []}
        continued = fresh(guard=old)
        continued.refuse(made_plan(guard=limits))
        assert continued.document["plan"]["guard"] == limits, "from now on"
        continued.conclude()
        checking.check(continued.document)
        fresh(guard=limits).refuse(made_plan(guard=limits))
        for name, value in (("material_pct", 50.0), ("expected_change", ["kernel"])):
            with pytest.raises(ValueError, match=f"Guard: measures .*report_{name} .* \\(was: measures"):
                fresh(guard=limits).refuse(made_plan(guard={**limits, name: value}))
        with pytest.raises(ValueError, match=r"Guard: off \(was: measures"):
            fresh(guard=old).refuse(made_plan())


def here(host: str, namespace: str = "pid:[1]") -> dict[str, Any]:
    return {"host": host, "pid": 1, "pid_namespace": namespace}


class TestRunning:
    def test_the_controller_matches_the_worker_and_ids_differ_and_are_not_numbers(self) -> None:
        assert states.controller() == {
            "host": socket.gethostname(),
            "pid": os.getppid(),
            "pid_namespace": os.readlink("/proc/self/ns/pid"),
        }
        ids = {states.run_id() for _number in range(1000)}
        assert len(ids) == 1000 and all(re.fullmatch("r[0-9a-f]{12}", one) for one in ids)

    def test_which_processes_live(self, tmp_path: Path) -> None:
        assert not states.alive(os.getpid())
        assert not states.alive(os.getppid())
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:  # it lives until the test closes its end of the pipe
            os.close(write_end)
            os.read(read_end, 1)
            os._exit(0)
        os.close(read_end)
        assert states.alive(child, tmp_path), "a system without /proc does not tell what runs"
        (tmp_path / str(child)).mkdir()
        for command, expected in ((b"python3\0/usr/bin/ansible-playbook\0", True), (b"/usr/sbin/crond\0", False)):
            (tmp_path / str(child) / "cmdline").write_bytes(command)
            assert states.alive(child, tmp_path) is expected
        os.close(write_end)
        os.waitpid(child, 0)
        assert not states.alive(child, tmp_path)


class TestSaving:
    def test_an_invalid_state_is_not_written(self, tmp_path: Path) -> None:
        rollout = interrupted()
        path = rollout.save(tmp_path)
        before = path.read_bytes()
        rollout.stage(2, "sleeping", AT)
        with pytest.raises(ValueError, match=r"^batches\[1\]\.stage is 'sleeping'; it must be one of preflight, "):
            rollout.save(tmp_path)
        assert path.read_bytes() == before

    def test_a_link_is_not_followed(self, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "results").mkdir()
        (tmp_path / "results" / "rollouts").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(ValueError, match="symbolic link"):
            fresh().save(tmp_path / "results")
        with pytest.raises(ValueError, match="rollouts is a symbolic link; below "):
            states.read(tmp_path / "results", "smc-2026")
        assert list((tmp_path / "elsewhere").iterdir()) == []

    @pytest.mark.parametrize("change", ["", "../up", "a/b", ".hidden", "x" * 65])
    def test_an_id_that_cannot_name_a_folder(self, change: str, tmp_path: Path) -> None:
        for call in (lambda: states.read(tmp_path, change), lambda: states.new(change, "0.9.0", made_plan())):
            with pytest.raises(ValueError, match="^rollout_change is "):
                call()


class TestReading:
    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"", "not JSON (Expecting value, line 1)"),
            (b"{", "not JSON (Expecting property name"),
            (b"\xff", "not UTF-8 text"),
            (b"[" * 100_000, "nested too deeply"),
            (b"[]", "the file is a list; it must be an object"),
            (b"{}", "schema is missing; it must be zpower.sap_tuning/rollout/1"),
            (None, "not a regular file"),
        ],
    )
    def test_what_is_not_a_state(self, content: bytes | None, words: str, tmp_path: Path) -> None:
        assert states.read(tmp_path, "smc-2026") is None
        path = tmp_path / "rollouts" / "smc-2026" / "rollout.json"
        path.parent.mkdir(parents=True)
        if content is None:
            path.mkdir()
        else:
            path.write_bytes(content)
        with pytest.raises(ValueError) as error:
            states.read(tmp_path, "smc-2026")
        assert str(error.value).startswith(str(path)) and words in str(error.value)

    def test_the_file_of_another_change_and_a_plan_that_somebody_changed(self, tmp_path: Path) -> None:
        path = stopped().save(tmp_path)
        path.parent.rename(path.parent.parent / "other")
        with pytest.raises(ValueError, match="it belongs to the change 'smc-2026'$"):
            states.read(tmp_path, "other")
        document = stopped().document
        document["plan"]["soak_s"] = 0
        with pytest.raises(ValueError, match="^plan.fingerprint does not fit the plan: somebody has changed the file$"):
            checking.check({**document, "result": "stopped", "headline": ""})


DAMAGE: list[tuple[list[Any], Any]] = [
    (["change"], "../up"),
    (["plan"], []),
    (["plan", "soak_s"], -1),
    (["plan", "guard"], {"cpu_pct": None, "workloads": []}),
    (["plan", "window", "not_before"], "22:00"),
    (["plan", "batches"], []),
    (["plan", "batches", 0, "hosts"], ["app1", "app1"]),
    (["batches", 1, "stage"], None),
    (["batches", 1, "ended"], None),
    (["batches", 1, "hosts", "app2", "outcome"], ["ok"]),
    (["runs", 0, "ended"], "later"),
    (["runs", 0, "id"], "../up"),
    (["runs", 0, "controller", "pid_namespace"], 7),
    (["schema"], "zpower.sap_tuning/rollout/2"),
]


def damaged(path: list[Any], value: Any) -> dict[str, Any]:
    """The state of a stopped rollout with another value in one place."""
    rollout = stopped()
    rollout.conclude()
    document: dict[str, Any] = copy.deepcopy(rollout.document)
    assert checking.check(document) is document
    put(document, path, value)
    return document


@pytest.mark.parametrize(("path", "value"), DAMAGE, ids=str)
def test_schema_and_check_reject_the_same_damage(path: list[Any], value: Any) -> None:
    document = damaged(path, value)
    assert schema_errors("rollout", document) != []
    with pytest.raises(ValueError, match=r"^[a-z_]+[^ ]* (is|names) .*$|^[^ ]+ is .*; it must begin"):
        checking.check(document)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (
            ["plan", "batches", 1, "hosts"],
            ["app1", "app2"],
            "is a list; it must be a list of hosts, each of which is in one batch",
        ),
        (["plan", "batches", 1, "number"], 7, "is 7; it must be 2"),
        (["batches", 1, "number"], 7, "is 7; it must be 2"),
        (
            ["batches", 1, "hosts"],
            {},
            "is an object; it must be an object of exactly the hosts that the plan has there",
        ),
        (["batches", 1, "guard", "comparisons", 0, "effect_pct"], float("nan"), "is nan; it must be a number or null"),
    ],
)
def test_what_only_the_check_finds(path: list[Any], value: Any, words: str) -> None:
    with pytest.raises(ValueError) as error:
        checking.check(damaged(path, value))
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    assert str(error.value).startswith(f"{place[1:]} {words}")


ODD = [None, "", "x", -1, 1e400, True, [], {}, [[]], {"a": {}}, [None], "\ud800"]


@pytest.mark.parametrize("odd", [pytest.param(odd, marks=pytest.mark.nightly if odd else []) for odd in ODD], ids=repr)
def test_any_damage_is_a_sentence_or_does_no_harm(odd: Any) -> None:
    rollout = stopped()
    rollout.conclude()
    for way in places(rollout.document):
        document = damaged(list(way), odd)
        try:
            checking.check(document)
        except ValueError as error:
            assert "\n" not in str(error)
            continue
        again = states.Rollout(document)
        again.conclude()
        with contextlib.suppress(ValueError):
            again.claim(here("controller9"), lambda pid: True)
        plans.lines(document, windows.parse("", "", "", NOW), NOW)
        assert again.document["headline"]
        assert again.open() == [2, 3, 4]


def test_no_change_shares_its_folder_with_evidence_or_rollouts() -> None:
    assert {*RESERVED} == {*RUN_KINDS, states.FOLDER}
