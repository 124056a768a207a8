# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the evidence of a run costs the controller, with ten times the hosts, and how large its page becomes."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import evidence_samples
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import differences, files, table


def figures() -> Iterator[dict[str, Any]]:
    rendered(10)  # not to measure imports and caches
    few, many = rendered(100), rendered(1000)
    ratio = round(many.formats / many.json_dump, 1)
    yield {"name": "evidence_1000_hosts_over_json", "value": ratio, "unit": "times json.dump", "goal": "<= 6"}
    # not a hundred times
    ratio = round(many.everything / few.everything, 1)
    yield {"name": "evidence_1000_hosts_over_100", "value": ratio, "unit": "times", "goal": "<= 20"}
    yield {"name": "evidence_1000_hosts_cpu", "value": round(many.everything, 2), "unit": "s", "goal": "<= 10"}
    # small enough for a browser
    yield {"name": "evidence_1000_hosts_html", "value": many.sizes["html"] / 1e6, "unit": "MB", "goal": "<= 2"}
    yield {"name": "evidence_1000_hosts_prom", "value": many.sizes["prom"] / 1e6, "unit": "MB", "goal": "<= 0.5"}


class Rendered(NamedTuple):
    """CPU seconds of writing all formats, of these with the table and a comparison, and of json.dump; file sizes."""

    formats: float
    everything: float
    json_dump: float
    sizes: dict[str, int]


def rendered(hosts: int) -> Rendered:
    """Write everything about this many hosts to memory."""
    made = evidence_samples.fleet(hosts)
    begun = time.process_time()
    sizes = {form: len("".join(lines(made))) for form, lines in files.FORMATS.items()}
    formats = time.process_time()
    table.lines(made)
    list(differences.lines(differences.of_runs(made, made)))
    everything = time.process_time()
    json.dump(made, io.StringIO())
    return Rendered(formats - begun, everything - begun, time.process_time() - everything, sizes)
