# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which host changes a profile that several hosts share: computed by the role sap_profile, before any module call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
Entry = dict[str, Any]

DEFAULT: Entry = {"sid": "PRD", "instance": "DEFAULT", "parameters": {"enque/table_size": 640000}}
OWN: Entry = {"sid": "PRD", "instance": "D*", "presets": ["realtime_scheduler"], "parameters": {"rdisp/vbname": None}}


def entries(folder: Path, hosts: dict[str, Entry], *arguments: str, **play: Any) -> dict[str, dict[str, list[Entry]]]:
    """{host: its profiles} as the role has them for its module; hosts: {name: variables} in the inventory's order."""
    role = {"name": "zpower.sap_tuning.sap_profile", "tasks_from": "shared.yml", "public": True}
    keep = {
        "content": "{{ {'wanted': __sap_profile_wanted} | to_json }}",
        "dest": f"{folder}/{{{{ inventory_hostname }}}}.json",
    }
    tasks = [{"ansible.builtin.include_role": role}, {"ansible.builtin.copy": keep}]
    (folder / "hosts.yml").write_text(json.dumps({"all": {"hosts": hosts}}))
    (folder / "play.yml").write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": tasks, **play}]))
    command = [os.path.join(os.path.dirname(sys.executable), "ansible-playbook"), "-c", "local"]
    # ansible-core 2.16 cannot call an interpreter in a folder with a blank, where the checkout and its .venv may lie
    command += ["-i", str(folder / "hosts.yml"), "-e", "ansible_python_interpreter=/usr/bin/python3", *arguments]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(CHECKOUT / ".cache" / "collections")}
    command.append(str(folder / "play.yml"))
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found = [host for host in hosts if (folder / f"{host}.json").exists()]
    return {host: json.loads((folder / f"{host}.json").read_text()) for host in found}


def owners(found: dict[str, dict[str, list[Entry]]]) -> dict[str, list[str | None]]:
    return {host: [entry.get("left_to") for entry in one["wanted"]] for host, one in found.items()}


def profiles(*wanted: Entry, **more: Any) -> Entry:
    return {"sap_profile_profiles": list(wanted), **more}


def test_the_first_host_that_asks_for_it_changes_a_shared_profile(tmp_path: Path) -> None:
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
    assert owners(entries(tmp_path, hosts)) == {
        "app1": [None],
        "app2": [None, None],
        "app3": ["app2", None, None],
        "app4": ["app2", "app3"],
        "app5": ["app3", None],
        "app6": [],
    }


def test_what_is_asked_for_reaches_the_module_as_it_was_written(tmp_path: Path) -> None:
    value = "$(rdisp/myname) # 'x' \"ü\" 007"
    plain = {"sid": "PRD", "instance": "DEFAULT", "parameters": {"a": None, "b": value, "c": 7, "d": "7", "e": "yes"}}
    hosts = {host: {f"sap_profile_{name}": plain[name] for name in plain} | profiles(OWN) for host in ("app1", "app2")}
    found = entries(tmp_path, hosts)
    assert found["app1"]["wanted"] == [plain, OWN]
    assert found["app2"]["wanted"] == [{**plain, "left_to": "app1"}, OWN]


def test_variables_of_the_play_count_too(tmp_path: Path) -> None:
    found = entries(tmp_path, {"app1": {}, "app2": {}}, vars=profiles(DEFAULT))
    assert owners(found) == {"app1": [None], "app2": ["app1"]}


def test_hosts_can_have_a_file_each(tmp_path: Path) -> None:
    hosts = {host: profiles(DEFAULT, sap_profile_shared=False) for host in ("app1", "app2")}
    assert owners(entries(tmp_path, hosts)) == {"app1": [None], "app2": [None]}


def test_a_host_that_is_not_in_the_play_changes_nothing(tmp_path: Path) -> None:
    hosts = {host: profiles(DEFAULT) for host in ("app1", "app2", "app3")}
    assert owners(entries(tmp_path, hosts, "--limit", "app2,app3")) == {"app2": [None], "app3": ["app2"]}


def test_hosts_in_batches(tmp_path: Path) -> None:
    hosts = {host: profiles(DEFAULT) for host in ("app1", "app2", "app3")}
    assert owners(entries(tmp_path, hosts, serial=1)) == {"app1": [None], "app2": ["app1"], "app3": ["app1"]}
