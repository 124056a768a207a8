# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/codes_files_ports.md names the files, programs and ports that the code names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import sysctls
import yaml
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine import entry_point, places
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.net import request
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.server import admission, serving
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings import _leftovers
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence.shapes import KINDS
from kernel import KernelHost

TOP = Path(__file__).parents[2]
PAGE = (TOP / "docs" / "codes_files_ports.md").read_text("utf-8")
UTILS = TOP / "plugins" / "module_utils"
OWN = re.compile(r"/etc/[\w./-]*/[\w-]*zpower-sap-tuning[\w.-]*\.\w+")
TUNINGS = sorted(path.stem for path in (UTILS / "_tunings").glob("[!_]*.py"))
# functions that start a program with the list of its words
RUNNERS = {"run", "_run", "_output"}
# the argument of sappfpar
NO_PROGRAMS = {"check"}


def nodes() -> Iterator[ast.AST]:
    for path in UTILS.rglob("*.py"):
        yield from ast.walk(ast.parse(path.read_text("utf-8")))


def own_files(tmp_path: Path) -> set[str]:
    """The paths of drop-in files that tunings declare, or that the code names."""
    texts = {node.value for node in nodes() if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    host, declared = KernelHost(tmp_path), set()
    for kind in sysctls.KINDS:
        params = {name: option.get("default") for name, option in entry_point.argument_spec(kind).items()}
        declared |= {drop_in.path for drop_in in kind(host, params).drop_ins}
    # the page says of the link only in which folder it is
    return {text for text in declared | texts if OWN.fullmatch(text) and not text.startswith(places.WANTS)}


def test_the_page_names_the_files_of_tunings_and_no_others(tmp_path: Path) -> None:
    found = own_files(tmp_path)
    assert len(found) > 8
    assert found == set(OWN.findall(PAGE))


@pytest.mark.parametrize("path", sorted(set(OWN.findall(PAGE))))
def test_leftovers_finds_each_of_them(path: str, tmp_path: Path) -> None:
    host = KernelHost(tmp_path)
    host.fill(path, "")
    (found,) = _leftovers.records(host, "Linux")
    assert found["subject"] == "files" and found["name"] in TUNINGS and path in found["reason"]


@pytest.mark.parametrize("tuning", TUNINGS)
def test_the_page_has_every_tuning(tuning: str) -> None:
    assert re.search(rf"(?m)^\| .*`{tuning}`.* \|", PAGE.partition("## Files on hosts")[2])


@pytest.mark.parametrize(
    "name",
    [
        places.folder_of("Linux"),
        places.folder_of("AIX"),
        f"{places.UNITS}/{places.SERVICE}<tuning>.service",
        f"{places.CHECKPOINT}{places.PROBATION}/",
        f"{places.CHECKPOINT}<name>/{places.LEASE}",
        f"{serving.FIRST_PORT} to {serving.LAST_PORT}",
        f"limited to {admission.MOST}, and to {admission.MOST_OF_ADDRESS} from one address",
        f"up to {request.MOST_CONNECTIONS} connections",
        *(f"`{kind}`" for kind in KINDS),
    ],
)
def test_the_page_has_the_names_and_numbers_of_the_code(name: str) -> None:
    assert name in PAGE


def test_the_page_has_the_defaults_of_the_measurement() -> None:
    defaults = yaml.safe_load((TOP / "roles" / "measure" / "defaults" / "main.yml").read_text("utf-8"))
    assert f"({defaults['measure_lifetime']} s) per round" in PAGE
    assert f"default {', '.join(map(str, defaults['measure_network_connections']))})" in PAGE
    assert (defaults["measure_port"], defaults["measure_control_port"]) == (0, 0)


def _begins(words: ast.List) -> bool:
    return bool(words.elts) and isinstance(words.elts[0], ast.Constant)


def test_the_page_has_every_program_that_a_tuning_starts() -> None:
    calls = [node for node in nodes() if isinstance(node, ast.Call)]
    named = [call for call in calls if getattr(call.func, "attr", getattr(call.func, "id", "")) in RUNNERS]
    values = [argument for call in named for argument in call.args]
    values += [node.value for node in nodes() if isinstance(node, ast.Assign)]
    lists = [one.left if isinstance(one, ast.BinOp) else one for one in values]
    firsts = {one.elts[0].value for one in lists if isinstance(one, ast.List) and _begins(one)}
    programs = {first for first in firsts if isinstance(first, str) and re.fullmatch("[a-z]{2,}", first)}
    assert {"systemctl", "lsattr", "chdev", "modprobe", "mount"} <= programs
    words = set(re.findall(r"\w+", PAGE))
    assert programs - words - NO_PROGRAMS == set()


def test_the_page_has_every_schema() -> None:
    for path in (TOP / "docs" / "schemas").glob("*.schema.json"):
        assert f"(schemas/{path.name})" in PAGE, path.name
