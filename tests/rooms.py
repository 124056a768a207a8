# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rooms of the code: which there are, and which imports lead from one to another.

`python tests/rooms.py` draws them: tables in docs/architecture.md, and docs/images/rooms.svg (rooms_picture.py). A test
holds both to the imports, and the imports to ROOMS: a file imports only from its own room and from rooms further down.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import rooms_picture

HERE = Path(__file__).resolve().parents[1]
PLUGINS = HERE / "plugins"
PAGE = HERE / "docs" / "architecture.md"
PICTURE = HERE / "docs" / "images" / "rooms.svg"
BEGIN, END = "<!-- rooms: begin -->", "<!-- rooms: end -->"

# From the top to the bottom, each with its job.
FACES = {
    "action": "actions on the controller: store records, write reports",
    "callback": "the table of tunings, the evidence of a run, quiet output",
    "lookup": "names of tunings, profiles that hosts share, progress",
    "modules": "options, documentation, `main()`",
}
CONTROLLER = {
    "_actions": "what several actions have in common",
    "_sessions": "what measures several states: plan, next step, look, end",
    "_rollout": "plan, change window, state and outcome of a rollout",
    "_evidence": "one run of a playbook: every host, waivers, differences",
    "_report": "the report of a change, of a trend, a scaling, a calibration: one file per format",
    "_pages": "what all pages have in common: text, style sheet, a writer for each format",
    "_series": "many changes in their order; one metric over a number",
    "_compare": "records of a change → comparisons → verdicts",
    "_experiment": "levels, plan, outcome",
    "_imports": "figures and CPU time from elsewhere → records",
    "_answers": "the one door for what a host says: parsed answers, clean text, facts that decide",
    "_records": "records: read, checked, written, reduced",
    "_statistics": "numbers only: ranks, intervals, verdict of one comparison",
}
TARGET = {
    "_tunings": "one file per tuning, its helpers in a folder",
    "_measure/round": "one round: idle window, warm-up, runs",
    "_measure/locks": "enqueue server",
    "_measure/server": "the server on the peer",
    "_measure/net": "network tools, one file each",
    "_measure/host": "disk, cryptography and programs of a host",
    "_measure/workloads": "what each tool provides and is run with",
    "_measure/cpu": "CPU time and counters",
    "_measure": "processes, sockets, the protocol between two ends",
    "_aix": "commands of AIX",
    "_machine": "platform, interfaces, SMC, who else sets a knob",
    "_sap": "profiles, instances, SAP's programs",
    "_engine": "the life of a tuning: observe, plan, act, prove; journal, way back, lease",
    "_captures": "a folder or archive in the place of a host",
    "_host": "the one door to the machine: files, commands, identities, locks",
}
ROOMS = [*FACES, *CONTROLLER, *TARGET]


def files() -> Iterator[tuple[str, ...]]:
    """The path of every module below plugins/, without .py."""
    for path in sorted(PLUGINS.rglob("*.py")):
        parts = path.relative_to(PLUGINS).with_suffix("").parts
        if parts[0] != "doc_fragments" and parts[-1] != "__init__":
            yield parts


def text_of(parts: tuple[str, ...]) -> str:
    return PLUGINS.joinpath(*parts).with_suffix(".py").read_text("utf-8")


def room_of(parts: tuple[str, ...]) -> str:
    """The room of a module; KeyError for one that lies in none."""
    if parts[0] not in ("module_utils", "plugin_utils"):
        return parts[0]
    room = "/".join(parts[1:-1])
    while room and room not in ROOMS:
        room = room.rpartition("/")[0]
    if not room:
        raise KeyError(f"plugins/{'/'.join(parts)}.py lies in no room of tests/rooms.py")
    return room


def imports(parts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """What one module imports of this collection, as paths below plugins/."""
    for node in ast.walk(ast.parse(text_of(parts))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = (*parts[: -node.level], *(node.module.split(".") if node.module else ()))
            for name in node.names:
                found = (*base, name.name) if PLUGINS.joinpath(*base, f"{name.name}.py").exists() else base
                yield (*found, "__init__") if PLUGINS.joinpath(*found).is_dir() else found


def arrows() -> dict[tuple[str, str], list[str]]:
    """{(room, room that it imports from): ["file imports file"]}, in the order of ROOMS."""
    found: dict[tuple[str, str], list[str]] = {}
    for parts in files():
        for target in imports(parts):
            pair = (room_of(parts), room_of(target))
            if pair[0] != pair[1]:
                found.setdefault(pair, []).append(f"{'/'.join(parts)}.py imports {'/'.join(target)}.py")
    return {pair: found[pair] for pair in sorted(found, key=lambda pair: [ROOMS.index(room) for room in pair])}


def against(found: dict[tuple[str, str], list[str]]) -> list[str]:
    """The imports that lead up. Faces may use each other."""
    up = [pair for pair in found if ROOMS.index(pair[0]) > ROOMS.index(pair[1]) and pair[0] not in FACES]
    return [sentence for pair in up for sentence in found[pair]]


def absolute() -> list[str]:
    """The modules that import this collection by its name, which a moved or renamed checkout does not have."""
    own = re.compile(r"^\s*(from|import) ansible_collections\.", re.M)
    return ["/".join(parts) for parts in files() if own.search(text_of(parts))]


def picture() -> str:
    """The rooms and the arrows between their layers as SVG."""
    return rooms_picture.picture(FACES, CONTROLLER, TARGET, arrows())


def tables() -> str:
    """The rooms with their jobs and all arrows: a table of each storey."""
    targets: dict[str, list[str]] = {}
    for here, there in arrows():
        targets.setdefault(here, []).append(there)
    counts: dict[str, int] = {}
    for parts in files():
        counts[room_of(parts)] = counts.get(room_of(parts), 0) + 1
    lines = []
    for title, rooms in (
        ("Faces (`plugins/`)", FACES),
        ("On the controller (`plugins/plugin_utils/`)", CONTROLLER),
        ("On the host (`plugins/module_utils/`)", TARGET),
    ):
        lines += ["", f"| {title} | files | job | imports from |", "|---|---|---|---|"]
        for room, job in rooms.items():
            uses = ", ".join(f"`{name}`" for name in targets.get(room, [])) or "–"
            lines.append(f"| `{room}` | {counts.get(room, 0)} | {job} | {uses} |")
    return "\n".join(lines[1:]) + "\n"


def drawn(page: str) -> str:
    """The page with the tables of today between its marks."""
    before, rest = page.split(BEGIN + "\n")
    return before + BEGIN + "\n" + tables() + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text("utf-8")), "utf-8")
    PICTURE.write_text(picture(), "utf-8")
    sys.exit("\n".join(against(arrows())) or 0)
