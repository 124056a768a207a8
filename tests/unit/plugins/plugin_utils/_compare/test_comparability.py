# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether two states may be compared: surroundings, tunings in force, and a control that stood still."""

from __future__ import annotations

from dataclasses import replace

import pytest
import records_factory as factory
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparability import NOTHING_CHANGED, Tunings
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import compare_change
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment.factors import Level
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._experiment.plans import plan
from comparing import BETTER, fail, main, records_of, report_of, spoil

# Comparability


def test_the_state_before_is_what_the_first_round_after_found():
    """All rounds before may come first, with nothing to take back; later rounds after find the tuning set already."""
    files = [factory.make_tunings("app1", "after", number) for number in (1, 2, 3)]
    for file in files[1:]:
        (record,) = file["tunings"]
        record.update(before=record["after"], verdict="compliant")
    found = Tunings(files)
    assert found.blocks(["app1"]) is None
    (change,) = [tuning.entry() for tuning in found]
    assert change["before"]["running"] == {"rx-0": "00000000"}
    # set from the beginning, there is no state before
    assert Tunings(files[1:]).blocks(["app1"]) == NOTHING_CHANGED


@pytest.mark.parametrize(
    ("side", "item", "value"),
    [
        ("client", "kernel", "6.4.0-150700"),
        ("server", "kernel", None),
        ("server", "machine", "3906"),
        ("client", "cpus_online", 4),
        ("server", "interface", "eth0"),
        *(
            pytest.param(side, item, value, marks=pytest.mark.nightly)
            for side in ("client", "server")
            for item, value in (("system", "AIX"), ("arch", "x86_64"), ("mtu", 1500))
        ),
    ],
)
def test_a_different_end_is_not_comparable(side, item, value):
    report = report_of(spoil(records_of(), lambda record: record["fingerprint"][side].update({item: value}), "after"))
    found = main(report)
    assert found["verdict"] == "NOT COMPARABLE"
    assert f"{side}.{item}" in found["reason"]
    assert found["ratio"] is None
    (entry,) = report["comparability"]
    assert (entry["item"], entry["must_match"], entry["after"]) == (f"{side}.{item}", True, str(value or "unknown"))


@pytest.mark.parametrize(
    ("item", "value"), [("tool", "niping"), ("version", "2"), ("bytes", 999), ("loops", 1), ("connections", 5)]
)
def test_a_different_workload_is_not_comparable(item, value):
    report = report_of(spoil(records_of(), lambda record: record["workload"].update({item: value}), "after"))
    assert main(report)["verdict"] == "NOT COMPARABLE"
    assert report["comparability"][0]["item"] == f"pingpong-1000B.{item}"


def test_a_change_within_a_state_or_of_the_tool_is_not_comparable_even_if_declared():
    records = records_of()
    spoil([r for r in records if r["round"] > 3], lambda record: record["fingerprint"]["client"].update(mtu=1500))
    assert report_of(records)["comparability"][0]["before"] == "1500, 8192"
    for declared in ([], ["mtu"]):
        assert main(report_of(records, expected_change=declared))["verdict"] == "NOT COMPARABLE"
    records = spoil(records_of(), lambda record: record["workload"].update(tool="niping"), "after")
    assert main(report_of(records, expected_change=["workload.*"]))["verdict"] == "NOT COMPARABLE"


def test_items_that_are_only_shown_and_a_failed_round_without_fingerprint_decide_nothing():
    def change(record):
        record["fingerprint"]["client"].update(python="3.11.2", rps_cpus={"rx-0": "ffff"})

    def lose(record):
        fail(record, 5)
        record["fingerprint"] = {"client": None, "server": None}

    records = spoil(records_of(replace(BETTER, rounds=7)), change, "after")
    spoil([record for record in records if record["round"] == 7], lose, "after")
    report = report_of(records)
    assert main(report)["verdict"] == "IMPROVED"
    assert [item["item"] for item in report["comparability"]] == ["client.python", "client.rps_cpus"]


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (None, "3.0 to 3.5 cores (polarization)", "IMPROVED"),
        ("3.2 cores (diag_204)", None, "IMPROVED"),
        ("3.2 cores (diag_204)", "3.2 cores (diag_204)", "IMPROVED"),
        ("3.2 cores (diag_204)", "4.0 cores (diag_204)", "NOT COMPARABLE"),
    ],
)
@pytest.mark.parametrize("item", ["entitlement", "sap_kernel"])
def test_what_must_match_if_both_states_know_it(item, before, after, verdict):
    """A switch to vertical polarization makes an entitlement known, and must not end the comparison."""
    records = records_of()
    for phase, value in (("before", before), ("after", after)):
        spoil(records, lambda record, value=value: record["fingerprint"]["client"].update({item: value}), phase)
    report = report_of(records)
    assert main(report)["verdict"] == verdict
    shown = [(entry["item"], entry["before"], entry["after"]) for entry in report["comparability"]]
    assert shown == ([] if before == after else [("client." + item, before or "unknown", after or "unknown")])
    assert main(report_of(records, expected_change=[item]))["verdict"] == "IMPROVED"


def tunings_of(**changes):
    """The tunings files of both hosts; ``changes`` replace items of the single tuning in those of the phase after."""
    files = list(factory.change_tunings(BETTER))
    for item in files:
        if item["phase"] == "after":
            item["tunings"][0].update(changes)
    return files


def test_a_tuning_in_force_is_comparable_and_listed():
    report = report_of(records_of(), tunings_of(conflicts=[{"what": "a udev rule", "file": "/etc/x", "line": 1}]))
    assert main(report)["verdict"] == "IMPROVED"
    assert [(item["host"], item["took_effect"]) for item in report["changes"]] == [("app1", True), ("app2", True)]
    assert report["changes"][0]["before"]["running"] == {"rx-0": "00000000"}
    assert report["changes"][0]["after"]["running"] == {"rx-0": "0000ffff"}
    assert {item["tuning"] for item in report["published"]} == {"rps"}
    assert "rps hsi0 on app1 has conflicts: see What changed." in report["warnings"]
    assert report_of(records_of(), tunings_of())["warnings"] == []


@pytest.mark.parametrize(("verdict", "effect"), [("failed", False), ("pending_restart", False), ("drifted", True)])
def test_a_tuning_that_did_not_take_effect(verdict, effect):
    """Of one that has drifted, only the next boot is wrong: it was in force."""
    report = report_of(records_of(), tunings_of(verdict=verdict))
    assert main(report)["verdict"] == ("IMPROVED" if effect else "NOT COMPARABLE")
    assert report["changes"][0]["took_effect"] is effect
    told = f"rps hsi0 on app1 did not take effect before round 1 ({verdict})"
    assert (told in main(report)["reason"]) is not effect


def test_a_record_of_nothing_to_roll_back_is_not_a_change():
    empty = {"running": None, "stored": None, "next_boot": None}
    nothing = {"subject": "all", "verdict": "compliant", "before": empty, "after": empty}
    files = tunings_of()
    for file in files:
        if (file["phase"], file["round"]) == ("before", 1):
            file["tunings"] = [{**file["tunings"][0], **nothing}]
    report = report_of(records_of(), files)
    assert main(report)["verdict"] == "IMPROVED"
    assert {item["subject"] for item in report["changes"]} == {"hsi0"}


@pytest.mark.parametrize("verdict", ["not_applicable", "unsupported", "waived"])
def test_a_knob_left_alone_blocks_nothing_but_is_not_a_change(verdict):
    alone = tunings_of(verdict=verdict, after=OFF)
    report = report_of(records_of(), alone)
    assert NOTHING_CHANGED in main(report)["reason"]
    assert report["changes"][0]["took_effect"] is None
    other = {**alone[0]["tunings"][0], "name": "other", "verdict": "changed"}
    for item in alone:
        state = factory.knob("1" if item["phase"] == "after" else "0")
        item["tunings"].append({**other, "after": state})
    assert main(report_of(records_of(), alone))["verdict"] == "IMPROVED"


OFF = factory.knob({"rx-0": "00000000"})


def with_round_4(phase, mask):
    """The tunings files, with another value of one host in one round of a state."""
    files = tunings_of()
    late = next(item for item in files if (item["host"], item["phase"], item["round"]) == ("app2", phase, 4))
    late["tunings"][0]["after"] = factory.knob({"rx-0": mask})
    return files


def not_taken_back():
    files = tunings_of()
    next(item for item in files if item["phase"] == "before")["tunings"][0]["verdict"] = "failed"
    return files


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (tunings_of(after=OFF, verdict="compliant"), NOTHING_CHANGED),
        ([{**item, "host": "db1"} for item in tunings_of()], NOTHING_CHANGED),
        (with_round_4("after", "00000000"), "rps hsi0 on app2 had the same value in rounds of both phases"),
        # changed by hand, to a value that neither state has: the rounds of this one have nothing in common all the same
        (with_round_4("before", "00000002"), "rps hsi0 on app2 was not the same in all rounds of the state before"),
        (with_round_4("after", "00000002"), "rps hsi0 on app2 was not the same in all rounds of the state after"),
        (not_taken_back(), "could not be taken back before round 1"),
        ([{**item, "check_mode": item["phase"] == "after"} for item in tunings_of()], "only tried in check mode"),
    ],
)
def test_tunings_that_were_not_one_value_before_and_another_after(files, reason):
    found = main(report_of(records_of(), files))
    assert found["verdict"] == "NOT COMPARABLE"
    assert reason in found["reason"]


def test_what_check_mode_predicts_was_not_in_force():
    """The state before, as `site` in check mode sees it: off is in force, and on is what it would set."""
    files = tunings_of()
    for item in files:
        if item["phase"] == "before":
            (tuning,) = item["tunings"]
            tuning.update(before=tuning["after"], after=tuning["before"], verdict="drifted")
            item["check_mode"] = True
    report = report_of(records_of(), files)
    assert main(report)["verdict"] == "IMPROVED"
    (change,) = [item for item in report["changes"] if item["host"] == "app1"]
    assert change["before"]["running"] == {"rx-0": "00000000"}
    assert change["after"]["running"] == {"rx-0": "0000ffff"}
    # a state before that only the tuning saw
    files = [item for item in tunings_of() if item["phase"] == "after"]
    assert main(report_of(records_of(), files))["verdict"] == "IMPROVED"


def test_a_control_that_moved_leaves_nothing_to_conclude_on_its_host():
    report = report_of(records_of(replace(BETTER, control_effect=-0.08)))
    found = main(report)
    assert (found["verdict"], report["verdict"]) == ("INCONCLUSIVE", "INCONCLUSIVE")
    assert "the control workload, which the change cannot affect, changed by +" in found["reason"]
    assert report["pooled"][0]["cause"] == "control" and report["pooled"][0]["control_ratio"] > 1.05
    (control,) = [item for item in report["comparisons"] if item["control"]]
    assert control["verdict"] == "IMPROVED"
    assert report["counts"]["IMPROVED"] == 0
    assert any("control workload changed" in warning for warning in report["warnings"])
    records = [*records_of(), *records_of(replace(BETTER, control_effect=-0.2), host="app2")]
    words = {item["host"]: item["verdict"] for item in report_of(records)["comparisons"] if not item["control"]}
    assert words == {"app1": "IMPROVED", "app2": "INCONCLUSIVE"}


def test_without_a_control_the_report_says_so():
    report = report_of(records_of(replace(BETTER, control=False)))
    assert main(report)["verdict"] == "IMPROVED"
    assert any("no control workload" in flag for flag in main(report)["flags"])
    assert any("No control workload" in warning for warning in report["warnings"])


def in_blocks(record):
    day = 19 if record["phase"] == "before" else 20
    record["started"] = f"2026-11-{day}T10:00:{record['round']:02d}.000000Z"


def unknown_order(record):
    record["started"] = None if record["phase"] == "after" else record["started"]


@pytest.mark.parametrize(("order", "design"), [(in_blocks, "blocks"), (unknown_order, "unknown"), (None, "alternate")])
def test_rounds_that_did_not_alternate_or_have_no_known_order_are_weaker_evidence(order, design):
    report = report_of(spoil(records_of(), order) if order else records_of())
    what = "order of the rounds is unknown" if design == "unknown" else "rounds of the two states did not alternate"
    assert (f"Weaker evidence: in 1 comparison the {what}." in report["warnings"]) is (order is not None)
    assert report["protocol"]["design"] == design
    assert report["protocol"]["evidence"].startswith("weaker evidence") is (order is not None)
    assert any("Let the states alternate" in step for step in report["next_steps"]) is (design == "blocks")


def test_a_control_that_cannot_be_compared_was_measured():
    records = spoil(records_of(), lambda record: record["workload"].update(loops=7), "after", control=True)
    report = report_of(records)
    assert any("the control workload cannot be compared on this host" in flag for flag in main(report)["flags"])
    assert any("control workload cannot be compared on app1" in warning for warning in report["warnings"])
    assert not any("o control workload" in text for text in [*main(report)["flags"], *report["warnings"]])


# What is not the network's


OPS = {"name": "ops_per_min_1min", "unit": "operations/min", "better": "higher"}


def of_locks(records):
    """The same records as if they were of locks: higher is better, and a run counts its units."""
    for record in records:
        record["workload"].update(metric=OPS, unit="enqueue operation", params={"users": 10})
        for run in record["runs"]:
            run["metrics"] = {"ops_per_min_1min": 1e9 / run["metrics"]["av2_us"], "units": 20000}
    return records


def test_a_record_names_its_own_metric_unit_and_direction():
    found = main(report_of(of_locks([record for record in records_of() if not record["workload"]["control"]])))
    assert (found["metric"], found["unit"], found["better"]) == ("ops_per_min_1min", "operations/min", "higher")
    assert found["verdict"] == "IMPROVED" and found["ratio"] == pytest.approx(1.11, abs=0.02)
    assert found["unit_of_work"] == "enqueue operation" and found["params"] == {"users": "10"}
    assert found["kpi"]["client"]["before"]["etr_per_h"] > 0


def test_another_metric_or_parameter_is_another_workload():
    def spoilt(**changes):
        return spoil(of_locks(records_of()), lambda record: record["workload"].update(changes), "after")

    report = report_of(spoilt(params={"users": 20, "held": True}))
    assert main(report)["verdict"] == "NOT COMPARABLE"
    items = {entry["item"]: (entry["before"], entry["after"]) for entry in report["comparability"]}
    assert items["pingpong-1000B.params.users"] == ("10", "20")
    assert items["pingpong-1000B.params.held"] == ("unknown", "true")
    report = report_of(spoilt(metric=dict(OPS, name="ops_per_min_10s")), expected_change=["workload.*"])
    assert main(report)["verdict"] in ("NOT COMPARABLE", "NO DATA")


@pytest.mark.parametrize(
    ("item", "before", "after", "spoilt"),
    [
        ("metric_unit", "operations/min", "operations/s", {"metric": dict(OPS, unit="operations/s")}),
        ("better", "higher", "lower", {"metric": dict(OPS, better="lower")}),
        ("unit", "enqueue operation", "lock", {"unit": "lock"}),
    ],
)
def test_figures_of_another_unit_or_direction_are_not_comparable(item, before, after, spoilt):
    """Records of two imports are checked against each other by nobody before the report."""
    records = of_locks([record for record in records_of() if not record["workload"]["control"]])
    report = report_of(spoil(records, lambda record: record["workload"].update(spoilt), "after"))
    assert main(report)["verdict"] == "NOT COMPARABLE"
    assert f"workload.{item} ({before} before, {after} after)" in main(report)["reason"]
    declared = report_of(records, expected_change=["workload.*"])
    assert (main(declared)["verdict"] == "NOT COMPARABLE") is (item != "unit")


@pytest.mark.parametrize(
    ("after", "comparable"), [(1_000_000, True), (990_000, True), (500_000, False), (2e6, False), (0, False)]
)
def test_half_the_work_in_half_the_time_is_not_an_improvement(after, comparable):
    records = records_of()
    for record in records:
        record["workload"]["metric"] = {"name": "elapsed_s", "unit": "s", "better": "lower"}
        for run in record["runs"]:
            units = 1_000_000 if record["phase"] == "before" else after
            run["metrics"] = {"elapsed_s": run["metrics"]["av2_us"], "units": units}
    report = report_of(records)
    assert main(report)["verdict"] == ("IMPROVED" if comparable else "NOT COMPARABLE")
    if not comparable:
        assert f"workload.units (1000000 before, {after:.0f} after)" in main(report)["reason"]
        assert main(report_of(records, expected_change=["workload.units"]))["verdict"] == "IMPROVED"
        report = report_of(swapped(records))
        assert f"workload.units ({after:.0f} before, 1000000 after)" in main(report)["reason"]


def swapped(records):
    """The same records with before as after."""
    other = {"before": "after", "after": "before"}
    return [{**record, "phase": other[record["phase"]]} for record in records]


def test_a_setting_of_the_application_must_match_unless_it_is_declared():
    records = records_of()
    for phase, size in (("before", 500), ("after", 1000)):
        context = {"packet_size": size, "parallel_jobs": 32}
        spoil(records, lambda record, context=context: record.update(context=context), phase)
    report = report_of(records)
    assert main(report)["verdict"] == "NOT COMPARABLE"
    assert "context.packet_size (500 before, 1000 after)" in main(report)["reason"]
    known = [item["values"] for item in report["context"] if (item["kind"], item["name"]) == ("context", "packet_size")]
    assert known == [{"after": ["1000"], "before": ["500"]}]
    for pattern in ("context.packet_size", "context.*"):
        declared = report_of(records, expected_change=[pattern])
        assert main(declared)["verdict"] == "IMPROVED"
        (entry,) = [item for item in declared["comparability"] if item["item"] == "context.packet_size"]
        assert entry["declared"] is True and entry["must_match"] is False
        assert declared["declared"] == [pattern]


@pytest.mark.parametrize("pattern", ["machine", "client.machine", "*.machine", "client.*"])
def test_a_declared_difference_is_shown_and_not_an_obstacle(pattern):
    records = spoil(records_of(), lambda record: record["fingerprint"]["client"].update(machine="3931"), "after")
    report = report_of(records, expected_change=[pattern])
    assert main(report)["verdict"] == "IMPROVED"
    (entry,) = report["comparability"]
    assert (entry["item"], entry["declared"], entry["must_match"]) == ("client.machine", True, False)
    # what is not declared still has to match
    spoil(records, lambda record: record["fingerprint"]["server"].update(mtu=1500), "after")
    report = report_of(records, expected_change=[pattern, "kernel"])
    assert main(report)["verdict"] == "NOT COMPARABLE"
    assert "server.mtu" in main(report)["reason"] and "client.machine" not in main(report)["reason"]


@pytest.mark.parametrize("pattern", ["kernl", "workload.tool", "client.python", "", "tool"])
def test_a_declaration_of_nothing_is_refused_in_words(pattern):
    with pytest.raises(ValueError, match="names no item that must match: use one of .*kernel"):
        report_of(records_of(), expected_change=[pattern])


def experiment():
    """A plan with one factor of three levels, as it stands in its file."""
    levels: list[Level] = [
        {"name": "off", "vars": {}, "found": True},
        {"name": "all", "vars": {"rps_every": 1}, "found": False},
        {"name": "every2", "vars": {"rps_every": 2}, "found": False},
    ]
    return plan("rps-2026-11", [{"name": "rps", "tunings": ["rps"], "levels": levels}], (8, 8, 0.0))


def test_each_level_of_an_experiment_is_compared_with_the_baseline():
    renamed = {"before": "off", "after": "all"}
    records = [dict(record, phase=renamed[record["phase"]]) for record in records_of(replace(BETTER, rounds=8))]
    same = [dict(record, phase="every2") for record in records if record["phase"] == "off"]
    loaded = replace(factory.load(records + same), experiment=experiment())
    report = compare_change(loaded)
    found = {item["contrast"]: item for item in report["comparisons"] if not item["control"]}
    assert set(found) == {"all", "every2"}
    assert found["all"]["verdict"] == "IMPROVED" and found["every2"]["ratio"] == pytest.approx(1.0, abs=0.001)
    # two contrasts share the chance of a wrong one
    assert found["all"]["confidence_pct"] == pytest.approx(100 - 0.4 / 2)
    assert [(row["contrast"], row["verdict"]) for row in report["pooled"]] == [
        ("all", "IMPROVED"),
        ("every2", "UNCHANGED"),
    ]
    assert {run["phase"] for run in report["runs"]} == {"off", "all", "every2"}
    assert report["experiment"]["baseline"] == "off"
