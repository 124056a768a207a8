# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Single reports in a real browser: the policy holds, hostile texts stay texts, a fleet can be filtered."""

from __future__ import annotations

from devtools import Browser
from report_samples import HOSTILE, HOSTILE_INVISIBLE
from site_of_pages import Site


def test_the_policy_refuses_a_changed_style_sheet(browser: Browser, site: Site) -> None:
    page = site.pages["/improved/report.html"]
    site.pages["/forged/report.html"] = page.replace(b"<style>", b"<style>body { color: red }", 1).replace(
        b"<main", b'<img src="/x.png"><script>document.title = "forged"</script><main'
    )
    site.requests.clear()
    browser.open(site.url("forged"))
    assert len([text for text in browser.complaints() if "Content Security Policy" in text]) >= 3
    assert browser.value("document.title") != "forged"
    assert "/x.png" not in site.requests


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


def test_the_keyboard_reaches_the_skip_link_first_and_shows_the_focus(browser: Browser, site: Site) -> None:
    browser.show()
    browser.open(site.url("improved"))
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
    assert browser.value("document.activeElement.className") == "skip"
    assert browser.value("document.activeElement.getBoundingClientRect().left") >= 0
    assert browser.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"


SHOWN = "[...document.querySelectorAll('.pool tbody tr')].filter(r => r.checkVisibility()).map(r => r.className)"


def test_a_fleet_is_filtered_without_scripts(browser: Browser, site: Site) -> None:
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
        assert len(browser.value(SHOWN)) == 1000  # paper has no links, so all rows are printed
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_folded_parts_are_open_in_print(browser: Browser, site: Site) -> None:
    heights = []
    for media in ("screen", "print"):
        browser.show(media=media)
        browser.open(site.url("fleet"))
        assert browser.value("document.querySelectorAll('details[open]').length") == 0
        heights.append(browser.value("document.querySelector('details').getBoundingClientRect().height"))
    assert heights[1] > 10 * heights[0]
    browser.show(width=720, media="print")  # A4 at 96 pixels per inch, minus the margins
    assert browser.value("document.scrollingElement.scrollWidth") <= 720
    assert browser.value("getComputedStyle(document.querySelector('nav')).display") == "none"
