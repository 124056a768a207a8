# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every tuning's role hands zpower_checkpoint and zpower_lease on, and touches nothing else under a checkpoint."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[2]
TUNINGS = sorted(
    path.stem
    for path in (CHECKOUT / "plugins" / "module_utils" / "_tunings").glob("*.py")
    if not path.stem.startswith("_")
)


def calls(role: str) -> Iterator[dict[str, Any]]:
    """The arguments of the calls of the tuning's module that change something."""
    for path in (CHECKOUT / "roles" / role / "tasks").glob("*.yml"):
        for task in yaml.safe_load(path.read_text(encoding="utf-8")):
            if f"zpower.sap_tuning.{role}" in task and not task.get("check_mode"):
                yield task[f"zpower.sap_tuning.{role}"]


@pytest.mark.parametrize("role", TUNINGS)
def test_every_tuning_hands_them_on(role: str) -> None:
    (arguments,) = calls(role)
    assert arguments["checkpoint"] == "{{ zpower_checkpoint | default(omit, true) }}"
    assert arguments["lease"] == "{{ omit if zpower_lease | default(none) is none else zpower_lease }}"


def play(folder: Path, **variables: object) -> subprocess.CompletedProcess[str]:
    """One play of the role sap_profile on this machine, with what it looks at below folder."""
    variables["__sap_profile_limits"] = str(folder / "limits.d")
    variables["__sap_profile_units"] = str(folder / "system")
    # ansible-core 2.16 cannot call an interpreter in a folder with a blank, where the checkout and its .venv may lie
    variables.update(ansible_python_interpreter="/usr/bin/python3", ansible_become=False)
    tasks = [{"ansible.builtin.include_role": {"name": "zpower.sap_tuning.sap_profile"}}]
    (folder / "play.yml").write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    command = [os.path.join(os.path.dirname(sys.executable), "ansible-playbook"), "-i", "localhost,", "-c", "local"]
    command += [str(folder / "play.yml"), "-e", json.dumps(variables)]
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(CHECKOUT / ".cache" / "collections")}
    return subprocess.run(command, env=environment, check=False, capture_output=True, text=True)


def test_real_time_limits_are_none_of_a_checkpoint(tmp_path: Path) -> None:
    limit = tmp_path / "limits.d" / "zpower-sap-tuning-prdadm.conf"
    limit.parent.mkdir()
    limit.write_text("prdadm - rtprio 99\n")
    # the module refuses both: this machine may have a journal of its own
    done = play(tmp_path, sap_profile_state="restored", zpower_checkpoint="a/b")
    assert "checkpoint: 'a/b' is no name" in done.stdout and limit.exists(), done.stdout + done.stderr
    done = play(tmp_path, sap_profile_state="restored", zpower_checkpoint="", zpower_lease=-1)
    assert "lease: -1 is out of range" in done.stdout and not limit.exists(), done.stdout + done.stderr
