# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules that cannot be checked in one place."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import yaml
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import known_tunings

TOP = Path(__file__).resolve().parents[2]
CODE = {path.relative_to(TOP).as_posix(): path.read_text("utf-8") for path in TOP.glob("plugins/**/*.py")}
TASKS = {path: path.read_text("utf-8") for path in [*TOP.glob("roles/*/tasks/*.yml"), *TOP.glob("playbooks/*.yml")]}


def found(pattern: str) -> dict[str, set[str]]:
    """Return {file of plugins/: what the pattern finds in it}."""
    everywhere = {path: {*re.findall(pattern, text, re.MULTILINE)} for path, text in CODE.items()}
    return {path: words for path, words in everywhere.items() if words}


def test_the_controller_removes_only_its_temporary_files() -> None:
    removing = found(r"\b(remove|unlink|rmdir|removedirs|rmtree)\(")
    # replacing() removes the file that it has made beside the new one's place
    assert {path for path in removing if "/module_utils/" not in path} == {"plugins/plugin_utils/_records/files.py"}
    tasks = re.compile(r"state: ['\"]?absent|ansible\.builtin\.(shell|raw)")
    assert len(TASKS) > 20 and [path for path, text in TASKS.items() if tasks.search(text)] == []


def test_only_the_server_of_a_measurement_listens() -> None:
    assert found(r"\b(create_server|start_server|TCPServer|HTTPServer)\(") == {}
    listening = {path.rpartition("/")[0] for path in found(r"\.(listen)\(")}
    assert "plugins/module_utils/_measure/server" in listening
    assert all(folder.startswith("plugins/module_utils/_measure") for folder in listening)


def test_nothing_reboots_a_host() -> None:
    words = r"ansible\.builtin\.reboot|\[[\"'](?:/s?bin/)?(?:reboot|shutdown|poweroff|kexec)[\"']"
    assert found(words) == {} and len(CODE) > 300
    assert [path for path, text in TASKS.items() if re.search(words, text)] == []


def test_nothing_on_aix_is_reconfigured_or_changed_only_for_the_running_value() -> None:
    assert found(r"[\"'](chdev|-P)[\"']") != {}
    assert found(r"[\"']((?:/usr/sbin/)?(?:rmdev|mkdev)|-U)[\"']") == {}


def test_only_tunings_and_what_reads_hosts_become_root() -> None:
    roles = {path.parts[-3] for path, text in TASKS.items() if re.search(r"become: (true|yes)", text)}
    assert roles == {*known_tunings(), "platform", "tune", "verify"}


def called(text: str) -> set[str]:
    """Return the roles of the collection that tasks or a playbook name."""
    return {*re.findall(r"(?m)^ +(?:name|- role): zpower\.sap_tuning\.(\w+)$", text)}


def test_only_playbooks_that_announce_it_set_values() -> None:
    """The role tune sets values; verify calls it in check mode."""
    assert "\n  check_mode: true\n" in TASKS[TOP / "roles" / "verify" / "tasks" / "main.yml"]
    setting, more = set[str](), {"tune"}
    while more:
        setting |= more
        more = {path.parts[-3] for path, text in TASKS.items() if "roles" in path.parts and called(text) & setting}
        more -= {"verify", *setting}
    playbooks = {path.stem: text for path, text in TASKS.items() if path.parent == TOP / "playbooks"}
    says = {name for name, text in playbooks.items() if re.search("(?m)^# Hosts: changes (them|no value)", text)}
    assert {name for name, text in playbooks.items() if called(text) & setting} == says
    assert {"site", "rollout", "experiment", "before_after"} < says < {*playbooks}


def test_a_rollback_covers_all_tunings() -> None:
    (play,) = yaml.safe_load(TASKS[TOP / "playbooks" / "rollback.yml"])
    (task,) = play["tasks"]
    assert task["vars"]["tune_tunings"] == ["all"] and play["vars"]["zpower_rollback"] is True


def test_the_collection_needs_only_ansible_core() -> None:
    assert yaml.safe_load((TOP / "galaxy.yml").read_text("utf-8"))["dependencies"] == {}
    # what ansible-core itself needs, and this collection
    brought = {"ansible", "ansible_collections", "jinja2", "markupsafe", "yaml", "packaging", "cryptography"}
    names = set[str]().union(*found(r"^ *(?:from|import) ([a-z_]\w*)(?:\.[\w.]+)?(?: import .*| as \w+)?$").values())
    assert {"json", "ansible"} <= names
    assert names - brought - sys.stdlib_module_names - {"posix1e"} == set()
