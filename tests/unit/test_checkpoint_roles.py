# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every tuning's role hands the variables of checkpoints and probation on, in its only call that changes something."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.zpower.sap_tuning.plugins.lookup.tunings import known_tunings
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.role_options import module_options
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import role_specs

ROLES = Path(__file__).resolve().parents[2] / "roles"
OFF = {"confirm_within": "0"}


@pytest.mark.parametrize("role", known_tunings())
def test_a_role_changes_something_in_one_call(role: str) -> None:
    tasks = [
        task for path in (ROLES / role / "tasks").glob("*.yml") for task in yaml.safe_load(path.read_text("utf-8"))
    ]
    calls = [task for task in tasks if "zpower.sap_tuning.tuning" in task and not task.get("check_mode")]
    assert [call["zpower.sap_tuning.tuning"] for call in calls] == [{"name": role}]
    assert not any(f"zpower.sap_tuning.{role}" in task for task in tasks)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {}),
        ({"zpower_checkpoint": "cp", "zpower_lease": 60}, {"checkpoint": "cp", "lease": 60}),
        ({"zpower_checkpoint": "", "zpower_lease": 0}, {"lease": 0}),
        ({"zpower_confirm_within": "10m"}, {"confirm_within": "10m"}),
        ({"zpower_confirm_within": 0, "zpower_rollback": True}, {**OFF, "state": "restored"}),
        ({"zpower_confirm_within": "unlimited"}, OFF),
        ({"zpower_probation": "only", "zpower_rollback": True}, {**OFF, "state": "restored"}),
        ({"zpower_probation": "compare", "zpower_confirm_within": "10m"}, OFF),
        ({"zpower_confirm": True, "zpower_confirm_within": "10m"}, {"state": "confirmed"}),
        ({"zpower_confirm": False, "zpower_confirm_within": ""}, {}),
    ],
)
def test_every_tuning_gets_the_options(given: dict[str, Any], expected: dict[str, Any]) -> None:
    for role in known_tunings():
        found = module_options(role, role_specs(role), {"sap_profile_shared": False, **given}.get)
        assert {name: found[name] for name in found if name not in ("complete", "profiles")} == expected, role
