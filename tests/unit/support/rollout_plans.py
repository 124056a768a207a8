# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan of a rollout over twelve hosts, for tests."""

from __future__ import annotations

from typing import Any

from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import plan as plans

APPS = [f"app{number}" for number in range(1, 13)]


def numbered(batches: list[list[str]], group: str | None = None) -> list[dict[str, Any]]:
    """Return batches of these hosts, the first one the canaries."""
    return [
        {"number": number, "canary": number == 1, "group": group if number > 1 else None, "hosts": list(hosts)}
        for number, hosts in enumerate(batches, 1)
    ]


def made_plan(**more: Any) -> dict[str, Any]:
    return {
        "wanted": {host: plans.wanted({"rps": {"rps_cpus": "auto"}}) for host in APPS},
        "tunings": {host: ["rps", "smc"] for host in APPS},
        "batches": numbered([APPS[:1], APPS[1:5], APPS[5:9], APPS[9:]]),
        "soak_s": 600,
        "confirm_within_s": 4200,
        "guard": None,
        "on_failure": "back",
        "window": {
            "not_before": "2026-11-28T21:00:00Z",
            "not_after": "2026-11-29T03:00:00Z",
            "time_zone": "Europe/Berlin",
        },
        **more,
    }
