# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An HTML page without a browser."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

VOID = {"meta", "br", "input"}


class Page(HTMLParser):
    """Collect elements with their attributes and their text; fail on a tag that is not closed where it should be."""

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
        assert len({name for name, _value in attrs}) == len(attrs), f"an attribute of {tag} occurs twice"
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

    def check(self, *more: str) -> None:
        """Check what holds for every page; ``more``: elements that this one must not have."""
        self.check_policy()
        self.check_nothing_is_loaded(*more)
        self.check_references()
        self.check_headings()
        self.check_landmarks()
        assert self.all("a")[0] == {"class": "skip", "href": "#main"}

    def check_policy(self) -> None:
        """Check that the policy comes before the one style sheet and has its hash, and that the sheet loads nothing."""
        (style,) = re.findall(r"<style>(.*?)</style>", self.source, re.DOTALL)
        assert "url(" not in style and "@import" not in style
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
        meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        assert 0 < self.source.index(meta) < self.source.index("<style>")

    def check_nothing_is_loaded(self, *more: str) -> None:
        """Check that nothing is sent or run: none of these elements and of ``more``, no style or script in an
        attribute, no address.
        """
        loading = {"script", "img", "iframe", "object", "embed", "link", "base", "form", *more}
        assert not {tag for tag, _attributes in self.elements} & loading
        for tag, attributes in self.elements:
            assert not {"style", "src", "srcset", "data", "action", "xlink:href"} & set(attributes), tag
            assert not [name for name in attributes if name.startswith("on")], tag
            assert attributes.get("href", "#").startswith("#")

    def check_references(self) -> None:
        ids = [attributes["id"] for _tag, attributes in self.elements if "id" in attributes]
        assert len(ids) == len(set(ids))
        for _tag, attributes in self.elements:
            references = attributes.get("aria-labelledby", "").split() + [attributes.get("href", "#main")[1:]]
            assert set(references) <= set(ids)

    def check_headings(self) -> None:
        """Check that headings descend one level at a time, from a single first one."""
        levels = [int(tag[1]) for tag, _attributes in self.elements if re.fullmatch("h[1-6]", tag)]
        assert levels[0] == 1 and levels.count(1) == 1
        assert all(later - earlier <= 1 for earlier, later in zip(levels, levels[1:], strict=False))

    def check_landmarks(self) -> None:
        for tag in ("header", "nav", "main", "footer"):
            assert len(self.all(tag)) == 1, tag

    def check_labels(self) -> None:
        """Check that every cell of a table names its column, for small screens."""
        for source in re.findall(r"<table.*?</table>", self.source, re.DOTALL):
            head, _mark, body = source.partition("</thead>")
            names = [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<th scope=\"col\"[^>]*>(.*?)</th>", head)]
            for line in re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.DOTALL):
                cells = re.findall(r"<(th|td)([^>]*)>", line)
                if "colspan" in cells[0][1]:
                    assert f'colspan="{len(names)}"' in cells[0][1]
                    continue
                labels = [re.search(r'data-label="([^"]*)"', attributes) for _kind, attributes in cells]
                assert [label[1] if label else names[0] for label in labels] == names
