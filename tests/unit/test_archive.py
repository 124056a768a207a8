# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The archive contains only files for users, and `make build` needs only git and ansible-core."""

import re
import subprocess
import sys
import tarfile
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

import pytest
import yaml
from links import local_links

TOP = Path(__file__).parents[2]
GALAXY = yaml.safe_load((TOP / "galaxy.yml").read_text(encoding="utf-8"))


def test_what_git_ignores_is_not_in_the_archive():
    lines = (TOP / ".gitignore").read_text(encoding="utf-8").splitlines()
    for path in [line.strip("/") for line in lines if line and not line.startswith("#")]:
        names = [path, *map(str, PurePosixPath(path).parents)][:-1]
        assert any(name == one or fnmatch(name, one) for name in names for one in GALAXY["build_ignore"]), path


@pytest.mark.parametrize("page", ["README.md", "docs/start.md"])
def test_commands_that_install_a_version_name_this_one(page):
    text = (TOP / page).read_text(encoding="utf-8")
    assert set(re.findall(r'(?:sap_tuning:==|sap_tuning,v|version: "==)([0-9.]+)', text)) == {GALAXY["version"]}


def test_make_build_needs_no_session():
    # Without the variables of a `make` that runs these tests: with them, make also prints which folder it enters.
    told = subprocess.check_output(["make", "-n", "build"], cwd=TOP, text=True, env={"PATH": "/usr/bin:/bin"})
    assert told.splitlines() == ["tests/setup.sh build", ".venv/bin/python tests/archive.py"]


@pytest.mark.gate
def test_the_archive_is_built_with_ansible_core_alone_and_contains_files_for_users(tmp_path):
    code = f"import sys; sys.path.insert(0, {str(TOP / 'tests')!r}); import archive; from pathlib import Path"
    code += f"; print(archive.build(target=Path({str(tmp_path)!r}))); print(*sys.modules)"
    path, modules = subprocess.check_output([sys.executable, "-c", code], text=True).splitlines()
    assert {"nox", "antsibull_nox", "pytest"}.isdisjoint(modules.split())
    assert [str(one) for one in tmp_path.iterdir()] == [path]
    assert Path(path).stat().st_size < 20_000_000  # Galaxy accepts no larger one
    with tarfile.open(path) as content:
        names = content.getnames()
        readmes = [name for name in names if name == "README.md" or fnmatch(name, "roles/*/README.md")]
        pages = {name: content.extractfile(name).read().decode() for name in readmes}
    assert {name for name in names if name.startswith("tests/")} == {"tests/config.yml"}
    inventories = {name.split("/")[1] for name in names if name.startswith("inventories/")}
    assert inventories == {"example", "guide"}
    # Galaxy shows these pages and no others
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
