# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the pages for people show of a rollout: its state in words, the batches with their hosts, and the next steps."""

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from .._pages.text import DASH, Style, gain, listed, measured, moment, one_line, plural, verdict_of
from .._records.grouping import Group, grouped
from . import checking
from . import plan as plans
from .checking import BatchState, Document, PlannedBatch
from .plan import duration
from .stages import HostState
from .windows import describe

NAMED = 20  # hosts that a command or a sentence names
PLAYBOOK = "ansible-playbook zpower.sap_tuning.{} -i inventory"

RESULTS = {
    "complete": Style("complete", "\u2713", "improved"),
    "stopped": Style("stopped", "\u2716", "regressed"),
    "running": Style("running or interrupted", "?", "inconclusive"),
    "planned": Style("planned", DASH, "nodata"),
}
STATES = {
    "good": Style("good", "\u2713", "improved"),
    "stopped": Style("stopped", "\u2716", "regressed"),
    "running": Style("begun, not ended", "?", "inconclusive"),
    "waiting": Style("not begun", DASH, "nodata"),
}
OUTCOMES = {
    "ok": Style("ok", "\u2713", "improved"),
    "failed": Style("failed", "\u2716", "regressed"),
    "lost": Style("lost", "\u2205", "regressed"),
    "left out": Style("left out", "\u2205", "nodata"),
    "waiting": Style("waiting", DASH, "nodata"),
}
VALUES = {
    "confirmed": Style("confirmed", "\u2713", "improved"),
    "left": Style("left in force", "\u25cf", "inconclusive"),
    "taken back": Style("taken back", "\u21a9", "unchanged"),
    "probation": Style("on probation", "\u21bb", "inconclusive"),
    "unknown": Style("unknown", "?", "regressed"),
    "unchanged": Style("unchanged", DASH, "nodata"),
}
"""The values of a host; ``left``: those of a stopped batch that were confirmed nevertheless."""


class Batch(BatchState):
    """A batch with what the plan and its last attempt say, in words."""

    title: str
    names: list[str]
    begun: bool
    at: str
    lasted: str
    changed: int
    tally: list[tuple[str, int]]  # keys of VALUES with their hosts
    groups: list[Group[HostState]]
    sentences: list[str]  # of the guard, without those among the reasons
    measured: list[list[Any]]


def state(document: Document) -> str:
    """A key of RESULTS. Nobody knows here whether a run without an end still runs."""
    return str(document["result"]) if document["runs"] else "planned"


def title(document: Document) -> str:
    return f"Rollout of change {document['change']}"


def batches(document: Document) -> list[Batch]:
    """All batches of the plan, in their order."""
    done = {item["number"]: item for item in document["batches"]}
    return [_batch(planned, done[planned["number"]]) for planned in document["plan"]["batches"]]


def _batch(planned: PlannedBatch, item: BatchState) -> Batch:
    groups = _groups(planned["hosts"], item)
    counts = {name: sum(len(group.members) for group in groups if group.item["values"] == name) for name in VALUES}
    about = ", ".join(filter(None, ("canaries" if planned["canary"] else "", planned["group"])))
    guard = item["guard"]
    return {
        **item,
        "title": f"Batch {planned['number']}{f' ({about})' if about else ''}",
        "names": planned["hosts"],
        "begun": item["state"] != "waiting",
        "at": _stage(item),
        "lasted": _between(item["began"], item["ended"]),
        "changed": sum(group.item["changed"] for group in groups),
        "tally": [(name, count) for name, count in counts.items() if count],
        "groups": groups,
        "sentences": [text for text in guard["sentences"] if text not in item["reasons"]] if guard else [],
        "measured": [*map(_measured, guard["comparisons"])] if guard else [],
    }


def _stage(item: BatchState) -> str:
    """``soaking, since 2026-11-20 10:00:00 UTC`` of a batch without an end, ``while verifying`` of a stopped one."""
    if item["state"] == "running":
        return f"{item['stage']}, since {moment(item['since'])}"
    return f"while {item['stage']}" if item["state"] == "stopped" and item["stage"] else ""


def _groups(planned: Sequence[str], item: BatchState) -> list[Group[HostState]]:
    """The hosts of a batch by their outcome, those with trouble first; ``changed``: the records of all of them."""
    groups = grouped(
        ((name, item["hosts"][name]) for name in planned),
        lambda host: (host["outcome"], host["values"], *host["reasons"]),
    )
    for group in groups:
        left = group.item["values"] == "confirmed" and item["state"] == "stopped"
        changed = sum(item["hosts"][name]["changed"] for name in group.members)
        group.item = {**group.item, "values": "left" if left else group.item["values"], "changed": changed}
    order = ("failed", "lost", "left out", "ok", "waiting")
    return sorted(groups, key=lambda group: (order.index(group.item["outcome"]), group.item["values"] != "unknown"))


def _measured(entry: checking.Comparison) -> list[Any]:
    """Host, workload, metric, before, after, gain and verdict of a measurement of the guard."""
    effect, unit, peer = entry.get("effect_pct"), entry.get("unit"), entry.get("peer")
    named = [f"{entry['host']}{f' with {peer}' if peer else ''}", entry["workload"], entry["metric"]]
    figures = [measured(entry.get("before"), unit), measured(entry.get("after"), unit)]
    better = gain(1 + effect / 100) if isinstance(effect, (int, float)) else DASH
    return [*named, *figures, better, verdict_of(entry)]


def _between(began: str | None, ended: str | None) -> str:
    """How long something lasted; a dash if it has not ended."""
    if not began or not ended:
        return DASH
    return duration(max(1, round((_time(ended) - _time(began)).total_seconds())))


def _time(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp.replace("Z", "+00:00"))


def tally(document: Document) -> list[tuple[Style, int]]:
    """How many hosts have values of each kind."""
    counts: Counter[str] = Counter()
    for batch in batches(document):
        counts.update(dict(batch["tally"]))
    return [(VALUES[name], counts[name]) for name in VALUES if name in counts]


def facts(document: Document) -> list[tuple[str, str]]:
    """Hosts and times of the whole rollout."""
    plan, runs = document["plan"], document["runs"]
    hosts = sum(len(batch["hosts"]) for batch in plan["batches"])
    canaries = sum(len(batch["hosts"]) for batch in plan["batches"] if batch["canary"])
    of_these = f", of these {plural(canaries, 'canary', 'canaries')}"
    good = sum(item["state"] == "good" for item in document["batches"])
    return [
        ("Hosts", f"{hosts:,}{of_these if canaries else ''}"),
        ("Batches", f"{good:,} of {len(plan['batches']):,} good"),
        ("Runs", f"{len(runs):,}"),
        ("First run began", moment(runs[0]["began"]) if runs else DASH),
        ("Last run ended", (moment(runs[-1]["ended"]) if runs[-1]["ended"] else "not ended") if runs else DASH),
        ("Change window", describe(plan["window"])),
    ]


def conditions(document: Document) -> list[tuple[str, str]]:
    """What the plan says beside its batches and its window."""
    plan = document["plan"]
    about = (
        ("Fingerprint of the plan", plan["fingerprint"]),
        ("Collection", f"zpower.sap_tuning {document['collection']}"),
    )
    return [*plans.tunings(plan), *plans.conditions(plan), *about]


def runs(document: Document) -> list[list[str]]:
    """Begin, end, reason of the end, controller, ansible-core and evidence of each run."""
    last = len(document["runs"]) - 1
    return [
        [
            moment(run["began"]),
            moment(run["ended"]) if run["ended"] else "interrupted" if place < last else "not ended",
            run["reason"],
            f"{run['controller']['host']}, process {run['controller']['pid']}",
            run["ansible_core"],
            run["evidence"] or DASH,
        ]
        for place, run in enumerate(document["runs"])
    ]


def again(document: Document) -> str:
    """The command that goes on with the rollout, between backquotes."""
    variable = _word(f"rollout_change={document['change']}")
    return f"`{PLAYBOOK.format('rollout')} -e {variable}`"


def _word(text: str) -> str:
    """One word of a shell command that stands between backquotes."""
    return shlex.quote(one_line(text).replace("`", "?"))


def _limit(names: Sequence[str]) -> str:
    """``--limit app1,app2``; of many hosts the batch's section has the names."""
    return f"--limit {_word(','.join(names))}" if len(names) <= NAMED else "--limit HOSTS"


def steps(document: Document) -> list[str]:
    """The next steps in words, with commands between backquotes."""
    now, all_batches = state(document), batches(document)
    begun = next((batch for batch in all_batches if batch["state"] in ("running", "stopped")), None)
    following = begun or next((batch for batch in all_batches if batch["state"] == "waiting"), None)
    found = []
    if now == "complete":
        found.append(f"Nothing is left to do. To check the hosts at any time: `{PLAYBOOK.format('verify')}`.")
        found.append(f"To take all tunings back to the values found first: `{PLAYBOOK.format('rollback')}`.")
        return [*found, *_unsettled(document, all_batches)]
    if now == "stopped":
        found.append(_stop(document, begun))
    elif now == "running":
        controller, run = document["runs"][-1]["controller"], document["runs"][-1].get("id")
        elsewhere = f" To continue on another controller, add `-e rollout_take_over={run}`." if run else ""
        found.append(
            f"If process {controller['pid']} still runs on {_plain(controller['host'])}, wait: these files are written"
            f" again after each stage. If it does not, the run was interrupted.{elsewhere}"
        )
    found += _unsettled(document, all_batches)
    if following:
        found.append(_start(document, now, following, any(batch["state"] == "good" for batch in all_batches)))
    if begun and (left := _with(begun, "left")):
        found.append(
            f"Batch {begun['number']} keeps the new values on {_names(left)}. To take these hosts back to the values"
            f" found first: `{PLAYBOOK.format('rollback')} {_limit(left)}`."
        )
    found.append("The plan of a change is fixed. To change hosts or tunings, use a new rollout_change.")
    return found


def _start(document: Document, now: str, batch: Batch, good: bool) -> str:
    """How the rollout goes on, and with which batch."""
    first = {"running": "After an interruption, start again with the same change.", "planned": "Start the rollout."}
    said = [first.get(now, "Start again with the same change.")]
    if good:
        said.append("Good batches stay as they are.")
    if _with(batch, "probation") or _with(batch, "unknown"):
        said.append(f"What is still on probation in batch {batch['number']} is taken back first.")
    return " ".join([*said, f"The next batch is {batch['number']}: {again(document)}."])


def _stop(document: Document, begun: Batch | None) -> str:
    if begun and begun["state"] == "stopped":
        return f"Fix the cause of the failure in batch {begun['number']} (see below)."
    reason = document["runs"][-1]["reason"]
    return f"The last run ended before all batches were done{f': {_plain(reason)}' if reason else ''}."


def _unsettled(document: Document, all_batches: Iterable[Batch]) -> list[str]:
    """What to do with hosts whose values are unknown or on probation."""
    found = []
    lease = document["plan"]["confirm_within_s"]
    unknown = [host for batch in all_batches for host in _with(batch, "unknown")]
    if unknown:
        itself = f" A host takes them back by itself at most {duration(lease)} after they were set." if lease else ""
        found.append(
            f"The values of {_names(unknown)} are unknown.{itself} To see them once the"
            f" {'host' if len(unknown) == 1 else 'hosts'} can be reached:"
            f" `{PLAYBOOK.format('verify')} {_limit(unknown)}`."
        )
    waiting = [host for batch in all_batches for host in _with(batch, "probation")]
    if waiting:
        end = f", at most {duration(lease)}; after that the hosts take them back by themselves" if lease else ""
        back = f"{PLAYBOOK.format('rollback')} -e zpower_probation=only {_limit(waiting)}"
        found.append(
            f"The new values of {_names(waiting)} are on probation until the rollout confirms them{end}. If it was"
            f" interrupted, this takes them back at once: `{back}`."
        )
    return found


def _with(batch: Batch, values: str) -> list[str]:
    return [host for group in batch["groups"] if group.item["values"] == values for host in group.members]


def _names(hosts: Sequence[str]) -> str:
    return _plain(listed(hosts, NAMED))


def _plain(text: object) -> str:
    """Text within a sentence that has commands between backquotes."""
    return one_line(text).replace("`", "'")
