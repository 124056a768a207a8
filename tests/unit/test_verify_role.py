# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role verify takes the rows of the role platform for its own, and those rows are tuning records."""

from __future__ import annotations

import json
import re
from pathlib import Path

import captured
import pytest
import synthetic
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import checks
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.reading import ReadingHost
from jsonschema import Draft202012Validator
from playing import ansible_playbook, environment

CHECKOUT = Path(__file__).resolve().parents[2]


def verify(folder: Path, *arguments: str, tunings: tuple[str, ...] = ()) -> tuple[bool, str, list[str]]:
    """Whether the role passes on this machine, what is said, and the names of the tuning records."""
    # ansible-core 2.16 cannot call an interpreter in a folder with a blank, where the checkout and its .venv may lie
    variables = {"zpower_tunings": list(tunings), "ansible_python_interpreter": "/usr/bin/python3"}
    play = {"hosts": "localhost", "gather_facts": False, "vars": variables, "roles": ["zpower.sap_tuning.verify"]}
    (folder / "play.yml").write_text(json.dumps([play]))
    command = ["-i", "localhost,", "-c", "local", folder / "play.yml", *arguments]
    env = environment(ZPOWER_TUNINGS_FORMAT="json", ANSIBLE_CALLBACKS_ENABLED="zpower.sap_tuning.tunings")
    done = ansible_playbook(*command, env=env)
    last = done.stdout.rstrip().rpartition("\n")[2]
    names = [record["name"] for record in json.loads(last)] if last.startswith("[") else []
    return done.returncode == 0, done.stdout + done.stderr, names


def test_the_real_rows_pass_where_nothing_is_wanted(tmp_path: Path) -> None:
    passed, text, names = verify(tmp_path)
    assert passed, text
    assert names == ["platform"]


@pytest.mark.parametrize("policy", ["fail", "warn"])
def test_an_error_is_no_drift(tmp_path: Path, policy: str) -> None:
    given = {"rps_interfaces": ["nowhere0"], "zpower_drift": policy}
    passed, text, _names = verify(tmp_path, "-e", json.dumps(given), tunings=("rps", "smc_r"))
    assert not passed
    (said,) = re.findall(r"fatal: \[localhost\]: FAILED! => (.*)", text)
    shown = {*json.loads(said)} - {"changed", "changed_when_result"}
    assert "nowhere0" in said and shown == {"failing", "msg"}, "the sentences alone"


def test_a_tag_chooses_what_is_looked_at(tmp_path: Path) -> None:
    tunings = ("smc_r", "aix_device_attributes")  # of no use on Linux
    passed, text, names = verify(tmp_path, tunings=tunings)
    assert passed, text
    assert sorted(names) == ["aix_device_attributes", "platform", "smc_r"]
    passed, text, names = verify(tmp_path, "--tags", "smc_r", tunings=tunings)
    assert passed, text
    assert names == ["smc_r"]


def test_a_tag_of_a_tuning_that_the_host_does_not_have_is_no_error(tmp_path: Path) -> None:
    passed, text, names = verify(tmp_path, "--tags", "rps", tunings=("smc_r",))
    assert passed, text
    assert names == []


NO_TAG = "--tags rsp matches none of aix_device_attributes, "


def test_a_misspelt_tag_is_an_error(tmp_path: Path) -> None:
    passed, text, _names = verify(tmp_path, "--tags", "rsp", tunings=("smc_r",))
    assert not passed
    assert f"nothing was done: {NO_TAG}" in text


# only verify looks at what the role platform shows
@pytest.mark.parametrize(("playbook", "tags"), [("site", "rsp"), ("site", "always"), ("rollback", "platform")])
def test_tags_that_name_no_tuning_are_an_error_of_every_playbook_that_takes_them(
    tmp_path: Path, playbook: str, tags: str
) -> None:
    given = {"ansible_python_interpreter": "/usr/bin/python3", "zpower_tunings": ["smc_r"]}
    command = ["-i", "localhost,", "-c", "local", f"zpower.sap_tuning.{playbook}", "-e", json.dumps(given)]
    command += ["--tags", tags]
    done = ansible_playbook(*command, cwd=tmp_path)
    assert done.returncode == 2
    assert f"nothing was done: {NO_TAG.replace('rsp', tags)}" in done.stdout


def test_the_tag_of_platform_is_one_of_verify(tmp_path: Path) -> None:
    passed, text, names = verify(tmp_path, "--tags", "platform", tunings=("smc_r",))
    assert passed, text
    assert names == ["platform"]


@pytest.mark.parametrize("wanted", [None, 1, 2])
def test_the_rows_are_tuning_records(tmp_path: Path, wanted: int | None) -> None:
    schema = json.loads((CHECKOUT / "docs" / "schemas" / "tunings-1.schema.json").read_text(encoding="utf-8"))
    row = Draft202012Validator({"$ref": "#/$defs/tuning", "$defs": schema["$defs"]})
    captured.grow(tmp_path, synthetic.large_lpar(1))
    records = checks.records(ReadingHost(str(tmp_path)), "Linux", wanted, "localhost")
    assert [record["subject"] for record in records] == ["SMT", "capacity", "HiperSockets"]
    for record in records:
        row.validate(record)
