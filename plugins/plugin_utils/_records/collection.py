# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which version of this collection wrote a file."""

from __future__ import annotations

import json
import re
from pathlib import Path


def collection_version(top: Path) -> str:
    """The version of the collection at ``top``: of MANIFEST.json where it is installed, else of galaxy.yml."""
    try:
        return str(json.loads((top / "MANIFEST.json").read_text("utf-8"))["collection_info"]["version"])
    except (OSError, ValueError, KeyError):
        pass
    try:
        found = re.search(r"^version:\s*[\"']?([^\s\"'#]+)", (top / "galaxy.yml").read_text("utf-8"), re.MULTILINE)
    except OSError:
        found = None
    return found.group(1) if found else "unknown"
