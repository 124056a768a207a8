# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""tests/docs: the navigation has every page, links lead to pages of the site, and broken links of HTML are found."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path, PurePosixPath

import pytest

TOP = Path(__file__).parents[2]
sys.path.append(str(TOP / "tests" / "docs"))

import links  # noqa: E402
import make_site  # noqa: E402

NAVIGATION = [entry.page for _caption, entries in make_site.navigation() for entry in make_site.every(entries)]
GENERATED = {
    "reference/index",
    *(f"{where}/index" for _title, where in make_site.SHOWN.values()),
    *(name.removesuffix(".md") for name in make_site.AROUND.values()),
} - {"index"}


def test_every_page_of_docs_is_in_the_navigation_once_and_nothing_else_is() -> None:
    twice = [page for page, count in Counter(NAVIGATION).items() if count > 1]
    assert twice == []
    assert make_site.pages_of_docs() - set(NAVIGATION) == set()
    assert set(NAVIGATION) - make_site.pages_of_docs() - GENERATED == set()
    assert GENERATED - set(NAVIGATION) == set()


def test_what_is_found_by_other_words_is_in_the_navigation() -> None:
    assert set(make_site.search_words()) <= set(NAVIGATION)


@pytest.mark.parametrize(
    ("path", "link", "new"),
    [
        ("docs/measuring.md", "evidence.md#waivers", "evidence.md#waivers"),
        ("docs/measuring.md", "#verdicts", "#verdicts"),
        ("docs/measuring.md", "../SECURITY.md", "project/security.md"),
        ("docs/decisions/identities.md", "../../SECURITY.md#privileges", "../project/security.md#privileges"),
        ("docs/measuring.md", "schemas/report-1.schema.json", "schemas/report-1.schema.json"),
        ("docs/measuring.md", "schemas", "schemas/index.md"),
        ("docs/measuring.md", "decisions", "decisions/README.md"),
        ("docs/awx.md", "awx/settings.yml", "awx/index.md#settingsyml"),
        ("docs/start.md", "../inventories/example", "inventories/example/index.md"),
        (
            "docs/guide/look.md",
            "../../inventories/example/group_vars/all.yml",
            "../inventories/example/index.md#group_varsallyml",
        ),
        ("docs/guide/look.md", "../../roles/rps/README.md", "../reference/rps_role.rst"),
        (
            "docs/guide/look.md",
            "../../plugins/modules/evidence_diff_info.py",
            "../reference/evidence_diff_info_module.rst",
        ),
        ("docs/guide/look.md", "../../README.md#supported", "../index.md"),
        ("SECURITY.md", "docs/tunings", "../tunings/index.md"),
        ("CONTRIBUTING.md", "tests/standins/aix/README.md", make_site.FORGE + "tests/standins/aix/README.md"),
    ],
)
def test_a_link_leads_to_where_the_site_has_the_file(path: str, link: str, new: str) -> None:
    code = "\n```\n[text](left alone)\n```\n"
    found = make_site.page(PurePosixPath(path), f"A [text]({link}) and [more](https://example.com/).{code}")
    assert found == f"A [text]({new}) and [more](https://example.com/).{code}"


def test_a_link_to_a_file_that_the_site_has_not_is_an_error() -> None:
    with pytest.raises(SystemExit, match=r"docs/start\.md: \.\./tests/conftest\.py"):
        make_site.page(PurePosixPath("docs/start.md"), "[text](../tests/conftest.py)")


HTML = {
    "index.html": '<a href="b/two.html#here">x</a> <a href="#top">x</a> <h1 id="top">x</h1> <a href="https://e.com/">x</a>',
    "b/two.html": '<p id="here"><a href="../index.html">x</a><img src="../i/p%20q.png"></p>',
    "i/p q.png": "",
}


@pytest.mark.parametrize(
    ("name", "more", "why"),
    [
        ("index.html", "", []),
        ("index.html", '<a href="b/three.html">', ["index.html: b/three.html: no such file in the site"]),
        ("index.html", '<a href="b/two.html#there">', ["index.html: b/two.html#there: no such place in the page"]),
        ("b/two.html", '<a href="#there">', ["b/two.html: #there: no such place in the page"]),
        ("b/two.html", '<img src="no.png">', ["b/two.html: no.png: no such file in the site"]),
        ("b/two.html", '<a href="../../passwd">', ["b/two.html: ../../passwd: no such file in the site"]),
        ("b/two.html", '<a href="b">', ["b/two.html: b: no such file in the site"]),
        ("index.html", '<a href="http://e.com/">', ["index.html: http://e.com/: not https"]),
        ("index.html", '<img src="https://e.com/p.png">', ["index.html: https://e.com/p.png: loaded from elsewhere"]),
        ("index.html", '<script src="//e.com/s.js">', ["index.html: //e.com/s.js: loaded from elsewhere"]),
        ("index.html", '<link href="https://e.com/s.css">', ["index.html: https://e.com/s.css: loaded from elsewhere"]),
    ],
)
def test_a_broken_link_of_the_site_is_found(tmp_path: Path, name: str, more: str, why: list[str]) -> None:
    (tmp_path / "passwd").write_text("")
    site = tmp_path / "site"
    for path, text in HTML.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text + (more if path == name else ""))
    assert links.broken(site) == why


WAYS = ["git+https://github.com/zpower/sap_tuning`", "https://github.com/zpower/sap_tuning/releases", "`make build`"]


def test_the_first_pages_say_where_the_collection_comes_from() -> None:
    assert make_site.FORGE == "https://github.com/zpower/sap_tuning/blob/main/"
    for page in ("README.md", "docs/start.md"):
        text = (TOP / page).read_text("utf-8").replace("sap_tuning\n", "sap_tuning`\n")
        assert [way for way in WAYS if way not in text] == [], page
    assert "--offline" in (TOP / "docs" / "start.md").read_text("utf-8")


def test_the_first_picture_stands_on_the_first_screen_and_says_that_its_figures_are_made_up() -> None:
    lines = (TOP / "README.md").read_text("utf-8").splitlines()
    (place,) = (number for number, line in enumerate(lines) if line.startswith("!["))
    assert place < lines.index("## Start") and "made up" in lines[place + 1]
    assert "made up" in (TOP / "tests" / "docs" / "index.md").read_text("utf-8")


PROMISE = r"(?:[Hh]ow often (?:verdicts are|a verdict is) right is |\[rarely )[^.]*?\]\(([^)]*)\)"


def test_a_promise_about_right_verdicts_leads_to_their_figures() -> None:
    pages = [TOP / "README.md", *(TOP / "docs").rglob("*.md")]
    links = [link for page in pages for link in re.findall(PROMISE, page.read_text("utf-8"))]
    assert len(links) == 3
    assert [link for link in links if not link.endswith("verdicts.md#how-often-is-a-verdict-right")] == []
