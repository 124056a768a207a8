# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role before_after: what it refuses before it changes a host, and how it leaves a host that it did not measure.

The tuning is the real one, on a tree of files in place of /sys; the measurement is a real one over loopback.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kernel import KernelHost
from linked_collection import linked_collection
from playing import CHECKOUT, LOCAL, play, unreachable
from records_factory import Plan, make_change, write_change

QUICK = {
    "measure_tool": "pingpong",
    "measure_rounds": 1,
    "measure_runs": 1,
    "measure_warmup": 0,
    "measure_bytes": [1000],
    "measure_run_seconds": 0.05,
    "measure_idle_seconds": 0,
    "measure_control": False,
}
ON_TREE = """\
    from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import entry_point
    from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host
    from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings import _unused

    entry_point.Host = _unused.Host = lambda: Host(module._remote_tmp + "/../tree")
"""


class Site:
    """Hosts on this machine, each with a tree that the tuning rps works on, and the collection for them.

    Unless told otherwise, those measure against ``peer``, which is not a host of the play.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results = folder / "results"
        call = "    idle = unused("
        text = (CHECKOUT / "plugins/modules/tunings.py").read_text(encoding="utf-8")
        assert call in text
        self.collections = linked_collection(folder, "tunings", text.replace(call, ON_TREE + call))
        self.variables = {"zpower_change": "c1", "zpower_tunings": ["rps"], "rps_interfaces": ["hsi0"], **QUICK}
        self.variables |= {"zpower_results": str(self.results)}
        self.hosts: dict[str, dict[str, Any]] = {"unreachable": unreachable(folder)}
        self.add("peer")
        for name in ("app1", "app2"):
            self.add(name, measure_peer="peer")

    def add(self, name: str, **variables: Any) -> None:
        tree = self.folder / name / "tree"
        if not tree.exists():
            tree.mkdir(parents=True)
            KernelHost(tree).interface("hsi0", queues=2)
        local: dict[str, Any] = {**LOCAL, "ansible_become": False}
        local |= {"ansible_remote_tmp": str(self.folder / name / "tmp"), "ansible_host": "127.0.0.1"}
        self.hosts[name] = {**local, **variables}

    def play(self, playbook: str, *arguments: str, limit: str = "app1,app2", **variables: Any) -> tuple[bool, str]:
        settings = {"ANSIBLE_COLLECTIONS_PATH": str(self.collections), "COLUMNS": "1000"}
        given = {**self.variables, **variables}
        code, text = play(self.folder, self.hosts, playbook, "-l", limit, *arguments, variables=given, **settings)
        return code == 0, text

    def tree(self, name: str = "app1") -> dict[str, Any]:
        """Return the files of a host except locks; of the journals their content, without its time."""
        root = self.folder / name / "tree"
        found: dict[str, Any] = {}
        for path in root.rglob("*"):
            if path.suffix == ".json":
                knobs = json.loads(path.read_text())["knobs"]
                found[str(path)] = {key: {**knobs[key], "since": None} for key in knobs}
            elif path.is_file() and path.suffix != ".lock":
                found[str(path)] = path.read_text()
        return found

    def masks(self, name: str = "app1") -> list[int]:
        queues = self.folder / name / "tree" / "sys/class/net/hsi0/queues"
        return [int(path.read_text(), 16) for path in sorted(queues.glob("*/rps_cpus"))]

    def keep_away(self, name: str, step: str) -> None:
        """Make it impossible to store a record of this step: a folder is in its place."""
        (self.results / "c1" / name / f"{step}-pingpong-1000B-peer.json").mkdir(parents=True)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


ALL, NONE = [15, 15], [0, 0]
EXPERIMENT = {
    "experiment_factors": [
        {"name": "rps", "levels": [{"name": str(every), "vars": {"rps_every": every}} for every in (1, 2)]}
    ]
}
# variables of a host, and the message
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "nameless": ({"zpower_change": ""}, "zpower_change is empty: name the change"),
    "unknown": ({"measure_peer": "app9"}, "measure_peer is app9; it must be the inventory name of another host"),
    "again": ({}, "name another change"),
    "nowhere": ({"zpower_results": "/dev/null"}, "/dev/null is not a directory"),
}


@pytest.mark.parametrize("playbook", ["before_after", "experiment"])
def test_mistakes_are_found_before_a_host_is_touched(site: Site, playbook: str) -> None:
    for name, (variables, _sentence) in REFUSED.items():
        site.add(name, **{"measure_peer": "peer", **site.variables, **EXPERIMENT, **variables})
    # records are never overwritten
    site.hosts["again"]["zpower_results"] = str(site.folder / "earlier")
    write_change(site.folder / "earlier", make_change(Plan(change="c1", hosts=("again", "peer"), rounds=1)))
    site.variables = {}
    found = {name: site.tree(name) for name in REFUSED}
    passed, text = site.play(playbook, limit=",".join(REFUSED))
    assert not passed
    lines = text.splitlines()
    for name, (_variables, sentence) in REFUSED.items():
        assert [line for line in lines if f"[{name}]" in line and sentence in line], (name, text)
    assert "TASK [zpower.sap_tuning.tune" not in text
    assert {name: site.tree(name) for name in REFUSED} == found
    assert not site.results.exists()


@pytest.mark.gate
def test_without_a_measurement_a_host_is_left_as_it_was_found(site: Site) -> None:
    names = ("app1", "app2", "app3", "app4")
    for name in names:
        site.add(name, before_after_final="tuned" if name in names[:2] else "restored")
    passed, text = site.play("site", limit="app2,app4")
    assert passed, text
    found = [site.tree(name) for name in names]
    assert [site.masks(name) for name in names] == [NONE, ALL, NONE, ALL]
    passed, text = site.play("before_after", limit=",".join(names), measure_peer="unreachable")
    assert not passed
    for name in names:
        assert f"unreachable, the peer of {name}, cannot be reached" in text
        assert f"not both states were measured, so {name} was left as it was found" in text
    assert [site.tree(name) for name in names] == found


@pytest.mark.gate
def test_a_host_measured_in_both_states_is_left_in_its_final_one(site: Site) -> None:
    # the second round of the state after
    site.keep_away("app1", "after-2")
    passed, text = site.play("before_after", limit="app1", before_after_final="tuned", measure_rounds=2)
    assert not passed
    assert "left as it was found" not in text
    assert site.masks("app1") == ALL


@pytest.mark.gate
def test_values_that_belong_to_neither_state_are_kept(site: Site) -> None:
    assert site.play("site", rps_every=2)[0]
    found = site.tree("app1"), site.tree("app2")
    passed, text = site.play("before_after")
    assert not passed
    assert "rps of app1 has neither the values of the inventory nor those found first" in text
    assert (site.tree("app1"), site.tree("app2")) == found
    # in blocks they are the state before, and kept until both states are measured
    site.keep_away("app1", "after-1")
    passed, text = site.play("before_after", before_after_design="blocks")
    assert not passed
    for name in ("app1", "app2"):
        kept = json.loads((site.results / "c1" / name / "tunings-after-1.json").read_text())["tunings"]
        assert [record["verdict"] for record in kept] == ["changed"]
    assert site.tree("app1") == found[0]
    assert site.masks("app2") == ALL
    assert not [path for path in site.tree("app2") if "checkpoint" in path]
    # the first values are still known
    passed, text = site.play("rollback")
    assert passed, text
    assert (site.masks("app1"), site.masks("app2")) == (NONE, NONE)


@pytest.mark.gate
def test_each_round_of_an_experiment_reports_its_progress(site: Site) -> None:
    passed, text = site.play("experiment", limit="app1", experiment_rounds=2, **EXPERIMENT)
    assert passed, text
    lines = [line.split(",")[0].split(":")[0] for line in text.splitlines() if line.startswith("round ")]
    assert lines == [f"round {number} of 4" for number in (1, 2, 3, 4)], text
    passed, more = site.play("experiment", limit="app1", experiment_rounds=2, **EXPERIMENT)
    assert passed and "round 1 of" not in more


@pytest.mark.gate
def test_the_report_of_a_batch_of_a_rollout_is_about_its_hosts_alone(site: Site) -> None:
    done, text = site.play("rollout", rollout_change="r1", rollout_guard=True)
    assert done, text
    for batch in ("r1-batch-1", "r1-batch-2"):
        report = json.loads((site.results / batch / "report.json").read_text())
        assert report["hosts"] == {"measured": 1, "not_measured": 0}
        (step,) = report["next_steps"]
        assert "rollouts/r1/rollout.html says what the rollout did" in step
