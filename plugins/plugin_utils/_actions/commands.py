# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs of the workload command, on their way from a playbook to the module."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any


def encoded(command: Any) -> Any:
    """A program's options with its environment as one text, in base64.

    Ansible removes each secret value from logs and results, also from numbers. Single values, such as the 4 of a number
    of threads, would take figures with them.
    """
    given = command.get("environment") if isinstance(command, Mapping) else None
    if not isinstance(given, Mapping):
        return command
    # str() also decrypts a vaulted value of ansible-core 2.16
    kept = (Mapping, list, type(None))
    values = {str(name): value if isinstance(value, kept) else str(value) for name, value in given.items()}
    text = json.dumps(values, default=str).encode("utf-8")
    return {**command, "environment": base64.b64encode(text).decode("ascii")}
