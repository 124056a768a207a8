# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a task may wait for its host, and that every task of a role which asks a host has this limit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.zpower.sap_tuning.plugins.lookup import host_timeout
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import COLLECTION

ASKING = {"tuning", "tunings", "platform_settings_info", "leftovers_info", "niping"}


def seconds(*names: str, **variables: Any) -> int:
    lookup = host_timeout.LookupModule(templar=Templar(loader=DataLoader(), variables=variables))
    (found,) = lookup.run([[*names]], variables)
    return int(found)


@pytest.mark.parametrize(
    ("names", "variables", "found"),
    [
        ((), {}, 300),
        (("rps",), {"zpower_host_timeout": "", "smc_restart": ["PRD_00"]}, 300),
        (("rps",), {"zpower_host_timeout": "60"}, 60),
        (("smc",), {"smc_restart": ["PRD_00", "PRD_01"], "smc_restart_timeout": 10}, 350),
        (("smc", "sap_profile"), {"smc_restart": ["PRD_00"], "sap_profile_restart": "PRD_00,PRD_01"}, 300 + 8 * 600),
        (("smc",), {"smc_restart": ["PRD_00"], "smc_restart_soft_timeout": 480}, 300 + 3 * 600 + 480),
        (("all",), {"smc_restart": ["PRD_00"]}, 300 + 3 * 600),
        (("smc",), {"smc_restart": ["PRD_00"], "ansible_check_mode": True}, 300),
        (("smc",), {"smc_restart": ["PRD_00"], "zpower_host_timeout": 0}, 0),
    ],
)
def test_the_limit_includes_the_restarts(names: tuple[str, ...], variables: dict[str, Any], found: int) -> None:
    assert seconds(*names, **variables) == found


def test_a_wrong_number_is_named() -> None:
    with pytest.raises(AnsibleError, match="zpower_host_timeout is 'soon'"):
        seconds(zpower_host_timeout="soon")


def tasks(given: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for task in given:
        yield task
        for part in ("block", "rescue", "always"):
            yield from tasks(task.get(part, []))


def test_every_task_of_a_role_that_asks_a_host_has_the_limit() -> None:
    found = 0
    for path in (COLLECTION / "roles").glob("*/tasks/*.yml"):
        for task in tasks(yaml.safe_load(path.read_text("utf-8"))):
            for name in ASKING & {key.removeprefix("zpower.sap_tuning.") for key in task}:
                if task[f"zpower.sap_tuning.{name}"] and task[f"zpower.sap_tuning.{name}"].get("names") == []:
                    continue  # no host is asked
                found += 1
                assert "zpower.sap_tuning.host_timeout" in task.get("timeout", ""), path
    assert found > 12
