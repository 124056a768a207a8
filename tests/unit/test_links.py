# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every link of the documentation to a file of this project, and to a heading in it, leads somewhere."""

import sys
from pathlib import Path

import pytest
from shipped import shipped

TOP = Path(__file__).parents[2]
sys.path.append(str(TOP / "tests" / "docs"))

from links import anchors, local_links  # noqa: E402

PAGES = sorted([*TOP.glob("*.md"), *(TOP / "docs").rglob("*.md"), *(TOP / "roles").glob("*/*.md")])


def why_not(page, link):
    """Why a link leads nowhere; empty if it leads somewhere."""
    path, _hash, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return "no such file"
    if anchor and target.suffix == ".md" and anchor not in anchors(target.read_text(encoding="utf-8")):
        return "no such heading"
    # only contributors read this page, in a checkout
    if page.name != "CONTRIBUTING.md" and str(target.relative_to(TOP)) not in shipped():
        return "not in the archive"
    return ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TOP)))
def test_links_lead_somewhere(page):
    found = {link: why_not(page, link) for link in local_links(page.read_text(encoding="utf-8"))}
    assert {link: why for link, why in found.items() if why} == {}


def test_there_are_links_to_look_at():
    assert sum(len(local_links(page.read_text(encoding="utf-8"))) for page in PAGES) > 100


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ("README.md", ""),
        ("CONTRIBUTING.md#releasing", ""),
        ("inventories/example", ""),
        ("CONTRIBUTING.md#release", "no such heading"),
        ("docs/nothing.md", "no such file"),
        ("tests/conftest.py", "not in the archive"),
        ("inventories/lab", "not in the archive"),
    ],
)
def test_a_link_that_leads_nowhere_is_found(link, why):
    assert why_not(TOP / "README.md", link) == why
    assert why_not(TOP / "CONTRIBUTING.md", link) == why.replace("not in the archive", "")
