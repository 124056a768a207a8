# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records on disk: where they go, how they are written, and what happens to everything that is not a record."""

from __future__ import annotations

import gc
import json
import os
import stat

import pytest
import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import compare_change
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records import checks, files, record_files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.checks import microseconds
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.reading import Reader
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.round import time_text
from hypothesis import given
from hypothesis import strategies as st
from places import FIXTURES

CHANGE = factory.Plan().change
LATER = "zpower.sap_tuning/measurement/2"
FOLDER = FIXTURES / "records"


@pytest.fixture
def results(tmp_path):
    """A results folder with one sound record, app1/before-1-pingpong-1000B-app2.json."""
    record_files.store(tmp_path / "results", factory.make_record([52.0, 51.0, 50.0, 53.0]))
    return tmp_path / "results"


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("app1", "app1"),
        ("app1.example.org", "app1.example.org"),
        ("../../etc/passwd", "_._.._etc_passwd"),
        ("..", "_."),
        (".hidden", "_hidden"),
        ("", "_"),
        ("a b\n<b>ü", "a_b__b__"),
    ],
)
def test_file_slug(name, slug):
    assert record_files.file_slug(name) == slug


def test_paths():
    one, two = (record_files.file_slug("x" * 300 + end) for end in "ab")
    assert one != two and len(one) == len(two) == record_files.SLUG_LENGTH
    record = factory.make_record([50.0], host="app/1", peer="..")
    assert str(record_files.record_path("results", record)) == f"results/{CHANGE}/app_1/before-1-pingpong-1000B-_..json"
    tunings = factory.make_tunings("app1", "after", 3)
    assert str(record_files.record_path("results", tunings)) == f"results/{CHANGE}/app1/tunings-after-3.json"


@pytest.mark.parametrize("value", ["", ".", "..", "a/b", "-x", "a\n", "a b", "x" * 65, None, 7, "ä"])
def test_ids_that_could_leave_the_folder_are_errors(tmp_path, value):
    record = factory.make_record([50.0])
    for key in ("change", "phase"):
        with pytest.raises(ValueError, match=f"{key} is .*letter or digit"):
            record_files.record_path(tmp_path, {**record, key: value})
    with pytest.raises(ValueError, match="change is"):
        record_files.load_change(tmp_path, value)


def test_write_json_is_atomic_and_readable_for_all(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "file.json"
    record_files.write_json(path, {"b": 1, "a": "ü"}, tmp_path)
    assert path.read_text(encoding="utf-8") == '{\n "a": "ü",\n "b": 1\n}\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    with pytest.raises(ValueError, match="JSON"):
        record_files.write_json(path, {"a": float("nan")}, tmp_path)
    with pytest.raises(TypeError):
        record_files.write_json(path, {"a": object()}, tmp_path)

    def full(_handle):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk, pytest.raises(OSError, match="No space"):
        disk.setattr(record_files.os, "fsync", full)
        record_files.write_json(path, {}, tmp_path)
    assert json.loads(path.read_text(encoding="utf-8")) == {"a": "ü", "b": 1}
    assert os.listdir(path.parent) == ["file.json"]
    # a link in the place of the file is replaced and not written through
    link = tmp_path / "link.json"
    link.symlink_to(path)
    record_files.write_json(link, {}, tmp_path)
    assert "ü" in path.read_text(encoding="utf-8") and not link.is_symlink()


def test_a_stored_record_comes_back(results):
    (results / CHANGE / "report.json").write_text("{}", encoding="utf-8")
    loaded = record_files.load_change(results, CHANGE)
    (item,) = loaded.records
    assert loaded.problems == [] and gc.isenabled()
    assert (item.host, item.peer, item.phase, item.number) == ("app1", "app2", "before", 1)
    assert item.median == 51.0  # the warm-up run of 52 does not count
    assert item.good == [51.0, 50.0, 53.0]
    assert item.failed == 2  # five runs were asked for, three are there
    assert item.workload.loops == 20000
    assert time_text(item.started) == "2026-11-20T10:00:00.000000Z"


def test_what_is_there_is_not_overwritten_unless_that_is_meant(tmp_path):
    record = factory.make_record([50.0])
    with pytest.raises(ValueError, match="cannot be stored: runs is"):
        record_files.store(tmp_path, {**record, "runs": None})
    with pytest.raises(ValueError, match="cannot be stored: tunings"):
        record_files.store(tmp_path, {**factory.make_tunings("app1", "after", 1), "tunings": None})
    assert os.listdir(tmp_path) == []
    path = record_files.store(tmp_path, record)
    with pytest.raises(ValueError, match="exists already: name another round or change"):
        record_files.store(tmp_path, factory.make_record([60.0]))
    assert json.loads(path.read_text())["runs"][0]["metrics"]["av2_us"] == 50.0
    record_files.store(tmp_path, factory.make_record([60.0]), replace_old=True)
    assert json.loads(path.read_text())["runs"][0]["metrics"]["av2_us"] == 60.0


def test_results_may_be_relative_and_behind_a_link(tmp_path, monkeypatch):
    (tmp_path / "mounted").mkdir()
    (tmp_path / "results").symlink_to("mounted")
    monkeypatch.chdir(tmp_path)
    record_files.store("results", factory.make_record([50.0, 50.0]))
    assert len(record_files.load_change("results", CHANGE).records) == 1


def put(results, name, data, host="app1"):
    path = results / CHANGE / host / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return path


def sound():
    return factory.make_record([50.0, 50.0], number=2)


SECOND = "before-2-pingpong-1000B-app2.json"


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        (SECOND, b"", "it is not JSON"),
        (SECOND, json.dumps(sound()).encode()[:900], "it is not JSON"),
        (SECOND, b"\xff\xfe{}", "it is not UTF-8 text"),
        (SECOND, b"[" * 100_000, "it is nested too deeply"),
        (SECOND, b'{"a": NaN}', "it holds NaN"),
        (SECOND, b"[1, 2]", "the record is a list"),
        (SECOND, {**sound(), "round": "2"}, "round is '2'"),
        (SECOND, {**sound(), "schema": "other/1"}, "schema is 'other/1'"),
        (SECOND, {**sound(), "schema": LATER}, f"schema is '{LATER}'"),
        (SECOND, {**sound(), "change": "other"}, "it belongs to the change other"),
        (SECOND, {**sound(), "host": "\ud800"}, "surrogate"),
        ("copy.json", sound(), "belongs at app1/before-2-pingpong-1000B-app2.json"),
        (SECOND, {**sound(), "host": "app9"}, "belongs at app9/"),
        ("tunings-after-1.json", {**factory.make_tunings("app1", "after", 1), "tunings": 1}, "tunings is 1"),
        ("tunings-after-2.json", factory.make_tunings("app1", "after", 1), "belongs at app1/tunings-after-1.json"),
        ("notes.txt", b"hello", "not a record file"),
        (".before-1.tmp", b"{", "not a record file"),
        (SECOND, json.dumps(sound()).replace("20000", "9" * 5000).encode(), "digits"),
    ],
)
def test_foreign_files_become_sentences(results, name, data, sentence):
    put(results, name, data)
    loaded = record_files.load_change(results, CHANGE)
    assert len(loaded.records) == 1
    assert loaded.tunings == []
    (problem,) = loaded.problems
    assert problem.startswith(f"app1/{name}: ")
    assert sentence in problem
    assert problem.endswith(".")


def test_links_and_pipes_are_reported_and_not_followed(results, tmp_path):
    outside = tmp_path / "outside"
    factory.write_change(outside, [factory.make_record([50.0, 50.0], host="app2", number=2)])
    host = results / CHANGE / "app1"
    (host / SECOND).symlink_to(outside / CHANGE / "app2" / SECOND)
    (results / CHANGE / "app2").symlink_to(outside / CHANGE / "app2")
    os.mkfifo(host / "before-3-pingpong-1000B-app2.json")
    (host / "folder.json").mkdir()
    loaded = record_files.load_change(results, CHANGE)
    assert len(loaded.records) == 1
    assert [problem.split(":")[0] for problem in loaded.problems] == [
        f"app1/{SECOND}",
        "app1/before-3-pingpong-1000B-app2.json",
        "app1/folder.json",
        "app2",
    ]

    # after the listing too
    with pytest.raises(OSError, match="symbolic link"):
        record_files.read_json(str(host / SECOND))


def test_the_folder_of_a_change_may_not_be_a_link(results, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "linked").symlink_to(results / CHANGE)
    loaded = record_files.load_change(tmp_path / "other", "linked")
    assert loaded.records == []
    assert "symbolic link" in loaded.problems[0]
    assert "does not exist" in record_files.load_change(results, "missing").problems[0]


def test_names_that_are_not_texts_and_huge_files_are_sentences(results, monkeypatch):
    os.close(os.open(os.fsencode(results / CHANGE / "app1") + b"/\xff.json", os.O_CREAT | os.O_WRONLY))
    (problem,) = record_files.load_change(results, CHANGE).problems
    assert problem.encode("utf-8").startswith(b"app1/\\udcff.json: left out")
    monkeypatch.setattr(record_files, "LARGEST_FILE", 100)
    assert "more than the 100 bytes that a record may have" in " ".join(
        record_files.load_change(results, CHANGE).problems
    )


def test_a_run_without_its_figure_is_a_failed_run(tmp_path):
    record = factory.make_record([50.0] * 6)
    del record["runs"][1]["metrics"]["av2_us"]
    record["runs"][2]["metrics"]["av2_us"] = 0
    record["runs"][3]["metrics"]["av2_us"] = None
    factory.write_change(tmp_path, [record])
    (item,) = record_files.load_change(tmp_path, CHANGE).records
    assert item.good == [50.0, 50.0]
    assert item.failed == 3
    assert {error for _run, _warmup, ok, error in item.layout.heads if not ok} == {
        "the run ended well but brought no av2_us"
    }


@pytest.mark.parametrize(
    ("stamp", "moment"),
    [
        ("1970-01-01T00:00:01.500Z", 1_500_000),
        ("2026-11-20T10:00:00Z", 1_795_168_800_000_000),
        ("2026-11-20T10:00:00+01:00Z", None),
        ("2026-11-20 10:00", None),
        ("9999-12-31T23:59:59Z", None),
        ("0001-01-01T00:00:00Z", None),
        ("yesterdayZ", None),
        (None, None),
        (7, None),
    ],
)
def test_times(stamp, moment):
    assert microseconds(stamp) == moment


def test_equal_parts_are_kept_once(tmp_path):
    plan = factory.Plan(hosts=("app1", "app2"))
    factory.write_change(tmp_path, factory.make_change(plan), factory.change_tunings(plan))
    loaded = record_files.load_change(tmp_path, CHANGE)
    assert len({id(item.workload) for item in loaded.records}) == 2
    assert len({id(item.ends[0]) for item in loaded.records}) == 2
    states = {id(tuning["after"]) for item in loaded.tunings for tuning in item["tunings"]}
    assert len(states) == 2


def test_records_of_the_first_version_still_give_their_report(tmp_path):
    stored = json.loads((FOLDER / "version-0.1.0.json").read_text(encoding="utf-8"))
    factory.write_change(tmp_path, stored["records"], stored["tunings"])
    loaded = record_files.load_change(tmp_path, CHANGE)
    assert loaded.problems == [] and len(loaded.records) == 20
    report = compare_change(loaded)
    (found,) = [item for item in report["comparisons"] if not item["control"]]
    # five rounds decided then, and six do now
    assert found["reason"] == "only 5 rounds per state; at least 6 are needed." and found["ratio"] > 1.05
    assert (found["metric"], found["unit"], found["better"]) == ("av2_us", "µs", "lower")
    assert found["unit_of_work"] == "round trip" and found["params"] == {} and found["set"] == ""
    assert found["kpi"]["client"]["before"]["cpu_us_per_unit"] == pytest.approx(20.0, rel=0.1)
    assert report["comparability"] == [] and report["context"] == [] and report["experiment"] is None


def test_what_a_measurement_left_behind_is_a_warning():
    records = list(factory.make_change())
    records[0]["left_behind"] = "20 locks could not be released"
    (told,) = compare_change(factory.load(records))["warnings"]
    assert told == "Left behind on app1: 20 locks could not be released."


@pytest.mark.parametrize("link", [CHANGE, f"{CHANGE}/app1"])
def test_a_folder_that_is_or_becomes_a_link_is_not_written_through(tmp_path, monkeypatch, link):
    """Somebody who may write in the results folder exchanges a folder, even after everything was looked at."""
    results, outside = tmp_path / "results", tmp_path / "outside"
    (results / CHANGE / "app1").mkdir(parents=True)
    (outside / "app1").mkdir(parents=True)
    true_replacing = record_files.replacing

    def exchanged(path, top):
        (results / link).rename(tmp_path / "away")
        (results / link).symlink_to(outside)
        return true_replacing(path, top)

    with monkeypatch.context() as meanwhile, pytest.raises(ValueError, match="is reached over a symbolic link"):
        meanwhile.setattr(record_files, "replacing", exchanged)
        record_files.store(results, factory.make_record([50.0]))
    with pytest.raises(ValueError, match="symbolic link"):
        record_files.store(results, factory.make_record([50.0]))
    assert [path for path in outside.rglob("*") if path.is_file()] == []


def test_a_part_that_was_read_before_is_checked_again_if_its_type_differs():
    reader = Reader()
    sound = factory.make_record([52.0, 51.0, 50.0], size=1)
    assert reader.measurement(sound).workload.bytes == 1
    with pytest.raises(ValueError, match=r"workload\.bytes is True; it must be a whole number"):
        reader.measurement({**sound, "workload": {**sound["workload"], "bytes": True}})
    with pytest.raises(ValueError, match=r"protocol\.runs is 5\.0; it must be a whole number"):
        reader.measurement({**sound, "protocol": {**sound["protocol"], "runs": 5.0}})


def test_long_parts_are_read_and_not_kept():
    reader = Reader()
    sound = factory.make_record([52.0, 51.0, 50.0])
    end = {**sound["fingerprint"]["client"], "kernel": "x" * 10_000}
    for _turn in range(2):
        item = reader.measurement({**sound, "fingerprint": {"client": end, "server": None}})
        assert item.ends[0].must[2] == "x" * 10_000
    assert not [key for key in reader._shared if len(key) == 2 and isinstance(key[1], bytes) and len(key[1]) > 4000]


def test_the_runs_of_a_round_come_back_in_their_order():
    record = factory.make_record([52.0, 51.0, 50.0, 53.0])
    record["runs"][2] = factory.fail_run(record["runs"][2])
    item = Reader().measurement(record)
    assert [(*head[:3], value) for head, value in zip(item.layout.heads, item.values, strict=True)] == [
        (0, True, True, 52.0),
        (1, False, True, 51.0),
        (2, False, False, None),
        (3, False, True, 53.0),
    ]
    assert [time_text(started) for started in item.times] == [run["started"] for run in record["runs"]]
    assert item.good == [51.0, 53.0]
    assert item.failed == 3


@pytest.mark.parametrize("size", [0, 1, 99, 100])
def test_a_file_is_read_up_to_the_limit_and_not_beyond(tmp_path, size):
    path = tmp_path / "file"
    path.write_bytes(b"x" * size)
    assert files.read_regular(path, 100) == b"x" * size
    path.write_bytes(b"x" * 101)
    with pytest.raises(ValueError, match="more than the 100 bytes"):
        files.read_regular(path, 100)


def depth_of(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth_of, inner), default=0)


@given(
    st.recursive(
        st.none() | st.text('[]{}"\\a\n', max_size=6),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('[]{}"\\a', max_size=3), inner, max_size=3),
    ),
    st.integers(0, 5),
)
def test_levels_are_counted_whatever_texts_hold(value, deepest):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "DEEPEST", deepest)
        assert checks.too_deep(json.dumps(value).encode()) is (depth_of(value) > deepest)
