# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/adding_more.md names the files with the lists of report formats and network tools, and what an entry has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net import network, request
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.round import tools
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils import _report

TOP = Path(__file__).parents[2]
TEXT = (TOP / "docs" / "adding_more.md").read_text("utf-8")
PARTS = dict(re.findall(r"^## (.*)\n((?:(?!^## ).*\n)*)", TEXT, re.MULTILINE))
FORMATS, TOOLS = PARTS["A report format"], PARTS["A network tool"]
# those of which make generate writes the list
GENERATED = {"docs/variables.md"}


def files(*names: str) -> set[str]:
    """The files for users and hosts that have all of these words."""
    found = set()
    for top in ("plugins", "roles", "docs"):
        for path in (TOP / top).rglob("*"):
            if path.suffix in (".py", ".yml", ".md") and set(names) <= set(re.findall(r"\w+", path.read_text("utf-8"))):
                found.add(path.relative_to(TOP).as_posix())
    return found - GENERATED


def listing(pattern: str) -> set[str]:
    """The files for users and hosts in which a list of all stands."""
    words = set(re.findall(r"\w+", pattern))
    return {name for name in files(*words) if re.search(pattern, (TOP / name).read_text("utf-8"))}


def named(text: str) -> set[str]:
    return set(re.findall(r"`((?:plugins|roles|docs)/[\w./-]+\.(?:py|yml|md))`", text))


def of(module: object) -> str:
    """The path of a module in the checkout."""
    return str(module.__file__).partition("/sap_tuning/")[2]  # type: ignore[attr-defined]


def test_the_page_names_each_file_with_the_list_of_formats() -> None:
    found = listing(", ?".join(_report.RENDERERS))
    assert len(found) >= 4
    assert named(FORMATS) == found | {of(_report)}


def test_every_format_is_a_file_as_the_page_says() -> None:
    assert "`RENDERERS`" in FORMATS and "`lines(report, runs)`" in FORMATS
    for renderer in _report.RENDERERS.values():
        assert renderer.__name__ == "lines" and re.search(r"\._(report|pages)\.to_\w+$", renderer.__module__)


def test_the_page_names_each_file_with_the_network_tools() -> None:
    found = files(*request.NETWORK_TOOLS)
    assert of(request) in found
    assert named(TOOLS) == found | {of(tools)}


@pytest.mark.parametrize("tool", sorted(request.NETWORK_TOOLS))
def test_every_tool_has_what_the_page_says(tool: str) -> None:
    program = request.NETWORK_TOOLS[tool]
    step = TOOLS.partition("It has:")[2].partition("\n2. ")[0]
    names = set(re.findall(r"`(\w+)(?:\([\w, ]*\))?`", step)) - {"unknown", "MeasureError"}
    own = {"TOOL", "SERVER", "VERSION", "server_argv", "Workload"}
    assert names == own | {"tool", "kinds", "parallel", "argv", "read"}
    assert [name for name in own if not hasattr(program, name)] == []
    assert issubclass(program.Workload, network.Program)
    assert [name for name in names - own if not hasattr(program.Workload, name)] == []


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\b(?:tests|plugins)/[\w./]+\.py", TEXT))))
def test_every_file_of_the_page_exists(path: str) -> None:
    assert (TOP / path).is_file()
