# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a SAP profile of 10,000 lines costs."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.profile import Profile, marker
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.writing import write

LINES = 10_000


def figures() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        small, large = (
            statistics.median(changed(Path(folder) / "PRD_D00_app1", lines) for _repeat in range(9))
            for lines in (LINES // 10, LINES)
        )
    name = "profile_10000_lines"
    yield {"name": f"{name}_parse_plan_write", "value": round(large, 3), "unit": "s", "goal": "<= 0.3"}
    # what is read and written a line at a time grows with the lines, and no faster
    yield {"name": f"{name}_over_1000", "value": round(large / small, 1), "unit": "times", "goal": "<= 15"}


def profile(lines: int) -> str:
    """A profile whose every tenth line is a comment."""
    return "".join(f"{'# ' if n % 10 == 0 else ''}rdisp/number_{n} = value of line {n}\n" for n in range(lines))


def changed(path: Path, lines: int) -> float:
    """Seconds to read a profile, change, add and take out a parameter, and put it in its place, durably."""
    path.write_text(profile(lines), encoding="utf-8")
    start = time.monotonic()
    old = Profile(path.read_bytes())
    wanted = {f"rdisp/number_{lines - 1}": "new", "enque/table_size": "640000", "rdisp/number_5": None}
    new = old.changed({name: old.wanted(name, value) for name, value in wanted.items()}, marker("2026-11-20", "bench"))
    write(Host(), str(path), old.data(), new.data())
    return time.monotonic() - start
