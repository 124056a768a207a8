# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes that outlive a call."""

import os
import signal

from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import entry_point
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import lease as _lease
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import processes


def alive(pid):
    """Return whether a process runs. If the first process of a container never waits, an ended one stays a zombie."""
    return processes.start_time(pid) is not None


def everything(host):
    """Return all files except the lock, which names its holder; None while a guardian is working on them."""
    try:
        return {path: text for path, text in host.tree("/sys", "/etc", "/var").items() if not path.endswith(".lock")}
    except (FileNotFoundError, UnicodeDecodeError):
        return None


def watched(host, monkeypatch):
    """Put the host in place of this machine, for a fixture; its guardian looks often, and ends with the test."""
    monkeypatch.setattr(entry_point, "Host", lambda: host)
    monkeypatch.setattr(_lease, "LOOK_S", 0.1)
    monkeypatch.setattr(_lease, "BUSY_S", 0.11)
    monkeypatch.setattr(_lease, "RETRY_S", 0.12)
    yield host
    pid = host.guardian()
    if pid is not None and alive(pid):
        os.kill(pid, signal.SIGKILL)
