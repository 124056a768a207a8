# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The summary of a rollout in Chromium: it fits on a small screen, its links lead to the batches."""

from __future__ import annotations

import pytest
from devtools import Browser
from site_of_pages import ROLLOUTS, Site
from test_evidence_html import OUTSIDE


@pytest.mark.parametrize("name", ROLLOUTS)
def test_on_a_small_screen_everything_is_within_view(browser: Browser, site: Site, name: str) -> None:
    browser.show(width=390)
    browser.open(site.url(name))
    browser.value("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.value("document.scrollingElement.scrollWidth") <= 390
    assert browser.value(OUTSIDE) == []


def test_a_batch_leads_to_its_hosts(browser: Browser, site: Site) -> None:
    browser.show()
    browser.open(site.url("rollout-stopped"))
    links = "[...document.querySelectorAll('.strip a')].map(a => [a.textContent, a.getAttribute('href')])"
    assert browser.value(links) == [["Batch 1 (canaries)", "#batch-1"], ["Batch 2", "#batch-2"]]
    assert "Batch 2" in browser.value("document.querySelector('#batch-2').textContent")


@pytest.mark.parametrize("name", ["rollout-stopped", "rollout-fleet"])
def test_on_paper_nothing_is_cut_off(browser: Browser, site: Site, name: str) -> None:
    browser.show(media="print", width=720)
    browser.open(site.url(name))
    assert browser.value("document.scrollingElement.scrollWidth") <= 720
    assert browser.value("document.querySelector('nav').checkVisibility()") is False
