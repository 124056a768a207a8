# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures of a run of all benchmarks as the tables of docs/reliability.md."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.append(str(CHECKOUT / "tests"))

from bench_site import MEDIUM, ROUNDS  # noqa: E402
from reliability import DOCUMENT, between  # noqa: E402

PLAYS = {
    "ping": "one ping",
    "verify": "`verify`",
    "site": "`site`, nothing to change",
    "rollback": "`rollback`, nothing to take back",
    "by_hand": "by hand, nothing to change",
}
HOSTS = tuple(ROUNDS)
FURTHER = "time per further host of `{play}`, from 20 to 100 over from 2 to 20"
# (title, what the cell shows, the figure whose goal it has, which is the first one shown)
ROWS = (
    (FURTHER.format(play="verify"), "{verify_further_host_100_over_20:.2f} (ping: {ping_further_host_100_over_20:.2f})",
     "verify_further_host_100_over_20"),
    (FURTHER.format(play="site"), "{site_further_host_100_over_20:.2f} (ping: {ping_further_host_100_over_20:.2f})",
     "site_further_host_100_over_20"),
    ("CPU time of the controller, 100 hosts, over ping: `verify`; `site`; `rollback`",
     "{verify_controller_cpu_over_ping_100_hosts:.2f}; {site_controller_cpu_over_ping_100_hosts:.2f}; "
     "{rollback_controller_cpu_over_ping_100_hosts:.2f}", ""),
    *((f"CPU time of the controller over ping, 40, 100 and 1,000 hosts that only answer: `{play}`",
       ", ".join(f"{{canned_{play}_cpu_over_ping_{hosts}_hosts:.2f}}" for hosts in (40, 100, 1000)),
       f"canned_{play}_cpu_over_ping_1000_hosts") for play in ("verify", "site")),
    ("memory of the controller over ping, 100 hosts that only answer: `verify`",
     "{canned_verify_memory_over_ping_100_hosts:.2f}", "canned_verify_memory_over_ping_100_hosts"),
    ("CPU time of the call on a host with all tunings, over ping",
     "{target_cpu_over_ping:.2f} ({target_tunings_cpu:.2f} s)", "target_cpu_over_ping"),
    ("bytes sent to a host; ping", "{target_tunings_sent:.0f} kB; {target_ping_sent:.0f} kB", "target_tunings_sent"),
    ("lines of output per further host, `site`; `verify`", "{site_lines:.0f}; {verify_lines:.0f}", "site_lines"),
    ("modules sent per host, `site`; `verify`; `rollback`",
     "{site_module_calls:.0f}; {verify_module_calls:.0f}; {rollback_module_calls:.0f}", "site_module_calls"),
    ("report of 1,000 hosts with 60 records each: CPU time over that of `json.load` of the files",
     "{report_1000_hosts_cpu_of_json_load:.1f} ({report_1000_hosts_cpu:.0f} s)", "report_1000_hosts_cpu_of_json_load"),
    ("its memory; its page", "{report_1000_hosts_memory:.0f} MB; {report_1000_hosts_html:.1f} MB",
     "report_1000_hosts_memory"),
)  # fmt: skip
SIGNS = {"<=": "≤", ">=": "≥", "==": ""}


def tables(machine: Mapping[str, Any], figures: list[Mapping[str, Any]]) -> str:
    """Both tables; KeyError for a figure that was not measured."""
    found = {figure["name"].removeprefix("site_"): figure for figure in figures}
    values = {name: figure["value"] for name, figure in found.items()}
    lines = [f"Last run: {about(machine)}.", ""]
    lines += [f"| play | {' | '.join(f'{hosts} hosts' for hosts in HOSTS)} | goal |", "|---|---|---|---|---|"]
    for play, title in PLAYS.items():
        cells, aim = [], None
        for hosts in HOSTS:
            over = found.get(f"{play}_over_ping_{hosts}_hosts")
            ratio = f", **{over['value']:.2f}**{missed(over)}" if over else ""
            cells.append(f"{values[f'{play}_{hosts}_hosts']:.1f} s{ratio}")
            aim = over if over and over["goal"] else aim
        where = f" at {MEDIUM} hosts" if aim else ""
        lines.append(f"| {title} | {' | '.join(cells)} | {goal(aim)}{where} |")
    lines += ["", "| figure | value | goal |", "|---|---|---|"]
    for title, shown, name in ROWS:
        figure = found.get(name)
        first, semicolon, others = shown.format_map(values).partition(";")
        lines.append(f"| {title} | {first}{missed(figure)}{semicolon}{others} | {goal(figure)} |")
    cases = [figure for name, figure in found.items() if name.startswith("pingpong_over_")]
    worst = max(cases, key=lambda figure: figure["value"])
    title = f"a round trip of `pingpong` over one of `sockperf`, worst of {len(cases)} cases"
    lines.append(f"| {title} | {worst['value']:.2f}{missed(worst)} | {goal(worst)} |")
    return "\n".join([*lines, ""])


def about(machine: Mapping[str, Any]) -> str:
    return (
        f"{machine['cpus']} CPUs, Python {machine['python']}, ansible-core {machine['ansible_core']}, "
        f"on {machine['on']}, with a load of {machine['load']:.1f} at its start"
    )


def goal(figure: Mapping[str, Any] | None) -> str:
    """``<= 2`` as ``≤ 2``; empty without a goal."""
    sign, _space, limit = figure["goal"].partition(" ") if figure else ("", "", "")
    return f"{SIGNS[sign]} {limit}".strip() if limit else ""


def missed(figure: Mapping[str, Any] | None) -> str:
    return ", missed" if figure and figure["met"] is False else ""


def write(run: Mapping[str, Any], document: Path = DOCUMENT) -> None:
    before, _old, after = between(document.read_text(encoding="utf-8"), "bench")
    document.write_text(before + tables(run["machine"], run["figures"]) + after, encoding="utf-8")
