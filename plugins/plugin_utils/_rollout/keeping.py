# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a rollout after each step, and at the end of a run, also if Ansible ended it before any gate."""

import os
import urllib.parse
from collections.abc import Mapping
from pathlib import Path

from .._pages.pages import page_formats
from .._pages.text import plural
from .._pages.writing import write_formats
from . import stages, state
from .checking import BatchState, Document
from .page import make_page

FORMATS = page_formats(make_page)


def keep(rollout: state.Rollout, results: Path | str) -> dict[str, str]:
    """Save the state, then write ``rollout.html`` and ``rollout.md`` beside it; their paths.

    Errors as of :func:`state.Rollout.save` and :func:`write_formats`.
    """
    folder = rollout.save(results).parent
    given = rollout.document, links(rollout.document, folder)
    return write_formats(FORMATS, given, (folder, "rollout"), tuple(FORMATS), check=False).paths


def links(document: Document, folder: Path) -> dict[str, str]:
    """The addresses of the guard's reports, seen from the folder of the page."""
    reports = [batch["guard"]["report"] for batch in document["batches"] if batch["guard"]]
    return {path: urllib.parse.quote(os.path.relpath(path, folder)) for path in reports if path}


def close(results: Path | str, change: str, run: str, lost: Mapping[str, str], evidence: str, at: str) -> str:
    """Note the end of a run, and end a batch that no gate has ended; the path of the summary.

    ``lost``: {host: why} of hosts that failed or could not be reached; ``evidence``: the folder of this run.
    OSError, ValueError as from the state file, or if another run has taken the rollout over.
    """
    with state.held(results, change):
        rollout = state.read(results, change)
        if rollout is None:
            return ""
        rollout.own(run)
        for batch in rollout.document["batches"]:
            if batch["state"] == "running":
                _end(rollout, batch, lost, at)
            # a gate only knows that a host is gone
            gone = [host for host, one in batch["hosts"].items() if one["reasons"] == [stages.LOST] and host in lost]
            for host in gone:
                batch["hosts"][host]["reasons"] = [lost[host]]
            told = {f"{host}: {stages.LOST}": f"{host}: {lost[host]}" for host in gone}
            batch["reasons"] = [told.get(reason, reason) for reason in batch["reasons"]]
        rollout.ended(at, evidence, rollout.document["runs"][-1]["reason"])
        return keep(rollout, results)["html"]


def _end(rollout: state.Rollout, batch: BatchState, lost: Mapping[str, str], at: str) -> None:
    number, stage = batch["number"], batch["stage"]
    members = rollout.members(number)
    gates = {host: stages.host_state("lost", reasons=[lost.get(host, stages.LOST)]) for host in members}
    rollout.note_gates(number, stages.BY_NAME[stage], gates)
    shown = [f"{host}: {lost[host]}" for host in batch["hosts"] if host in lost]
    rollout.end(number, False, at, shown or [f"the run ended while {stage}, with {plural(len(members), 'host')}"])
