# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The next steps for the reader of a report, the most urgent first, each with its command.

A command stands between backquotes. It has the inventory and the limit of the run that measured. Host names come from
records, so only plain names are put into a command.
"""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from .._experiment.outcomes import first_rows
from .._records.checks import ROLLOUTS, rollout_of
from .._statistics.looks import LOOKS
from .._statistics.verdict import IMPROVED, REGRESSED, UNCHANGED
from .comparability import NEVER_DECLARED
from .pair import Comparison
from .shapes import Part, Report, Row

CONFIRM_FROM = 100
"""Simulated: with spikes in 10 % of the rounds 5 to 16 % of such sites name a host after 6 rounds, 1.5 % after 8."""
DECIDED = " (enough for two of three measurements if nothing changed, for one of three if the change is near the limit)"
"""Simulated for this collection (150 measurements a cell, eight noises): 47 to 100 % and 9 to 57 %."""
MOST_NAMED = 8
"""More names than this make a sentence unreadable."""
MOST_HOSTS = 64
"""A longer list of hosts belongs in a file, not in a command."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
COLLECTION = "zpower.sap_tuning"

ADVICE = {
    "data": "Check the errors of the failed runs and the hosts that were not measured, then measure again",
    "fingerprint": "Remove the differences listed under Comparability, then measure both states again",
    "sessions": "Measure both states in one session",
    "tuning": "See under What changed why the tuning was not in force, then measure both states again",
    "failed": "Remove the cause of the failed runs, then measure again",
    "control": "Something else changed between the states: measure again at a quieter time",
    "lost": "Measure again where comparisons were excluded or hosts have no records",
    "starts": "Measure with at least 5 starts of each state, because starts differ from each other too",
    "stalls": "Find out why single rounds stalled after the change, or measure more rounds",
    "coarse": "Measure with finer figures or longer runs: all values are multiples of a step that is too large for the"
    " material limit",
}


NO_RECORD = "There is no record of this host."
"""Why a host that the report has to account for was not measured."""
IMPORTED = "import"
"""The tool of imported records: no command of this collection can measure them again."""
MORE_VARIABLES = "Add the other extra variables (-e) of that run. They may be secret, so they are not shown."
"""A remark below a command that measures again."""


def next_steps(report: Report, comparisons: Sequence[Comparison]) -> list[str]:
    """Return the steps for a report that lacks only them; never empty."""
    ours = [item for item in comparisons if not item.entry["control"]]
    experiment = report["experiment"]
    if _words(report["repeat"])[-1:] == [f"{COLLECTION}.rollout"]:
        page = f"{ROLLOUTS}/{rollout_of(report['change'])}/rollout.html"
        return [f"This is the measurement of a batch: {page} says what the rollout did with it, and what to do next."]
    steps = [_of_experiment(report, experiment)] if experiment else [*_of_change(report, ours)]
    if report["not_measured"]:
        steps.append("See under Not measured which hosts are missing, and why.")
        steps += _without_strangers(report)
    if not ours and not experiment:
        steps.append(f"Measure both states{_measure_again(report)}.")
    if MORE_VARIABLES in report["repeat"] and any("`" in step for step in steps):
        steps.append(MORE_VARIABLES.replace("Add", "To each command, add"))
    return steps


def _of_change(report: Report, ours: Sequence[Comparison]) -> Iterator[str]:
    rows, verdict = report["pooled"], report["verdict"]
    first = rows[0] if rows else None
    causes = {*(item.cause for item in ours), first["cause"] if first else ""}
    guards = first["guards"] if first else []
    grouped = any(guard.kind == "groups" for guard in guards)
    worse = {str(row["host"]) for row in rows if row["scope"] == "host" and row["verdict"] == REGRESSED}
    harmed = worse if grouped else worse & {guard.name for guard in guards}
    many = first and first["hosts"] >= CONFIRM_FROM and first["rounds"] < LOOKS[1].rounds
    if verdict != REGRESSED and harmed and many:
        again = f"{LOOKS[1].rounds} rounds per state on {', '.join(sorted(harmed)[:MOST_NAMED])}"
        yield f"Measure {again}: among this many hosts one looks harmed by chance if its rounds have spikes."
    if verdict == REGRESSED or harmed:
        back = _rollback(report, worse if verdict == REGRESSED else harmed)
        yield f"Take the change back where it made things worse{back}."
    if first and first["warnings"]:
        yield "Check the side effects named in the guards before you keep the change."
    yield from (f"{text}{_measure_again(report)}." for cause, text in ADVICE.items() if cause in causes)
    yield from _declaring(report, [item for item in ours if item.cause == "fingerprint"])
    if first and first["more_rounds"] and not grouped:
        yield _more_rounds(report, first, first["more_rounds"])
    if any(item.line.alternates is False for item in ours):
        yield "Let the states alternate in random order, so that a drift does not look like an effect."
    if verdict == IMPROVED and not harmed:
        watch = f", and check with the verify playbook that it stays: `{command(report['repeat'], 'verify')}`"
        keep = "If you accept them, keep the change" if first and first["warnings"] else "Keep the change"
        yield f"{keep}{watch if report['changes'] else ''}."
    if verdict == UNCHANGED:
        why = "there is another reason for it, because it makes no material difference here"
        if any(guard.kind == "worse" for guard in guards):
            why = "what got worse does not matter to you, because on the whole it makes no material difference"
        yield f"Keep the change only if {why}; otherwise take it back{_rollback(report)}."


def _without_strangers(report: Report) -> Iterator[str]:
    """The command for a report that does not wait for hosts of the inventory that were never part of the change."""
    hosts = _limited({str(entry["host"]) for entry in report["comparisons"]})
    strangers = any(item["reason"] == NO_RECORD for item in report["not_measured"])
    if hosts and strangers and any(row["cause"] == "lost" for row in report["pooled"]):
        again = f"{command(report['repeat'], 'report', hosts)} -e zpower_change={report['change']}"
        yield f"Or, if those without a record do not belong to this change, leave them out: `{again}`."


def _measured(report: Report) -> bool:
    """Whether this collection measured the change, so that a command of it can measure again."""
    ours = [entry for entry in report["comparisons"] if not entry["control"]]
    return not ours or any(entry["tool"] != IMPORTED for entry in ours)


def _rollback(report: Report, hosts: Iterable[str] = ()) -> str:
    """How to take the change back: only its own tunings, because the playbook alone takes back all tunings."""
    if not report["changes"]:
        return "; no tuning of this collection was recorded for it, so undo it by hand"
    names = {*hosts}
    some = "" if names <= _limited(names) else " with --limit and the hosts that got worse, no others"
    tags = sorted({entry["name"] for entry in report["changes"]})
    return f"{some}: `{command(report['repeat'], 'rollback', names, tags)}`"


def _limited(hosts: set[str]) -> set[str]:
    """The hosts to which a command can be limited: all of these, or none."""
    return hosts if len(hosts) <= MOST_HOSTS and all(NAME.fullmatch(name) for name in hosts) else set()


def _declaring(report: Report, unequal: Sequence[Comparison]) -> list[str]:
    """The command for a report with the difference declared; nothing if that cannot help."""
    found = {item for comparison in unequal for item in comparison.differences if item.must_match or item.declared}
    # several values in one state cannot be a declared difference; a list of them is joined by commas
    bad = [item for item in found if "," in item.before + item.after or item.item in NEVER_DECLARED]
    names = sorted({item.item for item in found})
    if not names or bad or not all(NAME.fullmatch(name) for name in names):
        return []
    asked = json.dumps({"report_expected_change": names})
    again = f"`{command(report['repeat'], 'report')} -e zpower_change={report['change']} -e {shlex.quote(asked)}`"
    return [f"Or, if you want to compare exactly this difference, declare it: {again}."]


def _more_rounds(report: Report, first: Row, more: int) -> str:
    """How to go on if more rounds would decide: before_after continues the change, other playbooks measure it again."""
    noise = "" if first["cause"] == "rounds" else "Measure again at a quieter time, or with this noise "
    total = first["rounds"] + more
    if total > LOOKS[-1].rounds:
        most = f"no verdict is likely within {LOOKS[-1].rounds} rounds"
        return f"Measure again at a quieter time: with this noise, {most}."
    if _measured(report) and _words(report["repeat"])[-1:] == [f"{COLLECTION}.before_after"]:
        again = f"`{_plain(report['repeat'])} -e zpower_change={report['change']} -e before_after_continue=true"
        again = f": {again} -e measure_max_rounds={total}`"
    else:
        again = _measure_again(report, f"-e measure_rounds={total}")
    odds = DECIDED if first["cause"] == "noise" else ""
    return f"{noise}{'m' if noise else 'M'}easure {more} more rounds of each state, {total} in all{odds}{again}."


def _of_experiment(report: Report, experiment: Part) -> str:
    last = (experiment["progress"].get("sessions") or [{}])[-1]
    winner, same = experiment["winner"], f"{_plain(report['repeat'])} -e zpower_change={report['change']}"
    if not experiment["progress"]["complete"]:
        behind = len({host["done"] for host in experiment["progress"]["hosts"]}) > 1
        gone = " If a host does not come back, measure the others under another name." if behind else ""
        return f"Continue the experiment with the same factors: `{same}`.{gone}"
    if winner is None and (last.get("failures") or not last.get("ended")):
        back = f"`{command(report['repeat'], 'rollback')} -e zpower_checkpoint={report['change']}`"
        return f"Take back any changes that the last session left behind: {back}."
    if winner is None:
        deciding = first_rows(report["pooled"]).values()
        needed = max((row["rounds"] + row["more_rounds"] for row in deciding if row["more_rounds"]), default=0)
        if not needed:
            return "Nothing to do: the hosts are in the state in which they were found."
        more = f"Go on with the experiment, if possible at a quieter time: `{same} -e experiment_max_rounds={needed}`."
        within = needed <= LOOKS[-1].rounds
        return more if within else f"Measure again at a quieter time{_measure_again(report)}."
    if last.get("kept") == winner:
        watch = f"`{command(report['repeat'], 'verify')}`"
        return f"Write the settings of {winner} into the inventory, and check them with the verify playbook: {watch}."
    level: Part = next((item for item in experiment["levels"] if item["name"] == winner), {})
    asked = shlex.quote(json.dumps(level.get("vars") or {}, sort_keys=True))
    site = f"`{command(report['repeat'], 'site')} -e {asked}`"
    return f"Nothing was kept. To keep {winner}, write its settings into the inventory and apply them: {site}."


def _measure_again(report: Report, rounds: str = "") -> str:
    """The command that measures again, under a new change name: records are never overwritten."""
    if not _measured(report):
        return ""
    again = f"{_plain(report['repeat'])} -e zpower_change={next_change_name(report['change'])} {rounds}".rstrip()
    if _words(report["repeat"])[-1:] == [f"{COLLECTION}.measure"]:
        return f"; for the state after, use measure_phase=after: `{again} -e measure_phase=before`"
    return f": `{again}`"


def next_change_name(change: str) -> str:
    """``rps-2`` after ``rps``, ``rps-3`` after ``rps-2``; a year or a month at the end does not count as a number.

    A name has at most 64 characters.
    """
    match = re.fullmatch(r"(.*[^0-9-])-([1-9][0-9]?)", change)
    name, number = (match[1], int(match[2]) + 1) if match else (change, 2)
    return f"{name[:60]}-{number}"


def command(repeat: str, playbook: str, hosts: Iterable[str] = (), tags: Iterable[str] = ()) -> str:
    """``ansible-playbook`` with the inventory of the run that measured, for these hosts or those of that run."""
    words = _words(repeat)[:-1] or ["ansible-playbook"]
    if names := sorted(_limited({*hosts})):
        if "--limit" in words:
            place = words.index("--limit")
            del words[place : place + 2]
        words += ["--limit", ",".join(names)]
    chosen = [tag for tag in tags if NAME.fullmatch(tag)]
    words += [f"{COLLECTION}.{playbook}", *(["--tags", ",".join(chosen)] if chosen else [])]
    return shlex.join(words)


def _words(repeat: str) -> list[str]:
    """The words of the first line (the other lines are remarks); empty unless it is an ansible-playbook command."""
    try:
        words = shlex.split(repeat.splitlines()[0]) if repeat else []
    except ValueError:
        return []
    return words if words[:1] == ["ansible-playbook"] and "`" not in "".join(words) else []


def _plain(repeat: str) -> str:
    return shlex.join(_words(repeat)) or f"ansible-playbook {COLLECTION}.before_after"
