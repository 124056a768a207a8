# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of the table of exit codes in docs/codes_files_ports.md, one of each kind, run with the playbook they name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import playing
import pytest
from sites import CHECKOUT, COMPLIANT, DRIFTED, FAILED, Site

PAGE = (CHECKOUT / "docs" / "codes_files_ports.md").read_text("utf-8")
LINE = re.compile(r"(?m)^\| `(\w+)` \| (.+?) \| (\d+) \|$")
CODES = {(playbook, what): int(code) for playbook, what, code in LINE.findall(PAGE)}
NOT_REACHED = "Tunings of this host"
"""The name of the first task that reaches a host."""


class Case(NamedTuple):
    said: str = ""
    """The text that the output must contain."""
    answer: str = COMPLIANT
    """The text that the module prints on each host."""
    options: tuple[str, ...] = ()
    prepare: Callable[[Path], object] | None = None
    reached: bool = True


def extra(**variables: object) -> tuple[str, ...]:
    return ("-e", json.dumps(variables))


CASES = {
    ("verify", "a value is not as requested"): Case("hsi0 rx-0: drifted", DRIFTED),
    ("verify", "a value could not be read"): Case("rps: the journal is broken", FAILED),
    ("verify", "the evidence cannot be written; no host is reached"): Case(
        "the evidence of verify cannot be written: ",
        prepare=lambda top: (top / "results").write_text("a file"),
        reached=False,
    ),
    ("site", "a value could not be set"): Case("rps: the journal is broken", FAILED),
    ("rollout", "`rollout_change` is missing"): Case("rollout_change is not set"),
}
GATE = {
    ("verify", "a host could not be reached"): Case(
        "1 unreachable", options=extra(ansible_remote_tmp="/dev/null/nowhere")
    ),
    ("verify", "no host has a chosen tuning, and the platform is left out (`--skip-tags platform`)"): Case(
        "nothing was done: no tuning is chosen for app1",
        options=(*extra(zpower_tunings=[]), "--skip-tags", "platform"),
    ),
    ("site", "no host has a chosen tuning"): Case(
        "nothing was done: no tuning is chosen for app1", options=extra(zpower_tunings=[])
    ),
    ("verify", "the inventory does not exist; no host is reached"): Case(
        "gone.yml does not exist, so hosts may be missing", options=("-i", "gone.yml"), reached=False
    ),
    ("confirm", "a host has taken its values back"): Case("hsi0 rx-0: drifted", DRIFTED),
    ("measure", "no host has a `measure_peer`"): Case(
        "no host of this play has a measure_peer", options=extra(zpower_change="c1", measure_phase="before")
    ),
    ("report", "the change has no records"): Case(
        "NO DATA", options=extra(zpower_change="c1"), prepare=lambda top: (top / "results" / "c1").mkdir(parents=True)
    ),
}


def test_each_playbook_has_a_line() -> None:
    assert {playbook for playbook, _what in CODES} == {path.stem for path in (CHECKOUT / "playbooks").glob("*.yml")}


@pytest.mark.parametrize(
    ("playbook", "what", "case"),
    [
        *((*line, case) for line, case in CASES.items()),
        *(pytest.param(*line, case, marks=pytest.mark.gate) for line, case in GATE.items()),
    ],
)
def test_the_playbook_ends_with_the_code_on_the_page(tmp_path: Path, playbook: str, what: str, case: Case) -> None:
    site = Site(tmp_path, {"app1": case.answer})
    if case.prepare:
        case.prepare(tmp_path)
    status, text = site.play(f"zpower.sap_tuning.{playbook}", *case.options)
    said = " ".join(text.split())
    assert status == CODES[playbook, what], text
    assert case.said in said
    assert case.reached or NOT_REACHED not in said


@pytest.mark.gate
@pytest.mark.parametrize("playbook", ["diff", "unite"])
def test_what_reads_only_results_needs_no_inventory(tmp_path: Path, playbook: str) -> None:
    result = playing.ansible_playbook(
        f"zpower.sap_tuning.{playbook}",
        *extra(zpower_run="week47"),
        cwd=tmp_path,
        env=playing.environment(ANSIBLE_INVENTORY=str(tmp_path / "absent")),
    )
    assert result.returncode == 2
    assert "results/verify" in result.stdout and "so hosts may be missing" not in result.stdout + result.stderr
