# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTML report in a real browser: it loads nothing, breaks no policy, and hostile texts stay texts."""

from __future__ import annotations

import re

import pytest
from devtools import Browser
from report_samples import HOSTILE, HOSTILE_INVISIBLE
from site_of_pages import EVERYTHING, PAGES, REPORTS, Site


@pytest.mark.parametrize("name", PAGES)
def test_nothing_but_the_page_is_loaded_and_nothing_is_complained_of(browser: Browser, site: Site, name: str) -> None:
    site.requests.clear()
    browser.show()
    browser.open(site.url(name))
    browser.show(scheme="dark")
    browser.value("document.querySelectorAll('details').forEach(d => d.open = true)")
    browser.picture(2000)
    assert [path for path in site.requests if path != "/favicon.ico"] == [f"/{name}/report.html"]
    asked = {e["params"]["request"]["url"] for e in browser.events if e.get("method") == "Network.requestWillBeSent"}
    assert asked == {site.url(name)}
    assert browser.complaints() == []


def test_a_changed_style_sheet_is_refused_by_the_policy(browser: Browser, site: Site) -> None:
    page = site.pages["/improved/report.html"]
    site.pages["/forged/report.html"] = page.replace(b"<style>", b"<style>body { color: red }", 1).replace(
        b"<main", b'<img src="/x.png"><script>document.title = "forged"</script><main'
    )
    site.requests.clear()
    browser.open(site.url("forged"))
    assert len([text for text in browser.complaints() if "Content Security Policy" in text]) >= 3
    assert browser.value("document.title") != "forged"
    assert "/x.png" not in site.requests


@pytest.mark.parametrize("name", PAGES)
def test_the_style_sheet_applies_in_light_and_dark(browser: Browser, site: Site, name: str) -> None:
    browser.show()
    browser.open(site.url(name))
    assert browser.value("getComputedStyle(document.querySelector('.frame')).maxWidth") == "1280px"
    colours = []
    for scheme in ("light", "dark"):
        browser.show(scheme=scheme)
        colours.append(browser.value("getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(255, 255, 255)", "rgb(17, 22, 29)"]


LINES = "parseFloat(getComputedStyle(h).height) / parseFloat(getComputedStyle(h).lineHeight)"
"""The lines of the element ``h``."""


@pytest.mark.parametrize("name", EVERYTHING)
def test_a_headline_has_at_most_two_lines(browser: Browser, site: Site, name: str) -> None:
    browser.show(width=1280)
    browser.open(site.url(name))
    assert 1 <= round(browser.value(f"(h => {LINES})(document.querySelector('h1'))"), 1) <= 2
    longest = f"h.textContent = '{'The noise of 8 hosts, measured. ' * 4}'"
    assert browser.value(f"(h => {{ {longest}; return {LINES} }})(document.querySelector('h1'))") <= 2.1


def test_hostile_texts_stay_texts(browser: Browser, site: Site) -> None:
    browser.show()
    browser.open(site.url("hostile"))
    assert browser.value("document.querySelectorAll('script, img, iframe, object, embed, link').length") == 0
    assert browser.value("document.querySelectorAll('style').length") == 1
    assert browser.value("document.querySelectorAll('svg svg, svg[onload]').length") == 0
    assert browser.value("[...document.links].every(a => a.getAttribute('href').startsWith('#'))") is True
    attributes = "[...document.querySelectorAll('*')].flatMap(e => [...e.attributes].map(a => a.name))"
    assert browser.value(f"{attributes}.filter(n => n == 'style' || n.startsWith('on')).length") == 0
    words = browser.value("document.body.innerText")
    for text in (*HOSTILE, HOSTILE_INVISIBLE[1]):
        assert words.count(text) >= 5, text
    assert not (set(HOSTILE_INVISIBLE[0]) - set(HOSTILE_INVISIBLE[1])) & set(words)
    assert browser.value("document.querySelector('h1').textContent").startswith(HOSTILE[0])


@pytest.mark.parametrize("name", PAGES)
def test_what_a_screen_reader_is_told(browser: Browser, site: Site, name: str) -> None:
    browser.open(site.url(name))
    levels = browser.value("[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert all(later - earlier <= 1 for earlier, later in zip(levels, levels[1:], strict=False))
    assert browser.value("[...document.querySelectorAll('table')].every(t => t.caption?.textContent.trim())") is True
    browser.call("Accessibility.enable")
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    roles = [node["role"]["value"] for node in nodes if not node.get("ignored")]
    for role in ("banner", "navigation", "main", "contentinfo"):
        assert roles.count(role) == 1, role
    drawings = [node for node in nodes if not node.get("ignored") and node["role"]["value"] in ("image", "img")]
    assert drawings
    assert all(node.get("name", {}).get("value") for node in drawings)


def test_the_keyboard_reaches_the_skip_link_first_and_shows_where_it_is(browser: Browser, site: Site) -> None:
    browser.show()
    browser.open(site.url("improved"))
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
    assert browser.value("document.activeElement.className") == "skip"
    assert browser.value("document.activeElement.getBoundingClientRect().left") >= 0
    assert browser.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"


@pytest.mark.parametrize("name", REPORTS)
def test_a_small_screen_never_scrolls_sideways_as_a_whole(browser: Browser, site: Site, name: str) -> None:
    browser.show(width=390)
    browser.open(site.url(name))
    assert browser.value("document.scrollingElement.scrollWidth") <= 390
    assert browser.value("getComputedStyle(document.querySelector('.for-wide')).display") == "none"
    assert browser.value("document.querySelector('.for-narrow').getBoundingClientRect().width") > 300


OUTSIDE = """[...document.querySelectorAll('.scroll, .scroll td, .scroll tbody th')].filter(e => {
  const r = e.getBoundingClientRect();
  return e.checkVisibility() && (r.right > innerWidth + 1 || r.left < 0 || e.scrollWidth > e.clientWidth + 1);
}).map(e => e.textContent.trim().slice(0, 60))"""
UNNAMED = """[...document.querySelectorAll('.scroll tbody td:not([colspan])')].filter(e =>
  e.checkVisibility() && !/^"?(attr\\(data-label\\) ":"|.+:"?)$/.test(getComputedStyle(e, '::before').content)
).length"""


@pytest.mark.parametrize("name", PAGES)
def test_on_a_small_screen_every_column_of_a_table_is_within_view(browser: Browser, site: Site, name: str) -> None:
    browser.show(width=390)
    browser.open(site.url(name))
    browser.value("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.value(OUTSIDE) == []
    assert browser.value(UNNAMED) == 0
    browser.show(width=1280)
    assert browser.value(UNNAMED) > 0  # with the head of the table in view no cell needs a name
    browser.show(width=390)
    browser.value("document.querySelectorAll('td').forEach(e => e.style.width = '700px'); true")
    assert browser.value(OUTSIDE) != []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", REPORTS)
def test_verdict_and_next_step_are_on_the_first_screen(browser: Browser, site: Site, name: str, width: int) -> None:
    browser.show(width=width, height=844)
    browser.open(site.url(name))
    for place in (".badge.big", "#next li"):
        assert (
            browser.value(f"document.querySelector('{place}').getBoundingClientRect().top") < 844 or name == "hostile"
        )


@pytest.mark.parametrize("name", REPORTS)
def test_on_a_tablet_the_verdicts_stand_within_view(browser: Browser, site: Site, name: str) -> None:
    browser.show(width=800)
    browser.open(site.url(name))
    cut = "[...document.querySelectorAll('.results')].filter(t => t.scrollWidth > t.parentElement.clientWidth).length"
    assert browser.value(cut) == 0


OVERLAPS = """[...document.querySelectorAll('svg[role=img]')].filter(s => s.checkVisibility()).flatMap(s => {
  const all = [...s.querySelectorAll('text')].map(e => [e.getBoundingClientRect(), e.lastChild?.textContent]);
  return all.flatMap(([a, one], i) => all.slice(i + 1).filter(([b]) =>
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4 &&
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
  ).map(([b, other]) => `${one} | ${other}`));
})"""


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", PAGES)
def test_no_words_of_a_drawing_lie_on_others(browser: Browser, site: Site, name: str, width: int) -> None:
    browser.show(width=width)
    browser.open(site.url(name))
    assert browser.value(OVERLAPS) == []
    browser.value("document.querySelectorAll('svg text').forEach(e => e.setAttribute('x', 9)); true")
    assert browser.value(OVERLAPS) != []  # the question is one that can be answered with yes


SHOWN = "[...document.querySelectorAll('.pool tbody tr')].filter(r => r.checkVisibility()).map(r => r.className)"


def test_a_fleet_is_filtered_without_script(browser: Browser, site: Site) -> None:
    browser.show()
    browser.open(site.url("fleet"))
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        assert browser.value(SHOWN) == []  # folded
        browser.value("document.querySelector('.tally a[href=\"#only-regressed\"]').click()")
        assert browser.value(SHOWN) == ["v-regressed"] * 10
        note = browser.value("document.querySelector('.filter:target').innerText")
        assert "Only \u25bc regressed is listed below. List all" in " ".join(note.split())
        assert browser.value("document.querySelectorAll('.filter').length") == 2
        browser.value("document.querySelector('.choices a[href=\"#only-improved\"]').click()")
        assert set(browser.value(SHOWN)) == {"v-improved"}
        browser.value("document.querySelector('.choices a[href=\"#all-pairs\"]').click()")
        assert browser.value(SHOWN) == []
        browser.value("document.querySelector('#overview tbody a').click()")
        workload = browser.value("document.querySelector('#overview tbody a').innerText")
        opened = "[...document.querySelectorAll('details[open]')].map(d => d.querySelector('summary').innerText)"
        assert [text.partition(":")[0] for text in browser.value(opened)] == [workload]
        browser.value("document.querySelector('.choices a[href=\"#only-regressed\"]').click()")
        browser.show(media="print")
        assert len(browser.value(SHOWN)) == 1000  # paper has no links, so all is on it
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_on_paper_folded_parts_are_open(browser: Browser, site: Site) -> None:
    heights = []
    for media in ("screen", "print"):
        browser.show(media=media)
        browser.open(site.url("fleet"))
        assert browser.value("document.querySelectorAll('details[open]').length") == 0
        heights.append(browser.value("document.querySelector('details').getBoundingClientRect().height"))
    assert heights[1] > 10 * heights[0]
    browser.show(width=720, media="print")  # A4 at 96 pixels an inch, less the margins
    assert browser.value("document.scrollingElement.scrollWidth") <= 720
    assert browser.value("getComputedStyle(document.querySelector('nav')).display") == "none"


def pages_of(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf))


def test_fourteen_comparisons_print_on_six_pages_and_the_runs_on_their_own(browser: Browser, site: Site) -> None:
    browser.show()
    browser.open(site.url("fourteen"))
    assert browser.value("document.querySelector('main').lastElementChild.id") == "runs"
    assert len(browser.value("[...document.querySelectorAll('.runs')].map(e => e.id)")) == 16  # with two controls
    everything = pages_of(browser.paper())
    browser.value("document.querySelectorAll('.annex, footer').forEach(e => e.remove()); true")
    without_annex = pages_of(browser.paper())
    assert 1 <= without_annex <= 6
    assert without_annex < everything <= without_annex + 3
    browser.value("document.querySelectorAll('main > :not(#next)').forEach(e => e.remove()); true")
    assert pages_of(browser.paper()) == 1  # pages are counted


def test_the_annex_begins_on_a_page_of_its_own(browser: Browser, site: Site) -> None:
    browser.show(media="print")
    browser.open(site.url("fourteen"))
    assert browser.value("getComputedStyle(document.querySelector('#runs')).breakBefore") == "page"
