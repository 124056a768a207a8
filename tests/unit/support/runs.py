# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of a tuning on a host of the tests, with a journal in that host's tree."""

from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import entry_point
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.journal import Journal
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.run import Run

FOLDER = "/var/lib/zpower_sap_tuning"
# of the options that every tuning has
DEFAULTS = {name: option.get("default") for name, option in entry_point.STATE_ARGUMENTS.items()}


def runner(tuning, **defaults):
    """run(host, check=False, **changes): one call of the tuning's module with these parameters."""

    def run(host, check=False, **changes):
        params = dict({"state": "present", "force": False}, **defaults)
        params.update(changes)
        journal = Journal(host, tuning.name, FOLDER, params.get("checkpoint"))
        return Run(tuning(host, params), journal, params["state"], check, params["force"]).run()

    return run


def only(result):
    """The one tuning record of a result."""
    assert len(result["tuning"]) == 1
    return result["tuning"][0]


def verdicts(result):
    return {record["subject"]: record["verdict"] for record in result["tuning"]}


class Dead(BaseException):
    """The run is killed."""


def everything(host):
    """{path: content} of all files that a run can write or read."""
    return host.tree("/etc", "/proc", "/sys", "/var")
