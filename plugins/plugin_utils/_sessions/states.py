# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The states of a host in a measurement, from the registered results of their calls, and their records."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from .._answers.rows import Row
from .._records import record_files
from .._records.checks import plain_json
from .._records.reading import TUNINGS

Variables = Mapping[str, Any]
"""The variables of a host, with the registered results of its calls."""
NO_EFFECT = ("not_applicable", "unsupported", "observed")


def tuning_records(tunings: Iterable[str], variables: Variables) -> list[Row]:
    """The records of these tunings in their last calls on a host."""
    calls = ((name, _call(name, variables)) for name in tunings)
    return [record for name, call in calls for record in call.get("tuning") or () if record["name"] == name]


def reasons(records: Iterable[Row]) -> str:
    """The different reasons of records in one text."""
    return "; ".join(dict.fromkeys(str(record["reason"]) for record in records))


def changed(tunings: Iterable[str], variables: Variables) -> bool:
    """Whether one of these tunings changed something, or would in check mode."""
    return any(_call(name, variables).get("tunings", {}).get(name, {}).get("changed") for name in tunings)


def _call(tuning: str, variables: Variables) -> Variables:
    """The result of the last call of a tuning on a host, see roles/tune/tasks/call.yml; tunings may be run later."""
    result = variables.get("__tunings_result") or {}
    later = tuning in result.get("deferred", ())
    call: Variables = (variables.get("__tunings_later") or {}) if later else result
    return call if tuning in (call.get("tunings") or {}) else {}


def compliant(tunings: Iterable[str], variables: Variables) -> list[str]:
    """The tunings that would change nothing and have the requested values."""
    found = []
    for name in tunings:
        records = tuning_records([name], variables)
        wrong = any(record["verdict"] in ("drifted", "failed") for record in records)
        if records and not wrong and not changed([name], variables):
            found.append(name)
    return found


def waiting(tunings: Iterable[str], variables: Variables) -> list[str]:
    """The tunings whose effect waits for a restart."""
    records = tuning_records(tunings, variables)
    return [item["name"] for item in records if item["restart"] != "none" and item["verdict"] not in NO_EFFECT]


def as_found(record: Row) -> Row:
    """A record of check mode as a record of the state that it found and left."""
    record = {**record, "after": record.get("before"), "wanted": {"state": "as found"}, "verdict": "compliant"}
    return {**record, "reason": "left as it was found"}


def now() -> str:
    """The time, UTC in ISO 8601."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def keep(results: str, ids: Mapping[str, str | int], tunings: Sequence[Row]) -> str:
    """Store the tuning records of a step; the path. ``ids``: change, phase, round and host."""
    head = {"schema": TUNINGS, **ids, "check_mode": False}
    return str(record_files.store(results, plain_json({**head, "at": now(), "tunings": tunings})))
