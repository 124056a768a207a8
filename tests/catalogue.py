# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of docs/tunings/index.md that modules and code know. `make generate` writes it, a test compares it."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path

import generate

PAGE = generate.PAGES / "index.md"
BEGIN, END = "<!-- tunings: begin, by make generate -->\n", "<!-- tunings: end -->"
ABOUT = generate.HERE / "plugins" / "module_utils" / "_tunings" / "_about.py"
SYSTEMS = {"linux": "Linux", "aix": "AIX"}
# Tuning.restart and what it means for an administrator
EFFECT = {
    "none": "at once, and after each boot",
    "device": "when the device is configured again, which AIX does at once unless it is busy, or after a reboot",
    "instance": "when the SAP instance is restarted",
}


def systems(module: Path) -> str:
    """Where a module acts: its own attribute, else that of all tunings."""
    given = generate.documentation(module).get("attributes", {})
    shared = generate.documentation(generate.FRAGMENT)["attributes"]
    names = {**shared["platform"], **given.get("platform", {})}["platforms"]
    return ", ".join(SYSTEMS[name.strip()] for name in names.split(","))


def table() -> str:
    """A line for each tuning, in the order of their names."""
    restart = runpy.run_path(str(ABOUT))["RESTART"]
    lines = ["| tuning | what it does | systems | takes effect |", "|---|---|---|---|"]
    for name in sorted(generate.TUNINGS):
        module = generate.MODULES / f"{name}.py"
        said = generate.documentation(module)["short_description"]
        effect = EFFECT[restart.get(name, "none")]
        lines.append(f"| [{name}]({name}.md) | {said} | {systems(module)} | {effect} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """The page with the current table."""
    return generate.between_marks(PAGE, table(), BEGIN, END)


def files() -> Iterator[tuple[Path, str]]:
    yield PAGE, page()
