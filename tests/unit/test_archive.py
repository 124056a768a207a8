# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The archive: nothing is in it that git ignores, and `make build` installs ansible-core and no test tools."""

import re
import shutil
import subprocess
import sys
import tarfile
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

import pytest
import yaml
from shipped import shipped

TOP = Path(__file__).parents[2]
sys.path.append(str(TOP / "tests" / "docs"))

from links import local_links  # noqa: E402

SECTIONS = ["Code of conduct", "Communication", "Requirements", "Installation", "Use cases", "Included content"]
SECTIONS += ["Testing", "Contributing", "Support", "Release notes", "Related information", "License"]
PIP = """#!/bin/sh
echo "$@" >>"$0.asked"
"""
LINES = (TOP / ".gitignore").read_text(encoding="utf-8").splitlines()
IGNORED = [line.strip("/") for line in LINES if line and not line.startswith("#")]
GALAXY = yaml.safe_load((TOP / "galaxy.yml").read_text(encoding="utf-8"))
LEFT_OUT = GALAXY["build_ignore"]


@pytest.mark.parametrize("path", IGNORED)
def test_what_git_ignores_is_not_in_the_archive(path):
    folders = [str(parent) for parent in PurePosixPath(path).parents][:-1]
    assert [name for name in (path, *folders) for pattern in LEFT_OUT if name == pattern or fnmatch(name, pattern)]


def test_of_the_inventories_only_those_for_users_are_in_the_archive():
    inventories = {name.split("/")[1] for name in shipped() if name.startswith("inventories/")}
    assert inventories == {"example", "guide"}


def test_of_the_tests_only_what_ansible_test_asks_for_is_in_the_archive():
    assert {name for name in shipped() if name.startswith("tests/")} == {"tests/config.yml"}


@pytest.mark.parametrize(("level", "dev"), [("build", False), ("demo", False), ("kernels", True)])
def test_only_tests_install_test_tools(tmp_path, monkeypatch, level, dev):
    for name in ("requirements.txt", "requirements-dev.txt", "constraints.txt", "tests/setup.sh", "tests/pythons.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(TOP / name, tmp_path / name)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in (
        "git",
        "ip",
        "sshd",
        "ssh-keygen",
        "unshare",
        "hercules",
        "qemu-system-s390x",
        "cpio",
        "depmod",
        "mkfs.ext4",
    ):
        (programs / name).write_text(PIP)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    chosen = subprocess.check_output(["python3", "tests/pythons.py", "3.13", "3.12", "3.11"], cwd=tmp_path, text=True)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(PIP)
    python.chmod(0o755)
    (tmp_path / ".venv" / ".python").write_text(f"{chosen.strip()} in {tmp_path}\n")
    subprocess.run(["tests/setup.sh", level], cwd=tmp_path, check=True)
    asked = python.with_name("python.asked").read_text()
    assert "-r requirements.txt" in asked and ("requirements-dev.txt" in asked) == dev


@pytest.mark.parametrize("page", ["README.md", "docs/start.md"])
def test_the_commands_that_install_a_version_name_this_one(page):
    text = (TOP / page).read_text(encoding="utf-8")
    assert set(re.findall(r'(?:sap_tuning:==|sap_tuning,v|version: "==)([0-9.]+)', text)) == {GALAXY["version"]}


def test_make_build_needs_no_session():
    # Without what a `make` that runs these tests hands down: under it, make also says which folder it enters.
    told = subprocess.check_output(["make", "-n", "build"], cwd=TOP, text=True, env={"PATH": "/usr/bin:/bin"})
    assert told.splitlines() == ["tests/setup.sh build", ".venv/bin/python tests/archive.py"]


@pytest.fixture(scope="module", name="built")
def fixture_built(tmp_path_factory):
    """The archive, and the modules that its build has imported."""
    folder = tmp_path_factory.mktemp("built")
    code = f"import sys; sys.path.insert(0, {str(TOP / 'tests')!r}); import archive; from pathlib import Path"
    code += f"; print(archive.build(target=Path({str(folder)!r}))); print(*sys.modules)"
    path, modules = subprocess.check_output([sys.executable, "-c", code], text=True).splitlines()
    return Path(path), modules.split()


def test_the_archive_is_built_with_ansible_core_alone(built):
    path, modules = built
    assert {"nox", "antsibull_nox", "pytest"}.isdisjoint(modules)
    assert list(path.parent.iterdir()) == [path]
    assert path.stat().st_size < 20_000_000  # Galaxy takes no larger one


def test_the_readmes_of_the_archive_link_to_the_tag_of_its_version(built):
    """Galaxy shows these pages, and nothing beside them."""
    with tarfile.open(built[0]) as content:
        names = [name for name in content.getnames() if name == "README.md" or fnmatch(name, "roles/*/README.md")]
        pages = {name: content.extractfile(name).read().decode() for name in names}
    assert len(pages) == 1 + len([role for role in (TOP / "roles").iterdir() if role.is_dir()])
    assert {name: local_links(page) for name, page in pages.items() if local_links(page)} == {}
    forge = f"{GALAXY['repository']}/{{}}/v{GALAXY['version']}/{{}}"
    for kind, target in [
        ("raw", "docs/images/report.png"),
        ("tree", "inventories/example"),
        ("blob", "docs/start.md#1-install"),
        ("blob", "README.md#related-information"),
    ]:
        assert f"]({forge.format(kind, target)})" in pages["README.md"]
    assert f"]({forge.format('blob', 'docs/tunings/rps.md')})" in pages["roles/rps/README.md"]


def test_the_readme_has_the_sections_of_a_certified_collection_below_its_first_screen():
    text = (TOP / "README.md").read_text(encoding="utf-8")
    assert re.findall("^## (.*)", text, re.MULTILINE) == ["Start", *SECTIONS]
    assert "semantic versioning" in text.partition("## Release notes")[2]


def test_galaxy_yml_has_what_galaxy_shows():
    forge = GALAXY["repository"]
    assert GALAXY["homepage"] == forge and GALAXY["issues"] == f"{forge}/issues"
    assert GALAXY["documentation"] == f"{forge}/tree/main/docs"
    # at least one of Automation Hub's list
    assert "linux" in GALAXY["tags"] and len(GALAXY["tags"]) <= 20
    assert all(re.fullmatch("(?!.*__)[a-z][0-9a-z_]*", tag) for tag in GALAXY["tags"])
