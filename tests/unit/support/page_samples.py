# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every page that the collection writes, in all its formats, from samples."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import evidence_samples
import rollout_samples
import series_samples
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._pages.writing import Formats
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import RENDERERS, of_scaling, of_trend
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import keeping
from rendering import held_runs
from report_samples import NAMES, fleet, sample

Make = Callable[[], dict[str, Any]]

REPORTS: dict[str, Make] = {**{name: partial(sample, name) for name in NAMES}, "fleet": partial(fleet, 200)}
TRENDS: dict[str, Make] = {
    "trend": series_samples.banking,
    "trend-hostile": series_samples.hostile_trend,
    "trend-empty": series_samples.empty_trend,
}
SCALINGS: dict[str, Make] = {
    "scaling": series_samples.connections,
    "guests": series_samples.virtualization,
    "scaling-hostile": series_samples.hostile_scaling,
    "scaling-empty": series_samples.empty_scaling,
}
EVIDENCE: dict[str, Make] = {f"verify-{name}": make for name, make in evidence_samples.SAMPLES.items()}
ROLLOUTS: dict[str, Make] = {f"rollout-{name}": make for name, make in rollout_samples.SAMPLES.items()}
PAGES: dict[str, tuple[Formats, Make]] = {
    **{name: (RENDERERS, make) for name, make in REPORTS.items()},
    **{name: (of_trend.FORMATS, make) for name, make in TRENDS.items()},
    **{name: (of_scaling.FORMATS, make) for name, make in SCALINGS.items()},
    **{name: (files.FORMATS, make) for name, make in EVIDENCE.items()},
    **{name: (keeping.FORMATS, make) for name, make in ROLLOUTS.items()},
}


@cache
def write(name: str, form: str) -> str:
    """Return one format of one of PAGES. Repeated calls cost nothing; ``write.__wrapped__`` writes it again."""
    formats, make = PAGES[name]
    made = make()
    return "".join(formats[form](made, held_runs(made)) if name in REPORTS else formats[form](made))
