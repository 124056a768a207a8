# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role smc_sysctls still reads the deprecated variables of an earlier version, one per setting."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import mistakes
from playing import ansible_playbook

CHECKOUT = Path(__file__).resolve().parents[2]
ROLE = CHECKOUT / "roles" / "smc_sysctls"
HOSTS: dict[str, dict[str, Any]] = {
    "new": {"smc_sysctls_settings": {"rmem": 131072}},
    "old": {
        "smc_sysctls_wmem": 262144,
        "smc_sysctls_rmem": None,
        "smc_sysctls_smcr_buf_type": 0,
        "smc_sysctls_hosts_by_kernel": {},
        "zpower_own_variables": ["smc_sysctls_hosts_by_kernel"],
    },
    "both": {"smc_sysctls_wmem": 262144, "smc_sysctls_rmem": 65536, "smc_sysctls_settings": {"rmem": 131072}},
    "neither": {},
}


def test_deprecated_variables_are_merged_into_the_settings(tmp_path: Path) -> None:
    keep = {
        "content": "{{ __smc_sysctls_settings | to_json }}",
        "dest": f"{tmp_path}/{{{{ inventory_hostname }}}}.json",
    }
    # the play's tasks stand for the role's, without its module
    variables = [str(ROLE / "vars" / "main.yml")]
    defaults = {"smc_sysctls_settings": {}}
    play = {"hosts": "all", "gather_facts": False, "vars_files": variables, "tasks": [{"ansible.builtin.copy": keep}]}
    (tmp_path / "hosts.yml").write_text(json.dumps({"all": {"hosts": HOSTS, "vars": defaults}}))
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    command = ["-c", "local"]
    # ansible-core 2.16 cannot call an interpreter in a folder with a blank, where the checkout and its .venv may lie
    command += ["-i", str(tmp_path / "hosts.yml"), "-e", "ansible_python_interpreter=/usr/bin/python3"]
    done = ansible_playbook(*command, tmp_path / "play.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {host: json.loads((tmp_path / f"{host}.json").read_text()) for host in HOSTS} == {
        "new": {"rmem": 131072},
        "old": {"wmem": 262144, "rmem": None, "smcr_buf_type": 0},
        "both": {"wmem": 262144, "rmem": 131072},
        "neither": {},
    }


def test_deprecated_variables_are_no_mistakes_in_spelling() -> None:
    assert not list(mistakes(HOSTS["old"]))
