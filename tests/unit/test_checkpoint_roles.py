# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every tuning's role hands the variables of checkpoints and probation on, in its only call that changes something."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.role_options import module_options
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import role_specs

CHECKOUT = Path(__file__).resolve().parents[2]
TUNINGS = sorted(
    path.stem
    for path in (CHECKOUT / "plugins" / "module_utils" / "_tunings").glob("*.py")
    if not path.stem.startswith("_")
)


def calls(role: str) -> Iterator[dict[str, Any]]:
    """The arguments of the calls of the tuning's module that change something."""
    for path in (CHECKOUT / "roles" / role / "tasks").glob("*.yml"):
        for task in yaml.safe_load(path.read_text(encoding="utf-8")):
            assert f"zpower.sap_tuning.{role}" not in task
            if "zpower.sap_tuning.tuning" in task and not task.get("check_mode"):
                yield task["zpower.sap_tuning.tuning"]


@pytest.mark.parametrize("role", TUNINGS)
def test_every_tuning_hands_them_on(role: str) -> None:
    (arguments,) = calls(role)
    assert arguments == {"name": role}

    def options(**values: Any) -> tuple[Any, Any]:
        found = module_options(role, role_specs(role), values.get)
        return found.get("checkpoint", "omitted"), found.get("lease", "omitted")

    assert options(zpower_checkpoint="cp", zpower_lease=60) == ("cp", 60)
    assert options(zpower_checkpoint="", zpower_lease=0) == ("omitted", 0)
    assert options() == ("omitted", "omitted")


@pytest.mark.parametrize("role", TUNINGS)
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"zpower_confirm_within": "10m"}, {"confirm_within": "10m"}),
        ({"zpower_confirm_within": 0, "zpower_rollback": True}, {"confirm_within": "0", "state": "restored"}),
        ({"zpower_confirm_within": "unlimited"}, {"confirm_within": "0"}),
        ({"zpower_probation": "only", "zpower_rollback": True}, {"confirm_within": "0", "state": "restored"}),
        ({"zpower_probation": "compare", "zpower_confirm_within": "10m"}, {"confirm_within": "0"}),
        ({"zpower_confirm": True, "zpower_confirm_within": "10m"}, {"state": "confirmed"}),
        ({"zpower_confirm": False, "zpower_confirm_within": ""}, {}),
    ],
)
def test_every_tuning_has_a_probation(role: str, given: dict[str, Any], expected: dict[str, Any]) -> None:
    found = module_options(role, role_specs(role), {"sap_profile_shared": False, **given}.get)
    assert {option: found[option] for option in found if option not in ("complete", "profiles")} == expected
