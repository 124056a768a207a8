# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every tuning's role hands zpower_checkpoint and zpower_lease on, in its only call that changes something."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

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
            if f"zpower.sap_tuning.{role}" in task and not task.get("check_mode"):
                yield task[f"zpower.sap_tuning.{role}"]


@pytest.mark.parametrize("role", TUNINGS)
def test_every_tuning_hands_them_on(role: str) -> None:
    (arguments,) = calls(role)
    assert arguments["checkpoint"] == "{{ zpower_checkpoint | default(omit, true) }}"
    assert arguments["lease"] == "{{ omit if zpower_lease | default(none) is none else zpower_lease }}"
