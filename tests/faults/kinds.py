# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kinds of faults. Each yields Cases: the machine, the fault, and the differences at the end."""

from __future__ import annotations

import errno
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import processes
import trees
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import lease
from injection import Plan
from machines import Machine, Together
from processes import Outcome

ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES, errno.EDQUOT)
CHECKPOINT = {"checkpoint": "x"}
# speed of a lease's clock
FASTER = 50
LEASE = {"checkpoint": "x", "lease": 5}
# if two tunings write one profile at the same time, the run with this message is repeated, as it requests
MEANWHILE, ATTEMPTS = "was changed by someone else meanwhile and was not written; run again", 20


@dataclass
class Case:
    """One fault. found: the differences at the end; empty if there are none."""

    tuning: str
    kind: str
    what: str
    found: str


@dataclass
class Moment:
    """The earlier calls (setup), and the call in which the fault occurs, each as arguments of the module."""

    name: str
    setup: list[dict[str, Any]]
    call: dict[str, Any]


def moments(machine: Machine) -> list[Moment]:
    """Return the moments for faults: each kind of call that makes changes."""
    first, second = machine.requests
    restored = {"state": "restored"}
    both = [first, {**second, **CHECKPOINT}]
    return [
        Moment("apply", [], first),
        Moment("change", [first], second),
        Moment("restore", [first], restored),
        Moment("checkpoint", [first], both[1]),
        Moment("release", both, {**restored, **CHECKPOINT}),
        Moment("restore both", both, restored),
    ]


class Bench:
    """A machine, its initial state, and the runs on it. chance: decides about the runs after a fault."""

    def __init__(self, machine: Machine, chance: random.Random) -> None:
        self.machine = machine
        self.chance = chance
        self.start = machine.state()

    def begin(self, setup: list[dict[str, Any]]) -> None:
        """Restore the initial state and make the calls before the fault."""
        if self.machine.lasting or trees.difference(self.start, self.machine.state()):
            self.machine.reset()
        for arguments in setup:
            outcome = self.run(arguments)
            if outcome.failed:
                raise AssertionError(f"{self.machine.name}: the call {arguments} before the fault failed: {outcome}")

    def run(self, arguments: dict[str, Any], plan: Plan | None = None, check: bool = False) -> Outcome:
        return processes.run(lambda: self.machine.call(arguments, check), plan)

    def aftermath(self, fault: Outcome | None = None) -> str:
        """Run verify, sometimes apply again, and roll back after a fault. Return the differences."""
        words = []
        if fault is not None and fault.raised:
            words.append(f"the module raised {fault.raised}")
        applied = self.chance.random() < 0.5
        for name, arguments, check in (
            ("verify", self.machine.requests[0], True),
            *([("apply", {**self.machine.requests[0]}, False)] if applied else []),
            ("rollback", {"state": "restored"}, False),
        ):
            outcome = self.run(arguments, check=check)
            # during a checkpoint, a call without it is refused
            refused = name == "apply" and "checkpoint" in str((outcome.result or {}).get("msg"))
            if outcome.raised or (outcome.failed and not refused):
                words.append(f"{name} afterwards: {outcome.raised or (outcome.result or {}).get('msg')}")
        left = self.run({"state": "restored"}, check=True)
        if left.failed or (left.result or {}).get("changed"):
            words.append(f"after the rollback there is something to take back: {left.result or left.raised}"[:300])
        words.append(trees.difference(self.start, self.machine.state()))
        if applied and any(words):
            words.append("applied once more before the rollback")
        return "; ".join(word for word in words if word)

    def count(self, moment: Moment) -> list[str]:
        """Return the calls of a moment without a fault, which must succeed."""
        plan = Plan()
        self.begin(moment.setup)
        outcome = self.run(moment.call, plan)
        if outcome.failed:
            raise AssertionError(f"{self.machine.name}, {moment.name}: the run without a fault failed: {outcome}")
        return self.named(plan)

    def named(self, plan: Plan) -> list[str]:
        """Return the calls that a plan counted, with paths of the machine."""
        return [call.replace(str(self.machine.root), "") for call in plan.calls()]


def chosen(cases: list[Any], sample: int, chance: random.Random) -> list[Any]:
    """Return all cases, or a sample of this size."""
    return cases if not sample or len(cases) <= sample else chance.sample(cases, sample)


def helper_killed(outcome: Outcome) -> bool:
    """Return whether only a helper died: a process of another user cannot kill more, and the module reports it."""
    return outcome.failed and "the process that worked as" in str(outcome)


def at_each_call(bench: Bench, sample: int, fates: list[tuple[int, bool]]) -> Iterator[tuple[Outcome, Plan, str]]:
    """Let each call that changes a file meet each fate, (error, lasting); yield the outcome, the plan and a
    description.
    """
    cases = []
    for moment in moments(bench.machine):
        calls = enumerate(bench.count(moment), 1)
        cases += [(moment, number, name, *fate) for number, name in calls for fate in fates]
    for moment, number, name, error, lasting in chosen(cases, sample, bench.chance):
        bench.begin(moment.setup)
        plan = Plan(number, error, lasting)
        how = f"{errno.errorcode[error]} {'from' if lasting else 'at'} " if error else ""
        yield bench.run(moment.call, plan), plan, f"{moment.name} {how}call {number} ({name})"


def kills(bench: Bench, sample: int) -> Iterator[Case]:
    """SIGKILL at each call that changes a file."""
    for outcome, _plan, what in at_each_call(bench, sample, [(0, False)]):
        killed = outcome.killed or helper_killed(outcome)
        found = bench.aftermath(outcome) or ("" if killed else f"was not killed: {outcome}")
        yield Case(bench.machine.tuning(), "killed", what, found)


def errors(bench: Bench, sample: int) -> Iterator[Case]:
    """An error at each call, once or lasting."""
    fates = [(error, lasting) for error in ERRORS for lasting in (False, True)]
    for outcome, plan, what in at_each_call(bench, sample, fates):
        kind = "error from then on" if plan.lasting else "error once"
        yield Case(bench.machine.tuning(), kind, what, bench.aftermath(outcome))


# file systems


def mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def own_file_systems(machine: Machine, options: str) -> list[Path]:
    """Mount a separate file system at each of the machine's places, and make a new tree."""
    paths = [machine.root / place.lstrip("/") for place in machine.places]
    for path in paths:
        path.mkdir(exist_ok=True)
        mount("-t", "tmpfs", "-o", options, "tmpfs", str(path))
    machine.reset()
    return paths


def without_file_systems(machine: Machine, paths: list[Path]) -> None:
    for path in paths:
        subprocess.run(["umount", "-l", str(path)], check=True)
    machine.reset()


def fill(path: Path, pages: int, nodes: int | None) -> Callable[[], None]:
    """Fill a file system except for a number of pages or files; return a function that empties it."""
    filler = path / "filler"
    filler.mkdir()
    if nodes is not None:
        made = []
        try:
            while True:
                made.append(filler / str(len(made)))
                made[-1].touch()
        except OSError:
            for one in made[len(made) - 1 - nodes : -1]:
                one.unlink()
    else:
        with (filler / "pages").open("wb", buffering=0) as stream:
            size = 0
            try:
                while True:
                    size += stream.write(b"x" * 4096)
            except OSError:
                stream.truncate(max(size - pages * 4096, 0))

    def empty() -> None:
        for one in filler.iterdir():
            one.unlink()
        filler.rmdir()

    return empty


def full(bench: Bench, sample: int) -> Iterator[Case]:
    """A file system that is actually full: without pages, without inodes, or with a few of them."""
    machine = bench.machine
    rooms = [(pages, None) for pages in range(7)] + [(0, nodes) for nodes in range(5)]
    cases = [
        (moment, place, pages, nodes)
        for moment in moments(machine)[:4]
        for place in range(len(machine.places))
        for pages, nodes in rooms
    ]
    paths = own_file_systems(machine, "size=512k,nr_inodes=300,mode=0755")
    bench = Bench(machine, bench.chance)
    try:
        for moment, place, pages, nodes in chosen(cases, sample, bench.chance):
            bench.begin(moment.setup)
            empty = fill(paths[place], pages, nodes)
            outcome = bench.run(moment.call)
            empty()
            room = f"{pages} pages" if nodes is None else f"{nodes} inodes"
            what = f"{moment.name} with {room} in {machine.places[place]}"
            yield Case(machine.tuning(), "file system full", what, bench.aftermath(outcome))
    finally:
        without_file_systems(machine, paths)


def read_only(bench: Bench, sample: int) -> Iterator[Case]:
    """A file system that is actually read-only."""
    machine = bench.machine
    cases = [(moment, place) for moment in moments(machine) for place in range(len(machine.places))]
    paths = own_file_systems(machine, "mode=0755")
    bench = Bench(machine, bench.chance)
    try:
        for moment, place in chosen(cases, sample, bench.chance):
            bench.begin(moment.setup)
            mount("-o", "remount,ro", str(paths[place]))
            outcome = bench.run(moment.call)
            mount("-o", "remount,rw", str(paths[place]))
            what = f"{moment.name} with {machine.places[place]} read-only"
            yield Case(machine.tuning(), "file system read-only", what, bench.aftermath(outcome))
    finally:
        without_file_systems(machine, paths)


# parallel runs


def parallel(bench: Bench, sample: int) -> Iterator[Case]:
    """Parallel runs of one tuning; sometimes one is killed."""
    machine, chance = bench.machine, bench.chance
    first, second = machine.requests
    calls = [first, second, {"state": "restored"}, {**second, **CHECKPOINT}, {"state": "restored", **CHECKPOINT}]
    for number in range(sample or 60):
        bench.begin([] if chance.random() < 0.5 else [first])
        picked = chance.sample(calls, 3)
        plans = [None, None, Plan(chance.randint(1, 40)) if chance.random() < 0.5 else None]
        started = [
            processes.start(lambda arguments=arguments: machine.call(arguments), plan)  # type: ignore[misc]
            for arguments, plan in zip(picked, plans, strict=True)
        ]
        outcomes = [processes.finish(one) for one in started]
        raised = [f"a run raised {one.raised}" for one in outcomes if one.raised]
        killed = f", one killed at call {plans[2].at}" if plans[2] else ""
        found = "; ".join([*raised, bench.aftermath()]).strip("; ")
        yield Case(machine.tuning(), "at the same time", f"number {number}{killed}", found)


def together(machine: Together, chance: random.Random, sample: int) -> Iterator[Case]:
    """Parallel runs of different tunings on one host, each rolled back again; sometimes one is killed."""
    start = machine.state()
    for number in range(sample or 60):
        if trees.difference(start, machine.state()):
            machine.reset()
        killed = chance.choice([None, *machine.TUNINGS])
        at = chance.randint(1, 60)

        def life(tuning: type[Machine]) -> dict[str, Any]:
            request = tuning.requests[0]
            for arguments in (request, {"state": "restored"}, request):
                result = machine.one(tuning, arguments)
                for _attempt in range(ATTEMPTS):
                    if MEANWHILE not in str(result):
                        break
                    result = machine.one(tuning, arguments)
                if result.get("failed"):
                    break
            return result

        plans = {tuning: Plan(at) if tuning is killed else None for tuning in machine.TUNINGS}
        started = {tuning: processes.start(lambda one=tuning: life(one), plans[tuning]) for tuning in machine.TUNINGS}  # type: ignore[misc]
        outcomes = {tuning: processes.finish(one) for tuning, one in started.items()}
        words = {tuning: wrong(outcome, tuning is killed) for tuning, outcome in outcomes.items()}
        for tuning in machine.TUNINGS:
            back = processes.run(lambda one=tuning: machine.one(one, {"state": "restored"}))  # type: ignore[misc]
            words[tuning] = words[tuning] or wrong(back, False)
        found = [f"{tuning.name}: {word}" for tuning, word in words.items() if word]
        what = f"number {number}" + (f", {killed.name} killed at call {at}" if killed else "")
        left = trees.difference(start, machine.state())
        for tuning in machine.TUNINGS:
            mine = [*([words[tuning]] if words[tuning] else []), *([left] if left and not found else [])]
            kind = "beside other tunings"
            yield Case(tuning.tuning(), kind, what, "; ".join(mine))


def wrong(outcome: Outcome, may_be_killed: bool) -> str:
    if outcome.raised:
        return f"raised {outcome.raised}"
    if outcome.killed or helper_killed(outcome):
        return "" if may_be_killed else "was killed"
    return str((outcome.result or {}).get("msg")) if outcome.failed else ""


# the lease guardian


def faster() -> SimpleNamespace:
    """Return a clock for leases: the module time, but faster."""
    return SimpleNamespace(
        time=time.time,
        gmtime=time.gmtime,
        strftime=time.strftime,
        monotonic=lambda: time.monotonic() * FASTER,
        sleep=lambda seconds: time.sleep(seconds / FASTER),
    )


def guardian(bench: Bench, sample: int) -> Iterator[Case]:
    """The lease ends by itself after the module was killed, the guardian is killed, or a call of the guardian fails."""
    machine = bench.machine
    first, second = machine.requests
    leased = Moment("lease", [first], {**second, **LEASE})
    lease.time = faster()
    calls = counted(bench, leased, elsewhere=False)
    cases: list[tuple[str, int, int, str]] = [("module", at, 0, calls[at - 1]) for at in range(1, len(calls) + 1)]
    calls = counted(bench, leased, elsewhere=True)
    cases += [("guardian", at, 0, calls[at - 1]) for at in range(1, len(calls) + 1)]
    cases += [("guardian", at, error, calls[at - 1]) for at in range(1, len(calls) + 1) for error in ERRORS]
    for who, at, error, name in chosen(cases, sample, bench.chance):
        bench.begin(leased.setup)
        tuned = machine.state()
        outcome = bench.run(leased.call, Plan(at, error, elsewhere=who == "guardian"))
        words = [processes.ended()]
        if outcome.raised:
            words.append(f"the module raised {outcome.raised}")
        if who == "module" or error:
            left = trees.difference(*(without_journals(machine, one) for one in (tuned, machine.state())))
            words += [f"the guardian did not bring back what stood before the checkpoint: {left}"] if left else []
        words.append(bench.aftermath())
        how = errno.errorcode[error] if error else "killed"
        found = "; ".join(word for word in words if word)
        yield Case(
            machine.tuning(), f"lease: {who} {'in error' if error else 'killed'}", f"{how} at call {at} ({name})", found
        )


def without_journals(machine: Machine, found: trees.State) -> trees.State:
    """Return a state without the files for the rollback: a module may be killed before it has started a guardian."""
    journals = "/" + str(machine.journals().relative_to(machine.root))
    return {
        path: there for path, there in found.items() if not path.startswith(journals) and not path.endswith(".lock")
    }


def counted(bench: Bench, moment: Moment, elsewhere: bool) -> list[str]:
    """Return the calls of the module, or those of the guardian until it has taken the lease back."""
    plan = Plan(elsewhere=elsewhere)
    bench.begin(moment.setup)
    outcome = bench.run(moment.call, plan)
    processes.ended()
    if outcome.failed:
        raise AssertionError(f"{bench.machine.name}: the run with a lease failed: {outcome}")
    return bench.named(plan)


# the longest first
KINDS = {
    "error": errors,
    "kill": kills,
    "guardian": guardian,
    "full": full,
    "parallel": parallel,
    "read-only": read_only,
}
