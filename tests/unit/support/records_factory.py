# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Synthetic measurement records of a whole change, for tests and benchmarks.

Everything is drawn from one seeded generator, so the same arguments give the same bytes. A run's value is ``base x
state effect x session noise (one draw per round) x drift x run noise x spike``.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.reading import Reader
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.record_files import Loaded, record_path

START = datetime(2026, 11, 20, 10, 0, 0, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Plan:
    """What is measured: the shape of the change and how noisy its system is.

    ``effect`` is the true relative change of the round trip in the state ``after`` (-0.10: a tenth less),
    ``control_effect`` the same for the control workload; noises are relative standard deviations,
    ``drift`` is the relative growth per run in time order,
    ``spikes`` the share of runs that take 1.5 to 3 times the time.
    """

    change: str = "rps-2026-11"
    hosts: tuple[str, ...] = ("app1", "app2")
    sizes: tuple[int, ...] = (1000,)
    rounds: int = 6
    runs: int = 5
    warmup: int = 1
    design: str = "alternate"
    tool: str = "pingpong"
    effect: float = 0.0
    control: bool = True
    control_effect: float = 0.0
    session_noise: float = 0.01
    run_noise: float = 0.01
    drift: float = 0.0
    spikes: float = 0.0
    cpu_us: float = 20.0
    cpu_noise: float = 0.02
    ncpu: int = 2
    raw: str = ""
    seed: int = 1


def stamp(moment: datetime) -> str:
    """Return UTC with microseconds, as in records."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def order(rounds: int, design: str = "alternate") -> list[tuple[str, int]]:
    """Return (phase, round) in time order: ABBA for ``alternate``, all before and then all after for ``blocks``."""
    if design == "blocks":
        return [(phase, number) for phase in ("before", "after") for number in range(1, rounds + 1)]
    slots: list[tuple[str, int]] = []
    for number in range(1, rounds + 1):
        pair = [("before", number), ("after", number)]
        slots += pair if number % 2 else pair[::-1]
    return slots


def run_values(plan: Plan, rng: random.Random, base: float, effect: float, first_run: int) -> list[float]:
    """Return the values of one round's runs, warm-up first; ``first_run`` counts the runs before it (for the drift)."""
    session = math.exp(rng.gauss(0.0, plan.session_noise))
    values = []
    for index in range(plan.warmup + plan.runs):
        value = base * (1.0 + effect) * session * (1.0 + plan.drift) ** (first_run + index)
        value *= math.exp(rng.gauss(0.0, plan.run_noise))
        if rng.random() < plan.spikes:
            value *= rng.uniform(1.5, 3.0)
        values.append(value)
    return values


def cpu(elapsed: float, ncpu: int, busy: float, steal: float = 0.0) -> dict[str, float]:
    """Return the CPU seconds of one window: the busy ones split 20/60/20 into user, system and softirq."""
    return {
        "user_s": round(0.2 * busy, 6),
        "system_s": round(0.6 * busy, 6),
        "softirq_s": round(0.2 * busy, 6),
        "steal_s": round(steal, 6),
        "idle_s": round(max(elapsed * ncpu - busy - steal, 0.0), 6),
        "ncpu": ncpu,
        "elapsed_s": round(elapsed, 6),
    }


def fingerprint(host: str, ncpu: int = 2, **changes: Any) -> dict[str, Any]:
    """Return one end's fingerprint; ``changes`` replace items."""
    end: dict[str, Any] = {
        "hostname": host,
        "system": "Linux",
        "arch": "s390x",
        "kernel": "6.4.0-150600",
        "machine": "8561",
        "cpus_online": ncpu,
        "python": "3.6.15",
        "boot_id": f"boot-{host}",
        "interface": "hsi0",
        "mtu": 8192,
        "address": "10.0.0.1",
        "clock_step_s": 0.0,
        "rps_cpus": {"rx-0": "00000000"},
    }
    end.update(changes)
    return end


def make_run(number: int, value: float, plan: Plan, started: datetime, size: int, control: bool) -> dict[str, Any]:
    """Return one successful run whose av2 is ``value`` µs, with matching CPU and network figures."""
    round_trips = max(1, round(1_000_000 / value))
    elapsed = round_trips * value / 1e6
    # Drawn from the value itself, so that a run's CPU time does not depend on the runs made before it.
    noise = random.Random(f"{value:.9f}").gauss(0.0, plan.cpu_noise) if plan.cpu_noise else 0.0
    window = cpu(elapsed, plan.ncpu, round_trips * plan.cpu_us * math.exp(noise) / 1e6 + 0.02 * elapsed)
    net = {"retransmits": 0, "rps_received": 0}
    return {
        "run": number,
        "warmup": number < plan.warmup,
        "ok": True,
        "error": None,
        "started": stamp(started),
        "elapsed_s": round(elapsed, 6),
        "metrics": {
            "avg_us": round(value * 1.01, 3),
            "max_us": round(value * 18, 3),
            "min_us": round(value * 0.8, 3),
            "av2_us": round(value, 3),
            "tr_kib_per_s": round(2 * size / (value * 1.01) * 1e6 / 1024, 3),
            "tr2_kib_per_s": round(2 * size / value * 1e6 / 1024, 3),
            "round_trips": round_trips,
        },
        "cpu": {"client": window, "server": None if control else dict(window)},
        "net": {"client": dict(net), "server": None if control else dict(net)},
        "raw": plan.raw,
    }


def fail_run(run: dict[str, Any], error: str = "connection refused by 10.0.0.2:3298") -> dict[str, Any]:
    """Return the same run as a failed one, as the collector would have stored it."""
    return {**run, "ok": False, "error": error, "metrics": {}, "cpu": None, "net": None}


def make_record(
    values: Sequence[float],
    *,
    plan: Plan | None = None,
    host: str = "app1",
    peer: str = "app2",
    phase: str = "before",
    number: int = 1,
    size: int = 1000,
    control: bool = False,
    started: datetime = START,
) -> dict[str, Any]:
    """Return one record; ``values`` are av2 in µs, the first ``plan.warmup`` of them those of the warm-up runs."""
    plan = plan or Plan()
    runs = [
        make_run(index, value, plan, started + timedelta(seconds=index), size, control)
        for index, value in enumerate(values)
    ]
    name = f"control-pingpong-{size}B" if control else f"{plan.tool}-{size}B"
    idle = cpu(1.0, plan.ncpu, 0.02)
    return {
        "schema": "zpower.sap_tuning/measurement/1",
        "change": plan.change,
        "phase": phase,
        "round": number,
        "host": host,
        "peer": "loopback" if control else peer,
        "workload": {
            "name": name,
            "tool": "pingpong" if control else plan.tool,
            "version": "1",
            "argv": ["pingpong", "--connect", "10.0.0.2", "--bytes", str(size)],
            "bytes": size,
            "loops": 20000,
            "connections": 1,
            "control": control,
        },
        "protocol": {
            "name": "full",
            "rounds": plan.rounds,
            "runs": plan.runs,
            "warmup": plan.warmup,
            "run_seconds": 1.0,
            "design": plan.design,
        },
        "started": stamp(started),
        "finished": stamp(started + timedelta(seconds=len(runs))),
        "runs": runs,
        "idle": {"client": idle, "server": None if control else dict(idle)},
        "fingerprint": {
            "client": fingerprint(host, plan.ncpu),
            "server": None if control else fingerprint(peer, plan.ncpu, address="10.0.0.2"),
        },
        "collector": {"collection": "0.1.0", "ansible_core": "2.21.5"},
    }


def make_change(plan: Plan | None = None) -> Iterator[dict[str, Any]]:
    """Yield every record of a change in time order; hosts measure against the next one in the list."""
    plan = plan or Plan()
    rng = random.Random(plan.seed)
    runs_a_round = plan.warmup + plan.runs
    workloads = [(size, False) for size in plan.sizes] + ([(1000, True)] if plan.control else [])
    moment = START
    for slot, (phase, number) in enumerate(order(plan.rounds, plan.design)):
        for index, host in enumerate(plan.hosts):
            peer = plan.hosts[(index + 1) % len(plan.hosts)]
            for size, control in workloads:
                effect = 0.0 if phase == "before" else (plan.control_effect if control else plan.effect)
                base = 25.0 if control else 50.0 + size / 500.0
                values = run_values(plan, rng, base, effect, slot * runs_a_round)
                yield make_record(
                    values,
                    plan=plan,
                    host=host,
                    peer=peer,
                    phase=phase,
                    number=number,
                    size=size,
                    control=control,
                    started=moment,
                )
                moment += timedelta(seconds=runs_a_round)


def knob(running: Any, stored: Any = None) -> dict[str, Any]:
    """Return the three values of a setting whose stored and running values agree."""
    return {"running": running, "stored": stored, "next_boot": stored}


def make_tunings(
    host: str, phase: str, number: int, *, plan: Plan | None = None, verdict: str = "changed", at: datetime = START
) -> dict[str, Any]:
    """Return one tunings file: RPS switched on in the state ``after`` and off in ``before``."""
    plan = plan or Plan()
    off, on = knob({"rx-0": "00000000"}), knob({"rx-0": "0000ffff"}, "0000ffff")
    state = on if phase == "after" else off
    return {
        "schema": "zpower.sap_tuning/tunings/1",
        "change": plan.change,
        "phase": phase,
        "round": number,
        "host": host,
        "at": stamp(at),
        "check_mode": False,
        "tunings": [
            {
                "name": "rps",
                "subject": "hsi0",
                "wanted": {"state": "present" if phase == "after" else "restored", "rps_cpus": "0000ffff"},
                "before": off if phase == "after" else on,
                "after": state,
                "verdict": verdict,
                "reason": "rps_cpus of 1 receive queue was written and read back",
                "restart": "none",
                "conflicts": [],
                "sources": ["Performance Evaluation of SAP Application Servers on Z, section 5.8"],
                "undo": "ansible-playbook zpower.sap_tuning.rollback --tags rps",
            }
        ],
    }


def change_tunings(plan: Plan | None = None) -> Iterator[dict[str, Any]]:
    """Yield the tunings files of every host, phase and round of a change."""
    plan = plan or Plan()
    for slot, (phase, number) in enumerate(order(plan.rounds, plan.design)):
        for host in plan.hosts:
            yield make_tunings(host, phase, number, plan=plan, at=START + timedelta(seconds=slot))


def load(records: Iterable[dict[str, Any]], tunings: Iterable[dict[str, Any]] = ()) -> Loaded:
    reader = Reader()
    return Loaded(Plan().change, [reader.measurement(record) for record in records], list(tunings))


def write_change(results: Path | str, records: Iterable[dict[str, Any]], tunings: Iterable[dict[str, Any]] = ()) -> int:
    """Store records and tunings below ``results`` as the collector would (without fsync); return how many files."""
    count = 0
    folders: set[Path] = set()
    root = Path(results)
    for item in itertools.chain(records, tunings):
        path = record_path(root, item)
        if path.parent not in folders:
            path.parent.mkdir(parents=True, exist_ok=True)
            folders.add(path.parent)
        path.write_text(json.dumps(item, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
        count += 1
    return count


def fleet(hosts: int = 1000, sizes: Sequence[int] = (1, 500, 1000, 10000), **changes: Any) -> Plan:
    """Return the plan of a fleet: 4 sizes and the control, 6 rounds, two states = 60 records per host."""
    plan = Plan(
        hosts=tuple(f"app{number:04d}" for number in range(1, hosts + 1)),
        sizes=tuple(sizes),
        effect=-0.10,
        session_noise=0.03,
        run_noise=0.03,
        spikes=0.1,
        raw="avg 51.2 us\n" * 20,
    )
    return replace(plan, **changes)
