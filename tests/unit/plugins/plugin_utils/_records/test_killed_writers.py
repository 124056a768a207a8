# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A controller that is killed while it writes records, evidence and the state of a rollout tears no file.

Most kills hit a small program that uses the same code; some hit ansible-playbook, in
tests/unit/plugins/callback/test_killed_playbooks.py.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import evidence_samples
import pytest
import records_factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import files as evidence_files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import slices
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records import record_files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import keeping, state
from records_factory import START
from results_folders import check_files, leftovers
from rollout_samples import made_plan

CHANGE = "smc-2026"
AT = "2026-11-28T21:00:00Z"
CONTROLLER = {"host": "controller1", "pid": 4711, "pid_namespace": ""}
MOMENTS = 45
SEED = 24
CALLS = {"open", "write", "flush", "fchmod", "fsync", "close", "replace", "unlink", "mkdir", "flock"}


def killed(work: Callable[[], None], number: int) -> bool:
    """Do the work in a child that gets SIGKILL before this one (from 1) of these calls; whether it came to that one."""
    child = os.fork()
    if child == 0:
        left = itertools.count(1)

        def watch(_frame: object, event: str, function: Any) -> None:
            if event == "c_call" and function.__name__ in CALLS and next(left) == number:
                os.kill(os.getpid(), signal.SIGKILL)

        status = 1
        try:
            sys.setprofile(watch)
            work()
            status = 0
        finally:
            os._exit(status)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert ended in (0, -signal.SIGKILL)
    return ended != 0


def write_rollout(results: Path, step: Any) -> None:
    with state.held(results, CHANGE):
        rollout = state.read(results, CHANGE) or state.new(CHANGE, "0.9.0", made_plan())
        step(rollout)
        keeping.keep(rollout, results)


def begin(rollout: state.Rollout) -> None:
    """A start as often as it likes: after a kill nobody has noted whether there was one."""
    if not rollout.runs():
        run = {"id": "r1", "began": AT, "controller": CONTROLLER, "evidence": "", "ansible_core": "2.21.5"}
        rollout.began(run)
    if 1 in rollout.open():
        rollout.begin(1, AT)
        rollout.document["batches"][0]["attempt"] = 1


def writing(results: Path) -> Iterator[None]:
    """Everything that a play writes; it stops after each file or group of files."""
    for hour, phase in enumerate(("before", "after")):
        record = records_factory.make_record([50.0, 51.0], phase=phase, started=START + timedelta(hours=hour))
        record_files.store(results, record, replace_old=True)
        record_files.store(results, records_factory.make_tunings("app1", phase, 1), replace_old=True)
        yield
    for ended in (None, "2026-11-20T10:02:13Z"):
        made = evidence_samples.site(ended=ended)
        evidence_files.write(made, results / "verify" / "20261120T100000Z")
        yield
    folder = slices.folder_of(results, "verify", "nightly")
    slices.write(evidence_samples.site(), folder / slices.FOLDER / "20261120T100000Z-0123abcd.json")
    yield
    for step in (begin, lambda rollout: rollout.stage(1, "applying", AT), lambda rollout: rollout.end(1, True, AT)):
        write_rollout(results, step)
        yield


def write_all(results: Path) -> None:
    for _step in writing(results):
        pass


@pytest.fixture(scope="module", name="versions")
def fixture_versions(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, set[bytes]]:
    """{path in the folder: each content that the file may have}."""
    folder = tmp_path_factory.mktemp("whole")
    found: dict[Path, set[bytes]] = defaultdict(set)
    for _step in writing(folder):
        for path in check_files(folder):
            found[path.relative_to(folder)].add(path.read_bytes())
    assert len(found) == 22 and max(map(len, found.values())) == 3
    return found


@pytest.mark.nightly
def test_a_kill_at_any_moment_tears_nothing(tmp_path: Path, versions: dict[Path, set[bytes]]) -> None:
    last = 1
    while killed(lambda: write_all(tmp_path / "all"), last * 2):
        last *= 2
    moments = random.Random(SEED).sample(range(1, last + 1), MOMENTS)
    for number in moments:
        results = tmp_path / str(number)
        assert killed(lambda results=results: write_all(results), number), number
        for path in check_files(results):
            assert path.read_bytes() in versions[path.relative_to(results)], (number, path)
        rest = leftovers(results)
        write_all(results)
        whole = check_files(results)
        assert {path.relative_to(results) for path in whole} == set(versions), number
        assert state.read(results, CHANGE).open() == [2, 3, 4]  # type: ignore[union-attr]
        assert rest <= leftovers(results) == rest, "the next run leaves nothing more"
