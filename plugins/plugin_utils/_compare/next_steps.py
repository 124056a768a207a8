# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a reader of a report should do now, the most urgent first, each with the command that does it.

A command stands between backquotes. It has the inventory and the limit of the run that measured; host names come from
records, so only those are put into a command that are plainly names.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median_high
from typing import Any, NamedTuple

from .._statistics.verdict import IMPROVED, REGRESSED, UNCHANGED
from .comparability import NEVER_DECLARED
from .pair import Comparison

MOST_ROUNDS = 50
"""More rounds than this are nothing to plan for."""
MOST_HOSTS = 8
"""More names than this make a command that nobody reads."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
COLLECTION = "zpower.sap_tuning"

ADVICE = {
    "data": "Look at the errors of the failed runs and at the hosts that were not measured, and measure again",
    "fingerprint": "Make both states equal in what Comparability lists, and measure both again",
    "tuning": "Find out under What changed why the tuning was not in force, and measure both states again",
    "failed": "Remove the cause of the failed runs, and measure again",
    "control": "Something else changed between the states: measure again at a quieter time, the states taking turns",
    "coarse": "Measure with finer figures, or longer runs: all values are multiples of a step larger than material",
}


IMPORTED = "import"
"""The tool of records that were measured elsewhere: no command of ours measures them again."""


class Whole(NamedTuple):
    """What the steps depend on beside the comparisons."""

    change: str
    verdict: str
    min_rounds: int
    repeat: str
    """The command that measured."""
    experiment: Mapping[str, Any] | None = None
    measured: bool = True
    """By this collection, so that a command of it can do so again."""
    tunings: Sequence[str] = ()
    """Those of this collection that were recorded for the change: without one, no playbook of ours takes it back."""


def next_steps(whole: Whole, comparisons: Sequence[Comparison], missing: Sequence[Mapping[str, str]]) -> list[str]:
    """Sentences; never empty."""
    if whole.experiment:
        return _typed(whole, [*_of_experiment(whole, whole.experiment), *_about_missing(missing)])
    ours = [item for item in comparisons if not item.control]
    whole = whole._replace(measured=not ours or any(item.entry["tool"] != IMPORTED for item in ours))
    causes = Counter(item.cause for item in ours)
    steps = []
    if whole.verdict == REGRESSED:
        worse = [item.entry["host"] for item in ours if item.verdict == REGRESSED]
        steps.append(f"Take the change back where it made things worse{_rollback(whole, worse)}.")
    if any(item.entry["warnings"] for item in ours):
        steps.append("Look at the side effects named in the guards before the change goes any further.")
    steps += [f"{text}{_again(whole)}." for cause, text in ADVICE.items() if causes[cause]]
    steps += _declaring(whole, [item for item in ours if item.cause == "fingerprint"])
    if causes["rounds"]:
        steps.append(f"Measure at least {whole.min_rounds} rounds of each state{_again(whole, whole.min_rounds + 1)}.")
    steps += _against_noise(whole, ours)
    if any(item.alternates is False for item in ours):
        steps.append("Let the states take turns (before, after, after, before, ...), so that a drift is no effect.")
    if whole.verdict == IMPROVED:
        watch = f", and let the verify playbook watch that it stays: {command(whole.repeat, 'verify')}"
        steps.append(f"Keep the change{watch if whole.tunings else ''}.")
    if whole.verdict == UNCHANGED:
        steps.append(
            "Keep the change only if there is another reason for it, for it makes no material difference here;"
            f" else take it back{_rollback(whole)}."
        )
    steps += _about_missing(missing)
    if not ours:
        steps.append(f"Measure both states{_again(whole)}.")
    return _typed(whole, steps)


def _typed(whole: Whole, steps: list[str]) -> list[str]:
    """The same steps, and where a command lacks what the run had been given, a last one that says so."""
    remarks = [line[2:] for line in whole.repeat.splitlines()[1:] if line.startswith("# with the ")]
    commands = any("`" in step for step in steps)
    told = [remark.replace("with the ", "with the other ", 1).rstrip(".") for remark in remarks if commands]
    return [*steps, *(f"Type these commands {remark}." for remark in told)]


def _rollback(whole: Whole, hosts: Iterable[str] = ()) -> str:
    """Of the change's own tunings alone: the playbook would take back all that the hosts have."""
    if not whole.tunings:
        return "; no tuning of this collection was recorded for it, so it goes back the way it was made"
    return f": {command(whole.repeat, 'rollback', hosts, whole.tunings)}"


def _declaring(whole: Whole, unequal: Sequence[Comparison]) -> list[str]:
    """The report once more, with the difference declared; nothing where that could not help."""
    found = {item for comparison in unequal for item in comparison.differences if item.must_match or item.declared}
    # several values in one state can be no declared difference; a list of them is joined by commas
    bad = [item for item in found if "," in item.before + item.after or item.item in NEVER_DECLARED]
    names = sorted({item.item for item in found})
    if not names or bad or not all(NAME.fullmatch(name) for name in names):
        return []
    asked = json.dumps({"report_expected_change": names})
    report = _bare(command(whole.repeat, "report"))
    again = f"`{report} -e zpower_change={whole.change} -e {shlex.quote(asked)}`"
    return [f"Or, where this difference is what you compare, declare it: {again}."]


def _against_noise(whole: Whole, ours: Sequence[Comparison]) -> list[str]:
    needed = [item.entry["rounds_needed"] for item in ours if item.cause == "noise"]
    if not needed:
        return []
    rounds = median_high([number or whole.min_rounds for number in needed])
    about = f"about {rounds}" if rounds <= MOST_ROUNDS else f"over {MOST_ROUNDS}"
    again = _again(whole, rounds if rounds <= MOST_ROUNDS else None)
    return [
        f"Measure on a quieter system: as noisy as this, {len(needed)} of {len(ours)} comparisons"
        f" would take {about} rounds of each state{again}."
    ]


def _of_experiment(whole: Whole, experiment: Mapping[str, Any]) -> list[str]:
    sessions = experiment["progress"].get("sessions") or [{}]
    winner, last = experiment["winner"], sessions[-1]
    if not experiment["progress"]["complete"]:
        again = f"`{_plain(whole.repeat)} -e zpower_change={whole.change}`"
        return [f"Go on where the experiment ended, with the same factors: {again}."]
    if winner is None and (last.get("failures") or not last.get("ended")):
        back = _bare(command(whole.repeat, "rollback"))
        return [f"Take back what the last session may have left behind: `{back} -e zpower_checkpoint={whole.change}`."]
    if winner is None:
        return ["Nothing is asked of you: the hosts are as they were found."]
    if last.get("kept") == winner:
        watch = command(whole.repeat, "verify")
        return [f"Write the settings of {winner} into the inventory, and let the verify playbook watch them: {watch}."]
    level: Mapping[str, Any] = next((item for item in experiment["levels"] if item["name"] == winner), {})
    asked = shlex.quote(json.dumps(level.get("vars") or {}, sort_keys=True))
    site = _bare(command(whole.repeat, "site"))
    return [
        f"Nothing was kept. To keep {winner}, write its settings into the inventory and set them: `{site} -e {asked}`."
    ]


def _about_missing(missing: Sequence[Mapping[str, str]]) -> list[str]:
    return ["See Not measured for the hosts that are missing, and why."] if missing else []


def _again(whole: Whole, rounds: int | None = None) -> str:
    """The command that measures again, as a change of its own: records are never overwritten."""
    if not whole.measured:
        return ""
    more = f" -e measure_rounds={rounds}" if rounds else ""
    again = f"{_plain(whole.repeat)} -e zpower_change={following(whole.change)}{more}"
    if _words(whole.repeat)[-1:] == [f"{COLLECTION}.measure"]:
        return f", the state after with measure_phase=after: `{again} -e measure_phase=before`"
    return f": `{again}`"


def following(change: str) -> str:
    """``rps-2`` after ``rps``, ``rps-3`` after ``rps-2``; a year or a month at the end is no number of an attempt."""
    match = re.fullmatch(r"(.*[^0-9-])-([1-9][0-9]?)", change)
    return f"{match[1]}-{int(match[2]) + 1}" if match else f"{change}-2"


def command(repeat: str, playbook: str, hosts: Iterable[str] = (), tags: Iterable[str] = ()) -> str:
    """``ansible-playbook`` with the inventory of the run that measured, for these hosts or those of that run."""
    words = _words(repeat)[:-1] or ["ansible-playbook"]
    names = sorted(set(hosts))
    if names and len(names) <= MOST_HOSTS and all(NAME.fullmatch(name) for name in names):
        if "--limit" in words:
            place = words.index("--limit")
            del words[place : place + 2]
        words += ["--limit", ",".join(names)]
    chosen = [tag for tag in tags if NAME.fullmatch(tag)]
    words += [f"{COLLECTION}.{playbook}", *(["--tags", ",".join(chosen)] if chosen else [])]
    return f"`{shlex.join(words)}`"


def _words(repeat: str) -> list[str]:
    """The words of the first line, the others are remarks; none where it is no command of ours."""
    try:
        words = shlex.split(repeat.splitlines()[0]) if repeat else []
    except ValueError:
        return []
    return words if words[:1] == ["ansible-playbook"] and "`" not in "".join(words) else []


def _plain(repeat: str) -> str:
    return shlex.join(_words(repeat)) or f"ansible-playbook {COLLECTION}.before_after"


def _bare(text: str) -> str:
    return text.strip("`")
