# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the plays of one kind do on their hosts, noted result by result, until a document is built from it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from .._answers.answers import Answer
from .document import Found, build, nothing_used
from .shapes import Document, Host, HostWaiver, RunFields, WaivedRow

Key = tuple[str, str]  # tuning, subject


@dataclass(eq=False)
class Loss:
    """A failure, or a host that could not be reached. It may be rescued: the statistics of ``counted`` decide.

    ``hosts``: those that it ends the play for.
    """

    outcome: str
    message: str
    counted: str
    hosts: Sequence[str]
    drift: bool = False
    """Values were read and are not as requested: this is not an error of the host."""
    once: bool = False
    """A task that runs once failed, and with it all hosts of its batch."""


@dataclass
class _Host:
    ran: bool = False
    skipped: bool = False
    left_out: str = ""
    drift: bool = False
    rows: dict[Key, WaivedRow] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)  # by tuning
    losses: list[Loss] = field(default_factory=list)
    platform: dict[str, Any] | None = None
    waivers: dict[str, HostWaiver] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


class Recording:
    """The plays of one kind in one run.

    A rollout rescues the failures of its hosts, because it judges them itself. There a host stays lost until a later
    call of its tunings succeeds, and a task that runs once speaks for the rollout, not for a host.
    """

    def __init__(self, kind: str, begun: str, check: bool = False) -> None:
        self.kind = kind
        self.judges = kind == "rollout"
        self.check = check
        self.begun = begun
        self.folder: Path | None = None  # none without evidence, or where it cannot be written
        self.slice: Path | None = None
        self.command: list[str] = []
        self.planned: dict[str, None] = {}
        self._hosts: dict[str, _Host] = {}
        self._stops: list[Loss] = []

    def plan(self, hosts: Iterable[str]) -> None:
        """Count these hosts, whatever happens to them."""
        self.planned.update(dict.fromkeys(hosts))

    def keep(self, host: str, answer: Answer) -> bool:
        """Keep what an action of this collection says of tunings; whether it has a row."""
        kept = self._of(host)
        if "errors" in answer:
            # a later call, such as one after a restart of other hosts, replaces the errors of the same tunings
            kept.errors = {name: text for name, text in kept.errors.items() if name not in answer.get("tunings", {})}
            kept.errors |= {sentence.partition(":")[0]: sentence for sentence in answer["errors"]}
            kept.drift |= bool(answer.get("drift"))
            kept.platform = answer.get("platform") or kept.platform
            kept.problems = answer.get("problems", [])
            for waiver in answer.get("waivers", []):
                kept.waivers.setdefault(repr({**waiver, "uses": None}), waiver)["uses"] |= waiver["uses"]
            if self.judges and not kept.errors:
                kept.losses.clear()
        rows = cast(list[WaivedRow], answer.get("tuning", []))
        for row in rows:
            name, subject = row["name"], row["subject"]
            if nothing_used(row) and not self.judges:
                # predictions, such as those of an experiment, are not drift once there is nothing to take back
                for key, one in [*kept.rows.items()]:
                    if key[0] == name and "drifted" in (one["verdict"], one.get("waiver", one)["verdict"]):
                        del kept.rows[key]
            # the last row of a subject counts: before_after sets and takes back many times
            earlier = kept.rows.get((name, subject))
            if self.judges and earlier and (earlier["verdict"], row["verdict"]) == ("changed", "compliant"):
                # the row of the change says more; what was on probation may be confirmed now
                kept.rows[name, subject] = {**earlier, "remarks": row["remarks"]}
            else:
                kept.rows[name, subject] = row
        return bool(rows)

    def run(self, host: str, once: bool = False) -> None:
        """A task ran, or its failure was ignored."""
        self._of(host).ran |= not (once and self.judges)

    def skip(self, host: str) -> None:
        self._of(host).skipped = True

    def leave_out(self, why: Mapping[str, str]) -> None:
        """Hosts that a rollout leaves out: {host: who, and why}."""
        self.plan(why)
        for host, reason in why.items():
            self._of(host).left_out = str(reason)

    def lose(self, loss: Loss) -> None:
        """Note a loss: of the whole run if it is told once in a run that judges, else of each of its hosts."""
        if loss.once and self.judges:
            self._stops.append(loss)
            return
        for host in loss.hosts:
            self._of(host).losses.append(loss)

    def only_drift(self, host: str) -> bool:
        """Whether the tunings of a host had no error, and values that are not as requested."""
        kept = self._of(host)
        return kept.drift and not kept.errors

    def errors(self, host: str) -> str:
        """The errors of the tunings of a host."""
        return "; ".join(self._of(host).errors.values())

    def rows(self) -> Iterator[tuple[str, WaivedRow]]:
        """The rows with their hosts, without those that say that there is nothing to take back."""
        for host, kept in self._hosts.items():
            yield from ((host, row) for row in kept.rows.values() if not nothing_used(row))

    def document(self, about: Mapping[str, Any], ended: str | None, real: Collection[Loss]) -> Document:
        """The document of what has arrived. ``about``: the run, as the command line says it; ``real``: the losses that
        were not rescued, also those before these plays."""
        stopped = next((loss.message for loss in reversed(self._stops) if loss in real), "")
        run = {"kind": self.kind, "begun": self.begun, "ended": ended, **about, "check": self.check or about["check"]}
        run |= {"stopped": stopped} if stopped else {}
        earlier = {host: loss for loss in real for host in loss.hosts}
        return build(cast(RunFields, run), [self._found(host, real, earlier) for host in self.planned])

    def _of(self, host: str) -> _Host:
        return self._hosts.setdefault(host, _Host())

    def _found(self, name: str, real: Collection[Loss], earlier: Mapping[str, Loss]) -> Found:
        """A host with what became of it; ``not_reached`` if no task of these plays ran there."""
        kept = self._hosts.get(name, _Host())
        losses = [loss for loss in kept.losses if self.judges or loss in real]
        # a host that was lost before another one failed for all of them
        loss = next((loss for loss in losses if loss.counted == name), next(iter(losses), None))
        if kept.left_out:
            kept, outcome, said = _Host(), "skipped", kept.left_out
        elif loss and not loss.drift:
            outcome, said = loss.outcome, loss.message
        elif kept.errors and (loss or kept.ran or kept.skipped):
            # also if their failure was ignored: nobody knows the values
            outcome, said = "failed", self.errors(name)
        elif loss or kept.ran or kept.skipped:
            outcome, said = "ok" if loss or kept.ran else "skipped", ""
        elif (before := earlier.get(name)) and before not in self._stops:
            outcome = "not_reached" if before.drift else before.outcome
            kept, said = _Host(), f"earlier in this run: {before.message}"
        else:
            kept, outcome, said = _Host(), "not_reached", ""
        # nothing to take back is said only if there is no other row of the same tuning
        shown = {key[0] for key, row in kept.rows.items() if not nothing_used(row)}
        rows = [row for key, row in kept.rows.items() if key[0] not in shown or not nothing_used(row)]
        text = str.__str__(name)
        host: Host = {"host": text, "outcome": outcome, "message": said, "rows": rows, "platform": kept.platform}
        return host, kept.waivers.values(), kept.problems
