# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role smc_sysctls still reads the deprecated variables of an earlier version, one per setting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import mistakes, trust_as_template

VARS = Path(__file__).resolve().parents[2] / "roles" / "smc_sysctls" / "vars" / "main.yml"


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        ({"smc_sysctls_settings": {"rmem": 131072}}, {"rmem": 131072}),
        (
            {"smc_sysctls_wmem": 262144, "smc_sysctls_rmem": None, "smc_sysctls_smcr_buf_type": 0, "smc_sysctls_x": {}},
            {"wmem": 262144, "rmem": None, "smcr_buf_type": 0},
        ),
        (
            {"smc_sysctls_wmem": 262144, "smc_sysctls_rmem": 65536, "smc_sysctls_settings": {"rmem": 131072}},
            {"wmem": 262144, "rmem": 131072},
        ),
        ({}, {}),
    ],
)
def test_deprecated_variables_are_merged_into_the_settings(given: dict[str, Any], settings: dict[str, Any]) -> None:
    # short names of lookups: this process does not have the loader of collections
    texts = yaml.safe_load(VARS.read_text("utf-8").replace("ansible.builtin.", ""))
    role = {name: trust_as_template(text) if isinstance(text, str) else text for name, text in texts.items()}
    templar = Templar(loader=DataLoader(), variables={**role, "smc_sysctls_settings": {}, **given})
    assert templar.template(trust_as_template("{{ __smc_sysctls_settings }}")) == settings
    assert not list(mistakes({**given, "zpower_own_variables": ["smc_sysctls_x"]}))
