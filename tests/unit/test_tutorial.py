# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tutorial docs/adding_a_tuning.md leads to a tuning that is generated, tested and found by playbooks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import tutorial  # noqa: E402  (it lies beside what uses it without pytest)

PAGE = tutorial.PAGE.read_text("utf-8")
BLOCKS = tutorial.blocks(PAGE)
TOOLS = tutorial.HERE / ".venv" / "bin"
# the tests that a new tuning is part of, without those of the other tunings
CASES = "tcp_retries or nothing_was_used or chosen or call_imports"
TESTS = [
    "tests/unit/plugins/module_utils/_tunings/test_sysctl_tunings.py",
    "tests/unit/plugins/modules/test_tunings_module.py",
]
# the checks of all files, of which a new tuning has some
NAMES = "generate roles rooms tuning_pages codes_files_ports links troubleshooting"
CHECKS = [f"tests/unit/test_{name}.py" for name in NAMES.split()]
CHECKS[-1] += "::test_every_message_has_an_answer"
# the others there run playbooks
NAMES = "a_misspelt_name_is_refused_with_the_one_that_was_meant each_playbook_has_mistakes_in_the_tables"
CHECKS += [f"tests/unit/test_variables.py::test_{name}" for name in NAMES.split()]
# what a small tuning may take, without empty lines and the licence's
MOST_LINES, MOST_FILES = 60, 4


def run(folder: Path, *command: str | Path) -> str:
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": str(folder / ".cache" / "collections"),
        "ANSIBLE_NOCOLOR": "1",
    }
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def texts(folder: Path) -> dict[str, str]:
    """{path: text} of the text files that people write."""
    paths = [path for path in folder.rglob("*") if path.suffix in (".py", ".md", ".yml") and path.is_file()]
    return {str(path.relative_to(folder)): path.read_text("utf-8") for path in paths if ".cache" not in path.parts}


@pytest.fixture(scope="module", name="made")
def fixture_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout with everything that the page says."""
    folder = tmp_path_factory.mktemp("tutorial") / "sap_tuning"
    tutorial.make(folder)
    return folder


def test_every_block_of_code_has_a_path_or_is_a_command() -> None:
    languages = re.findall(r"^```+(\w+)$", re.sub(tutorial.BLOCK, "", PAGE), re.MULTILINE)
    assert set(languages) == {"sh", "text"}
    assert {block.language for block in BLOCKS} == {"python", "markdown", "diff", "yaml"}
    assert all((block.kind == "Edit") == (block.language == "diff") for block in BLOCKS)


def test_the_page_names_every_file_that_is_written(tmp_path: Path) -> None:
    tutorial.copy(tmp_path)
    first = texts(tmp_path)
    for block in BLOCKS:
        tutorial.write(tmp_path, block)
    by_hand = texts(tmp_path)
    assert {path for path, text in by_hand.items() if first.get(path) != text} == {block.path for block in BLOCKS}
    tutorial.generate(tmp_path)
    written = {path for path, text in texts(tmp_path).items() if by_hand.get(path) != text}
    section = PAGE.partition("## 5. Generate the rest")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([^` ]+/[^` ]+\.(?:py|yml|md)|README.md)`", section)) - {"tests/rooms.py"}
    assert named <= written
    # pages of all tunings and variables, which it does not name one by one
    assert all(path.startswith("docs/") for path in written - named)


def test_its_tests_pass(made: Path) -> None:
    said = run(made, sys.executable, "-m", "pytest", "-q", "--color=no", "-k", CASES, *TESTS)
    assert int(re.findall(r"(\d+) passed", said)[0]) > 20


def test_the_checks_of_all_files_pass(made: Path) -> None:
    said = run(made, sys.executable, "-m", "pytest", "-q", "--color=no", *CHECKS)
    assert int(re.findall(r"(\d+) passed", said)[0]) > 100


def test_a_small_tuning_is_small() -> None:
    """The molecule test is not counted: no other tuning of this kind needs one."""
    needed = [block for block in BLOCKS if not block.path.startswith("molecule/")]
    lines = [line for block in needed for line in block.text.splitlines() if line and "SPDX-" not in line]
    assert len({block.path for block in needed}) <= MOST_FILES and len(lines) <= MOST_LINES


def test_tools_find_nothing(made: Path) -> None:
    paths = [block.path for block in BLOCKS if block.path.endswith(".py")]
    paths.append("plugins/modules/tcp_retries.py")
    run(made, TOOLS / "ruff", "check", *paths)
    run(made, TOOLS / "ruff", "format", "--check", *paths)
    run(made, TOOLS / "yamllint", "--strict", "changelogs/fragments/tcp-retries.yml", "roles/tcp_retries")
    assert "8 to 255" in run(made, Path(sys.executable).parent / "ansible-doc", "zpower.sap_tuning.tcp_retries")


def test_playbooks_find_it(made: Path) -> None:
    """In check mode on this machine; tests/lab/test_tutorial.py sets the value for real."""
    now = Path("/proc/sys/net/ipv4/tcp_retries2").read_text("utf-8").strip()
    asked = 9 if now == "8" else 8
    variables = {
        "zpower_tunings": ["tcp_retries"],
        "tcp_retries_settings": {"tcp_retries2": asked},
        "zpower_drift": "warn",
        "ansible_become": False,
        "ansible_python_interpreter": "/usr/bin/python3",
    }
    program = Path(sys.executable).parent / "ansible-playbook"
    options = ["-i", "localhost,", "-c", "local", "-e", json.dumps(variables)]
    row = rf"^localhost +tcp_retries +net\.ipv4 +{now} → {asked} .* drifted$"
    for command in (["verify"], ["site", "--check"]):
        said = run(made, program, f"zpower.sap_tuning.{command[0]}", *command[1:], *options)
        assert re.search(row, said, re.MULTILINE), said
    assert "nothing to take back" in run(made, program, "zpower.sap_tuning.rollback", "--check", *options)
