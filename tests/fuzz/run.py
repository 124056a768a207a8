# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damaged inputs for all code that reads files of others: it may raise only the collection's own errors.

    run.py [--seed N] [--share N] [CASE ...]

CASE: the names of targets, as printed, or NAME:NUMBER for one input. --share N: one of N inputs. An input fails if it
raises an exception that is not allowed, needs more than 10 s of CPU time, or more than 600 MB. Prints one line per
failed input; exit status 1 if one failed. A complete run writes its table into docs/reliability.md.
"""

from __future__ import annotations

import argparse
import logging
import mmap
import multiprocessing
import os
import random
import resource
import shutil
import signal
import struct
import sys
import tempfile
import traceback
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / "tests" / name) for name in ("unit", "faults", "")]

# makes the checkout importable as a collection
import conftest  # noqa: E402, F401
from reliability import write_table  # noqa: E402
from targets import TARGETS, Target  # noqa: E402

SEED = 20261122
SECONDS = 10
MEMORY = 600 * 1024 * 1024
PATIENCE_S = 300
CHUNK = 50
ROWS = {group: group for group in dict.fromkeys(target.group for target in TARGETS)}


class TooSlowError(BaseException):
    """More CPU time than an input is allowed to use."""


class Failure(NamedTuple):
    target: str
    number: int
    what: str


def once(target: Target, number: int, seed: int, parent: Path) -> str:
    """Give a target one input; return the failure, if any."""
    folder = Path(tempfile.mkdtemp(dir=parent))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        target.run(random.Random(f"{seed} {target.name} {number}"), folder)
    except target.allowed:
        return ""
    except TooSlowError:
        return f"took more than {SECONDS} s"
    except BaseException as error:
        steps = [step for step in traceback.extract_tb(error.__traceback__) if "plugins" in step.filename] or [None]
        place = f"{Path(steps[-1].filename).name}:{steps[-1].lineno}" if steps[-1] else "outside of the collection"
        return f"{type(error).__name__}: {str(error)[:200]!r} ({place})"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        shutil.rmtree(folder, ignore_errors=True)
    return ""


def chunk(task: tuple[str, list[int], int]) -> tuple[str, int, list[Failure]]:
    """Try some inputs of a target in a separate process with limits; if it dies, its current input has failed."""
    name, numbers, seed = task
    target = next(one for one in TARGETS if one.name == name)
    found: list[Failure] = []
    left = list(numbers)
    while left:
        at = mmap.mmap(-1, 8)
        read_end, write_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read_end)
            work(target, left, seed, at, write_end)
        os.close(write_end)
        with os.fdopen(read_end, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                number, _tab, what = line.rstrip("\n").partition("\t")
                found.append(Failure(name, int(number), what))
        status = os.waitpid(pid, 0)[1]
        done = struct.unpack("=Q", at[:8])[0]
        if status == 0:
            break
        found.append(Failure(name, left[done], f"ended the process (status {status})"))
        left = left[done + 1 :]
    return name, len(numbers), found


def work(target: Target, numbers: list[int], seed: int, at: mmap.mmap, write_end: int) -> None:
    """Do the work of a process and end it."""

    def slow(_number: int, _frame: object) -> None:
        raise TooSlowError

    logging.disable()
    signal.signal(signal.SIGPROF, slow)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    parent = tempfile.mkdtemp(prefix="zpower-fuzz-")
    for index, number in enumerate(numbers):
        at[:8] = struct.pack("=Q", index)
        signal.alarm(PATIENCE_S)
        what = once(target, number, seed, Path(parent))
        if what:
            os.write(write_end, f"{number}\t{' '.join(what.split())}\n".encode(errors="replace"))
    shutil.rmtree(parent, ignore_errors=True)
    os._exit(0)


def tasks(words: list[str], seed: int, share: int) -> Iterator[tuple[str, list[int], int]]:
    for target in TARGETS:
        numbers = list(range(0, target.count, share))
        single = [int(word.rpartition(":")[2]) for word in words if word.rpartition(":")[0] == target.name]
        if single or not words or target.name in words or target.group in words:
            numbers = single or numbers
            for first in range(0, len(numbers), CHUNK):
                yield target.name, numbers[first : first + CHUNK], seed


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seed", type=int, default=SEED)
    arguments.add_argument("--share", type=int, default=1, metavar="N")
    arguments.add_argument("cases", nargs="*", metavar="CASE")
    chosen = arguments.parse_args()
    groups = {target.name: target.group for target in TARGETS}
    for word in chosen.cases:
        if not {word, word.rpartition(":")[0]} & {*groups, *ROWS}:
            arguments.error(f"there is no case {word}; there are {', '.join(sorted({*groups, *ROWS}))}")
    print(f"fuzz: seed {chosen.seed}, one input of {chosen.share}", flush=True)
    counts: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    bad = 0
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        work_to_do = list(tasks(chosen.cases, chosen.seed, chosen.share))
        for name, tried, found in pool.imap_unordered(chunk, work_to_do):
            count = counts[groups[name]]["inputs without a failure"]
            count[0] += tried
            count[1] += tried - len(found)
            bad += len(found)
            for failure in found:
                print(f"{failure.target}:{failure.number}: {failure.what} (seed {chosen.seed})", flush=True)
    tried = sum(row["inputs without a failure"][0] for row in counts.values())
    print(f"fuzz: {tried} inputs, {bad} failures (seed {chosen.seed})")
    if chosen.share == 1 and not chosen.cases:
        about = f"seed {chosen.seed}, Linux {os.uname().release.partition('-')[0]}, Python {sys.version.split()[0]}"
        write_table("fuzz", ROWS, ["inputs without a failure"], counts, about)
    return 1 if bad or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
