# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of 0.9.0: evidence is read without a loss, and what was killed or has not ended is continued.

The playbook captures of 0.9.0 wrote the evidence, the action rollout of 0.9.0 the rollout; only paths are others.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from actions import run_action
from ansible.errors import AnsibleActionFail
from ansible_collections.zpower.sap_tuning.plugins.action import (
    calibrate,
    evidence_diff_info,
    evidence_unite,
    experiment,
    rollout,
)
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import waivers, waiving
from experiments import HOSTS, RPS
from places import FIXTURES
from rollout_play import Play

FILES = [FIXTURES / kind / "version-0.9.0.json" for kind in ("evidence", "sessions")]
WRITTEN: dict[str, Any] = {name: document for path in FILES for name, document in json.loads(path.read_text()).items()}
(SINGLE,) = [name for name in WRITTEN if name.endswith("/verify.json")]
SLICES = [document for name, document in WRITTEN.items() if "/slices/" in name]
FACTOR = {**RPS, "levels": RPS["levels"][:2]}
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
        assert [{key: one[key] for key in waivers.KEYS} for one in read] == given
        for host in document["hosts"]:
            rows = [{**row, "verdict": row["waiver"]["verdict"]} for row in host["rows"] if "waiver" in row]
            judged, _uses, _demanded = waiving.judge(rows, read, [host["host"]], ())
            for row, one in zip(rows, judged, strict=True):
                assert all(one["waiver"][key] == row["waiver"][key] for key in ("owner", "reason", "until"))
                owners.add(one["waiver"]["owner"])
    assert owners == {"Ada Byron", "Grace Hopper"}


def test_the_same_version_goes_on_with_a_rollout_as_it_was(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollout, "collection_version", lambda _name: "0.9.0")
    old = WRITTEN[ROLLOUT]
    play = Play(results)
    assert play.plan()["order"] == ["app2", "app3", "app4"]
    assert play.kept["runs"][:1] == old["runs"] and play.kept["batches"] == old["batches"]
    assert play.begin("app2", "app3")["stages"][0]["call"] == {"zpower_rollback": True}
    assert play.values(2) == {"app2": "unknown", "app3": "unknown"} and play.batch(1) == old["batches"][0]


def test_another_version_refuses_a_rollout_and_leaves_its_file(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollout, "collection_version", lambda _name: "1.0.0")
    before = (results / ROLLOUT).read_bytes()
    with pytest.raises(AnsibleActionFail) as caught:
        Play(results).plan()
    assert str(caught.value).startswith("Rollout rps-2026-11 was begun with another plan: ")
    assert "0.9.0" in str(caught.value) and "1.0.0" in str(caught.value)
    assert (results / ROLLOUT).read_bytes() == before


def test_a_killed_experiment_is_resumed_and_ended(results: Path) -> None:
    """It was killed in the second step, which app1 had finished and app2 had not."""
    play = {"ansible_play_batch": [*HOSTS], "hostvars": {host: {} for host in HOSTS}}
    given: dict[str, Any] = {"change": "rps-levels", "results": str(results), "factors": [FACTOR]}
    found = run_action(experiment, {**given, "rounds": 6, "max_rounds": 8}, variables=play)
    assert found["resumed"] and found["msg"] == "1 of at most 16 steps are done"
    assert [(step["label"], step["hosts"]) for step in found["steps"][:2]] == [
        ("all 2", ["app2"]),
        ("off 1", ["app1", "app2"]),
    ]
    assert [(part["rounds"], part["end"]) for part in found["parts"]] == [(6, 11), (8, 15)]
    assert len(list((results / "rps-levels").glob("unfinished-2-app2-*"))) == 2
    run_action(experiment, {**given, "event": "ended"}, variables=play)
    first, second = json.loads((results / "rps-levels" / "experiment.json").read_text())["sessions"]
    assert (first["ended"], second["set_aside"], second["failures"]) == (None, 2, {})
    assert second["ended"] is not None


def test_a_change_of_two_states_is_continued(results: Path) -> None:
    common = {"measures": True, "rounds": 6, "most": 16, "minutes": 0.0, "runs": 5, "calibration": "none"}
    peers = {"app1": ["app2"], "app2": ["app1"]}
    hosts: dict[str, Any] = {
        host: {"__measure_ready": {**common, "peers": peers[host], "workloads": [{"name": "niping"}]}} for host in HOSTS
    }
    given = {"event": "begun", "change": "rps-2026-11", "results": str(results), "continue": True}
    play = {"ansible_play_batch": [*HOSTS], "hostvars": hosts}
    found = run_action(experiment, given, variables=play, role="before_after")
    assert (found["session"], found["done"], found["last"], found["most"]) == (2, 1, 1, 16)


def test_a_calibration_is_continued(results: Path) -> None:
    found = run_action(calibrate, {"event": "planned", "results": str(results), "rounds": 8})
    assert (found["first_round"], found["session"]) == (3, 2)
