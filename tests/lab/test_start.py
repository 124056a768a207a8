# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/start.md: its commands, run in order with its inventory on a lab host, end as the page says.

The collection is the one in ANSIBLE_COLLECTIONS_PATH: in the session `installed`, only the installed archive.
"""

import json
import re

import yaml
from hosts import BIN, HERE, run, standing

BLOCKS = re.findall(r"^```(yaml)?\n(.*?)^```$", (HERE / "docs" / "start.md").read_text(), re.MULTILINE | re.DOTALL)
COMMANDS = [line for _kind, block in BLOCKS for line in block.splitlines() if line.startswith("ansible-playbook ")]
CODES = [2, 0, 0, 0, 0, 0]


def test_the_commands_of_the_page_end_as_it_says(tmp_path):
    (inventory,) = [yaml.safe_load(block) for kind, block in BLOCKS if kind]
    with standing("start", 1) as lab:
        inventory["all"]["hosts"]["sapapp1"].update(lab.connection, ansible_host=lab.hosts["app1"]["ansible_host"])
        (tmp_path / "inventory.yml").write_text(json.dumps(inventory))
        ran = [run(BIN / "ansible-playbook", *words.split()[1:], check=False, cwd=tmp_path) for words in COMMANDS]
    assert [done.returncode for done in ran] == CODES, [done.stdout + done.stderr for done in ran]
