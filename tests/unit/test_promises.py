# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""tests/promises.yml: what the pages promise has tests, and those promises that only the whole code can hold."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from ansible_collections.zpower.sap_tuning.plugins.lookup.tunings import known_tunings
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import commands, host
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import smc_tables
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import wire
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.cpu import meter
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.server import admission
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import command

TOP = Path(__file__).resolve().parents[2]
PLUGINS = TOP / "plugins"
HELD = yaml.safe_load((TOP / "tests" / "promises.yml").read_text("utf-8"))
PROMISING = re.compile(r"\b(never|always|exactly|at most|at the latest|nothing|whatever)\b", re.I)
TESTS = {
    path: path.read_text("utf-8") for folder in ("tests", "molecule") for path in TOP.glob(f"{folder}/**/test_*.py")
}


def sentences(page: str) -> list[str]:
    """The sentences and cells of a page, without examples and without rows that name their tests."""
    text = re.sub(r"(?ms)^```.*?^```", "", (TOP / page).read_text("utf-8"))
    blocks = re.split(r"\n\s*\n|\n(?=[-|#*0-9])", text)
    blocks = [" ".join(block.split()) for block in blocks if "::test_" not in block and not block.startswith("<!--")]
    return [part for block in blocks for part in re.split(r"(?<=[.!?]) (?=[A-Z`*\[])", block)]


@pytest.mark.parametrize("page", HELD)
def test_every_promise_of_the_page_is_held_by_tests(page: str) -> None:
    known = [*(words for words in HELD[page] if words != "other"), *HELD[page].get("other", ())]
    said = sentences(page)
    assert [words for words in known if not any(words in one for one in said)] == []
    promising = [one for one in said if PROMISING.search(one)]
    assert [one for one in promising if not any(words in one for words in known)] == []


@pytest.mark.parametrize("page", HELD)
def test_every_test_that_holds_a_promise_exists(page: str) -> None:
    named = [test for words, tests in HELD[page].items() if words != "other" for test in tests]
    assert len(named) >= len(HELD[page]) - 1
    for test in named:
        file, _colons, name = test.partition("::")
        found = [text for path, text in TESTS.items() if path.name == file]
        assert any(re.search(rf"^ *def {name}\(", text, re.M) for text in found), test


def calls(folder: Path) -> Iterator[tuple[str, str]]:
    """(path below plugins/, name of the function) of each call in a folder."""
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                yield path.relative_to(PLUGINS).as_posix(), name


def test_the_controller_removes_no_file_but_its_temporary_ones() -> None:
    removing = {"remove", "unlink", "rmdir", "removedirs", "rmtree"}
    rooms = ("plugin_utils", "action", "callback", "lookup")
    found = {call for room in rooms for call in calls(PLUGINS / room) if call[1] in removing}
    # write_file() removes the file that it has made beside the place of the new one
    assert found == {("plugin_utils/_records/files.py", "unlink")}
    tasks = [*TOP.glob("roles/*/tasks/*.yml"), *TOP.glob("playbooks/*.yml")]
    assert len(tasks) > 20
    assert [
        path for path in tasks if re.search(r"state: ['\"]?absent|ansible\.builtin\.(shell|raw)", path.read_text())
    ] == []


def test_only_the_server_of_a_measurement_listens() -> None:
    listening = {"create_server", "start_server", "TCPServer", "HTTPServer"}
    found = {path for path, name in calls(PLUGINS) if name in listening}
    found |= {path for path, name in calls(PLUGINS) if name == "listen" and "_measure/" not in path}
    assert found == set()
    assert ("module_utils/_measure/server/serving.py", "listen") in set(calls(PLUGINS))


def test_nothing_reboots_a_host() -> None:
    words = re.compile(r"ansible\.builtin\.reboot|\[[\"'](/s?bin/)?(reboot|shutdown|poweroff|kexec)[\"']")
    files = [*PLUGINS.rglob("*.py"), *TOP.glob("roles/*/tasks/*.yml"), *TOP.glob("playbooks/*.yml")]
    assert len(files) > 300
    assert [path for path in files if words.search(path.read_text("utf-8"))] == []


def test_nothing_on_aix_is_configured_again_or_changed_for_the_running_value_alone() -> None:
    texts = {
        node.value
        for path in PLUGINS.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert {"chdev", "-P"} <= texts
    assert {"rmdev", "mkdev", "/usr/sbin/rmdev", "/usr/sbin/mkdev", "-U"} & texts == set()


def test_only_tunings_checks_and_leftovers_become_root() -> None:
    tasks = [*TOP.glob("roles/*/tasks/*.yml"), *TOP.glob("playbooks/*.yml")]
    found = {path.parts[-3] for path in tasks if re.search(r"become: (true|yes)", path.read_text("utf-8"))}
    assert found == {*known_tunings(), "platform", "tune", "verify"}


def called(text: str) -> set[str]:
    """The roles of the collection that tasks or a playbook name."""
    return {*re.findall(r"(?m)^ +(?:name|- role): zpower\.sap_tuning\.(\w+)$", text)}


def test_only_playbooks_that_say_so_set_values() -> None:
    """Values are set by the role tune; verify calls it in check mode."""
    assert re.search(r"(?m)^  check_mode: true$", (TOP / "roles" / "verify" / "tasks" / "main.yml").read_text("utf-8"))
    imported = {
        path.name: called("\n".join(one.read_text("utf-8") for one in path.glob("tasks/*.yml")))
        for path in TOP.glob("roles/*")
    }

    def reached(text: str) -> set[str]:
        found, todo = set[str](), called(text)
        while todo:
            found |= todo
            todo = {name for role in todo - {"verify"} for name in imported[role]} - found
        return found

    playbooks = {path.stem: path.read_text("utf-8") for path in TOP.glob("playbooks/*.yml")}
    says = {name for name, text in playbooks.items() if re.search("(?m)^# Hosts: changes (them|no value)", text)}
    assert {name for name, text in playbooks.items() if "tune" in reached(text)} == says
    assert {"site", "rollout", "experiment", "before_after"} < says < {*playbooks}


def test_a_rollback_is_one_of_all_tunings() -> None:
    (play,) = yaml.safe_load((TOP / "playbooks" / "rollback.yml").read_text("utf-8"))
    (task,) = play["tasks"]
    assert task["vars"]["tune_tunings"] == ["all"] and play["vars"]["zpower_rollback"] is True


def test_the_collection_needs_nothing_but_ansible_core() -> None:
    assert yaml.safe_load((TOP / "galaxy.yml").read_text("utf-8"))["dependencies"] == {}
    # what ansible-core itself needs, and this collection
    brought = {"ansible", "ansible_collections", "jinja2", "markupsafe", "yaml", "packaging", "cryptography"}
    found = {
        name.partition(".")[0]
        for path in PLUGINS.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and not node.level
            else []
        )
    }
    assert "json" in found and "ansible" in found
    assert found - brought - sys.stdlib_module_names - {"posix1e"} == set()


def test_the_limits_of_the_page_are_those_of_the_code() -> None:
    pages = ("SECURITY.md", "docs/evidence.md", "docs/measuring.md", "docs/tunings/smc.md", "docs/cpu.md")
    page = " ".join(" ".join((TOP / name).read_text("utf-8") for name in pages).split())
    for said in (
        f"must arrive within {admission.TOKEN_TIMEOUT:g} s and {admission.LONGEST_TOKEN} bytes",
        f"limited to {admission.MOST}, and to {admission.MOST_OF_ADDRESS} per address",
        f"a line of {wire.MAX_LINE // 1024} KiB, {wire.CONTROL_TIMEOUT:g} s",
        f"an output limit of {commands.MOST // 2**20} MiB",
        f"a file of more than {host.LARGEST // 2**20} MiB",
        f"for at most {command.LIMIT_S / 60:g} minutes",
        f"at most until {smc_tables._READY_S} s after the boot",
        f"no report within {meter.SAMPLE_TIMEOUT:g} s",
        f"At most {admission.MOST} connections without a token are open at a time, at most {admission.MOST_OF_ADDRESS}",
    ):
        assert said in page, said
