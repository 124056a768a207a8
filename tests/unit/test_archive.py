# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""`ansible-galaxy collection build` in a checkout that was worked in takes nothing along that git ignores."""

from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

import pytest
import yaml
from shipped import shipped

TOP = Path(__file__).parents[2]
LINES = (TOP / ".gitignore").read_text(encoding="utf-8").splitlines()
IGNORED = [line.strip("/") for line in LINES if line and not line.startswith("#")]
LEFT_OUT = yaml.safe_load((TOP / "galaxy.yml").read_text(encoding="utf-8"))["build_ignore"]


@pytest.mark.parametrize("path", IGNORED)
def test_what_git_ignores_is_not_in_the_archive(path):
    folders = [str(parent) for parent in PurePosixPath(path).parents][:-1]
    assert [name for name in (path, *folders) for pattern in LEFT_OUT if name == pattern or fnmatch(name, pattern)]


def test_of_the_inventories_only_the_example_is_in_the_archive():
    inventories = {name.split("/")[1] for name in shipped() if name.startswith("inventories/")}
    assert inventories == {"example"}
