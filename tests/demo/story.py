# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last lines of the demo: the levels, their effects, the level that was kept, and whether the hosts were restored.

story.py kept FOLDER    succeeds if a level was kept
story.py tell FOLDER    prints the story; fails if the experiment is incomplete or a host has changed
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

Found = dict[str, list[str]]
"""Values and checksums that found.yml read, by host."""


def kept(report: dict[str, Any]) -> str | None:
    """Return the level that the hosts were left with."""
    level: str | None = report["experiment"]["progress"]["sessions"][-1]["kept"]
    return level


def story(report: dict[str, Any], first: Found, last: Found, page: Path) -> list[str]:
    """Return the lines of the story."""
    experiment = report["experiment"]
    levels = [level for level in experiment["levels"] if not level["baseline"]]
    hosts = ", ".join(host["host"] for host in experiment["progress"]["hosts"])
    reasons = {row["contrast"]: row["reason"].rstrip(".") for row in reversed(report["pooled"])}
    width = max(len(level["name"]) for level in levels)
    names = " and ".join(level["name"] for level in levels)
    rounds = experiment["rounds"]
    return [
        f"Tried:   RPS {names}, against {experiment['baseline']}: {rounds} rounds of each in random order on {hosts}.",
        *(
            f"         {level['name']:{width}}  {level['verdict']}: {reasons.get(level['name'], 'no data')}"
            for level in levels
        ),
        f"Kept:    {kept(report) or 'nothing'}. {experiment['reason']}",
        f"Hosts:   {as_found(first, last)}{' Rollback took the level back.' if kept(report) else ''}",
        f"Report:  {page}",
        "         Two hosts in one kernel show how the tools work, not what RPS does for your machines.",
    ]


def as_found(first: Found, last: Found) -> str:
    """Return in one sentence whether the hosts are as they were."""
    if not first or not all(first.values()):
        return "nothing could be read from them before the experiment."
    changed = [f"{host} {line}" for host in sorted(first) for line in sorted({*first[host]} ^ {*last.get(host, ())})]
    if changed:
        return f"NOT as they were: {'; '.join(changed)}"
    count = sum(len(lines) for lines in first.values())
    return f"as they were: all {count} values and files that were read before the experiment are the same after it."


def problems(report: dict[str, Any], first: Found, last: Found) -> list[str]:
    """Return the reasons why the demo has failed."""
    found = []
    if not report["experiment"]["progress"]["complete"]:
        found.append("the experiment is not complete")
    if not first or not all(first.values()) or first != last:
        found.append("the hosts are not as they were")
    return found


def read(path: Path) -> Found:
    """Read a file of found.yml; the kernel lists files in any order."""
    return {host: sorted(lines) for host, lines in json.loads(path.read_text()).items()}


def main() -> int:
    """Run one of the two commands."""
    action, folder = sys.argv[1], Path(sys.argv[2]).resolve()
    report = json.loads((folder / "report.json").read_text())
    if action == "kept":
        return 0 if kept(report) else 1
    first, last = (read(folder / f"found-{when}.json") for when in ("first", "last"))
    print("\n" + "\n".join(story(report, first, last, folder / "report.html")))
    wrong = problems(report, first, last)
    if wrong:
        print(f"demo: {' and '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
