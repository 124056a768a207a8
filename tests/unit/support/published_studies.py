# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The published studies of docs/published, imported and calculated again: the tables of docs/published.md.

``python tests/unit/support/published_studies.py`` writes the tables into the page; a test sees that they are current.
"""

import re
import sys
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

HERE = Path(__file__).resolve()
CHECKOUT = HERE.parents[3]
if __name__ == "__main__":
    sys.path.insert(0, str(CHECKOUT / ".cache" / "collections"))

from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparability import differences  # noqa: E402
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports.records import (  # noqa: E402
    records_of,
    states_of,
)
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports.rows import from_file  # noqa: E402
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.reading import Reader  # noqa: E402

FOLDER = CHECKOUT / "docs" / "published"
PAGE = CHECKOUT / "docs" / "published.md"
NAMES = ("banking", "crm", "smc_r", "slcs", "z14")
KPIS = ("etr_million_per_h", "itr_client", "itr_server")

# What the text of the banking study says about the elapsed time of its comparisons: section, words, whole percent less.
# None: the words contain no number.
BANKING = {
    "hipersockets": ("5.1", "2 to 4 % less", 2),
    "hipersockets-smt": ("5.1", "2 to 4 % less", 4),
    "z14": ("5.2", "6 to 8 % less", 8),
    "z14-smt": ("5.2", "6 to 8 % less", 6),
    "one-zvm": ("5.3", "equal", None),
    "topology": ("5.4", "-", None),
    "topology-smt": ("5.4", "takes the growth by SMT away", None),
    "native": ("5.5", "up to 20 % less", None),
    "native-smt": ("5.5", "up to 20 % less", None),
    "polarization": ("5.6", "under 1 % less", None),
    "sched-rr": ("5.7", "6 % less", 6),
    "rps-all": ("5.8", "4 to 6 % less", 4),
    "rps-every-2": ("5.8", "4 to 6 % less", 5),
    "rps-every-4": ("5.8", "4 to 6 % less", 6),
    "sles12sp3": ("5.9", "equal", None),
    "sles12sp3-smt": ("5.9", "equal", None),
    "128-ifl": ("5.10", "34 % less", 34),
    "128-ifl-against-smt": ("5.10", "18 % less", 18),
    "sched-rr-128": ("5.11", "slower", None),
    "rps-all-128": ("5.11", "best of three", None),
}


def study(name):
    path = FOLDER / (name + ".yml")
    imported = records_of(from_file(path), {"source": {"file": path.name}})
    assert imported.problems == []
    return imported.records


def states(name):
    """Return {(change, workload, phase): what the module returns for it}, its one run's figures as ``figures``."""
    records = study(name)
    found = {}
    for record, state in zip(records, states_of(records), strict=True):
        state["figures"] = record["runs"][0]["metrics"]
        state["records"] = [record]
        found[state["change"], state["workload"], state["phase"]] = state
    return found


def rounded(value, digits):
    """Round half up, as people and office programs do; ``value`` is first cut to 12 digits, where floats end."""
    return Decimal(f"{value:.12g}").quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)


def less_pct(before, after):
    """Return how much less ``after`` is, in percent of ``before``."""
    return 100 * (Decimal(str(before)) - Decimal(str(after))) / Decimal(str(before))


def kpis(state):
    """Return ETR in million units an hour and both ITRs, with two digits as printed."""
    values = (state["etr_per_h"], state["client"]["itr_per_h"], state["server"]["itr_per_h"])
    return [rounded(value / 1e6, 2) for value in values]


def printed_kpis(state):
    """Return the same as the study printed them."""
    return [rounded(state["figures"]["printed_" + name], 2) for name in KPIS]


def pairs(name):
    """Return (change, workload, state before, state after) of each comparison of a study."""
    found = states(name)
    return [
        (change, workload, state, found[change, workload, "after"])
        for (change, workload, phase), state in found.items()
        if phase == "before"
    ]


def runs(name):
    """Return the states of a study in which each run is a phase."""
    return {phase: state for (change, _workload, phase), state in states(name).items() if change == "published-" + name}


def table(header, rows):
    lines = ["| " + " | ".join(str(cell) for cell in row) + " |" for row in [header, *rows]]
    return "\n".join([lines[0], "|---" * len(header) + "|", *lines[1:]])


def agreed(printed, here):
    """Return a figure once if it is printed as it comes out here, otherwise both."""
    return str(here) if printed == here else f"**{printed} printed, {here} here**"


def runs_table(name):
    """Write every run with its figures, as printed and as they come out."""
    header = ["run", "elapsed s", "used app/db %", "ETR", "ITR app", "ITR db"]
    rows = []
    for phase, state in runs(name).items():
        used = [state["figures"]["utilization_pct_" + side] for side in ("client", "server")]
        rows.append([phase, state["figures"]["elapsed_s"], "{}/{}".format(*used)])
        rows[-1] += map(agreed, printed_kpis(state), kpis(state))
    return table(header, rows)


def to_declare(before, after):
    """Return what differs between two states besides the tuning, and would make them NOT COMPARABLE."""
    rounds = [[Reader().measurement(record) for record in state["records"]] for state in (before, after)]
    return [item.item for item in differences(*rounds) if item.must_match]


def banking_changes():
    rows = []
    for change, _workload, before, after in pairs("banking"):
        name = change[len("published-banking-") :]
        section, words, _number = BANKING[name]
        times = [state["figures"]["elapsed_s"] for state in (before, after)]
        rows.append([name, section, *times, rounded(less_pct(*times), 2), words])
        rows[-1].append(", ".join(f"`{item}`" for item in to_declare(before, after)) or "-")
    header = ["change", "section", "before s", "after s", "% less", "printed", "to be declared"]
    return table(header, rows)


def crm_changes():
    rows = []
    for (change, _workload, before, after), words in zip(pairs("crm"), ("no change", "3 % more"), strict=True):
        more = 100 * (after["etr_per_h"] / before["etr_per_h"] - 1)
        rows.append([change[len("published-crm-") :], f"{rounded(more, 2)} %", words])
    return table(["change", "more throughput (ETR)", "printed"], rows)


def smc_r_gains():
    """Write round trip and throughput of niping with the optimized attributes against none."""
    rows = []
    for change, _workload, before, after in pairs("smc_r"):
        if change == "published-smc-r-optimized":
            old, new = before["figures"], after["figures"]
            rows.append(
                [
                    before["records"][0]["workload"]["bytes"],
                    *(f"{value / 1000:.3f}" for value in (old["av2_us"], new["av2_us"])),
                    agreed(rounded(new["printed_av2_gain_pct"], 2), rounded(less_pct(old["av2_us"], new["av2_us"]), 2)),
                    *(f"{state['tr2_kib_per_s']:.3f}" for state in (old, new)),
                    agreed(
                        rounded(new["printed_tr2_gain_pct"], 2),
                        rounded(less_pct(new["tr2_kib_per_s"], old["tr2_kib_per_s"]), 2),
                    ),
                ]
            )
    header = ["bytes", "av2 off ms", "on", "gain %"]
    return table([*header, "tr2 off KiB/s", "on", "gain %"], rows)


def smc_r_cpu():
    """Write the CPU use of niping: whether the printed parts add up, and what the CPU seconds are."""
    rows = []
    for (change, workload, phase), state in states("smc_r").items():
        figures = state["figures"]
        if change == "published-smc-r-load" and "printed_user_pct" in figures:
            user, system, idle = (Decimal(str(figures[f"printed_{part}_pct"])) for part in ("user", "system", "idle"))
            rows.append(
                [
                    workload,
                    "on" if phase == "after" else "off",
                    figures["elapsed_s"],
                    user + system + idle,
                    figures["utilization_pct_client"],
                    user + system,
                    100 - idle,
                    rounded(state["client"]["cpu_s"], 2),
                ]
            )
    header = ["workload", "SMC-R", "elapsed s", "user + system + idle", "CPU % printed", "user + system", "100 - idle"]
    return table([*header, "CPU s"], rows)


def smc_r_enqt():
    """Write operations per minute of enqt: the gain in percent of the value without, and of the value with SMC-R."""
    rows = []
    for _change, workload, before, after in pairs("smc_r"):
        if workload.startswith("enqt-sd"):
            for name in ("actual", "1min", "5min"):
                old, new = (state["figures"]["ops_per_min_" + name] for state in (before, after))
                more = [rounded(-less_pct(old, new), 2), rounded(less_pct(new, old), 2)]
                rows.append([workload, name, old, new, *more])
    return table(["workload", "average of", "off 1/min", "on 1/min", "% more, of off", "of on"], rows)


def slcs():
    """Write percentages of the value with one guest."""
    found = states("slcs")
    workloads = list(dict.fromkeys(workload for _change, workload, _phase in found))
    rows = []
    for guests in range(1, 9):
        line = [found["published-slcs", workload, f"guests-{guests}"] for workload in workloads]
        bases = [found["published-slcs", workload, "guests-1"] for workload in workloads]
        here = [rounded(100 * state["median"] / base["median"], 0) for state, base in zip(line, bases, strict=True)]
        rows.append([guests, line[0]["figures"]["printed_host_pct"], *here])
    return table(["guests", "host %", *(workload[len("slcs-") :] for workload in workloads)], rows)


def z14():
    rows = [
        [
            workload,
            agreed(after["figures"]["printed_gain_pct"], rounded(100 * (after["median"] / before["median"] - 1), 0)),
        ]
        for _change, workload, before, after in pairs("z14")
    ]
    return table(["workload", "gain %"], rows)


TABLES = {
    "banking runs": lambda: runs_table("banking"),
    "banking changes": banking_changes,
    "crm runs": lambda: runs_table("crm"),
    "crm changes": crm_changes,
    "smc_r gains": smc_r_gains,
    "smc_r cpu": smc_r_cpu,
    "smc_r enqt": smc_r_enqt,
    "slcs": slcs,
    "z14": z14,
}


def with_tables(page):
    """Return the page with a new table between each pair of markers."""
    for name, make in TABLES.items():
        begin, end = f"<!-- table: {name} -->\n", "<!-- end of table -->"
        pattern = re.escape(begin) + ".*?" + re.escape(end)
        made = begin + make() + "\n" + end
        page, count = re.subn(pattern, lambda _found, made=made: made, page, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"the page has {count} places for the table {name}")
    return page


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text("utf-8")), "utf-8")
