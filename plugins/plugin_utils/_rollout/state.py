# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a rollout in its file, ``<results>/rollouts/<change>/rollout.json``: plan, batches and runs.

The file is replaced as a whole after each step, so that a second start knows what a killed controller had done.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._records.checks import check_slug
from .._records.files import read_regular
from .._records.record_files import write_json
from .._report.text import moment, one_line, plural, shorten
from . import checking
from .checking import SCHEMA
from .plan import differences, fingerprint

FOLDER, FILE = "rollouts", "rollout.json"
LARGEST_FILE = 1 << 28
LONGEST_TEXT = 2000


def folder_of(results: Path | str, change: str) -> Path:
    """``<results>/rollouts/<change>``; ValueError for an id that cannot name a folder."""
    return Path(results) / FOLDER / check_slug("rollout_change", change)


def read(results: Path | str, change: str) -> Rollout | None:
    """The rollout of this change, None if there is none. ValueError: what is wrong with its file."""
    folder = folder_of(results, change)
    path = folder / FILE
    for place in (folder, folder.parent):
        if place.is_symlink():
            raise ValueError(f"{place} is a symbolic link; below {results} links are not followed")
    try:
        data = read_regular(path, LARGEST_FILE)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    try:
        document = checking.check(json.loads(data))
        if document["change"] != change:
            raise ValueError(f"it belongs to the change {document['change']!r}")
    except (RecursionError, UnicodeDecodeError, json.JSONDecodeError):
        raise ValueError(f"{path} is no JSON file") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return Rollout(document)


def new(change: str, collection: str, plan: Mapping[str, Any]) -> Rollout:
    """A rollout of which no batch was begun. The plan gets its fingerprint."""
    plan = _plain(plan)
    document = {
        "schema": SCHEMA,
        "change": check_slug("rollout_change", change),
        "collection": collection,
        "plan": {**plan, "fingerprint": fingerprint(plan)},
        "batches": [
            {
                "number": batch["number"],
                "state": "waiting",
                "stage": "",
                "since": None,
                "attempt": 0,
                "began": None,
                "ended": None,
                "hosts": {host: _waiting("unchanged") for host in batch["hosts"]},
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

    document: dict[str, Any]

    def refuse(self, plan: Mapping[str, Any], collection: str = "") -> None:
        """ValueError if this plan, or the version of the collection if given, is not the one that was begun."""
        old = {**self.document["plan"], "collection": self.document["collection"]}
        fresh = {**_plain(plan), "collection": collection or old["collection"]}
        if fingerprint(fresh) == old["fingerprint"] and fresh["collection"] == old["collection"]:
            return
        told = "; ".join(differences(old, fresh)) or "a part of the plan that is not shown"
        raise ValueError(
            f"Rollout {self.document['change']} was begun with another plan: {told}."
            " Start with the former plan, or give this one another rollout_change."
        )

    def running(self, host: str, pid_alive: Callable[[int], bool]) -> None:
        """ValueError if another process is at it: the last run did not end, and its process lives on this host."""
        last = self._last_run()
        if last is None or last["ended"] is not None or last["controller"]["host"] != host:
            return
        pid = last["controller"]["pid"]
        if pid_alive(pid):
            raise ValueError(
                f"Rollout {self.document['change']} is running (process {pid} on {host}, since"
                f" {moment(last['began'])}); wait for its end, or end that process"
            )

    def open(self) -> list[int]:
        """The numbers of the batches that are not good."""
        return [batch["number"] for batch in self.document["batches"] if batch["state"] != "good"]

    def again(self, number: int) -> bool:
        """Whether a batch was begun and did not end good: take its probation back first. Ask before :meth:`begin`."""
        return self._batch(number)["state"] in ("running", "stopped")

    def began(self, run: Mapping[str, Any], window: Mapping[str, Any] | None = None) -> None:
        """A run of the playbook begins: ``began``, ``controller`` {host, pid}, ``evidence``, ``ansible_core``.

        ``window``: the change window of this run, which may be another one than before.
        """
        self.document["runs"].append({"evidence": "", **_plain(run), "ended": None, "reason": ""})
        if window is not None:
            self.document["plan"]["window"] = _plain(window)

    def ended(self, at: str, evidence: str = "", reason: str = "") -> None:
        """The last run has ended. ``reason``: why before all batches were good, if no batch says so."""
        run = self.document["runs"][-1]
        run.update(ended=at, reason=_text(reason), evidence=evidence or run["evidence"])

    def begin(self, number: int, at: str) -> None:
        """A new attempt at a batch. After an interrupted one nobody knows the values of its hosts."""
        batch = self._batch(number)
        touched = batch["stage"] not in ("", "preflight", "measuring before")
        for name, host in batch["hosts"].items():
            unsure = touched and host["values"] in ("unchanged", "probation") and batch["state"] == "running"
            batch["hosts"][name] = _waiting("unknown" if unsure else host["values"])
        batch.update(state="running", stage="preflight", since=at, attempt=batch["attempt"] + 1, began=at)
        batch.update(ended=None, reasons=[], guard=None)

    def stage(self, number: int, stage: str, at: str) -> None:
        """The batch enters a stage of :data:`checking.STAGES`."""
        self._batch(number).update(stage=stage, since=at)

    def host(
        self, number: int, name: str, outcome: str, values: str, changed: int = 0, reasons: Sequence[str] = ()
    ) -> None:
        """What became of a host of a batch: words of :data:`checking.OUTCOMES` and :data:`checking.VALUES`."""
        self._batch(number)["hosts"][name] = {
            "outcome": outcome,
            "values": values,
            "changed": changed,
            "reasons": [_text(reason) for reason in reasons],
        }

    def end(
        self, number: int, good: bool, reasons: Sequence[str] = (), guard: Mapping[str, Any] | None = None, at: str = ""
    ) -> None:
        """The batch has ended, good or not. A batch that was stopped keeps its stage. ``at`` is required."""
        batch = self._batch(number)
        batch.update(state="good" if good else "stopped", ended=at, reasons=[_text(reason) for reason in reasons])
        batch["guard"] = None if guard is None else _plain(guard)
        if good:
            batch.update(stage="", since=None)

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
        self.document.update(result=result, headline=_headline(batches, result, last))

    def save(self, results: Path | str) -> Path:
        """Replace the file as a whole (0644). ValueError, and the old file stays, if the state is not sound."""
        self.conclude()
        checking.check(self.document)
        path = folder_of(results, self.document["change"]) / FILE
        write_json(path, self.document, results)
        return path

    def _batch(self, number: int) -> dict[str, Any]:
        for batch in self.document["batches"]:
            if batch["number"] == number:
                found: dict[str, Any] = batch
                return found
        raise ValueError(f"rollout {self.document['change']} has no batch {number}")

    def _last_run(self) -> dict[str, Any] | None:
        return self.document["runs"][-1] if self.document["runs"] else None


def alive(pid: int, proc: Path = Path("/proc")) -> bool:
    """Whether another process of Ansible has this id. The own process and its parent are no others.

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


def _waiting(values: str) -> dict[str, Any]:
    return {"outcome": "waiting", "values": values, "changed": 0, "reasons": []}


def _text(value: object) -> str:
    return shorten(one_line(value), LONGEST_TEXT)


def _plain(value: Any) -> Any:
    """A copy as the file gives it back, without the types of ansible-core."""
    return json.loads(json.dumps(value))


def _headline(batches: Sequence[Mapping[str, Any]], result: str, last: Mapping[str, Any] | None) -> str:
    total = len(batches)
    hosts = sum(len(batch["hosts"]) for batch in batches)
    if result == "complete":
        return f"All {plural(hosts, 'host')} in {plural(total, 'batch', 'batches')} are confirmed."
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
    return f"{head} {_counted(batches, hosts)}"


def _sentence(head: str, reasons: Sequence[str]) -> str:
    if not reasons:
        return f"{head}."
    more = f" (and {plural(len(reasons) - 1, 'more reason')})" if len(reasons) > 1 else ""
    return f"{head}: {reasons[0].rstrip('. ')}{more}."


def _counted(batches: Sequence[Mapping[str, Any]], hosts: int) -> str:
    counts: Counter[str] = Counter()
    for batch in batches:
        for host in batch["hosts"].values():
            counts["confirmed" if batch["state"] == "good" else host["values"]] += 1
    verb = "is" if counts["confirmed"] == 1 else "are"
    told = [f"{counts['confirmed']} of {plural(hosts, 'host')} {verb} confirmed"]
    for values, words in (
        ("probation", "on probation"),
        ("taken back", "taken back"),
        ("unknown", "unknown"),
        ("unchanged", "unchanged"),
    ):
        if counts[values]:
            told.append(f"{counts[values]} {words}")
    return ", ".join(told) + "."
