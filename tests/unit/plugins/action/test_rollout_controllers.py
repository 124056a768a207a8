# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several controllers with one results folder: a rollout belongs to one run, and changes it only by name."""

from __future__ import annotations

import errno
import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail
from ansible.utils.display import Display
from ansible_collections.zpower.sap_tuning.plugins.action import rollout as action
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records import files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import state
from rollout_play import CHANGE, CHANGED, ENDED, HOSTS, Play

Here = Callable[[str], None]
TAKEN = (
    rf"^Rollout {CHANGE} no longer belongs to this run, which ends now: its last run {{run}} began at"
    r" \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d UTC on awx-2 \(process \d+\)$"
)


@pytest.fixture(name="here")
def fixture_here(monkeypatch: pytest.MonkeyPatch) -> Here:
    """Sets the host name of the controller that acts next."""
    return lambda name: monkeypatch.setattr(state.socket, "gethostname", lambda: name)


def in_batch_2(folder: Path) -> Play:
    """A rollout whose batch 2 soaks."""
    play = Play(folder)
    play.plan()
    play.good("app1")
    play.apply("app2", "app3", tuning=[CHANGED])
    return play


def run_of(play: Play) -> str:
    return str(play.kept["runs"][-1]["id"])


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_two_controllers_do_not_take_a_rollout_in_turns(tmp_path: Path, here: Here) -> None:
    here("awx-1")
    first = in_batch_2(tmp_path)
    before, run = everything(tmp_path), run_of(first)
    here("awx-2")
    second = Play(tmp_path)
    running = rf"^Rollout {CHANGE} is running: its run {run} began at \S+ \S+ UTC on awx-1 \(process \d+\)"
    for check in (False, True):
        with pytest.raises(AnsibleActionFail, match=rf"{running}.* -e rollout_take_over={run} takes it over$"):
            second.plan(check)
    assert everything(tmp_path) == before


def test_a_run_that_was_taken_over_ends_with_an_error_and_leaves_the_batch_alone(tmp_path: Path, here: Here) -> None:
    here("awx-1")
    first = in_batch_2(tmp_path)
    assert first.step("owned", "app2")["stages"]
    here("awx-2")
    second = Play(tmp_path)
    plan = second.plan(take_over=run_of(first))
    assert plan["order"] == ["app2", "app3", "app4"]
    assert plan["runs"] == [run["id"] for run in second.kept["runs"]], "hosts let it take back what the first has set"
    assert second.begin("app2", "app3")["stages"][0]["call"] == {"zpower_rollback": True}
    before = everything(tmp_path)
    taken = TAKEN.format(run=run_of(second))
    here("awx-1")
    first.call("app2", "app3")
    for step in (
        lambda: first.judge("app2", "verifying"),
        lambda: first.judge("app2", "confirming"),
        lambda: first.step("stopped", "app2"),
        lambda: first.begin("app4"),
    ):
        with pytest.raises(AnsibleActionFail, match=taken):
            step()
    with pytest.raises(ValueError, match=taken):
        first.close({}, "")
    assert not first.step("owned", "app2")["stages"], "nothing is taken back on the hosts"
    assert everything(tmp_path) == before
    here("awx-2")
    assert second.step("owned", "app2")["stages"]
    second.good("app2", "app3")
    assert second.batch(2)["state"] == "good"


def test_a_state_that_nobody_can_read_does_not_keep_the_hosts_on_probation(tmp_path: Path) -> None:
    play = in_batch_2(tmp_path)
    path = tmp_path / "rollouts" / CHANGE / "rollout.json"
    path.write_text("{")
    assert play.step("owned", "app2")["stages"]
    path.unlink()
    assert play.step("owned", "app2")["stages"]
    with pytest.raises(AnsibleActionFail, match="no longer belongs to this run, which ends now: its file has no run$"):
        play.judge("app2", "verifying")


def test_only_a_run_of_this_rollout_can_be_taken_over(tmp_path: Path, here: Here) -> None:
    with pytest.raises(AnsibleActionFail, match="rollout_take_over is 'r1', and no run of rollout"):
        Play(tmp_path).plan(take_over="r1")
    here("awx-1")
    run = run_of(in_batch_2(tmp_path))
    here("awx-2")
    second = Play(tmp_path)
    with pytest.raises(AnsibleActionFail, match=f"rollout_take_over is '{run}x', and no run of rollout {CHANGE} has"):
        second.plan(take_over=f"{run}x")
    second.plan(take_over=run)
    here("awx-3")  # the variable stays in the job template, and counts for that run only
    with pytest.raises(AnsibleActionFail, match=f"its run {run_of(second)} began .* on awx-2 "):
        Play(tmp_path).plan(take_over=run)


@pytest.fixture(name="play")
def fixture_play(tmp_path: Path) -> Play:
    return Play(tmp_path)


def test_containers_with_one_host_name_know_nothing_of_each_others_processes(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    play.plan()
    play.killed()
    monkeypatch.setattr(state.os, "readlink", lambda path: "pid:[1]")
    with pytest.raises(AnsibleActionFail, match=rf"is running: its run {run_of(play)} .*\(process {ENDED}\)"):
        play.plan()
    assert play.plan(take_over=run_of(play))["order"] == HOSTS


def as_of_0_9_0(play: Play) -> None:
    path = play.folder / "rollouts" / CHANGE / "rollout.json"
    document = play.kept
    for run in document["runs"]:
        run.pop("id", None)
        run["controller"].pop("pid_namespace", None)
    path.write_text(json.dumps(document))


def test_a_rollout_of_0_9_0_goes_on(tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    here("control1")
    play = in_batch_2(tmp_path)
    as_of_0_9_0(play)
    monkeypatch.setattr(action.state, "alive", lambda pid: True)
    with pytest.raises(AnsibleActionFail, match=r"is running: its run began at .* on control1 .* or end that process$"):
        play.plan()
    here("control2")
    plan = play.plan()
    assert plan["order"] == ["app2", "app3", "app4"]
    assert plan["runs"] == [run_of(play)]
    play.good("app2", "app3")
    as_of_0_9_0(play)  # an old version has taken it over
    with pytest.raises(AnsibleActionFail, match="no longer belongs to this run, which ends now: its last run began at"):
        play.begin("app4")
    assert not play.step("owned", "app4")["stages"]


@pytest.mark.gate
def test_one_of_two_simultaneous_starts_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one begins while the first has read that there is no rollout, and has not written its own."""
    waiting, said = threading.Event(), []
    first, second, keep, sleep = Play(tmp_path), Play(tmp_path), action.keep, files.time.sleep

    def start() -> None:
        try:
            second.plan()
        except AnsibleActionFail as error:
            said.append(str(error))
        finally:
            waiting.set()

    other = threading.Thread(target=start)
    monkeypatch.setattr(
        state.socket, "gethostname", lambda: "awx-2" if threading.current_thread() is other else "awx-1"
    )

    def keep_later(*arguments: Any) -> None:
        if other.ident is None:
            other.start()
            assert waiting.wait(300)
        keep(*arguments)

    def pause(seconds: float) -> None:
        waiting.set()
        sleep(seconds)

    monkeypatch.setattr(action, "keep", keep_later)
    monkeypatch.setattr(files.time, "sleep", pause)
    first.plan()
    other.join()
    (sentence,) = said
    assert f"is running: its run {run_of(first)} began" in sentence
    assert [run["controller"]["host"] for run in first.kept["runs"]] == ["awx-1"]


def test_without_locks_there_is_one_warning_and_still_one_start_wins(
    tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    warnings: list[str] = []
    monkeypatch.setattr(files.fcntl, "flock", refuse)
    monkeypatch.setattr(Display(), "warning", warnings.append)
    here("awx-1")
    first, second, keep = Play(tmp_path), Play(tmp_path), action.keep

    def keep_later(*arguments: Any) -> None:
        monkeypatch.setattr(action, "keep", keep)
        here("awx-2")
        second.plan()
        keep(*arguments)

    monkeypatch.setattr(action, "keep", keep_later)
    with pytest.raises(AnsibleActionFail, match="no longer belongs to this run, which ends now: its last run r"):
        first.plan()
    assert [run["controller"]["host"] for run in first.kept["runs"]] == ["awx-2"]
    (warning,) = set(warnings)  # Ansible shows the same warning once
    assert f"refuses the lock {tmp_path / 'rollouts' / CHANGE / '.lock'}: No locks available" in warning


def test_a_rollout_that_another_process_holds_is_one_sentence(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    play.plan()
    monkeypatch.setattr(state, "PATIENCE_S", 0)
    with (
        state.held(play.folder, CHANGE),
        pytest.raises(AnsibleActionFail, match=r"/\.lock on the controller: another process keeps it$"),
    ):
        play.begin("app1")


def test_a_truncated_state_is_not_believed(tmp_path: Path) -> None:
    play = in_batch_2(tmp_path)
    path = tmp_path / "rollouts" / CHANGE / "rollout.json"
    whole = path.read_bytes()
    for size in range(0, len(whole.rstrip()), 7):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=rf"^{re.escape(str(path))}: it is not JSON \(.*, line \d+\)$"):
            state.read(tmp_path, CHANGE)
        if size % 700 == 0:
            for step in (play.plan, lambda: play.judge("app2", "verifying"), lambda: play.begin("app4")):
                with pytest.raises(AnsibleActionFail, match=r"rollout\.json: it is not JSON \(.*\)$"):
                    step()
            with pytest.raises(ValueError, match=r"rollout\.json: it is not JSON \(.*\)$"):
                play.close({}, "")
            assert path.read_bytes() == whole[:size], "it stays for those who look into it"
    path.write_bytes(whole)
    play.call("app2", "app3")
    play.judge("app2", "verifying", "confirming")
