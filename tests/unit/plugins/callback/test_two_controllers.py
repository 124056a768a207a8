# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two ansible-playbook with one results folder, each with its own rollout of the same change."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import playing
import pytest
from sites import COMPLIANT, Site

COMMAND = ("zpower.sap_tuning.rollout", "-e", "rollout_change=chg1", "-e", "rollout_canaries=2")


class Controllers(Site):
    """Hosts note each call with its controller and the runs it names, and wait while the controller's file is there."""

    def script(self, name: str, output: str) -> Path:
        path = super().script(name, output)
        runs = """$(grep -o 'confirm_runs.*' "$1" | grep -o 'r[0-9a-f]\\{12\\}' | tr '\\n' ' ')"""
        noted = f'echo "$CONTROLLER {name} {runs}" >>"{self.folder}/calls"'
        path.write_text(path.read_text().replace("cat ", f'{noted}\nwhile [ -e "$WAIT" ]; do sleep 0.1; done\ncat ', 1))
        return path

    def on(self, controller: str, *arguments: str) -> playing.Started:
        self.environment |= {"CONTROLLER": controller, "WAIT": str(self.wait(controller))}
        return self.start(*COMMAND, *arguments)

    def wait(self, controller: str) -> Path:
        return self.folder / f"wait-{controller}"

    def calls(self, controller: str) -> list[str]:
        """The hosts that this controller has called."""
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line.split()[1] for line in lines if line.startswith(f"{controller} ")]

    def runs(self, controller: str) -> set[str]:
        """The runs that the calls of this controller name, for the values on probation."""
        lines = (self.folder / "calls").read_text().splitlines()
        return {" ".join(line.split()[2:]) for line in lines if line.startswith(f"{controller} ")}

    @property
    def path(self) -> Path:
        return self.folder / "results" / "rollouts" / "chg1" / "rollout.json"

    @property
    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.path.read_text())
        return found


def end(started: playing.Started) -> tuple[int, str]:
    return started.wait(), started.stdout + started.stderr


def until(started: playing.Started, calls: Any) -> None:
    while not calls():
        assert started.poll() is None, end(started)
        time.sleep(0.05)


@pytest.fixture(name="site")
def fixture_site(tmp_path: Path) -> Controllers:
    return Controllers(tmp_path, dict.fromkeys(("app1", "app2"), COMPLIANT))


@pytest.mark.gate
def test_the_first_controller_does_not_succeed_after_another_one_took_over(site: Controllers) -> None:
    site.wait("one").touch()
    first = site.on("one")
    until(first, lambda: len(site.calls("one")) == 2)  # the preflight of the canaries
    state = site.state
    run = state["runs"][-1]["id"]
    # it runs in a container with another name
    state["runs"][-1]["controller"]["host"] = "awx-1"
    site.path.write_text(json.dumps(state))

    status, said = end(site.on("two"))
    assert status == 2 and f"is running: its run {run} began at" in said and f"-e rollout_take_over={run}" in said
    assert site.calls("two") == [] and site.state == state
    status, said = end(site.on("two", "-e", f"rollout_take_over={run}"))
    assert status == 0 and site.state["result"] == "complete", said
    assert set(site.calls("two")) == {"app1", "app2"}
    assert (site.runs("one"), site.runs("two")) == ({run}, {f"{run} {site.state['runs'][-1]['id']}"})

    complete = site.path.read_bytes()
    site.wait("one").unlink()
    status, said = end(first)
    assert status == 2 and "no longer belongs to this run, which ends now: its last run r" in said, said
    assert "the end of the rollout cannot be noted: " in said
    assert sorted(site.calls("one")) == ["app1", "app2"], "it takes nothing back"
    assert site.path.read_bytes() == complete
    evidence = site.folder / "results" / "rollout"
    results = [json.loads((path / "rollout.json").read_text())["result"] for path in sorted(evidence.iterdir())]
    assert sorted(results) == ["compliant", "error"]
