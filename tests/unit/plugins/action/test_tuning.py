# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that a tuning's module gets from the variables of its role."""

from __future__ import annotations

import json
from typing import Any

import pytest
from actions import run_action, trusting
from ansible.errors import AnsibleActionFail
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.zpower.sap_tuning.plugins.action import tuning
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.role_options import SUBJECTS
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import (
    known_tunings,
    role_specs,
    trusted,
)

CALLS: list[tuple[str, dict[str, Any]]] = []
NO_SUBJECTS = {
    *("settings", "items", "presets", "parameters", "restart"),
    *("pnet_ids", "ueids", "attributes", "sap_ports", "database_ports"),
}
"""Options that take several values, but do not limit which subjects are taken back."""


@pytest.fixture(autouse=True)
def no_host(monkeypatch: pytest.MonkeyPatch) -> None:
    def execute(_self: Any, module_name: str, module_args: dict[str, Any], task_vars: Any) -> dict[str, Any]:
        CALLS.append((module_name, json.loads(json.dumps(module_args))))
        return {}

    monkeypatch.setattr(tuning.ActionModule, "_execute_module", execute)


def options(name: str, **variables: Any) -> dict[str, Any]:
    """The options of the module, for these variables."""
    variables = trusted(variables)
    run_action(tuning, {"name": name}, variables=variables, templar=Templar(DataLoader(), variables=variables))
    module, found = CALLS.pop()
    assert module == f"zpower.sap_tuning.{name}"
    assert found.pop("complete") is True
    return found


def test_each_variable_is_templated_and_becomes_its_option() -> None:
    found = options("rps", rps_interfaces=["hsi0", "{{ other }}"], other="hsi1", rps_cpus="0-7", rps_state="off")
    assert found == {"interfaces": ["hsi0", "hsi1"], "cpus": "0-7", "state": "off"}


def test_what_is_unset_is_left_out_and_zero_is_not() -> None:
    assert options("rps", rps_flow_cnt=None, rps_sock_flow_entries=0) == {"sock_flow_entries": 0}
    assert options("smc_r", smc_r_device="", smc_r_preset="none", smc_r_when_busy="defer") == {"when_busy": "defer"}
    assert options("cpu_polarization", unrelated="{{ nowhere }}") == {}


def test_values_inside_a_dictionary_stay_as_they_are() -> None:
    devices = {"sys0": {"maxuproc": 4096, "a": None, "b": "None", "c": "4096", "d": ""}}
    assert options("aix_device_attributes", aix_device_attributes_devices=devices) == {"devices": devices}


def test_an_omitted_entry_is_left_out() -> None:
    attributes = {"a": "1", "b": "{{ nowhere | default(omit) }}"}
    found = options("smc_r", smc_r_attributes=attributes, **({} if trusting() else {"omit": "__omit_place_holder__1"}))
    assert found == {"attributes": {"a": "1"}}


@pytest.mark.parametrize("rollback", [True, "yes", "{{ 1 == 1 }}"])
def test_a_rollback_covers_everything_whatever_the_inventory_names(rollback: Any) -> None:
    for name, given, kept in (
        ("rps", {"interfaces": ["hsi0"], "state": "off", "force": True}, {"force": True}),
        ("smc_r", {"device": "smcr1", "when_busy": "defer"}, {"when_busy": "defer"}),
        ("aix_device_attributes", {"devices": {"sys0": {}}}, {}),
        ("sap_profile", {"profiles": [{"sid": "PRD"}], "restart": ["PRD_00"]}, {"restart": ["PRD_00"]}),
        # the rollback of a probation
        ("rps", {"interfaces": ["hsi0"]}, {}),
    ):
        variables = {f"{name}_{option}": value for option, value in given.items()}
        assert options(name, zpower_rollback=rollback, **variables) == {"state": "restored", **kept}
    given = {"zpower_rollback": rollback, "zpower_confirm_within": "0", "rps_interfaces": ["hsi0"]}
    assert options("rps", **given) == {"state": "restored", "confirm_within": "0"}


def test_a_rollback_leaves_out_every_option_that_names_subjects() -> None:
    for name in known_tunings():
        kinds = {option.removeprefix(f"{name}_"): spec["type"] for option, spec in role_specs(name).items()}
        several = {option for option, kind in kinds.items() if kind in ("list", "dict")}
        assert several <= SUBJECTS | NO_SUBJECTS, f"{name}: is it of SUBJECTS or of NO_SUBJECTS?"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"zpower_confirm_within": "10m"}, {"confirm_within": "10m"}),
        ({"zpower_confirm_within": " 2h "}, {"confirm_within": "2h"}),
        ({"zpower_confirm_within": 90}, {"confirm_within": "90"}),
        ({"zpower_confirm_within": "{{ 60 * 2 }}"}, {"confirm_within": "120"}),
        ({"zpower_confirm_within": 0}, {"confirm_within": "0"}),
        ({"zpower_confirm_within": "7d"}, {"confirm_within": "7d"}),
        ({"zpower_confirm_within": ""}, {}),
        ({"zpower_confirm_within": " "}, {}),
        ({"zpower_confirm_within": None, "zpower_confirm": "", "zpower_rollback": ""}, {}),
        ({"zpower_confirm": "no"}, {}),
        ({"zpower_confirm": "true"}, {"state": "confirmed"}),
        ({"zpower_confirm": True, "zpower_confirm_within": "10m"}, {"state": "confirmed"}),
    ],
)
def test_probation_and_its_confirmation_keep_the_requested_values(given: dict[str, Any], expected: Any) -> None:
    found = options("rps", rps_interfaces=["hsi0"], rps_cpus="all", **given)
    assert found == {"interfaces": ["hsi0"], "cpus": "all", **expected}


def test_a_confirmation_judges_the_requested_state_and_profiles() -> None:
    assert options("rps", rps_state="off", zpower_confirm=True) == {"state": "confirmed", "confirmed_state": "off"}
    found = options("sap_profile", zpower_confirm=True, sap_profile_shared=False, **PLAIN)
    assert found == {"profiles": [{"sid": "PRD", "instance": "D00", "parameters": {"a": 1}}], "state": "confirmed"}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"zpower_confirm": True, "zpower_rollback": "yes"}, "zpower_confirm keeps .* give only one of them"),
    ({"zpower_confirm_within": "soon"}, "zpower_confirm_within is 'soon'; it must be seconds, or a duration such as"),
    ({"zpower_confirm_within": True}, "zpower_confirm_within is True; it must be seconds"),
    ({"zpower_confirm_within": "-1"}, "zpower_confirm_within is '-1'; it must be seconds"),
    ({"zpower_confirm_within": "8d"}, "zpower_confirm_within is '8d'; it must be at most 7d"),
    ({"zpower_confirm_within": "1m", "zpower_checkpoint": "x"}, "zpower_confirm_within is for .* leave out zpower_ch"),
    ({"zpower_confirm_within": "1m", "zpower_lease": 0}, "zpower_confirm_within is for .* leave out zpower_lease"),
    ({"zpower_confirm": True, "zpower_checkpoint": "x"}, "zpower_confirm is for .* leave out zpower_checkpoint"),
    ({"zpower_confirm_within": "{{ nowhere }}"}, "zpower_confirm_within: .*nowhere"),
]


@pytest.mark.parametrize(("given", "words"), WRONG)
def test_a_contradiction_is_one_error(given: dict[str, Any], words: str) -> None:
    with pytest.raises(AnsibleActionFail, match=words):
        options("rps", **given)


PLAIN = {"sap_profile_sid": "PRD", "sap_profile_instance": "D00", "sap_profile_parameters": {"a": 1}}


def test_profiles_are_those_that_the_role_has_assigned() -> None:
    default, own = {"sid": "PRD", "instance": "DEFAULT"}, {"sid": "PRD", "instance": "D00", "parameters": {"a": 1}}
    asked: dict[str, Any] = {"sap_profile_shared": True, "sap_profile_profiles": [default], **PLAIN}
    asked |= {"__sap_profile_order": {"owners": {"PRD/DEFAULT.PFL": "app1"}}}
    for host, second in (("app1", default), ("app2", {**default, "left_to": "app1"})):
        assert options("sap_profile", inventory_hostname=host, **asked) == {"profiles": [own, second]}
    assert options("sap_profile", **{**asked, "sap_profile_shared": "no"}) == {"profiles": [own, default]}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"sap_profile_profiles": {"sid": "PRD"}}, "sap_profile_profiles is {'sid': 'PRD'}; it must be a list"),
        ({"sap_profile_profiles": ["DEFAULT.PFL"]}, "sap_profile_profiles has 'DEFAULT.PFL'; it must be a dictionary"),
        ({"sap_profile_profiles": "{{ [1] }}"}, "sap_profile_profiles: a list of dictionaries"),
        ({"sap_profile_shared": "maybe"}, "sap_profile_shared is 'maybe'; it must be true or false"),
    ],
)
def test_invalid_profiles_are_an_error_of_their_variable(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(AnsibleActionFail, match=words):
        options("sap_profile", **{"sap_profile_shared": True, **PLAIN, **wrong})


@pytest.mark.parametrize("text, words", [("{{ nowhere }}", "nowhere"), ("{{ 1 / 0 }}", "division by zero")])
def test_an_error_in_a_template_names_the_variable(text: str, words: str) -> None:
    with pytest.raises(AnsibleActionFail, match=f"rps_every: .*{words}"):
        options("rps", rps_every=text)


def test_errors_name_the_tuning_or_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AnsibleActionFail, match="name must be one of"):
        options("rsp")
    said = {"failed": True, "msg": "every: 0 is out of range; use 1 to 8192"}
    monkeypatch.setattr(tuning.ActionModule, "_execute_module", lambda *_arguments, **_more: said)
    found = run_action(tuning, {"name": "rps"}, variables={}, templar=Templar(DataLoader(), variables={}))
    assert found["failed"] and found["msg"] == "rps_every: 0 is out of range; use 1 to 8192"
