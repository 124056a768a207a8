# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make generate` changes nothing: generated files and pages match the code."""

from __future__ import annotations

import generate


def test_make_generate_changes_nothing() -> None:
    found = dict(generate.everything())
    assert [path for path, text in found.items() if path.read_text("utf-8") != text] == []
    pages = {f"{name}.md" for name in generate.TUNINGS}
    assert {path.name for path in found if path.parent == generate.PAGES} == {*pages, "index.md"}


def test_markup_of_options_becomes_markdown_with_the_names_of_variables() -> None:
    text = "With O(state=restored), C(a|b) of O(cpus), V(x(y)z), O(other)."
    said = generate.as_markdown(text, "rps", {"state": {}, "cpus": {}})
    assert said == "With `rps_state: restored`, `a\\|b` of `rps_cpus`, `x(y)z`, `other`."
