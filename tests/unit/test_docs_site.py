# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""tests/docs: links of pages point to where the site has the file, and broken links are found."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import links
import make_site
import pytest

TOP = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("path", "link", "new"),
    [
        ("docs/measuring.md", "evidence.md#waivers", "evidence.md#waivers"),
        ("docs/decisions.md", "../SECURITY.md#privileges", "project/security.md#privileges"),
        ("docs/measuring.md", "schemas", "schemas/index.md"),
        ("docs/awx.md", "awx/settings.yml", "awx/index.md#settingsyml"),
        ("docs/guide/look.md", "../../roles/rps/README.md", "../reference/rps_role.rst"),
        ("docs/guide/look.md", "../../README.md#supported", "../index.md"),
        ("CONTRIBUTING.md", "tests/standins/aix/README.md", make_site.FORGE + "tests/standins/aix/README.md"),
    ],
)
def test_a_link_points_to_where_the_site_has_the_file(path: str, link: str, new: str) -> None:
    code = "\n```\n[text](left alone)\n```\n"
    found = make_site.page(PurePosixPath(path), f"A [text]({link}) and [more](https://example.com/).{code}")
    assert found == f"A [text]({new}) and [more](https://example.com/).{code}"


def test_a_link_to_a_file_that_is_not_on_the_site_is_an_error() -> None:
    with pytest.raises(SystemExit, match=r"docs/start\.md: \.\./tests/conftest\.py"):
        make_site.page(PurePosixPath("docs/start.md"), "[text](../tests/conftest.py)")


def test_a_readme_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Here\n")
    page = tmp_path / "README.md"
    page.write_text(
        "# Top\n[a](#top) [b](other.md#here) [c](https://e.com/x)\n[d](other.md#there) [e](no.md) [f](#no)\n"
    )
    assert [line.partition("README.md: ")[2] for line in links.lost(page)] == [
        "other.md#there: no such heading",
        "no.md: no such file",
        "#no: no such heading",
    ]


HTML = {
    "index.html": '<a href="b/two.html#here">x</a> <a href="#top">x</a> <h1 id="top">x</h1> <a href="https://e.com/">x</a>',
    "b/two.html": '<p id="here"><a href="../index.html">x</a><img src="../i/p%20q.png"></p>',
    "i/p q.png": "",
}


@pytest.mark.parametrize(
    ("name", "more", "why"),
    [
        ("index.html", "", []),
        ("index.html", '<a href="b/two.html#there">', ["index.html: b/two.html#there: no such place in the page"]),
        ("b/two.html", '<a href="../../passwd">', ["b/two.html: ../../passwd: no such file in the site"]),
        ("index.html", '<a href="http://e.com/">', ["index.html: http://e.com/: not https"]),
        ("index.html", '<img src="https://e.com/p.png">', ["index.html: https://e.com/p.png: loaded from elsewhere"]),
    ],
)
def test_a_broken_link_of_the_site_is_found(tmp_path: Path, name: str, more: str, why: list[str]) -> None:
    (tmp_path / "passwd").write_text("")
    site = tmp_path / "site"
    for path, text in HTML.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text + (more if path == name else ""))
    assert links.broken(site) == why
