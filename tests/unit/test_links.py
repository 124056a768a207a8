# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every link of the documentation to a file of this project, and to a heading in it, leads somewhere."""

import re
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
PAGES = sorted([*TOP.glob("*.md"), *(TOP / "docs").rglob("*.md"), *(TOP / "roles").glob("*/*.md")])


def prose(page):
    """The lines outside of code."""
    code = False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            code = not code
        elif not code:
            yield line


def anchors(page):
    """The names under which the headings of a page can be linked to."""
    headings = [line.lstrip("#").strip() for line in prose(page) if line.startswith("#")]
    texts = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in texts}


def links(page):
    found = re.findall(r"\]\(([^)\s]+)\)", "\n".join(prose(page)))
    return [link for link in found if not link.startswith(("http:", "https:", "mailto:"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TOP)))
def test_links_lead_somewhere(page):
    broken = []
    for link in links(page):
        path, _hash, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_there_are_links_to_look_at():
    assert sum(len(links(page)) for page in PAGES) > 100
