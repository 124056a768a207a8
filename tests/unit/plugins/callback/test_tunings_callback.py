# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later

import json

import pytest
from ansible_collections.zpower.sap_tuning.plugins.callback import tunings

RECORD = {
    "name": "rps",
    "subject": "hsi0",
    "wanted": {},
    "before": {"running": {"rx-0": "0", "rx-1": "0"}, "stored": None, "next_boot": {"rps_cpus": "0"}},
    "after": {
        "running": {"rx-0": "f", "rx-1": "f"},
        "stored": {"udev rule": "rps_cpus=f"},
        "next_boot": {"rps_cpus": "f"},
    },
    "verdict": "changed",
    "reason": "3 values set and read back",
    "conflicts": [],
}


class Outcome:
    def __init__(self, host, result):
        self._host = host
        self._result = result


class Display:
    def __init__(self):
        self.lines = []

    def display(self, text, color=None):
        self.lines.append(text)

    def banner(self, text):
        self.lines.append(text)


@pytest.fixture
def callback(monkeypatch):
    monkeypatch.setattr(tunings.CallbackModule, "_owner", None)

    def make():
        made = tunings.CallbackModule()
        made._display = Display()
        return made

    return make


def test_the_table_has_a_line_a_record(callback):
    one = callback()
    one.v2_runner_on_ok(Outcome("app1", {"tuning": [RECORD]}))
    one.v2_runner_on_ok(Outcome("app1", {"stdout": "tuning"}))
    one.v2_playbook_on_stats(None)
    assert one._display.lines == [
        "TUNINGS",
        "host  tuning  subject  running  stored          next boot  verdict",
        "app1  rps     hsi0     0 → f    - → rps_cpus=f  0 → f      changed",
    ]


def test_many_values_are_counted_and_the_changed_ones_named():
    many = {"conns_per_lg": "16", "enabled": "1", "max_memory": "512", "port_range": ""}
    assert tunings.arrow(many, dict(many)) == "4 values"
    assert tunings.arrow(many, dict(many, enabled="0")) == "enabled: 1 → 0"
    assert tunings.arrow(many, dict(many, conns_per_lg="64", max_memory="1", port_range="any")) == (
        "conns_per_lg: 16 → 64, max_memory: 512 → 1, 1 more"
    )
    assert tunings.arrow(None, many) == "conns_per_lg: - → 16, enabled: - → 1, 2 more"
    assert tunings.arrow({"a": "1", "b": "2"}, {"a": "1", "b": "3"}) == "a=1, b=2 → a=1, b=3"
    # a queue that came later and has the same mask is no change
    assert tunings.arrow({"rx-0": "f"}, {"rx-0": "f", "rx-1": "f"}) == "f"
    assert tunings.arrow({"a": "1"}, many) == "a: 1 → -, conns_per_lg: - → 16, 3 more"


def test_the_last_record_of_a_subject_counts(callback):
    one = callback()
    one.v2_runner_on_ok(Outcome("app1", {"tuning": [RECORD]}))
    one.v2_runner_on_ok(Outcome("app1", {"tuning": [dict(RECORD, verdict="compliant")]}))
    one.v2_playbook_on_stats(None)
    assert len(one._display.lines) == 3
    assert one._display.lines[2].endswith("compliant")


def test_a_record_of_nothing_is_a_note_and_only_where_there_is_no_other(callback):
    nothing = dict(RECORD, subject="all", verdict="compliant")
    one, other = callback(), callback()
    for made, records in ((one, [nothing]), (other, [nothing, RECORD])):
        made._owner = None
        made.v2_runner_on_ok(Outcome("app1", {"tuning": records}))
        made.v2_playbook_on_stats(None)
        tunings.CallbackModule._owner = None
    assert one._display.lines == ["TUNINGS", "app1: nothing to take back of rps"]
    assert [line.split()[2] for line in other._display.lines[2:]] == ["hsi0"]


def test_what_was_only_predicted_is_no_drift_once_there_is_nothing_to_take_back(callback):
    one = callback()
    nothing = {"name": "rps", "subject": "all", "verdict": "compliant"}
    one.v2_runner_on_ok(Outcome("app1", {"tuning": [{**RECORD, "verdict": "drifted"}]}))
    one.v2_runner_on_ok(Outcome("app2", {"tuning": [{**RECORD, "verdict": "drifted"}]}))
    one.v2_runner_on_ok(Outcome("app1", {"tuning": [nothing]}))
    one.v2_playbook_on_stats(None)
    assert [line.split()[0] for line in one._display.lines] == ["TUNINGS", "host", "app2", "app2:", "app1:"]
    assert one._display.lines[-1] == "app1: nothing to take back of rps"


def test_a_tuning_that_is_for_no_part_of_a_host_is_no_record_of_nothing(callback):
    one = callback()
    reason = "RPS is a facility of the Linux kernel"
    record = dict(RECORD, subject="all", verdict="not_applicable", before={}, after={}, reason=reason)
    one.v2_runner_on_ok(Outcome("app1", {"tuning": [record]}))
    one.v2_playbook_on_stats(None)
    assert one._display.lines[2].split() == ["app1", "rps", "all", "-", "-", "-", "not_applicable"]
    assert one._display.lines[3] == f"app1: {reason}"


def test_failures_and_conflicts_are_explained(callback):
    conflict = {"what": "tuned", "file": "/etc/tuned/x/script.sh", "line": 2, "value": None, "wins": "yes"}
    record = dict(RECORD, verdict="drifted", reason="hsi0 rx-0 is off", conflicts=[conflict])
    one = callback()
    one.v2_runner_on_failed(Outcome("app1", {"tuning": [record]}))
    one.v2_playbook_on_stats(None)
    assert "app1: hsi0 rx-0 is off" in one._display.lines
    assert "app1: /etc/tuned/x/script.sh line 2 also sets hsi0 (tuned; wins at boot: yes)" in one._display.lines


def test_remarks_are_told_also_where_all_is_well_and_cannot_move_the_cursor(callback):
    plugged = {
        "what": "cpuplugd 2.30.0",
        "file": "/etc/cpuplugd.conf",
        "line": 9,
        "wins": "possible",
        "effect": "hides",
    }
    record = dict(RECORD, verdict="compliant", reason="fine", remarks=["2 of 4 \x1b[2Jlow"], conflicts=[plugged])
    one = callback()
    one.v2_runner_on_ok(Outcome("app1", {"tuning": [record]}))
    one.v2_playbook_on_stats(None)
    assert one._display.lines[3:] == [
        "app1: cpuplugd 2.30.0, /etc/cpuplugd.conf line 9, hides",
        "app1: hsi0: 2 of 4 ?[2Jlow",
    ]


def test_json_holds_the_records_whole(callback):
    one = callback()
    one._format = "json"
    one.v2_runner_on_ok(Outcome("app1", {"tuning": [RECORD]}))
    one.v2_playbook_on_stats(None)
    assert [json.loads(line) for line in one._display.lines] == [[dict(RECORD, host="app1")]]


def test_nothing_is_printed_without_records_or_when_not_wanted(callback):
    one = callback()
    one.v2_playbook_on_stats(None)
    one._format = "none"
    one.v2_runner_on_ok(Outcome("app1", {"tuning": [RECORD]}))
    one.v2_playbook_on_stats(None)
    assert one._display.lines == []


def test_named_by_the_user_too_it_prints_once(callback):
    first, second = callback(), callback()
    for one in (first, second):
        one.v2_runner_on_ok(Outcome("app1", {"tuning": [RECORD]}))
        one.v2_playbook_on_stats(None)
    assert first._display.lines and not second._display.lines


@pytest.mark.parametrize("tuning", [None, "text", {"name": "rps"}, [None, "x", {"name": "rps"}]])
def test_results_of_other_modules_are_passed_over(callback, tuning):
    one = callback()
    one.v2_runner_on_ok(Outcome("app1", {"tuning": tuning}))
    one.v2_playbook_on_stats(None)
    assert one._display.lines == []


def test_a_host_cannot_write_to_the_terminal(callback):
    one = callback()
    record = dict(RECORD, subject="\x1b[2Jhsi0", verdict="drifted", reason="a\x1b]0;title\x07b")
    one.v2_runner_on_ok(Outcome("app1", {"tuning": [record]}))
    one.v2_playbook_on_stats(None)
    assert not any("\x1b" in line or "\x07" in line for line in one._display.lines)


def test_queues_that_differ_stand_one_by_one():
    assert tunings.short({"rx-0": "f", "rx-1": "f"}) == "f"
    assert tunings.short({"rx-0": "f", "rx-1": "0"}) == "rx-0=f, rx-1=0"
    assert tunings.short(None) == "-"
    assert tunings.short({}) == "-"


@pytest.mark.parametrize("value", [None, 7, "text", ["x"], [["x"]], {"x": {}}, [{"x": [1]}], True])
@pytest.mark.parametrize("place", ["name", "subject", "verdict", "before", "after", "reason", "conflicts", "remarks"])
def test_a_record_of_other_types_costs_no_other_host_its_line(callback, place, value):
    one = callback()
    one.v2_runner_on_ok(Outcome("app1", {"tuning": [{**RECORD, "verdict": "failed", place: value}]}))
    one.v2_runner_on_ok(Outcome("app2", {"tuning": [RECORD]}))
    one.v2_playbook_on_stats(None)
    assert [line for line in one._display.lines if line.startswith("app2")]


def test_a_long_text_of_a_host_is_cut_and_has_no_control_characters(callback):
    one = callback()
    hostile = "\x1b]0;title\x07\u202e\r" + "x" * 100_000
    tuning = {**RECORD, "name": hostile, "subject": hostile, "verdict": "failed", "reason": hostile}
    tuning |= {"before": {"running": {hostile: hostile}}, "remarks": [hostile], "conflicts": [{"file": hostile}]}
    one.v2_runner_on_ok(Outcome("app1", {"tuning": [tuning]}))
    one.v2_playbook_on_stats(None)
    assert all(line.isprintable() for line in one._display.lines)
    assert max(map(len, one._display.lines)) < 10_000
