# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slices of a run, united by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from actions import run_action
from ansible.errors import AnsibleActionFail
from ansible_collections.zpower.sap_tuning.plugins.action import evidence_unite as action
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import files, slices
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._pages.writing import write_formats
from evidence_samples import build, result, row, run
from playing import ansible_playbook


@pytest.fixture(name="folder")
def fixture_folder(tmp_path: Path) -> Path:
    """A run with two slices that were brought together."""
    for host in ("app1", "app2"):
        one = slices.new_slice(tmp_path / "results", "verify", "4711", "2026-11-20T10:00:00Z")
        document = build(run(), [host], {host: result("ok", "", [row()])})
        write_formats(files.FORMATS, (document,), (one.parent, one.stem), ["json"], check=False)
    return tmp_path / "results" / "verify" / "run-4711"


def unite(results: Path, check: bool = False, **options: Any) -> dict[str, Any]:
    return run_action(action, {"results": str(results), **options}, check)


def test_collected_files_are_united_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = folder.parents[1]
    assert unite(results, check=True, run="4711")["changed"]
    assert [path.name for path in folder.iterdir()] == ["slices"]
    united = unite(results, run=4711)
    assert (united["changed"], united["msg"]) == (True, "All 2 hosts are compliant.")
    assert files.read(folder / "verify.json")["totals"]["hosts"] == 2
    again = unite(results, run="4711")
    assert not again["changed"] and not again["failed"]
    capsys.readouterr()
    (late,) = (path for path in (folder / "slices").iterdir() if "app2" in path.read_text("utf-8"))
    late.rename(late.with_name("20261121T000000Z-late.json"))
    found = unite(results, run="4711")
    told = capsys.readouterr().out
    assert found["failed"] and "20261121T000000Z-late of an unknown controller" in found["msg"]
    assert [use["file"] in told for use in found["slices"]] == [False] * 2 and "begun 2026-11-20 10:00:00" in told


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"run": ""}, "run is empty; give the name of a run with slices"),
        ({"run": "5", "kind": "site"}, "site/run-5 has no slices"),
    ],
)
def test_what_cannot_be_united_is_reported(tmp_path: Path, options: dict[str, str], said: str) -> None:
    with pytest.raises(AnsibleActionFail, match=said):
        unite(tmp_path / "results", **options)
    assert not (tmp_path / "results").exists()


@pytest.mark.gate
def test_the_playbook(folder: Path) -> None:
    command = ["-v", "-i", "app1,", "zpower.sap_tuning.unite", "-e", '{"zpower_run": 4711}', "--limit", "app1"]
    done = ansible_playbook(*command, cwd=folder.parents[2])
    text = done.stdout + done.stderr
    assert done.returncode == 0 and "All 2 hosts are compliant." in text and "changed=1" in text, text
    assert (folder / "verify.json").exists()
