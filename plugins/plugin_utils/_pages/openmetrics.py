# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Families of metrics as OpenMetrics text. An unknown figure has no sample."""

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache

from .._records.round import microseconds
from .text import one_line

Sample = tuple[str, object]
"""The labels as text, because those of a comparison are written many times, and the value."""


def family(name: str, kind: str, words: str, samples: Iterable[Sample], unit: str = "", factor: float = 1) -> str:
    """The lines of one family of metrics, their values times ``factor``; nothing if no value is known."""
    known = [(labels, text) for labels, value in samples if (text := _number(value, factor))]
    if not known:
        return ""
    head = [f"# TYPE {name} {kind}\n", f"# UNIT {name} {unit}\n" if unit else "", f"# HELP {name} {words}\n"]
    suffix = "_info" if kind == "info" else ""
    return "".join([*head, *(f"{name}{suffix}{{{labels}}} {text}\n" for labels, text in known)])


def _number(value: object, factor: float) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return ""
    return repr(value if factor == 1 else float(f"{value * factor:.9g}"))


def joined(labels: Mapping[str, object]) -> str:
    """Labels as text, escaped; those without a value are left out."""
    return ",".join([f'{name}="{_escaped(value)}"' for name, value in labels.items() if value is not None])


@lru_cache(maxsize=4096)
def _escaped(value: object) -> str:
    return one_line(value).replace("\\", "\\\\").replace('"', '\\"')


def seconds(stamp: object) -> float | None:
    """UTC as the report writes it, in seconds since 1970; None for anything else."""
    moment = microseconds(stamp)
    return None if moment is None else moment / 1e6
