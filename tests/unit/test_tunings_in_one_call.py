# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A play in which all tunings look at this machine twice: by their roles, and in one call. It changes nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import playing
import pytest
from ansible.release import __version__
from ansible_collections.zpower.sap_tuning.plugins.lookup.tunings import known_tunings

COMMON = {
    # the other interfaces of this machine come and go with the labs of other tests
    "rps_interfaces": ["lo"],
    "wanted_every": 2,
    "rps_every": "{{ wanted_every }}",
    # a mistake of one tuning, and a variable that only a deprecated name gives
    "cpu_topology_sw_siblings": "{{ nowhere }}",
    "smc_sysctls_wmem": 131072,
    "sap_profile_sid": "PRD",
    "sap_profile_instance": "DEFAULT",
    "sap_profile_parameters": {"rdisp/wp_no_btc": "{{ wanted_every * 3 }}"},
    "ansible_connection": "local",
    "ansible_python_interpreter": "/usr/bin/python3",
}
LOOK = {"check_mode": True, "ignore_errors": True}


def play(folder: Path) -> list[dict[str, Any]]:
    """Each host writes what its roles found, and what the one call found: before and after there were roles."""
    by_role = [
        {"ansible.builtin.include_role": {"name": f"zpower.sap_tuning.{name}", "apply": {**LOOK, "become": False}}}
        for name in known_tunings()
    ]
    first, call = (
        {"zpower.sap_tuning.tunings": {"names": known_tunings()}, **LOOK, "register": name} for name in ("first", "one")
    )
    found = {name: f"{{{{ __{name}_result }}}}" for name in known_tunings()}
    write = [
        {
            "ansible.builtin.copy": {
                "dest": f"{folder}/{{{{ inventory_hostname }}}}.{kind}",
                "content": "{{ kept | to_json }}",
            },
            "vars": {"kept": kept},
        }
        for kind, kept in (("roles", found), ("first", "{{ first }}"), ("one", "{{ one }}"))
    ]
    return [{"hosts": "all", "gather_facts": False, "tasks": [first, *by_role, call, *write]}]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the play wrote: {app1.roles, app1.one, app2.roles, app2.one}."""
    folder = tmp_path_factory.mktemp("play")
    (folder / "hosts.yml").write_text(json.dumps({"all": {"hosts": {"app1": {}, "app2": {}}, "vars": COMMON}}))
    (folder / "play.yml").write_text(json.dumps(play(folder)))
    kept = {"ANSIBLE_KEEP_REMOTE_FILES": "true", "ANSIBLE_REMOTE_TMP": str(folder / "sent")}
    env = playing.environment(ANSIBLE_INJECT_INVOCATION="true", **kept)
    done = playing.ansible_playbook("-i", folder / "hosts.yml", folder / "play.yml", env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    sent = {str(path): path.stat().st_size for path in folder.glob("sent/*/AnsiballZ_tunings.py")}
    return {path.name: json.loads(path.read_text()) for path in folder.glob("app?.*")} | {"sent": sent}


def meant(result: dict[str, Any]) -> dict[str, Any]:
    """The result of a task without what Ansible adds to it."""
    return {key: result[key] for key in ("tuning", "diff", "msg", "changed", "failed") if result.get(key)}


@pytest.mark.parametrize("when", ["first", "one"])
@pytest.mark.parametrize("host", ["app1", "app2"])
def test_both_ways_find_the_same(found: dict[str, Any], host: str, when: str) -> None:
    roles, one = found[f"{host}.roles"], found[f"{host}.{when}"]
    assert list(one["tunings"]) == known_tunings()
    diffs = {diff["before_header"]: {side: diff[side] for side in ("before", "after")} for diff in one["diff"]}
    for name, result in one["tunings"].items():
        expected = meant(roles[name])
        if not any(expected.get("diff", {}).values()):
            expected.pop("diff", None)
        own = {"tuning": [record for record in one["tuning"] if record["name"] == name], "diff": diffs.get(name)}
        mine = meant({**result, **own})
        if name == "cpu_topology":
            assert "nowhere" in expected.pop("msg") and "nowhere" in mine.pop("msg")
        assert mine == expected, name


def test_the_host_that_comes_second_leaves_a_shared_profile_to_the_first(found: dict[str, Any]) -> None:
    owners = {}
    for name, result in found.items():
        by_role = name.endswith(".roles")  # the first call comes before the hosts have said what they ask for
        shown = result["sap_profile"] if by_role else result
        # ansible-core 2.16 keeps the options of a module in no variable
        if arguments := shown.get("invocation", {}).get("module_args"):
            options = arguments if by_role else arguments["tunings"]["sap_profile"]
            owners[name] = [entry.get("left_to") for entry in options["profiles"]]
    expected = {f"{host}.{when}": [None] for host in ("app1", "app2") for when in ("roles", "first", "one")}
    expected.update({"app2.roles": ["app1"], "app2.one": ["app1"]})
    assert owners == (expected if version_info() >= (2, 19) else {})


def version_info() -> tuple[int, ...]:
    return tuple(int(number) for number in __version__.split(".")[:2])


def test_a_call_sends_what_the_page_says(found: dict[str, Any]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text("utf-8")
    said = re.search(r"bytes sent to a host; ping \| (\d+) kB", page)
    assert said and len(found["sent"]) == 4
    assert [size for size in found["sent"].values() if not 0.9 < size / 1000 / int(said[1]) < 1.1] == []
