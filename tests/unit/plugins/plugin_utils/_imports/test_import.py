# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of figures that were measured elsewhere, and the records that they become."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports import rows as _import_rows
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports.fields import FIELDS, number
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports.records import records_of, states_of
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports.rows import (
    RowsError,
    from_csv,
    from_file,
    from_list,
    from_yaml,
)
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.kpi import cpu_sum, kpi
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.record_files import validate
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from places import SCHEMAS

SCHEMA = SCHEMAS / "measurement-1.schema.json"
VALIDATOR = Draft202012Validator(json.loads(SCHEMA.read_text("utf-8")))
ROW = {
    "change": "rps",
    "host": "app1",
    "phase": "before",
    "workload": "settlement",
    "elapsed_s": 100,
    "source": {"kind": "rmf", "text": "report of a Friday"},
}
GAIN = {"name": "gain", "unit": "%", "better": "higher"}


def rows(*changes, **common):
    return from_list([{**ROW, **common, **change} for change in changes])


def records(*changes, **common):
    found = records_of(rows(*changes, **common))
    assert found.problems == []
    return found.records


def problems(*changes, **common):
    return records_of(rows(*changes, **common)).problems


def problem(change):
    (found,) = problems(change)
    return found


def check_sound(record):
    """As stored, the record passes the check of its reader and the published schema."""
    complete = {**record, "collector": {}}
    assert validate(complete) is None
    assert list(VALIDATOR.iter_errors(json.loads(json.dumps(complete, allow_nan=False)))) == []


def test_a_row_is_a_valid_record_with_only_what_was_stated():
    (record,) = records({})
    check_sound(record)
    assert (record["peer"], record["round"], record["started"], record["idle"]) == ("local", 1, None, None)
    assert record["workload"]["tool"] == "import"
    assert record["workload"]["metric"] == {"name": "elapsed_s", "unit": "s", "better": "lower"}
    (run,) = record["runs"]
    assert (run["metrics"], run["cpu"], run["elapsed_s"]) == ({"elapsed_s": 100}, None, 100)
    assert record["fingerprint"] == {"client": {}, "server": {}}
    assert record["cpu_source"] == {"client": None, "server": None}


def test_everything_that_can_be_said_fits_the_schema():
    (record,) = records(
        {
            "peer": "db1",
            "round": 3,
            "started": "2026-11-20T16:00:00+01:00",
            "finished": "2026-11-20T15:01:40Z",
            "units": 5000,
            "unit": "account",
            "latency_us": 1482.5,
            "metric": {"name": "steps_per_h", "unit": "1/h", "better": "higher"},
            "metrics": {"steps_per_h": 7, "delta_c": -3},
            "params": {"users": 10, "mode": "7.10"},
            "context": {"packet_size": 1000, "smt": True, "icm/server_port": "x"},
            "client": {"system": "AIX", "machine": "POWER8", "cpus_online": 4, "utilization_pct": 50, "steal_s": 1},
            "server": {"cpu_s": 33.5},
            "source": {"kind": "other", "file": "a.csv", "text": "measured by hand"},
            "bytes": 500,
            "loops": 10,
            "connections": 5,
            "control": True,
        }
    )
    check_sound(record)
    assert (record["started"], record["finished"]) == ("2026-11-20T15:00:00.000000Z", "2026-11-20T15:01:40.000000Z")
    (run,) = record["runs"]
    window = {"elapsed_s": 100, "ncpu": 4, "steal_s": 1, "busy_s": 200.0}
    assert run["cpu"] == {"client": window, "server": {"elapsed_s": 100, "ncpu": None, "steal_s": None, "busy_s": 33.5}}
    assert record["fingerprint"]["client"] == {"system": "AIX", "machine": "POWER8", "cpus_online": 4}
    assert record["cpu_source"] == {"client": "given", "server": "given"}
    assert record["context"] == {"packet_size": 1000, "smt": True, "icm/server_port": "x"}


def test_csv_yaml_and_variables_say_the_same():
    text = "context.packet_size,context.smt,context.release,client.cpus_online,started,client.utilization_pct\n"
    csv = from_csv(text + "1000,true,7.10,128,2026-11-20T16:00:00+01:00,80\n")
    yml = from_yaml(
        "- context: {packet_size: 1000, smt: true, release: '7.10'}\n"
        "  started: 2026-11-20 16:00:00+01:00\n"
        "  client: {cpus_online: 128, utilization_pct: 80}\n"
    )
    row = {
        "context": {"packet_size": 1000, "smt": True, "release": "7.10"},
        "started": datetime(2026, 11, 20, 16, tzinfo=timezone(timedelta(hours=1))),
        "client": {"cpus_online": 128, "utilization_pct": 80},
    }
    found = [records_of(table, ROW).records for table in (csv, yml, from_list([row]))]
    assert found[0] == found[1] == found[2]
    assert found[0][0]["context"] == row["context"]


def test_rows_without_a_round_are_rounds_of_their_own_state_by_state():
    found = records({}, {"phase": "after"}, {"elapsed_s": 101}, {"host": "app2"}, {"workload": "other"})
    assert [(r["host"], r["phase"], r["workload"]["name"], r["round"]) for r in found] == [
        ("app1", "before", "settlement", 1),
        ("app1", "after", "settlement", 1),
        ("app1", "before", "settlement", 2),
        ("app2", "before", "settlement", 1),
        ("app1", "before", "other", 1),
    ]


def test_rows_of_one_round_are_its_runs_and_a_warm_up_does_not_count():
    (record,) = records({"warmup": "yes"}, {"elapsed_s": 90}, {"elapsed_s": 92}, round="2")
    assert [run["warmup"] for run in record["runs"]] == [True, False, False]
    assert record["protocol"] == {"name": "import", "runs": 2, "warmup": 1}
    (state,) = states_of([record])
    assert (state["median"], state["runs_ok"]) == (91.0, 2)


def test_a_failed_run_brings_no_figure_and_keeps_the_metric_that_was_named():
    found = records({}, {"error": "cancelled after 80 s", "elapsed_s": 80, "client": {"cpu_s": 1}, "metrics": {"x": 1}})
    run = found[1]["runs"][0]
    assert (run["ok"], run["error"], run["metrics"], run["cpu"]) == (False, "cancelled after 80 s", {}, None)
    assert found[1]["workload"]["metric"] == found[0]["workload"]["metric"]
    (state,) = states_of(found)
    assert (state["runs_ok"], state["runs_failed"], state["median"]) == (1, 1, 100.0)
    assert records({"error": "x", "metric": GAIN})[0]["workload"]["metric"] == GAIN
    assert records({"error": "x", "metric": "steps_per_h"})[0]["workload"]["metric"]["name"] == "elapsed_s"
    (state,) = states_of(records({"error": "x"}))
    assert (state["median"], state["etr_per_h"], state["client"]) == (None, None, None)


def test_elapsed_time_follows_from_begin_and_end():
    times = {"started": "2026-11-20T23:59:00Z", "finished": "2026-11-21T00:01:00Z", "elapsed_s": None}
    assert records(times)[0]["runs"][0]["metrics"]["elapsed_s"] == 120.0
    assert records({**times, "elapsed_s": 121.5})[0]["runs"][0]["elapsed_s"] == 121.5
    assert "elapsed_s is 150, but from started to finished it is 120" in problem({**times, "elapsed_s": 150})
    assert "finished is not after started" in problem({**times, "finished": times["started"]})


def test_defaults_are_filled_up_field_by_field_and_the_nearer_ones_win():
    table = from_yaml("defaults: {client: {machine: z14, cpus_online: 4}, unit: a}\nrows:\n- {client.cpus_online: 8}")
    (record,) = records_of(table, {"unit": "b", "connections": 7}, ROW, {"connections": 9}).records
    assert record["fingerprint"]["client"] == {"machine": "z14", "cpus_online": 8}
    assert (record["workload"]["unit"], record["workload"]["connections"]) == ("a", 9)
    # an empty cell is not known
    (record,) = records_of(from_csv("units,latency_us,client.cpu_s\n,null,~\n"), {**ROW, "units": 5}).records
    assert record["runs"][0]["metrics"] == {"elapsed_s": 100, "units": 5}


@pytest.mark.parametrize(
    ("end", "busy_s", "utilization"),
    [
        ({"utilization_pct": 20.6, "cpus_online": 1}, 20.6, 20.6),
        ({"cpu_s": 50, "cpus_online": 2}, 50.0, 25.0),
        # as inexact as an elapsed time of whole seconds
        ({"cpu_s": 407, "cpus_online": 4}, 407.0, 101.75),
        ({"cpu_s": 50}, 50.0, None),
        ({"user_s": 10, "system_s": 30, "cpus_online": 2}, 40.0, 20.0),
        ({"user_s": 10, "system_s": 30}, 40.0, None),
        ({"utilization_pct": 31}, None, 31.0),
    ],
)
def test_cpu_time_of_a_row_is_the_cpu_time_of_the_report(end, busy_s, utilization):
    record = records({"client": end, "units": 1000})[0]
    total = cpu_sum(record["runs"], "client")
    found = kpi(total, None)
    assert found.cpu_us_per_unit == (None if busy_s is None else pytest.approx(1000.0 * busy_s))
    assert found.utilization_pct == (utilization if utilization is None else pytest.approx(utilization))
    assert found.etr_per_h == 36000.0
    assert found.itr_per_h == (None if utilization is None else pytest.approx(3600000.0 / utilization))
    assert found.itr_reason == ("the utilization is not known" if utilization is None else None)
    # user and system time stay apart where the report can use them
    assert ("user_s" in record["runs"][0]["cpu"]["client"]) == ("user_s" in end and "cpus_online" in end)
    (state,) = states_of([record])
    assert state["client"]["cpu_s"] == (None if busy_s is None else pytest.approx(busy_s))
    assert state["client"]["itr_per_h"] == (found.itr_per_h and pytest.approx(found.itr_per_h))


def test_there_is_no_rate_without_both_work_and_time():
    for absent in ({"units": None}, {"units": 5, "elapsed_s": None, "latency_us": 3}):
        assert states_of(records(absent))[0]["etr_per_h"] is None
    (state,) = states_of(records({"client": {"utilization_pct": 20.6, "cpus_online": 1}}))
    assert state["client"]["cpu_s"] == pytest.approx(20.6)
    assert state["client"]["itr_reason"] == "the units of work are not known"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"host": None}, "host is missing"),
        ({"phase": "a b"}, "phase is 'a b'; it must begin with a letter or digit"),
        ({"source": None}, "source.kind is missing"),
        ({"source": {"kind": "rmf"}}, "source has neither file nor text"),
        ({"source": {"kind": "other", "file": "x"}}, "source.text must say what it is"),
        (
            {"source": "hearsay"},
            "source.kind is 'hearsay'; it must be one of sap_job_log, rmf, sd_benchmark, sgen, other",
        ),
        ({"elapsed": 3}, "there is no field elapsed; did you mean elapsed_s?"),
        ({"client.utilisation_pct": 3}, "no field client.utilisation_pct; did you mean client.utilization_pct?"),
        ({3: 3}, "3 names a field; it must be text"),
        ({"elapsed_s": "12,5"}, "elapsed_s is '12,5'; it must be a number, with a point and without separators"),
        ({"elapsed_s": 0}, "elapsed_s is 0; it must be above 0"),
        ({"elapsed_s": float("nan")}, "it must be a finite number"),
        ({"elapsed_s": 10**400}, "a number beyond all bounds; it must be a finite number"),
        (
            {"client": {"utilization_pct": 101}},
            "client.utilization_pct is 101; it must be a percentage of all processors",
        ),
        ({"client": "busy"}, "client is 'busy'; it must be a mapping"),
        ({"client": {"cpus_online": 1.5}}, "client.cpus_online is 1.5; it must be a whole number from 1 to"),
        ({"client": {"cpu_s": 3, "utilization_pct": 3}}, "utilization_pct and client.cpu_s both give the CPU time"),
        # milliseconds for seconds
        ({"client": {"cpu_s": 410, "cpus_online": 4}}, "client has 410 s of CPU time, but 4 CPUs have 400 s in 100 s"),
        (
            {"server": {"user_s": 200, "system_s": 100, "steal_s": 110, "cpus_online": 4}},
            "server has 410 s of CPU time, but 4 CPUs have",
        ),
        ({"client": {"steal_s": 5}}, "client.steal_s is given without CPU time"),
        ({"server": {"user_s": 3}}, "server.user_s is given without the other one"),
        ({"server": {"cpu_s": 3}, "elapsed_s": None, "latency_us": 3}, "server.cpu_s needs elapsed_s"),
        ({"client": {"machine": "z14"}, "client.machine": "z13"}, "client.machine is given twice"),
        ({"client.machine": "z14", "client": {"system": "x"}}, "client is given both as a whole and part by part"),
        ({"host": "a\nb"}, "printable characters"),
        ({"host": ["x"]}, "host is a list; it must be text"),
        ({"round": 0}, "round is 0; it must be a whole number from 1 to 1000"),
        ({"warmup": True}, "a warm-up run belongs to a round, and round is missing"),
        ({"ok": False}, "ok is false; error must say why"),
        ({"ok": True, "error": "x"}, "ok is true, and there is an error"),
        ({"started": "2026-11-20 16:00:00"}, "its time zone is missing"),
        ({"started": "yesterday"}, "it must be a time such as 2026-11-20T16:05:00+01:00"),
        ({"started": "0001-01-01T00:00:00+10:00"}, "this is outside the calendar"),
        ({"elapsed_s": None}, "there is neither elapsed_s nor latency_us; metric.name must say which"),
        ({"metric": "steps"}, "steps decides (metric.name), but is missing in the row"),
        ({"metric": "steps", "metrics": {"steps": 1}}, "metric.unit of steps is missing"),
        ({"metric": {"name": "elapsed_s", "better": "higher"}}, "metric.better of elapsed_s is higher; less of it is"),
        ({"metric": GAIN, "metrics": {"gain": 0}}, "gain decides and is 0; it must be above 0"),
        ({"metrics": {"Steps": 1}}, "the name Steps in metrics is 'Steps'; it must have small letters, digits and _"),
        ({"metrics": {"elapsed_s": 1}}, "metrics.elapsed_s is a field of its own: elapsed_s"),
        ({"context.\r": 1}, "the name '\\r' in context is empty or has blanks around it"),
        ({"units": "9" * 5000}, "units is inf; it must be a finite number"),
    ],
)
def test_a_bad_row_gets_one_sentence_with_its_place(change, said):
    found = problem(change)
    assert found.startswith("rows[0]: ") and found.endswith(".") and "\n" not in found
    assert said in found


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ({"round": 1}, {}, "rows[1]: round is missing, and other rows of this state have one."),
        ({"context": {"a": 1}}, {"context": {"a": 2}}, "rows[1]: context differs from rows[0]"),
        ({"client": {"machine": "z14"}}, {}, "rows[1]: client differs from rows[0]"),
        ({"unit": "a"}, {"unit": "b"}, "rows[1]: unit differs from rows[0]"),
        (
            {"started": "2026-11-20T16:00:00Z"},
            {"started": "2026-11-20T17:00:00+01:00"},
            "rows[1]: began when rows[0] did; the same run cannot count twice.",
        ),
        (
            {},
            {"phase": "after", "elapsed_s": None, "latency_us": 5},
            "latency_us in µs decides here (lower is better), in rows[0], which has the same workload",
        ),
    ],
)
def test_rows_that_do_not_fit_each_other_are_told(first, second, said):
    common = {} if "round" in first else {"round": 1}
    (found,) = problems({**common, **first}, {**common, **second})
    assert said in found


def test_zeros_before_a_number_are_no_digits_of_it():
    assert number("007") == 7 and number("0" * 5000 + "7") == 7


def test_every_bad_row_is_told_and_more_rounds_or_runs_than_a_record_holds():
    assert [text.split(":")[0] for text in problems({}, {"units": 0}, {}, {"host": None})] == ["rows[1]", "rows[3]"]
    (found,) = problems(*({"elapsed_s": number + 1} for number in range(1002)))
    assert found == "rows[1000]: more than 1000 rounds of one state."
    (found,) = problems(*({"round": 1} for _number in range(1001)))
    assert found == "rows[1000]: more than 1000 runs of one round."


def test_wrong_defaults_are_named_as_defaults():
    for wrong in ({"units": 0}, {"nothing": 1}):
        with pytest.raises(RowsError, match="^the defaults: "):
            records_of(rows({}), wrong)
        with pytest.raises(RowsError, match="^the defaults of the file: "):
            records_of(rows({})._replace(defaults=wrong))


def test_csv_rows_know_their_lines_also_behind_empty_lines_and_cells_of_several_lines():
    table = from_csv('a,b\n1,"x\ny"\n\n , \n2,z\n')
    assert table.rows == [
        ("line 2", {"a": "1", "b": "x\ny"}),
        ("line 6", {"a": "2", "b": "z"}),
    ]
    assert from_csv("a;b\n1,5;2\n", ";").rows[0][1] == {"a": "1,5", "b": "2"}


def test_json_may_be_indented_by_tabs():
    rows = [{"a": 1.5, "b": {"c": "x"}}, {"a": 2, "b": {}}]
    for value in (rows, {"rows": rows}):
        first, second = from_yaml("\n" + json.dumps(value, indent="\t")).rows
        assert first[1] == {"a": "1.5", "b": {"c": "x"}} and second[1]["a"] == "2"
    # in YAML of blocks a tab is what it was
    with pytest.raises(RowsError, match="line 2 is not YAML"):
        from_yaml("- a: 1\n\tb: 2\n")


def test_yaml_rows_are_text_know_their_lines_and_may_share_fields():
    (row,) = from_yaml("- {a: 3:55:46, b: 010, c: 2026-11-20, d: yes, e: null, f: 1_000}").rows
    assert row[1] == {"a": "3:55:46", "b": "010", "c": "2026-11-20", "d": "yes", "e": "null", "f": "1_000"}
    table = from_yaml("defaults: {x: 1}\nrows:\n  # one\n  - &one {a: 1, b: 2}\n  - {<<: *one, b: 3}\n")
    assert table.rows == [
        ("line 4", {"a": "1", "b": "2"}),
        ("line 5", {"a": "1", "b": "3"}),
    ]
    assert table.defaults == {"x": "1"}
    # a row that holds itself is not an endless work
    (found,) = records_of(from_yaml("- &a {client: *a}"), ROW).problems
    assert "there is no field client.client" in found
    # equal rows are rounds of their own
    same = records_of(from_yaml("- &a {units: 5}\n- *a\n"), ROW)
    assert [record["round"] for record in same.records] == [1, 2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("a,b\n", "there is no row"),
        ("a,b\n1\n", "line 2 has 1 cells, the header has 2"),
        ("a,a\n1,2\n", "line 1, the header, names a twice"),
        ("a,,b\n1,2,3\n", "line 1, the header, has no name for column 2"),
        ("a;b\n1;2\n", "line 1, the header, is one field that holds a semicolon; set delimiter to that"),
        ('a,b\n1,"x"y\n', "line 2 is not CSV: "),
        ('a,b\n1,"x\n', "is not CSV: "),
    ],
)
def test_an_invalid_csv_file_is_one_sentence(text, said):
    with pytest.raises(RowsError, match=re.escape(said)):
        from_csv(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("[]", "there is no row"),
        ("text", "line 1: this must be a list of rows, or defaults and rows"),
        ("a: 1", "line 1: a is neither defaults nor rows"),
        ("defaults: 1\nrows: [{a: 1}]", "line 1: defaults is not a mapping of fields"),
        ("defaults: {a: 1}", "a list of rows, or defaults and rows"),
        ("- {a: 1}\n- 5", "line 2: a row is a mapping of fields"),
        ("- {a: 1}\n- {a: 1,\n   a: 2}", "line 3 names a twice in one mapping"),
        ("- {[a]: 1}", "line 1: the name of a field is text"),
        ("- &a {a: 1}\n- {<<: [*a, *a]}", "line 2: << takes one mapping"),
        ("- {a: [", "is not YAML: "),
        ("- !!python/object/apply:os.getcwd []", "line 1 has a tag (python/object/apply:os.getcwd)"),
        ("- a: 1\n  b: !!int 2", "line 2 has a tag (int); values have none here"),
        ("- " + "[" * 1500, "it is nested too deeply"),
        ("- " + "[" * 51 + "]" * 51, "it is nested too deeply"),
        ("- {host: app1}\n- {host: a\0b}\n", "line 2 holds the control character #x0000; remove it"),
    ],
)
def test_an_invalid_yaml_file_is_one_sentence(text, said):
    with pytest.raises(RowsError, match=re.escape(said)):
        from_yaml(text)


@pytest.mark.parametrize(
    "text",
    [
        "- &a0 {x: 1}\n" + "".join(f"- &a{n} {{x: *a{n - 1}, y: *a{n - 1}}}\n" for n in range(1, 60)),
        "- &a0 {x: 1}\n" + "".join(f"- &a{n} {{<<: *a{n - 1}, k{n}: 1}}\n" for n in range(1, 70)),
        "defaults: &a {" + ", ".join(f"k{n}: 1" for n in range(50)) + "}\nrows:\n" + "- {<<: *a}\n" * 50,
        "- &a {x: 1, y: 1}\n" + "- *a\n" * 1001,
        "a,b\n" + "1,2\n" * 1001,
    ],
    ids=["aliases of aliases", "merges of merges", "merges", "aliases", "CSV"],
)
def test_few_bytes_do_not_become_many_fields(text, monkeypatch):
    monkeypatch.setattr(_import_rows, "MOST_FIELDS", 2000)
    with pytest.raises(RowsError, match="line [0-9]+: all rows together have more than 2000 fields"):
        from_csv(text) if text.startswith("a") else from_yaml(text)


def test_files_are_read_by_their_ending_and_up_to_a_size(tmp_path, monkeypatch):
    table = tmp_path / "a.CSV"
    table.write_bytes(b"\xef\xbb\xbfa,b\r\n1,\xc3\xb6\r\n")
    assert from_file(table).rows[0][1] == {"a": "1", "b": "ö"}
    other = tmp_path / "a.txt"
    other.write_text('[{"a": 1.50}]')
    assert from_file(other, "yaml").rows[0][1] == {"a": "1.50"}
    with pytest.raises(RowsError, match=r"not one of \.csv, \.yml, \.yaml, \.json; say which format"):
        from_file(other)
    other.write_bytes(b"a,b\n1,2\n1,\xe4\n")
    with pytest.raises(RowsError, match="line 3 is not UTF-8 text"):
        from_file(other, "csv")
    with pytest.raises(RowsError, match="not a regular file"):
        from_file(tmp_path, "csv")
    monkeypatch.setattr(_import_rows, "LARGEST_FILE", 5)
    with pytest.raises(RowsError, match="more than 5 bytes"):
        from_file(table)
    monkeypatch.setattr(_import_rows, "MOST_ROWS", 2)
    with pytest.raises(RowsError, match="there are 3 rows, more than the 2"):
        from_csv("a\n1\n2\n3\n")
    with pytest.raises(RowsError, match=r"rows\[1\] is not a mapping"):
        from_list([{}, "x"])


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["1", "2.5", "before", "rmf", "lower", "2026-11-20T10:00:00Z", "0001-01-01T00:00:00+14:00", "~"]),
    st.lists(st.integers(), max_size=2),
)
NAMES = st.one_of(
    st.sampled_from([*(name for end in ("client", "source", "metric") for name in FIELDS[end].fields), "x"]),
    st.text(max_size=5),
)
FIELD = st.one_of(
    st.sampled_from(list(FIELDS)),
    st.builds("{}.{}".format, st.sampled_from(["client", "metric", "metrics", "context", "source"]), NAMES),
    st.text(max_size=5),
)
ANY_ROW = st.dictionaries(FIELD, st.one_of(ANYTHING, st.dictionaries(NAMES, ANYTHING, max_size=4)), max_size=6)


@settings(max_examples=300)
@given(st.lists(ANY_ROW, min_size=1, max_size=3))
def test_any_content_of_rows_becomes_valid_records_or_sentences(given_rows):
    found = records_of(from_list(given_rows), ROW)
    assert found.records or found.problems
    for record in found.records:
        check_sound(record)
    states_of(found.records)
    for sentence in found.problems:
        assert sentence.startswith("rows[") and sentence.endswith(".") and sentence.isprintable()
