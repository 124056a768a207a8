# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recipes of docs/recipes.md, run as printed there, but shorter."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.host import command
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.round import rounds
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports.records import records_of
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports.rows import from_csv
from measuring import ALONE, errors, plan
from sites import CHECKOUT

PAGE = (CHECKOUT / "docs" / "recipes.md").read_text("utf-8")
BLOCKS = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
RECIPES = {one["name"]: one for block in BLOCKS if isinstance(block, dict) for one in block["measure_commands"]}
OTHERS = ["cpu", "memory", "fileio", "oltp"]
POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Return environment variables that point to a PostgreSQL server of this test."""
    if not POSTGRES:
        pytest.skip("needs the server of PostgreSQL")
    tools, data, user = POSTGRES[-1].parent, tmp_path / "data", "postgres" if os.geteuid() == 0 else None
    tmp_path.chmod(0o777)
    for folder in tmp_path.parents[:3]:
        folder.chmod(folder.stat().st_mode | 0o011)

    def run(tool: str, *words: str) -> None:
        subprocess.run([str(tools / tool), "-D", str(data), *words], check=True, user=user, stdout=subprocess.DEVNULL)

    run("initdb", "--no-sync", "-A", "trust", "-U", "bench")
    run("pg_ctl", "start", "-w", "-l", str(tmp_path / "log"), "-o", f"-F -k {tmp_path} -c listen_addresses=''")
    try:
        yield {"PGHOST": str(tmp_path), "PGUSER": "bench", "PGDATABASE": "postgres"}
    finally:
        run("pg_ctl", "stop", "-w", "-m", "immediate")


@pytest.mark.gate
@pytest.mark.parametrize("name", ["sched-messaging", "sched-pipe", "futex-hash", "memcpy", *OTHERS])
def test_a_recipe_runs_with_the_real_program(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    recipe: dict[str, Any] = dict(RECIPES[name])
    if not shutil.which(recipe["argv"][0]):
        pytest.skip(f"needs {recipe['argv'][0]}")
    for step in command.STEPS:
        # shorter: a tenth of each number above 1, and files of 16 MiB
        words = [word.replace("size=2G", "size=16M").replace("64MB", "1MB") for word in recipe.get(step, ())]
        recipe[step] = [re.sub(r"=(\d+)0$", r"=\1", word) for word in words]
    if "directory" in recipe:
        recipe["directory"] = str(tmp_path)
    if "PGHOST" in recipe.get("environment", ()):
        recipe["environment"] = request.getfixturevalue("database")
    given = {option: rule.get("default") for option, rule in command.OPTIONS.items()} | recipe
    given["figures"] = [{"pointer": None, "output": "stdout"} | figure for figure in recipe["figures"]]
    (workload,) = command.workloads([given], None, os.environ["PATH"])
    record = rounds.measure_workload(workload, plan(runs=1, warmup=0, timeout=600.0), ALONE)
    first = recipe["figures"][0]
    assert errors(record) == [None], record["runs"][0]["raw"]
    assert record["workload"]["metric"] == {part: first[part] for part in ("name", "unit", "better")}
    assert all(record["runs"][0]["metrics"][figure["name"]] > 0 for figure in recipe["figures"])
    assert record.get("left_behind") is None


def test_the_averages_of_st03_are_imported_as_printed() -> None:
    (task,) = next(block for block in BLOCKS if isinstance(block, list))
    options = task["zpower.sap_tuning.measurement_import"]
    (text,) = re.findall(r"```\n(phase,.*?)```", PAGE, re.DOTALL)
    found = records_of(from_csv(text, ","), {"change": options["change"]}, options["defaults"])
    assert found.problems == [] and [one["phase"] for one in found.records] == ["before", "before", "after", "after"]
    for one in found.records:
        assert one["workload"]["metric"] == {"name": "db_request_ms", "unit": "ms", "better": "lower"}
        assert 0.3 <= one["runs"][0]["metrics"]["db_request_ms"] < 0.5 and one["workload"]["unit"] == "dialog step"
