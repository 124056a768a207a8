# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One module call for several tunings: which of them, with which options, and what comes of it."""

from __future__ import annotations

import datetime
import itertools
import json
from typing import Any

import pytest
import yaml
from actions import run_action, trusting
from ansible.errors import AnsibleActionFail
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.block import Block
from ansible.playbook.play import Play
from ansible.playbook.task import Task
from ansible.template import Templar
from ansible.utils.display import Display
from ansible_collections.zpower.sap_tuning.plugins.action import tuning, tunings
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.controller import runs
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import (
    COLLECTION,
    known_tunings,
    role_values,
    trusted,
)

PLAY = {"ansible_play_hosts": ["app1"], "hostvars": {"app1": {}}, "inventory_hostname": "app1"}
LESS = {
    **{"wanted": None, "before": None, "after": None, "reason": "", "restart": "none"},
    **{"conflicts": [], "remarks": [], "sources": [], "undo": None},
}
ROW = {**LESS, "name": "rps", "subject": "hsi0", "verdict": "changed"}
DIFF = {"before": "hsi0: 0\n", "after": "hsi0: 3\n"}


@pytest.fixture(autouse=True)
def calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The calls of a module."""
    found: list[dict[str, Any]] = []

    def execute(_self: Any, module_name: str, module_args: dict[str, Any], task_vars: Any) -> dict[str, Any]:
        found.append({"module": module_name, **json.loads(json.dumps(module_args))})
        none = {"changed": False, "failed": False, "msg": "1 compliant", "tuning": [], "diff": dict.fromkeys(DIFF, "")}
        results = {name: none for name in module_args.get("names", [])}
        results.update({"rps": {**none, "tuning": [ROW], "changed": True, "diff": DIFF}} if "rps" in results else {})
        return {"changed": True, "tunings": results, "msg": "fine"}

    for action in (tuning, tunings):
        monkeypatch.setattr(action.ActionModule, "_execute_module", execute)
    return found


def answering(monkeypatch: pytest.MonkeyPatch, **answer: Any) -> None:
    """The answer of the host to each call of the module."""
    answer = {"changed": False, "tunings": {}, **answer}
    monkeypatch.setattr(tunings.ActionModule, "_execute_module", lambda *_arguments, **_more: answer)


def run(
    arguments: dict[str, Any],
    tags: tuple[str, ...] = ("always",),
    check: bool = False,
    role: str | None = None,
    **variables: Any,
) -> dict[str, Any]:
    defaults = role_values(role) if role else {}
    variables = {**PLAY, **defaults, **trusted(variables)}
    templar = Templar(DataLoader(), variables=variables)
    return run_action(tunings, arguments, variables=variables, templar=templar, tags=tags, check=check, role=role)


def of_role(calls: list[dict[str, Any]], name: str, **variables: Any) -> dict[str, Any]:
    """The options that the role's own task gives to the tuning's module, with the role's files in scope."""
    scope = dict(PLAY)
    for folder in ("defaults", "vars"):
        path = COLLECTION / "roles" / name / folder / "main.yml"
        scope.update(trusted(yaml.safe_load(path.read_text("utf-8"))) if path.exists() else {})
    scope.update(trusted(variables))
    run_action(tuning, {"name": name}, variables=scope, templar=Templar(DataLoader(), variables=scope))
    options = calls.pop()
    assert options.pop("module") == f"zpower.sap_tuning.{name}"
    return options


def test_a_rollback_covers_the_journal_and_not_only_what_is_asked_for(calls: list[dict[str, Any]]) -> None:
    """A tunable that has left the inventory is still in the journal."""
    asked = {
        "aix_tunables_values": {"no.tcp_fastlo": {"value": 1, "reason": "trial"}},
        "aix_device_attributes_devices": {"sys0": {"maxuproc": 4096}},
        "qeth_devices": ["0.0.0600"],
    }
    names = ["aix_tunables", "aix_device_attributes", "qeth"]
    run({"names": names}, **asked, zpower_rollback=True)
    [call] = calls
    given = [option for name in names for option in call["tunings"][name]]
    assert not {"values", "devices"} & set(given)


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {
            **{"rps_every": "{{ step + 1 }}", "step": 1, "rps_cpus": "0-{{ rps_every }}"},
            **{"rps_interfaces": ["{{ card }}"], "card": "hsi0"},
        },
        {
            **{"zpower_rollback": "{{ 1 == 1 }}", "rps_interfaces": ["hsi0"]},
            **{"rps_force": "{{ step | bool }}", "step": "yes"},
        },
        {"zpower_checkpoint": "trial", "zpower_lease": "{{ 60 * 2 }}", "zpower_change": "CHG1"},
        {"zpower_confirm_within": "{{ 60 * 2 }}", "rps_interfaces": ["hsi0"]},
        {"zpower_confirm_within": " ", "zpower_confirm": "{{ 1 == 1 }}", "rps_state": "off"},
        {"zpower_confirm_within": 0, "zpower_rollback": True, "rps_interfaces": ["hsi0"]},
        {"smc_sysctls_state": "{{ 'restored' if step else 'present' }}", "step": 0},
        {"sap_profile_sid": "PRD", "sap_profile_instance": "D00", "sap_profile_parameters": {"a/b": "{{ 1 + 1 }}"}},
        {"aix_device_attributes_devices": {"sys0": {"maxuproc": 4096, "a": "{{ nowhere | default(omit) }}"}}},
        {"smc_r_preset": "none", "smc_r_device": "", "rps_flow_cnt": None, "cpu_polarization_mode": "{{ rps_cpus }}"},
    ],
)
def test_the_options_are_those_of_the_roles(variables: dict[str, Any], calls: list[dict[str, Any]]) -> None:
    """Also the defaults of roles that are not in the play, and templates that use them."""
    variables = {"smc_sysctls_settings": {"wmem": 65536}, **variables}
    variables = {**variables, "omit": "__omit_place_holder__1"} if not trusting() else variables
    # a template of another role's default: both ways need that role
    shared = {"rps_cpus": "all"} if "rps_cpus" not in variables else {}
    assert run({"names": known_tunings()}, **shared, **variables)["msg"] == "fine"
    call = calls.pop()
    assert call["module"] == "zpower.sap_tuning.tunings" and call["names"] == known_tunings()
    for name in known_tunings():
        assert call["tunings"][name] == of_role(calls, name, **shared, **variables), name


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"zpower_confirm": "yes", "zpower_rollback": True}, "zpower_confirm keeps values and zpower_rollback takes"),
        ({"zpower_confirm_within": "10 minutes"}, "zpower_confirm_within is '10 minutes'; it must be seconds"),
        ({"zpower_confirm_within": "{{ nowhere }}"}, "zpower_confirm_within: .*nowhere"),
        ({"zpower_probation": "only"}, "zpower_probation=only is for rollback"),
        ({"zpower_probation": "compare"}, "zpower_probation=compare is for verify"),
        ({"zpower_probation": "compare", "zpower_rollback": True}, "zpower_probation=compare is for verify"),
    ],
)
def test_variables_of_all_tunings_are_checked_once_before_anything_runs(
    given: dict[str, Any], words: str, calls: list[dict[str, Any]]
) -> None:
    with pytest.raises(AnsibleActionFail, match=f"^{words}"):
        run({"names": ["rps", "cpu_topology"]}, **given)
    assert calls == []


@pytest.mark.parametrize(
    ("given", "warned"),
    [
        ({"zpower_confirm_within": 0}, True),
        ({"zpower_confirm_within": " 0 ", "zpower_rollback": True}, True),
        ({"zpower_confirm_within": "unlimited"}, False),
        ({"zpower_probation": "compare"}, False),
        ({"zpower_probation": "only", "zpower_rollback": True}, False),
        ({"zpower_confirm_within": "10m"}, False),
    ],
)
def test_the_value_with_three_meanings_works_with_a_note_about_it(
    given: dict[str, Any], warned: bool, calls: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(Display, "warning", lambda _self, text: said.append(text))
    run({"names": ["rps"]}, check=True, **given)
    found = calls[0]["tunings"]["rps"]["confirm_within"]
    assert found == ("10m" if given.get("zpower_confirm_within") == "10m" else "0")
    assert [text.partition(" and ")[0] for text in said] == ["zpower_confirm_within=0 has three meanings"] * warned


def test_given_options_and_variables_win_over_those_of_the_host_also_in_templates(calls: list[dict[str, Any]]) -> None:
    run({"tunings": {"rps": {"every": 4}, "cpu_topology": None}}, rps_every=2, rps_cpus="0-7")
    call = calls.pop()
    assert call["names"] == ["rps", "cpu_topology"]
    assert call["tunings"]["rps"]["every"] == 4 and call["tunings"]["rps"]["cpus"] == "0-7"
    own = {"rps_every": 4, "rps_flow_cnt": None}
    run({"names": ["rps"], "variables": own}, rps_every=2, rps_flow_cnt=4096, rps_interfaces=["hsi{{ rps_every }}"])
    options = calls.pop()["tunings"]["rps"]
    assert (options["every"], options["interfaces"]) == (4, ["hsi4"]) and "flow_cnt" not in options
    # an undefined variable of something else does no harm
    run({"names": ["rps"]}, unrelated="{{ nowhere }}", cpu_topology_sw_siblings="{{ nowhere }}")
    assert list(calls[0]["tunings"]) == ["rps"]


@pytest.mark.parametrize(
    ("role", "given", "names", "fails"),
    [
        ("verify", {"zpower_tunings": ["rps"]}, ["rps"], True),
        ("verify", {"zpower_tunings": ["smc"], "verify_tunings": "rps, {{ 'qeth' }}"}, ["rps", "qeth"], True),
        ("verify", {"zpower_tunings": "all", "zpower_drift": "warn"}, known_tunings(), False),
        ("verify", {"zpower_tunings": ["rps"], "zpower_drift": "warn", "verify_drift": "{{ 'fail' }}"}, ["rps"], True),
        ("tune", {"zpower_tunings": ["rps"], "tune_tunings": "", "zpower_drift": "fail"}, ["rps"], False),
        ("tune", {"zpower_tunings": ["qeth"], "tune_tunings": ["rps"], "tune_drift": "fail"}, ["rps"], True),
    ],
)
def test_a_task_of_a_role_takes_what_it_leaves_out_from_the_variables_of_the_role(
    monkeypatch: pytest.MonkeyPatch, role: str, given: dict[str, Any], names: list[str], fails: bool
) -> None:
    answer = {"failed": False, "msg": "1 drifted", "tuning": [{**ROW, "verdict": "drifted"}]}
    answering(monkeypatch, tunings={name: answer for name in names})
    found = run({"fail": False, "records": True}, role=role, check=True, rps_interfaces=["hsi0"], **given)
    assert list(found["tunings"]) == names and bool(found["failing"]) is fails
    assert not {"tuning", "later"} & {*run({}, role="tune", check=True, zpower_tunings=["rps"])}
    assert run({}, role="tune", check=True, zpower_tunings=["rps"], tune_change="chg")["later"] is True


@pytest.mark.parametrize(
    ("given", "words"),
    [({"zpower_tunings": "rsp"}, "there is no tuning 'rsp': zpower_tunings takes"), ({}, "no tunings are chosen: set")],
)
def test_a_role_needs_the_names_of_tunings(given: dict[str, Any], words: str) -> None:
    with pytest.raises(AnsibleActionFail, match=words):
        run({}, role="tune", **given)


def test_rows_and_diffs_of_all_tunings_are_one_list() -> None:
    result = run({"names": ["cpu_topology", "rps", "rps"]})
    assert result["tuning"] == [ROW] and list(result["tunings"]) == ["cpu_topology", "rps"]
    assert result["diff"] == [{**DIFF, "before_header": "rps", "after_header": "rps"}]
    assert result["changed"] is True and result["failed"] is False and result["msg"] == "fine"


@pytest.mark.parametrize("text, words", [("{{ nowhere }}", "nowhere"), ("{{ 1 / 0 }}", "division by zero")])
def test_a_mistake_in_a_variable_is_the_error_of_its_tuning(text: str, words: str, calls: list[dict[str, Any]]) -> None:
    result = run({"names": ["cpu_topology", "rps", "smc_r"], "fail": False}, rps_every=text)
    assert calls[0]["names"] == ["cpu_topology", "smc_r"]
    assert list(result["tunings"]) == ["cpu_topology", "rps", "smc_r"]
    assert result["failing"] and result["msg"].startswith("rps: rps_every: ") and words in result["msg"]
    assert run({"names": ["rps"]}, rps_every=text)["failed"] and len(calls) == 1


def test_an_error_of_a_tuning_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, tunings={"rps": {"failed": True, "msg": "every: 0 is out of range; use 1 to 8192"}})
    assert run({"names": ["rps"]})["failing"] == ["rps: rps_every: 0 is out of range; use 1 to 8192"]


def test_a_task_that_fails_shows_its_sentences_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {"failed": True, "msg": "no", "tuning": [ROW]}
    forged = {"module_args": {}, "evidence": {"tuning": [{**ROW, "verdict": "compliant"}]}}
    answering(monkeypatch, failed=True, msg="no", tunings={"rps": wrong}, invocation=forged)
    short, full = (run({"names": ["rps"], "fail": fail}) for fail in (True, False))
    assert {name for name in short if name[0] != "_"} == {"changed", "failed", "failing", "invocation", "msg", "diff"}
    assert short["failing"] == full["failing"] == ["rps: no"] and (short["failed"], full["failed"]) == (True, False)
    assert full["tuning"] == [ROW], "what the host says of its evidence does not count"
    evidence = {"tunings": full["tunings"], "errors": ["rps: no"], "tuning": [ROW], "drift": []}
    assert json.loads(short["invocation"]["evidence"]) == {**evidence, "waivers": [], "problems": []}
    waits = {"smc_restart": ["PRD_00"]}
    assert "tuning" in run({"names": ["rps", "smc"], "defer": True}, **waits), "the second task fails"
    brief = run({"names": ["rps", "smc"], "defer": True, "records": False}, **waits)
    assert brief["deferred"] == ["smc"] and brief["throttle"] == 1 and not {"tuning", "tunings"} & {*brief}


def test_a_host_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = {"failed": True, "msg": "MODULE FAILURE", "rc": 1}
    monkeypatch.setattr(tunings.ActionModule, "_execute_module", lambda *_arguments, **_more: lost)
    found = run({"names": ["rps"]}, group_names=["sap"])
    assert {name: found[name] for name in found if not name.startswith("_ansible")} == lost


def test_limits_of_waivers_count_from_the_day_of_the_run(calls: list[dict[str, Any]]) -> None:
    last = tunings.waivers.DAY + datetime.timedelta(90)
    given = {"tuning": "rps", "subject": "*", "hosts": "app1", "reason": "x", "owner": "y", "until": last}
    limits = {"zpower_waiver_days": "90", "zpower_broad_waivers": "fail"}
    with pytest.raises(AnsibleActionFail, match=r"^zpower_waivers, entry 1: it fits every subject, and zpower_broad"):
        run({"names": ["rps"]}, zpower_waivers=[given], **limits)
    given["subject"] = "hsi*"
    assert run({"names": ["rps"]}, zpower_waivers=[given], **limits)["changed"]
    given["until"] = last + datetime.timedelta(1)
    with pytest.raises(AnsibleActionFail, match=f"zpower_waiver_days allows {last} at the latest"):
        run({"names": ["rps"]}, zpower_waivers=[given], **limits)
    assert len(calls) == 1


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"names": ["rps", "rsp"]}, "names"),
        ({"tunings": {"rsp": {}}}, "there is no tuning 'rsp'"),
        ({"names": ["rps"], "check": True}, "check"),
    ],
)
def test_wrong_arguments_are_errors(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(AnsibleActionFail, match=words):
        run(arguments)


@pytest.mark.parametrize(
    ("run_tags", "skip_tags", "tags", "names"),
    [
        (("all",), (), ("always",), ["rps", "smc_r"]),
        (("rps", "other"), (), ("always",), ["rps"]),
        (("cpu_topology",), (), ("always",), []),
        (("other",), (), ("always", "other"), ["rps", "smc_r"]),
        (("all",), ("rps",), ("always",), ["smc_r"]),
        (("tagged",), (), ("always",), ["rps", "smc_r"]),
        (("rps",), ("rps",), ("always",), []),
    ],
)
def test_tags_choose_tunings(
    calls: list[dict[str, Any]], run_tags: object, skip_tags: object, tags: tuple[str, ...], names: list[str]
) -> None:
    result = run({"names": ["rps", "smc_r"]}, tags, ansible_run_tags=run_tags, ansible_skip_tags=skip_tags)
    assert [name for call in calls for name in call["names"]] == names
    assert bool(result.get("skipped")) is not bool(names)


@pytest.mark.parametrize(
    ("tags", "more"), [(("rsp",), ""), (("always",), ""), (("platform",), ""), (("rsp",), "platform, ")]
)
def test_tags_that_no_tuning_has_are_an_error(tags: tuple[str, ...], more: str) -> None:
    with pytest.raises(AnsibleActionFail) as caught:
        run({"names": ["rps"], "check_platform": bool(more)}, ansible_run_tags=tags)
    assert f"nothing was done: --tags {tags[0]} matches none of aix_device_attributes, " in str(caught.value)
    assert str(caught.value).endswith(f"{known_tunings()[-1]}, {more}all, tagged")


WAIVER = {"tuning": "platform", "subject": "SMT", "hosts": "all", "reason": "x", "owner": "x", "until": "2999-12-31"}


def platform_row(verdict: str) -> dict[str, Any]:
    return {**LESS, "name": "platform", "subject": "SMT", "verdict": verdict, "reason": f"{verdict}!"}


@pytest.mark.parametrize(
    ("verdict", "errors", "drifts"),
    [
        ("compliant", [], []),
        ("unsupported", [], []),
        ("not_applicable", [], []),
        ("drifted", [], ["drifted!"]),
        ("pending_restart", [], ["pending_restart!"]),
        ("failed", ["SMT: failed!"], []),
    ],
)
def test_rows_of_the_platform_check_count_too(
    monkeypatch: pytest.MonkeyPatch, verdict: str, errors: list[str], drifts: list[str]
) -> None:
    seen: list[dict[str, Any]] = []

    def execute(_self: Any, module_name: str, module_args: dict[str, Any], task_vars: Any) -> dict[str, Any]:
        seen.append(module_args)
        return {"changed": False, "tunings": {}, "tuning": [platform_row(verdict)], "platform": {"system": "Linux"}}

    monkeypatch.setattr(tunings.ActionModule, "_execute_module", execute)
    variables = {"platform_threads_per_core": "{{ wanted }}", "wanted": 2, "ansible_run_tags": ("platform",)}
    for policy in ("fail", "warn"):
        arguments = {"names": ["rps"], "check_platform": True, "drift": policy, "fail": False}
        found = run(arguments, check=True, **variables)
        call = seen.pop()
        assert (call["names"], call["check_platform"], seen) == ([], True, [])
        assert (int(call["platform"]["threads_per_core"]), call["platform"]["tunings"]) == (2, ["rps"])
        assert (found["errors"], found["drift"]) == (errors, drifts)
        assert found["failing"] == errors + (drifts if policy == "fail" else [])
        assert found["tuning"] == [platform_row(verdict)] and found["platform"] == {"system": "Linux"}


@pytest.mark.parametrize(
    ("hosts", "until", "waived"),
    [
        ("app1", datetime.date(9999, 1, 31), True),
        (["sap*"], "9999-01-31", True),
        (["all"], "9999-01-31", True),
        (["app2"], "9999-01-31", False),
        (["app1"], "2026-01-31", False),
    ],
)
def test_a_waived_row_is_not_drift(monkeypatch: pytest.MonkeyPatch, hosts: object, until: object, waived: bool) -> None:
    answering(monkeypatch, tuning=[platform_row("drifted")])
    waiver = {"tuning": "platform", "subject": "SM*", "hosts": hosts, "reason": "ticket {{ 4 + 3 }}", "owner": "ops"}
    given = {"zpower_waivers": [{**waiver, "until": until}], "group_names": ["sap_app_servers"]}
    found = run({"names": [], "check_platform": True, "drift": "fail", "fail": False}, **given)
    assert found["failing"] == ([] if waived else ["drifted!"])
    assert found["tuning"] == [platform_row("drifted")], "the records keep their verdicts"
    (row,), (use,) = (json.loads(found["invocation"]["evidence"])[name] for name in ("tuning", "waivers"))
    fits = hosts != ["app2"]
    assert row["verdict"] == ("waived" if waived else "drifted") and ("waiver" in row) is fits
    assert (use["reason"], use["until"], use["here"]) == ("ticket 7", str(until), fits)
    assert use["uses"] == ({"SMT": "applied" if waived else "expired"} if fits else {})


@pytest.mark.parametrize("rollback", [True, "true", "{{ 1 == 1 }}"])
def test_no_waiver_accepts_a_value_that_is_not_rolled_back(monkeypatch: pytest.MonkeyPatch, rollback: object) -> None:
    answering(monkeypatch, tuning=[platform_row("drifted")])
    arguments = {"names": [], "check_platform": True, "drift": "fail"}
    assert run(arguments, zpower_waivers=[WAIVER])["failing"] == []
    found = run(arguments, zpower_waivers=[WAIVER], zpower_rollback=rollback)
    assert (found["failing"], json.loads(found["invocation"]["evidence"])["waivers"]) == (["drifted!"], [])


def test_after_a_rollback_the_platform_check_only_looks_for_tunings(calls: list[dict[str, Any]]) -> None:
    wanted = {"platform_threads_per_core": 2, "platform_database_host": "sapdb1"}
    for rollback, options in ((False, {"threads_per_core": 2, "database_host": "sapdb1", "smc_peers": []}), (True, {})):
        run({"names": ["rps"], "check_platform": True}, **wanted, zpower_rollback=rollback)
        assert calls[-1]["platform"] == {**options, "tunings": ["rps"]}


@pytest.mark.parametrize("size", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_tags_mean_what_they_mean_to_ansible(size: int) -> None:
    words = ("rps", "site", "all", "tagged", "untagged", "never", "always")
    some = [chosen for count in range(1, size + 1) for chosen in itertools.combinations(words, count)]
    for own, asked, skipped in itertools.product((("rps",), ("rps", "site"), ("rps", "never")), some, [(), *some]):
        task = Task(block=Block(play=Play()))
        task.tags = list(own)
        expected = task.evaluate_tags(list(asked), list(skipped), {})
        assert runs(own, asked, skipped) is expected, (own, asked, skipped)


@pytest.mark.parametrize(
    ("names", "defer", "check", "order", "deferred", "called"),
    [
        (["rps", "sap_profile"], True, False, {"app1": 1}, 1, ["rps"]),
        (["sap_profile"], True, False, {"app1": 0}, 0, None),
        (["rps", "sap_profile"], True, False, {"app2": 1}, None, ["rps", "sap_profile"]),
        (["rps", "sap_profile"], True, False, None, None, ["rps", "sap_profile"]),
        (["rps", "sap_profile"], True, True, {"app1": 1}, None, ["rps", "sap_profile"]),
        (["rps", "sap_profile"], False, False, {"app1": 1}, None, ["rps", "sap_profile"]),
        (["rps"], True, False, {"app1": 1}, None, ["rps"]),
    ],
)
def test_a_host_that_comes_second_is_deferred(
    calls: list[dict[str, Any]], names: list[str], defer: bool, check: bool, order: Any, deferred: Any, called: Any
) -> None:
    facts = {} if order is None else {"__sap_profile_order": {"owners": {}, "later": order}}
    result = run({"names": names, "defer": defer}, check=check, **facts)
    assert result["deferred"] == ([] if deferred is None else ["sap_profile"])
    assert result["throttle"] == (deferred or 0)
    assert [call["names"] for call in calls] == ([] if called is None else [called])
    assert list(result["tunings"]) == (called or []) and not result["failed"] and not result.get("skipped")


@pytest.mark.parametrize(
    ("restart", "check", "deferred"), [(["PRD_00"], False, ["smc"]), (["PRD_00"], True, []), ([], False, [])]
)
def test_a_host_whose_instances_may_be_restarted_for_smc_waits_for_its_turn(
    restart: list[str], check: bool, deferred: list[str], calls: list[dict[str, Any]]
) -> None:
    arguments = {"names": ["rps", "smc"], "defer": True}
    result = run(arguments, check=check, smc_restart=restart, rps_interfaces=["hsi0"])
    assert (result["deferred"], result["throttle"]) == (deferred, len(deferred))
    assert [call["names"] for call in calls] == [["rps"] if deferred else ["rps", "smc"]]


def test_a_mistake_is_not_deferred() -> None:
    order = {"__sap_profile_order": {"later": {"app1": 0}}}
    result = run({"names": ["sap_profile"], "defer": True}, sap_profile_sid="{{ nowhere }}", **order)
    assert result["failed"] and "nowhere" in result["failing"][0]


CONFLICT = "rps hsi0: /etc/udev/rules.d/99-site.rules line 1 wins over the stored value at the next boot (udev rule)"


def preflight(monkeypatch: pytest.MonkeyPatch, *rows: dict[str, Any], **variables: Any) -> dict[str, Any]:
    """The result for these records of a host on which another file wins."""

    def execute(_self: Any, module_name: str, module_args: dict[str, Any], task_vars: Any) -> dict[str, Any]:
        assert module_args["preflight"] is True
        return {"changed": True, "tunings": {"rps": {}}, "tuning": list(rows), "preflight": [CONFLICT]}

    monkeypatch.setattr(tunings.ActionModule, "_execute_module", execute)
    arguments = {"names": ["rps"], "check_platform": True, "preflight": True, "defer": True, "fail": False}
    return run(arguments, check=True, **variables)


def test_a_preflight_unites_host_and_platform(monkeypatch: pytest.MonkeyPatch, calls: list[dict[str, Any]]) -> None:
    assert "preflight" not in run({"names": ["rps"]}) and "preflight" not in calls[0], "other calls have none"
    verdicts = ("compliant", "drifted", "pending_restart", "failed", "unsupported", "not_applicable")
    rows = [{**platform_row(verdict), "subject": verdict} for verdict in verdicts]
    # a value that merely differs is what the call is to change
    found = preflight(monkeypatch, {**ROW, "verdict": "drifted", "reason": "off, wanted on"}, *rows)
    assert found["preflight"] == [CONFLICT, "drifted: drifted!", "failed: failed!"]
    # a waived platform does not stop it
    assert preflight(monkeypatch, platform_row("drifted"), zpower_waivers=[WAIVER])["preflight"] == [CONFLICT]
    assert len(preflight(monkeypatch, platform_row("failed"), zpower_waivers=[WAIVER])["preflight"]) == 2
    # text of the host is one short line
    found = preflight(monkeypatch, {**platform_row("failed"), "reason": "a\n\x1b[31m" + "b" * 9999})
    [_conflict, sentence] = found["preflight"]
    assert sentence.startswith("SMT: a ") and sentence.isprintable() and len(sentence) == tunings.LONGEST_SENTENCE
