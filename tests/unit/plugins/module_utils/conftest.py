# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests of several tunings share."""

import platform

import pytest


@pytest.fixture
def aix(monkeypatch):
    """A machine that says it is AIX."""
    monkeypatch.setattr(platform, "system", lambda: "AIX")
