# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What others published about a tuning, shown beside a site's own result as context and never as a pass mark."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

BANKING = "Performance Evaluation of SAP Application Servers on Z, IBM, v1.02, 2018-07-16"
CRM = "SAP CRM 7.0 on IBM Z, IBM, v1.00, 2019-03-01"
SMC_R = "SMC-R on AIX for SAP, Experience report, IBM, v1.0, 2019-01-14"


class Published(NamedTuple):
    """One result: where it stands, what was done there, and the figures in that workload's own unit."""

    source: str
    text: str
    figures: str


BY_TUNING: dict[str, tuple[Published, ...]] = {
    "rps": (
        Published(
            f"{BANKING}, section 5.8 and table 3",
            "Batch of 60 million account settlements on four native partitions of 16 processors with SMT, one"
            " HiperSockets interface with one receive queue. Elapsed time of a batch, not of a network round trip.",
            "4 to 6 % less elapsed time: 9399 s without, 9008 s with all CPUs, 8962 s with every 2nd, 8857 s with every"
            " 4th",
        ),
        Published(
            f"{BANKING}, section 5.11 and table 5",
            "The same batch on 128 processors without SMT; all CPUs in the mask.",
            "3 % less elapsed time: 7635 s without, 7388 s with",
        ),
        Published(
            f"{CRM}, section 4.3 and table 3",
            "Import of 1.28 million objects by 32 streams on two application servers of 12 processors with SMT;"
            " all CPUs in the mask. Elapsed time of the import, not of a network round trip.",
            "3 % more throughput: 1881 s without, 1822 s with",
        ),
    ),
    "cpu_polarization": (
        Published(
            f"{BANKING}, section 5.6 and table 3",
            "Batch of 60 million account settlements on native partitions.",
            "under 1 % less elapsed time: 9399 s horizontal, 9372 s vertical",
        ),
        Published(
            f"{CRM}, section 4.3 and table 3",
            "Import of 1.28 million objects by 32 streams.",
            "no change: 1881 s horizontal, 1877 s vertical",
        ),
    ),
    "cpu_topology": (
        Published(
            f"{BANKING}, section 5.4 and table 2",
            "Batch of 60 million account settlements on guests of two z/VM systems with SMT. Elapsed time of a batch.",
            "26 % less elapsed time: 16366 s without, 12036 s with all CPUs as siblings",
        ),
        Published(
            f"{BANKING}, section 5.4 and table 2",
            "The same batch without SMT.",
            "1 % less elapsed time: 12648 s without, 12483 s with all CPUs as siblings",
        ),
    ),
    "sap_profile": (
        Published(
            f"{BANKING}, section 5.7 and table 3",
            "Real-time scheduling (SCHED_RR, priority 99) of the work processes in a batch of 60 million account"
            " settlements on four native partitions of 16 processors with SMT. Elapsed time of a batch.",
            "6 % less elapsed time: 9399 s without, 8855 s with SCHED_RR",
        ),
        Published(
            f"{BANKING}, section 5.11 and table 5",
            "The same batch on 128 processors without SMT, where real-time scheduling was a loss.",
            "4 % more elapsed time: 7635 s without, 7964 s with SCHED_RR",
        ),
    ),
}

SMC_R_AV2_MS = {
    500: (0.076, 0.072, 0.064),
    1000: (0.080, 0.075, 0.067),
    1400: (0.081, 0.076, 0.069),
    1500: (0.091, 0.076, 0.068),
    4000: (0.102, 0.081, 0.073),
    10000: (0.128, 0.096, 0.090),
}
"""niping's av2 in ms between two POWER8 partitions over 10 GbE RoCE, tables 1 and 2: disabled, enabled, optimized."""

SMC_R_RUNS = (
    Published(
        f"{SMC_R}, table 3",
        "niping with 1000 and 4000 bytes, one client and five at once, between the same partitions. Elapsed time of a"
        " run.",
        "17 to 35 % less elapsed time: 240 s without, 200 s with (1000 bytes); 360 s without, 300 s with (1000 bytes,"
        " five clients); 300 s without, 210 s with (4000 bytes); 480 s without, 310 s with (4000 bytes, five clients)",
    ),
    Published(
        f"{SMC_R}, creation of locks",
        "Ten users create 550,000 locks in a lock table of 640,000 KB. Elapsed time of the run.",
        "6 % less elapsed time: 82 s without, 77 s with",
    ),
)
"""Other workloads of the same study, whatever the message size: SMC-R off and on."""


def published_for(tunings: Collection[str], sizes: Collection[int]) -> list[dict[str, Any]]:
    """Published results that fit the tunings of a change and, where they are by size, its message sizes; sorted."""
    found = [{"tuning": tuning, **item._asdict()} for tuning in sorted(tunings) for item in BY_TUNING.get(tuning, ())]
    if "smc_r" in tunings:
        found += [_smc_r(size) for size in sorted(SMC_R_AV2_MS) if size in sizes]
        found += [{"tuning": "smc_r", **item._asdict()} for item in SMC_R_RUNS]
    return found


def _smc_r(size: int) -> dict[str, Any]:
    disabled, enabled, optimized = SMC_R_AV2_MS[size]
    return {
        "tuning": "smc_r",
        "source": f"{SMC_R}, table 1",
        "text": f"niping with {size} bytes between two POWER8 partitions with AIX 7.2 over 10 GbE RoCE; round trip.",
        "figures": f"{disabled:.3f} ms without, {enabled:.3f} ms with SMC-R, {optimized:.3f} ms with more send pools",
    }
