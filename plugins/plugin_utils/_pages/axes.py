# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An axis of values: the place of each value, and the round values that are labelled."""

from __future__ import annotations

import math
from collections.abc import Iterable

from markupsafe import Markup

from .svg import el


def horizontal_grid(labels: Iterable[tuple[float, str]], left: float, right: float, gap: float) -> list[Markup]:
    """A line across the drawing for each place on a vertical axis, with its label, if any, at the left."""
    parts = []
    for y, label in labels:
        parts.append(el("path", d=f"M{left} {y:.1f}H{right}", cls="grid"))
        parts += [el("text", label, x=left - gap, y=y + 4, cls="tick end")] if label else []
    return parts


class Axis:
    """Values on a linear or logarithmic line, with a limited number of round ticks."""

    def __init__(self, values: Iterable[float], start: float, end: float, *, log: bool = False, zero: bool = True):
        known = [value for value in values if math.isfinite(value)]
        low, high = min(known, default=0.0), max(known, default=1.0)
        self.log = log
        self.start, self.end = start, end
        if log:
            self.low, self.high = low, high * 1.05
            return
        if zero and low > 0.5 * high:
            room = max((high - low) * 0.15, high * 0.005)
            self.low, self.high = max(0.0, low - room), high + room
        else:
            self.low, self.high = (0.0 if zero else low), (high or 1.0) * (1.04 if zero else 1.0)

    def at(self, value: float) -> float:
        """The place of a value."""
        if self.log:
            share = math.log(max(value, self.low) / self.low) / (math.log(self.high / self.low) or 1.0)
        else:
            share = (value - self.low) / ((self.high - self.low) or 1.0)
        return self.start + share * (self.end - self.start)

    def labels(self) -> list[tuple[float, str]]:
        """The ticks of a vertical axis as places and texts."""
        return [(self.at(tick), f"{tick:,.6g}") for tick in self.ticks(6)]

    def ticks(self, most: int) -> list[float]:
        """Round values within the axis."""
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            for steps in ((1, 2, 5), (1,)):
                found = [step * 10.0**power for power in range(first, last + 1) for step in steps]
                found = [value for value in found if self.low * 0.999 <= value <= self.high]
                if len(found) <= most:
                    break
            return found
        size = 10.0 ** math.floor(math.log10((self.high - self.low) or 1.0))
        steps_of = (step * size * scale for scale in (0.1, 1.0) for step in (1, 2, 5))
        step = next((s for s in steps_of if (self.high - self.low) / s <= most), size * 10)
        begin = math.ceil(self.low / step - 1e-9)
        return [round(place * step, 12) for place in range(begin, math.floor(self.high / step + 1e-9) + 1)]
