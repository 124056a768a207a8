# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every page checked by axe-core, as it is seen in light, dark, on paper, small and at 200 % zoom."""

from __future__ import annotations

from typing import Any

import pytest
from axe import violations
from devtools import Browser
from site_of_pages import EVERYTHING, Site

VIEWS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"scheme": "dark"},
    "print": {"media": "print", "width": 720},
    "zoomed": {"zoom": 2},
    "phone": {"width": 390},
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", EVERYTHING)
def test_axe_finds_nothing(browser: Browser, site: Site, axe: str, name: str, view: str) -> None:
    browser.show(**VIEWS[view])
    browser.open(site.url(name))
    browser.value("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert violations(browser, axe) == []


def test_axe_finds_something_where_there_is_something(browser: Browser, site: Site, axe: str) -> None:
    browser.show()
    browser.open(site.url("improved"))
    browser.value("document.querySelector('h1').style.color = '#ddd'; document.querySelector('svg').remove(); true")
    browser.value("document.querySelector('table').insertAdjacentHTML('beforebegin', '<img src=\"data:,\">'); true")
    found = violations(browser, axe)
    assert {line.partition(":")[0] for line in found} >= {"color-contrast", "image-alt"}


@pytest.mark.parametrize("name", EVERYTHING)
def test_at_200_percent_nothing_is_lost_and_the_page_does_not_scroll_sideways(
    browser: Browser, site: Site, name: str
) -> None:
    browser.show(zoom=2)
    browser.open(site.url(name))
    assert browser.value("window.innerWidth") == 640
    assert browser.value("document.scrollingElement.scrollWidth") <= 640
    # what is wider than the window lies in a region of its own that scrolls and that the keyboard reaches
    wide = (
        "[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > 641"
        " && !e.closest('.scroll') && getComputedStyle(e).visibility !== 'hidden').map(e => e.outerHTML.slice(0, 80))"
    )
    assert browser.value(wide) == []
