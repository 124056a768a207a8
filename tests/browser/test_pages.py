# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every page once in a real browser: it loads nothing, and is correct in light, dark, print, small and zoomed views."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from axe import violations
from devtools import Browser
from site_of_pages import EVERYTHING, PAGES, REPORTS, Site

VIEWS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"scheme": "dark"},
    "print": {"media": "print", "width": 720},
    "zoomed": {"zoom": 2},
    "phone": {"width": 390},
}
COLOURS = {"light": "rgb(255, 255, 255)", "dark": "rgb(17, 22, 29)"}
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
OPEN = "document.querySelectorAll('details').forEach(d => d.open = true)"
WIDTH = "document.scrollingElement.scrollWidth"
# The number of lines of the headline ``h``.
LINES = "parseFloat(getComputedStyle(h).height) / parseFloat(getComputedStyle(h).lineHeight)"
LONGEST = f"h.textContent = '{'The noise of 8 hosts, measured. ' * 4}'"
# Everything wider than the window is in a region of its own that scrolls and that the keyboard reaches.
WIDE = """[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1
  && !e.closest('.scroll') && getComputedStyle(e).visibility !== 'hidden').map(e => e.outerHTML.slice(0, 80))"""
OUTSIDE = """[...document.querySelectorAll('main *')].filter(e => {
  const r = e.getBoundingClientRect();
  return e.checkVisibility() && r.width > 1 && (r.right > innerWidth + 1 || r.left < 0);
}).map(e => e.tagName + ' ' + e.textContent.trim().slice(0, 60))"""
CUT_COLUMNS = """[...document.querySelectorAll('.scroll, .scroll td, .scroll tbody th')].filter(e => {
  const r = e.getBoundingClientRect();
  return e.checkVisibility() && (r.right > innerWidth + 1 || r.left < 0 || e.scrollWidth > e.clientWidth + 1);
}).map(e => e.textContent.trim().slice(0, 60))"""
UNNAMED = """[...document.querySelectorAll('.scroll table:not(.glance) td:not([colspan], .drawn)')].filter(e =>
  e.checkVisibility() && !/^"?(attr\\(data-label\\) ":"|.+:"?)$/.test(getComputedStyle(e, '::before').content)
).length"""
CUT_VERDICTS = (
    "[...document.querySelectorAll('.results')].filter(t => t.scrollWidth > t.parentElement.clientWidth).length"
)
OVERLAPS = """[...document.querySelectorAll('svg[role=img]')].filter(s => s.checkVisibility()).flatMap(s => {
  const all = [...s.querySelectorAll('text')].map(e => [e.getBoundingClientRect(), e.lastChild?.textContent]);
  return all.flatMap(([a, one], i) => all.slice(i + 1).filter(([b]) =>
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4 &&
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
  ).map(([b, other]) => `${one} | ${other}`));
})"""
HEADINGS = "[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(h => +h.tagName[1])"
CAPTIONS = "[...document.querySelectorAll('table')].every(t => t.caption?.textContent.trim())"


@pytest.mark.parametrize("name", EVERYTHING)
def test_a_page_is_correct_in_every_view(browser: Browser, site: Site, axe: str, name: str) -> None:
    site.requests.clear()
    browser.show()
    browser.open(site.url(name))
    found = [*as_it_opens(browser, name), *with_everything_open(browser, name)]
    found += [f"complaint: {text}" for text in browser.complaints()]
    asked = {e["params"]["request"]["url"] for e in browser.events if e.get("method") == "Network.requestWillBeSent"}
    paths = [path for path in site.requests if path != "/favicon.ico"]
    if (asked, paths) != ({site.url(name)}, [f"/{name}/report.html"]):
        found.append(f"loaded: {asked} {paths}")
    for view, options in VIEWS.items():
        browser.show(**options)
        found += [f"{view}: {line}" for line in violations(browser, axe)]
    assert found == []


def as_it_opens(browser: Browser, name: str) -> Iterator[str]:
    """Yield a line for each problem while parts are folded."""
    for scheme in ("dark", "light") if name in PAGES else ():
        browser.show(scheme=scheme)
        if browser.value(BACKGROUND) != COLOURS[scheme]:
            yield f"{scheme}: the style sheet has no effect"
    for width in (1280, 390):
        browser.show(width=width, height=844)
        if name in PAGES and (overlaps := browser.value(OVERLAPS)):
            yield f"texts overlap at {width}: {overlaps}"
        for place in (".badge.big", "#next li") if name in REPORTS and name != "hostile" else ():
            if browser.value(f"document.querySelector('{place}').getBoundingClientRect().top") >= 844:
                yield f"{place} is below the first screen at {width}"
    browser.show(width=800)
    if name in REPORTS and browser.value(CUT_VERDICTS):
        yield "verdicts are cut on a tablet"
    browser.show()
    if name in PAGES:
        if browser.value("getComputedStyle(document.querySelector('.frame')).maxWidth") != "1280px":
            yield "the frame has another width"
        yield from told_to_screen_readers(browser)
    if not 1 <= round(browser.value(f"(h => {LINES})(document.querySelector('h1'))"), 1) <= 2:
        yield "the headline has more than two lines"
    long = f"(h => {{ const own = h.textContent; {LONGEST}; const n = {LINES}; h.textContent = own; return n }})"
    if browser.value(f"{long}(document.querySelector('h1'))") > 2.1:
        yield "the longest headline has more than two lines"


def told_to_screen_readers(browser: Browser) -> Iterator[str]:
    levels = browser.value(HEADINGS)
    if levels[0] != 1 or any(later - earlier > 1 for earlier, later in zip(levels, levels[1:], strict=False)):
        yield f"levels of headings: {levels}"
    if browser.value(CAPTIONS) is not True:
        yield "a table without a caption"
    browser.call("Accessibility.enable")
    nodes = [node for node in browser.call("Accessibility.getFullAXTree")["nodes"] if not node.get("ignored")]
    roles = [node["role"]["value"] for node in nodes]
    for role in ("banner", "navigation", "main", "contentinfo"):
        if roles.count(role) != 1:
            yield f"{roles.count(role)} of {role}"
    drawings = [node for node in nodes if node["role"]["value"] in ("image", "img")]
    if not all(node.get("name", {}).get("value") for node in drawings):
        yield "a drawing without a name"
    if not drawings and browser.value("document.querySelector('.glance') === null"):
        yield "neither a drawing nor a table with intervals"


def with_everything_open(browser: Browser, name: str) -> Iterator[str]:
    """Yield a line for each problem while everything is unfolded."""
    browser.value(OPEN)
    browser.show(scheme="dark")
    browser.picture(2000)
    browser.show(width=390)
    if browser.value(WIDTH) > 390:
        yield "a phone scrolls sideways"
    if cut := browser.value(CUT_COLUMNS if name in PAGES else OUTSIDE):
        yield f"outside of a phone: {cut}"
    if name in PAGES and browser.value(UNNAMED):
        yield "a cell without a name on a phone"
    if browser.value("[...document.querySelectorAll('.glance svg')].some(e => e.getBoundingClientRect().width <= 300)"):
        yield "the intervals do not use the width of a phone"
    browser.show(width=1280)
    if name in PAGES and browser.value(UNNAMED) == 0:
        yield "with the head of the table in view, no cell needs a name"
    browser.show(zoom=2)
    if browser.value("innerWidth") != 640 or browser.value(WIDTH) > 640:
        yield "at 200 % the page scrolls sideways"
    if wide := browser.value(WIDE):
        yield f"at 200 % outside of the window: {wide}"


def test_planted_problems_are_found(browser: Browser, site: Site, axe: str) -> None:
    browser.show()
    browser.open(site.url("improved"))
    browser.value("document.querySelector('h1').style.color = '#ddd'; document.querySelector('svg').remove(); true")
    browser.value("document.querySelector('table').insertAdjacentHTML('beforebegin', '<img src=\"data:,\">'); true")
    found = violations(browser, axe)
    assert {line.partition(":")[0] for line in found} >= {"color-contrast", "image-alt"}
    browser.value("document.querySelectorAll('svg text').forEach(e => e.setAttribute('x', 9)); true")
    browser.value("document.querySelectorAll('td').forEach(e => e.style.width = '700px'); true")
    found = [*as_it_opens(browser, "improved"), *with_everything_open(browser, "improved")]
    assert {line.partition(" ")[0] for line in found} >= {"texts", "outside", "a"}, found
