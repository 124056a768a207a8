# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slices of a run, united by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import files, slices
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence.document import HostResult, build
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report.files import write_formats
from evidence_samples import row, run

CHECKOUT = Path(__file__).resolve().parents[4]


def playbook(folder: Path, *arguments: str) -> tuple[int, str]:
    program = os.path.join(os.path.dirname(sys.executable), "ansible-playbook")
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(CHECKOUT / ".cache" / "collections")}
    command = [program, "-v", "-i", "app1,", "zpower.sap_tuning.unite", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_files_that_were_brought_together_are_united(tmp_path: Path) -> None:
    for host in ("app1", "app2"):
        one = slices.new_slice(tmp_path / "results", "verify", "4711", "2026-11-20T10:00:00Z")
        document = build(run(), [host], {host: HostResult("ok", "", [row()])})
        pieces = {"json": lambda document=document: files.FORMATS["json"](document)}
        write_formats(pieces, one.path.parent, one.name, ["json"], check=False)
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
    assert code == 2 and "run is empty; the name of a run, as in zpower_run, belongs there" in text
    code, text = playbook(tmp_path, "-e", "zpower_run=5 zpower_kind=site")
    assert code == 2 and "results/site/run-5 has no slices" in text
    assert not (tmp_path / "results").exists()
