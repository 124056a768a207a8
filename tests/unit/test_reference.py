# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages of all variables and playbooks are up to date, and name what the code reads, no more and no less."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from pathlib import Path

import pytest
import yaml
from ansible_collections.zpower.sap_tuning.plugins.action import (
    before_after,
    calibrate,
    experiment,
    measure_workload,
    measurement_check,
    measurement_report,
    measurement_scaling,
    measurement_trend,
    rollout,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import generate  # noqa: E402  (they lie beside what uses them without pytest)
import reference  # noqa: E402

TOP = generate.HERE
ROLES = sorted(path.name for path in (TOP / "roles").iterdir())
YAML = [
    *(path for folder in ("tasks", "defaults", "vars") for path in (TOP / "roles").glob(f"*/{folder}/*.yml")),
    *(TOP / "playbooks").glob("*.yml"),
]
PYTHON = [
    path for room in ("action", "callback", "lookup", "plugin_utils") for path in (TOP / "plugins" / room).rglob("*.py")
]
NAME = re.compile(rf"(?<![\w$/-])((?:zpower|{'|'.join(ROLES)})_[a-z0-9_]*[a-z0-9])\b")
# modules; an option of platform_settings_info; what the result of a task puts among the facts of a host
NO_VARIABLES = {
    "smc_r",
    "smc_sysctls",
    "sap_profile",
    "system_base",
    "measure_workload",
    "platform_check",
    "platform_settings_info",
    "platform_info",
    "smc_peers",
    "zpower_platform",
}
METRICS = ("to_prom.py", "to_openmetrics.py")


def read_by_code() -> dict[str, set[str]]:
    """{variable: the files that name it}: in roles, playbooks and literals of the plugins."""
    found: dict[str, set[str]] = {}
    for path in YAML:
        text = re.sub(r"(?m)^ *#.*$", "", path.read_text("utf-8"))
        for name in NAME.findall(text):
            found.setdefault(name, set()).add(str(path.relative_to(TOP)))
    for path in PYTHON:
        if path.name not in METRICS:
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and NAME.fullmatch(node.value):
                    found.setdefault(node.value, set()).add(str(path.relative_to(TOP)))
    return {name: files for name, files in found.items() if name not in NO_VARIABLES}


def read_by_options() -> set[str]:
    """The variables of roles that their actions read by the names of options, such as ``options["rounds"]``."""
    found = set()
    of_reports = (measurement_report, measurement_scaling, measurement_trend)
    for action in (before_after, calibrate, experiment, measurement_check, *of_reports, rollout):
        tree = ast.parse(inspect.getsource(action))
        words = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        found |= {name for option, name in action.ActionModule.VARIABLES.items() if option in words}
    return found


def read_by_measuring() -> set[str]:
    """The variables of the role measure that the action of the measuring modules reads, over all workloads."""
    variables = [
        yaml.safe_load((TOP / f"roles/measure/{name}/main.yml").read_text("utf-8")) for name in ("defaults", "vars")
    ]
    given, read = dict.fromkeys(name for names in variables for name in names), set()
    for kind in (*measurement_check.SETS, "enqueue", "niping"):

        def value_of(name: str, kind: str = kind) -> str:
            read.add(name)
            return kind if name == "__measure_workload" else ""

        measure_workload.of_role(given, value_of)
    return read


def on_the_page() -> set[str]:
    page = (reference.DOCS / "variables.md").read_text("utf-8")
    deprecated = {name for names in reference.deprecated().values() for name in names}
    return set(re.findall(r'<a id="(\w+)">', page)) | deprecated


@pytest.mark.parametrize("path, text", [*reference.files()], ids=lambda value: getattr(value, "name", ""))
def test_the_pages_are_up_to_date(path: Path, text: str) -> None:
    assert path.read_text("utf-8") == text, f"{path} differs from the code: run make generate"


def test_every_variable_that_the_code_reads_is_on_the_page() -> None:
    found, page = read_by_code(), on_the_page()
    assert len(found) > 150
    assert {name: files for name, files in found.items() if name not in page} == {}


def test_every_variable_on_the_page_is_read() -> None:
    # the options of a tuning's module are read by the names that its documentation has
    options = {f"{role}_{name}" for role in generate.TUNINGS for name in generate.options_of(role)}
    reads = {name for name, files in read_by_code().items() if any("/defaults/" not in one for one in files)}
    reads |= {name for path in YAML for name in NAME.findall(path.read_text("utf-8")) if name.startswith("zpower_")}
    reads |= read_by_options() | read_by_measuring()
    assert on_the_page() - reads - options == set()


def test_no_variable_stands_twice() -> None:
    page = (reference.DOCS / "variables.md").read_text("utf-8")
    names = re.findall(r'<a id="(\w+)">', page)
    assert len(names) == len(set(names))


def test_every_role_is_on_the_page() -> None:
    assert {*generate.TUNINGS, *reference.PAGE_OF} == set(ROLES)


def test_the_variables_of_playbooks_exist() -> None:
    named = {name for path in (TOP / "playbooks").glob("*.yml") for name in reference.variables_of(path)}
    assert named - on_the_page() == set()


def test_the_pages_of_playbooks_exist() -> None:
    for path in (TOP / "playbooks").glob("*.yml"):
        assert (reference.DOCS / reference.about(path)["More"]).exists()


def test_a_playbook_without_a_complete_comment_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "site.yml"
    path.write_text("---\n# SPDX\n# SPDX\n#\n# Applies.\n# Hosts: all\n- name: Play\n")
    with pytest.raises(ValueError, match="lacks 'Check mode', 'Tags'"):
        reference.about(path)


@pytest.mark.parametrize(
    "value, text",
    [
        (None, "unset"),
        ("", "empty"),
        (False, "`false`"),
        ("{{ zpower_change | default('') }}", "`zpower_change`"),
        ("{{ zpower_results | default('results', true) }}", "`zpower_results` or `results`"),
        ("{{ [1, 2] | max }}", "computed"),
    ],
)
def test_defaults_in_words(value: object, text: str) -> None:
    assert reference.default_text(value) == text
