# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which host changes a profile that several hosts share: computed by the role sap_profile, before any module call."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from playing import ansible_playbook

CHECKOUT = Path(__file__).resolve().parents[2]
Entry = dict[str, Any]

DEFAULT: Entry = {"sid": "PRD", "instance": "DEFAULT", "parameters": {"enque/table_size": 640000}}
OWN: Entry = {"sid": "PRD", "instance": "D*", "presets": ["realtime_scheduler"], "parameters": {"rdisp/vbname": None}}


# An action beside the playbook keeps what the role's own action would give to the module.
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


def play(folder: Path, hosts: dict[str, Entry], tasks: list[Entry], *arguments: str, **more: Any) -> tuple[int, str]:
    """Exit code and output of a play; hosts: {name: variables} in the inventory's order."""
    chosen = {"zpower_tunings": ["sap_profile"]}
    (folder / "hosts.yml").write_text(json.dumps({"all": {"hosts": hosts, "vars": chosen}}))
    (folder / "play.yml").write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": tasks, **more}]))
    (folder / "action_plugins").mkdir(exist_ok=True)
    (folder / "action_plugins" / "keep.py").write_text(KEEP)
    (folder / "library").mkdir(exist_ok=True)
    (folder / "library" / "keep.py").write_text("")
    command = ["-c", "local"]
    # ansible-core 2.16 cannot call an interpreter in a folder with a blank, where the checkout and its .venv may lie
    command += ["-i", str(folder / "hosts.yml"), "-e", "ansible_python_interpreter=/usr/bin/python3", *arguments]
    done = ansible_playbook(*command, folder / "play.yml")
    return done.returncode, done.stdout + done.stderr


ROLE = {"ansible.builtin.include_role": {"name": "zpower.sap_tuning.sap_profile", "tasks_from": "shared.yml"}}
# the role tune needs one task for all hosts
TUNE = {
    **yaml.safe_load((CHECKOUT / "roles" / "tune" / "tasks" / "ask.yml").read_text("utf-8"))[0],
    "vars": {"__tune_names": "{{ query('zpower.sap_tuning.tunings', zpower_tunings) }}"},
}


@pytest.fixture(params=[ROLE, TUNE], ids=["role", "tune"])
def before(request: pytest.FixtureRequest) -> Entry:
    """The task that puts the hosts in order."""
    return dict(request.param)


def entries(
    folder: Path, before: Entry, hosts: dict[str, Entry], *arguments: str, **more: Any
) -> dict[str, dict[str, list[Entry]]]:
    """{host: its profiles} as the role has them for its module."""
    keep = {"keep": {"dest": f"{folder}/{{{{ inventory_hostname }}}}.json"}, "when": before.get("when", True)}
    code, text = play(folder, hosts, [before, keep], *arguments, **more)
    assert code == 0, text
    found = [host for host in hosts if (folder / f"{host}.json").exists()]
    return {host: json.loads((folder / f"{host}.json").read_text()) for host in found}


def owners(found: dict[str, dict[str, list[Entry]]]) -> dict[str, list[str | None]]:
    return {host: [entry.get("left_to") for entry in one["wanted"]] for host, one in found.items()}


def profiles(*wanted: Entry, **more: Any) -> Entry:
    return {"sap_profile_profiles": list(wanted), **more}


def test_the_first_host_that_asks_for_it_changes_a_shared_profile(tmp_path: Path, before: Entry) -> None:
    other = {**DEFAULT, "sid": "QAS"}
    hosts = {
        "app1": profiles(OWN),
        "app2": profiles(OWN, DEFAULT),
        "app3": profiles(DEFAULT, other, {"profile": "/sapmnt/PRD/profile/PRD_W00_web", "presets": ["memory_std"]}),
        # the same files by their other paths
        "app4": profiles(
            {"profile": "/usr/sap/PRD/SYS/profile/DEFAULT.PFL"}, {"profile": "/sapmnt/QAS/profile/DEFAULT.PFL"}
        ),
        "app5": profiles({"profile": "/usr/sap/PRD/SYS/profile/PRD_W00_web"}, {"profile": "/srv/DEFAULT.PFL"}),
        "app6": {},
    }
    assert owners(entries(tmp_path, before, hosts)) == {
        "app1": [None],
        "app2": [None, None],
        "app3": ["app2", None, None],
        "app4": ["app2", "app3"],
        "app5": ["app3", None],
        "app6": [],
    }


def test_what_is_asked_for_reaches_the_module_as_it_was_written(tmp_path: Path, before: Entry) -> None:
    value = "$(rdisp/myname) # 'x' \"ü\" 007"
    plain = {"sid": "PRD", "instance": "DEFAULT", "parameters": {"a": None, "b": value, "c": 7, "d": "7", "e": "yes"}}
    hosts = {host: {f"sap_profile_{name}": plain[name] for name in plain} | profiles(OWN) for host in ("app1", "app2")}
    found = entries(tmp_path, before, hosts)
    assert found["app1"]["wanted"] == [plain, OWN]
    assert found["app2"]["wanted"] == [{**plain, "left_to": "app1"}, OWN]


def test_variables_of_the_play_count_too(tmp_path: Path, before: Entry) -> None:
    found = entries(tmp_path, before, {"app1": {}, "app2": {}}, vars=profiles(DEFAULT))
    assert owners(found) == {"app1": [None], "app2": ["app1"]}


def test_hosts_can_have_a_file_each(tmp_path: Path, before: Entry) -> None:
    hosts = {host: profiles(DEFAULT, sap_profile_shared=False) for host in ("app1", "app2")}
    assert owners(entries(tmp_path, before, hosts)) == {"app1": [None], "app2": [None]}


def test_a_host_that_is_not_in_the_play_changes_nothing(tmp_path: Path, before: Entry) -> None:
    hosts = {host: profiles(DEFAULT) for host in ("app1", "app2", "app3")}
    assert owners(entries(tmp_path, before, hosts, "--limit", "app2,app3")) == {"app2": [None], "app3": ["app2"]}


def test_hosts_in_batches(tmp_path: Path, before: Entry) -> None:
    hosts = {host: profiles(DEFAULT) for host in ("app1", "app2", "app3")}
    assert owners(entries(tmp_path, before, hosts, serial=1)) == {"app1": [None], "app2": ["app1"], "app3": ["app1"]}


def test_a_host_for_which_the_role_is_not_included_changes_nothing(tmp_path: Path) -> None:
    hosts = {"db1": {}, "app1": {}, "app2": {}}
    only = {**ROLE, "when": "inventory_hostname != 'db1'"}
    assert owners(entries(tmp_path, only, hosts, vars=profiles(DEFAULT))) == {"app1": [None], "app2": ["app1"]}


def test_variables_of_each_host_in_files_of_the_play_count_too(tmp_path: Path) -> None:
    for number, sid in enumerate(("PRD", "QAS", "QAS"), 1):
        (tmp_path / f"app{number}.yml").write_text(json.dumps(profiles({**DEFAULT, "sid": sid})))
    files = [f"{tmp_path}/{{{{ inventory_hostname }}}}.yml"]
    found = entries(tmp_path, ROLE, {"app1": {}, "app2": {}, "app3": {}}, vars_files=files)
    assert owners(found) == {"app1": [None], "app2": [None], "app3": ["app2"]}


def test_a_host_without_the_tuning_changes_nothing(tmp_path: Path) -> None:
    hosts = {"db1": {"zpower_tunings": ["rps"]}, "db2": {"zpower_tunings": None}, "app1": {}, "app2": {}}
    found = owners(entries(tmp_path, TUNE, hosts, vars=profiles(DEFAULT)))
    assert (found["app1"], found["app2"]) == ([None], ["app1"])


def test_templates_are_resolved_with_the_variables_of_each_host(tmp_path: Path, before: Entry) -> None:
    """Also those that the play sets, and those that need other variables of the play."""
    hosts = {"app1": {"own": "PRD"}, "app2": {"own": "QAS"}, "app3": {"own": "QAS", "sap_profile_sid": "not this"}}
    play_sets = {"sap_profile_sid": "{{ system }}", "system": "{{ own }}", "sap_profile_instance": "DEFAULT"}
    found = entries(tmp_path, before, hosts, vars=play_sets)
    assert owners(found) == {"app1": [None], "app2": [None], "app3": ["app2"]}


def ran(text: str) -> list[list[str]]:
    """The hosts on which each task with the module ran, in the order of the tasks."""
    parts = [part for part in text.split("TASK [") if "Parameters in SAP profiles]" in part]
    return [sorted(host for host in ("app0", "app1", "app2", "app3") if f"[{host}]: FAILED!" in part) for part in parts]


def test_hosts_that_wait_or_restart_come_second(tmp_path: Path) -> None:
    """The module fails on all of them, because this machine has no SAP system: its message tells how far each came."""
    asked = profiles({**DEFAULT, "sid": "XXX"}, ansible_become=False)
    hosts = {
        "app1": asked,
        "app2": asked,
        "app3": {**profiles(ansible_become=False), "sap_profile_restart": ["XXX_00"]},
        # fails alone, and changes nothing for the others
        "app0": {**asked, "sap_profile_sid": "{{ nowhere }}"},
    }
    hosts = dict(sorted(hosts.items()))
    code, text = play(tmp_path, hosts, [{"ansible.builtin.include_role": {"name": "zpower.sap_tuning.sap_profile"}}])
    assert code == 2
    assert ran(text) == [["app1"], ["app2", "app3"]], text
    assert "[app0]: FAILED!" in text and "'nowhere' is undefined" in text


def test_tunings_are_deferred_to_a_second_call(tmp_path: Path) -> None:
    asked = {**profiles({**DEFAULT, "sid": "XXX"}), "ansible_become": False}
    hosts = {host: {**asked, "zpower_tunings": ["smc_r", "sap_profile"]} for host in ("app1", "app2", "app3", "app4")}
    hosts["app1"]["sap_profile_sid"] = "{{ nowhere }}"
    hosts["app2"]["zpower_tunings"] = ["smc_r"]
    code, text = play(tmp_path, hosts, [{"ansible.builtin.import_role": {"name": "zpower.sap_tuning.tune"}}])
    assert code == 2
    [later] = [part for part in text.split("TASK [") if part.startswith("zpower.sap_tuning.tune : Tunings that wait")]
    assert "ok: [app2]" in later.splitlines(), later
    # the result of a module call has the rows of its tunings; the others fail with what the first call said
    failed = {host: '"tunings": {"sap_profile"' in line for host, line in re.findall(r"(app\d)\]: FAILED! (.*)", later)}
    assert failed == {"app1": False, "app3": False, "app4": True}
    assert text.count('"msg": "sap_profile: ') == 3
    assert text.count('"msg": "sap_profile: sap_profile_sid: \'nowhere\' is undefined') == 1
