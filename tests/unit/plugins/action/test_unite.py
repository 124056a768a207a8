# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slices of a run, united by hand."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import files, slices
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence.document import HostResult, build
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._pages.writing import write_formats
from evidence_samples import row, run
from playing import ansible_playbook


def playbook(folder: Path, *arguments: str) -> tuple[int, str]:
    command = ["-v", "-i", "app1,", "zpower.sap_tuning.unite", *arguments]
    done = ansible_playbook(*command, cwd=folder)
    return done.returncode, done.stdout + done.stderr


def test_files_that_were_brought_together_are_united(tmp_path: Path) -> None:
    for host in ("app1", "app2"):
        one = slices.new_slice(tmp_path / "results", "verify", "4711", "2026-11-20T10:00:00Z")
        document = build(run(), [host], {host: HostResult("ok", "", [row()])})
        write_formats(files.FORMATS, (document,), (one.path.parent, one.name), ["json"], check=False)
    folder = tmp_path / "results" / "verify" / "run-4711"
    code, text = playbook(tmp_path, "-e", "zpower_run=4711", "--check")
    assert code == 0 and "changed=1" in text, text
    assert [path.name for path in folder.iterdir()] == ["slices"]
    code, text = playbook(tmp_path, "-e", "zpower_run=4711")
    assert code == 0 and "All 2 hosts are compliant." in text and "changed=1" in text, text
    assert files.read(folder / "verify.json")["totals"]["hosts"] == 2
    code, text = playbook(tmp_path, "-e", '{"zpower_run": 4711}', "--limit", "app1")
    assert code == 0 and "changed=0" in text, text


def test_what_cannot_be_united_is_told(tmp_path: Path) -> None:
    code, text = playbook(tmp_path)
    assert code == 2 and "zpower_run is empty; the name of a run with slices belongs there" in text
    code, text = playbook(tmp_path, "-e", "zpower_run=5 zpower_kind=site")
    assert code == 2 and "results/site/run-5 has no slices" in text
    assert not (tmp_path / "results").exists()
