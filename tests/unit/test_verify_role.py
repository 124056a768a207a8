# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the roles verify and tune do in a play: rows of the platform are tuning records, and a site ends early."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import captured
import pytest
import synthetic
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import checks
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.reading import ReadingHost
from jsonschema import Draft202012Validator
from playing import CHECKOUT, LOCAL, play

TUNINGS = ["smc_r", "aix_device_attributes"]  # of no use on Linux
BROKEN = {"zpower_tunings": ["rps", "smc_r"], "rps_interfaces": ["nowhere0"]}


def verify(folder: Path, hosts: dict[str, dict[str, Any]], *arguments: str) -> tuple[int, str, dict[str, list[str]]]:
    """Return exit code and output of the role on this machine, and the names of the tuning records of each host."""
    plays = [{"hosts": "all", "gather_facts": False, "roles": ["zpower.sap_tuning.verify"]}]
    settings = {"ZPOWER_TUNINGS_FORMAT": "json", "ANSIBLE_CALLBACKS_ENABLED": "zpower.sap_tuning.tunings"}
    everybody = {name: {**LOCAL, **known} for name, known in hosts.items()}
    code, text = play(folder, everybody, plays, *arguments, **settings)
    found: dict[str, list[str]] = {name: [] for name in hosts}
    for record in json.loads(next(line for line in text.splitlines() if line.startswith("[{"))):
        found[record["host"]].append(record["name"])
    return code, text, {name: sorted(names) for name, names in found.items()}


def test_the_real_rows_and_an_error_that_is_not_drift(tmp_path: Path) -> None:
    hosts = {
        "idle": {"zpower_tunings": []},
        "both": {"zpower_tunings": TUNINGS},
        "fail": BROKEN,
        "warn": {**BROKEN, "zpower_drift": "warn"},
    }
    status, text, names = verify(tmp_path, hosts)
    assert status == 2, text
    assert (names["idle"], names["both"]) == (["platform"], ["aix_device_attributes", "platform", "smc_r"])
    said = dict(re.findall(r"fatal: \[(\w+)\]: FAILED! => (.*)", text))
    assert said.keys() == {"fail", "warn"}
    for result in said.values():
        shown = {*json.loads(result)} - {"changed", "changed_when_result"}
        assert "nowhere0" in result and shown == {"failing", "msg"}, "the sentences alone"


def test_a_tag_chooses_what_is_looked_at(tmp_path: Path) -> None:
    """It is not an error that one host does not have the tuning of the tag."""
    hosts = {"both": {"zpower_tunings": TUNINGS}, "other": {"zpower_tunings": TUNINGS[1:]}}
    status, text, names = verify(tmp_path, hosts, "--tags", "smc_r")
    assert status == 0, text
    assert names == {"both": ["smc_r"], "other": []}


@pytest.mark.gate
def test_a_tag_that_names_no_tuning_is_an_error(tmp_path: Path) -> None:
    """Only verify looks at what the role platform shows."""
    hosts = {"app1": {**LOCAL, "zpower_tunings": ["smc_r"]}}
    code, text = play(tmp_path, hosts, "rollback", "--tags", "platform")
    assert code == 2
    assert "nothing was done: --tags platform matches none of aix_device_attributes, " in text


@pytest.mark.parametrize("wanted", [None, 1, 2])
def test_the_rows_are_tuning_records(tmp_path: Path, wanted: int | None) -> None:
    schema = json.loads((CHECKOUT / "docs" / "schemas" / "tunings-1.schema.json").read_text(encoding="utf-8"))
    row = Draft202012Validator({"$ref": "#/$defs/tuning", "$defs": schema["$defs"]})
    captured.grow(tmp_path, synthetic.large_lpar(1))
    records = checks.records(ReadingHost(str(tmp_path)), "Linux", wanted, ["localhost"])
    assert [record["subject"] for record in records] == ["SMT", "capacity", "HiperSockets"]
    for record in records:
        row.validate(record)


@pytest.mark.gate
@pytest.mark.parametrize("strategy", ["linear", "free"])
def test_a_site_goes_on_only_with_hosts_that_keep_records(tmp_path: Path, strategy: str) -> None:
    hosts: dict[str, dict[str, Any]] = {name: {**LOCAL, "zpower_tunings": ["smc_r"]} for name in ("kept", "other")}
    results = tmp_path / "results"

    def site() -> str:
        code, text = play(
            tmp_path, hosts, "site", variables={"zpower_results": str(results)}, ANSIBLE_STRATEGY=strategy
        )
        assert code == 0 and "2 hosts: 2 ok." in text, text
        return text

    assert "Keep the tuning records" not in site()
    hosts["kept"]["tune_change"] = "c1"
    assert "Keep the tuning records" in site()
    assert [path.parent.name for path in (results / "c1").glob("*/tunings-*.json")] == ["kept"]
