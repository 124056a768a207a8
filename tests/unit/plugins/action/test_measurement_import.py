# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action that stores imported records: what is written, what is left alone, and what is refused."""

import gzip
import json
import os
import re
from pathlib import Path

import pytest
import yaml
from actions import run_action
from ansible.errors import AnsibleActionFail
from ansible_collections.zpower.sap_tuning.plugins.action import cpu_import, measurement_import
from ansible_collections.zpower.sap_tuning.plugins.modules import cpu_import as cpu_module
from ansible_collections.zpower.sap_tuning.plugins.modules import measurement_import as module
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions import measuring
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports import cpu_files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports.fields import FIELDS
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records import cpu_annex, record_files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.record_files import load_change

CSV = """\
phase,started,elapsed_s,units,client.utilization_pct,client.cpus_online,server.utilization_pct
before,2026-11-09T22:00:00+01:00,9399,60000000,80,128,44
after,2026-11-10T22:00:00+01:00,9008,60000000,83,128,46
"""
DEFAULTS = {
    "host": "app1",
    "peer": "db1",
    "workload": "settlement",
    "source": {"kind": "sap_job_log"},
    "context": {"jobs": 128},
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("settlement.csv").write_text(CSV)
    return tmp_path


def run(check_mode=False, **arguments):
    return run_action(measurement_import, arguments, check_mode, {"inventory_hostname": "localhost"})


def imported(**changes):
    return run(**{"change": "rps", "src": "settlement.csv", "defaults": DEFAULTS, **changes})


def test_a_file_becomes_records_that_a_report_can_read(folder):
    result = imported()
    assert (result["changed"], result["created"], result["replaced"], result["unchanged"]) == (True, 2, 0, 0)
    paths = [f"results/rps/app1/{phase}-1-settlement-db1.json" for phase in ("before", "after")]
    assert result["paths"] == paths and all(Path(path).is_file() for path in paths)
    loaded = load_change("results", "rps")
    assert loaded.problems == []
    assert [(item.phase, item.median) for item in loaded.records] == [("after", 9008.0), ("before", 9399.0)]
    record = json.loads(Path(paths[0]).read_text())
    assert record["source"] == {"kind": "sap_job_log", "file": "settlement.csv"}
    assert set(record["collector"]) == {"collection", "ansible_core"}
    before, after = result["states"]
    assert (before["phase"], before["median"], after["median"]) == ("before", 9399.0, 9008.0)
    # Nobody said how many processors the database has: its share is known, its CPU time is not.
    assert before["server"]["itr_per_h"] == pytest.approx(52.23e6, abs=5e3)
    assert [before["server"][name] for name in ("cpu_s", "cpu_us_per_unit")] == [None, None]


def counts(result):
    return tuple(result[name] for name in ("changed", "created", "replaced", "unchanged"))


def test_importing_again_changes_nothing_and_corrected_rows_need_replace(folder, monkeypatch):
    predicted = imported(check_mode=True)
    assert counts(predicted) == (True, 2, 0, 0) and not Path("results").exists()
    first = imported()
    bytes_before = [Path(path).read_bytes() for path in first["paths"]]
    monkeypatch.setattr(measuring, "collection_version", lambda _top: "9.9.9")
    for check_mode in (True, False):
        assert counts(imported(check_mode=check_mode)) == (False, 0, 0, 2)
    assert [Path(path).read_bytes() for path in first["paths"]] == bytes_before
    # rows that are added to a file leave the others as they are
    more = CSV + "after,2026-11-11T22:00:00+01:00,8990,60000000,83,128,46\n"
    Path("settlement.csv").write_text(more)
    assert counts(imported()) == (True, 1, 0, 2)
    # a corrected row needs replace
    Path("settlement.csv").write_text(more.replace("9008", "9010"))
    with pytest.raises(
        AnsibleActionFail, match="after-1-settlement-db1.json was imported before and differs in .*runs;"
    ):
        imported()
    assert 9008.0 in {item.median for item in load_change("results", "rps").records}
    assert counts(imported(replace=True)) == (True, 0, 1, 2)
    assert 9010.0 in {item.median for item in load_change("results", "rps").records}


@pytest.mark.parametrize("row", [1, 5])
def test_a_row_that_was_taken_out_does_not_leave_the_last_one_behind(folder, row):
    """Rounds are numbered in the order of the rows: the last file would hold a run that now is a round earlier."""
    rows = [{"phase": "before", "elapsed_s": 100 + number} for number in range(6)]
    fewer = rows[:row] + rows[row + 1 :]
    given = {"change": "rps", "defaults": {**DEFAULTS, "source": {"kind": "other", "text": "mail"}}}

    def found():
        return [item.median for item in load_change("results", "rps").records]

    run(**given, rows=rows)
    left = Path("results/rps/app1/before-6-settlement-db1.json")
    with pytest.raises(AnsibleActionFail, match=f"{left} is from an earlier import with more rows .*: remove it"):
        run(**given, rows=fewer, replace=True)
    assert found() == [item["elapsed_s"] for item in rows]
    left.unlink()
    run(**given, rows=fewer, replace=True)
    assert found() == [item["elapsed_s"] for item in fewer]
    # rows with rounds of their own may come in several imports
    for number in (7, 8, 7):
        run(**given, rows=[{"phase": "before", "round": number, "elapsed_s": 100 + number}])
    assert len(found()) == len(fewer) + 2


@pytest.mark.parametrize("delimiter", ["", "\\t", ";;", '"', "\n", "\r"])
def test_an_invalid_delimiter_is_one_sentence(folder, delimiter):
    with pytest.raises(AnsibleActionFail, match="^delimiter is .*; it must be one character, but not a quotation"):
        imported(delimiter=delimiter)


def test_measured_records_and_files_that_are_not_records_are_never_replaced(folder):
    path = Path(imported()["paths"][0])
    record = json.loads(path.read_text())
    record["workload"]["tool"] = "niping"
    for text in (json.dumps(record), '{"workload": [1]}', "[]"):
        path.write_text(text)
        with pytest.raises(AnsibleActionFail, match="was not imported"):
            imported(replace=True)
        assert path.read_text() == text
    path.write_text('{"workload": {"tool": "import"}, "runs": 5}')
    with pytest.raises(AnsibleActionFail, match="imported before and differs in change, context, .* and 9 more;"):
        imported()
    path.write_text("{")
    with pytest.raises(AnsibleActionFail, match="cannot be read as a record"):
        imported()


@pytest.mark.parametrize("what", ["pipe", "device", "nested"])
def test_what_is_in_place_of_a_record_blocks_nobody(folder, what):
    path = Path(imported()["paths"][0])
    path.unlink()
    if what == "pipe":
        os.mkfifo(path)
    elif what == "device":
        path.symlink_to("/dev/zero")
    else:
        path.write_text("[" * 100_000)
    with pytest.raises(AnsibleActionFail, match="exists and cannot be read as a record: it is "):
        imported()


def test_one_bad_row_and_nothing_is_written(folder):
    Path("settlement.csv").write_text(CSV + "after,,9,0,,,\n" * 30)
    with pytest.raises(AnsibleActionFail) as error:
        imported()
    said = str(error.value)
    assert said.startswith(
        "settlement.csv: nothing was imported, 30 rows cannot be used. line 4: units is '0'; it must be above 0 "
    )
    assert said.count("it must be") == measurement_import.PROBLEMS_SHOWN and len(said) < 500
    assert not Path("results").exists()


def test_a_link_that_leads_out_of_the_results_is_not_followed(folder):
    Path("elsewhere").mkdir()
    Path("results/rps").mkdir(parents=True)
    Path("results/rps/app1").symlink_to(folder / "elsewhere")
    with pytest.raises(AnsibleActionFail, match="symbolic link"):
        imported()
    assert list(Path("elsewhere").iterdir()) == []


RMF = {**DEFAULTS, "source": {"kind": "rmf", "text": "report of 2018-02-06"}}


def test_two_hosts_never_share_a_file(folder):
    rows = [{"phase": "before", "elapsed_s": 1, "host": host} for host in ("app 1", "app_1")]
    with pytest.raises(AnsibleActionFail, match="app_1/before-1-settlement-db1.json would hold two records"):
        run(change="rps", rows=rows, defaults=RMF)
    assert not Path("results").exists()


def test_variables_work_too_and_rows_may_name_their_change(folder):
    rows = [{"phase": "before", "latency_us": 1482, "source": "rmf"}, {"phase": "after", "latency_us": "1379"}]
    result = run(change="x", rows=rows, defaults=RMF)
    assert [state["median"] for state in result["states"]] == [1482.0, 1379.0]
    assert result["states"][0]["metric"] == {"name": "latency_us", "unit": "µs", "better": "lower"}
    rows = [{"phase": "before", "elapsed_s": 2, "change": "first"}, {"phase": "before", "elapsed_s": 1}]
    result = run(change="second", rows=rows, defaults=RMF)
    assert [path.split("/")[1] for path in result["paths"]] == ["first", "second"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"src": "nowhere.csv"}, "nowhere.csv on the controller: No such file or directory"),
        ({"src": "."}, "say which format it is"),
        ({"src": "/dev/zero", "format": "csv"}, "/dev/zero: this is not a regular file"),
        ({"src": "settlement.csv", "delimiter": ";"}, "is one field that holds a comma; set delimiter"),
        ({"src": "settlement.csv", "rows": []}, "mutually exclusive"),
        ({}, "one of the following is required: src, rows"),
        ({"rows": []}, "there is no row"),
        ({"rows": [{"phase": "before"}], "change": "../x"}, "the defaults: change is '../x'; it must begin with"),
        ({"rows": [{"phase": "before"}], "defaults": {"hots": "x"}}, "there is no field hots; did you mean host"),
    ],
)
def test_what_cannot_be_used_gets_one_sentence(folder, arguments, said):
    with pytest.raises(AnsibleActionFail, match=said):
        run(**arguments)


def test_the_documentation_names_fields_as_they_are():
    rows = yaml.safe_load(module.DOCUMENTATION)["options"]["rows"]["suboptions"]
    assert set(rows) == set(FIELDS)
    for name in ("client", "server", "metric", "source"):
        assert set(rows[name]["suboptions"]) == set(FIELDS[name].fields)


def test_the_documentation_names_the_result_as_it_is(folder):
    returned = yaml.safe_load(module.RETURN)
    result = imported()
    assert set(returned) == set(result) - {"changed"}
    state = result["states"][0]
    assert set(returned["states"]["sample"][0]) == set(state)
    assert set(returned["states"]["sample"][0]["server"]) == set(state["server"])


def test_the_examples_work(folder):
    for task in yaml.safe_load(module.EXAMPLES):
        arguments = dict(task["zpower.sap_tuning.measurement_import"])
        if isinstance(arguments.get("rows"), str):
            arguments["rows"] = task["vars"]["benchmark_rows"]
        assert run(**arguments)["created"] == 2


FIXTURES = Path(__file__).parents[2] / "fixtures" / "nmon"
AIX = str(FIXTURES / "aix_shared.nmon")


def import_cpu(check_mode=False, **arguments):
    return run_action(cpu_import, arguments, check_mode, {"inventory_hostname": "aixapp1"})


@pytest.mark.parametrize("check_mode", [False, True])
def test_a_window_comes_back_as_data(check_mode):
    result = import_cpu(check_mode, src=AIX, begin="23:59:49", end="23:59:59", smc_r="yes")
    assert result["changed"] is False and "warnings" not in result
    assert (result["cpu"]["cpu_s"], result["cpu"]["network"]["applicable"]) == (9, False)
    # remarks are warnings
    result = import_cpu(check_mode, src=AIX, end="2026-11-20 01:00:00")
    assert result["warnings"] == [f"{AIX}: {result['cpu']['remarks'][0]}"]


def test_the_documentation_names_formats_and_figures_as_they_are():
    assert cpu_import.ActionModule.ARGUMENTS["format"]["choices"] == ["auto", *cpu_annex.FORMATS, "sar"]
    assert set(yaml.safe_load(cpu_module.RETURN)["cpu"]["sample"]) == set(import_cpu(src=AIX)["cpu"])


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"src": "/nowhere/x.nmon"}, "/nowhere/x.nmon on the controller: No such file"),
        ({"src": "/dev/zero"}, "not a regular file"),
        ({"src": str(FIXTURES)}, "not a regular file"),
        ({"src": __file__}, "test_measurement_import.py: this is neither a file of nmon"),
        ({"begin": "tomorrow"}, "not a time of the file, which has no zone: .* 16:30:00$"),
        # what YAML makes of 23:59:49 and +10:00
        ({"begin": 86389}, r"'86389' is not a time of the file.* \(in quotes: without them, YAML treats it"),
        ({"change": "c", "utc_offset": 600}, r"utc_offset is '600'; .* \+01:00 \(in quotes: without them"),
        ({"cpus": 0}, "cpus is 0; it must be above 0"),
        ({"change": "x"}, f"^{re.escape(AIX)}: its times are local: give utc_offset"),
        ({"change": "x", "utc_offset": "one hour"}, "utc_offset is 'one hour'; it must be the offset of local time"),
        # what has a meaning only for what is stored
        ({"utc_offset": "+01:00"}, "required by 'utc_offset': change"),
        ({"host": "app1"}, "required by 'host': change"),
        ({"change": "../x", "utc_offset": "Z"}, "change is '../x'; it must begin with a letter"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_sentence(tmp_path, arguments, message):
    with pytest.raises(AnsibleActionFail, match=message) as caught:
        import_cpu(**{"src": AIX, "results": str(tmp_path), **arguments})
    assert caught.value.__cause__ is None  # ansible-core 2.21 prints a cause behind the sentence
    assert list(tmp_path.iterdir()) == []


def test_no_file_is_read_or_unpacked_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(cpu_files, "LARGEST_UNPACKED", 2000)
    path = tmp_path / "x.nmon.gz"
    path.write_bytes(gzip.compress(Path(AIX).read_bytes()))
    with pytest.raises(AnsibleActionFail, match="more than 2000 characters unpacked"):
        import_cpu(src=str(path))
    monkeypatch.setattr(cpu_files, "LONGEST_LINE", 100)
    path = tmp_path / "x.nmon"
    path.write_text("AAA," + "x" * 1000)
    with pytest.raises(AnsibleActionFail, match="no sample"):
        import_cpu(src=str(path))
    assert len(next(cpu_files.lines_of(str(path)))) == 100


def test_a_compressed_file_is_read_like_the_file_itself_and_refused_if_damaged(tmp_path):
    path, packed = tmp_path / "aixapp1_261119_2359.nmon.gz", gzip.compress(Path(AIX).read_bytes())
    path.write_bytes(packed)
    assert (
        import_cpu(src=str(path))["cpu"]
        == import_cpu(src=str(path), format="nmon")["cpu"]
        == import_cpu(src=AIX)["cpu"]
    )
    for damaged in (
        packed[:-200],
        packed[:5],
        packed[:40] + b"\0\0\0\0" + packed[44:],
        packed[:-8] + b"\0\0\0\0" + packed[-4:],
        packed + b"x",
        b"\x1f\x8b" + b"x" * 100,
    ):
        path.write_bytes(damaged)
        with pytest.raises(AnsibleActionFail, match="this compressed file is damaged or incomplete") as caught:
            import_cpu(src=str(path))
        assert caught.value.__cause__ is None


KEEP = {"src": AIX, "change": "smc-r-2026-11", "utc_offset": "+01:00"}


def test_the_intervals_are_kept_beside_the_records_of_a_host(tmp_path):
    results = tmp_path / "results"
    path = results / "smc-r-2026-11" / "aixapp1" / "cpu-client.json"
    for check_mode in (True, False):
        result = import_cpu(check_mode, **KEEP, results=str(results))
        assert (result["changed"], result["path"], path.exists()) == (True, str(path), not check_mode)
    assert result["intervals"] == 3
    kept = path.read_bytes()
    for check_mode in (True, False):
        again = import_cpu(check_mode, **KEEP, results=str(results))
        assert again["changed"] is False and path.read_bytes() == kept
    annex = record_files.read_annex(results, {"change": "smc-r-2026-11", "host": "aixapp1", "end": "client"})
    assert annex["files"][0]["intervals"][0]["begin"] == "2026-11-19T22:59:39.000000Z"
    other = import_cpu(**KEEP, results=str(results), host="lnxapp2", side="server", replace=True)
    assert other["path"].endswith("lnxapp2/cpu-server.json")


def test_files_in_utc_need_no_offset(tmp_path):
    sadf = str(FIXTURES.parent / "sysstat" / "sadf.json")
    result = import_cpu(src=sadf, change="x", results=str(tmp_path))
    assert (result["cpu"]["zone"], result["intervals"]) == ("UTC", 6)
    annex = record_files.read_annex(tmp_path, {"change": "x", "host": "aixapp1", "end": "client"})
    assert annex["files"][0]["intervals"][0]["begin"].startswith("2026-11-20T19:13:3")


def test_an_annex_that_is_broken_is_named_and_left_alone(tmp_path):
    path = tmp_path / "smc-r-2026-11" / "aixapp1" / "cpu-client.json"
    path.parent.mkdir(parents=True)
    for text, wrong in (
        ('{"schema": 1}', "this version reads an object with schema"),
        ('{"schema": ', "it is not JSON"),
    ):
        path.write_text(text)
        with pytest.raises(AnsibleActionFail, match=f"{path} cannot be used: {wrong}"):
            import_cpu(**KEEP, results=str(tmp_path))
        assert path.read_text() == text
