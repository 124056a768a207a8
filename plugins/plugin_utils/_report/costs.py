# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CPU figures of a comparison as rows: the same for the page, its chart and the text for a ticket."""

from __future__ import annotations

from typing import Any

from .text import Item
from .view import metric_words

CPU_METRIC = "cpu_us_per_unit"


def cpu_rows(item: Item) -> list[dict[str, Any]]:
    """One row for each end of a comparison that has CPU figures, then one for each further secondary metric."""
    kpi = item.get("kpi") or {}
    secondary = {str(entry.get("metric")): entry for entry in item.get("secondary") or ()}
    rows = []
    for end in ("client", "server"):
        found = secondary.pop(f"{CPU_METRIC}_{end}", None) or secondary.pop(CPU_METRIC, None)
        values = kpi.get(end)
        if not values and not found:
            continue
        before, after = ((values or {}).get(phase) or {} for phase in ("before", "after"))
        measured = found or {}
        rows.append(
            {
                "item": item,
                "what": "both, one kernel" if kpi.get("shared_kernel") else end,
                "unit_of_work": item.get("unit_of_work"),
                "unit": "\u00b5s",
                "before": measured.get("before", before.get(CPU_METRIC)),
                "after": measured.get("after", after.get(CPU_METRIC)),
                "ratio": measured.get("ratio"),
                "p": measured.get("p_holm"),
                "flag": measured.get("flag"),
                "kpi_before": before,
                "kpi_after": after,
            }
        )
    for name, entry in secondary.items():
        row = {key: entry.get(key) for key in ("unit", "before", "after", "ratio", "flag")}
        rows.append(
            {
                "item": item,
                "what": metric_words(name),
                **row,
                "p": entry.get("p_holm"),
                "kpi_before": {},
                "kpi_after": {},
            }
        )
    return rows
