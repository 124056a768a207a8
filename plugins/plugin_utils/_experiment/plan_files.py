# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of an experiment on the disk, and what was measured of it: what a second run needs to go on."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from .._records import record_files
from .._records.files import folder_below
from .plans import Plan, Step, done, steps, validate

FILE = "experiment.json"
UNFINISHED = "unfinished-"
"""Beside the folders of the hosts, where nobody looks for records."""


def read(results: Path | str, change: str) -> dict[str, Any] | None:
    """The plan of a change; None if there is none, ValueError in one sentence where it cannot be used."""
    path = record_files.change_folder(results, change) / FILE
    try:
        given = record_files.read_json(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} cannot be used: {record_files.sentence(error)}") from error
    wrong = validate(given, change)
    if wrong:
        raise ValueError(f"{path} cannot be used: {wrong}")
    plan: dict[str, Any] = given
    return plan


def write(results: Path | str, plan: Plan) -> Path:
    """Write the plan to its place and return that."""
    path = record_files.change_folder(results, plan["change"]) / FILE
    record_files.write_json(path, plan, results)
    return path


def finished(plan: Plan, loaded: record_files.Loaded, hosts: Collection[str]) -> dict[str, set[Step]]:
    """The finished steps of each of these hosts."""
    found = {}
    for host in hosts:
        tuned = [(file["phase"], file["round"]) for file in loaded.tunings if file["host"] == host]
        measured = [(item.phase, item.number) for item in loaded.records if item.host == host]
        found[host] = done(plan, tuned, measured)
    return found


def set_aside(results: Path | str, plan: Plan, loaded: record_files.Loaded, ready: Mapping[str, set[Step]]) -> int:
    """Move what unfinished steps of these hosts left to ``<change>/unfinished-<session>-<host>-<file>``; how many.

    Nothing is lost, and nothing stands in the way of the step when it is done again.
    """
    folder = record_files.change_folder(results, plan["change"])
    count = 0
    for path in sorted(set(_left(results, plan, loaded, ready))):
        aside = f"{UNFINISHED}{len(plan['sessions'])}-{path.parent.name}-{path.name}"
        with folder_below(path.parent, Path(results)) as old, folder_below(folder, Path(results)) as new:
            os.rename(path.name, aside, src_dir_fd=old, dst_dir_fd=new)
        count += 1
    return count


def _left(
    results: Path | str, plan: Plan, loaded: record_files.Loaded, ready: Mapping[str, set[Step]]
) -> Iterator[Path]:
    planned = set(steps(plan))
    for item in loaded.records:
        if (item.phase, item.number) in planned - ready.get(item.host, planned):
            ids = {"change": plan["change"], "phase": item.phase, "round": item.number, "host": item.host}
            yield record_files.record_path(
                results, {**ids, "workload": {"name": item.workload.name}, "peer": item.peer}
            )
    for file in loaded.tunings:
        if (file["phase"], file["round"]) in planned - ready.get(file["host"], planned):
            yield record_files.tunings_path(results, file)
