# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pooled rows of a report in words and in reading order: the deciding rows first, then the hosts."""

from collections import Counter
from collections.abc import Sequence

from .._compare.shapes import Report, Row
from .._compare.wording import certainty
from .._experiment.outcomes import first_rows
from .._pages.text import VERDICT_STYLES, Item, better_by, gain, listed, plural, verdict_of

HOSTS_SHOWN = 20
NAMED = 8  # workloads and hosts that differ, in one sentence


def deciding(report: Report) -> list[Row]:
    """The row of each contrast that decides about it: the first one."""
    return list(first_rows(report["pooled"]).values())


def of_hosts(report: Report) -> list[Row]:
    """One row per host, the most urgent first; empty if there is only one host."""
    first = {id(row) for row in deciding(report)}
    rows = [row for row in report["pooled"] if id(row) not in first]
    return sorted(rows, key=lambda row: (verdict_of(row).rank, row["ratio"] or 1.0))


def shown(report: Report) -> list[Row]:
    """The deciding rows and the first hosts."""
    return [*deciding(report), *of_hosts(report)[:HOSTS_SHOWN]]


def host_counts(rows: Sequence[Row]) -> str:
    """``1,000 rows of single hosts: 12 regressed, 988 unchanged``; empty if all of them are shown."""
    if len(rows) <= HOSTS_SHOWN:
        return ""
    counts = Counter(verdict_of(row).word for row in rows)
    told = ", ".join(f"{counts[word]:,} {word.lower()}" for word in VERDICT_STYLES if counts[word])
    return (
        f"{plural(len(rows), 'row')} of single hosts: {told}."
        f" The first {HOSTS_SHOWN} are shown; all are in report.json."
    )


def title(row: Row) -> str:
    """``All workloads of this host``, ``All workloads of app1``, ``All workloads of 3 hosts``."""
    what = "The workload" if row["workloads"] == 1 else "All workloads"
    hosts = row["hosts"]
    where = row["host"] or ("this host" if hosts == 1 else plural(hosts, "host") if hosts else "")
    named = f"{what} of {where}" if where else what
    return f"{row['contrast']}: {named[0].lower()}{named[1:]}" if row["contrast"] else named


def label(row: Row) -> str:
    """The name of a row in a drawing: ``all 3 hosts``, ``app1``; in an experiment ``every-4`` or ``every-4, app1``."""
    contrast, host = row["contrast"], row["host"]
    if contrast:
        return f"{contrast}, {host}" if host else str(contrast)
    return str(host or ("all workloads" if row["hosts"] == 1 else f"all {plural(row['hosts'], 'host')}"))


def extent(row: Row) -> str:
    """What a row is made of: ``7 workloads, 8 rounds per state``."""
    unit = {"starts": "start", "rounds": "round"}.get(row["unit"])
    parts = [plural(row["workloads"], "workload")]
    parts += [plural(row["hosts"], "host")] if row["hosts"] > 1 else []
    return ", ".join([*parts, f"{plural(row['rounds'], unit or 'round')} per state"])


def level(row: Item) -> str:
    """``99.8 % interval``; only ``interval`` if the level is unknown."""
    known = row["confidence_pct"]
    return f"{certainty(known)} % interval" if isinstance(known, (int, float)) else "interval"


def deviations(row: Row) -> str:
    """The workloads and hosts that differ from the others, in one sentence; empty if none does."""
    known = row["deviations"]
    if not known:
        return ""
    if len(known) == 1:
        told = f"{known[0].get('name')} differs: {better_by(known[0].get('ratio'))} than the others."
    else:
        names = [f"{item['name']} ({better_by(item['ratio'])})" for item in known]
        told = f"{plural(len(known), 'part')} differ from the others: {listed(names, NAMED)}."
    return f"No change on the whole, but {told}" if verdict_of(row).word == "UNCHANGED" else told


def control(row: Row) -> str:
    """The control of the host, in one sentence; empty if it has none."""
    if row["control_ratio"] is None:
        return ""
    ends = [row["control_low"], row["control_high"]]
    told = " to ".join("open" if end is None else gain(end) for end in ends)
    return f"The control: {gain(row['control_ratio'])} (99 % interval {told})."


def lost(report: Report) -> str:
    """``3 of 5 comparisons have no result`` if it is half of them or more; otherwise empty."""
    judged = [item for item in report["comparisons"] if not item["control"]]
    without = sum(1 for item in judged if verdict_of(item).word in ("NOT COMPARABLE", "NO DATA"))
    return (
        f"{without:,} of {len(judged):,} comparisons have no result" if without and 2 * without >= len(judged) else ""
    )
