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


def test_an_image_is_made_once(debian, make, made):
    first = debian.image("lpar", "recipe", make)
    assert debian.image("lpar", "recipe", make) == first
    assert len(made) == 1
    assert sorted(path.name for path in first.iterdir()) == ["vmlinuz"]


def test_another_recipe_makes_another_image_beside_it(debian, make, made):
    assert debian.image("lpar", "one", make) != debian.image("lpar", "two", make)
    assert len(made) == len(names(debian)) == 2


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


def test_a_machine_without_a_mirror_is_told(debian, monkeypatch):
    monkeypatch.setattr(debian, "run", lambda argv: "Debian trixie-security main http://two/\n")
    with pytest.raises(debian.LabError, match="names no Debian mirror"):
        debian.mirror()


def test_packages_that_cannot_be_had_are_one_sentence(debian, monkeypatch, tmp_path):
    def refuse(argv, **options):
        if "indextargets" in argv:
            return "Debian trixie main http://one/\n"
        raise debian.LabError("'apt-get' failed: W: later\nE: Unable to locate package bash\nE: more")

    monkeypatch.setattr(debian, "run", refuse)
    with pytest.raises(debian.LabError) as told:
        debian.packages("sid", "s390x", ["bash"], tmp_path)
    assert str(told.value) == (
        "The packages of Debian 'sid' for s390x cannot be fetched: Unable to locate package bash"
    )


def a_mirror(debian, monkeypatch, tmp_path, problem, codename="trixie"):
    """Programs that fetch from a mirror whose suite trixie has this problem; the names under which it was asked."""
    asked = []

    def fetch(argv, **options):
        if "indextargets" in argv:
            return "Debian trixie main http://one/\n"
        if "update" in argv:
            asked.append((tmp_path / "sources.list").read_text().split()[-2])
            place = tmp_path / "lists" / ("partial" if asked[-1] == "trixie" else "")
            (place / "one_InRelease").write_text(f"Origin: Debian\nSuite: stable\nCodename: {codename}\n")
            if asked[-1] == "trixie":
                raise debian.LabError(f"'apt-get' failed: E: {problem}")
        return ""

    monkeypatch.setattr(debian, "run", fetch)
    return asked


STALE = "File has unexpected size (1 != 2). Mirror sync in progress?"


@pytest.mark.parametrize("problem", [STALE, "Failed to fetch http://one/Packages.xz  Hash Sum mismatch"])
def test_a_mirror_that_is_half_through_a_point_release_is_asked_for_the_other_name(
    debian, monkeypatch, tmp_path, problem
):
    asked = a_mirror(debian, monkeypatch, tmp_path, problem)
    assert debian.packages("trixie", "s390x", ["bash"], tmp_path) == []
    assert asked == ["trixie", "stable"]


@pytest.mark.parametrize(
    ("problem", "codename", "asked"),
    [(STALE, "forky", ["trixie", "stable"]), ("Could not resolve 'one'", "trixie", ["trixie"])],
)
def test_no_other_suite_and_no_other_problem_is_taken_for_that(debian, monkeypatch, tmp_path, problem, codename, asked):
    names = a_mirror(debian, monkeypatch, tmp_path, problem, codename)
    with pytest.raises(debian.LabError, match=problem.replace("(", r"\(").replace(")", r"\)").replace("?", r"\?")):
        debian.packages("trixie", "s390x", ["bash"], tmp_path)
    assert names == asked


MISSING = "Failed to fetch http://one/libc6.deb  404  Not Found"
OTHER = "Failed to fetch http://one/libc6.deb  Hash Sum mismatch"


def without_packages(debian, monkeypatch, tmp_path, suite, problem=MISSING):
    """A mirror whose lists of trixie name a package that is not there; the names under which it was asked."""
    asked = []

    def fetch(argv, **options):
        if "indextargets" in argv:
            return "Debian trixie main http://one/\n"
        if "update" in argv:
            asked.append((tmp_path / "sources.list").read_text().split()[-2])
            release = f"Origin: Debian\nSuite: {suite}\nCodename: trixie\n"
            (tmp_path / "lists" / "one_InRelease").write_text(release)
        elif asked[-1] == "trixie":
            raise debian.LabError(f"'apt-get' failed: E: {problem}")
        return ""

    monkeypatch.setattr(debian, "run", fetch)
    return asked


@pytest.mark.parametrize("problem", [MISSING, OTHER])
def test_a_mirror_that_lacks_a_package_of_its_own_lists_is_asked_for_the_other_name(
    debian, monkeypatch, tmp_path, problem
):
    asked = without_packages(debian, monkeypatch, tmp_path, "stable", problem)
    assert debian.packages("trixie", "s390x", ["bash"], tmp_path) == []
    assert asked == ["trixie", "stable"]


def test_a_suite_of_one_name_has_no_other(debian, monkeypatch, tmp_path):
    asked = without_packages(debian, monkeypatch, tmp_path, "trixie")
    with pytest.raises(debian.LabError, match="404  Not Found"):
        debian.packages("trixie", "s390x", ["bash"], tmp_path)
    assert asked == ["trixie"]
