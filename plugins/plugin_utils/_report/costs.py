# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CPU figures of a comparison as rows, for the page, its chart and the Markdown text."""

from __future__ import annotations

from .._compare.shapes import Comparison, Part
from .view import metric_words

CPU_METRIC = "cpu_us_per_unit"


def cpu_rows(item: Comparison) -> list[Part]:
    """One row for each end of a comparison that has CPU figures, then one for each other secondary metric."""
    kpi = item["kpi"]
    secondary = {str(entry["metric"]): entry for entry in item["secondary"]}
    rows = []
    for end in ("client", "server"):
        entry = secondary.pop(f"{CPU_METRIC}_{end}", None) or secondary.pop(CPU_METRIC, None) or {}
        values = kpi.get(end) or {}
        if values or entry:
            rows.append(_row(item, "both, one kernel" if kpi.get("shared_kernel") else end, entry, values))
    return rows + [_row(item, metric_words(name), entry, {}) for name, entry in secondary.items()]


def _row(item: Comparison, what: str, entry: Part, values: Part) -> Part:
    before, after = (values.get(phase) or {} for phase in ("before", "after"))
    return {
        "item": item,
        "what": what,
        "unit_of_work": item["unit_of_work"],
        "unit": entry.get("unit", "\u00b5s"),
        "before": entry.get("before", before.get(CPU_METRIC)),
        "after": entry.get("after", after.get(CPU_METRIC)),
        "ratio": entry.get("ratio"),
        "p": entry.get("p_holm"),
        "flag": entry.get("flag"),
        "kpi_before": before,
        "kpi_after": after,
    }
