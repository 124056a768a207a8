# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence of playbooks that really run, also of hostile hosts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from sites import CHECKOUT, COMPLIANT, CRASHED, DRIFTED, SCHEMA, WAIVER, Site, keeper


def outcomes(found: dict[str, Any]) -> dict[str, str]:
    return {host["host"]: host["outcome"] for host in found["hosts"]}


def verdicts(found: dict[str, Any]) -> dict[str, list[str]]:
    return {host["host"]: [row["verdict"] for row in host["rows"]] for host in found["hosts"]}


@pytest.mark.parametrize(("drift", "code", "result"), [("fail", 2, "drift"), ("warn", 0, "drift")])
def test_drift_is_distinguished_from_errors(tmp_path: Path, drift: str, code: int, result: str) -> None:
    site = Site(tmp_path, {"app1": DRIFTED, "app2": DRIFTED, "app3": COMPLIANT}, zpower_waivers=[WAIVER])
    status, text = site.play("zpower.sap_tuning.verify", "-e", f"zpower_drift={drift}")
    assert status == code, text
    # a host that fails prints its sentences, not its rows
    assert text.count('"failing": ["hsi0 rx-0: drifted"]') == bool(code) and '"tuning"' not in text
    found = site.evidence()
    assert outcomes(found) == {"app1": "ok", "app2": "ok", "app3": "ok"}
    assert verdicts(found) == {"app1": ["drifted"], "app2": ["waived"], "app3": ["compliant"]}
    assert found["result"] == result and found["problems"] == []
    assert found["hosts"][0]["platform"] == {"system": "Linux"}
    *_others, totals, explained, path = text.rstrip().splitlines()
    assert totals == "3 hosts: 3 ok. 3 rows: 1 drifted, 1 waived, 1 compliant."
    page = Path(explained.removeprefix("Messages explained: "))
    assert page.is_absolute() and page.samefile(CHECKOUT / "docs" / "troubleshooting.md")
    assert (tmp_path / path.removeprefix("Evidence: ")).is_file()


def test_a_users_playbook_with_batches_and_imports(tmp_path: Path) -> None:
    hosts = {"app1": COMPLIANT, "app2": CRASHED, "app3": COMPLIANT}
    site = Site(tmp_path, hosts)
    imported = [
        {"ansible.builtin.import_playbook": "zpower.sap_tuning.verify", "vars": {"zpower_hosts": name}}
        for name in ("app1", "app3")
    ]
    rollout = {"hosts": "all", "gather_facts": False, "serial": 1, "vars": {"zpower_evidence": "site"}}
    rollout["roles"] = ["zpower.sap_tuning.tune"]
    (tmp_path / "play.yml").write_text(json.dumps([*imported, rollout]))
    # both copies of the callback are loaded
    site.environment["ANSIBLE_CALLBACKS_ENABLED"] = "zpower.sap_tuning.tunings"
    status, text = site.play("play.yml")
    assert status == 2, text
    assert outcomes(site.evidence("verify")) == {"app1": "ok", "app3": "ok"}
    assert outcomes(site.evidence("site")) == {"app1": "ok", "app2": "failed", "app3": "not_reached"}
    assert [line.split(" *")[0] for line in text.splitlines() if line.startswith("TUNINGS")] == [
        "TUNINGS (verify)",
        "TUNINGS (site)",
    ]


@pytest.mark.gate
def test_slices_at_the_same_time_are_one_run(tmp_path: Path) -> None:
    site = Site(
        tmp_path, {"app1": COMPLIANT, "app2": DRIFTED, "app3": COMPLIANT, "app4": COMPLIANT}, zpower_drift="warn"
    )
    run = ["zpower.sap_tuning.verify", "-e", "zpower_run={{ awx_workflow_job_id }}-7", "-e", "awx_workflow_job_id=4711"]
    started = [site.start(*run, "--limit", limit) for limit in ("app1,app2", "app3,app4")]
    assert [process.wait() for process in started] == [0, 0], [process.stderr for process in started]
    texts = [process.stdout for process in started]
    folder = tmp_path / "results" / "verify" / "run-4711-7"
    assert all(text.endswith("Evidence: results/verify/run-4711-7/verify.html\n") for text in texts)
    found = json.loads((folder / "verify.json").read_text("utf-8"))
    Draft202012Validator(SCHEMA).validate(found)
    assert verdicts(found) == {"app1": ["compliant"], "app2": ["drifted"], "app3": ["compliant"], "app4": ["compliant"]}
    assert found["result"] == "drift" and found["problems"] == []
    assert sorted(found["run"]["limit"].split(",")) == ["app1", "app2", "app3", "app4"]
    assert len(list((folder / "slices").iterdir())) == 2


@pytest.mark.gate
def test_a_forged_slice_hides_no_row_and_decides_the_exit_code(tmp_path: Path) -> None:
    site = Site(tmp_path, {"app1": COMPLIANT})
    folder = tmp_path / "results" / "verify" / "run-7" / "slices"
    folder.mkdir(parents=True)
    (folder / "20261120T100000Z-1.json").write_text('{"hosts":' + "[" * 900 + "]" * 900 + "}")
    status, text = site.play("zpower.sap_tuning.verify", "-v", "-e", "zpower_run=7")
    assert status == 2 and "nested too deeply" in text and "1 host: 1 ok. 1 row: 1 compliant." in text, text


def test_the_users_command_gets_the_folder_of_the_evidence_and_its_failure_is_a_warning(tmp_path: Path) -> None:
    given = ["{{ program }}", "a b"]
    site = Site(tmp_path, {"app1": COMPLIANT}, zpower_results_command=given, program=keeper(tmp_path, 3))
    status, text = site.play("zpower.sap_tuning.verify")
    said = " ".join(text.split())
    assert status == 0 and "failed with exit code 3: no space" in said and "zpower_results_command" in said
    (folder,) = (tmp_path / "results" / "verify").iterdir()
    assert (tmp_path / "kept").read_text("utf-8").splitlines() == ["a b", f"results/verify/{folder.name}"]


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
    assert status == 2 and "NO DATA: there is no measurement record of change rps-1 in results/rps-1" in text, text
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
