# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A report that contains its runs, in one of its formats."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.shapes import Part, Report
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._pages.text import PairKey, Runs
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import RENDERERS
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report.view import key_of


def held_runs(report: Report) -> Runs:
    def runs(keys: Collection[PairKey] | None) -> Iterator[Part]:
        return (run for run in report["runs"] if keys is None or key_of(run) in keys)

    return runs


def render(report: Report, form: str) -> str:
    """Return the whole text of one format; raise KeyError for a format that does not exist."""
    return "".join(RENDERERS[form](report, held_runs(report)))
