# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the plays of one kind do on their hosts, noted result by result, until a document is built from it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import waivers
from .document import HostResult, Waived, nothing_used
from .waivers import NO_LIMITS, WaiverLimits

Record = Mapping[str, Any]
Key = tuple[str, str]  # tuning, subject
IN_RECORD = {"name", "subject", "verdict"}
"""What every tuning record has, also in the result of a task that is not ours."""


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
    """Values were read and are not as requested: this is no error of the host."""
    once: bool = False
    """A task that runs once failed, and with it all hosts of its batch."""


@dataclass
class _Host:
    ran: bool = False
    skipped: bool = False
    left_out: str = ""
    drift: bool = False
    records: dict[Key, Record] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)  # by tuning
    losses: list[Loss] = field(default_factory=list)
    platform: object = None
    groups: list[str] = field(default_factory=list)
    strict: list[str] = field(default_factory=list)
    waivers: object = None
    limits: WaiverLimits = NO_LIMITS


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
        self.planned: dict[str, None] = {}
        self._hosts: dict[str, _Host] = {}
        self._stops: list[Loss] = []

    def plan(self, hosts: Iterable[str]) -> None:
        """Count these hosts, whatever becomes of them."""
        self.planned.update(dict.fromkeys(hosts))

    def keep(self, host: str, result: object) -> bool:
        """Keep what the result of a task, also of a failed one, says of tunings; whether it has a tuning record."""
        if not isinstance(result, Mapping):
            return False
        kept = self._of(host)
        if _keep_call(kept, result) and self.judges and not kept.errors:
            kept.losses.clear()
        records = [
            item for item in _list(result.get("tuning")) if isinstance(item, Mapping) and item.keys() >= IN_RECORD
        ]
        for record in records:
            name, subject = str(record["name"]), str(record["subject"])
            if nothing_used(record) and not self.judges:
                # predictions, such as those of an experiment, are no drift once there is nothing to take back
                for key in [key for key, one in kept.records.items() if key[0] == name and one["verdict"] == "drifted"]:
                    del kept.records[key]
            # the last record of a subject counts: before_after sets and takes back many times
            earlier = kept.records.get((name, subject))
            if self.judges and earlier and (earlier["verdict"], record["verdict"]) == ("changed", "compliant"):
                # the record of the change says more; what was on probation may be confirmed now
                kept.records[name, subject] = {**earlier, "remarks": record.get("remarks", [])}
            else:
                kept.records[name, subject] = record
        return bool(records)

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

    def records(self) -> Iterator[tuple[str, Record]]:
        """The records with their hosts, without those that say that there is nothing to take back."""
        for host, kept in self._hosts.items():
            yield from ((host, record) for key, record in kept.records.items() if not nothing_used(record))

    def results(self, real: Collection[Loss], earlier: Mapping[str, Loss]) -> dict[str, HostResult]:
        """The results of the planned hosts that were reached. ``real``: the losses that were not rescued;
        ``earlier``: those by which a host may have been lost before these plays."""
        found = {host: self._result(host, real, earlier) for host in self.planned}
        return {host: result for host, result in found.items() if result}

    def stopped(self, real: Collection[Loss]) -> str:
        """Why a rollout stopped; empty if it did not."""
        return next((loss.message for loss in reversed(self._stops) if loss in real), "")

    def waived(self, tunings: Collection[str]) -> Waived:
        """The waivers of the hosts that returned them."""
        values = {host: kept.waivers for host, kept in self._hosts.items() if kept.waivers is not None}
        by_host, mistakes = waivers.gather(values, tunings, {host: kept.limits for host, kept in self._hosts.items()})
        return Waived(by_host, {host: kept.groups for host, kept in self._hosts.items()}, mistakes)

    def _of(self, host: str) -> _Host:
        return self._hosts.setdefault(host, _Host())

    def _result(self, host: str, real: Collection[Loss], earlier: Mapping[str, Loss]) -> HostResult | None:
        kept = self._hosts.get(host, _Host())
        if kept.left_out:
            return HostResult("skipped", kept.left_out)
        losses = [loss for loss in kept.losses if self.judges or loss in real]
        # a host that was lost before another one failed for all of them
        loss = next((loss for loss in losses if loss.counted == host), next(iter(losses), None))
        if not (loss or kept.ran or kept.skipped):
            if (before := earlier.get(host)) is None or before in self._stops:
                return None
            outcome = "not_reached" if before.drift else before.outcome
            return HostResult(outcome, f"earlier in this run: {before.message}")
        # nothing to take back is said only if there is no other record of the same tuning
        shown = {key[0] for key, record in kept.records.items() if not nothing_used(record)}
        rows = [record for key, record in kept.records.items() if key[0] not in shown or not nothing_used(record)]
        if loss and not loss.drift:
            return HostResult(loss.outcome, loss.message, rows, kept.platform, kept.strict)
        if kept.errors:  # also if their failure was ignored: nobody knows the values
            return HostResult("failed", self.errors(host), rows, kept.platform, kept.strict)
        return HostResult("ok" if loss or kept.ran else "skipped", "", rows, kept.platform, kept.strict)


def _keep_call(kept: _Host, result: Mapping[str, Any]) -> bool:
    """What the one call of all tunings of a host adds to their records; whether the result is one of it."""
    called = result.get("tunings")
    if not isinstance(called, Mapping) or "errors" not in result:
        return False
    errors = {str(sentence).partition(":")[0]: str(sentence) for sentence in _list(result["errors"])}
    # a later call, such as that after a restart of other hosts, replaces what an earlier one said of the same tunings
    kept.errors = {**{name: text for name, text in kept.errors.items() if name not in called}, **errors}
    kept.drift |= bool(result.get("drift"))
    if result.get("platform"):
        kept.platform = result["platform"]
    if "waivers" in result:
        kept.waivers, kept.limits = result["waivers"], WaiverLimits.of(_list(result.get("waiver_limits")))
    kept.groups, kept.strict = ([str(item) for item in _list(result.get(name))] for name in ("groups", "strict"))
    return True


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
