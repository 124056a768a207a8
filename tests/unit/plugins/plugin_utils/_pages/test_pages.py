# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for every page, without a browser: well-formed, self-contained, escaped, accessible, reproducible."""

from __future__ import annotations

import re

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._pages.pages import escape_markdown
from page_samples import EVIDENCE, PAGES, REPORTS, write
from pages import Page
from report_samples import HOSTILE, HOSTILE_INVISIBLE

FORMATS = [(name, form) for name, (formats, _make) in PAGES.items() for form in formats]
HOSTILES = [name for name in PAGES if "hostile" in name]


@pytest.mark.parametrize(("name", "form"), FORMATS)
def test_a_format_has_the_same_bytes_twice_and_shows_no_invisible_characters(name: str, form: str) -> None:
    text = write(name, form)
    assert text == write.__wrapped__(name, form) and text.endswith("\n") and text.encode()
    if form != "json":
        assert not {char for char in text if not char.isprintable()} - {"\n"}
        assert HOSTILE_INVISIBLE[0] not in text


@pytest.mark.parametrize("name", PAGES)
def test_a_page_loads_nothing_and_everything_in_it_can_be_reached_by_keyboard_and_reader(name: str) -> None:
    page = Page(write(name, "html"))
    page.check(*(() if name in EVIDENCE else ("input",)))
    page.check_labels()
    assert all(attributes.get("scope") in ("col", "row") for attributes in page.all("th"))
    assert len(page.all("table")) == len(page.all("caption"))
    regions = [attributes for attributes in page.all("div") if attributes.get("class") == "scroll"]
    assert len(regions) >= len(page.all("table"))
    assert all(a["tabindex"] == "0" and a["role"] == "region" and a["aria-label"] for a in regions)
    shown = [attributes for attributes in page.all("svg") if attributes.get("aria-hidden") != "true"]
    assert all(a["role"] == "img" and len(a["aria-labelledby"].split()) == 2 for a in shown)
    sections = [attributes["id"] for attributes in page.all("section")]
    linked = [attributes["href"][1:] for attributes in page.all("a") if attributes["href"][1:] in sections]
    assert "#".join(sections) in "#".join(linked), "each section is in the list of sections"


@pytest.mark.parametrize("name", HOSTILES)
def test_hostile_texts_are_shown_as_they_are(name: str) -> None:
    words = Page(write(name, "html")).words()
    for text in (*HOSTILE, HOSTILE_INVISIBLE[1]):
        assert words.count(text) >= (10 if name in REPORTS else 5), text
    ticket = re.sub(r"`[^`]*`|(?m:^    .*$)", "", write(name, "md"))
    assert "<" not in ticket and "@team" not in ticket and not re.search(r"(?<!\\)(`|\]\()", ticket)


@pytest.mark.parametrize("name", PAGES)
def test_every_row_of_a_table_in_a_ticket_has_the_columns_of_its_header(name: str) -> None:
    width = 0
    for line in write(name, "md").splitlines():
        columns = line.replace("\\\\", "").replace("\\|", "").count("|") if line.startswith("|") else 0
        width = (width or columns) if columns else 0
        assert columns == width, line


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a|b", r"a\|b"),
        ("`x`", r"\`x\`"),
        ("<b>&", "&lt;b&gt;&amp;"),
        ("**b** _i_", r"\*\*b\*\* \_i\_"),
        ("[t](http://x)", r"\[t\](http:&#47;&#47;x)"),
        ("@root #1", r"&#64;root \#1"),
        ("www.x.org WWW.x", "www&#46;x.org WWW&#46;x"),
        ("a\nb", "a b"),
        ("1. x", r"\1. x"),
        ("\\|", "\\\\\\|"),
        (" a ", " a "),
    ],
)
def test_markup_is_taken_literally_in_a_ticket(text: str, escaped: str) -> None:
    assert escape_markdown(text) == escaped
