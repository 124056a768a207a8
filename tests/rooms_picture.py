# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The picture of the rooms, docs/images/rooms.svg: `python tests/rooms.py` draws it from the imports.

A storey (controller, host) is a panel. Its rooms lie in layers, each below all rooms that import from it. An arrow that
other arrows imply is left out, and so are arrows into another panel, except one for each pair of panels.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, permutations
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

Edge = tuple[str, str]
WIDTH, PANEL, MARGIN, PAD, GAP = 900, 424, 14, 12, 10
LEFT, RIGHT = MARGIN, WIDTH - MARGIN - PANEL
NAME_LINE, JOB_LINE, BOX_PAD, LAYER_GAP, DUMMY = 18, 16, 8, 28, 10
JOB_CHAR = 6.7  # the width of a letter, on average
STYLE = """
svg { font-family: system-ui, "Segoe UI", "Liberation Sans", sans-serif; }
.page { fill: #ffffff; } .panel { fill: #f1f4f8; stroke: #c3ccd8; } .box { fill: #ffffff; stroke: #5b6b80; }
.face { fill: #e3edfb; stroke: #2f6ab5; } text { fill: #1b2430; font-size: 13px; }
.name { font: bold 13px ui-monospace, "Liberation Mono", monospace; } .head { font-size: 15px; font-weight: bold; }
.line { fill: none; stroke: #5b6b80; stroke-width: 1.4; } .tip { fill: #5b6b80; }
@media (prefers-color-scheme: dark) {
  .page { fill: #14181d; } .panel { fill: #1d232b; stroke: #3a4654; } .box { fill: #28303a; stroke: #8fa0b5; }
  .face { fill: #1e3450; stroke: #6ea3e6; } text { fill: #e6ebf1; }
  .line { stroke: #9fb0c4; } .tip { fill: #9fb0c4; }
}
"""


class Box(NamedTuple):
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height


def below(edges: Iterable[Edge], room: str) -> set[str]:
    """All rooms that a room imports from, directly or not."""
    pairs, found = list(edges), set[str]()
    waiting = [room]
    while waiting:
        here = waiting.pop()
        more = {there for start, there in pairs if start == here} - found
        found |= more
        waiting += more
    return found


def reduced(edges: set[Edge]) -> list[Edge]:
    """The edges that no other ones imply."""
    return sorted(edge for edge in edges if edge[1] not in below(edges - {edge}, edge[0]))


def layers(rooms: Sequence[str], edges: Iterable[Edge]) -> list[list[str]]:
    """The rooms from the top to the bottom; each is in the highest layer that is above all it imports from."""
    pairs = list(edges)

    def height(room: str) -> int:
        return 1 + max((height(there) for here, there in pairs if here == room), default=-1)

    heights = {room: height(room) for room in rooms}
    return [[room for room in rooms if heights[room] == level] for level in range(max(heights.values()), -1, -1)]


def with_dummies(rows: list[list[str]], edges: Iterable[Edge]) -> tuple[list[list[str]], list[list[str]]]:
    """The rows with a place for each arrow that passes one, and the arrows as paths from row to row."""
    rows, paths = [list(row) for row in rows], []
    level = {room: number for number, row in enumerate(rows) for room in row}
    for here, there in edges:
        passed = [(number, f"{here} {there} {number}") for number in range(level[here] + 1, level[there])]
        for number, dummy in passed:
            rows[number].append(dummy)
        paths.append([here, *(dummy for _number, dummy in passed), there])
    return rows, paths


def disorder(rows: list[list[str]], steps: Iterable[Edge]) -> tuple[int, float]:
    """How many arrows cross, and how far all of them lead to the side."""
    places = {
        room: (number, at, (at + 0.5) / len(row)) for number, row in enumerate(rows) for at, room in enumerate(row)
    }
    ends = [(places[here], places[there]) for here, there in steps]
    pairs = [pair for pair in combinations(ends, 2) if pair[0][0][0] == pair[1][0][0]]
    crossed = sum((one[0][1] - other[0][1]) * (one[1][1] - other[1][1]) < 0 for one, other in pairs)
    return crossed, sum(abs(here[2] - there[2]) for here, there in ends)


def ordered(rows: list[list[str]], paths: Iterable[Sequence[str]]) -> list[list[str]]:
    """The rows, each in an order in which few arrows cross: tried row by row, for each order of the first one."""
    steps = [step for path in paths for step in zip(path, path[1:], strict=False)]
    tried = []
    for first in permutations(rows[0]):
        found = [list(first), *rows[1:]]
        for number in [*range(1, len(rows)), *range(len(rows) - 1)]:
            some = [[*found[:number], list(one), *found[number + 1 :]] for one in permutations(found[number])]
            found = min(some, key=lambda one: disorder(one, steps))
        tried.append(found)
    return min(tried, key=lambda one: disorder(one, steps))


def lines(job: str, width: float) -> list[str]:
    return textwrap.wrap(job.replace("`", ""), int((width - 2 * BOX_PAD) / JOB_CHAR))


def box(place: Box, name: str, job: str, kind: str = "box") -> str:
    x, y = place.middle, place.y + BOX_PAD + 11
    size = f'width="{place.width:g}" height="{place.height:g}"'
    shown = [f'<rect class="{kind}" x="{place.x:g}" y="{place.y:g}" {size} rx="6"/>']
    shown.append(f'<text class="name" x="{x:g}" y="{y:g}" text-anchor="middle">{escape(name)}</text>')
    for number, text in enumerate(lines(job, place.width)):
        at = y + NAME_LINE + number * JOB_LINE
        shown.append(f'<text x="{x:g}" y="{at:g}" text-anchor="middle">{escape(text)}</text>')
    return "\n".join(shown)


def arrow(points: Sequence[tuple[float, float]]) -> str:
    """A line with a tip at its end, which enters and leaves each point upright."""
    (x, y), *rest = points
    path = f"M{x:g} {y:g}"
    for to_x, to_y in rest:
        half = (y + to_y) / 2
        path += f" C{x:g} {half:g} {to_x:g} {half:g} {to_x:g} {to_y:g}"
        x, y = to_x, to_y
    tip = f'<path class="tip" d="M{x:g} {y:g} l-4 -7 h8 z"/>'
    return f'<path class="line" d="{path}"/>\n{tip}'


def panel(
    rooms: Mapping[str, str], edges: set[Edge], title: str, left: float, top: float, height: float
) -> tuple[list[str], float]:
    """The drawing of one storey, at least as high as asked, and its height."""
    few = reduced(edges)
    rows, paths = with_dummies(layers(list(rooms), edges), few)
    rows = ordered(rows, paths)
    inside = PANEL - 2 * PAD
    heights, places = [], {}
    for row in rows:
        real = [room for room in row if room in rooms]
        width = (inside - GAP * (len(row) - 1) - DUMMY * (len(row) - len(real))) / len(real)
        tallest = max(len(lines(rooms[room], width)) for room in real)
        heights.append(2 * BOX_PAD + NAME_LINE + tallest * JOB_LINE - 4)
        x = left + PAD
        for room in row:
            places[room] = Box(x, 0, width if room in rooms else DUMMY, heights[-1])
            x += places[room].width + GAP
    head = 34
    least = head + sum(heights) + LAYER_GAP * (len(rows) - 1) + PAD
    gap = LAYER_GAP + max(0.0, height - least) / max(1, len(rows) - 1)
    y = top + head
    for row, size in zip(rows, heights, strict=True):
        for room in row:
            places[room] = places[room]._replace(y=y)
        y += size + gap
    shown = [f'<rect class="panel" x="{left}" y="{top:g}" width="{PANEL}" height="{max(least, height):g}" rx="8"/>']
    shown.append(f'<text class="head" x="{left + PAD}" y="{top + 23:g}">{escape(title)}</text>')
    for path in sorted(paths):
        points = [(port(places, paths, path, 0), places[path[0]].bottom)]
        for dummy in path[1:-1]:
            points += [(places[dummy].middle, places[dummy].y), (places[dummy].middle, places[dummy].bottom)]
        points.append((port(places, paths, path, -1), places[path[-1]].y))
        shown.append(arrow(points))
    shown += [box(places[room], room, job) for room, job in rooms.items()]
    return shown, max(least, height)


def port(places: Mapping[str, Box], paths: Sequence[Sequence[str]], path: Sequence[str], end: int) -> float:
    """Where an arrow leaves a room (end 0) or enters it (end -1): beside the others, in the order of their ends."""
    room, beside = path[end], 1 if end == 0 else -2
    others = sorted((one for one in paths if one[end] == room), key=lambda one: places[one[beside]].middle)
    return places[room].x + places[room].width * (others.index(path) + 1) / (len(others) + 1)


def folded(rooms: Mapping[str, str], arrows: Iterable[Edge]) -> tuple[dict[str, str], set[Edge]]:
    """Rooms and arrows with each room inside another one counted as a part of it."""
    whole = {room: job for room, job in rooms.items() if "/" not in room}
    for room in whole:
        if parts := [other.partition("/")[2] for other in rooms if other.startswith(f"{room}/")]:
            whole[room] += f"; inside: {', '.join(parts)}"
    pairs = {(here.partition("/")[0], there.partition("/")[0]) for here, there in arrows}
    return whole, {pair for pair in pairs if pair[0] in whole and pair[1] in whole and pair[0] != pair[1]}


def picture(
    faces: Mapping[str, str], controller: Mapping[str, str], target: Mapping[str, str], arrows: Iterable[Edge]
) -> str:
    """The whole drawing as SVG."""
    pairs = list(arrows)
    rooms, edges = folded(controller, pairs)
    machine, machine_edges = folded(target, pairs)
    on_controller = [name for name in faces if name != "modules"]
    each = (PANEL - GAP * (len(on_controller) - 1)) / len(on_controller)
    high = 2 * BOX_PAD + NAME_LINE + JOB_LINE - 4
    least_face = high + JOB_LINE * (max(len(lines(faces[name], each)) for name in on_controller) - 1)
    books = Box(MARGIN, MARGIN, WIDTH - 2 * MARGIN, high)
    roles = books._replace(y=books.bottom + LAYER_GAP)
    row = roles.bottom + LAYER_GAP
    places = {
        name: Box(LEFT + number * (each + GAP), row, each, least_face) for number, name in enumerate(on_controller)
    }
    places["modules"] = Box(RIGHT, row, PANEL, least_face)
    top = row + least_face + LAYER_GAP
    least = max(panel(*one, "", 0, top, 0)[1] for one in ((rooms, edges), (machine, machine_edges)))
    left, height = panel(rooms, edges, "Controller: plugins/plugin_utils", LEFT, top, least)
    right, _height = panel(machine, machine_edges, "Host: plugins/module_utils", RIGHT, top, least)
    shown = [
        box(books, "playbooks/", "what users start: verify, site, rollback and others", "face"),
        box(roles, "roles/", "one per tuning and per kind of work; users set their variables", "face"),
        arrow([(books.middle, books.bottom), (books.middle, roles.y)]),
    ]
    for name, place in places.items():
        shown.append(box(place, f"plugins/{name}", faces[name], "face"))
        shown.append(arrow([(place.middle, roles.bottom), (place.middle, place.y)]))
        shown.append(arrow([(place.middle, place.bottom), (place.middle, top)]))
    across = top + 17
    bridge = f'<path class="line" d="M{LEFT + PANEL} {across} H{RIGHT - 2}"/>'
    tip = f'<path class="tip" d="M{RIGHT} {across} l-7 -4 v8 z"/>'
    bottom = top + height + MARGIN + 8
    legend = (
        "An arrow leads to what is used or imported. Imports that other arrows imply are not drawn; the table has all.",
        "Rooms of the controller import from rooms of the host, never the other way round.",
    )
    said = [f"{here} imports from {there}" for here, there in reduced(edges) + reduced(machine_edges)]
    describes = (
        "Playbooks use roles, and roles use plugins. Actions, callback and lookups run on the controller, modules on "
        f"the host. {' '.join(legend)} {'; '.join(said)}."
    )
    return "\n".join(
        [
            "<!--",
            *(line[2:] for line in Path(__file__).read_text("utf-8").splitlines()[:2]),  # the licence of this file
            "Drawn by tests/rooms.py.",
            "-->",
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 32:g}" role="img" '
            'aria-labelledby="rooms-title rooms-desc">',
            '<title id="rooms-title">The rooms of the code</title>',
            f'<desc id="rooms-desc">{escape(describes)}</desc>',
            f"<style>{STYLE}</style>",
            f'<rect class="page" width="{WIDTH}" height="{bottom + 32:g}"/>',
            *left,
            *right,
            *shown,
            bridge,
            tip,
            *(
                f'<text x="{MARGIN}" y="{bottom + 17 * number:g}">{escape(text)}</text>'
                for number, text in enumerate(legend)
            ),
            "</svg>",
            "",
        ]
    )
