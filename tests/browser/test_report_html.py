# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTML report in a real browser: it loads nothing, breaks no policy, and hostile texts stay texts."""

from __future__ import annotations

import http.server
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import render
from devtools import Browser
from report_samples import HOSTILE, HOSTILE_INVISIBLE, NAMES, fleet, sample

NAMES_AND_FLEET = [*NAMES, "fleet"]


class Site:
    """The reports on a local port, and the path of every request that came."""

    def __init__(self) -> None:
        self.pages = {f"/{name}/report.html": render(sample(name), "html").encode() for name in NAMES}
        self.pages["/fleet/report.html"] = render(fleet(200), "html").encode()
        self.requests: list[str] = []
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.requests.append(self.path)
                body = site.pages.get(self.path, b"")
                self.send_response(200 if body else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """The requests are kept, not printed."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/{name}/report.html"


@pytest.fixture(name="site", scope="module")
def fixture_site() -> Iterator[Site]:
    site = Site()
    site.thread.start()
    yield site
    site.server.shutdown()
    site.thread.join()
    site.server.server_close()


@pytest.mark.parametrize("name", NAMES_AND_FLEET)
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


@pytest.mark.parametrize("name", NAMES_AND_FLEET)
def test_the_style_sheet_applies_in_light_and_dark(browser: Browser, site: Site, name: str) -> None:
    browser.show()
    browser.open(site.url(name))
    assert browser.value("getComputedStyle(document.querySelector('.frame')).maxWidth") == "1280px"
    colours = []
    for scheme in ("light", "dark"):
        browser.show(scheme=scheme)
        colours.append(browser.value("getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(255, 255, 255)", "rgb(17, 22, 29)"]


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


@pytest.mark.parametrize("name", NAMES_AND_FLEET)
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


@pytest.mark.parametrize("name", NAMES_AND_FLEET)
def test_a_small_screen_never_scrolls_sideways_as_a_whole(browser: Browser, site: Site, name: str) -> None:
    browser.show(width=390)
    browser.open(site.url(name))
    assert browser.value("document.scrollingElement.scrollWidth") <= 390
    assert browser.value("getComputedStyle(document.querySelector('.for-wide')).display") == "none"
    assert browser.value("document.querySelector('.for-narrow').getBoundingClientRect().width") > 300


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


def test_the_picture_for_the_readme(browser: Browser, site: Site, tmp_path: Path) -> None:
    report, picture = tmp_path / "report.html", tmp_path / "images" / "report.png"
    report.write_bytes(site.pages["/improved/report.html"])
    script = Path(__file__).parent / "screenshot.py"
    done = subprocess.run(
        [sys.executable, str(script), str(report), str(picture)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    data = picture.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", data[16:24]) == (1280, 1060)
    assert len(data) > 40_000
