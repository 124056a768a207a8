# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which captures a folder has, and of which hosts they are, by their names."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.capture_files import chosen

KNOWN = ["app1.example.com", "app2", "sap-db"]
TWINS = ["twin.example.com", "twin.example.net", "bare", "bare.example.net"]


def named(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).write_bytes(b"")
    return folder


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("DBGINFO-2026-11-20-10-00-00-app1.tgz", "app1.example.com"),
        ("DBGINFO-2026-11-20-10-00-00-app2-0A1B2C.tgz", "app2"),
        ("DBGINFO-2026-11-20-10-00-00-sap-db-0A1B2C.tgz", "sap-db"),
        ("DBGINFO-2026-11-20-10-00-00-elsewhere.tgz", "elsewhere"),
        ("DBGINFO-2026-11-20-10-00-00-elsewhere-0A1B2C.tgz", "elsewhere"),
        ("sosreport-app1-2026-11-20-abcdefg.tar.xz", "app1.example.com"),
        ("sosreport-app2-slow-batch-0815-2026-11-20-abcdefg.tar.xz", "app2"),
        ("sosreport-host0-2026-11-20-abcdefg-obfuscated.tar.xz", "host0"),
        ("sosreport-app2.0815-20261120100000.tar.xz", "app2"),
        ("scc_app1_261120_1000_0b1c.txz", "app1.example.com"),
        ("nts_SR123_app2_190101_1000.tbz", "app2"),
        ("secured-sosreport-app2-2026-11-28-abcdefg.tar.xz.gpg", "app2"),
        ("scc_app1_261120_1000_0b1c.txz.pgp", "app1.example.com"),
        ("tree-of-somebody.tar", "tree-of-somebody"),
        ("APP2.tgz", "app2"),
        ("twin.example.net.tgz", "twin.example.net"),
        ("sosreport-twin.example.com-0815-2026-11-20-abcdefg.tar.xz", "twin.example.com"),
        ("bare.tgz", "bare"),
        ("app2-of-yesterday.tgz", "app2"),
        # only sos puts something behind the host
        ("DBGINFO-2026-11-20-10-00-00-app2-db-0A1B2C.tgz", "app2-db"),
        ("scc_app2-db_261120_1000_0b1c.txz", "app2-db"),
    ],
)
def test_the_host_of_a_capture(tmp_path: Path, name: str, host: str) -> None:
    found, left_out = chosen([str(named(tmp_path, name))], KNOWN + TWINS)
    assert {capture.host: capture.path.name for capture in found.values()} == {host: name}
    assert left_out == []


def test_everything_in_a_folder_has_a_host_and_a_capture_itself_may_be_named(tmp_path: Path) -> None:
    sos = "sosreport-app1-2026-11-20-abcdefg.tar.xz"
    named(tmp_path, "app1.tgz", "app1.tgz.md5", sos, sos + ".sha256", f"secured-{sos}.gpg", ".directory")
    for folder in ("app2/sys", "report/basic-environment.txt"):
        (tmp_path / folder).mkdir(parents=True)
    found, _left_out = chosen([str(tmp_path)], KNOWN)
    assert sorted(found) == ["app1.example.com", "app2", "report"]
    # what was not opened never stands for a capture of the host that was, and none is lost
    secured = ["secured-sosreport-app1-2026-11-28-abcdefg.tar.xz.gpg", "secured-scc_sap-db_261128_1000.txz.pgp"]
    named(tmp_path, "app1.txt", "notes.txt", *secured)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "notes.txt").touch()
    found, _left_out = chosen([str(tmp_path), str(tmp_path / "empty")], KNOWN, expected=[*KNOWN, "app9"])
    told = {host: one.path.name for host, one in found.items()}
    others = {"app1.txt", "notes.txt", "empty", secured[0]}
    assert told == {name: name for name in others} | {
        "app1.example.com": sos, "app2": "app2", "report": "report", "sap-db": secured[1], "app9": "*app9*",
        "notes.txt.2": "notes.txt",
    }  # fmt: skip
    found, _left_out = chosen([str(tmp_path / "app2"), str(tmp_path / "app1.tgz")], KNOWN, expected=KNOWN)
    assert sorted(found) == ["app1.example.com", "app2"]
    # one that is named twice is one
    found, left_out = chosen([str(tmp_path / "app2"), str(tmp_path / "app2")], KNOWN)
    assert len(found) == 1 and left_out == []


def test_the_newest_of_several_counts_and_the_others_are_named(tmp_path: Path) -> None:
    names = [f"DBGINFO-2026-11-{day}-10-00-00-app2.tgz" for day in ("09", "20", "10")]
    found, left_out = chosen([str(named(tmp_path, *names))], KNOWN)
    assert found["app2"].path.name == names[1]
    assert left_out == [f"app2: {names[1]} is its newest capture; left out: {names[0]}, {names[2]}"]


@pytest.mark.parametrize(
    "newest",
    [
        "DBGINFO-2026-11-25-10-00-00-app2.tgz",
        "sosreport-app2-2026-11-25-abcdefg.tar.xz",
        "scc_app2_261125_1000_0b1c.txz",
    ],
)
def test_the_newest_is_known_by_its_day_not_by_its_name(tmp_path: Path, newest: str) -> None:
    others = [
        *("DBGINFO-2026-11-20-10-00-00-app2.tgz", "sosreport-app2-2026-11-21-abcdefg.tar.xz"),
        *("nts_app2_191231_2359.txz", "scc_app2_261122_1000_0b1c.txz", "app2.tgz"),
    ]
    found, left_out = chosen([str(named(tmp_path, newest, *others))], KNOWN)
    assert found["app2"].path.name == newest
    assert len(left_out) == 1 and all(name in left_out[0].partition("left out")[2] for name in others)


@pytest.mark.parametrize(("place", "said"), [("", "name a capture"), ("nowhere", "there is no"), (".", "no capture")])
def test_what_is_not_a_capture_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=said):
        chosen([place], KNOWN)


def test_a_short_name_of_two_hosts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"can be of twin.example.com or twin.example.net; put the whole name"):
        chosen([str(named(tmp_path, "sosreport-twin-2026-11-20-abcdefg.tar.xz"))], TWINS)


@pytest.mark.parametrize("name", ["zpower_captures", "web", "all", "a\x1b[31m", "{{ 1 }}", "-x", "\u202eb", "a b"])
def test_a_name_that_is_not_valid_for_a_host_is_refused(tmp_path: Path, name: str) -> None:
    for shape in ("{}.tgz", "sosreport-{}-2026-11-20-abcdefg.tar.xz"):
        with pytest.raises(ValueError, match=r"zpower_captures: .*(group|letters)") as told:
            chosen([str(named(tmp_path, shape.format(name)) / shape.format(name))], KNOWN, ["web"])
        assert str(told.value).isprintable()
    found, _left_out = chosen([str(named(tmp_path, "x y.tgz") / "x y.tgz")], ["x y"])
    assert [*found] == ["x y"], "the inventory knows this host"
