# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of an experiment on disk and its finished steps: everything that a second run needs to resume it."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from .._records import record_files
from .._records.files import folder_below
from .plans import Plan, Step, check_plan, steps

FILE = "experiment.json"
UNFINISHED = "unfinished-"
"""Files with this prefix lie beside the folders of the hosts, where no record is read."""


def read(results: Path | str, change: str) -> Plan | None:
    """The plan of a change; None if there is none, ValueError in one sentence if it cannot be used."""
    return record_files.read_checked(
        record_files.change_folder(results, change) / FILE, lambda given: check_plan(given, change)
    )


def write(results: Path | str, plan: Plan) -> Path:
    """Write the plan to its place and return that."""
    path = record_files.change_folder(results, plan["change"]) / FILE
    record_files.write_json(path, plan, results)
    return path


def set_aside(results: Path | str, plan: Plan, loaded: record_files.Loaded, ready: Mapping[str, set[Step]]) -> int:
    """Set the files of unfinished steps of these hosts aside, so that the steps can be done again; how many."""
    planned = set(steps(plan))

    def unfinished(host: str, phase: str, number: int) -> bool:
        return (phase, number) in planned - ready.get(host, planned)

    return move_aside(results, loaded, unfinished, len(plan["sessions"]))


def move_aside(
    results: Path | str, loaded: record_files.Loaded, chosen: Callable[[str, str, int], bool], session: int
) -> int:
    """Move records to ``<change>/unfinished-<session>-<host>-<file>``, where none is lost or overwritten; how many.

    ``chosen``: whether the records of this host, phase and round are moved.
    """
    measured = (
        record_files.path_of(results, loaded.change, item)
        for item in loaded.records
        if chosen(item.host, item.phase, item.number)
    )
    tuned = (
        record_files.record_path(results, item)
        for item in loaded.tunings
        if chosen(item["host"], item["phase"], item["round"])
    )
    folder, paths = record_files.change_folder(results, loaded.change), sorted({*measured, *tuned})
    for path in paths:
        aside = f"{UNFINISHED}{session}-{path.parent.name}-{path.name}"
        more = 1
        while os.path.lexists(folder / aside):
            more += 1
            aside = f"{UNFINISHED}{session}.{more}-{path.parent.name}-{path.name}"
        with folder_below(path.parent, Path(results)) as old, folder_below(folder, Path(results)) as new:
            os.rename(path.name, aside, src_dir_fd=old, dst_dir_fd=new)
    return len(paths)
