# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of the evidence in Chromium: its filters work without a script, and it fits on a small screen."""

from __future__ import annotations

import pytest
from devtools import Browser
from site_of_pages import EVIDENCE, ROLLOUTS, Site

SHOWN = "[...document.querySelectorAll('.matrix tbody tr')].filter(r => r.checkVisibility()).length"
FILTERS = """[...document.querySelectorAll('[type=radio]')].map(r =>
  [r.id, +r.closest('label').querySelector('b').textContent])"""
COLUMNS = "[...document.querySelectorAll('.matrix thead th')].filter(r => r.checkVisibility()).map(r => r.textContent)"
OUTSIDE = """[...document.querySelectorAll('main *')].filter(e => {
  const r = e.getBoundingClientRect();
  return e.checkVisibility() && r.width > 1 && (r.right > innerWidth + 1 || r.left < 0);
}).map(e => e.tagName + ' ' + e.textContent.trim().slice(0, 60))"""


@pytest.mark.parametrize("name", [*EVIDENCE, *ROLLOUTS])
def test_nothing_but_the_page_is_loaded_and_nothing_is_complained_of(browser: Browser, site: Site, name: str) -> None:
    site.requests.clear()
    browser.show()
    browser.open(site.url(name))
    assert [path for path in site.requests if path != "/favicon.ico"] == [f"/{name}/report.html"]
    assert browser.complaints() == []


@pytest.mark.parametrize("name", EVIDENCE)
def test_each_filter_shows_as_many_hosts_as_it_says(browser: Browser, site: Site, name: str) -> None:
    browser.show()
    browser.open(site.url(name))
    told = browser.value(FILTERS)
    assert len(told) > 3
    for ident, count in told:
        browser.value(f"document.getElementById('{ident}').click(); true")
        assert browser.value(SHOWN) == count, ident


def test_a_tuning_can_be_hidden(browser: Browser, site: Site) -> None:
    browser.show()
    browser.open(site.url("verify"))
    browser.value("document.getElementById('tuning-1').click(); true")
    assert browser.value(COLUMNS) == ["Host", "rps", "smc_r", "platform"]


def test_filters_are_reached_by_keyboard(browser: Browser, site: Site) -> None:
    browser.show()
    browser.open(site.url("verify"))
    browser.value("document.getElementById('show-all').focus(); true")
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="ArrowRight", code="ArrowRight", windowsVirtualKeyCode=39)
    assert browser.value("document.activeElement.id") == "show-bad"
    assert browser.value(SHOWN) == 9


def test_on_paper_every_host_stands_and_no_filter(browser: Browser, site: Site) -> None:
    browser.show()
    browser.open(site.url("verify"))
    browser.value("document.getElementById('show-drifted').click(); true")
    assert browser.value(SHOWN) == 4
    browser.show(media="print")
    assert browser.value(SHOWN) == 12
    assert browser.value("document.querySelector('.filters').checkVisibility()") is False


@pytest.mark.parametrize("name", EVIDENCE)
def test_on_a_small_screen_everything_is_within_view(browser: Browser, site: Site, name: str) -> None:
    browser.show(width=390)
    browser.open(site.url(name))
    browser.value("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.value("document.scrollingElement.scrollWidth") <= 390
    assert browser.value(OUTSIDE) == []
