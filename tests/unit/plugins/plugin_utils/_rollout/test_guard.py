# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard of a rollout: every reason to stop, both sides of its bound, and what it cannot judge."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import Options
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import guard
from comparing import fail, spoil

SAME = factory.Plan(change="rps-batch-2", design="blocks")
HOSTS = SAME.hosts
WHERE = "app1 → app2, pingpong-1000B"


def judged(records, tunings=(), hosts=HOSTS, cpu_pct=5.0, **options):
    """The judgement on these records, without a disk."""
    loaded = replace(factory.load(records, tunings), change=SAME.change)
    return guard.judge_records(loaded, hosts, cpu_pct, Options(max_runs=0, **options))


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
    assert abs(first["cpu_client_pct"]) < 5.0
    assert (first["failed_before"], first["failed_after"]) == (0, 0)
    assert (first["retransmits_before"], first["retransmits_after"]) == (0.0, 0.0)
    assert json.loads(json.dumps(found["comparisons"])) == found["comparisons"]
    better = judged(change(effect=-0.10))
    assert better["sentences"] == []
    assert {item["verdict"] for item in better["comparisons"]} == {"IMPROVED"}
    # a host that was as wanted before the rollout is NOT COMPARABLE in the report, and not a reason to stop
    same = [factory.make_tunings(host, "before", 1, plan=SAME) for host in HOSTS]
    assert judged(change(), [*same, *({**item, "phase": "after"} for item in same)])["sentences"] == []


def test_a_regression_stops_with_its_figures():
    limit = "more than the material limit of 5 %."
    found = judged(change(effect=0.15))
    (row,) = about(found, "The workload of 2 hosts: ")
    assert "worse (" in row and row.endswith(limit)
    (single,) = about(found, WHERE)
    assert single.startswith(f"{WHERE}: av2_us 5") and single.endswith(limit)
    assert " µs before, " in single and "worse (99.8 % interval -" in single
    assert {item["verdict"] for item in found["comparisons"]} == {"REGRESSED"}
    assert all(item["effect_pct"] < -10.0 for item in found["comparisons"])
    assert judged(change(effect=0.15), material_pct=25.0)["sentences"] == []


def test_one_host_of_many_that_suffers_stops_the_batch():
    hosts = tuple(f"app{number}" for number in range(1, 8))
    plan = replace(SAME, hosts=hosts, session_noise=0.003, run_noise=0.003)
    records = [item for item in factory.make_change(plan) if item["host"] != "app3"]
    records += [item for item in factory.make_change(replace(plan, effect=0.15)) if item["host"] == "app3"]
    found = judged(records, hosts=hosts)
    assert about(found, "app3 → app4, pingpong-1000B: av2_us")
    assert about(found, "The workload of app3: ")
    assert all("app3" in sentence for sentence in found["sentences"])


def test_a_workload_that_suffers_alone_stops_the_batch():
    plan = replace(SAME, hosts=("app1",), sizes=(1, 100, 500, 1000, 10000), session_noise=0.003, run_noise=0.003)
    records = [item for item in factory.make_change(plan) if item["workload"]["bytes"] != 500]
    slow = factory.make_change(replace(plan, effect=0.12))
    records += [item for item in slow if item["workload"]["bytes"] == 500 and not item["workload"]["control"]]
    found = judged(records, hosts=("app1",))
    (sentence,) = found["sentences"]
    assert sentence.startswith("app1 → app1, pingpong-500B: av2_us ")


@pytest.mark.parametrize(("workloads", "stops"), [(23, True), (24, False)])
def test_of_many_comparisons_one_may_be_regressed_by_chance(workloads, stops):
    """The smallest p of six rounds is 0.0022; what stops nothing is noted."""
    sizes = tuple(range(1, workloads + 1))
    plan = replace(SAME, hosts=("app1",), sizes=sizes, control=False, seed=2)
    records = [item for item in factory.make_change(plan) if item["workload"]["bytes"] != 7]
    records += [item for item in factory.make_change(replace(plan, effect=0.2)) if item["workload"]["bytes"] == 7]
    found = judged(records, hosts=("app1",))
    assert [item["workload"] for item in found["comparisons"] if item["verdict"] == "REGRESSED"] == ["pingpong-7B"]
    assert bool(found["sentences"]) is stops
    note = "app1 → app1, pingpong-7B: REGRESSED by itself, which may be chance in so many comparisons."
    assert (note in found["notes"]) is not stops


@pytest.mark.parametrize(
    ("before", "after", "control", "stops"),
    [(1, 1, False, False), (2, 1, True, False), (0, 1, True, True), (1, 2, False, True)],
)
def test_failed_runs(before, after, control, stops):
    records = change()
    for phase, count in (("before", before), ("after", after)):
        fail(only(records, phase=phase, control=control)[0], count)
    found = judged(records)
    assert len(found["sentences"]) == stops
    for sentence in found["sentences"]:
        assert f"{after} of 30 runs failed after the change, {before} of 30 before" in sentence
        assert sentence.endswith("the first error: connection refused by 10.0.0.2:3298.")
    if not control:
        assert (found["comparisons"][0]["failed_before"], found["comparisons"][0]["failed_after"]) == (before, after)


@pytest.mark.parametrize(
    ("before", "after", "stops"), [(0, 4, False), (0, 5, True), (10, 20, False), (10, 21, True), (20, 10, False)]
)
def test_retransmits(before, after, stops):
    records = change()
    retransmit(before)(only(records, phase="before")[0])
    retransmit(after)(only(records, phase="after")[0])
    found = judged(records)
    assert len(found["sentences"]) == stops
    for sentence in found["sentences"]:
        assert sentence.startswith(f"{WHERE}: TCP retransmits rose from {before} in 30 runs to {after} in 30")
    assert found["comparisons"][0]["retransmits_before"] == before
    assert found["comparisons"][0]["retransmits_after"] == after


@pytest.mark.parametrize(
    ("factor", "cpu_pct", "stops"),
    [(1.1, 5.0, True), (1.1, 20.0, False), (1.1, 11.5, False), (1.1, 8.0, True), (0.8, 5.0, False)],
)
def test_cpu_cost(factor, cpu_pct, stops):
    records = change(cpu_noise=0.001)
    spoil(only(records), costing(factor), phase="after")
    found = judged(records, cpu_pct=cpu_pct)
    assert len(found["sentences"]) == 2 * stops
    for sentence in found["sentences"][:1]:
        costs = "one round trip costs more CPU time on the client: cpu_us_per_unit_client "
        assert sentence.startswith(f"{WHERE}: {costs}")
        assert " µs before, " in sentence and sentence.endswith(f"; the bound is {cpu_pct:g} %.")
    for side in ("client", "server"):
        assert found["comparisons"][0][f"cpu_{side}_pct"] == pytest.approx(100.0 * (factor - 1.0), abs=2.5)


@pytest.mark.parametrize(("sizes", "stops"), [((1,), False), ((1, 100, 500), True)])
def test_of_many_cpu_costs_one_may_rise_by_chance(sizes, stops):
    """With six rounds no single cost of 60 is beyond chance (Benjamini and Hochberg); those of a host together are."""
    hosts = tuple(f"app{number:02}" for number in range(1, 11))
    records = change(hosts=hosts, sizes=(1, 100, 500), cpu_noise=0.001, control=False)
    dearer = [item for item in only(records, host="app03") if item["workload"]["bytes"] in sizes]
    spoil(dearer, costing(1.2), phase="after")
    found = judged(records, hosts=hosts)
    assert bool(found["sentences"]) is stops
    assert len(about(found, "app03 → app04")) == len(found["sentences"])
    assert max(item["cpu_client_pct"] for item in found["comparisons"]) > 15.0
    note = "app03 → app04, pingpong-1B: a CPU cost is over the bound by itself, which may be chance in so many."
    assert (note in found["notes"]) is not stops


def test_a_dearer_unit_that_may_be_chance_does_not_stop():
    records = change(cpu_noise=0.4)
    found = judged(records)
    assert max(abs(item["cpu_client_pct"]) for item in found["comparisons"]) > 5.0
    assert found["sentences"] == []


def test_the_cost_of_one_machine_that_is_both_ends():
    records = change(cpu_noise=0.001)
    for record in only(records):
        record["fingerprint"]["server"]["boot_id"] = record["fingerprint"]["client"]["boot_id"]
    spoil(only(records), costing(1.2), phase="after")
    found = judged(records)
    (sentence,) = found["sentences"]
    assert "costs more CPU time on the machine: cpu_us_per_unit " in sentence
    assert found["comparisons"][0]["cpu_client_pct"] == pytest.approx(20.0, abs=3.0)
    assert found["comparisons"][0]["cpu_server_pct"] is None


@pytest.mark.parametrize(
    ("field", "value", "note", "figure"),
    [
        ("net", None, "TCP retransmits", "retransmits_after"),
        ("cpu_source", {"client": "nmon", "server": None}, "the CPU cost of the client", "cpu_client_pct"),
        ("cpu", {"client": None, "server": None}, "the CPU cost of the server", "cpu_server_pct"),
    ],
)
def test_what_cannot_be_judged_is_noted(field, value, note, figure):
    records = change()
    for record in only(records, phase="after"):
        for item in record["runs"] if field in record["runs"][0] else [record]:
            item[field] = value
    found = judged(records)
    assert found["sentences"] == []
    assert any(text.startswith(f"{WHERE}: {note}") and "not judged" in text for text in found["notes"])
    assert found["comparisons"][0][figure] is None


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
    assert len(about(found, "app1 → ")) == len(found["sentences"]) == 2
    for record in only(records, phase="after"):
        fail(record, 5)
    (sentence,) = judged(records)["sentences"]
    assert sentence.startswith(f"{WHERE}: no run after the change succeeded; the first error: connection refused by ")


def test_a_host_without_a_peer_is_noted_and_records_of_other_hosts_do_not_count():
    records = change()
    found = judged(records, hosts=[*HOSTS, "app9"])
    assert found["sentences"] == [] and found["notes"][0].startswith("app9: no records, so the guard says nothing")
    # a host at the other end is measured
    assert judged(only(records) + only(records, control=True))["notes"] == judged(records)["notes"] == []
    spoil([record for record in records if record["host"] == "app2"], costing(2.0), phase="after")
    found = judged(records, hosts=["app1"])
    assert found["sentences"] == []
    assert [item["host"] for item in found["comparisons"]] == ["app1"]
    assert "app2: not of this batch; these records were ignored." in found["notes"]


def test_inconclusive_is_noted_and_does_not_stop():
    found = judged(change(rounds=4))
    assert found["sentences"] == []
    assert {item["verdict"] for item in found["comparisons"]} == {"INCONCLUSIVE"}
    rows, single = found["notes"][:2]
    assert rows.startswith("The workload of 2 hosts, The workload of app1, ") and "only 4 rounds per state" in rows
    assert single.startswith(f"{WHERE}, app2 → app1, pingpong-1000B: INCONCLUSIVE by itself")
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
    from_disk = guard.judge(tmp_path, SAME.change, HOSTS, 5.0)
    assert {**from_disk, "report": ""} == judged(records)
    assert from_disk["sentences"]
    assert guard.judge(str(tmp_path), SAME.change, HOSTS, 5.0, material_pct=50.0)["sentences"] == []
    with pytest.raises(ValueError, match="change is '../x'"):
        guard.judge(tmp_path, "../x", HOSTS, 5.0)


def test_records_that_are_broken_or_cannot_be_read_stop(tmp_path, monkeypatch):
    """Also those of a host that is the peer of another one, and although a host without records is only noted."""
    found = guard.judge(tmp_path, SAME.change, HOSTS, 5.0)
    assert len(found["sentences"]) == 1
    assert any(note.endswith("the folder of the change does not exist.") for note in found["notes"])
    factory.write_change(tmp_path, change())
    for path in (tmp_path / SAME.change / "app1").iterdir():
        path.write_text("{", encoding="utf-8")
    found = guard.judge(tmp_path, SAME.change, HOSTS, 5.0)
    (sentence,) = found["sentences"]
    assert sentence.startswith("app1: none of its records can be used")
    assert found["notes"][-1] == "And 19 more problems in the report."

    def refuse(_results, _change):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(guard, "load_change", refuse)
    (sentence,) = guard.judge(tmp_path, SAME.change, HOSTS, 5.0)["sentences"]
    assert f"{SAME.change} below {tmp_path} cannot be read: Permission denied" in sentence
