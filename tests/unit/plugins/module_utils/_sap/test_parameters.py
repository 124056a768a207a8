# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.parameters import (
    KNOWN,
    PRESETS,
    PRIORITY,
    SCHEDULER,
    check,
    merge,
)

WORDS = {
    SCHEDULER: "SCHED_OTHER, SCHED_RR or SCHED_FIFO",
    "rdisp/vb_dispatching": "0 or 1",
    "es/implementation": "std or map",
    "enque/table_size": "a number of KB, digits only",
    "rdisp/wp_no_vb": "a number not below 0",
}


def refused(parameters, presets=(), **more):
    with pytest.raises(InputError) as error:
        check(merge(presets, parameters), True, **more)
    return str(error.value)


WARNED = "Do not change this value unless instructed to do so by SAP"
REMARKS = {"update_local": [WARNED], "enqueue_table": ["ipc/shm_psize_34 = 0"]}


def test_the_presets_are_what_was_published():
    assert PRESETS == {
        "realtime_scheduler": {"rdisp/linux/os_scheduler": "SCHED_RR", "rdisp/linux/os_priority": "40"},
        "update_local": {
            "dynp/luw_id_format": "2",
            "rdisp/vb_dispatching": "0",
            "rdisp/vb_key_comp": "SYNR/WPNR/HOST/DATE/TIME/STMP",
            "rdisp/vbname": "$(rdisp/myname)",
        },
        "memory_std": {"es/implementation": "std"},
        "memory_map": {"es/implementation": "map"},
        "enqueue_table": {"enque/table_size": "640000"},
    }
    for name, parameters in PRESETS.items():
        usable, remarks = check(merge([name], {}), True)
        assert usable == parameters and set(parameters) <= set(KNOWN)
        assert [word in remark for word, remark in zip(REMARKS.get(name, ()), remarks)] == [True] * len(remarks)
    said = refused({}, ["memory_std", "enqueue_table", "memory_map"])
    assert "memory_std and memory_map set es/implementation differently" in said


def test_presets_compose_in_their_order_and_parameters_win():
    merged = merge(["enqueue_table", "realtime_scheduler"], {PRIORITY: 40, "rdisp/wp_no_btc": "8", "login/x": None})
    assert list(merged.items()) == [
        ("enque/table_size", "640000"),
        (SCHEDULER, "SCHED_RR"),
        (PRIORITY, "40"),
        ("rdisp/wp_no_btc", "8"),
        ("login/x", None),
    ]
    assert merge(["memory_std", "memory_std"], None) == {"es/implementation": "std"}
    assert merge(None, None) == {}
    merged.clear()
    assert PRESETS["enqueue_table"] == {"enque/table_size": "640000"}


@pytest.mark.parametrize(
    "values, words",
    [
        ([True, False, 1.0, 0.5, ["1"], {"a": "1"}], "write it in quotes, exactly as in the profile"),
        (["a\nb = 1", "a\x00", "a\tb", "\r", "a\x7f", "a\x85b"], "control character"),
        ([" a", "a ", " "], "begins or ends with a blank"),
    ],
)
@pytest.mark.parametrize("name", ["rdisp/x", "enque/table_size"])
def test_values_that_no_profile_can_hold_are_refused(values, words, name):
    for value in values:
        said = refused({name: value})
        assert name in said and words in said


@pytest.mark.parametrize("value", ["1", None])
def test_names_that_no_profile_can_hold_are_refused(value):
    for name in ("", "a b", "a=b", "#a", "a\nb", "a\n", "\ta", "a\x00", "k\xfcche", 1, None, True):
        assert "%r is not a parameter name" % (name,) in refused({name: value})
        with pytest.raises(InputError):
            check({name: value}, True)
    for name in ("_PF", "SETENV_00", "Execute_03", "Start_Program_01", "Stop_Program_00"):
        assert "%s is not a parameter but a directive" % name in refused({name: value})


@pytest.mark.parametrize(
    "value, text", [(0, "0"), (-1, "-1"), ("TRUE", "TRUE"), ("", ""), ("a b", "a b"), ("$(x) = # y", "$(x) = # y")]
)
@pytest.mark.parametrize("name", ["login/x", "icm[J2EE]/enable", "ipc/shm_psize_10", "SAPSYSTEM", "a.b-c:d*e"])
def test_values_become_text(name, value, text):
    assert check(merge([], {name: value}), True)[0] == {name: text}


@pytest.mark.parametrize(
    "name, good, bad",
    [
        (SCHEDULER, ["SCHED_OTHER", "SCHED_RR", "SCHED_FIFO"], ["RR", "sched_rr", "SCHED_RR,99", "SCHED_IDLE", ""]),
        ("rdisp/vb_dispatching", ["0", "1"], ["2", "TRUE", "01", ""]),
        ("es/implementation", ["std", "map"], ["STD", "flat", "stdmap"]),
        ("rdisp/wp_no_vb", ["0", "4", "120"], ["-1", "many", "1000", ""]),
        ("enque/table_size", ["1", "64000", "640000"], ["640 MB", "640000KB", "0", "-1", "064", "64,000", "6e5"]),
    ],
)
def test_values_of_parameters_that_are_known(name, good, bad):
    for value in good:
        usable, remarks = check(merge([], {name: value}), True, {"ipc/shm_psize_34": "0"})
        assert usable == {name: value}
        local = (name, value) == ("rdisp/vb_dispatching", "0")
        assert [WARNED in remark and "VBHDR, VBMOD and VBDATA" in remark for remark in remarks] == [True] * local
    for value in bad:
        said = refused({name: value})
        assert "'%s' is not a value of %s" % (value, name) in said
        assert said.endswith(": write " + WORDS[name])


def test_a_priority_needs_a_real_time_scheduler():
    for value in ("1", "9", "10", "99"):
        assert check(merge(["realtime_scheduler"], {PRIORITY: value}), True)[0][PRIORITY] == value
    for value in ("0", "100", "-5", "", "99.0", "high", "099"):
        assert "a number from 1 to 99" in refused({PRIORITY: value}, ["realtime_scheduler"])
    assert "rdisp/linux/os_scheduler is not set" in refused({PRIORITY: 50})
    assert "is SCHED_OTHER" in refused({PRIORITY: 50, SCHEDULER: "SCHED_OTHER"})
    assert "is SCHED_OTHER" in refused({PRIORITY: 50}, current={SCHEDULER: "SCHED_OTHER"})
    assert "is not set" in refused({PRIORITY: 50, SCHEDULER: None}, current={SCHEDULER: "SCHED_RR"})
    for scheduler in ("SCHED_RR", "SCHED_FIFO", "$(S)"):
        assert check({PRIORITY: "50"}, True, {SCHEDULER: scheduler}) == ({PRIORITY: "50"}, [])
        both = {PRIORITY: "50", SCHEDULER: scheduler}
        usable, remarks = check(both, True)
        assert usable == both and bool(remarks) == (scheduler == "$(S)")
    assert check({SCHEDULER: "SCHED_FIFO"}, True) == ({SCHEDULER: "SCHED_FIFO"}, [])
    assert check({SCHEDULER: "SCHED_RR", PRIORITY: None}, True, {PRIORITY: "9"})[1] == []


def test_a_priority_that_stays_without_meaning_is_worth_a_remark():
    for scheduler in ("SCHED_OTHER", None):
        usable, remarks = check({SCHEDULER: scheduler}, True, {PRIORITY: "9", SCHEDULER: "SCHED_RR"})
        assert usable == {SCHEDULER: scheduler}
        assert ["os_priority = 9 stays in the profile without effect" in remark for remark in remarks] == [True]
    assert check({SCHEDULER: None, PRIORITY: None}, True, {PRIORITY: "9", SCHEDULER: "SCHED_RR"})[1] == []
    assert check({"es/implementation": "std"}, True, {PRIORITY: "9"})[1] == []


def test_the_name_that_a_study_prints_is_refused_but_may_be_taken_out():
    said = refused({"enqueue/table_size": 640000})
    assert said.startswith("enqueue/table_size ") and "the SAP kernel's name is enque/table_size" in said
    gone = {"enqueue/table_size": None, "rdisp/vb_name": None, "login/x": None}
    usable, remarks = check(merge([], gone), True)
    assert usable == gone
    assert [remark.split(";")[1] for remark in remarks] == [
        " enque/table_size is another parameter and stays",
        " rdisp/vbname is another parameter and stays",
    ]


def test_slips_of_the_pen_are_refused():
    for name, meant in (
        ("rdisp/linux/os_sheduler", SCHEDULER),
        ("rdisp/linux/os_prio", PRIORITY),
        ("rdisp/vb_name", "rdisp/vbname"),
        ("RDISP/VBNAME", "rdisp/vbname"),
        ("enque/tablesize", "enque/table_size"),
        ("dynp/luw_idformat", "dynp/luw_id_format"),
    ):
        assert refused({name: "1"}).endswith("did you mean %s?" % meant)
    for name in ("enq/server/schema_1", "rdisp/max_vb2_server", "rdisp/enqname", "rdisp/btcname", "rdisp/wp_no_vb3"):
        usable, remarks = check(merge([], {name: "1"}), True)
        assert usable == {name: "1"}
        assert [remark.startswith("%s is not a known parameter" % name) for remark in remarks] == [True]
    assert "(similar: rdisp/linux/os_scheduler)" in check({"rdisp/os_scheduler": "1"}, True)[1][0]
    assert "similar" not in check({"login/x": "1"}, True)[1][0]


def test_what_is_not_checked():
    for name in ("enque/table_size", "rdisp/vb_dispatching", SCHEDULER):
        usable, remarks = check({name: "$(MY_VALUE)"}, True, {"ipc/shm_psize_34": "0"})
        assert usable == {name: "$(MY_VALUE)"}
        assert remarks == ["%s is written as $(MY_VALUE), and its substituted value is not checked" % name]
    # no rule is published
    assert check(merge([], {"rdisp/vb_factor": "any text"}), True) == ({"rdisp/vb_factor": "any text"}, [])


def test_what_is_for_linux_only_is_left_out_elsewhere():
    parameters = merge(["realtime_scheduler", "memory_std", "enqueue_table"], {"rdisp/linux/other": 1})
    usable, remarks = check(parameters, False)
    assert usable == {"enque/table_size": "640000"}
    left_out = [remark.split(" ")[0] for remark in remarks if "only SAP kernels for Linux" in remark]
    assert left_out == [SCHEDULER, PRIORITY, "es/implementation", "rdisp/linux/other"]
    gone = {"es/implementation": None, PRIORITY: None}
    assert check(gone, False) == (gone, [])
    with pytest.raises(InputError):
        check({"es/implementation": "flat"}, False)
