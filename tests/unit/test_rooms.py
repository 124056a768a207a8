# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Imports lead down: a file imports only from its own room and from rooms further down in docs/architecture.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
PLUGINS = TOP / "plugins"
# interfaces may use each other
FACES = {"action", "callback", "lookup", "modules"}
ROOMS: list[str] = re.findall(
    r"^\| `([\w/]+)` \| [^|]+ \|$",
    (TOP / "docs" / "architecture.md").read_text("utf-8").partition("\n## Rooms\n")[2].partition("\n## ")[0],
    re.MULTILINE,
)
FILES = [
    path.relative_to(PLUGINS)
    for path in sorted(PLUGINS.rglob("*.py"))
    if path.name != "__init__.py" and path.parent.name != "doc_fragments"
]


def room_of(path: Path) -> str:
    """Return the room of a file or folder below plugins/; raise KeyError if it is in none."""
    face, *parts = path.with_suffix("").parts
    if face in FACES:
        return face
    for length in range(len(parts), 0, -1):
        if (room := "/".join(parts[:length])) in ROOMS:
            return room
    raise KeyError(f"plugins/{path} is in no room of docs/architecture.md")


def imports(path: Path, text: str) -> Iterator[Path]:
    """Return the files and folders of the collection from which a file imports."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            for name in node.names:
                module = base / f"{name.name}.py"
                yield module if (PLUGINS / module).exists() or (PLUGINS / base).is_dir() else base


def leads_up(path: Path, text: str) -> list[str]:
    here = room_of(path)
    rooms = {room_of(target) for target in imports(path, text)} - {here}
    return [] if here in FACES else sorted(room for room in rooms if ROOMS.index(room) < ROOMS.index(here))


def test_imports_lead_down_and_are_relative() -> None:
    texts = {path: (PLUGINS / path).read_text("utf-8") for path in FILES}
    assert {path: rooms for path, text in texts.items() if (rooms := leads_up(path, text))} == {}
    absolute = re.compile(r"^\s*(?:from|import) ansible_collections\.", re.MULTILINE)
    assert [path for path, text in texts.items() if absolute.search(text)] == []


def test_every_room_has_files() -> None:
    assert {room_of(path) for path in FILES} == {*ROOMS} and len(ROOMS) == len({*ROOMS})
