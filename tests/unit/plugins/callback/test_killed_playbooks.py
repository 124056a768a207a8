# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbooks that are killed, and two of them with one results folder."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import playing
import pytest
from playing import Started
from results_folders import check_files, leftovers
from sites import COMPLIANT, Site

PLAYBOOKS = ("zpower.sap_tuning.site", "zpower.sap_tuning.rollout")
VARIABLES = ("tune_change=tuned", "rollout_change=chg1", "rollout_canaries=2")
KILLS = 5
MOST = 30
"""A whole run writes more files than this, each version counted."""
SEED = 24


def command(number: int) -> list[str]:
    """A round of tuning records is kept once, so each start has another one."""
    return [*PLAYBOOKS, *(word for variable in (*VARIABLES, f"tune_round={number}") for word in ("-e", variable))]


def written(results: Path) -> set[tuple[str, int, int]]:
    """Each file, also a temporary one, in each of its versions that is there now."""
    found = set()
    for folder, _folders, names in os.walk(results):
        for name in names:
            path = os.path.join(folder, name)
            try:
                status = os.lstat(path)
            except FileNotFoundError:
                continue
            found.add((path, status.st_ino, status.st_mtime_ns))
    return found


def wait_for(count: int, started: Started, results: Path) -> bool:
    """Until this many files or versions of files were written; whether the program still runs then."""
    seen = before = written(results)
    while len(seen - before) < count:
        if started.poll() is not None:
            return False
        time.sleep(0.005)
        seen = seen | written(results)
    return True


def workers(folder: Path) -> list[int]:
    """The processes of a site that have not ended; from ansible-core 2.19 on, each has a session of its own."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                here = (entry / "cwd").readlink() == folder
            except OSError:  # it has ended, or is ending
                continue
            if here and state not in "ZX":
                found.append(int(entry.name))
    return found


def killed(started: Started, count: int, results: Path) -> bool:
    """Kill it after this many files; False if it ended well before."""
    if wait_for(count, started, results):
        started.kill()
    if started.wait() == 0:
        return False
    assert started.returncode == -signal.SIGKILL, started.stderr + started.stdout
    while workers(results.parent):  # those that outlive it end with their task, and write nothing
        time.sleep(0.02)
    return True


@pytest.mark.nightly
def test_a_killed_play_leaves_whole_files_and_the_next_one_goes_on(tmp_path: Path) -> None:
    site = Site(tmp_path, {"app1": COMPLIANT, "app2": COMPLIANT})
    results, numbers = tmp_path / "results", itertools.count(1)
    for most in random.Random(SEED).sample(range(1, MOST), KILLS):
        count = most
        # a busy machine may let this process see too few of the versions of a file
        while not killed(site.start(*command(next(numbers))), count, results):
            count = max(1, count // 2)
        if results.exists():
            check_files(results)
    rest = leftovers(results)
    status, said = site.play(*command(next(numbers)))
    assert status == 0 and "cannot be noted" not in said, said
    check_files(results)
    assert leftovers(results) == rest
    state = json.loads((results / "rollouts" / "chg1" / "rollout.json").read_text())
    assert state["result"] == "complete" and state["runs"][-1]["ended"]


def evidence_of(site: Site) -> dict[str, tuple[str, int]]:
    """Outcome and number of rows of each host."""
    hosts = [json.loads(path.read_text())["hosts"] for path in site.folder.glob("results/verify/*/verify.json")]
    return {host["host"]: (host["outcome"], len(host["rows"])) for one in hosts for host in one}


@pytest.fixture(name="hanging")
def fixture_hanging(tmp_path: Path) -> Iterator[Site]:
    """A site of which the second host never answers."""
    (tmp_path / "wait").touch()
    yield Site(tmp_path, {"app1": COMPLIANT, "app2": "", "app3": COMPLIANT})
    (tmp_path / "wait").unlink()


@pytest.mark.gate
def test_a_host_that_hangs_fails_and_the_others_go_on(hanging: Site) -> None:
    status, said = hanging.play("zpower.sap_tuning.verify", "-e", "zpower_host_timeout=5")
    assert status == 2 and "3 hosts: 2 ok, 1 failed. 2 rows: 2 compliant." in said, said
    assert evidence_of(hanging) == {"app1": ("ok", 1), "app2": ("failed", 0), "app3": ("ok", 1)}


@pytest.mark.gate
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_has_arrived_survives_the_end_of_the_program(hanging: Site, number: signal.Signals) -> None:
    started = hanging.start("zpower.sap_tuning.verify", "-e", "zpower_host_timeout=0")
    rows = {"app1": ("ok", 1), "app2": ("not_reached", 0), "app3": ("ok", 1)}
    while started.poll() is None and evidence_of(hanging) != rows:
        time.sleep(0.05)
    os.kill(started.pid, number)
    status = started.wait()
    assert evidence_of(hanging) == rows
    if number == signal.SIGINT:
        assert status == 99 and "3 hosts: 2 ok, 1 not reached. 2 rows: 2 compliant." in started.stdout, started.stderr


COMMAND = ("zpower.sap_tuning.rollout", "-e", "rollout_change=chg1", "-e", "rollout_canaries=2")


class Controllers(Site):
    """Hosts note each call with its controller and the runs it names, and wait while the controller's file is there."""

    def script(self, name: str, output: str) -> Path:
        path = super().script(name, output)
        runs = """$(grep -o 'confirm_runs.*' "$1" | grep -o 'r[0-9a-f]\\{12\\}' | tr '\\n' ' ')"""
        noted = f'echo "$CONTROLLER {name} {runs}" >>"{self.folder}/calls"'
        path.write_text(path.read_text().replace("cat ", f'{noted}\nwhile [ -e "$WAIT" ]; do sleep 0.1; done\ncat ', 1))
        return path

    def on(self, controller: str, *arguments: str) -> playing.Started:
        self.environment |= {"CONTROLLER": controller, "WAIT": str(self.wait(controller))}
        return self.start(*COMMAND, *arguments)

    def wait(self, controller: str) -> Path:
        return self.folder / f"wait-{controller}"

    def calls(self, controller: str) -> list[str]:
        """The hosts that this controller has called."""
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line.split()[1] for line in lines if line.startswith(f"{controller} ")]

    def runs(self, controller: str) -> set[str]:
        """The runs that the calls of this controller name, for the values on probation."""
        lines = (self.folder / "calls").read_text().splitlines()
        return {" ".join(line.split()[2:]) for line in lines if line.startswith(f"{controller} ")}

    @property
    def path(self) -> Path:
        return self.folder / "results" / "rollouts" / "chg1" / "rollout.json"

    @property
    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.path.read_text())
        return found


def end(started: playing.Started) -> tuple[int, str]:
    return started.wait(), started.stdout + started.stderr


def until(started: playing.Started, calls: Any) -> None:
    while not calls():
        assert started.poll() is None, end(started)
        time.sleep(0.05)


@pytest.fixture(name="site")
def fixture_site(tmp_path: Path) -> Controllers:
    return Controllers(tmp_path, dict.fromkeys(("app1", "app2"), COMPLIANT))


@pytest.mark.gate
def test_the_first_controller_does_not_succeed_after_another_one_took_over(site: Controllers) -> None:
    site.wait("one").touch()
    first = site.on("one")
    until(first, lambda: len(site.calls("one")) == 2)  # the preflight of the canaries
    state = site.state
    run = state["runs"][-1]["id"]
    # it runs in a container with another name
    state["runs"][-1]["controller"]["host"] = "awx-1"
    site.path.write_text(json.dumps(state))

    status, said = end(site.on("two"))
    assert status == 2 and f"is running: its run {run} began at" in said and f"-e rollout_take_over={run}" in said
    assert site.calls("two") == [] and site.state == state
    status, said = end(site.on("two", "-e", f"rollout_take_over={run}"))
    assert status == 0 and site.state["result"] == "complete", said
    assert set(site.calls("two")) == {"app1", "app2"}
    assert (site.runs("one"), site.runs("two")) == ({run}, {f"{run} {site.state['runs'][-1]['id']}"})

    complete = site.path.read_bytes()
    site.wait("one").unlink()
    status, said = end(first)
    assert status == 2 and "no longer belongs to this run, which ends now: its last run r" in said, said
    assert "the end of the rollout cannot be noted: " in said
    assert sorted(site.calls("one")) == ["app1", "app2"], "it takes nothing back"
    assert site.path.read_bytes() == complete
    evidence = site.folder / "results" / "rollout"
    results = [json.loads((path / "rollout.json").read_text())["result"] for path in sorted(evidence.iterdir())]
    assert sorted(results) == ["compliant", "error"]
