# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check what a measurement needs before anything is changed; documented in plugins/modules/measurement_check.py."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..plugin_utils._actions.measuring import check_writable
from ..plugin_utils._records import record_files

PEERS = {"niping": "peer", "network": "peer", "enqueue": "enqueue_peer"}
"""The workloads that need a peer, and the option that names it."""
WORKLOADS = [*PEERS, "fio", "openssl"]

ARGUMENTS: dict[str, Any] = {
    "change": {"type": "str", "required": True},
    "results": {"type": "path", "default": "results"},
    "rounds": {"type": "int", "default": 6},
    "workloads": {"type": "list", "elements": "str", "choices": WORKLOADS, "default": ["niping"]},
    "peer": {"type": "str", "default": ""},
    "enqueue_peer": {"type": "str", "default": ""},
    "fio_directory": {"type": "str", "default": ""},
    "new": {"type": "bool", "default": False},
}


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _result, options = self.validate_argument_spec(argument_spec=ARGUMENTS)
        variables = task_vars or {}
        host = str(variables["inventory_hostname"])
        known = (variables.get("groups") or {}).get("all") or ()
        try:
            check_tags(variables.get("ansible_run_tags") or ["all"])
            check_change(options, host)
            check_workloads(options)
            peers = peers_of(options, host, {str(name) for name in known})
        except (OSError, ValueError) as error:
            raise AnsibleActionFail(str(error)) from None
        measures = bool(peers or set(options["workloads"]) - set(PEERS))
        return {**result, "changed": False, "host": host, "measures": measures, "peers": peers}


def check_tags(tags: list[str]) -> None:
    """ValueError if tags would leave tasks of the measurement out."""
    if "all" not in tags:
        raise ValueError(
            f"--tags {','.join(tags)} would leave the measurement out: tags choose tunings in verify, site "
            "and rollback only; leave --tags out, and choose tunings with zpower_tunings"
        )


def check_change(options: Mapping[str, Any], host: str) -> None:
    """ValueError if no records of this change can be stored for the host."""
    if not options["change"]:
        raise ValueError("zpower_change is empty: name the change, for example with -e zpower_change=rps-2026-11")
    record_files.check_slug("zpower_change", options["change"])
    folder = record_files.change_folder(Path(options["results"]), options["change"]) / record_files.file_slug(host)
    check_writable(folder)
    if options["new"] and any(path.is_file() for path in folder.glob("*.json")):
        raise ValueError(f"{folder} holds records already: name another change, or move that folder away")


def check_workloads(options: Mapping[str, Any]) -> None:
    """ValueError if there is nothing to measure with."""
    rounds, workloads = options["rounds"], options["workloads"]
    if rounds < 1 or not workloads:
        raise ValueError(
            f"measure_rounds is {rounds} and measure_workloads {workloads}; "
            "it takes at least one round and one workload"
        )
    if "fio" in workloads and not options["fio_directory"]:
        raise ValueError("measure_fio_directory is empty: name a directory on the file system that is to be measured")


def peers_of(options: Mapping[str, Any], host: str, known: set[str]) -> list[str]:
    """The hosts that the chosen workloads measure against; ValueError if one of them cannot be a peer of this host."""
    found = []
    for name in dict.fromkeys(PEERS[workload] for workload in options["workloads"] if workload in PEERS):
        peer = options[name]
        if peer and (peer not in known or peer == host):
            raise ValueError(f"measure_{name} is {peer}; it takes the inventory name of another host")
        found += [peer] if peer else []
    return list(dict.fromkeys(found))
