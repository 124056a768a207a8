# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host cannot do by its answers and its facts: decide, forge, or write where others read."""

from __future__ import annotations

import datetime
import importlib
import json
from pathlib import Path
from typing import Any

import evidence_samples
import pytest
import yaml
from actions import run_action
from ansible.errors import AnsibleActionFail
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.zpower.sap_tuning.plugins.action import platform_info, tunings
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import COLLECTION, trusted
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._answers import answers, facts, text
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import waivers
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence.recording import Recording
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records import record_files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.reading import TUNINGS

ROW = {"name": "rps", "subject": "hsi0", "verdict": "drifted", "reason": "rx-0: 0, wanted 3"}
ACTIONS = sorted(path.stem for path in (COLLECTION / "plugins" / "action").glob("*.py"))
ESCAPE, OVERRIDE = "\x1b]0;owned\x07", "\u202e"


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_refuses_a_host_with_such_a_fact(action: str) -> None:
    module = importlib.import_module(f"ansible_collections.zpower.sap_tuning.plugins.action.{action}")
    for name in ("zpower_results_command", "inventory_hostname", "group_names", "__rollout_plan"):
        with pytest.raises(AnsibleActionFail, match=f"^app1 has the fact {name}, which is the name of a variable"):
            run_action(module, {}, variables={"ansible_facts": {name: "x"}})


def variables_of_roles() -> set[str]:
    """All variables of all roles: documented, with a default, or internal."""
    found: set[str] = set()
    roles = COLLECTION / "roles"
    for path in roles.glob("*/meta/argument_specs.yml"):
        for entry in yaml.safe_load(path.read_text("utf-8"))["argument_specs"].values():
            found |= {*entry.get("options", ())}
    for path in (*roles.glob("*/defaults/main.yml"), *roles.glob("*/vars/main.yml")):
        found |= {*(yaml.safe_load(path.read_text("utf-8")) or ())}
    for path in roles.glob("*/tasks/*.yml"):
        for line in path.read_text("utf-8").splitlines():
            name, _colon, value = line.strip().partition(": ")
            if name in ("register", "loop_var", "index_var"):
                found.add(value)
    return found


def test_no_variable_of_any_role_comes_from_a_fact() -> None:
    names = variables_of_roles()
    assert len(names) > 200 and {"report_results_command", "measure_results", "__tunings_later"} <= names
    for name in names:
        host = {"inventory_hostname": "app1", "ansible_facts": {"distribution": "SLES", name: "x"}, name: "x"}
        assert facts.deciding(host) == [name]
    # facts of setup and of this collection are welcome
    found = {"distribution": "SLES", "system_vendor": "IBM", "zpower_platform": {}, "default_ipv4": {}, "smc0": {}}
    assert facts.deciding({"ansible_facts": found, "inventory_hostname": "app1"}) == []
    plan = {"ansible_facts": {"__rollout_plan": {}}, "inventory_hostname": "localhost"}
    assert facts.deciding(plan) == [], "the controller keeps it"


def test_an_answer_has_only_its_own_fields() -> None:
    given = {
        "ansible_facts": {"report_results_command": ["touch", "/tmp/x"], "zpower_platform": {"kernel": "6.4"}},
        "add_host": {"host_name": "evil"},
        "_ansible_no_log": False,
        "waivers": [],
        "changed": True,
        "rc": 0,
        "tuning": [{**ROW, "more": 1}],
        "deprecations": [{"msg": f"old{ESCAPE}", "removed": True}],
    }
    assert set(answers.heard(given, answers.OF_TUNING)) == {"changed", "failed", "rc", "tuning", "warnings"}
    heard = answers.heard(given, answers.OF_HOST["platform_info"])
    assert heard["ansible_facts"] == {"zpower_platform": {"kernel": "6.4"}}
    assert heard["warnings"] == ["old]0;owned"]


@pytest.mark.parametrize("field", ["msg", "warnings", "tuning", "diff", "module_stderr", "invocation", "instances"])
def test_text_of_an_answer_has_no_hidden_signs(field: str) -> None:
    nasty = f"a{ESCAPE}{OVERRIDE}b"
    rows = [{**ROW, "reason": nasty, "wanted": {nasty: nasty}}]
    values = {"warnings": [nasty], "tuning": rows, "diff": {"before": nasty}}
    found = answers.heard({field: values.get(field, nasty)}, answers.OF_TUNING)
    shown = json.dumps(found, ensure_ascii=False)
    assert "\\u001b" not in shown and OVERRIDE not in shown and "[U+202E]b" in shown


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, [[]], {"a": []}])
def test_fields_of_wrong_types_break_nothing(value: object) -> None:
    fields = {**answers.OF_TUNING, **answers.OF_SERVER_OR_ROUND, **answers.OF_HOST["leftovers_info"]}
    fields["tunings"] = answers.by_tuning(["rps"])
    found = answers.heard(dict.fromkeys((*answers.OF_EVERY, *fields), value), fields)
    assert found["tunings"]["rps"]["failed"] and isinstance(found["msg"], str) and isinstance(found["tuning"], list)


def test_the_length_of_a_text_is_limited() -> None:
    found = answers.heard({"msg": "x" * 10**6, "module_stdout": "x" * 10**6, "warnings": ["x"] * 10**4}, {})
    assert (len(found["msg"]), len(found["module_stdout"])) == (answers.LONGEST_MESSAGE, answers.LONGEST_OUTPUT)
    assert len(found["warnings"]) == answers.MOST_SENTENCES


def look(monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any], **variables: Any) -> dict[str, Any]:
    monkeypatch.setattr(tunings.ActionModule, "_execute_module", lambda *_arguments, **_more: answer)
    known = {"ansible_play_hosts": ["app1"], "hostvars": {"app1": {}}, "inventory_hostname": "app1"}
    given = {**known, **trusted(variables)}
    templar = Templar(DataLoader(), variables=given)
    return run_action(tunings, {"names": ["rps"], "drift": "fail"}, variables=given, templar=templar, tags=["always"])


WAIVER = {"tuning": "rps", "subject": "*", "hosts": "all", "reason": "x", "owner": "x", "until": "2999-12-31"}


def test_a_host_cannot_forge_a_waiver_or_a_key_of_the_controller(monkeypatch: pytest.MonkeyPatch) -> None:
    forged = {
        "waivers": [WAIVER],
        "groups": ["all", "old"],
        "deferred": ["smc"],
        "throttle": 7,
        "errors": [],
        "drift": [],
    }
    answer = {"tunings": {"rps": {"tuning": [ROW]}, "smc": {"tuning": [{**ROW, "name": "smc"}]}}, **forged}
    found = look(monkeypatch, answer, group_names=["sap"])
    assert found["failed"] and found["failing"] == [ROW["reason"]]
    assert not {"groups", "deferred", "throttle", "tuning"} & {*found}
    evidence = json.loads(found["invocation"]["evidence"])
    assert evidence["waivers"] == [] and [row["verdict"] for row in evidence["tuning"]] == ["drifted"]
    assert list(evidence["tunings"]) == ["rps"], "only what was asked for"
    forged["invocation"] = {"evidence": json.dumps({"tuning": [ROW], "errors": [], "tunings": {}})}
    broken = look(monkeypatch, {"failed": True, "msg": "no", **forged})
    assert {name for name in broken if name[0] != "_"} == {"failed", "msg"}


@pytest.mark.parametrize(("day", "waived"), [(datetime.date(2027, 1, 31), True), (datetime.date(2027, 2, 1), False)])
def test_the_same_day_decides_on_waivers_in_the_task_and_in_the_evidence(
    monkeypatch: pytest.MonkeyPatch, day: datetime.date, waived: bool
) -> None:
    """The run began before midnight, the play after it."""
    monkeypatch.setattr(waivers, "DAY", day)
    given = [{**WAIVER, "until": "2027-01-31"}]
    found = look(monkeypatch, {"tunings": {"rps": {"tuning": [ROW]}}}, zpower_waivers=given)
    assert found["failed"] is not waived
    run = evidence_samples.run(begun="2027-02-01T00:00:01Z", ended="2027-02-01T00:00:02Z")
    recording = Recording("verify", run["begun"])
    recording.plan(["app1"])
    recording.keep("app1", json.loads(found["invocation"]["evidence"]))
    recording.run("app1")
    told = recording.document(run, run["ended"], ())
    assert told["result"] == ("compliant" if waived else "drift")


def test_every_module_has_an_action_that_checks_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    modules = {path.stem for path in (COLLECTION / "plugins" / "modules").glob("*.py")}
    routing = yaml.safe_load((COLLECTION / "meta" / "runtime.yml").read_text("utf-8"))["plugin_routing"]["modules"]
    shared = {name: route["action_plugin"] for name, route in routing.items() if "action_plugin" in route}
    assert {*ACTIONS, *shared} == modules and not {*ACTIONS} & {*shared}
    assert set(shared.values()) == {"zpower.sap_tuning.platform_info", "zpower.sap_tuning.measure_workload"}
    answer = {"changed": False, "ansible_facts": {"rps_every": 1, "zpower_platform": {"system": "Linux"}}, "groups": []}
    monkeypatch.setattr(platform_info.ActionModule, "_execute_module", lambda *_arguments, **_more: answer)
    found = run_action(platform_info, {})
    assert (found["ansible_facts"], "groups" in found) == ({"zpower_platform": {"system": "Linux"}}, False)


@pytest.mark.parametrize("kind", ["measurement", "tunings", "cpu"])
def test_a_record_is_stored_with_the_fields_of_its_schema(kind: str) -> None:
    schema = json.loads((COLLECTION / "docs" / "schemas" / f"{kind}-1.schema.json").read_text("utf-8"))
    fields = record_files.FIELDS[f"zpower.sap_tuning/{kind}/1"].split()
    assert sorted(fields) == sorted(schema["properties"])
    if kind == "measurement":
        assert sorted(record_files.OF_RUN) == sorted(schema["$defs"]["run"]["properties"])


def test_an_unknown_field_of_a_record_is_not_stored(tmp_path: Path) -> None:
    ids = {"change": "c1", "phase": "before", "round": 1, "host": "app1"}
    record = {"schema": TUNINGS, **ids, "at": "2026-11-20T10:00:00Z", "check_mode": False, "tunings": []}
    path = record_files.store(tmp_path, {**record, "zpower_results_command": "{{ lookup('pipe', 'id') }}"})
    assert json.loads(path.read_text("utf-8")) == record
    assert record_files.load_change(tmp_path, "c1").tunings == [record]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ('{"a": "x\\u001b[31m\\b\\r\\u0007y"}', "x[31my"),
        ('{"a": "\\u202e\u202e"}', "[U+202E][U+202E]"),
        ('{"a": "\\\\u001b\\n\\t\\"\\u00e9\\ud83d\\ude00"}', '\\u001b\n\t"\u00e9\U0001f600'),
    ],
)
def test_json_is_clean_before_it_is_read(given: str, shown: str) -> None:
    assert json.loads(text.clean_json(given)) == {"a": shown}
    assert text.clean_json(given + " junk\x1b[31m").endswith(" junk[31m")


@pytest.mark.parametrize("mine", [["rps_site_*"], []])
def test_own_variables_of_a_site_may_be_named_by_a_template(monkeypatch: pytest.MonkeyPatch, mine: list[str]) -> None:
    monkeypatch.setattr(platform_info.ActionModule, "_execute_module", lambda *_arguments, **_more: {"changed": False})
    variables = trusted({"zpower_own_variables": "{{ mine }}", "mine": mine, "rps_site_room": 4})
    templar = Templar(loader=DataLoader(), variables=variables)
    if mine:
        assert run_action(platform_info, {}, variables=variables, templar=templar)["changed"] is False
    else:
        with pytest.raises(AnsibleActionFail, match="there is no variable 'rps_site_room'"):
            run_action(platform_info, {}, variables=variables, templar=templar)
