# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence of 0.9.0 with waivers, slices of a run, and a rollout whose controller was killed: read without a loss.

The playbook captures of 0.9.0 wrote the evidence, the action rollout of 0.9.0 the rollout; only paths are others.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from actions import run_action
from ansible.errors import AnsibleActionFail
from ansible_collections.zpower.sap_tuning.plugins.action import evidence_diff_info, evidence_unite, rollout
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import waivers
from rollout_play import Play

FILES = Path(__file__).resolve().parents[2] / "fixtures" / "evidence" / "version-0.9.0.json"
WRITTEN: dict[str, Any] = json.loads(FILES.read_text())
(SINGLE,) = [name for name in WRITTEN if name.endswith("/verify.json")]
SLICES = [document for name, document in WRITTEN.items() if "/slices/" in name]
(ROLLOUT,) = [name for name in WRITTEN if name.startswith("rollouts/")]


@pytest.fixture(name="results")
def fixture_results(tmp_path: Path) -> Path:
    for name, document in WRITTEN.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document))
    return tmp_path


def test_slices_become_one_run_with_every_row_and_every_waiver_and_are_compared(results: Path) -> None:
    found = run_action(evidence_unite, {"results": str(results), "kind": "verify", "run": "nightly"})
    assert (found["result"], found["problems"]) == ("drift", [])
    united = json.loads((results / "verify" / "run-nightly" / "verify.json").read_text())
    assert united["hosts"] == [host for document in SLICES for host in document["hosts"]]
    assert [(waiver["owner"], waiver["state"], waiver["rows"]) for waiver in united["waivers"]] == [
        ("Ada Byron", "applied", 1),
        ("Grace Hopper", "expired", 2),
        ("nobody", "unused", 0),
    ]
    single = SINGLE.split("/")[1]
    given = {"results": str(results), "kind": "verify", "from": single, "to": "latest"}
    found = run_action(evidence_diff_info, given)
    assert [Path(run["path"]).parent.name for run in found["runs"]] == [single, "run-nightly"]
    assert [host["host"] for host in found["hosts"]] == ["app1", "app2"] and found["notes"] == []
    assert "  running dispatching: vertical → horizontal (app2)" in found["lines"]
    assert "  verdict: unknown → waived (app2)" in found["lines"]


def test_waivers_still_accept_what_they_accepted() -> None:
    owners = set()
    for document in (WRITTEN[SINGLE], *SLICES):
        given = [{key: waiver[key] for key in waivers.KEYS} for waiver in document["waivers"]]
        read, mistakes = waivers.parse(given)
        assert mistakes == []
        assert [(one.owner, one.until.isoformat(), list(one.hosts)) for one in read] == [
            (waiver["owner"], waiver["until"], waiver["hosts"]) for waiver in given
        ]
        for host in document["hosts"]:
            for row in (row for row in host["rows"] if "waiver" in row):
                (fits,) = [one for one in read if one.fits(row) and one.fits_host(host["host"], ())]
                assert (fits.owner, fits.reason) == (row["waiver"]["owner"], row["waiver"]["reason"])
                owners.add(fits.owner)
    assert owners == {"Ada Byron", "Grace Hopper"}


def test_a_rollout_goes_on_with_the_same_version_and_keeps_what_it_knew(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rollout, "collection_version", lambda _name: "0.9.0")
    old = WRITTEN[ROLLOUT]
    play = Play(results)
    assert play.plan()["order"] == ["app2", "app3", "app4"]
    assert play.kept["runs"][:1] == old["runs"] and play.kept["batches"] == old["batches"]
    assert play.begin("app2", "app3")["again"]
    assert play.values(2) == {"app2": "unknown", "app3": "unknown"} and play.batch(1) == old["batches"][0]


def test_another_version_refuses_the_rollout_and_leaves_its_file(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rollout, "collection_version", lambda _name: "1.0.0")
    before = (results / ROLLOUT).read_bytes()
    with pytest.raises(AnsibleActionFail) as caught:
        Play(results).plan()
    assert str(caught.value).startswith("Rollout rps-2026-11 was begun with another plan: ")
    assert "0.9.0" in str(caught.value) and "1.0.0" in str(caught.value)
    assert (results / ROLLOUT).read_bytes() == before
