# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real plays with a host whose Python rewrites the answers of its modules, or that has facts which would decide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sites import CHECKOUT, COMPLIANT, DRIFTED, WAIVER, Site, keeper

ACTIONS = CHECKOUT / "plugins" / "action"
OVERRIDE = "\u202e"
# modules without an action of their own; niping and enqt have that of measure_workload
PLAIN = sorted(
    {path.stem for path in (CHECKOUT / "plugins" / "modules").glob("*.py") if not (ACTIONS / path.name).exists()}
    - {"enqt", "niping"}
)
NASTY = f"\x1b]0;owned\x07\x1b[31m{OVERRIDE}moc"


def answer(**more: Any) -> str:
    return json.dumps({**json.loads(DRIFTED), **more})


def playing(site: Site, *plays: Any) -> tuple[int, str]:
    """Exit code and text of plays of the user's own, with the table of this collection."""
    (site.folder / "own.yml").write_text(json.dumps(plays))
    site.environment["ANSIBLE_CALLBACKS_ENABLED"] = "zpower.sap_tuning.tunings"
    return site.play("own.yml")


def rolled(role: str, **variables: Any) -> dict[str, Any]:
    return {"hosts": "all", "gather_facts": False, "vars": variables, "roles": [f"zpower.sap_tuning.{role}"]}


def test_an_answer_with_facts_starts_no_program_and_writes_no_variables(tmp_path: Path) -> None:
    """The report runs once, with the variables of the first host."""
    stolen = {
        "report_results_command": [keeper(tmp_path)],
        "measure_results": str(tmp_path / "group_vars"),
        "measure_change": "all",
        "report_results": str(tmp_path / "group_vars"),
    }
    site = Site(tmp_path, {"app1": answer(ansible_facts=stolen), "app2": DRIFTED}, zpower_change="rps-1")
    (tmp_path / "results" / "rps-1").mkdir(parents=True)
    fine = {"hosts": "all", "tasks": [], "gather_facts": False}
    look = {**rolled("verify", zpower_drift="warn")}
    status, text = playing(site, fine, look, rolled("report"))
    assert status == 0, text
    assert not (tmp_path / "kept").exists() and not (tmp_path / "group_vars").exists()
    assert (tmp_path / "results" / "rps-1" / "report.html").exists(), text


@pytest.mark.gate
def test_a_fact_of_the_first_host_does_not_speak_for_the_others(tmp_path: Path) -> None:
    """As a setup that the host rewrites: app1 fails, and app2 goes on with the variables of the inventory."""
    facts = {"zpower_results": str(tmp_path / "stolen"), "__tune_names": [], "zpower_rollback": True}
    lying = json.dumps({**json.loads(COMPLIANT), "ansible_facts": facts})
    site = Site(tmp_path, {"app1": lying, "app2": COMPLIANT})
    plays = {"hosts": "all", "gather_facts": False, "tasks": [{"ansible.builtin.ping": {}}]}
    (tmp_path / "own.yml").write_text(json.dumps([plays, {"import_playbook": "zpower.sap_tuning.verify"}]))
    status, text = site.play("own.yml")
    assert status == 2 and "app1 has the fact __tune_names, zpower_results, zpower_rollback" in " ".join(text.split())
    assert not (tmp_path / "stolen").exists()
    outcomes = {host["host"]: host["outcome"] for host in site.evidence()["hosts"]}
    assert outcomes == {"app1": "failed", "app2": "ok"}


@pytest.mark.nightly
def test_a_host_does_not_waive_its_own_drift(tmp_path: Path) -> None:
    forged = {"waivers": [{**WAIVER, "hosts": "all"}], "groups": ["old"], "deferred": ["rps"], "throttle": 9}
    site = Site(tmp_path, {"app1": answer(**forged), "app2": answer(**forged)}, zpower_waivers=[WAIVER])
    status, text = site.play("zpower.sap_tuning.verify")
    assert status == 2, text
    rows = {host["host"]: [row["verdict"] for row in host["rows"]] for host in site.evidence()["hosts"]}
    assert rows == {"app1": ["drifted"], "app2": ["waived"]}, "only app2 is in the group of the waiver"


@pytest.mark.parametrize("module", ["rps", pytest.param("ansible.builtin.ping", marks=pytest.mark.nightly)])
def test_the_answer_of_another_module_is_not_evidence(tmp_path: Path, module: str) -> None:
    """Also of one with the name of a tuning, in the library of the play: no action has parsed it."""
    (row,) = json.loads(COMPLIANT)["tunings"]["rps"]["tuning"]
    forged = json.dumps({"changed": False, "ping": "pong", "tuning": [row], "errors": [], "waivers": [WAIVER]})
    site = Site(tmp_path, {"app1": forged})
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "rps.py").write_text("#!/usr/bin/python\n")
    status, text = playing(site, {"hosts": "all", "gather_facts": False, "tasks": [{module: {}}]})
    assert status == 0 and "TUNINGS" not in text, text


@pytest.mark.parametrize("failed", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_no_escape_sequence_reaches_the_terminal(tmp_path: Path, failed: bool) -> None:
    given = json.loads(DRIFTED)
    (row,) = given["tunings"]["rps"]["tuning"]
    row.update(reason=NASTY, before={"running": {NASTY: NASTY}})
    given["tunings"]["rps"].update(msg=NASTY, failed=failed, diff={"before": "a\n", "after": f"{NASTY}\n"})
    nasty = json.dumps({**given, "msg": NASTY, "failed": failed, "warnings": [NASTY], "skip_reason": NASTY})
    site = Site(tmp_path, {"app1": nasty})
    status, text = site.play("zpower.sap_tuning.verify", "--diff", "-vv" if failed else "-v")
    assert status == 2 and "[U+202E]moc" in text, text
    assert "\x1b" not in text and OVERRIDE not in text


@pytest.mark.gate
def test_a_single_module_brings_no_facts(tmp_path: Path) -> None:
    """meta/runtime.yml names the action that parses its answer."""
    lying = json.dumps({"changed": False, "tuning": [], "platform": {}, "ansible_facts": {"stolen": 1}, "stolen": 1})
    site = Site(tmp_path, {"app1": lying})
    tasks: list[Any] = []
    for name in PLAIN:
        honest = "stolen is not defined and result.stolen is not defined and result.ansible_facts.stolen is not defined"
        tasks += [{name: {}, "register": "result"}, {"ansible.builtin.assert": {"that": honest}}]
    play = {"hosts": "all", "gather_facts": False, "collections": ["zpower.sap_tuning"], "tasks": tasks}
    status, text = playing(site, play)
    assert status == 0 and text.count("All assertions passed") == len(PLAIN), text
