# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""tests/due.py: a heavy session runs again if one byte of what it depends on has changed, and only then."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / "tests"))

import checkout  # noqa: E402
import due  # noqa: E402
import sessions  # noqa: E402

SESSION = "unit(3.6)"
# Sessions of noxfile.py that no run of CI has: they are made by name, or for a release.
BY_NAME = {"fast", "links", "build", "bench", "release", "cores", "archive_sanity", "sanity_between"}
BY_NAME |= {"units_in_collection", "kernels(smc)", "kernels(smcd)"}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("due") / "checkout"
    checkout.copy(folder)
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    return folder


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tree: Path) -> None:
    monkeypatch.setattr(due, "HERE", tree)
    due.tracked.cache_clear()


def hash_with(path: Path, text: bytes, session: str = SESSION) -> str:
    """The hash of a session while a file has another content."""
    kept = path.read_bytes()
    path.write_bytes(text)
    try:
        return due.digest(session)
    finally:
        path.write_bytes(kept)


@pytest.mark.parametrize(
    "name",
    [
        "plugins/modules/rps.py",  # in a folder of NEEDS
        "plugins/module_utils/_host/host.py",
        "tests/unit/plugins/module_utils/_host/test_host.py",
        "tests/unit/support/killing.py",  # only imported, by its bare name
        "tests/pythons.py",  # only imported, by the recipe
        "tests/unit/conftest.py",
        "tests/setup.sh",
        "constraints.txt",  # versions of packages
        "requirements-targets.txt",
    ],
)
def test_one_changed_byte_of_a_file_makes_a_session_due(tree: Path, name: str) -> None:
    path = tree / name
    changed = path.read_bytes()[:-1] + b"#\n"
    assert hash_with(path, path.read_bytes()) == due.digest(SESSION) != hash_with(path, changed)


def test_a_file_of_captured_text_counts_and_so_does_a_new_file(tree: Path) -> None:
    fixture = next((tree / "tests/unit/fixtures").glob("*/*"))
    before = due.digest(SESSION)
    assert fixture.is_file() and hash_with(fixture, fixture.read_bytes() + b" ") != before
    new = tree / "plugins" / "modules" / "new.py"
    new.write_text("")
    due.tracked.cache_clear()
    try:
        assert due.digest(SESSION) != before
    finally:
        new.unlink()
    due.tracked.cache_clear()
    fixture.chmod(fixture.stat().st_mode ^ 0o100)
    try:
        assert due.digest(SESSION) != before
    finally:
        fixture.chmod(fixture.stat().st_mode ^ 0o100)
    assert due.digest(SESSION) == before


@pytest.mark.parametrize(
    ("old", "new", "again"),
    [
        ('"pytest", "-q", *tests', '"pytest", "-v", *tests', True),  # the session itself
        ("shutil.rmtree(folder, ignore_errors=True)", "pass", True),  # a function that it calls
        ('OLDEST_CORE = "ansible-core==2.16.19"', 'OLDEST_CORE = "ansible-core==2.16.18"', True),  # a name that it uses
        ('"--share", "20"', '"--share", "21"', False),  # another session
    ],
)
def test_a_recipe_is_the_session_and_the_names_that_it_uses(tree: Path, old: str, new: str, again: bool) -> None:
    path = tree / "noxfile.py"
    text = path.read_text()
    assert old in text
    assert (hash_with(path, text.replace(old, new, 1).encode()) != due.digest(SESSION)) is again


def test_another_python_of_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    before = due.digest(SESSION)
    monkeypatch.setattr(due, "interpreters", lambda session: "another")
    assert due.digest(SESSION) != before


def test_what_a_session_does_not_depend_on_leaves_it_passed(tree: Path) -> None:
    for name in ("docs/start.md", "README.md", "plugins/action/measurement_report.py", "molecule/default/converge.yml"):
        assert hash_with(tree / name, b"") == due.digest(SESSION)


def test_a_session_that_passed_is_noted_with_its_day_unless_its_files_changed_meanwhile(tree: Path) -> None:
    # the checkout may have one
    (tree / due.PASSED).unlink(missing_ok=True)
    assert due.when("docs") is None
    due.note("docs", "the hash at its start")
    assert due.when("docs") is None
    due.note("docs", due.digest("docs"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", str(due.when("docs")))
    assert set(json.loads((tree / due.PASSED).read_text())) >= {"docs"}
    (tree / "docs" / "start.md").write_text("other")
    assert due.when("docs") is None


def test_every_session_of_nox_belongs_to_make_test_or_to_the_heavy_ones_or_is_made_by_name() -> None:
    said = subprocess.run(
        ["make", "-n", "test-all"], cwd=TOP, check=True, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"}
    ).stdout
    made = set(re.findall(r'"([^"]+)"|(?<= )([a-z-]+)(?= |$)', said.partition("tests/sessions.py")[2], re.M))
    run = {quoted or plain for quoted, plain in made}
    heavy = set(due.NEEDS)
    assert heavy <= run
    names = {name.partition("(")[0] for name in BY_NAME}
    for session in sessions.parametrized(["unit", "molecule", "sanity", "kernels"]):
        assert session in run | BY_NAME, session
    text = (TOP / "noxfile.py").read_text()
    for name in re.findall(r'^@nox\.session(?:\(name="\w+"\))?\n(?:@.*\n)*def (\w+)', text, re.M):
        listed = {"lab_itself": "lab"}.get(name, name)
        assert listed in {one.partition("(")[0] for one in run} | names, name


def test_every_package_of_the_environments_is_pinned() -> None:
    pinned = set(re.findall(r"^([A-Za-z0-9._-]+)==", (TOP / "constraints.txt").read_text(), re.M))
    for path in TOP.glob("requirements*.txt"):
        for line in path.read_text().splitlines():
            if line and not line.startswith("#"):
                name = re.split(r"[=; ]", line)[0]
                assert "==" in line or name.lower().replace("_", "-") in {pin.lower() for pin in pinned}, line
