# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to do next with a rollout, in sentences with commands between backquotes."""

import shlex
from collections.abc import Iterator, Sequence

from .._pages.text import listed, one_line
from .checking import BatchState, Document
from .plan import duration

NAMED = 20  # hosts that a command or a sentence names
PLAYBOOK = "ansible-playbook zpower.sap_tuning.{} -i inventory"


def state(document: Document) -> str:
    """The result, or ``planned`` before the first run. Nobody knows here whether a run without an end still runs."""
    return document["result"] if document["runs"] else "planned"


def values_of(batch: BatchState, host: str) -> str:
    """The values of a host; ``left``: those of a batch that is not good and that were confirmed nevertheless."""
    values = batch["hosts"][host]["values"]
    return "left" if values == "confirmed" and batch["state"] != "good" else values


def steps(document: Document) -> Iterator[str]:
    """The next steps."""
    now, batches = state(document), document["batches"]
    if now == "complete":
        yield f"Nothing is left to do. To check the hosts at any time: `{PLAYBOOK.format('verify')}`."
        yield f"To take all tunings back to the values found first: `{PLAYBOOK.format('rollback')}`."
        yield from _unsettled(document)
        return
    begun = next((batch for batch in batches if batch["state"] in ("running", "stopped")), None)
    if now == "stopped" and begun and begun["state"] == "stopped":
        yield f"Fix the cause of the failure in batch {begun['number']} (see below)."
    elif now == "stopped":
        reason = document["runs"][-1]["reason"]
        yield f"The last run ended before all batches were done{f': {_plain(reason)}' if reason else ''}."
    elif now == "running":
        controller, run = document["runs"][-1]["controller"], document["runs"][-1].get("id")
        elsewhere = f" To continue on another controller, add `-e rollout_take_over={run}`." if run else ""
        yield (
            f"If process {controller['pid']} still runs on {_plain(controller['host'])}, wait: these files are written"
            f" again after each stage. If it does not, the run was interrupted.{elsewhere}"
        )
    yield from _unsettled(document)
    following = begun or next((batch for batch in batches if batch["state"] == "waiting"), None)
    if following:
        yield _start(document, now, following)
    if begun and (left := _with(document, "left")):
        yield (
            f"Batch {begun['number']} keeps the new values on {_names(left)}. To take these hosts back to the values"
            f" found first: `{PLAYBOOK.format('rollback')} {_limit(left)}`."
        )
    yield "The plan of a change is fixed. To change hosts or tunings, use a new rollout_change."


def _start(document: Document, now: str, batch: BatchState) -> str:
    """How the rollout goes on, and with which batch."""
    first = {"running": "After an interruption, start again with the same change.", "planned": "Start the rollout."}
    said = [first.get(now, "Start again with the same change.")]
    if any(one["state"] == "good" for one in document["batches"]):
        said.append("Good batches stay as they are.")
    if {"probation", "unknown"} & {host["values"] for host in batch["hosts"].values()}:
        said.append(f"What is still on probation in batch {batch['number']} is taken back first.")
    again = f"`{PLAYBOOK.format('rollout')} -e {_word('rollout_change=' + document['change'])}`"
    return " ".join([*said, f"The next batch is {batch['number']}: {again}."])


def _unsettled(document: Document) -> Iterator[str]:
    """What to do with hosts whose values are unknown or on probation."""
    lease = document["plan"]["confirm_within_s"]
    if unknown := _with(document, "unknown"):
        itself = f" A host takes them back by itself at most {duration(lease)} after they were set." if lease else ""
        yield (
            f"The values of {_names(unknown)} are unknown.{itself} To see them once the"
            f" {'host' if len(unknown) == 1 else 'hosts'} can be reached:"
            f" `{PLAYBOOK.format('verify')} {_limit(unknown)}`."
        )
    if waiting := _with(document, "probation"):
        end = f", at most {duration(lease)}; after that the hosts take them back by themselves" if lease else ""
        back = f"{PLAYBOOK.format('rollback')} -e zpower_probation=only {_limit(waiting)}"
        yield (
            f"The new values of {_names(waiting)} are on probation until the rollout confirms them{end}. If it was"
            f" interrupted, this takes them back at once: `{back}`."
        )


def _with(document: Document, values: str) -> list[str]:
    """The hosts with these values, in the order of the plan."""
    batches = zip(document["plan"]["batches"], document["batches"], strict=True)
    return [host for planned, batch in batches for host in planned["hosts"] if values_of(batch, host) == values]


def _word(text: str) -> str:
    """One word of a shell command that stands between backquotes."""
    return shlex.quote(one_line(text).replace("`", "?"))


def _limit(names: Sequence[str]) -> str:
    """``--limit app1,app2``; of many hosts the batch's section has the names."""
    return f"--limit {_word(','.join(names))}" if len(names) <= NAMED else "--limit HOSTS"


def _names(hosts: Sequence[str]) -> str:
    return _plain(listed(hosts, NAMED))


def _plain(text: object) -> str:
    """Text within a sentence that has commands between backquotes."""
    return one_line(text).replace("`", "'")
