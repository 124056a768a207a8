# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The session of before_after: its looks at the verdict, and how a host is left."""

from collections.abc import Collection, Mapping
from typing import Any

from .._experiment.plan_files import move_aside
from .._pages.text import plural
from .._records import record_files
from .._statistics.looks import PHASES
from . import continuing, schedules
from .session import Part, Session, step_of


class TwoStates(Session):
    """The session of a host.

    ``session``: its number; ``most``: the rounds per state of all sessions; ``last``: the highest number of a round
    before it; ``limits``: those of the report;
    ``partners``: the hosts whose measurement this host takes part in; ``tuned``, ``untouched``: the tunings that were
    found with the values of the inventory, and with their first ones.
    """

    session: int
    most: int
    last: int
    minutes: float
    limits: dict[str, Any]
    partners: list[str]
    tuned: list[str]
    untouched: list[str]


def look(session: TwoStates, part: Part, behind: Collection[str]) -> dict[str, Any]:
    """Whether the measurement is over after a part, and why, in a sentence; ``behind``: hosts that failed before."""
    loaded = record_files.load_change(session["results"], session["change"])
    going: dict[str, Any] = {"changed": False, "over": False, "msg": "", "unlike": ""}
    if session["session"] > 1:
        reason = continuing.unlike(loaded, session["session"], session["limits"]["expected_change"])
        if reason:
            last, number = session["last"], session["session"]
            count = move_aside(session["results"], loaded, lambda _host, _phase, round_: round_ > last, number)
            sentence = (
                f"the change {session['change']} cannot be continued: {reason}; the {plural(count, 'record')} of this "
                "session were set aside, and the earlier ones can be used as before"
            )
            return {**going, "changed": True, "over": True, "unlike": sentence}
    if not part["rounds"] or not part["next"]:
        return going
    # a host that failed must not keep the others from their verdict
    verdict, reason = continuing.verdict(loaded, session["limits"], behind)
    said = f"{plural(part['rounds'], 'round')} of each state: {verdict}. {reason}"
    if verdict in continuing.DECIDED:
        return {**going, "over": True, "msg": said}
    more, minutes = plural(part["next"] // 2, "more round"), session["minutes"]
    if late := schedules.too_late(session["at"], part["end"], part["end"] + part["next"], minutes):
        limit = f"{schedules.duration_text(late)} (measure_max_minutes is {minutes:g})"
        return {**going, "over": True, "msg": f"{said} {more} would end after {limit}: the time is spent."}
    return {**going, "msg": f"{said} {more} of each state follow."}


def end(session: TwoStates, host: str, hosts: Any, final: str) -> dict[str, Any]:
    """Problems, and how to leave the host: in its final state if a partner measured both states, else as found.

    The tunings to take ``back``, to the values of ``checkpoint`` or to the first ones, and then those to ``set``.
    """
    # a partner of a host without tunings may have an order of its own
    measured = [_measured(hosts[name].get("__session", session), name, hosts[name]) for name in session["partners"]]
    succeeded = not measured or any(phases.issuperset(PHASES) for phases in measured)
    error = hosts[host].get("__session_error")
    problems = [error] if error else []
    if not succeeded:
        problems.append(f"not both states were measured, so {host} was left as it was found")
    tunings, checkpoint = session["tunings"], session["checkpoint"]
    if succeeded and final == "restored":
        back, checkpoint, set_ = tunings, "", []
    elif checkpoint:
        back, set_ = tunings, tunings if succeeded else []
    elif succeeded:
        back, set_ = [], tunings
    else:
        back, set_ = session["untouched"], session["tuned"]
    return {"succeeded": succeeded, "problems": problems, "back": back, "checkpoint": checkpoint, "set": set_}


def _measured(session: Session, host: str, variables: Mapping[str, Any]) -> set[str]:
    """The phases of which a host has measured a whole round in this session.

    Each step begins after the round of the one before. In the last one, every workload of this session must have been
    measured: its records are here.
    """
    at, steps = step_of(variables), session["steps"]
    if at < 0:
        return set()
    found, last = {step["phase"] for step in steps[:at]}, steps[at]
    if not variables.get("__session_error"):
        return found | {last["phase"]}
    begun: dict[Any, set[tuple[str, str]]] = {(step["phase"], step["round"]): set() for step in steps[: at + 1]}
    for item in record_files.load_change(session["results"], session["change"]).records:
        if item.host == host and not item.workload.control and item.good and (item.phase, item.number) in begun:
            begun[item.phase, item.number].add((item.workload.name, item.peer))
    there = begun[last["phase"], last["round"]]
    return found | ({last["phase"]} if there and there == set().union(*begun.values()) else set())
