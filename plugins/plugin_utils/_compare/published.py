# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Published results about a tuning, shown beside a site's own result as context and never as a target."""

from collections.abc import Collection

BANKING = "Performance Evaluation of SAP Application Servers on Z, IBM, v1.02, 2018-07-16"
CRM = "SAP CRM 7.0 on IBM Z, IBM, v1.00, 2019-03-01"
SMC_R = "SMC-R on AIX for SAP, Experience report, IBM, v1.0, 2019-01-14"
SLCS = "Performance & Scalability of Virtualized SAP Servers on RHEL, Red Hat, March 2008"
Z14 = "Linux on IBM z14 Performance Evaluation, IBM"


Published = tuple[str, str, str]
"""A source, the workload, and the figures in the unit of that workload."""

BY_TUNING: dict[str, tuple[Published, ...]] = {
    "rps": (
        (
            f"{BANKING}, section 5.8 and table 3",
            "Batch of 60 million account settlements on four native partitions of 16 processors with SMT, one"
            " HiperSockets interface with one receive queue. Elapsed time of a batch, not of a network round trip.",
            "4 to 6 % less elapsed time: 9399 s without, 9008 s with all CPUs, 8962 s with every 2nd, 8857 s with every"
            " 4th",
        ),
        (
            f"{BANKING}, section 5.11 and table 5",
            "The same batch on 128 processors without SMT; all CPUs in the mask.",
            "3 % less elapsed time: 7635 s without, 7388 s with",
        ),
        (
            f"{CRM}, section 4.3 and table 3",
            "Import of 1.28 million objects by 32 streams on two application servers of 12 processors with SMT;"
            " all CPUs in the mask. Elapsed time of the import, not of a network round trip.",
            "3 % more throughput: 1881 s without, 1822 s with",
        ),
    ),
    "cpu_polarization": (
        (
            f"{BANKING}, section 5.6 and table 3",
            "Batch of 60 million account settlements on native partitions.",
            "under 1 % less elapsed time: 9399 s horizontal, 9372 s vertical",
        ),
        (
            f"{CRM}, section 4.3 and table 3",
            "Import of 1.28 million objects by 32 streams.",
            "no change: 1881 s horizontal, 1877 s vertical",
        ),
    ),
    "cpu_topology": (
        (
            f"{BANKING}, section 5.4 and table 2",
            "Batch of 60 million account settlements on guests of two z/VM systems with SMT. Elapsed time of a batch.",
            "26 % less elapsed time: 16366 s without, 12036 s with all CPUs as siblings",
        ),
        (
            f"{BANKING}, section 5.4 and table 2",
            "The same batch without SMT.",
            "1 % less elapsed time: 12648 s without, 12483 s with all CPUs as siblings",
        ),
    ),
    "sap_profile": (
        (
            f"{BANKING}, section 5.7 and table 3",
            "Real-time scheduling (SCHED_RR, priority 99) of the work processes in a batch of 60 million account"
            " settlements on four native partitions of 16 processors with SMT. Elapsed time of a batch.",
            "6 % less elapsed time: 9399 s without, 8855 s with SCHED_RR",
        ),
        (
            f"{BANKING}, section 5.11 and table 5",
            "The same batch on 128 processors without SMT, where real-time scheduling was a loss.",
            "4 % more elapsed time: 7635 s without, 7964 s with SCHED_RR",
        ),
        (
            f"{CRM}, section 2.2.3",
            "dynp/luw_id_format = 2, rdisp/vb_key_comp, rdisp/vb_dispatching = 0 and rdisp/vbname = $(rdisp/myname),"
            " with partitioned update tables, in an import of 1.28 million objects.",
            "no figure: every printed run has them",
        ),
        (
            f"{SLCS}, section 6.2",
            "es/implementation: std (System V shared memory) against map (mapped memory), on x86 with RHEL 5.",
            "alike, std slightly ahead",
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

CREATION_OF_LOCKS = (
    f"{SMC_R}, creation of locks",
    "Ten users create 550,000 locks in a lock table of 640,000 KB. Elapsed time of the run.",
    "6 % less elapsed time: 82 s without, 77 s with",
)
SD_LIKE_LOAD = (
    f"{SMC_R}, SD-like load",
    "enqt (opcode 10) from one POWER8 partition against the enqueue server of another. Operations per minute, SMC-R off"
    " and on.",
    "8 % more with one process: 381,000 without, 412,272 with; 5 % more with five: 1,122,900 without, 1,178,400 with",
)

SMC_R_RUNS = (
    (
        f"{SMC_R}, table 3",
        "niping with 1000 and 4000 bytes, one client and five at once, between the same partitions. Elapsed time of a"
        " run.",
        "17 to 35 % less elapsed time: 240 s without, 200 s with (1000 bytes); 360 s without, 300 s with (1000 bytes,"
        " five clients); 300 s without, 210 s with (4000 bytes); 480 s without, 310 s with (4000 bytes, five clients)",
    ),
    CREATION_OF_LOCKS,
    SD_LIKE_LOAD,
)
"""Other workloads of the same study, whatever the message size: SMC-R off and on."""


BY_SET: dict[str, tuple[Published, ...]] = {
    "enqueue": (CREATION_OF_LOCKS, SD_LIKE_LOAD),
    "network": (
        (
            Z14,
            "The published workloads (1 to 250 connections, request and response, streams) on z14 against z13 with"
            " HiperSockets, and between guests of KVM. Throughput; the study gives some numbers as limits (up to).",
            "40 % more with HiperSockets; in KVM 10 % more transactions, between two guests 15 % more transactions and"
            " 20 % more in streams",
        ),
    ),
    "fio": (
        (
            Z14,
            "Sequential records of 128 KiB and random ones of 8 KiB, by 1 to 64 processes. Throughput;"
            " the study gives some numbers as limits (up to).",
            "FCP 20 to 40 % more sequential and 10 % more random; FICON 15 to 20 % more random",
        ),
    ),
    "guests": (
        (
            SLCS,
            "1 to 8 guests with 4 virtual CPUs each on 16 cores, percent of the value with one guest. Four guests use"
            " the whole host.",
            "memory (std) 100, 192, 257, 307, 315, 322, 326, 327; creation in the database 100, 123, 198, 251, 333,"
            " 409, 481, 549",
        ),
    ),
}
"""By set of workloads, or by a setting of the context that the study varied. The z14 study's figures of
cryptography are not among them (docs/published.md)."""


def published_for(tunings: Collection[str], sizes: Collection[int], sets: Collection[str] = ()) -> list[dict[str, str]]:
    """Published results that match the tunings, message sizes and workloads of a change; sorted, without duplicates.

    ``sets``: names of sets of workloads and of settings of the context.
    """
    found = [(name, item) for name in sorted(tunings) for item in BY_TUNING.get(name, ())]
    if "smc_r" in tunings:
        found += [("smc_r", _smc_r(size)) for size in sorted(SMC_R_AV2_MS) if size in sizes]
        found += [("smc_r", item) for item in SMC_R_RUNS]
    known = {item for _name, item in found}
    found += [(name, item) for name in sorted(sets) for item in BY_SET.get(name, ()) if item not in known]
    return [{"tuning": name, "source": item[0], "text": item[1], "figures": item[2]} for name, item in found]


def _smc_r(size: int) -> Published:
    disabled, enabled, optimized = SMC_R_AV2_MS[size]
    return (
        f"{SMC_R}, table 1",
        f"niping with {size} bytes between two POWER8 partitions with AIX 7.2 over 10 GbE RoCE; round trip.",
        f"{disabled:.3f} ms without, {enabled:.3f} ms with SMC-R, {optimized:.3f} ms with more send pools",
    )
