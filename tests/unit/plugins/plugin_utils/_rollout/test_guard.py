# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard of a rollout: every reason to stop, both sides of its bound, and what it cannot judge."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import Options, compare_change
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import guard
from comparing import fail, spoil

SAME = factory.Plan(change="rps-batch-2", design="blocks")
HOSTS = SAME.hosts
LIMITS = Options(max_runs=0, cpu_pct=5.0)
PLANNED = {"cpu_pct": 5.0, "workloads": ["niping"]}
WHERE = "app1 → app2, pingpong-1000B"


def judged(records, tunings=(), hosts=HOSTS, cpu_pct=5.0, **options):
    """The judgement on these records, without a disk."""
    loaded = replace(factory.load(records, tunings), change=SAME.change)
    return guard.judge_records(loaded, hosts, replace(LIMITS, cpu_pct=cpu_pct, **options))


def change(**differences):
    return list(factory.make_change(replace(SAME, **differences)))


def only(records, host="app1", phase=None, control=False):
    """The records of one comparison."""
    return [
        record
        for record in records
        if record["host"] == host and record["workload"]["control"] == control and phase in (None, record["phase"])
    ]


def without(records, unwanted):
    return [record for record in records if not any(record is item for item in unwanted)]


def about(judgement, text):
    return [sentence for sentence in judgement["sentences"] if text in sentence]


def costing(factor):
    """A unit of work costs another amount of CPU time on both ends."""

    def apply(record):
        for run in record["runs"]:
            for end in run["cpu"].values():
                for name in ("user_s", "system_s", "softirq_s"):
                    end[name] *= factor

    return apply


def retransmit(number):
    """Retransmits of the client in the first counted run of a round."""

    def apply(record):
        record["runs"][1]["net"]["client"]["retransmits"] = number

    return apply


def test_nothing_to_complain_about():
    found = judged(change())
    assert found["sentences"] == []
    assert [item["host"] for item in found["comparisons"]] == ["app1", "app2"]
    first = found["comparisons"][0]
    about_it = [first[name] for name in ("peer", "workload", "metric", "unit", "verdict")]
    assert about_it == ["app2", "pingpong-1000B", "av2_us", "µs", "UNCHANGED"]
    assert abs(first["effect_pct"]) < 5.0
    assert {"before", "after"} <= first.keys()
    assert json.loads(json.dumps(found["comparisons"])) == found["comparisons"]
    better = judged(change(effect=-0.10))
    assert better["sentences"] == []
    assert {item["verdict"] for item in better["comparisons"]} == {"IMPROVED"}
    # a host that was as wanted before the rollout is NOT COMPARABLE in the report, and not a reason to stop
    same = [factory.make_tunings(host, "before", 1, plan=SAME) for host in HOSTS]
    assert judged(change(), [*same, *({**item, "phase": "after"} for item in same)])["sentences"] == []


def test_the_guard_says_what_the_report_says():
    records = change(effect=0.15)
    report = compare_change(factory.load(records), options=Options(max_runs=0))
    found = judged(records)
    first, *hosts = report["pooled"]
    assert found["sentences"][0] == f"The workload of 2 hosts: {first['reason']}"
    assert "beyond the material limit of 5 %" in first["reason"]
    assert found["sentences"][1:3] == [f"The workload of {row['host']}: {row['reason']}" for row in hosts]
    assert {item["verdict"] for item in found["comparisons"]} == {"REGRESSED"}
    assert all(item["effect_pct"] < -10.0 for item in found["comparisons"])
    assert judged(records, material_pct=25.0)["sentences"] == []


@pytest.mark.parametrize(
    ("plan", "slow", "name"),
    [
        ({"hosts": tuple(f"app{number}" for number in range(1, 8))}, ("host", "app3"), "app3 got worse: "),
        (
            {"hosts": ("app1",), "sizes": (1, 100, 500, 1000, 10000)},
            ("workload", 500),
            "app1 → app1, pingpong-500B got",
        ),
    ],
)
def test_a_host_or_a_workload_that_suffers_alone_stops_the_batch(plan, slow, name):
    plan = replace(SAME, **plan, session_noise=0.003, run_noise=0.003)

    def hit(record):
        what, value = slow
        own = record["host"] if what == "host" else record["workload"]["bytes"]
        return own == value and not record["workload"]["control"]

    records = [item for item in factory.make_change(plan) if not hit(item)]
    records += [item for item in factory.make_change(replace(plan, effect=0.15)) if hit(item)]
    (sentence,) = judged(records, hosts=plan.hosts)["sentences"]
    assert sentence.startswith(name)


@pytest.mark.parametrize(
    ("harm", "text"), [(lambda record: fail(record, 1), "a run failed"), (retransmit(9), "TCP retransmits rose")]
)
def test_harm_stops_beyond_chance_only(harm, text):
    def after(rounds):
        records = change()
        for host in HOSTS:
            for record in only(records, host=host, phase="after")[:rounds]:
                harm(record)
        return judged(records)

    (sentence,) = after(6)["sentences"]
    assert text in sentence
    found = after(1)
    assert found["sentences"] == []
    assert any(text in note and "may be chance" in note for note in found["notes"])


def test_too_many_failed_runs_after_the_change_stop():
    """The rest of the runs decides nothing; if as many failed before, that is only noted."""
    records = change()
    for host in HOSTS:
        for record in only(records, host=host, phase="after")[:2]:
            fail(record, 5)
    (sentence,) = judged(records)["sentences"]
    assert "33 % of the runs after the change failed" in sentence
    for host in HOSTS:
        for record in only(records, host=host, phase="before")[:2]:
            fail(record, 5)
    found = judged(records)
    assert found["sentences"] == []
    assert any("INCONCLUSIVE" in note and "failed" in note for note in found["notes"])


@pytest.mark.parametrize(("cpu_pct", "stops"), [(5.0, True), (8.0, True), (11.5, False)])
def test_the_cpu_cost_has_a_bound_of_its_own(cpu_pct, stops):
    records = change(cpu_noise=0.001)
    spoil(records, costing(1.1), phase="after")
    found = judged(records, cpu_pct=cpu_pct)
    assert len(found["sentences"]) == 2 * stops
    for sentence, end in zip(found["sentences"], ("client", "server"), strict=False):
        assert sentence.startswith(f"one round trip costs more CPU time on the {end} of all hosts together: ")


@pytest.mark.parametrize(
    ("field", "value", "note"),
    [
        ("net", None, "TCP retransmits"),
        ("cpu_source", {"client": "nmon", "server": None}, "the CPU cost of the client"),
        ("cpu", {"client": None, "server": None}, "the CPU cost of the server"),
    ],
)
def test_what_cannot_be_judged_is_noted(field, value, note):
    records = change()
    for record in only(records, phase="after"):
        for item in record["runs"] if field in record["runs"][0] else [record]:
            item[field] = value
    found = judged(records)
    assert found["sentences"] == []
    assert any(text.startswith(f"{WHERE}: {note}") and "not judged" in text for text in found["notes"])


def test_times_that_a_drift_may_explain_are_noted_and_other_harm_stops():
    records = change(drift=0.004, control=False)
    found = judged(records)
    assert {item["verdict"] for item in found["comparisons"]} == {"REGRESSED"}
    assert found["sentences"] == []
    assert any("worse" in note and "rounds of each state drift" in note for note in found["notes"])
    far = change(drift=0.004, control=False, effect=2.0)
    assert about(judged([*only(records), *only(far, host="app2")]), "The workload of app2: ")
    for host in HOSTS:
        for record in only(records, host=host, phase="after"):
            fail(record, 1)
    (sentence,) = judged(records)["sentences"]
    assert sentence.startswith("errors: ")


def test_another_kernel_stops():
    records = change()
    for record in only(records, phase="after"):
        record["fingerprint"]["client"]["kernel"] = "6.12.0"
    (sentence,) = judged(records)["sentences"]
    assert sentence.startswith(f"{WHERE}: the measurement after cannot be compared: ")
    assert "client.kernel (6.4.0-150600 before, 6.12.0 after)" in sentence
    assert judged(records, expected_change=("kernel",))["sentences"] == []


def test_another_peer_stops():
    records = change()
    for record in only(records, phase="after"):
        record["peer"] = "app3"
    found = judged(records)
    assert about(found, f"{WHERE}: there is no record of the state after: without it the guard proves nothing.")
    assert about(found, "app1 → app3, pingpong-1000B: there is no record of the state before: without it")


@pytest.mark.parametrize("control", [False, True])
def test_a_measurement_that_did_not_come_to_an_end(control):
    records = change()
    lost = only(records, phase="after", control=control)[-1:]
    (sentence,) = judged(without(records, lost))["sentences"]
    assert sentence.startswith("app1 → ")
    assert "5 rounds after the change, 6 before: the measurement did not come to an end" in sentence


def test_without_a_record_or_a_run_after_the_guard_proves_nothing():
    (sentence,) = judged([])["sentences"]
    assert sentence.startswith("No measurement of rps-batch-2 can be used")
    found = judged([record for record in change() if record["phase"] == "before"])
    for where in (WHERE, "app2 → app1, pingpong-1000B"):
        assert about(found, f"{where}: there is no record of the state after")
    assert {item["verdict"] for item in found["comparisons"]} == {"NO DATA"}
    assert found["comparisons"][0]["after"] is None
    records = change()
    found = judged(without(records, [*only(records, phase="after"), *only(records, phase="after", control=True)]))
    assert found["sentences"][0] == "app1 has rounds before the change and none after."
    assert len(about(found, "app1 → ")) == len(found["sentences"][1:]) == 2
    for record in only(records, phase="after"):
        fail(record, 5)
    *_of_the_report, sentence = judged(records)["sentences"]
    assert sentence.startswith(f"{WHERE}: no run after the change succeeded; the first error: connection refused by ")


def test_a_host_without_a_peer_is_noted_and_records_of_other_hosts_do_not_count():
    records = change()
    found = judged(records, hosts=[*HOSTS, "app9"])
    assert found["sentences"] == [] and found["notes"][0].startswith("app9: no records, so the guard says nothing")
    # a host at the other end is measured
    assert not any("no records" in note for note in judged(only(records) + only(records, control=True))["notes"])
    spoil([record for record in records if record["host"] == "app2"], costing(2.0), phase="after")
    found = judged(records, hosts=["app1"])
    assert found["sentences"] == []
    assert [item["host"] for item in found["comparisons"]] == ["app1"]
    assert "app2: not of this batch; these records were ignored." in found["notes"]


def test_inconclusive_is_noted_and_does_not_stop():
    found = judged(change(rounds=4))
    assert found["sentences"] == []
    assert {item["verdict"] for item in found["comparisons"]} == {"INCONCLUSIVE"}
    rows = found["notes"][0]
    assert rows.startswith("The workload of 2 hosts, The workload of app1, ") and "only 4 rounds per state" in rows
    # so does a control that moved
    found = judged(change(effect=0.15, control_effect=0.15))
    assert found["sentences"] == []
    assert any("the control changed on every host" in note for note in found["notes"])


def test_hostile_text():
    bad = "x\x1b[31m\u202e\n" + "y" * 200
    records = change(effect=0.15)
    for record in records:
        record["host"], record["peer"] = f"{record['host']}{bad}", f"{record['peer']}{bad}"[:255]
        record["workload"]["name"] += bad
        record["workload"]["unit"] = bad
        for run in record["runs"]:
            run["error"] = bad
    fail(next(item for item in records if item["phase"] == "after"), 2)
    for run in records[-1]["runs"]:
        run.update(ok=False, error=bad)
    found = judged(records, hosts=[f"{host}{bad}" for host in HOSTS])
    assert found["sentences"]
    texts = [*found["sentences"], *found["notes"]]
    texts += [value for item in found["comparisons"] for value in item.values() if isinstance(value, str)]
    assert all(text.isprintable() and len(text) < 1000 for text in texts)


def test_records_on_disk(tmp_path):
    records = change(effect=0.15)
    factory.write_change(tmp_path, records)
    from_disk = guard.judge(tmp_path, SAME.change, HOSTS, PLANNED)
    assert {**from_disk, "report": ""} == judged(records)
    assert from_disk["sentences"]
    assert guard.judge(str(tmp_path), SAME.change, HOSTS, {**PLANNED, "material_pct": 50.0})["sentences"] == []
    with pytest.raises(ValueError, match="change is '../x'"):
        guard.judge(tmp_path, "../x", HOSTS, PLANNED)


def test_records_that_are_broken_or_cannot_be_read_stop(tmp_path, monkeypatch):
    """Also those of a host that is the peer of another one, and although a host without records is only noted."""
    found = guard.judge(tmp_path, SAME.change, HOSTS, PLANNED)
    assert len(found["sentences"]) == 1
    assert any(note.endswith("the folder of the change does not exist.") for note in found["notes"])
    factory.write_change(tmp_path, change())
    for path in (tmp_path / SAME.change / "app1").iterdir():
        path.write_text("{", encoding="utf-8")
    found = guard.judge(tmp_path, SAME.change, HOSTS, PLANNED)
    (sentence,) = found["sentences"]
    assert sentence.startswith("app1: none of its records can be used")
    assert found["notes"][-1] == "And 19 more problems in the report."

    def refuse(_results, _change):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(guard, "load_change", refuse)
    (sentence,) = guard.judge(tmp_path, SAME.change, HOSTS, PLANNED)["sentences"]
    assert f"{SAME.change} below {tmp_path} cannot be read: Permission denied" in sentence
