# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests of several tunings share."""

import os
import platform
import tempfile
from pathlib import Path

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import netlink
from smckernel import Tables


@pytest.fixture
def aix(monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: "AIX")


@pytest.fixture
def tables(monkeypatch):
    return Tables(monkeypatch, netlink)


@pytest.fixture
def reachable():
    """A folder that all users reach, as that of a real profile. A second start of pytest closes those of tmp_path."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "made")
        for path in (folder, str(made)):
            os.makedirs(path, exist_ok=True)
            os.chmod(path, 0o755)
        yield made
