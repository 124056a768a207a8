# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every figure and its goal: one line each, and bench.json beside the Makefile. Status 1 if a goal is missed.

A run of everything also writes the tables of docs/reliability.md.

A file bench_<what>.py in this folder has a function ``figures()`` that yields dicts with ``name``, ``value``, ``unit``
and ``goal``; a goal reads ``<= 20``, ``>= 1`` or ``== 1``, and is empty for a figure that is only looked at.

    run.py [WHAT ...]    only these, for example: run.py report site
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import operator
import os
import platform
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import page

FOLDER = Path(__file__).resolve().parent
CHECKOUT = FOLDER.parents[1]
COMPARE = {"<=": operator.le, ">=": operator.ge, "==": operator.eq}


def met(value: float, goal: str) -> bool | None:
    """Whether a value reaches its goal; None if there is no goal."""
    if not goal:
        return None
    sign, limit = goal.split()
    return bool(COMPARE[sign](value, float(limit)))


def measured(wanted: list[str]) -> Iterator[dict[str, Any]]:
    """The figures of every bench_*.py, or of those named, each as soon as it is measured."""
    for path in sorted(FOLDER.glob("bench_*.py")):
        if wanted and path.stem.removeprefix("bench_") not in wanted:
            continue
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} cannot be loaded as Python")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for figure in module.figures():
            yield {**figure, "met": met(figure["value"], figure["goal"])}


def main(wanted: list[str]) -> int:
    collections = str(CHECKOUT / ".cache" / "collections")
    os.environ["ANSIBLE_COLLECTIONS_PATH"] = collections
    sys.path[:0] = [collections, str(CHECKOUT / "tests" / "unit" / "support")]
    machine = {
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "ansible_core": importlib.metadata.version("ansible-core"),
        "on": f"{datetime.now(UTC):%Y-%m-%d}",
        "load": os.getloadavg()[0],
    }
    figures = []
    for figure in measured(wanted):
        figures.append(figure)
        goal = f" ({figure['goal']}{'' if figure['met'] else ': MISSED'})" if figure["goal"] else ""
        print(f"{figure['name']}: {figure['value']:g} {figure['unit']}{goal}", flush=True)
    run = {"machine": machine, "figures": figures}
    (CHECKOUT / "bench.json").write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    if not wanted:
        page.write(run)
    return 1 if any(figure["met"] is False for figure in figures) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
