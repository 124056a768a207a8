# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links and headings of Markdown pages, and a check of all links in a folder of HTML pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINK = re.compile(r"(?<=\]\()[^)\s]+(?=\))")


def prose(text: str) -> Iterator[tuple[bool, str]]:
    """Yield each line of a Markdown page, and whether it is outside fenced code."""
    code = False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        yield not code and not fence, line
        code ^= fence


def anchors(text: str) -> set[str]:
    """Return the names by which the headings of a Markdown page can be linked to, as on a forge."""
    found: dict[str, int] = {}
    names = set(re.findall(r'<a id="([^"]+)"', text))
    for outside, line in prose(text):
        if outside and (heading := re.match(r"#+\s+(.*)", line)):
            name = slug(heading[1])
            names.add(f"{name}-{found[name]}" if name in found else name)
            found[name] = found.get(name, 0) + 1
    return names


def slug(heading: str) -> str:
    """Return the name of a heading in a link."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading.strip())
    return re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-")


def local_links(text: str) -> list[str]:
    """Return the links of a Markdown page that stay within the project."""
    found = [link for outside, line in prose(text) if outside for link in LINK.findall(line)]
    return [link for link in found if not is_external(link)]


def lost(page: Path) -> list[str]:
    """Return the links of a Markdown page that do not lead to a file of the project and a heading in it."""
    text, found = page.read_text("utf-8"), []
    for link in local_links(text):
        name, _hash, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists():
            found.append(f"{page}: {link}: no such file")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text("utf-8")):
            found.append(f"{page}: {link}: no such heading")
    return found


def with_links(text: str, new: Callable[[str], str]) -> str:
    """Return a Markdown page with replaced local links."""

    def replaced(link: re.Match[str]) -> str:
        return link[0] if is_external(link[0]) else new(link[0])

    lines = [LINK.sub(replaced, line) if outside else line for outside, line in prose(text)]
    return "".join(f"{line}\n" for line in lines)


def is_external(link: str) -> bool:
    return bool(urlsplit(link).scheme)


class _Page(HTMLParser):
    """The ids of an HTML page, its links, and whether a link is loaded with the page, such as an image."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: dict[str, bool] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, given in attrs:
            value = given or ""
            if name == "id":
                self.ids.add(value)
            elif name in ("src", "href", "action"):
                self.links[value] = self.links.get(value, False) or tag not in ("a", "form")
            elif name == "srcset":
                self.links |= {part.split()[0]: True for part in value.split(",")}


def broken(folder: Path) -> list[str]:
    """Return one line for each link of the HTML pages below a folder that leads neither to a file nor a place there.

    A link may also lead to another site by https, but a page must not load anything from there.
    """
    folder = folder.resolve()
    pages = {path: _Page(path.read_text("utf-8")) for path in sorted(folder.rglob("*.html"))}
    return [
        f"{path.relative_to(folder)}: {link}: {why}"
        for path, page in pages.items()
        for link, loaded in page.links.items()
        if (why := _problem(link, loaded, path, pages, folder))
    ]


def _problem(link: str, loaded: bool, path: Path, pages: dict[Path, _Page], folder: Path) -> str:
    parts = urlsplit(link)
    if parts.scheme == "https" and not loaded:
        return ""
    if parts.scheme or parts.netloc:
        return "loaded from elsewhere" if loaded else "not https"
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_relative_to(folder) or not target.is_file():
        return "no such file in the site"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
        return "no such place in the page"
    return ""
