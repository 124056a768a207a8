# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of the comparison share: valid records of one host, which tests damage, and the report on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import Options, compare_change
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics.looks import look_at
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics.series import effect, word
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._statistics.verdict import Better, Limits

Record = dict[str, Any]

BETTER = factory.Plan(hosts=("app1", "app2"), effect=-0.10)
SAME = factory.Plan(hosts=("app1", "app2"))


def records_of(plan: factory.Plan = BETTER, host: str = "app1") -> list[Record]:
    return [record for record in factory.make_change(plan) if record["host"] == host]


def report_of(records: Iterable[Record], tunings: Iterable[Record] = (), **options: Any) -> dict[str, Any]:
    return compare_change(factory.load(records, tunings), options=Options(**options))


def main(report: dict[str, Any]) -> dict[str, Any]:
    found: list[dict[str, Any]] = [item for item in report["comparisons"] if not item["control"]]
    assert len(found) == 1
    return found[0]


def spoil(
    records: list[Record], change: Callable[[Record], object], phase: str | None = None, control: bool = False
) -> list[Record]:
    """Apply ``change`` to every record of a phase (None: both), except those of the control unless asked."""
    for record in records:
        if phase in (None, record["phase"]) and record["workload"]["control"] == control:
            change(record)
    return records


def fail(record: Record, count: int) -> None:
    counted = [index for index, run in enumerate(record["runs"]) if not run["warmup"]]
    for index in counted[:count]:
        record["runs"][index] = factory.fail_run(record["runs"][index])


def verdict_word(before: Sequence[float], after: Sequence[float], better: Better = "lower") -> str:
    """Return the verdict on two lists of round medians alone: no fingerprints, no control, no failed runs."""
    worse, good = (after, before) if better == "lower" else (before, after)
    look = look_at(min(len(before), len(after)))
    return word(effect(worse, good, look), Limits().material) if look else "INCONCLUSIVE"
