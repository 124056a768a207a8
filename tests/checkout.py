# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of this checkout, and copies of it for tools and tests that need their own tree."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]


def files() -> list[str]:
    """Return the names of the files that git does not ignore."""
    command = ["git", "ls-files", "-z", "-co", "--exclude-standard"]
    listed = subprocess.run(command, cwd=HERE, check=True, capture_output=True, text=True).stdout
    return sorted({name for name in listed.split("\0") if name and (HERE / name).is_file()})


def copy(folder: Path) -> None:
    """Copy the files that git does not ignore to a folder."""
    for name in files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(HERE / name, folder / name)
