# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the helpers in this folder importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
