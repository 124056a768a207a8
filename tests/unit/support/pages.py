# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An HTML page without a browser."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "br", "input"}


class Page(HTMLParser):
    """Elements with their attributes and the text in them; fails on a tag that is not closed where it should be."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.parents: list[tuple[str, str]] = []
        self.text: list[tuple[str, str]] = []
        self.source = source
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _value in attrs}) == len(attrs), f"an attribute of {tag} stands twice"
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        self.parents.append((tag, self.open[-1] if self.open else ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        self.text.append((self.open[-1] if self.open else "", data))

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def words(self) -> str:
        return " ".join(data for parent, data in self.text if parent != "style")
