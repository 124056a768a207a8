# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-playbook is killed while it writes records, evidence and the state of a rollout.

More kills, of a small program with the same code: tests/unit/plugins/plugin_utils/_records/test_killed_writers.py.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

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


def workers(session: int) -> list[int]:
    """The processes of a session that have not ended."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _parent, _group, of = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            except OSError:
                continue
            if int(of) == session and state not in "ZX":
                found.append(int(entry.name))
    return found


def killed(started: Started, count: int, results: Path) -> bool:
    """Kill it after this many files; False if it ended well before."""
    if wait_for(count, started, results):
        started.kill()
    if started.wait() == 0:
        return False
    assert started.returncode == -signal.SIGKILL, started.stderr + started.stdout
    while workers(started.pid):  # those that outlive it end with their task, and write nothing
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
