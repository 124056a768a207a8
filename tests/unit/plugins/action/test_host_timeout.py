# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long an action waits for its host."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from actions import run_action
from ansible.errors import AnsibleActionFail
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.zpower.sap_tuning.plugins.action import measure_workload, platform_info, tuning, tunings
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions import controller
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import trusted

SERVER = {"side": "server", "workload": "network"}
RESTART = {"smc_restart": ["PRD_00"]}


def run(action: ModuleType, arguments: dict[str, Any], check: bool = False, **variables: Any) -> dict[str, Any]:
    variables = trusted(variables)
    templar = Templar(DataLoader(), variables=variables)
    return run_action(action, arguments, variables=variables, templar=templar, check=check, tags=("always",))


@pytest.fixture(name="limits")
def fixture_limits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seconds that actions waited for their hosts, which answer at once."""
    found: list[int] = []

    @contextlib.contextmanager
    def limit(seconds: int) -> Iterator[None]:
        found.append(seconds)
        yield

    monkeypatch.setattr(controller, "time_limit", limit)
    for action in (measure_workload, platform_info, tuning, tunings):
        monkeypatch.setattr(action.ActionModule, "_execute_module", lambda *_arguments, **_more: {"tunings": {}})
    return found


@pytest.mark.parametrize(
    ("action", "arguments", "variables", "seconds"),
    [
        (tuning, {"name": "rps"}, RESTART, 300),
        (tuning, {"name": "rps"}, {"zpower_host_timeout": ""}, 300),
        (tuning, {"name": "rps"}, {"zpower_host_timeout": "{{ 30 * 2 }}"}, 60),
        (tuning, {"name": "smc"}, {**RESTART, "smc_restart_timeout": "10"}, 330),
        (tuning, {"name": "smc"}, {**RESTART, "smc_restart_soft_timeout": 480}, 300 + 3 * 600 + 480),
        (tuning, {"name": "smc"}, {**RESTART, "zpower_host_timeout": 0}, 0),
        (tuning, {"name": "rps"}, {"zpower_host_timeout": 10**12}, 10**8),
        (tunings, {"names": ["rps"]}, RESTART, 300),
        (tunings, {"names": ["smc"]}, {"smc_restart": "PRD_00,PRD_01"}, 300 + 5 * 600),
        (tunings, {"names": ["smc"], "tunings": {"smc": {"restart": ["PRD_00"]}}}, {}, 300 + 3 * 600),
        (platform_info, {}, {}, 300),
        (measure_workload, SERVER, {}, 300),
        (measure_workload, {**SERVER, "side": "client"}, {}, 0),
    ],
)
def test_the_limit_includes_the_restarts_and_leaves_rounds_alone(
    limits: list[int], action: ModuleType, arguments: Any, variables: dict[str, Any], seconds: int
) -> None:
    run(action, arguments, **variables)
    assert limits == [seconds]


def test_a_call_that_only_looks_restarts_nothing(limits: list[int]) -> None:
    run(tuning, {"name": "smc"}, check=True, **RESTART)
    assert limits == [300]


def test_a_module_that_a_task_calls_itself_has_no_limit(limits: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """It may restart instances."""
    monkeypatch.setattr(platform_info, "known_tunings", lambda: ["platform_info"])
    run(platform_info, {})
    assert limits == [0]


def test_a_wrong_number_is_named() -> None:
    with pytest.raises(AnsibleActionFail, match="zpower_host_timeout is 'soon'; it must be a whole number"):
        run(tuning, {"name": "rps"}, zpower_host_timeout="soon")


def test_a_host_that_does_not_answer_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform_info.ActionModule, "_execute_module", lambda *_arguments, **_more: time.sleep(600))
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(AnsibleActionFail, match=r"^the host did not answer within 1 s \(zpower_host_timeout\)$"):
        run(platform_info, {}, zpower_host_timeout=1)
    assert signal.getsignal(signal.SIGALRM) is before and signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_the_limit_of_a_task_wins() -> None:
    signal.alarm(500)
    try:
        with controller.time_limit(1):
            assert signal.getitimer(signal.ITIMER_REAL)[0] > 400
        assert signal.alarm(0) > 400
    finally:
        signal.alarm(0)
