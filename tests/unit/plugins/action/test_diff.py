# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs between two runs, and slices of one run that are united."""

from __future__ import annotations

import datetime
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from actions import run_action
from ansible.errors import AnsibleActionFail
from ansible_collections.zpower.sap_tuning.plugins.action import evidence_diff_info, evidence_unite
from ansible_collections.zpower.sap_tuning.plugins.modules.evidence_diff_info import RETURN
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import choosing, files, slices
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._pages.writing import write_formats
from evidence_samples import build, platform, result, row, run
from playing import ansible_playbook

TODAY = datetime.datetime(2026, 11, 20, 18, 0, tzinfo=datetime.timezone.utc)  # a Friday
RUNS = ("2026-11-15T22:00:00Z", "2026-11-16T10:00:00Z", "2026-11-18T10:00:00Z", "2026-11-20T10:00:00Z")


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Clock:
        return cls.fromtimestamp(TODAY.timestamp(), tz)


def write(results: Path, begun: str, mtu: int = 1500, kind: str = "verify", ended: bool = True) -> Path:
    """A run with two hosts; app1 has ``mtu``."""
    facts = {"app1": platform(mtu=mtu), "app2": platform(mtu=9000)}
    hosts = {name: result("ok", "", [row()], fact) for name, fact in facts.items()} if ended else {}
    document = build(run(kind, begun=begun, ended=begun if ended else None), facts, hosts)
    folder = files.new_folder(results, kind, begun)
    files.write(document, folder, ["json"])
    return folder / f"{kind}.json"


@pytest.fixture(name="results")
def fixture_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four runs, each with an mtu of its own."""
    monkeypatch.setattr(evidence_diff_info, "datetime", Clock)
    for number, begun in enumerate(RUNS):
        write(tmp_path, begun, 1500 + number)
    return tmp_path


def diff(results: Path, **options: Any) -> dict[str, Any]:
    return run_action(evidence_diff_info, {"results": str(results), **options})


def mtus(result: dict[str, Any]) -> tuple[int, int]:
    """The mtu of app1 in both runs."""
    [change] = result["hosts"][0]["changes"]
    return change["before"] - 1500, change["after"] - 1500


def refused(results: Path, **options: Any) -> str:
    with pytest.raises(AnsibleActionFail) as caught:
        diff(results, **options)
    message = str(caught.value)
    assert message.isprintable()
    return message.replace(str(results), "results")


def test_the_last_run_against_the_one_before_it(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = diff(results)
    assert result["lines"] == [
        "verify of 2026-11-18 10:00:00 UTC → verify of 2026-11-20 10:00:00 UTC",
        "interface hsi0",
        "  mtu: 1502 → 1503 (app1)",
        "1 host with differences, 1 without",
    ]
    assert capsys.readouterr().out.splitlines() == result["lines"]
    assert (result["changed"], result["differs"], result["msg"]) == (False, True, result["lines"][-1])
    assert (result["same"], result["unknown"], result["only_before"], result["only_after"]) == (1, [], [], [])
    assert [os.path.relpath(entry["path"], results) for entry in result["runs"]] == [
        "verify/20261118T100000Z/verify.json",
        "verify/20261120T100000Z/verify.json",
    ]
    assert result["runs"][1]["begun"] == RUNS[3]
    json.dumps(result)
    assert set(result) - {"changed", "msg"} == set(yaml.safe_load(RETURN))


@pytest.mark.parametrize(
    "start, end, pair",
    [
        ("monday", None, (1, 3)),
        ("sunday", "monday", (0, 1)),
        ("2026-11-16", None, (1, 3)),
        (datetime.date(2026, 11, 16), datetime.date(2026, 11, 19), (1, 2)),
        ("20261116T100000Z", "20261118T100000Z", (1, 2)),
        (20261115, 20261118, (0, 2)),
        ("previous", "previous", (1, 2)),
        ("latest", "20261115T220000Z", (3, 0)),
    ],
)
def test_which_runs_are_meant(results: Path, start: Any, end: Any, pair: tuple[int, int]) -> None:
    given = {key: value for key, value in (("from", start), ("to", end)) if value is not None}
    assert mtus(diff(results, **given)) == pair


def test_a_weekday_never_means_today(results: Path) -> None:
    """On a Friday, "since Friday" means a week ago."""
    message = refused(results, **{"from": "friday"})
    assert message.startswith(
        "from is 'friday', which fits no finished run; the newest runs in results/verify are 2026"
    )
    write(results, "2026-11-13T10:00:00Z", 1599)
    assert mtus(diff(results, **{"from": "friday"})) == (99, 3)


def test_paths_of_folders_and_files(results: Path, tmp_path: Path) -> None:
    first = write(tmp_path / "elsewhere", RUNS[0], 1600)
    assert mtus(diff(results, **{"from": str(first), "to": str(first.parents[3] / "verify" / "20261116T100000Z")})) == (
        100,
        1,
    )
    renamed = first.parent.rename(tmp_path / "monday of last week")
    assert mtus(diff(results, **{"from": str(renamed)})) == (100, 3)
    moved = write(tmp_path / "elsewhere", RUNS[2], 1600).rename(tmp_path / "kept.json")
    assert mtus(diff(results, to=str(moved))) == (1, 100)


def test_a_site_beside_a_verify(results: Path) -> None:
    site = write(results, "2026-11-19T10:00:00Z", kind="site")
    lines = diff(results, **{"from": "20261118", "to": str(site.parent)})["lines"]
    assert lines[0] == "verify of 2026-11-18 10:00:00 UTC → site of 2026-11-19 10:00:00 UTC"
    write(results, "2026-11-19T10:00:00Z", 1501, kind="site")  # the same second
    result = diff(results, kind="site")
    assert [Path(entry["path"]).parent.name for entry in result["runs"]] == ["20261119T100000Z", "20261119T100000Z-2"]


def test_unfinished_runs_are_left_out_and_reported(results: Path) -> None:
    write(results, "2026-11-20T11:00:00Z", ended=False)
    (results / "verify" / "20261120T120000Z").mkdir()
    result = diff(results)
    assert mtus(result) == (2, 3)
    assert result["notes"] == ["left out, because it did not end: 20261120T120000Z, 20261120T110000Z"]
    assert refused(results, to="20261120T12").startswith(
        "to is '20261120T12', which fits no finished run; left out, because it did not end: 20261120T120000Z; "
    )
    message = refused(results, to="20261120T110000Z")
    assert message == "the run of results/verify/20261120T110000Z/verify.json did not end, so its values are not known"


def test_two_hosts_of_a_run(results: Path) -> None:
    result = diff(results, host="app1", other_host="app2")
    assert result["lines"] == [
        "app1 → app2 in verify of 2026-11-20 10:00:00 UTC",
        "interface hsi0",
        "  mtu: 1503 → 9000",
        "1 difference",
    ]
    assert diff(results, host="app1", other_host="app2", to="monday")["lines"][2] == "  mtu: 1501 → 9000"
    assert len(result["runs"]) == 1
    # one host of two runs
    assert [diff(results, host=name)["differs"] for name in ("app1", "app2")] == [True, False]


NEWEST = "the newest runs in results/verify are 20261115T220000Z, 20261116T100000Z, 20261118T100000Z, 20261120T100000Z"


@pytest.mark.parametrize(
    "options, message",
    [
        ({"from": "mondy"}, f"from is 'mondy', which is neither a run nor a path; {choosing.RIGHT}; {NEWEST}"),
        ({"from": "2026-11-01"}, f"from is '2026-11-01', which fits no finished run; {NEWEST}"),
        ({"to": "2026-11-31"}, "to is 2026-11-31, which is not a day; it must be a day such as 2026-11-16"),
        ({"to": "20261115"}, f"zpower_from is 'previous', which fits no finished run; {NEWEST}"),
        (
            {"from": "latest"},
            "from (latest) and to (latest) are the same run, results/verify/20261120T100000Z/verify.json, so there is"
            f" nothing to compare; {NEWEST}",
        ),
        ({"host": "app9"}, "neither run has a host app9; known: app1, app2"),
        (
            {"other_host": "app2"},
            "zpower_host is empty; with a second host, give the first of two hosts of one run",
        ),
        (
            {"host": "app1", "other_host": "app2", "from": "monday"},
            "from is 'monday'; two hosts are compared in one run, so leave it out",
        ),
        (
            {"kind": "site"},
            "results/site holds no run; ansible-playbook zpower.sap_tuning.site writes one. If the runs are elsewhere,"
            " name their results folder",
        ),
    ],
)
def test_what_is_wrong_and_what_would_be_right(results: Path, options: dict[str, Any], message: str) -> None:
    assert refused(results, **options) == message


@pytest.mark.parametrize(
    "content, message",
    [
        (b"{", "{}: it is not JSON"),
        (b"[" * 100_000, "{}: it is nested too deeply"),
        (b"9" * 5000, "{}: "),
        (b"[]", "{}: the file is a list; it must be an object"),
        (
            b'{"schema": "\\u001b[2J\\u202e"}',
            "{}: schema is '\\x1b[2J\\u202e'; it must be zpower.sap_tuning/evidence/1",
        ),
    ],
    ids=["cut", "nested", "number", "list", "hostile"],
)
def test_damaged_files_are_named(results: Path, content: bytes, message: str) -> None:
    file = results / "verify" / "20261120T100000Z" / "verify.json"
    file.write_bytes(content)
    assert refused(results).startswith(message.format("results/verify/20261120T100000Z/verify.json"))
    assert mtus(diff(results, to="20261118")) == (1, 2)


def test_links_and_pipes_are_refused(results: Path) -> None:
    file = results / "verify" / "20261120T100000Z" / "verify.json"
    file.unlink()
    os.mkfifo(file)
    assert refused(results) == "results/verify/20261120T100000Z/verify.json: it is not a regular file"
    file.unlink()
    file.symlink_to("/etc/passwd")
    assert refused(results).startswith("results/verify/20261120T100000Z/verify.json on the controller: ")


@pytest.mark.gate
def test_the_playbook(tmp_path: Path) -> None:
    for number, begun in enumerate(RUNS):
        write(tmp_path / "results", begun, 1500 + number)
    command = ["-i", "app1,", "zpower.sap_tuning.diff", "-e", "zpower_from=2026-11-16 zpower_to=", "--limit", "app1"]
    done = ansible_playbook(*command, cwd=tmp_path)
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    assert "\n  mtu: 1501 → 1503 (app1)\n1 host with differences, 1 without\n" in text
    assert "changed=0" in text


@pytest.fixture(name="folder")
def fixture_folder(tmp_path: Path) -> Path:
    """A run with two slices that were brought together."""
    for host in ("app1", "app2"):
        one = slices.new_slice(tmp_path / "results", "verify", "4711", "2026-11-20T10:00:00Z")
        document = build(run(), [host], {host: result("ok", "", [row()])})
        write_formats(files.FORMATS, (document,), (one.parent, one.stem), ["json"], check=False)
    return tmp_path / "results" / "verify" / "run-4711"


def unite(results: Path, check: bool = False, **options: Any) -> dict[str, Any]:
    return run_action(evidence_unite, {"results": str(results), **options}, check)


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
def test_the_playbook_unites(folder: Path) -> None:
    command = ["-v", "-i", "app1,", "zpower.sap_tuning.unite", "-e", '{"zpower_run": 4711}', "--limit", "app1"]
    done = ansible_playbook(*command, cwd=folder.parents[2])
    text = done.stdout + done.stderr
    assert done.returncode == 0 and "All 2 hosts are compliant." in text and "changed=1" in text, text
    assert (folder / "verify.json").exists()
