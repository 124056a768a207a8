# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages of evidence and rollouts in Chromium: filters work without scripts, links lead to batches."""

from __future__ import annotations

import pytest
from devtools import Browser
from site_of_pages import EVIDENCE, Site

SHOWN = "[...document.querySelectorAll('.matrix tbody tr')].filter(r => r.checkVisibility()).length"
FILTERS = """[...document.querySelectorAll('[type=radio]')].map(r =>
  [r.id, +r.closest('label').querySelector('b').textContent])"""
COLUMNS = "[...document.querySelectorAll('.matrix thead th')].filter(r => r.checkVisibility()).map(r => r.textContent)"


@pytest.mark.parametrize("name", EVIDENCE)
def test_each_filter_shows_the_announced_number_of_hosts(browser: Browser, site: Site, name: str) -> None:
    browser.show()
    browser.open(site.url(name))
    told = browser.value(FILTERS)
    assert len(told) > 3
    for ident, count in told:
        browser.value(f"document.getElementById('{ident}').click(); true")
        assert browser.value(SHOWN) == count, ident


def test_a_tuning_can_be_hidden_and_filters_are_reached_by_keyboard(browser: Browser, site: Site) -> None:
    browser.show()
    browser.open(site.url("verify-site"))
    browser.value("document.getElementById('tuning-1').click(); true")
    assert browser.value(COLUMNS) == ["Host", "rps", "smc_r", "platform"]
    browser.value("document.getElementById('show-all').focus(); true")
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="ArrowRight", code="ArrowRight", windowsVirtualKeyCode=39)
    assert browser.value("document.activeElement.id") == "show-bad"
    assert browser.value(SHOWN) == 9


def test_print_shows_every_host_and_no_filter(browser: Browser, site: Site) -> None:
    browser.show()
    browser.open(site.url("verify-site"))
    browser.value("document.getElementById('show-drifted').click(); true")
    assert browser.value(SHOWN) == 4
    browser.show(media="print")
    assert browser.value(SHOWN) == 12
    assert browser.value("document.querySelector('.filters').checkVisibility()") is False


def test_a_batch_of_a_rollout_leads_to_its_hosts(browser: Browser, site: Site) -> None:
    browser.show()
    browser.open(site.url("rollout-stopped"))
    links = "[...document.querySelectorAll('.strip a')].map(a => [a.textContent, a.getAttribute('href')])"
    assert browser.value(links) == [["Batch 1 (canaries)", "#batch-1"], ["Batch 2", "#batch-2"]]
    assert "Batch 2" in browser.value("document.querySelector('#batch-2').textContent")


@pytest.mark.parametrize("name", ["rollout-stopped", "rollout-fleet"])
def test_a_printed_rollout_is_not_cut_off(browser: Browser, site: Site, name: str) -> None:
    browser.show(media="print", width=720)
    browser.open(site.url(name))
    assert browser.value("document.scrollingElement.scrollWidth") <= 720
    assert browser.value("document.querySelector('nav').checkVisibility()") is False
