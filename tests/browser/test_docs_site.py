# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation site, opened as files: it fits small and large windows, axe finds no problem, the search works."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from axe import violations
from devtools import Browser

DOCS = Path(__file__).resolve().parents[1] / "docs"
sys.path.insert(0, str(DOCS))

import make_site  # noqa: E402

PAGES = [
    "index.html",
    "guide/measure.html",
    "troubleshooting.html",
    "tunings/rps.html",
    "reference/sap_profile_module.html",
    "inventories/example/index.html",
    "search.html?q=rps",
]
BACKGROUND = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g)"
FIRST = 3
"""The wanted page must be among this many results of a search."""
SEARCHES = {
    "undo": "guide/take_back",
    "exit code": "codes_files_ports",
    "rps_cpus": "tunings/rps",
    "steal": "tunings/hiperdispatch",
    "firewall": "codes_files_ports",
    "python 3.6": "support",
    "SMC": "tunings/smc",
    "how long does it take": "guide/index",
}


@pytest.fixture(name="docs", scope="session")
def fixture_docs() -> str:
    make_site.build()
    return make_site.SITE.as_uri()


def search(browser: Browser, docs: str, words: str) -> list[str]:
    browser.open(f"{docs}/search.html?q={words.replace(' ', '+')}")
    finished = "document.querySelector('.search-summary')?.innerText ? resolve() : setTimeout(look, 20)"
    browser.value(f"new Promise(resolve => {{ const look = () => {finished}; look() }})", wait=True)
    links = "[...document.querySelectorAll('ul.search > li > a:first-child')].map(a => a.getAttribute('href'))"
    pages = [link.partition("#")[0].removesuffix(".html") for link in browser.value(links)]
    return list(dict.fromkeys(pages))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_loads_nothing_from_elsewhere_and_fits_every_window(
    browser: Browser, docs: str, axe: str, page: str
) -> None:
    browser.show()
    browser.open(f"{docs}/{page}")
    assert browser.complaints() == []
    asked = {e["params"]["request"]["url"] for e in browser.events if e.get("method") == "Network.requestWillBeSent"}
    assert len(asked) > 5
    assert [url for url in asked if not url.startswith((f"{docs}/", "data:"))] == []
    for scheme in ("light", "dark"):
        for width in (1280, 400):
            browser.show(width=width, scheme=scheme)
            assert browser.value("document.scrollingElement.scrollWidth") <= width
            assert (sum(map(int, browser.value(BACKGROUND))) < 200) == (scheme == "dark")
            assert violations(browser, axe) == [], (scheme, width)


def test_a_search_lists_the_wanted_page_among_the_first_results(browser: Browser, docs: str) -> None:
    found = {words: search(browser, docs, words)[:FIRST] for words in SEARCHES}
    assert {words: pages for words, pages in found.items() if SEARCHES[words] not in pages} == {}
