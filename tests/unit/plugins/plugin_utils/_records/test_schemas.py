# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The JSON Schemas of docs/schemas against what is written, and against the light check that runs at every load."""

from __future__ import annotations

import copy
import json

import pytest
import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import compare_change
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.reading import VERDICTS, Reader
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.record_files import load_change, validate
from jsonschema import Draft202012Validator
from places import FIXTURES, SCHEMAS


def validator(name):
    schema = json.loads((SCHEMAS / f"{name}-1.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def validate_tunings(record):
    """What is wrong with a tunings file; None if it is sound."""
    try:
        Reader().tunings(record)
    except ValueError as error:
        return str(error)
    return None


def changed(record, path, value):
    """A copy of the record with one item replaced, or taken out where ``value`` is ``...``."""
    record = copy.deepcopy(record)
    *way, last = path
    item = record
    for step in way:
        item = item[step]
    if value is ...:
        del item[last]
    else:
        item[last] = value
    return record


def failed_round():
    record = factory.make_record([50.0] * 6)
    record["runs"] = [factory.fail_run(run) for run in record["runs"]]
    record["fingerprint"]["server"] = None
    return record


def aix_round():
    record = factory.make_record([50.0] * 6)
    for run in record["runs"]:
        for end in run["cpu"].values():
            end.update(softirq_s=None, steal_s=None, physc=0.45, entitlement=0.5)
        run["net"] = {"client": {"retransmits": None, "rps_received": None}, "server": None}
    for end in record["fingerprint"].values():
        end.update(system="AIX", interface=None, mtu=None, boot_id=None, rps_cpus=None, smc_r="on")
        end["entitlement"] = "0.5 cores (lparstat)"
    return record


def told_round():
    return factory.make_record([50.0] * 6) | {"histogram_us": "340:1,5,12 412:1"}


@pytest.mark.parametrize(
    "record",
    [
        factory.make_record([50.0] * 6),
        factory.make_record([25.0] * 6, control=True),
        failed_round(),
        aix_round(),
        told_round(),
    ],
    ids=["a round", "a control", "all runs failed", "AIX", "each round trip is known"],
)
def test_measurement_records_fit_schema_and_check(record):
    assert validator("measurement").is_valid(record)
    assert validate(record) is None


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (["schema"], "zpower.sap_tuning/measurement/2", "schema"),
        (["change"], "../other", "change"),
        (["change"], "x" * 65, "change"),
        (["phase"], "a/b", "phase"),
        (["round"], 0, "round"),
        (["round"], True, "round"),
        (["host"], "", "host"),
        (["peer"], None, "peer"),
        (["workload", "bytes"], "1000", "workload.bytes"),
        (["workload", "control"], 1, "workload.control"),
        (["workload", "tool"], ..., "workload.tool"),
        (["protocol", "rounds"], "six", "protocol.rounds"),
        (["runs"], {}, "runs"),
        (["runs", 2, "ok"], "yes", "runs[2].ok"),
        (["runs", 2, "metrics"], None, "runs[2].metrics"),
        (["runs", 2, "metrics", "av2_us"], "51.2", "runs[2].metrics.av2_us"),
        (["runs", 2, "cpu", "client", "user_s"], "0.1", "runs[2].cpu.client.user_s"),
        (["runs", 2, "net", "server"], 7, "runs[2].net.server"),
        (["idle", "client", "idle_s"], [], "idle.client.idle_s"),
        (["fingerprint", "client", "clock_step_s"], "0", "fingerprint.client.clock_step_s"),
        (["fingerprint", "client", "boot_id"], 7, "fingerprint.client.boot_id"),
        (["histogram_us"], {"340": 1}, "histogram_us"),
        (["histogram_us"], "340:1,-5", "histogram_us"),
        (["histogram_us"], "340:1," + "1" * 13, "histogram_us"),
        (["histogram_us"], "1:1" + " 2:1" * 5000, "histogram_us"),
    ],
)
def test_both_turn_away_the_same_measurement_records(path, value, named):
    record = changed(factory.make_record([50.0] * 6), path, value)
    assert not validator("measurement").is_valid(record)
    assert validate(record).startswith(f"{named} is ")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400, -(10**400), True])
def test_figures_that_no_statistics_survive_are_turned_away(value):
    record = changed(factory.make_record([50.0] * 6), ["runs", 1, "metrics", "max_us"], value)
    assert validate(record).startswith("runs[1].metrics.max_us is ")


@pytest.mark.parametrize("record", [None, [], "text", 7, {}])
def test_what_is_no_record_is_told_in_a_sentence(record):
    assert " is " in validate(record)
    assert " is " in validate_tunings(record)


def test_tunings_files_fit_schema_and_check():
    record = factory.make_tunings("app1", "after", 1)
    assert validator("tunings").is_valid(record)
    assert validate_tunings(record) is None
    schema = json.loads((SCHEMAS / "tunings-1.schema.json").read_text(encoding="utf-8"))
    assert schema["$defs"]["tuning"]["properties"]["verdict"]["enum"] == list(VERDICTS)


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (["check_mode"], "no", "check_mode"),
        (["tunings"], {}, "tunings"),
        (["tunings", 0], "rps", "tunings[0]"),
        (["tunings", 0, "verdict"], "fine", "tunings[0].verdict"),
        (["tunings", 0, "name"], None, "tunings[0].name"),
        (["tunings", 0, "after"], "0000ffff", "tunings[0].after"),
    ],
)
def test_both_turn_away_the_same_tunings_files(path, value, named):
    record = changed(factory.make_tunings("app1", "after", 1), path, value)
    assert not validator("tunings").is_valid(record)
    assert validate_tunings(record).startswith(f"{named} is ")


def reports():
    yield "improved", factory.Plan(effect=-0.1), True
    yield "three rounds, no tunings", factory.Plan(rounds=3), False
    yield "one block each", factory.Plan(design="blocks", control=False), True


@pytest.mark.parametrize(("plan", "tuned"), [item[1:] for item in reports()], ids=[item[0] for item in reports()])
def test_reports_fit_their_schema(tmp_path, plan, tuned):
    factory.write_change(tmp_path, factory.make_change(plan), factory.change_tunings(plan) if tuned else ())
    report = compare_change(load_change(tmp_path, plan.change))
    assert list(validator("report").iter_errors(report)) == []


def test_report_without_records_fits_its_schema(tmp_path):
    report = compare_change(load_change(tmp_path, "nothing"))
    assert list(validator("report").iter_errors(report)) == []
    assert report["verdict"] == "NO DATA"
    assert report["headline"] == "No measurement of this change was found."


def test_report_of_failed_and_foreign_rounds_fits_its_schema(tmp_path):
    plan = factory.Plan(control=False)
    records = [
        {**record, "runs": [factory.fail_run(run) for run in record["runs"]]} if record["phase"] == "after" else record
        for record in factory.make_change(plan)
    ]
    factory.write_change(tmp_path, records)
    (tmp_path / plan.change / "app1" / "notes.json").write_text("{", encoding="utf-8")
    report = compare_change(load_change(tmp_path, plan.change))
    assert list(validator("report").iter_errors(report)) == []
    assert report["counts"]["NO DATA"] == 2
    assert len(report["problems"]) == 1


@pytest.mark.parametrize(("name", "kind"), [("measurement", "records"), ("tunings", "tunings")])
def test_files_of_the_first_version_are_still_valid(name, kind):
    fixtures = FIXTURES / "records"
    stored = json.loads((fixtures / "version-0.1.0.json").read_text(encoding="utf-8"))
    assert stored[kind] and [list(validator(name).iter_errors(item)) for item in stored[kind]] == [[]] * len(
        stored[kind]
    )


@pytest.mark.parametrize(
    ("kind", "formats"),
    [("evidence", {"evidence", "rollout"}), ("sessions", {"measurement", "tunings", "experiment"})],
)
def test_files_of_0_9_0_are_still_valid(kind, formats):
    fixtures = FIXTURES / kind
    stored = json.loads((fixtures / "version-0.9.0.json").read_text(encoding="utf-8"))
    found = {name: document["schema"].split("/")[1] for name, document in stored.items()}
    assert set(found.values()) == formats
    for name, document in stored.items():
        assert list(validator(found[name]).iter_errors(document)) == [], name
