# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults in every tuning: kills, errors, full and read-only disks, parallel runs, cut connections, reboots.

    run.py [--seed N] [--sample N] [CASE ...]

CASE: names of tunings, of kinds (kill error full read-only parallel guardian together unreachable reboot), or both.
Default: all, except reboot, which boots an emulated guest and runs only by name. --sample N: the number of cases per
kind and tuning. After each fault, fresh runs verify and roll back, and the machine must be exactly as before. Prints
one line per failed case; exit status 1 if a case failed. A complete run writes its table into docs/reliability.md, and
a run of all kinds with some tunings writes their columns.
"""

from __future__ import annotations

import argparse
import ctypes
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
CHECKOUT = FOLDER.parents[1]
sys.path[:0] = [str(CHECKOUT / "tests" / "unit"), str(CHECKOUT / "tests"), str(CHECKOUT / "molecule" / "shared")]

# makes the checkout importable as a collection
import conftest  # noqa: E402, F401
import injection  # noqa: E402
import labs  # noqa: E402
import machines  # noqa: E402
import processes  # noqa: E402
from kinds import KINDS, Bench, Case, together  # noqa: E402
from machine import become_root  # noqa: E402
from reliability import write_table  # noqa: E402

SEED = 20261122
# marks a campaign that stopped
ITSELF = "the campaign itself"
_NEW_NAMESPACES = 0x00020000 | 0x40000000  # CLONE_NEWNS, CLONE_NEWNET
ROWS = {
    "killed": "SIGKILL at each call",
    "error once": "an error at each call, once",
    "error from then on": "an error at each call, and at all later ones",
    "file system full": "a file system that is full",
    "file system read-only": "a file system that is read-only",
    "at the same time": "three runs of the tuning at the same time",
    "beside other tunings": "beside runs of other tunings",
    "lease: module killed": "the module killed, the guardian left alone",
    "lease: guardian killed": "the guardian killed",
    "lease: guardian in error": "an error in the guardian",
    "unreachable": "a connection cut in a play",
    "reboot": "a reboot in a play",
}
# machine, kind, seed, sample, and the folder over which each process mounts its own
Task = tuple[str, str, int, int, Path]
TUNINGS = list(dict.fromkeys(machine.tuning() for machine in machines.MACHINES))


def alone(folder: Path) -> None:
    """Give this process its own mounts and network, and a folder in memory; all end with the process."""
    if ctypes.CDLL(None, use_errno=True).unshare(_NEW_NAMESPACES) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "tmpfs", str(folder)], check=True)


def work(task: Task) -> tuple[str, list[Case]]:
    """Run all cases of one kind on one machine in a separate process."""
    name, kind, seed, sample, folder = task
    found: list[Case] = []
    start = time.monotonic()
    try:
        alone(folder)
        processes.adopt()
        injection.install()
        for case in cases(name, kind, random.Random(f"{seed} {name} {kind}"), sample, folder):
            found.append(case)
            if case.found:
                line(f"{name}, {case.kind}, {case.what}: {case.found} (seed {seed})")
    except BaseException as error:
        where = traceback.format_exc().splitlines()[-3].strip()
        found.append(Case(name, kind, ITSELF, f"{type(error).__name__}: {error}"))
        line(f"{name}, {kind}: the campaign stopped: {type(error).__name__}: {error} ({where}) (seed {seed})")
    return f"{name}, {kind}: {time.monotonic() - start:.0f} s", found


def line(text: str) -> None:
    """Print a line with one write, because several processes print."""
    os.write(sys.stdout.fileno(), (" ".join(text.split()) + "\n").encode(errors="replace"))


def cases(name: str, kind: str, chance: random.Random, sample: int, folder: Path) -> Iterator[Case]:
    if kind == "together":
        machine = machines.make(machines.Together, folder)
        yield from together(machine, chance, sample)  # type: ignore[arg-type]
        return
    chosen = {one.name: one for one in machines.MACHINES}[name]
    yield from KINDS[kind](Bench(machines.make(chosen, folder), chance), sample)


def tasks(kinds: set[str], names: set[str], seed: int, sample: int, folder: Path) -> list[Task]:
    """Return the work on trees, the longest first."""
    machine_names = [one.name for one in machines.MACHINES if not names or one.name in names]
    found = [(name, kind, seed, sample, folder) for kind in KINDS if kind in kinds for name in machine_names]
    return found + ([("together", "together", seed, sample, folder)] if "together" in kinds and not names else [])


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seed", type=int, default=SEED)
    arguments.add_argument("--sample", type=int, default=0, metavar="N")
    arguments.add_argument("cases", nargs="*", metavar="CASE")
    chosen = arguments.parse_args()
    all_kinds, all_names = {*KINDS, "together", "unreachable", "reboot"}, {one.name for one in machines.MACHINES}
    for word in chosen.cases:
        if word not in all_kinds | all_names:
            arguments.error(f"there is no case {word}; there are {', '.join(sorted(all_kinds | all_names))}")
    names = all_names & set(chosen.cases)
    kinds = all_kinds & set(chosen.cases) or all_kinds - {"reboot"}
    if chosen.sample or names:
        kinds -= {"unreachable"} - set(chosen.cases)
    become_root()
    print(f"faults: seed {chosen.seed}, {chosen.sample or 'all'} of each kind", flush=True)
    counts: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("faults: ended"))
    with tempfile.TemporaryDirectory(prefix="zpower-faults-") as folder:
        Path(folder).chmod(0o755)
        found = list(on_trees(tasks(kinds, names, chosen.seed, chosen.sample, Path(folder))))
    chance = random.Random(chosen.seed)
    if "unreachable" in kinds:
        found += said(labs.unreachable(chance), chosen.seed)
    if "reboot" in kinds:
        found += said(labs.reboot(), chosen.seed)
    for case in found:
        counts[case.kind][case.tuning][0] += 1
        counts[case.kind][case.tuning][1] += not case.found
    bad = sum(1 for case in found if case.found)
    print(f"faults: {len(found)} tried, {len(found) - bad} exact, {bad} not (seed {chosen.seed})")
    if fills_table(chosen.sample, chosen.cases, found):
        about = f"seed {chosen.seed}, Linux {os.uname().release.partition('-')[0]}, Python {sys.version.split()[0]}"
        only = {case.tuning for case in found} if names else ()
        write_table("faults", ROWS, TUNINGS, counts, about, only=only)
    return 1 if bad or not found else 0


def fills_table(sample: int, words: list[str], found: list[Case]) -> bool:
    """Return whether a run tried all cases of its rows or columns. Print a line if a part of it stopped."""
    names = set(words) - {"reboot"}
    missing = {one.tuning() for one in machines.MACHINES if one.name not in names} & {case.tuning for case in found}
    if sample or (names and (missing or names & {*KINDS, "together", "unreachable"})):
        return False
    stopped = sorted({f"{case.tuning}, {case.kind}" for case in found if case.what == ITSELF})
    if stopped:
        print(f"faults: no table was written, because these parts stopped: {'; '.join(stopped)}")
    return not stopped


def on_trees(work_to_do: list[Task]) -> Iterator[Case]:
    if not work_to_do:
        return
    # guardians are ended with SIGTERM, for which this program has a handler
    default = (signal.SIGTERM, signal.SIG_DFL)
    with multiprocessing.get_context("fork").Pool(os.cpu_count(), signal.signal, default, maxtasksperchild=1) as pool:
        for title, found in pool.imap_unordered(work, work_to_do, chunksize=1):
            bad = sum(1 for case in found if case.found)
            line(f"{title}, {len(found)} tried, {bad} not exact")
            yield from found


def said(found: Iterator[Case], seed: int) -> Iterator[Case]:
    for case in found:
        line(f"{case.tuning}, {case.kind}, {case.what}: {case.found or 'exact'} (seed {seed})")
        yield case


if __name__ == "__main__":
    sys.exit(main())
