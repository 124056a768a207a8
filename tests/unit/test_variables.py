# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A misspelt variable, or one with a wrong value, ends a run of every playbook before a host is touched."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.role_options import templated
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import (
    COMMON,
    KINDS,
    in_variables,
    known,
    misspelt,
    mistakes,
    option_names,
    refusal,
    role_values,
    wrong,
)
from playing import CHECKOUT, play

ROLES = sorted(path.name for path in (CHECKOUT / "roles").iterdir())
PLAYBOOKS = sorted(path.stem for path in (CHECKOUT / "playbooks").glob("*.yml"))
OWN = "variable of your own with such a name goes into zpower_own_variables"

MISSPELT = {
    **{f"{role}_sate": f"{role}_state" for role in ROLES if f"{role}_state" in role_values(role)},  # of each tuning
    "zpower_confirm_whitin": "zpower_confirm_within",
    "zpower_tuning": "zpower_tunings",
    "rollout_onfailure": "rollout_on_failure",
    "before_after_desing": "before_after_design",
    "platform_thread_per_core": "platform_threads_per_core",
    "cpu_polarisation_mode": None,  # a prefix that nobody uses
    # wrong case, hyphens
    "ZPOWER_CHANGE": "zpower_change",
    "zpower_Drift": "zpower_drift",
    "rollout-canaries": "rollout_canaries",
}


@pytest.mark.parametrize(("name", "meant"), MISSPELT.items())
def test_a_misspelt_name_is_refused_with_the_one_that_was_meant(name: str, meant: str | None) -> None:
    found = list(mistakes({name: 1, "zpower_tunings": ["rps"]}))
    if meant is None:
        assert not found
    else:
        assert len(found) == 1 and found[0].startswith(f"there is no variable '{name}'; did you mean {meant}?")


@pytest.mark.parametrize(
    "right",
    [
        {"rps_state": False},  # off in YAML
        {"rps_every": "2", "rps_flow_steering": "yes", "measure_run_seconds": "1.5", "zpower_drift": "warn"},
        {"measure_workloads": "niping,network", "rps_interfaces": "hsi0", "zpower_confirm_within": "10m"},
        {"measure_seconds": {"changed": False, "failed": False}, "rps_result": {"failed": True}},  # registered
        {"__rps_anything": 1, "other_rps_evry": 1, "ansible_rps": 1, "awx_rps_evry": 1, "smcx_a": 1},
        {"verify_ssl": False, "tune_in": 1, "verify_certificates": True},
        {"zpower_platform": {}},
        {"zpower_site_room": 1, "report_mail": 2, "zpower_own_variables": ["zpower_site_*", "report_mail"]},
        {"zpower_site_room": 1, "zpower_own_variables": "report_mail, zpower_site_room"},
        {
            "ansible_facts": {"rps_found": 1, "rps_every": "x"},
            "rps_found": 1,
            "rps_every": "x",
        },  # facts.py has the sentence for these
        {"rps_every": "{{ nowhere }}", "zpower_rollback": "{% if x %}1{% endif %}"},  # left to the task
    ],
)
def test_valid_variables_are_accepted(right: dict[str, Any]) -> None:
    assert not list(mistakes(right))


def test_an_empty_survey_field_is_the_default() -> None:
    assert not list(mistakes(dict.fromkeys(known(), "")))
    assert not list(mistakes(dict.fromkeys(known(), " ")))
    assert not list(mistakes(dict.fromkeys(known())))


def test_a_name_that_is_not_listed_among_a_site_s_own_is_refused() -> None:
    given = {"zpower_site_room": 1, "zpower_own_variables": ["zpower_rack"], "zpower_qq": 1}
    first, second = mistakes(given)
    assert second.startswith("there is no variable 'zpower_site_room'; ") and second.endswith(OWN)
    assert first.startswith("there is no variable 'zpower_qq'; ") and first.endswith(OWN)
    assert len(list(mistakes({"zpower_site_room": 1, "zpower_own_variables": 5}))) == 1


def test_templates_are_checked_with_their_values() -> None:
    given = {"rps_every": "{{ n }}", "zpower_own_variables": "{{ mine }}", "zpower_mine": 1}
    values: dict[str, Any] = {"rps_every": "x", "zpower_own_variables": ["zpower_mine"]}
    assert list(mistakes(given, values.__getitem__)) == ["rps_every is 'x'; it must be a whole number"]

    def undefined(_name: str) -> Any:
        raise ValueError("nowhere")

    assert not list(mistakes({"rps_every": "{{ n }}"}, undefined))


def test_the_defaults_of_all_roles_are_right() -> None:
    for role in ROLES:
        for name, value in role_values(role).items():
            assert name.startswith("__") or "{{" in str(value) or not wrong(name, known()[name], value), name


def test_a_default_that_follows_a_wrong_variable_is_not_reported_too() -> None:
    given = {**role_values("verify"), "zpower_drift": "no"}
    assert [one[:13] for one in mistakes(given, lambda _name: "no")] == ["zpower_drift "]


def test_every_type_has_a_conversion() -> None:
    specs = known().values()
    assert {spec["type"] for spec in specs} | {spec.get("elements", "raw") for spec in specs} <= {*KINDS, "duration"}


def test_the_common_variables_are_those_on_the_page() -> None:
    groups = yaml.safe_load((CHECKOUT / "tests" / "reference.yml").read_text("utf-8"))["variables"]
    described = {one["name"]: one for group in groups for one in group["variables"]}
    assert described.keys() == COMMON.keys()
    for name, spec in COMMON.items():
        assert all(f"`{choice}`" in described[name]["meaning"] for choice in spec.get("choices", ())), name


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("every: 0 is out of range; use 1 to 8192", "rps_every: 0 is out of range; use 1 to 8192"),
        ("argument 'every' is of type str", "argument 'rps_every' is of type str"),
        ("lease: 5 is out of range", "zpower_lease: 5 is out of range"),
        ("every CPU is offline", "every CPU is offline"),
        ("state of the host: every: 1", "state of the host: every: 1"),
    ],
)
def test_an_option_at_the_beginning_of_a_sentence_becomes_its_variable(said: str, words: str) -> None:
    assert in_variables(option_names("rps"), said) == words


def test_many_mistakes_make_one_short_text() -> None:
    sentences = {sentence: ["a", "b", "c", "d", "e"] for name in MISSPELT for sentence in misspelt(name)}
    said = refusal(sentences, 9)
    assert len(said) < 500
    assert said.startswith(next(iter(sentences)) + " (a, b, c and 2 more hosts); ")
    count = re.search(r"; and (\d+) more$", said)
    assert count and said.count("there is no variable") + int(count[1]) == len(sentences)
    assert len(refusal({"x" * 9000: ["a"]}, 1)) < 500
    assert refusal({"x": ["a", "b"]}, 2) == "x"


def hosts(**variables: object) -> dict[str, Any]:
    """Return two hosts; a task that reaches one of them needs an interpreter that does not exist."""
    given = {"ansible_connection": "local", "ansible_python_interpreter": "/nonexistent", "zpower_tunings": ["rps"]}
    return {"app1": given, "app2": given | variables}


def failures(text: str) -> list[str]:
    return [json.loads(said)["msg"] for said in re.findall(r"^fatal: .*?=> (.*)$", text, re.MULTILINE)]


def refused(code: int, text: str) -> str:
    """Return the message of a refused run: one task, one failure."""
    assert code == 2, text
    assert re.findall(r"^TASK \[(.*?)\]", text, re.MULTILINE) == ["Variables of zpower.sap_tuning"]
    (message,) = failures(text)
    assert len(message) < 500
    return message


# a mistake in the inventory of the second host, one of the command line, and a wrong value
@pytest.mark.parametrize(
    "playbook",
    [
        name if name in ("captures", "rollout", "verify") else pytest.param(name, marks=pytest.mark.nightly)
        for name in PLAYBOOKS
    ],
)
def test_every_playbook_refuses_before_it_touches_a_host(tmp_path: Path, playbook: str) -> None:
    wrong = ["-e", "zpower_confirm_whitin=10m", "-e", "measure_workloads=iperf", "-e", "rps_state={{rps_every}}"]
    said = refused(*play(tmp_path, hosts(rps_evry=2), playbook, *wrong))
    assert said.startswith("measure_workloads has 'iperf'; it must be one of niping, ")
    assert "there is no variable 'zpower_confirm_whitin'; did you mean zpower_confirm_within?" in said
    if playbook != "captures":  # its first play has only the controller
        assert "there is no variable 'rps_evry'; did you mean rps_every? (app2)" in said


def test_a_template_in_a_wrong_value_stays_text_in_the_evidence_too(tmp_path: Path) -> None:
    given = {"zpower_drift": "{{ '{' ~ '{ lookup(\"pipe\", \"touch was_run\") }' ~ '}' }}"}
    said = refused(*play(tmp_path, hosts(), "verify", variables=given))
    assert said.startswith("zpower_drift is '{ {  lookup(")
    assert not (tmp_path / "was_run").exists()
    (path,) = (tmp_path / "results" / "verify").glob("*/verify.json")
    evidence = json.loads(path.read_text())
    assert {host["host"]: (host["outcome"], host["message"]) for host in evidence["hosts"]} == {
        name: ("failed", " ".join(said.split())) for name in ("app1", "app2")
    }


@pytest.mark.gate
def test_a_users_own_play_is_refused_by_its_first_task_of_this_collection(tmp_path: Path) -> None:
    given = {"report_mail": 1, "zpower_own_variables": ["report_*"], "rps_evry": 2}
    plays = [{"hosts": "all", "gather_facts": False, "vars": given, "roles": ["zpower.sap_tuning.rps"]}]
    code, text = play(tmp_path, hosts(), plays)
    assert code == 2
    assert failures(text) == ["there is no variable 'rps_evry'; did you mean rps_every?"] * 2


@pytest.mark.gate
def test_a_users_own_play_with_evidence_is_checked_before_its_first_task(tmp_path: Path) -> None:
    plays = [{"hosts": "all", "gather_facts": False, "serial": 1, "vars": {"zpower_evidence": "verify"}}]
    plays[0]["roles"] = ["zpower.sap_tuning.verify"]
    done = play(tmp_path, hosts(rps_evry=1), plays, ANSIBLE_CALLBACKS_ENABLED="zpower.sap_tuning.tunings")
    assert refused(*done) == "there is no variable 'rps_evry'; did you mean rps_every? (app2)"


@pytest.mark.parametrize(
    ("given", "found"),
    [(0, "0"), ("0", "0"), ("10m", "10m"), ("unlimited", "unlimited"), ("", "auto"), (None, "auto"), (..., "auto")],
)
def test_the_probation_of_a_rollout_follows_the_inventory_even_if_it_is_zero(given: object, found: str) -> None:
    variables = {**role_values("rollout"), **({} if given is ... else {"zpower_confirm_within": given})}
    assert str(templated(Templar(DataLoader(), variables=variables), variables)("rollout_confirm_within")) == found


SHIPPED = [
    *sorted((CHECKOUT / "inventories").rglob("*.yml")),
    *sorted((CHECKOUT / "molecule").rglob("*.yml")),
    *sorted((CHECKOUT / "tests" / "demo").rglob("*.yml")),
    *sorted((CHECKOUT / "docs").rglob("*.md")),
    CHECKOUT / "README.md",
]
NAME = re.compile(
    rf"(?:^[ ]*(?:- )?[\"']?|-e [\"']?(?:\{{\s*\")?|[{{,] ?[\"']?)((?:zpower|{'|'.join(ROLES)})_\w+)[\"']?(?:: |:$|=)",
    re.MULTILINE,
)
NO_EXAMPLE = {"rps_evry"}
"""What the documentation shows as a mistake."""


def set_in(path: Path) -> Iterator[str]:
    yield from NAME.findall(path.read_text("utf-8"))


def test_shipped_files_and_examples_set_only_known_variables() -> None:
    found = {(name, str(path.relative_to(CHECKOUT))) for path in SHIPPED for name in set_in(path)}
    assert len({name for name, _path in found} & known().keys()) > 60
    assert not {(name, path) for name, path in found if name not in {*known(), *ROLES, *NO_EXAMPLE}}
