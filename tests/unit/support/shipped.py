# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the archive holds, as ansible-galaxy builds it from this checkout."""

import subprocess
import sys
import tarfile
import tempfile
from functools import lru_cache
from pathlib import Path

TOP = Path(__file__).parents[3]


@lru_cache
def shipped():
    """The files and folders of the archive."""
    galaxy = Path(sys.executable).with_name("ansible-galaxy")
    with tempfile.TemporaryDirectory() as folder:
        command = [galaxy, "collection", "build", "--output-path", folder, str(TOP)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=300)
        (archive,) = Path(folder).iterdir()
        with tarfile.open(archive) as content:
            return frozenset(content.getnames())
