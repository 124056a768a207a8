# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence of a run: every host in it, whatever hosts send, and what it says on the whole."""

from __future__ import annotations

import json
from collections import UserDict
from pathlib import Path
from typing import Any

import evidence_samples as samples
import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._answers import rows
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import files
from documents import put, schema_errors
from evidence_samples import build, result, row, run


def one(*records: object, **more: Any) -> dict[str, Any]:
    """The evidence of one host with these records."""
    return build(run(**more), ["app1"], {"app1": result("ok", "", list(records))})


class Marked(str):
    """A text as ansible-core hands it over: a subclass that stays one."""

    def __str__(self) -> str:
        return self


@pytest.mark.parametrize(
    "make", [samples.site, samples.hostile, lambda: samples.fleet(30), lambda: build(run(), [], {})]
)
def test_it_is_what_its_schema_says_and_can_be_read_again(make: Any, tmp_path: Path) -> None:
    made = make()
    assert schema_errors("evidence", json.loads(json.dumps(made))) == []
    files.write(made, tmp_path / "verify" / "run", ["json"])
    assert files.read(tmp_path / "verify" / "run" / "verify.json") == json.loads(json.dumps(made))


@pytest.mark.parametrize("verdict", ["unknown", "observed"])
def test_evidence_of_versions_with_fewer_verdicts_can_be_read(verdict: str, tmp_path: Path) -> None:
    made = samples.site()
    del made["totals"]["verdicts"][verdict]
    assert schema_errors("evidence", json.loads(json.dumps(made))) == []
    files.write(made, tmp_path / "verify" / "run", ["json"])
    assert files.read(tmp_path / "verify" / "run" / "verify.json")["totals"]["verdicts"][verdict] == 0


def test_every_host_of_the_play_is_in_it_in_natural_order() -> None:
    made = samples.site()
    assert [host["host"] for host in made["hosts"]] == [f"app{number}" for number in range(1, 13)]
    assert made["totals"]["outcomes"] == {"ok": 8, "failed": 1, "unreachable": 2, "skipped": 0, "not_reached": 1}
    assert made["totals"]["hosts"] == sum(made["totals"]["outcomes"].values())
    assert made["totals"]["rows"] == sum(made["totals"]["verdicts"].values()) == 45
    assert made["totals"]["drifting_hosts"] == 5


def test_rows_stand_as_the_module_returned_them_and_the_last_of_a_subject_counts() -> None:
    record = row(verdict="drifted", conflicts=[{"what": "udev rule", "wins": "no"}], remarks=["a remark"])
    assert one(row(), row(subject="eth0"), record)["hosts"][0]["rows"] == [row(subject="eth0"), record]


@pytest.mark.parametrize(
    ("outcomes", "verdicts", "more", "expected"),
    [
        (["ok", "ok"], ["compliant", "not_applicable", "waived"], {}, "compliant"),
        (["ok", "ok"], ["compliant", "unsupported", "waived"], {}, "partial"),
        (["ok", "ok"], ["compliant", "unknown"], {}, "unknown"),
        (["ok", "ok"], ["unknown", "drifted"], {}, "drift"),
        (["ok", "ok"], ["compliant", "drifted"], {}, "drift"),
        (["ok", "ok"], ["pending_restart"], {}, "drift"),
        (["ok", "ok"], ["pending_restart", "changed"], {"kind": "site"}, "compliant"),
        (["ok", "ok"], ["pending_restart", "changed"], {"kind": "rollout"}, "compliant"),
        (["ok", "ok"], ["drifted"], {"kind": "rollout"}, "drift"),
        (["ok", "ok"], ["changed"], {"kind": "rollout", "stopped": "batch 2 regressed"}, "error"),
        (["ok", "ok"], ["pending_restart"], {"kind": "confirm"}, "compliant"),
        (["ok", "ok"], ["drifted"], {"kind": "confirm"}, "drift"),
        (["ok", "ok"], ["drifted", "failed"], {}, "error"),
        (["ok", "unreachable"], ["drifted"], {}, "error"),
        (["ok", "not_reached"], ["compliant"], {}, "error"),
        (["ok", "failed"], ["compliant"], {}, "error"),
        (["ok", "skipped"], ["compliant"], {}, "compliant"),
        (["ok", "ok"], ["compliant"], {"ended": None}, "unfinished"),
        (["ok", "ok"], [], {}, "nothing"),
        (["skipped", "skipped"], [], {"kind": "rollback"}, "nothing"),
        (["ok", "ok"], [], {"kind": "rollback"}, "compliant"),
        ([], [], {}, "nothing"),
    ],
)
def test_the_result(outcomes: list[str], verdicts: list[str], more: dict[str, Any], expected: str) -> None:
    records = [row(subject=f"hsi{place}", verdict=verdict) for place, verdict in enumerate(verdicts)]
    results = {f"app{n}": result(outcome, "", records if n == 0 else None) for n, outcome in enumerate(outcomes)}
    made = build(run(**more), results, results)
    assert made["result"] == expected
    assert schema_errors("evidence", made) == []


@pytest.mark.parametrize(
    ("made", "headline"),
    [
        (samples.site(), "5 of 12 hosts are not compliant; 1 host failed, 2 unreachable, 1 not reached."),
        (samples.site(ended=None), "The run did not end: its controller was stopped, or it is still running; 5 of 12"),
        (one(row()), "1 host is compliant."),
        (one(row(verdict="waived"), row(subject="eth0")), "1 host is compliant. Of 2 rows, 1 waived."),
        (one(row(verdict="unknown")), "1 host is compliant as far as could be seen. Of 1 row, 1 unknown."),
        (one(row(verdict="changed"), kind="site"), "1 host is as requested. Of 1 row, 1 changed."),
        (one(row(verdict="failed")), "1 value could not be read."),
        (one(row(verdict="drifted"), kind="rollback"), "1 of 1 host is not taken back."),
        (one(row(), kind="confirm"), "1 host is confirmed."),
        (one(row(verdict="failed"), kind="confirm"), "1 value could not be read."),
        (
            one(row(verdict="drifted"), kind="rollout", stopped="batch 2 stopped:\nit is slower."),
            "Batch 2 stopped: it is slower; 1 of 1 host is not as requested.",
        ),
        (one(), "No tuning was checked."),
        (build(run(), [], {}), "No host was in the play."),
        (build(run(), ["a", "b"], {}), "2 hosts not reached."),
    ],
)
def test_the_headline(made: dict[str, Any], headline: str) -> None:
    assert made["headline"].startswith(headline)


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ("text", "no list of tuning records"),
        ([7], "something that is not a tuning record"),
        ([{"name": "rps", "subject": "hsi0", "verdict": "fine"}], "unknown verdict: fine"),
        ([{"name": "rps", "subject": "hsi0", "verdict": ["x"]}], "unknown verdict: ['x']"),
        ([{}], "unknown verdict: None"),
        ([{"verdict": "x" * 70}], f"unknown verdict: {'x' * 59}…"),
    ],
)
def test_what_is_not_a_record_is_an_error_and_never_a_success(records: object, reason: str) -> None:
    made = build(run(), ["app1"], {"app1": result("ok", "", records)})
    assert made["result"] == "error"
    (found,) = made["hosts"][0]["rows"]
    assert found["verdict"] == "failed"
    assert found["reason"].startswith("the host sent ") and found["reason"].endswith(reason)
    assert schema_errors("evidence", made) == []


def test_what_a_host_sends_has_a_bounded_size() -> None:
    deep: Any = "end"
    for _level in range(50):
        deep = {"x": deep}
    wide = dict.fromkeys(map(str, range(20_000)), "y" * 10_000)
    record = row(wanted=deep, before={"running": wide, "stored": [1e308 * 10, 10**400]}, reason="z" * 10**6)
    record["remarks"] = ["r" * 10_000] * 10_000
    made = build(run(), ["app1"], {"app1": result("ok", "m" * 10**6, [record, *[7] * 10_000], {"x": wide})})
    assert schema_errors("evidence", made) == []
    host = made["hosts"][0]
    assert len(json.dumps(host["rows"][0])) < 2_000_000 and len(host["message"]) == rows.LONGEST_TEXT
    assert host["rows"][0]["before"]["stored"] == [None, None]
    assert (
        "the first 2,000 are kept" in one(*[row(subject=str(n)) for n in range(2001)])["hosts"][0]["rows"][-1]["reason"]
    )


def test_types_of_ansible_core_become_plain_ones() -> None:
    value = rows.plain(UserDict({Marked("key"): [Marked("text"), 1, 1.5, True, None, (2,)]}))
    assert value == {"key": ["text", 1, 1.5, True, None, [2]]}
    assert {type(key) for key in value} == {str} and {type(value["key"][0])} == {str}


class TestFiles:
    def test_two_runs_in_one_second_have_two_folders_and_no_symbolic_link_is_followed(self, tmp_path: Path) -> None:
        names = [files.new_folder(tmp_path, "verify", begun).name for begun in ("2026-11-20T10:00:00.5Z",) * 3]
        assert names == ["20261120T100000Z", "20261120T100000Z-2", "20261120T100000Z-3"]
        (tmp_path / "results").mkdir()
        (tmp_path / "results" / "verify").symlink_to(tmp_path)
        with pytest.raises(ValueError, match="symbolic link"):
            files.new_folder(tmp_path / "results", "verify", "2026-11-20T10:00:00Z")

    def test_the_unfinished_files_are_replaced_at_the_end(self, tmp_path: Path) -> None:
        folder = files.new_folder(tmp_path, "verify", "2026-11-20T10:00:00Z")
        files.write(build(run(ended=None), ["app1", "app2"], {}), folder)
        begun = files.read(folder / "verify.json")
        assert begun["result"] == "unfinished" and begun["totals"]["outcomes"]["not_reached"] == 2
        written = files.write(samples.site(), folder)
        assert written.changed and sorted(written.paths) == sorted(files.FORMATS)
        names = [files.SUMS, *(f"verify.{form}" for form in files.FORMATS)]
        assert sorted(path.name for path in folder.iterdir()) == sorted(names)
        assert files.read(folder / "verify.json")["result"] == "error"
        assert (folder / "verify.prom").stat().st_mode & 0o777 == 0o644
        assert not files.write(samples.site(), folder).changed

    @pytest.mark.parametrize(
        ("way", "value", "named"),
        [
            (["schema"], "zpower.sap_tuning/evidence/2", "schema is"),
            (["run"], None, "run is missing"),
            (["run", "kind"], "measure", "run.kind is 'measure'"),
            (["run", "tags"], [7], "run.tags is 7"),
            (["totals", "verdicts", "drifted"], -1, "totals.verdicts.drifted is -1"),
            (["hosts", 0, "host"], "", "hosts[0].host is"),
            (["hosts", 0, "outcome"], ["ok"], "hosts[0].outcome is a list"),
            (["hosts", 0, "platform"], 7, "hosts[0].platform is 7"),
            (["hosts", 0, "rows", 0, "verdict"], "fine", "hosts[0].rows[0].verdict is 'fine'"),
            (["hosts", 0, "rows", 0, "remarks"], [7], "hosts[0].rows[0].remarks is 7"),
            (["waivers", 0, "days_left"], "7", "waivers[0].days_left is '7'"),
        ],
    )
    def test_files_with_other_fields_are_refused(self, way: list[Any], value: object, named: str) -> None:
        made = samples.site()
        put(made, way, value)
        assert schema_errors("evidence", made)
        with pytest.raises(ValueError) as caught:
            files.check(made)
        assert str(caught.value).startswith(named)

    @pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[" * 100_000, b"[]", b"{}", b'"x"'])
    def test_what_is_not_evidence_is_reported_with_its_path(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "verify.json"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"verify\.json"):
            files.read(path)
