# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A results folder in which a process was killed: its files are whole, and their later readers read them."""

from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import files, shapes
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records import record_files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import state

TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")
LOCK = ".lock"


def leftovers(results: Path) -> set[Path]:
    """Return the temporary files; every hidden file other than a lock is an error."""
    hidden = {path for path in results.rglob(".*") if path.name != LOCK}
    assert all(TEMPORARY.fullmatch(path.name) for path in hidden), hidden
    return hidden


def check_files(results: Path) -> list[Path]:
    """Return all files below the folder with their final name, after their readers have read all JSON among them."""
    for change in sorted(path.name for path in results.iterdir() if path.is_dir()):
        if change == state.FOLDER:
            for folder in (results / change).iterdir():
                state.read(results, folder.name)
        elif change in shapes.RUN_KINDS:
            for path in (results / change).rglob("*.json"):
                if not path.name.startswith("."):
                    files.read(path)
        else:
            problems = record_files.load_change(results, change).problems
            assert all(re.search(r"/\..+\.tmp: not a record file; left out\.$", said) for said in problems), problems
    return [path for path in sorted(results.rglob("*")) if path.is_file() and not path.name.startswith(".")]
