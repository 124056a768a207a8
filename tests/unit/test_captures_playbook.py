# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A folder of captures is checked like a site: by an ordinary play, with the same evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import captured
import captures
import playing
import pytest

VERTICAL, HORIZONTAL = (f"lpar-linux-6.12-{mode}" for mode in ("vertical", "horizontal"))
INVENTORY = {
    "all": {
        "vars": {
            "zpower_tunings": ["cpu_polarization"],
            "cpu_polarization_mode": "vertical",
            "zpower_confirm_within": "10m",
        },
        "hosts": {"app2.example.com": {"cpu_polarization_mode": "horizontal"}, "real": {}},
    }
}
ENCRYPTED = "secured-sosreport-app5-2026-11-28-abcdefg.tar.xz.gpg"
BROKEN = "sosreport-app4-2026-11-20-abcdefg.tar.xz"


class Run:
    def __init__(self, folder: Path, *options: str) -> None:
        done = playing.ansible_playbook(
            "-i", "hosts.json", "zpower.sap_tuning.captures", "-e", json.dumps(playing.LOCAL), *options, cwd=folder
        )
        self.code, self.said = done.returncode, done.stdout + done.stderr
        files = sorted((folder / "results" / "verify").glob("*/verify.json"))
        self.evidence: dict[str, Any] = json.loads(files[-1].read_text()) if files else {}

    def row(self, host: str, subject: str) -> dict[str, Any]:
        (found,) = [one for one in self.evidence["hosts"] if one["host"] == host]
        (row,) = [row for row in found["rows"] if row["subject"] == subject]
        return dict(row)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("site")
    (folder / "hosts.json").write_text(json.dumps(INVENTORY))
    there = folder / "captures"
    there.mkdir()
    vertical, horizontal = captured.entries(VERTICAL), captured.entries(HORIZONTAL)
    (there / "DBGINFO-2026-11-20-10-11-12-app1-0123AB.tgz").write_bytes(captures.dbginfo(vertical))
    (there / "app2.tar.xz").write_bytes(captures.plain(horizontal))
    (there / "app3").mkdir()
    captured.grow(there / "app3", horizontal)
    (there / BROKEN).write_bytes(b"no archive")
    (there / ENCRYPTED).write_bytes(b"\x8c\x0d\x04\x09\x03\x02" + b"\xa5" * 600)
    return folder


@pytest.fixture(scope="module")
def checked(site: Path) -> Run:
    return Run(site, "-e", "zpower_captures=captures")


def test_every_capture_is_a_host_of_the_evidence_and_hosts_without_one_fail(checked: Run) -> None:
    hosts = {host["host"]: host["outcome"] for host in checked.evidence["hosts"]}
    failed = dict.fromkeys(("app4", "app5", "real"), "failed")
    assert hosts == {"app1": "ok", "app2.example.com": "ok", "app3": "ok"} | failed, checked.said
    assert checked.code == 2 and checked.evidence["result"] == "error"


def test_a_host_of_the_inventory_has_its_own_wish(checked: Run) -> None:
    assert checked.row("app2.example.com", "dispatching")["wanted"]["mode"] == "horizontal"
    assert checked.row("app2.example.com", "dispatching")["verdict"] == "unknown"
    assert checked.row("app3", "dispatching")["verdict"] == "drifted"


def test_a_row_describes_the_capture(checked: Run) -> None:
    row = checked.row("app1", "capture")
    assert row["reason"] == "dbginfo of prdapp1, taken 2026-11-20T10:11:12" and row["verdict"] == "compliant"


def test_a_capture_that_cannot_be_read_is_reported(checked: Run) -> None:
    assert f"{BROKEN} is not an archive" in checked.said and f"{ENCRYPTED} is encrypted" in checked.said
    assert "captures/*real*: No such file" in checked.said
    assert "Traceback" not in checked.said


def test_without_drift_and_errors_the_result_is_unknown_and_nothing_fails(site: Path) -> None:
    run = Run(site, "-e", "zpower_captures=captures/app2.tar.xz")
    assert (run.code, run.evidence["result"]) == (0, "unknown"), run.said
    assert run.evidence["headline"].startswith("1 host is compliant as far as could be seen. Of 3 rows, 1 unknown.")


@pytest.mark.gate
def test_a_capture_can_only_be_checked(site: Path) -> None:
    run = Run(site, "-e", "zpower_captures=captures/app3", "-e", "zpower_rollback=true")
    assert run.code != 0 and "which can only be checked" in " ".join(run.said.split()), run.said


@pytest.mark.gate
@pytest.mark.parametrize(
    ("name", "said"), [("zpower_captures", "the name of a group"), ("a\x1b[31mb", "letters"), ("app3", "real is not")]
)
def test_the_name_of_a_capture_hides_no_host(site: Path, tmp_path: Path, name: str, said: str) -> None:
    inventory = {**INVENTORY, "zpower_captures": {"hosts": {"real": {}}} if name == "app3" else {}}
    (tmp_path / "hosts.json").write_text(json.dumps(inventory))
    (tmp_path / "captures").symlink_to(site / "captures")
    (tmp_path / f"{name}.tgz").write_bytes((site / "captures" / "app2.tar.xz").read_bytes())
    run = Run(tmp_path, "-e", f"zpower_captures=captures,{tmp_path}")
    assert run.code == 2 and said in " ".join(run.said.split()) and "\x1b" not in run.said, run.said
    assert not run.evidence
