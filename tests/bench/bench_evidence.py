# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the evidence of a run costs the controller, with ten times the hosts, and how large its page becomes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import evidence_samples
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import differences, files, table


def figures() -> Iterator[dict[str, Any]]:
    rendered(10)  # imports and caches are not what is measured
    (few, _sizes), (many, sizes) = rendered(100), rendered(1000)
    made = evidence_samples.fleet(1000)
    begun = time.process_time()
    json.dumps(made, indent=1)
    dumped = time.process_time() - begun
    yield {"name": "evidence_1000_hosts_over_json", "value": round(many / dumped, 1), "unit": "times", "goal": "<= 6"}
    # not a hundred times
    yield {"name": "evidence_1000_hosts_over_100", "value": round(many / few, 1), "unit": "times", "goal": "<= 20"}
    yield {"name": "evidence_1000_hosts_cpu", "value": round(many, 2), "unit": "s", "goal": "<= 10"}
    # small enough for a browser
    yield {"name": "evidence_1000_hosts_html", "value": sizes["html"] / 1e6, "unit": "MB", "goal": "<= 2"}
    yield {"name": "evidence_1000_hosts_prom", "value": sizes["prom"] / 1e6, "unit": "MB", "goal": "<= 0.5"}


def rendered(hosts: int) -> tuple[float, dict[str, int]]:
    """(CPU seconds of everything about this many hosts, the size of each file)"""
    begun = time.process_time()
    made = evidence_samples.fleet(hosts)
    sizes = {form: len("".join(lines(made))) for form, lines in files.FORMATS.items()}
    table.lines(made)
    list(differences.lines(differences.of_runs(made, made)))
    return time.process_time() - begun, sizes
