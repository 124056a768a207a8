# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of the results folder: who may replace them, and what a kill in the middle leaves."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._pages.writing import write_formats
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records import files, record_files

FORK = multiprocessing.get_context("fork")


def written(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def write_record(folder: Path) -> None:
    record_files.write_json(folder / "change" / "app1" / "record.json", {"a": 1}, folder)


def write_report(folder: Path) -> None:
    write_formats({"md": lambda: iter(["text\n"])}, (), (folder / "report", "report"), ["md"], check=False)


@pytest.mark.gate
@pytest.mark.parametrize("write", [write_record, write_report])
def test_a_worker_that_outlives_its_main_process_writes_nothing(tmp_path: Path, write: Callable[[Path], None]) -> None:
    (tmp_path / "results").mkdir()
    to_worker, from_main = FORK.Pipe()
    from_worker, to_test = FORK.Pipe()

    def work() -> None:
        write(tmp_path / "results" / "alive")
        to_test.send("alive")
        to_worker.recv()  # until the main process is gone
        try:
            write(tmp_path / "results" / "orphan")
        except ValueError as error:
            to_test.send(str(error))
        else:
            to_test.send("it was written")

    def main() -> None:
        worker = FORK.Process(target=work)
        worker.start()
        worker.join()

    # a process of its own stands for ansible-playbook; no multiprocessing process would leave its worker behind
    victim = os.fork()
    if victim == 0:
        try:
            main()
        finally:
            os._exit(0)
    assert from_worker.poll(300) and from_worker.recv() == "alive"
    os.kill(victim, signal.SIGKILL)
    os.waitpid(victim, 0)
    from_main.send("now")
    assert from_worker.poll(300)
    assert from_worker.recv() == f"nothing is written: the main process {victim} has ended"
    assert written(tmp_path / "results" / "alive")
    assert written(tmp_path / "results" / "orphan") == []


def test_a_file_is_on_the_disk_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a power cut could leave an empty file in the place of a whole one."""
    steps: list[str] = []

    def noting(name: str) -> Any:
        real = getattr(os, name)

        def call(*given: Any, **more: Any) -> Any:
            kind = "folder" if name == "fsync" and os.path.isdir(f"/proc/self/fd/{given[0]}") else "file"
            steps.append(f"{name} {kind}")
            return real(*given, **more)

        return call

    for name in ("fsync", "replace"):
        monkeypatch.setattr(files.os, name, noting(name))
    write_record(tmp_path)
    assert steps == ["fsync file", "replace file", "fsync folder"]


def test_a_folder_has_one_holder_of_its_lock(tmp_path: Path) -> None:
    with files.locked(tmp_path / "a", tmp_path, 0) as refused:
        assert refused == ""
        with pytest.raises(TimeoutError, match="another process keeps it"), files.locked(tmp_path / "a", tmp_path, 0):
            pass
    with files.locked(tmp_path / "a", tmp_path, 0) as refused:
        assert refused == ""


def test_the_lock_of_a_folder_belongs_to_its_group_as_the_folder_does(tmp_path: Path) -> None:
    """Otherwise only the user who made it could go on with a rollout in a shared results folder. Anybody who may read
    it could keep the lock, and stop all rollouts."""
    before = os.umask(0o002)
    try:
        with files.locked(tmp_path / "a", tmp_path, 0):
            pass
    finally:
        os.umask(before)
    assert [(tmp_path / "a" / name).stat().st_mode & 0o777 for name in ("", ".lock")] == [0o775, 0o660]
