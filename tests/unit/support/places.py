# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders of the checkout. This runs on Python 3.6 too."""

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
FIXTURES = CHECKOUT / "tests" / "unit" / "fixtures"
SCHEMAS = CHECKOUT / "docs" / "schemas"
