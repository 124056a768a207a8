# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence as Prometheus text 0.0.4 for the textfile collector of the node exporter.

Only gauges without timestamps, and ``# EOF`` at the end: so the file is valid OpenMetrics, too. Two samples with equal
labels would spoil the whole file; of such, only the first is written.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .._pages.text import one_line
from .._records.reading import VERDICTS
from .._records.round import microseconds
from .document import RESULTS, failing
from .shapes import OUTCOMES, Document


def lines(document: Document) -> Iterator[str]:
    """One family of metrics per piece."""
    run, totals = document["run"], document["totals"]
    kind = {"kind": run["kind"]}
    about: dict[str, object] = {**kind, "collection": run["collection"], "ansible_core": run["ansible_core"]}
    about |= {"inventory": run["inventory"], "limit": run["limit"]}
    yield _gauge("zpower_run", "The run of which these figures are.", [(about, 1)])
    begun, ended = ([(kind, _seconds(stamp))] for stamp in (run["begun"], run["ended"]))
    yield _gauge("zpower_run_begun_timestamp_seconds", "When the run began.", begun)
    yield _gauge("zpower_run_ended_timestamp_seconds", "When the run ended; absent until then.", ended)
    results = [({**kind, "result": name}, int(name == document["result"])) for name in RESULTS]
    yield _gauge("zpower_run_result", "1 for the result of the run, 0 for the others.", results)
    outcomes = [({**kind, "outcome": name}, totals["outcomes"][name]) for name in OUTCOMES]
    yield _gauge("zpower_hosts", "Hosts of the play by outcome.", outcomes)
    verdicts = [({**kind, "verdict": name}, totals["verdicts"][name]) for name in VERDICTS]
    yield _gauge("zpower_rows", "Subjects of tunings by verdict.", verdicts)
    hosts = [({**kind, "host": host["host"]}, host) for host in document["hosts"]]
    checked = [(labels, int(host["outcome"] == "ok")) for labels, host in hosts]
    yield _gauge("zpower_host_checked", "1 for a host that was checked to the end.", checked)
    bad = failing(run["kind"], run["check"])
    failed = [(labels, sum(row["verdict"] in bad for row in host["rows"])) for labels, host in hosts if host["rows"]]
    yield _gauge("zpower_host_failing_rows", "Subjects of a host that are not as requested.", failed)
    yield _gauge("zpower_tuning_failing_hosts", "Hosts on which a tuning is not as requested.", _tunings(document, bad))
    waivers = [
        ({**{key: item[key] for key in ("tuning", "subject", "owner")}, "hosts": ",".join(item["hosts"])}, item)
        for item in sorted(document["waivers"], key=lambda item: int(item["days_left"]))
    ]
    left = [(labels, item["days_left"]) for labels, item in waivers]
    yield _gauge("zpower_waiver_days_left", "Days until the last day of a waiver; below 0 it has expired.", left)
    yield "# EOF\n"


def _tunings(document: Document, bad: tuple[str, ...]) -> list[tuple[dict[str, Any], int]]:
    names = {row["name"] for host in document["hosts"] for row in host["rows"]}
    failing = [{row["name"] for row in host["rows"] if row["verdict"] in bad} for host in document["hosts"]]
    counts = Counter(name for found in failing for name in found)
    return [({"kind": document["run"]["kind"], "tuning": name}, counts[name]) for name in sorted(names)]


def _gauge(name: str, words: str, samples: Iterable[tuple[Mapping[str, object], float | None]]) -> str:
    """The lines of one family of metrics; an unknown figure has no sample."""
    unique: dict[str, float] = {}
    for labels, value in samples:
        if value is not None:
            unique.setdefault(_joined(labels), value)
    lines = [f"{name}{{{labels}}} {value!r}\n" for labels, value in unique.items()]
    return "".join([f"# TYPE {name} gauge\n", f"# HELP {name} {words}\n", *lines]) if lines else ""


def _joined(labels: Mapping[str, object]) -> str:
    """Labels as text, escaped; those without a value are left out."""
    known = {name: one_line(value) for name, value in labels.items() if value is not None}
    return ",".join(
        '{}="{}"'.format(name, text.replace("\\", "\\\\").replace('"', '\\"')) for name, text in known.items()
    )


def _seconds(stamp: object) -> float | None:
    """UTC as evidence writes it, in seconds since 1970; None for anything else."""
    moment = microseconds(stamp)
    return None if moment is None else moment / 1e6
