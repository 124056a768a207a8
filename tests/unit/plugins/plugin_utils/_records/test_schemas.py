# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The JSON Schemas of docs/schemas, the types, and the light check that runs at every load: all turn away the same."""

from __future__ import annotations

import copy
import functools
import json
import operator
from typing import Annotated, Any, TypedDict

import pytest
import records_factory as factory
import schemas
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import compare_change
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.checks import VERDICTS
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.reading import Reader
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.record_files import load_change, validate
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.shapes import NotRequired, Stamp, check_shape
from documents import put, schema_errors, schema_of
from places import FIXTURES


def validate_tunings(record):
    """What is wrong with a tunings file; None if it is sound."""
    try:
        Reader().tunings(record)
    except ValueError as error:
        return str(error)
    return None


CHECKS = {"measurement": validate, "tunings": validate_tunings}


def changed(record, path, value):
    """A copy of the record with one item replaced, or taken out where ``value`` is ``...``."""
    record = copy.deepcopy(record)
    if value is not ...:
        return put(record, path, value)
    del functools.reduce(operator.getitem, path[:-1], record)[path[-1]]
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


@pytest.mark.parametrize(
    "record",
    [
        factory.make_record([50.0] * 6),
        factory.make_record([25.0] * 6, control=True),
        failed_round(),
        aix_round(),
        factory.make_record([50.0] * 6) | {"histogram_us": "340:1,5,12 412:1"},
        factory.make_tunings("app1", "after", 1),
    ],
    ids=["a round", "a control", "all runs failed", "AIX", "each round trip is known", "tunings"],
)
def test_what_is_written_fits_schema_and_check(record):
    kind = record["schema"].split("/")[1]
    assert schema_errors(kind, record) == []
    assert CHECKS[kind](record) is None


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
        (["workload", "metric"], {"name": "x", "unit": "s", "better": "more"}, "workload.metric.better"),
        (["workload", "metric"], {"name": "x"}, "workload.metric.unit"),
        (["workload", "metric"], "av2_us", "workload.metric"),
        (["workload", "params"], {"users": [1]}, "workload.params.users"),
        (["workload", "unit"], 3, "workload.unit"),
        (["context"], {"packet_size": {"a": 1}}, "context.packet_size"),
        (["source"], {"kind": 3}, "source.kind"),
        (["cpu_source"], "nmon", "cpu_source"),
        (["left_behind"], ["locks"], "left_behind"),
        (["check_mode"], "no", "check_mode"),
        (["tunings"], {}, "tunings"),
        (["tunings", 0], "rps", "tunings[0]"),
        (["tunings", 0, "verdict"], "fine", "tunings[0].verdict"),
        (["tunings", 0, "name"], None, "tunings[0].name"),
        (["tunings", 0, "after"], "0000ffff", "tunings[0].after"),
        (["tunings", 0, "conflicts"], 7, "tunings[0].conflicts"),
        (["tunings", 0, "remarks"], True, "tunings[0].remarks"),
        (["tunings", 0, "sources"], {"a": 1}, "tunings[0].sources"),
    ],
)
def test_both_reject_the_same_records(path, value, named):
    tunings = path[0] in ("check_mode", "tunings")
    kind = "tunings" if tunings else "measurement"
    sound = factory.make_tunings("app1", "after", 1) if tunings else factory.make_record([50.0] * 6)
    record = changed(sound, path, value)
    assert schema_errors(kind, record)
    assert CHECKS[kind](record).startswith(f"{named} is ")


def test_the_schema_of_tunings_has_the_verdicts():
    assert schema_of("tunings")["$defs"]["tuning"]["properties"]["verdict"]["enum"] == list(VERDICTS)


def test_figures_that_break_statistics_and_what_is_not_a_record_are_rejected():
    for value in (float("nan"), float("inf"), 10**400, -(10**400), True):
        record = changed(factory.make_record([50.0] * 6), ["runs", 1, "metrics", "max_us"], value)
        assert validate(record).startswith("runs[1].metrics.max_us is ")
    record = changed(factory.make_record([50.0] * 6), ["context"], {"packet_size": 1e300})
    assert validate(record).startswith("context.packet_size is 1e+300")
    for value in (None, [], "text", 7, {}):
        assert " is " in validate(value) and " is " in validate_tunings(value)


@pytest.mark.parametrize(
    ("plan", "tuned"),
    [
        (factory.Plan(effect=-0.1), True),
        (factory.Plan(rounds=3), False),
        (factory.Plan(design="blocks", control=False), True),
    ],
    ids=["improved", "three rounds, no tunings", "one block each"],
)
def test_reports_fit_their_schema(tmp_path, plan, tuned):
    factory.write_change(tmp_path, factory.make_change(plan), factory.change_tunings(plan) if tuned else ())
    assert schema_errors("report", compare_change(load_change(tmp_path, plan.change))) == []


def test_reports_without_usable_records_fit_their_schema(tmp_path):
    report = compare_change(load_change(tmp_path, "nothing"))
    assert schema_errors("report", report) == []
    assert report["verdict"] == "NO DATA"
    assert report["headline"] == "No measurement of this change was found."
    plan = factory.Plan(control=False)
    records = list(factory.make_change(plan))
    for record in records:
        if record["phase"] == "after":
            record["runs"] = [factory.fail_run(run) for run in record["runs"]]
    factory.write_change(tmp_path, records)
    (tmp_path / plan.change / "app1" / "notes.json").write_text("{", encoding="utf-8")
    report = compare_change(load_change(tmp_path, plan.change))
    assert schema_errors("report", report) == []
    assert report["counts"]["NO DATA"] == 2
    assert len(report["problems"]) == 1


@pytest.mark.parametrize(
    ("file", "formats"),
    [
        ("records/version-0.1.0.json", {"measurement", "tunings"}),
        ("evidence/version-0.9.0.json", {"evidence", "rollout"}),
        ("sessions/version-0.9.0.json", {"measurement", "tunings", "experiment"}),
    ],
)
def test_files_of_earlier_versions_are_still_valid(file, formats):
    stored = json.loads((FIXTURES / file).read_text(encoding="utf-8"))
    stored.pop("$comment", None)
    documents = [one for item in stored.values() for one in (item if isinstance(item, list) else [item])]
    assert {document["schema"].split("/")[1] for document in documents} == formats
    for document in documents:
        assert schema_errors(document["schema"].split("/")[1], document) == []


TIME = "2026-11-20T10:00:00Z"


class Inner(TypedDict):
    """A part of a document."""

    count: int
    names: list[str]


class Sample(TypedDict):
    """One of each kind."""

    word: Annotated[str, ("one", "two")]
    flag: bool
    time: Stamp | None
    size: float
    inner: dict[str, Inner]
    anything: object
    more: NotRequired[Inner]


def sample(**more: Any) -> dict[str, Any]:
    inner = {"a": {"count": 1, "names": ["x"]}}
    return {"word": "one", "flag": True, "time": TIME, "size": 1.5, "inner": inner, "anything": None, **more}


@pytest.mark.parametrize("more", [{}, {"time": None}, {"more": None}, {"inner": {}}, {"unknown": 7}])
def test_what_fits(more: dict[str, Any]) -> None:
    check_shape(sample(**more), Sample)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"word": "three"}, "word is 'three'; it must be one of one, two"),
        ({"word": ["one"]}, "word is a list; it must be one of one, two"),
        ({"flag": 1}, "flag is 1; it must be true or false"),
        ({"time": "today"}, "time is 'today'; it must be a time such as 2026-11-20T10:00:00Z"),
        ({"size": None}, "size is missing; it must be a number"),
        ({"size": float("inf")}, "size is inf; it must be a number or null"),
        ({"inner": []}, "inner is a list; it must be an object"),
        ({"inner": {"a": {"count": True, "names": []}}}, "inner.a.count is True; it must be a whole number from 0"),
        ({"inner": {"a": {"count": 1, "names": [7]}}}, "inner.a.names is 7; it must be a list of texts"),
        ({"more": {"count": 1}}, "more.names is missing; it must be a list of texts"),
    ],
)
def test_what_does_not_fit_is_named(more: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as caught:
        check_shape(sample(**more), Sample)
    assert str(caught.value).startswith(words)


def test_what_is_missing_may_be_filled() -> None:
    document = sample(more={"count": 1})
    del document["time"]
    check_shape(document, Sample, fill=True)
    assert document["time"] is None and document["more"] == {"count": 1, "names": []}
    with pytest.raises(ValueError, match="^flag is missing; it must be true or false"):
        check_shape(sample(flag=None), Sample, fill=True)


def test_a_generated_schema_has_what_the_type_says_and_what_was_written_by_hand() -> None:
    count = {"type": "integer", "description": "How many", "minimum": 0}
    names = {"type": "array", "items": {"type": "string"}}
    old = {"gone": {}, "size": {"type": "string"}, "more": {"properties": {"count": count}}}
    found = schemas.fitted(Sample, {"title": "A sample", "properties": old}, {})
    inner = {"type": "object", "required": ["count", "names"], "additionalProperties": False}
    assert found == {
        "title": "A sample",
        "type": "object",
        "properties": {
            "size": {"type": "number"},
            "more": {**inner, "properties": {"count": count, "names": names}},
            "word": {"enum": ["one", "two"]},
            "flag": {"type": "boolean"},
            "time": {"anyOf": [{"$ref": "#/$defs/time"}, {"type": "null"}]},
            "inner": {
                "type": "object",
                "additionalProperties": {**inner, "properties": {"count": {"type": "integer"}, "names": names}},
            },
            "anything": {},
        },
        "required": ["anything", "flag", "inner", "size", "time", "word"],
        "additionalProperties": False,
    }
    assert schemas.fitted(Sample, found, {"time": {"type": "string"}}) == found
