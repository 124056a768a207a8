# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cache of the emulated labs: images are made once, whole or not at all, and what goes wrong is one sentence."""

import errno
import importlib
import os
import sys
import time
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "molecule" / "shared"


@pytest.fixture
def debian(monkeypatch, tmp_path):
    """The module, with an empty cache."""
    monkeypatch.syspath_prepend(str(SHARED))
    monkeypatch.setenv("ZPOWER_LAB_CACHE", str(tmp_path / "cache"))
    for name in ("debian", "lab"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("debian")


@pytest.fixture
def made():
    """What a recipe for an image was called with."""
    return []


@pytest.fixture
def make(made):
    def recipe(folder, scratch):
        made.append(folder)
        (scratch / "rubbish").write_text("only while it is made")
        (folder / "vmlinuz").write_text("a kernel")

    return recipe


def names(debian):
    return sorted(path.name for path in debian.cache().iterdir() if path.is_dir())


def test_an_image_is_made_once_for_each_recipe(debian, make, made):
    first = debian.image("lpar", "recipe", make)
    assert debian.image("lpar", "recipe", make) == first != debian.image("lpar", "another", make)
    assert len(made) == len(names(debian)) == 2
    assert sorted(path.name for path in first.iterdir()) == ["vmlinuz"]


@pytest.mark.parametrize("problem", [KeyboardInterrupt, ValueError])
def test_an_interrupted_one_leaves_nothing(debian, problem):
    def interrupted(folder, scratch):
        (folder / "half").write_text("")
        raise problem

    with pytest.raises(problem):
        debian.image("lpar", "recipe", interrupted)
    assert names(debian) == []


def test_what_a_killed_one_left_and_nobody_uses_any_more_is_removed(debian, make):
    kept = debian.image("lpar", "kept", make)
    (debian.cache() / "lpar-0123.new").mkdir()
    for name, days in (("lpar-old", 31), ("lpar-young", 29), ("lpar61-old", 31)):
        (debian.cache() / name).mkdir()
        os.utime(debian.cache() / name, (time.time() - days * 86400,) * 2)
    debian.image("lpar", "kept", make)
    assert names(debian) == sorted([kept.name, "lpar-young", "lpar61-old"])


def test_a_full_disk_is_one_sentence(debian):
    def full(folder, scratch):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(debian.LabError, match="^The image lpar cannot be made in .*cache: No space left on device.$"):
        debian.image("lpar", "recipe", full)
    assert names(debian) == []


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("Debian trixie main http://one/\nDebian trixie-security main http://two/\n", "http://one/"),
        ("Other stable main http://other/\nDebian trixie main http://one/\n", "http://one/"),
        # a machine that has never fetched its lists knows no origins
        (" trixie main http://one/\n trixie contrib http://one/\n", "http://one/"),
    ],
)
def test_the_mirror_is_the_machines_own(debian, monkeypatch, lines, found):
    monkeypatch.setattr(debian, "run", lambda argv: lines)
    assert debian.mirror() == found
    monkeypatch.setattr(debian, "run", lambda argv: "Debian trixie-security main http://two/\n")
    with pytest.raises(debian.LabError, match="names no Debian mirror"):
        debian.mirror()


STALE = "File has unexpected size (1 != 2). Mirror sync in progress?"
HASH = "Failed to fetch http://one/Packages.xz  Hash Sum mismatch"
MISSING = "Failed to fetch http://one/libc6.deb  404  Not Found"
BOTH = ["trixie", "stable"]


@pytest.mark.parametrize(
    ("fails", "problem", "suite", "codename", "asked"),
    [
        ("update", STALE, "stable", "trixie", BOTH),
        ("update", HASH, "stable", "trixie", BOTH),
        ("install", MISSING, "stable", "trixie", BOTH),
        ("install", HASH, "stable", "trixie", BOTH),
        # no other suite and no other problem is taken for that, and a suite of one name has no other
        ("update", STALE, "stable", "forky", BOTH),
        ("update", "Could not resolve 'one'", "stable", "trixie", ["trixie"]),
        ("install", MISSING, "trixie", "trixie", ["trixie"]),
        ("install", "Unable to locate package bash\nE: more", "stable", "trixie", ["trixie"]),
    ],
)
def test_a_mirror_that_is_half_through_a_point_release_is_asked_for_the_other_name(
    debian, monkeypatch, tmp_path, fails, problem, suite, codename, asked
):
    names = []

    def fetch(argv, **options):
        if "indextargets" in argv:
            return "Debian trixie main http://one/\n"
        action = "update" if "update" in argv else "install"
        if action == "update":
            names.append((tmp_path / "sources.list").read_text().split()[-2])
        failed = action == fails and names[-1] == "trixie"
        if action == "update":
            place = tmp_path / "lists" / ("partial" if failed else "")
            (place / "one_InRelease").write_text(f"Origin: Debian\nSuite: {suite}\nCodename: {codename}\n")
        if failed:
            raise debian.LabError(f"'apt-get' failed: W: later\nE: {problem}")
        return ""

    monkeypatch.setattr(debian, "run", fetch)
    if asked == BOTH and codename == "trixie":
        assert debian.packages("trixie", "s390x", ["bash"], tmp_path) == []
    else:
        with pytest.raises(debian.LabError) as told:
            debian.packages("trixie", "s390x", ["bash"], tmp_path)
        said = problem.splitlines()[0]
        assert str(told.value) == f"The packages of Debian 'trixie' for s390x cannot be fetched: {said}"
    assert names == asked
