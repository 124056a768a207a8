# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the documentation site: the pages of docs/, those around it and the reference of plugins and roles, as HTML.

make_site.py                      build the site in build/docs and check all its links
make_site.py --links-elsewhere    check its links to other sites instead

Pages are written for a forge and for the archive. The pages of docs/ are at the top of the site. A link of a page to
a file that is not a page, or to a file outside of docs/, leads to where the site shows that file.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import yaml

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
sys.path.insert(0, str(HERE))

import links  # noqa: E402

BIN = TOP / ".venv" / "bin"
SOURCE, SITE = TOP / "build" / "docs-source", TOP / "build" / "docs"
COLLECTION = "zpower.sap_tuning"
FORGE = str(yaml.safe_load((TOP / "galaxy.yml").read_text("utf-8"))["repository"]) + "/blob/main/"
AROUND = {
    "README.md": "index.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
}
# Folders of files that are not pages; the site has one page for each.
SHOWN = {
    "docs/awx": ("Files for AWX", "awx"),
    "docs/awx/project": ("Playbooks for AWX", "awx/project"),
    "docs/published": ("Published figures as data", "published"),
    "docs/schemas": ("Record formats", "schemas"),
    "inventories/example": ("An example inventory", "inventories/example"),
    "inventories/guide": ("The site of the guide", "inventories/guide"),
}
KINDS = {"modules": "module", "callback": "callback", "lookup": "lookup"}
# Markup that screen readers need and the theme does not write.
ACCESSIBLE = [
    (r'<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'),
    (r'<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="Site">'),
    (r'<aside class="toc-drawer', '<aside aria-label="On this page" class="toc-drawer'),
    (r' aria-role="button"', ""),
    (r"<thead>\s*<tr[^>]*>(\s*<th[^>]*>(<p></p>)?</th>)+\s*</tr>\s*</thead>", ""),
    (r"<th[^>]*>(<p></p>)?</th>", "<td></td>"),
]
# The sources of the site.
INPUTS = [
    "docs",
    "galaxy.yml",
    "inventories/example",
    "inventories/guide",
    "meta",
    "plugins",
    "roles",
    "tests/docs",
    "constraints.txt",
    *AROUND,
]


class Entry(NamedTuple):
    """A page of the navigation: its name in the site, its title there if it differs, and the pages below it."""

    page: str
    title: str
    below: list[Entry]

    def line(self) -> str:
        """Return the entry in a toctree."""
        return f"{self.title} </{self.page}>" if self.title else f"/{self.page}"


def pages_of_docs() -> set[str]:
    """Return the names of the pages of docs/ in the site."""
    return {path.relative_to(TOP / "docs").with_suffix("").as_posix() for path in (TOP / "docs").rglob("*.md")}


def navigation() -> list[tuple[str, list[Entry]]]:
    """Return the captions of nav.yml with their pages."""
    read = yaml.safe_load((HERE / "nav.yml").read_text("utf-8"))
    parts = [(part["caption"], list(_entries(part["pages"]))) for part in read]
    rest = pages_of_docs() - {entry.page for _caption, entries in parts for entry in every(entries)}
    return [(caption, list(_filled(entries, rest))) for caption, entries in parts]


def _entries(items: list[Any]) -> Iterator[Entry]:
    for item in items:
        ((said, below),) = item.items() if isinstance(item, dict) else [(item, [])]
        named = re.fullmatch(r"(.*) <(.*)>", said)
        yield Entry(named[2] if named else said, named[1] if named else "", list(_entries(below)))


def _filled(entries: list[Entry], rest: set[str]) -> Iterator[Entry]:
    """Yield the entries, with the remaining pages in place of a pattern."""
    for entry in entries:
        if "*" in entry.page:
            yield from (Entry(page, "", []) for page in sorted(rest) if PurePosixPath(page).match(entry.page))
        else:
            yield entry._replace(below=list(_filled(entry.below, rest)))


def search_words() -> dict[str, list[str]]:
    """Return the search words of each page from search.yml."""
    read: dict[str, list[str]] = yaml.safe_load((HERE / "search.yml").read_text("utf-8"))
    return read


def every(entries: list[Entry]) -> Iterator[Entry]:
    """Yield the entries and all entries below them."""
    for entry in entries:
        yield entry
        yield from every(entry.below)


def place(path: PurePosixPath) -> str | None:
    """Return the place of a file or folder of the checkout in the site; None if it is not shown."""
    name, parts = path.as_posix(), path.parts
    shown = next((folder for folder in map(str, [path, *path.parents]) if folder in SHOWN), None)
    where = None
    if name in AROUND:
        where = AROUND[name]
    elif shown and (shown == name or path.suffix == ".yml"):
        anchor = "" if shown == name else f"#{links.slug(path.relative_to(shown).as_posix())}"
        where = f"{SHOWN[shown][1]}/index.md{anchor}"
    elif parts[0] == "docs":
        where = str(path.relative_to("docs") / ("index.md" if (TOP / path).is_dir() else ""))
    elif parts[0] == "roles" and path.name == "README.md":
        where = f"reference/{parts[1]}_role.rst"
    elif parts[0] == "plugins" and parts[1] in KINDS:
        where = f"reference/{path.stem}_{KINDS[parts[1]]}.rst"
    return where


def page(path: PurePosixPath, text: str) -> str:
    """Return a page of the checkout as a page of the site."""
    own = PurePosixPath(str(place(path)))

    def new(link: str) -> str:
        name, _hash, anchor = link.partition("#")
        if not name:
            return link
        target = PurePosixPath(os.path.normpath(path.parent / name))
        where = place(target)
        if where is None and path.name == "CONTRIBUTING.md":
            return f"{FORGE}{target}"
        if where is None:
            sys.exit(f"{path}: {link} leads to a file that is not part of the site")
        if where == AROUND["README.md"]:  # it has other headings
            anchor = ""
        relative = os.path.relpath(where, own.parent)
        return f"{relative}#{anchor}" if anchor else relative

    return links.with_links(text, new)


def folder_page(folder: str, title: str) -> str:
    """A page with the files of a folder."""
    lines = [f"# {title}", "", f"The folder `{folder}` of the archive.", ""]
    files = ((len(path.parts), path) for path in (TOP / folder).rglob("*"))
    for _depth, path in sorted(files):
        name = path.relative_to(TOP / folder).as_posix()
        if any(f"{folder}/{part}" in SHOWN for part in map(str, PurePosixPath(name).parents)):
            continue
        if path.suffix == ".json":
            title = json.loads(path.read_text("utf-8"))["title"].replace("<", "\\<")
            lines += [f"- [{name}]({name}): {title}"]
        elif path.suffix == ".yml":
            text = re.sub(r"^(---\n)?(# SPDX-.*\n)*\n*", "", path.read_text("utf-8"))
            lines += [f"## {name}", "", "```yaml", text.rstrip(), "```", ""]
    return "\n".join([*lines, ""])


def toctree(entries: list[Entry], caption: str = "") -> str:
    if not entries:
        return ""
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["", "```{toctree}", *options, "", *(entry.line() for entry in entries), "```", ""])


def with_index(text: str, words: list[str]) -> str:
    """A page with an index entry for each of these words below its title."""
    if not words:
        return text
    heading = re.search(r"^# .*$", text, re.MULTILINE)
    if heading is None:
        sys.exit(f"no title below which to put {', '.join(words)}")
    entries = ", ".join(f"! {word}" for word in words)
    return f"{text[: heading.end()]}\n\n```{{index}} {entries}\n```\n{text[heading.end() :]}"


def write_pages() -> None:
    """The pages that Sphinx reads, except the reference."""
    nav = navigation()
    texts = {"index.md": (HERE / "index.md").read_text("utf-8")}
    for path in [*sorted((TOP / "docs").rglob("*.md")), *(TOP / name for name in AROUND if name != "README.md")]:
        relative = PurePosixPath(path.relative_to(TOP).as_posix())
        texts[str(place(relative))] = page(relative, path.read_text("utf-8"))
    for folder, (title, where) in SHOWN.items():
        texts[f"{where}/index.md"] = folder_page(folder, title)
    for _caption, entries in nav:
        for entry in every(entries):
            if entry.below:
                texts[f"{entry.page}.md"] += toctree(entry.below)
    texts["index.md"] += "".join(toctree(entries, caption) for caption, entries in nav)
    for name, words in search_words().items():
        texts[f"{name}.md"] = with_index(texts[f"{name}.md"], words)
    for name, text in texts.items():
        (SOURCE / name).parent.mkdir(parents=True, exist_ok=True)
        (SOURCE / name).write_text(text, encoding="utf-8")
    for folder in ("images", "schemas"):
        shutil.copytree(TOP / "docs" / folder, SOURCE / folder, dirs_exist_ok=True)


def write_reference() -> None:
    """The pages of plugins and roles."""
    folder = SOURCE / "reference"
    folder.mkdir()
    options = ["--use-current", "--squash-hierarchy", "--no-breadcrumbs", "--fail-on-error"]
    run("antsibull-docs", "collection", *options, "--dest-dir", str(folder), COLLECTION)
    entries = []
    for path in sorted(folder.glob("*.rst")):
        text = path.read_text("utf-8").replace(":orphan:\n", "")
        # furo has the contents of a page at its side
        text = re.sub(r"^\.\. contents::\n( .*\n)*", "", text, flags=re.MULTILINE)
        # the whole site is about this collection
        text = re.sub(r"^\.\. Collection note\n\n\.\. note::\n([ \n].*\n|\n)*", "", text, flags=re.MULTILINE)
        # modules of Ansible itself are not on this site
        text = re.sub(
            r":ref:`([^`<]+) <ansible_collections\.ansible\.builtin\.(\w+)>`",
            r"`\1 <https://docs.ansible.com/ansible/latest/collections/ansible/builtin/\2.html>`__",
            text,
        )
        text = re.sub(rf"^{re.escape(COLLECTION)}\.(?=.* -- )", "", text, flags=re.MULTILINE)
        path.write_text(text, encoding="utf-8")
        if path.stem != "index":
            name, _underscore, kind = path.stem.rpartition("_")
            entries.append(f"{name} ({kind}) </reference/{path.stem}>")
    index = folder / "index.rst"
    lines = [".. toctree::", "    :hidden:", "", *(f"    {entry}" for entry in entries)]
    text = index.read_text("utf-8").replace(".. toctree::\n    :maxdepth: 1\n", "\n".join([*lines, ""]))
    index.write_text(
        text.replace("Zpower.Sap_Tuning\n=================", "Plugins and roles\n================="), encoding="utf-8"
    )


def run(tool: str, *arguments: str) -> None:
    """Run one of the tools in .venv; end if it fails."""
    env = {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "ANSIBLE_COLLECTIONS_PATH": str(TOP / ".cache" / "collections"),
    }
    if code := subprocess.run([str(BIN / tool), *arguments], cwd=TOP, env=os.environ | env, check=False).returncode:
        sys.exit(f"{tool} ended with {code}")


def sphinx(builder: str, target: Path) -> None:
    """Build the pages; each warning is an error."""
    where = ["-c", str(HERE), "-d", str(TOP / "build" / "docs-doctrees")]
    run("sphinx-build", "-q", "-E", "-W", "--keep-going", *where, "-b", builder, str(SOURCE), str(target))


def make_accessible() -> None:
    """Write the pages of the site again, with ACCESSIBLE."""
    for path in SITE.rglob("*.html"):
        text = path.read_text("utf-8")
        for pattern, new in ACCESSIBLE:
            text = re.sub(pattern, new, text)
        path.write_text(text, encoding="utf-8")


def fingerprint() -> str:
    """Return a hash that changes when any input of the site changes."""
    files = [path for name in INPUTS for path in ([TOP / name] if (TOP / name).is_file() else (TOP / name).rglob("*"))]
    total = hashlib.sha256()
    for path in sorted(files):
        if path.is_file() and "__pycache__" not in path.parts:
            total.update(f"{path.relative_to(TOP)}\0".encode() + path.read_bytes() + b"\0")
    return total.hexdigest()


def build() -> None:
    """Build the site in build/docs, unless it is up to date."""
    # not all of them are pages of the site
    outside = [*TOP.glob("*.md"), *TOP.glob("roles/*/README.md")]
    if found := [line for path in outside for line in links.lost(path)]:
        sys.exit("\n".join(["links that lead nowhere:", *found]))
    SITE.parent.mkdir(exist_ok=True)
    stamp = SITE.with_suffix(".made-of")
    with SITE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made_of = fingerprint()
        if stamp.exists() and stamp.read_text() == made_of:
            return
        stamp.unlink(missing_ok=True)
        for folder in (SOURCE, SITE):
            shutil.rmtree(folder, ignore_errors=True)
        SOURCE.mkdir(parents=True)
        write_pages()
        write_reference()
        sphinx("html", SITE)
        make_accessible()
        if found := links.broken(SITE):
            sys.exit("\n".join(["links that lead nowhere:", *found]))
        stamp.write_text(made_of)


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("--links-elsewhere", action="store_true", help="check the links to other sites")
    said = parser.parse_args()
    build()
    if said.links_elsewhere:
        sphinx("linkcheck", TOP / "build" / "docs-links")


if __name__ == "__main__":
    main()
