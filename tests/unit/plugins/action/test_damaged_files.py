# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damaged files that fuzzing found: an action reports each in one sentence, or leaves it out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from actions import run_action
from ansible.errors import AnsibleActionFail
from ansible_collections.zpower.sap_tuning.plugins.action import measurement_import
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions import measuring

DEEP = "[" * 100_000
ROW = {"phase": "before", "started": "2026-11-09T22:00:00+01:00", "elapsed_s": 9399, "units": 60000000}
DEFAULTS = {"host": "app1", "peer": "db1", "workload": "settlement", "source": {"kind": "sap_job_log", "text": "log"}}


@pytest.mark.parametrize("text", [DEEP, '{"workload": [1]}', "[]"])
def test_a_damaged_record_in_the_place_of_an_import(tmp_path: Path, text: str) -> None:
    given = {"change": "rps", "results": str(tmp_path), "rows": [ROW], "defaults": DEFAULTS}
    path = Path(run_action(measurement_import, given)["paths"][0])
    path.write_text(text)
    with pytest.raises(AnsibleActionFail, match="cannot be read as a record|was not imported"):
        run_action(measurement_import, given)
    assert path.read_text() == text


def test_a_round_that_is_nested_too_deeply_gives_no_loops(tmp_path: Path) -> None:
    (tmp_path / "before-1-x-y.json").write_text(DEEP)
    (tmp_path / "before-2-x-y.json").write_text(json.dumps({"schema": 1}))
    assert measuring.calibrated_loops(tmp_path, "app2") == {}
