# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a rollout in its file, ``<results>/rollouts/<change>/rollout.json``: plan, batches and runs.

The file is replaced as a whole after each step, so that a second start knows what a killed controller had done. Each
step holds the lock of the folder, and is refused if another run has taken the rollout over.
"""

import contextlib
import os
import secrets
import socket
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from .._pages.text import moment, one_line, plural, shorten
from .._records.checks import ROLLOUTS, batch_change, check_slug, plain_json, sentence, show
from .._records.files import locked
from .._records.record_files import read_json, write_json
from . import checking, stages
from .checking import SCHEMA, BatchState, Document, Plan, PlannedGuard, Start
from .plan import LEAVE_OUT, differences, fingerprint
from .stages import HostState, Stage, host_state
from .steps import values_of
from .windows import Times

FOLDER, FILE = ROLLOUTS, "rollout.json"
LARGEST_FILE = 1 << 28
PATIENCE_S = 60.0
"""How long to wait for another process that holds the lock of the rollout."""


def folder_of(results: Path | str, change: str) -> Path:
    """``<results>/rollouts/<change>``; ValueError for an id that cannot name a folder."""
    return Path(results) / FOLDER / check_slug("rollout_change", change)


def held(results: Path | str, change: str) -> contextlib.AbstractContextManager[str]:
    """Hold the lock of a rollout, see :func:`locked`; read, change and save it in the block."""
    return locked(folder_of(results, change), Path(results), PATIENCE_S)


def read(results: Path | str, change: str) -> "Rollout | None":
    """The rollout of this change, None if there is none. ValueError: what is wrong with its file."""
    folder = folder_of(results, change)
    path = folder / FILE
    for place in (folder, folder.parent):
        if place.is_symlink():
            raise ValueError(f"{place} is a symbolic link; below {results} links are not followed")
    try:
        document = checking.check(read_json(path, LARGEST_FILE))
        if document["change"] != change:
            raise ValueError(f"it belongs to the change {document['change']!r}")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {sentence(error)}") from None
    return Rollout(document)


def new(change: str, collection: str, plan: Mapping[str, Any]) -> "Rollout":
    """A rollout without a batch that was begun. The plan gets its fingerprint."""
    plan = plain_json(plan)
    document: Document = {
        "schema": SCHEMA,
        "change": check_slug("rollout_change", change),
        "collection": collection,
        "headline": "",
        "result": "",
        "plan": cast(Plan, {**plan, "fingerprint": fingerprint(plan)}),
        "batches": [
            {
                "number": batch["number"],
                "state": "waiting",
                "stage": "",
                "since": None,
                "attempt": 0,
                "began": None,
                "ended": None,
                "hosts": {host: host_state("waiting", "unchanged") for host in batch["hosts"]},
                "reasons": [],
                "guard": None,
            }
            for batch in plan["batches"]
        ],
        "runs": [],
    }
    rollout = Rollout(document)
    rollout.conclude()
    return rollout


@dataclass
class Rollout:
    """The document of a state file, and what happens to it. Times are UTC texts as :func:`windows.stamp` gives them."""

    document: Document

    def refuse(self, plan: Mapping[str, Any], collection: str = "") -> None:
        """ValueError if this plan, or the version of the collection if given, is not the one that was begun.

        A plan of 0.9.0 lacks the limits of the report: from now on it has the ones of this plan.
        """
        begun = self.document["plan"]
        if begun["guard"] and plan["guard"]:
            begun["guard"] = cast(PlannedGuard, {**plan["guard"], **begun["guard"]})
            begun["fingerprint"] = fingerprint(begun)
        old = {**begun, "collection": self.document["collection"]}
        fresh = {**plain_json(plan), "collection": collection or old["collection"]}
        if told := differences(old, fresh):
            raise ValueError(
                f"Rollout {self.document['change']} was begun with another plan: {'; '.join(told)}."
                " Start with the former plan, or give this one another rollout_change."
            )

    def claim(self, here: Mapping[str, Any], pid_alive: Callable[[int], bool], take_over: str = "") -> None:
        """ValueError if the last run has not ended, unless it is taken over by its id or is known to be dead.

        ``here``: this :func:`controller`. A run without an id (0.9.0) only counts on its own host.
        """
        if take_over and take_over not in self.runs():
            raise ValueError(f"rollout_take_over is {take_over!r}, and no run of rollout {self._change} has that id")
        last = self._last_run()
        if last is None or last["ended"] is not None or (take_over and last.get("id") == take_over):
            return
        there = {**here, **last["controller"]}
        near = all(there[name] == here[name] for name in ("host", "pid_namespace"))
        if pid_alive(there["pid"]) if near else "id" in last:
            way = f". If it is gone, -e rollout_take_over={last['id']} takes it over" if "id" in last else ""
            raise ValueError(
                f"Rollout {self._change} is running: its {_told(last)} and has not ended; wait for its end, or end that"
                f" process{way}"
            )

    def own(self, run: str) -> None:
        """ValueError if the run with this id is not the last one: somebody has taken the rollout over."""
        if self.runs()[-1:] != [run]:
            last = self._last_run()
            said = f"its last {_told(last)}" if last else "its file has no run"
            raise ValueError(f"Rollout {self._change} no longer belongs to this run, which ends now: {said}")

    def runs(self) -> list[str]:
        """The ids of the runs; empty for one of 0.9.0."""
        return [run.get("id") or "" for run in self.document["runs"]]

    def open(self) -> list[int]:
        """The numbers of the batches that are not good."""
        return [batch["number"] for batch in self.document["batches"] if batch["state"] != "good"]

    def leave_out(self, why: Mapping[str, str]) -> None:
        """Leave hosts out for the rest of the rollout: {host: who, and why}. ValueError if one cannot be left out."""
        known = {host: batch for batch in self.document["batches"] for host in batch["hosts"]}
        for name, reason in why.items():
            if name not in known:
                raise ValueError(f"{LEAVE_OUT} names {show(name)}, which is not a host of rollout {self._change}")
            host = known[name]["hosts"][name]
            if known[name]["state"] == "good" and host["outcome"] != "left out":
                raise ValueError(f"{LEAVE_OUT} names {show(name)}, which is confirmed already")
            host.update({"outcome": "left out", "reasons": [_text(reason)]})

    def left_out(self) -> dict[str, str]:
        """The hosts that are left out, with who and why."""
        hosts = [host for batch in self.document["batches"] for host in batch["hosts"].items()]
        return {name: host["reasons"][0] for name, host in hosts if host["outcome"] == "left out"}

    def members(self, number: int) -> list[str]:
        """The hosts of a batch that are not left out."""
        hosts = self._batch(number)["hosts"]
        planned = self.document["plan"]["batches"][number - 1]["hosts"]
        return [host for host in planned if hosts[host]["outcome"] != "left out"]

    def number_of(self, host: str) -> int:
        """The number of the batch that has this host."""
        return next(batch["number"] for batch in self.document["batches"] if host in batch["hosts"])

    def measurement(self, number: int) -> str:
        """The change of the guard's measurement in this attempt at a batch."""
        return batch_change(self._change, number, self._batch(number)["attempt"])

    def again(self, number: int) -> bool:
        """Whether a batch was begun and did not end well: take its probation back first. Ask before :meth:`begin`."""
        return self._batch(number)["state"] in ("running", "stopped")

    def began(self, run: Mapping[str, Any], window: Times | None = None) -> None:
        """A run of the playbook begins: ``id``, ``began``, :func:`controller`, ``evidence``, ``ansible_core``.

        ``window``: the change window of this run, which may be another one than before.
        """
        begun = {"evidence": "", **plain_json(run), "ended": None, "reason": ""}
        self.document["runs"].append(cast(Start, begun))
        if window is not None:
            self.document["plan"]["window"] = plain_json(window)

    def ended(self, at: str, evidence: str = "", reason: str = "") -> None:
        """The last run has ended. ``reason``: why before all batches were good, if no batch says so."""
        run = self.document["runs"][-1]
        run.update({"ended": at, "reason": _text(reason), "evidence": evidence or run["evidence"]})

    def begin(self, number: int, at: str) -> None:
        """A new attempt at a batch. After an interrupted one nobody knows the values of its hosts."""
        batch = self._batch(number)
        touched = batch["stage"] not in ("", stages.PREFLIGHT.name, stages.BEFORE.name)
        for name in self.members(number):
            host = batch["hosts"][name]
            unsure = touched and host["values"] in ("unchanged", "probation") and batch["state"] == "running"
            batch["hosts"][name] = host_state("waiting", "unknown" if unsure else host["values"])
        attempt = batch["attempt"] + 1
        batch.update({"state": "running", "stage": stages.PREFLIGHT.name, "since": at, "attempt": attempt, "began": at})
        batch.update({"ended": None, "reasons": [], "guard": None})

    def stage(self, number: int, stage: str, at: str) -> None:
        """The batch enters a stage of :data:`checking.STAGES`."""
        self._batch(number).update({"stage": stage, "since": at})

    def note_gates(self, number: int, stage: Stage, gates: Mapping[str, HostState]) -> list[str]:
        """Note what the hosts of a batch did in a stage; why the batch does not go on, nothing if it does."""
        hosts = self._batch(number)["hosts"]
        for name, gate in gates.items():
            values = stages.values_after(stage, gate, hosts[name]["values"])
            changed = gate["changed"] if stage == stages.APPLYING else hosts[name]["changed"]
            hosts[name] = {**gate, "values": values, "changed": changed}
        return [f"{name}: {'; '.join(gate['reasons'])}" for name, gate in gates.items() if gate["outcome"] != "ok"]

    def advance(self, number: int, stage: Stage, reasons: Sequence[str], at: str) -> None:
        """Go on after a stage, or note ``reasons`` and stay in it."""
        if reasons:
            self.stage(number, stage.name, at)
            self._batch(number)["reasons"] = [_text(reason) for reason in reasons]
        elif stage == stages.CONFIRMING:
            self.end(number, True, at)
        else:
            self.stage(number, stages.next_stage(stage.name, self.document["plan"]), at)

    def end(self, number: int, good: bool, at: str, reasons: Sequence[str] = ()) -> None:
        """The batch has ended, good or not. A batch that was stopped keeps its stage."""
        batch = self._batch(number)
        batch.update({"state": "good" if good else "stopped", "ended": at, "reasons": [*map(_text, reasons)]})
        if good:
            batch.update({"stage": "", "since": None})

    def conclude(self) -> None:
        """Derive ``result`` and ``headline``."""
        batches = self.document["batches"]
        last = self._last_run()
        if not self.open():
            result = "complete"
        elif any(batch["state"] == "stopped" for batch in batches) or (last and last["ended"]):
            result = "stopped"
        else:
            result = "running"
        self.document.update({"result": result, "headline": one_line(_headline(batches, result, last))})

    def save(self, results: Path | str) -> Path:
        """Replace the file as a whole (0644). ValueError, and the old file stays, if the state is not sound, or if
        another run has begun since it was read."""
        self.conclude()
        checking.check(self.document)
        before, ids = read(results, self._change), self.runs()
        if before and ids and before.runs() != ids[:-1]:
            before.own(ids[-1])
        path = folder_of(results, self._change) / FILE
        write_json(path, self.document, results)
        return path

    @property
    def _change(self) -> str:
        return self.document["change"]

    def _batch(self, number: int) -> BatchState:
        return self.document["batches"][number - 1]

    def _last_run(self) -> Start | None:
        return self.document["runs"][-1] if self.document["runs"] else None


def run_id() -> str:
    """A random name, which no YAML takes for a number."""
    return f"r{secrets.token_hex(6)}"


def controller() -> dict[str, Any]:
    """The process that this worker belongs to. Containers that share a host name differ only in the namespace."""
    namespace = ""
    with contextlib.suppress(OSError):
        namespace = os.readlink("/proc/self/ns/pid")
    return {"host": socket.gethostname(), "pid": os.getppid(), "pid_namespace": namespace}


def alive(pid: int, proc: Path = Path("/proc")) -> bool:
    """Whether another process of Ansible has this id. The own process and its parent do not count.

    Where ``proc`` tells what runs, any other program has only got the id of a controller that has ended.
    """
    if pid in (os.getpid(), os.getppid()):
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it runs as somebody else
    try:
        return b"ansible" in (proc / str(pid) / "cmdline").read_bytes()
    except OSError:
        return True


def _told(run: Start) -> str:
    there = run["controller"]
    said = f"began at {moment(run['began'])} on {there['host']} (process {there['pid']})"
    return " ".join(filter(None, ("run", run.get("id"), said)))


def _text(value: object) -> str:
    return shorten(one_line(value), stages.LONGEST)


def _headline(batches: Sequence[BatchState], result: str, last: Start | None) -> str:
    counts: Counter[str] = Counter()
    for batch in batches:
        for name, host in batch["hosts"].items():
            values = "confirmed" if batch["state"] == "good" else values_of(batch, name)
            counts["left out" if host["outcome"] == "left out" else values] += 1
    total, hosts, without = len(batches), counts.total(), counts["left out"]
    if result == "complete":
        but = f" {plural(without, 'host')} left out." if without else ""
        return f"All {plural(hosts - without, 'host')} in {plural(total, 'batch', 'batches')} are confirmed.{but}"
    current = next(batch for batch in batches if batch["state"] != "good")
    number = f"{current['number']} of {total}"
    if current["state"] == "stopped":
        head = _sentence(f"Batch {number} stopped", current["reasons"])
    elif result == "stopped":
        what = "Stopped in" if current["state"] == "running" else "Stopped before"
        head = _sentence(f"{what} batch {number}", [last["reason"]] if last and last["reason"] else [])
    elif current["state"] == "running":
        head = f"Batch {number} is running: {current['stage']}."
    else:
        head = f"Batch {number} is next."
    verb = "is" if counts["confirmed"] == 1 else "are"
    told = [f"{head} {counts['confirmed']} of {plural(hosts, 'host')} {verb} confirmed"]
    others = {name: name for name in ("probation", "left", "taken back", "unknown", "unchanged", "left out")}
    others |= {"probation": "on probation", "left": "left in force"}
    told += [f"{counts[name]} {words}" for name, words in others.items() if counts[name]]
    return ", ".join(told) + "."


def _sentence(head: str, reasons: Sequence[str]) -> str:
    if not reasons:
        return f"{head}."
    more = f" (and {plural(len(reasons) - 1, 'more reason')})" if len(reasons) > 1 else ""
    return f"{head}: {reasons[0].rstrip('. ')}{more}."
