# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/guide: the site that it names is that of its output. `verify` of the untuned site says what look.md says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from page_output import lab, told

HERE = Path(__file__).parents[2]
NAME = "guide"
LOOK = (HERE / "docs" / "guide" / "look.md").read_text("utf-8").split("```\n")


@pytest.fixture(name="inventory")
def fixture_inventory(tmp_path):
    """The site of the guide, on lab hosts."""
    site = yaml.safe_load((HERE / "inventories" / "guide" / "hosts.yml").read_text("utf-8"))
    lab(NAME, "down")
    lab(NAME, "up", "--hosts", "5")
    try:
        given = json.loads(lab(NAME, "inventory"))
        groups = site["all"]["children"]
        hosts = {**groups["sap_app_servers"]["hosts"], **groups["sap_database_servers"]["hosts"]}
        for number, host in enumerate(hosts.values(), 1):
            host.update(given["sap_app_servers"]["vars"])
            host["ansible_host"] = given["_meta"]["hostvars"][f"app{number}"]["ansible_host"]
        path = tmp_path / "inventory.yml"
        path.write_text(json.dumps(site))
        yield path
    finally:
        lab(NAME, "down")


def test_the_first_look_says_what_the_page_says(inventory):
    command, shown = LOOK[1], LOOK[3]
    assert command == "ansible-playbook zpower.sap_tuning.verify -i inventory\n"
    done = subprocess.run(
        [str(Path(sys.executable).with_name("ansible-playbook")), "zpower.sap_tuning.verify", "-i", str(inventory)],
        cwd=inventory.parent,
        env={**os.environ, "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    lines = {told(line) for line in said.splitlines()}
    assert done.returncode == 2, said
    assert [line for line in shown.splitlines() if told(line) not in lines] == [], said
