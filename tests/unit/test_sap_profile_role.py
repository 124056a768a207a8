# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which host changes a profile that several hosts share: the role sap_profile decides it before any module call."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from playing import CHECKOUT, LOCAL, play

Entry = dict[str, Any]

DEFAULT: Entry = {"sid": "PRD", "instance": "DEFAULT", "parameters": {"enque/table_size": 640000}}
OWN: Entry = {"sid": "PRD", "instance": "D*", "presets": ["realtime_scheduler"], "parameters": {"rdisp/vbname": None}}


# An action beside the playbook keeps what the role's action would give to the module.
KEEP = """
import json
from ansible.plugins.action import ActionBase
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import role_specs, role_values
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.role_options import module_options, scope

class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        with scope(self._templar, {**role_values("sap_profile"), **task_vars}) as value_of:
            options = module_options("sap_profile", role_specs("sap_profile"), value_of)
        with open(self._task.args["dest"], "w") as target:
            json.dump({"wanted": options["profiles"]}, target)
        return super().run(tmp, task_vars)
"""


def play_all(folder: Path, hosts: dict[str, Entry], *plays: Entry) -> tuple[int, str]:
    """Return exit code and output of plays; hosts: {name: variables} in the inventory's order."""
    for name, text in (("action_plugins", KEEP), ("library", "")):
        (folder / name).mkdir()
        (folder / name / "keep.py").write_text(text)
    everybody = {name: {**LOCAL, "zpower_tunings": ["sap_profile"], **known} for name, known in hosts.items()}
    return play(folder, everybody, [{"hosts": "all", "gather_facts": False, **one} for one in plays])


ROLE = {"ansible.builtin.include_role": {"name": "zpower.sap_tuning.sap_profile", "tasks_from": "shared.yml"}}
# the role tune needs one task for all hosts
TUNE = {
    **yaml.safe_load((CHECKOUT / "roles" / "tune" / "tasks" / "order.yml").read_text("utf-8"))[0],
    "vars": {"__tune_names": "{{ query('zpower.sap_tuning.tunings', zpower_tunings) }}"},
}


def profiles(*wanted: Entry, **more: Any) -> Entry:
    return {"sap_profile_profiles": list(wanted), **more}


VALUE = "$(rdisp/myname) # 'x' \"ü\" 007"
PLAIN = {"sid": "PRD", "instance": "DEFAULT", "parameters": {"a": None, "b": VALUE, "c": 7, "d": "7", "e": "yes"}}
WRITTEN = {f"sap_profile_{name}": value for name, value in PLAIN.items()} | profiles(OWN)
TEMPLATES = {"sap_profile_sid": "{{ system }}", "system": "{{ own }}", "sap_profile_instance": "DEFAULT"}


class Case(NamedTuple):
    """A play of its hosts; ``owners``: to whom each leaves each of its profiles."""

    hosts: dict[str, Entry]
    owners: dict[str, list[str | None]]
    play: Entry = {}


CASES = {
    "paths of a file": Case(
        {
            "app1": profiles(OWN),
            "app2": profiles(OWN, DEFAULT),
            "app3": profiles(
                DEFAULT,
                {**DEFAULT, "sid": "QAS"},
                {"profile": "/sapmnt/PRD/profile/PRD_W00_web", "presets": ["memory_std"]},
            ),
            # the same files under other paths
            "app4": profiles(
                {"profile": "/usr/sap/PRD/SYS/profile/DEFAULT.PFL"}, {"profile": "/sapmnt/QAS/profile/DEFAULT.PFL"}
            ),
            "app5": profiles({"profile": "/usr/sap/PRD/SYS/profile/PRD_W00_web"}, {"profile": "/srv/DEFAULT.PFL"}),
            "app6": {},
        },
        {
            "app1": [None],
            "app2": [None, None],
            "app3": ["app2", None, None],
            "app4": ["app2", "app3"],
            "app5": ["app3", None],
            "app6": [],
        },
    ),
    "as it was written": Case(
        {"plain1": WRITTEN, "plain2": WRITTEN}, {"plain1": [None, None], "plain2": ["plain1", None]}
    ),
    "a file for each host": Case(
        dict.fromkeys(("own1", "own2"), profiles(DEFAULT, sap_profile_shared=False)), {"own1": [None], "own2": [None]}
    ),
    "variables of the play, in batches": Case(
        dict.fromkeys(("batch1", "batch2", "batch3"), {}),
        {"batch1": [None], "batch2": ["batch1"], "batch3": ["batch1"]},
        {"vars": profiles(DEFAULT), "serial": 1},
    ),
    "a host that is not in the play": Case(
        dict.fromkeys(("out1", "in2", "in3"), profiles(DEFAULT)), {"in2": [None], "in3": ["in2"]}, {"hosts": "in2,in3"}
    ),
    # also those that the play sets, and those that need other variables of the play
    "templates": Case(
        {"sys1": {"own": "PRD"}, "sys2": {"own": "QAS"}, "sys3": {"own": "QAS", "sap_profile_sid": "not this"}},
        {"sys1": [None], "sys2": [None], "sys3": ["sys2"]},
        {"vars": TEMPLATES},
    ),
}
OF_ROLE = {
    "a host for which the role is not included": Case(
        {"not1": {}, "with1": {}, "with2": {}}, {"with1": [None], "with2": ["with1"]}, {"vars": profiles(DEFAULT)}
    ),
    "files of the play for each host": Case(
        {"PRD1": {}, "QAS1": {}, "QAS2": {}},
        {"PRD1": [None], "QAS1": [None], "QAS2": ["QAS1"]},
        {"vars_files": ["{{ playbook_dir }}/{{ inventory_hostname[:3] }}.yml"]},
    ),
}
OF_TUNE = {
    "a host without the tuning": Case(
        {"db1": {"zpower_tunings": ["rps"]}, "db2": {"zpower_tunings": None}, "with1": {}, "with2": {}},
        {"with1": [None], "with2": ["with1"]},
        {"vars": profiles(DEFAULT)},
    )
}


@pytest.mark.parametrize(("first", "cases"), [(ROLE, {**CASES, **OF_ROLE}), (TUNE, {**CASES, **OF_TUNE})])
def test_the_first_host_of_a_play_that_asks_for_it_changes_a_shared_profile(
    tmp_path: Path, first: Entry, cases: dict[str, Case]
) -> None:
    keep = {"keep": {"dest": f"{tmp_path}/{{{{ inventory_hostname }}}}.json"}}
    tasks = [{**first, "when": "inventory_hostname != 'not1'"}, {**keep, "when": "inventory_hostname != 'not1'"}]
    for sid in ("PRD", "QAS"):
        (tmp_path / f"{sid}.yml").write_text(json.dumps(profiles({**DEFAULT, "sid": sid})))
    hosts = {host: variables for case in cases.values() for host, variables in case.hosts.items()}
    plays = [{"name": name, "hosts": ",".join(case.hosts), "tasks": tasks, **case.play} for name, case in cases.items()]
    code, text = play_all(tmp_path, hosts, *plays)
    assert code == 0, text
    wanted = {path.stem: json.loads(path.read_text())["wanted"] for path in tmp_path.glob("*.json")}
    for name, case in cases.items():
        owners = {host: [entry.get("left_to") for entry in wanted[host]] for host in case.owners}
        assert owners == case.owners, name
    assert wanted["plain1"] == [PLAIN, OWN]
    assert wanted["plain2"] == [{**PLAIN, "left_to": "plain1"}, OWN]


def ran(text: str) -> list[list[str]]:
    """Return the hosts on which each task with the module ran, in the order of the tasks."""
    parts = [part for part in text.split("TASK [") if "Parameters in SAP profiles]" in part]
    return [sorted(host for host in ("app0", "app1", "app2", "app3") if f"[{host}]: FAILED!" in part) for part in parts]


@pytest.mark.gate
def test_hosts_that_wait_or_restart_come_second(tmp_path: Path) -> None:
    """The module fails on all of them, because this machine has no SAP system: its message shows how far each came."""
    asked = profiles({**DEFAULT, "sid": "XXX"}, ansible_become=False)
    hosts = {
        "app1": asked,
        "app2": asked,
        "app3": {**profiles(ansible_become=False), "sap_profile_restart": ["XXX_00"]},
        # fails alone, and changes nothing for the others
        "app0": {**asked, "sap_profile_sid": "{{ nowhere }}"},
    }
    hosts = dict(sorted(hosts.items()))
    role = {"ansible.builtin.include_role": {"name": "zpower.sap_tuning.sap_profile"}}
    code, text = play_all(tmp_path, hosts, {"tasks": [role]})
    assert code == 2
    assert ran(text) == [["app1"], ["app2", "app3"]], text
    assert "[app0]: FAILED!" in text and "'nowhere' is undefined" in text


@pytest.mark.gate
def test_tunings_are_deferred_to_a_second_call(tmp_path: Path) -> None:
    asked = {**profiles({**DEFAULT, "sid": "XXX"}), "ansible_become": False}
    hosts = {host: {**asked, "zpower_tunings": ["smc_r", "sap_profile"]} for host in ("app1", "app2", "app3", "app4")}
    hosts["app1"]["sap_profile_sid"] = "{{ nowhere }}"
    hosts["app2"]["zpower_tunings"] = ["smc_r"]
    code, text = play_all(tmp_path, hosts, {"roles": ["zpower.sap_tuning.tune"]})
    assert code == 2
    first, later = text.split("TASK [zpower.sap_tuning.tune : Tunings that wait, and the records")
    assert sorted(re.findall(r"(app\d)\]: FAILED!", first)) == ["app1", "app3"], "nothing waits there"
    assert "skipping: [app2]" in later.splitlines() and re.findall(r"(app\d)\]: FAILED!", later) == ["app4"], later
    assert text.count('"msg": "sap_profile: ') == 3
    assert text.count('"msg": "sap_profile: sap_profile_sid: \'nowhere\' is undefined') == 1
