# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence of real runs of the playbooks. The Python of a host is a script that prints the result of a module."""

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
