# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/start.md, done: its inventory and its commands in their order on a lab host say what the page says.

The collection is the one in ANSIBLE_COLLECTIONS_PATH: in the session `installed`, the installed archive and nothing
else.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from page_output import lab, told

HERE = Path(__file__).parents[2]
NAME = "start"
PAGE = (HERE / "docs" / "start.md").read_text()
BLOCKS = re.findall(r"^```(yaml)?\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for _kind, block in BLOCKS for line in block.splitlines() if line.startswith("ansible-playbook ")]
SAID = [block for kind, block in BLOCKS if not kind and not block.startswith("ansible-")]
CODES = [2, 0, 0, 0, 0, 0]


@pytest.fixture(scope="module", name="story")
def fixture_story(tmp_path_factory):
    """The exit code and the output of each command of the page."""
    folder = tmp_path_factory.mktemp("start")
    (inventory,) = [yaml.safe_load(block) for kind, block in BLOCKS if kind]
    lab(NAME, "down")
    lab(NAME, "up", "--hosts", "1")
    try:
        given = json.loads(lab(NAME, "inventory"))
        host = inventory["all"]["hosts"]["sapapp1"]
        host.update(given["sap_app_servers"]["vars"], ansible_host=given["_meta"]["hostvars"]["app1"]["ansible_host"])
        (folder / "inventory.yml").write_text(json.dumps(inventory))
        programs = Path(sys.executable).parent
        ran = []
        for command in COMMANDS:
            done = subprocess.run(
                [str(programs / "ansible-playbook"), *command.split()[1:]],
                cwd=folder,
                env={**os.environ, "ANSIBLE_NOCOLOR": "1"},
                capture_output=True,
                text=True,
                check=False,
            )
            ran.append((done.returncode, done.stdout + done.stderr))
        yield ran
    finally:
        lab(NAME, "down")


@pytest.mark.parametrize("number", range(len(CODES)))
def test_a_command_says_what_the_page_says(story, number):
    code, said = story[number]
    assert code == CODES[number], said
    lines = {told(line) for line in said.splitlines()}
    assert [line for line in SAID[number].splitlines() if told(line) not in lines] == [], said


def test_the_page_has_a_command_for_each_code():
    assert len(COMMANDS) == len(SAID) == len(CODES)
