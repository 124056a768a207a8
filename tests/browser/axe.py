# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check a page with axe-core."""

from __future__ import annotations

from pathlib import Path

from devtools import Browser

AXE = Path(__file__).resolve().parents[2] / ".cache" / "browser" / "node_modules" / "axe-core" / "axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def violations(browser: Browser, axe: str) -> list[str]:
    """Return one line for each broken rule, with the first places."""
    browser.value(f"{axe}; true")
    options = f"{{resultTypes: ['violations'], preload: false, runOnly: {{type: 'tag', values: {TAGS}}}}}"
    found = browser.value(
        f"axe.run(document, {options}).then(r => [r.passes.length, r.violations.map(v =>"
        " `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map(n => n.target + ' ' + n.failureSummary).join('; ')}`)])",
        wait=True,
    )
    assert found[0] > 20, "axe has checked almost nothing"
    lines: list[str] = found[1]
    return lines
