# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damaged files that fuzzing found: each is reported in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment import plan_files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports import sysstat
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.cpu_window import CpuFileError

DEEP = "[" * 100_000


def test_an_experiment_that_is_nested_too_deeply(tmp_path: Path) -> None:
    (tmp_path / "rps").mkdir()
    (tmp_path / "rps" / "experiment.json").write_text(DEEP)
    with pytest.raises(ValueError, match=r"experiment\.json cannot be used: "):
        plan_files.read(tmp_path, "rps")


def test_a_file_of_sysstat_with_a_number_of_thousands_of_digits() -> None:
    with pytest.raises(CpuFileError, match="this JSON is not sysstat's"):
        sysstat.parse('{"sysstat": %s}' % ("9" * 50_000))
