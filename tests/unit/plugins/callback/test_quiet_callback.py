# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The callback quiet leaves out what succeeds, and nothing else; with -v it leaves out nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import playing
import pytest

WARNING = """\
from ansible.module_utils.basic import AnsibleModule

module = AnsibleModule({}, supports_check_mode=True)
module.warn("the disk is nearly full")
module.exit_json(changed=True)
"""
BAD: dict[str, Any] = {"loop": ["true", "false"], "ignore_errors": True}
TASKS: list[dict[str, Any]] = [
    {"name": "Succeed", "ansible.builtin.set_fact": {"one": 1}},
    {"name": "Include", "ansible.builtin.include_tasks": "more.yml"},
    {"name": "Loop", "ansible.builtin.command": "true", "loop": ["item-1", "item-2"]},
    {"name": "Skip", "ansible.builtin.set_fact": {"one": 2}, "when": False},
    {"name": "Change", "warned": {}},
    {"name": "Show", "ansible.builtin.debug": {"msg": "hello there"}},
    {"name": "Fail in a loop", "ansible.builtin.command": "{{ item }}", **BAD},
    {"name": "Fail", "ansible.builtin.fail": {"msg": "the end"}},
]


def play(folder: Path, *arguments: str) -> tuple[int, list[str], str]:
    """Exit code and lines of these tasks, and what went to standard error."""
    (folder / "library").mkdir(exist_ok=True)
    (folder / "library" / "warned.py").write_text(WARNING)
    (folder / "more.yml").write_text(json.dumps([{"name": "Included", "ansible.builtin.command": "true"}]))
    (folder / "play.yml").write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": TASKS}]))
    local = {"ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3"}
    (folder / "hosts.json").write_text(json.dumps({"all": {"hosts": {"app1": local}}}))
    environment = playing.environment(ANSIBLE_STDOUT_CALLBACK="zpower.sap_tuning.quiet", COLUMNS="300")
    command = ["-i", str(folder / "hosts.json"), str(folder / "play.yml"), *arguments]
    done = playing.ansible_playbook(*command, env=environment)
    return done.returncode, done.stdout.splitlines(), done.stderr


def titles(lines: list[str]) -> list[str]:
    return [line.partition("[")[2].partition("]")[0] for line in lines if line.startswith("TASK [")]


def test_what_succeeds_is_left_out_and_nothing_else(tmp_path: Path) -> None:
    status, lines, errors = play(tmp_path)
    text = "\n".join(lines)
    assert status == 2, text + errors
    assert titles(lines) == ["Show", "Fail in a loop", "Fail"]
    assert "hello there" in text and "the end" in text + errors and "(item=false)" in text + errors
    assert "the disk is nearly full" in text + errors
    assert not [line for line in lines if line.startswith(("included:", "changed:", "skipping:"))]
    (recap,) = [line for line in lines if line.startswith("app1 ")]
    assert "changed=4 " in recap and "skipped=1 " in recap and "failed=1 " in recap


@pytest.mark.gate
def test_verbose_output_is_that_of_the_default_callback(tmp_path: Path) -> None:
    _status, lines, _errors = play(tmp_path, "-v")
    assert titles(lines) == [*[task["name"] for task in TASKS[:2]], "Included", *[task["name"] for task in TASKS[2:]]]
    for begin in ("ok: [app1]", "included: ", "changed: [app1] => (item=item-2)", "skipping: [app1]"):
        assert [line for line in lines if line.startswith(begin)], (begin, lines)
