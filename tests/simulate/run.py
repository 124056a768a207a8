# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often verdicts are right, simulated: what is drawn is in noise.py, all decisions are the collection's own.

    run.py [--share N] [--write] [TABLE ...]

TABLE: names of tables, as printed. --share N: play N percent of the experiments. --write: write the tables into
docs/verdicts_simulated.md for which it has a place. The same share gives the same figures on every machine.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / "tests" / name) for name in ("simulate", "unit", "")]

# makes the checkout importable as a collection
import conftest  # noqa: E402, F401
from reliability import between  # noqa: E402
from tables import TABLES, lines  # noqa: E402
from trials import Outcome  # noqa: E402

PAGE = CHECKOUT / "docs" / "verdicts_simulated.md"
FEWEST = 20

Cell = tuple[Callable[..., Outcome], tuple[Any, ...], int]


def play(cell: Cell) -> Outcome:
    """Play the experiments of a cell."""
    trial, arguments, experiments = cell
    return trial(*arguments, experiments)


def tables(names: list[str], share: float, workers: int) -> dict[str, list[str]]:
    """Play what the tables need, each cell once, and return their lines."""
    played: dict[Cell, Outcome] = {}

    def ask(trial: Callable[..., Outcome], *arguments: Any, experiments: int) -> Outcome:
        cell = (trial, arguments, max(FEWEST, round(experiments * share / 100.0)))
        return played.setdefault(cell, Outcome(Counter(), 0.0, cell[2]))

    for name in names:
        list(TABLES[name](ask))
    cells = list(played)
    with multiprocessing.Pool(workers) as pool:
        for done, (cell, outcome) in enumerate(zip(cells, pool.imap(play, cells), strict=True), 1):
            played[cell] = outcome
            print(f"\rsimulate: {done} of {len(cells)} cells", end="", file=sys.stderr, flush=True)
    return {name: lines(TABLES[name](ask)) for name in names}


def main() -> int:
    """Play and show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=100.0)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("tables", nargs="*", metavar="TABLE", choices=[*TABLES, []])
    options = parser.parse_args()
    begin = time.monotonic()
    found = tables(options.tables or list(TABLES), options.share, len(os.sched_getaffinity(0)))
    for name, table in found.items():
        print(f"\n{name}\n", *table, sep="\n")
        if options.write and f"<!-- simulation {name}: begin -->" in PAGE.read_text(encoding="utf-8"):
            before, _old, after = between(PAGE.read_text(encoding="utf-8"), f"simulation {name}")
            PAGE.write_text(before + "\n".join(["", *table, "", ""]) + after, encoding="utf-8")
    print(f"\nsimulate: {options.share:g} % of the experiments in {time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
