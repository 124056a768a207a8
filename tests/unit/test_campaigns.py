# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The campaigns and the demo find a planted fault, and count nothing else as a fault."""

import errno
import importlib.util
import os
import sys
from pathlib import Path

import cases
import injection
import processes
import pytest
import story as demo
import trees

TESTS = Path(__file__).parents[1]


def loaded(path):
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_run", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


evidence = loaded(TESTS / "evidence" / "run.py")


# these two import most of the collection
@pytest.fixture(scope="module", name="faults")
def fixture_faults():
    return loaded(TESTS / "faults" / "run.py")


@pytest.fixture(scope="module", name="fuzz")
def fixture_fuzz():
    return loaded(TESTS / "fuzz" / "run.py")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "empty").mkdir(mode=0o755)
    return tmp_path


def run(folder, plan):
    """Replace a file as a module does, remove a folder, and go on after a refusal."""

    def replace():
        injection.install()
        refused = []
        for step in (
            lambda: (folder / "new").write_bytes(b"12345678"),
            lambda: os.rename(folder / "new", folder / "old"),
            lambda: os.rmdir(folder / "empty"),
        ):
            try:
                step()
            except OSError as error:
                refused.append(error.errno)
        return {"refused": refused}

    return processes.run(replace, plan)


def test_a_run_is_killed_in_any_of_its_calls(folder):
    plan = injection.Plan()
    assert not run(folder, plan).failed and not run(folder, injection.Plan(1, elsewhere=True)).failed
    assert [call.split()[0] for call in plan.calls()] == ["open", "write", "rename", "rmdir"]
    (folder / "old").unlink()
    for at, left in ((1, {"empty"}), (2, {"empty", "new"}), (3, {"empty", "new"}), (4, {"empty", "old"})):
        (folder / "empty").mkdir(exist_ok=True)
        assert run(folder, injection.Plan(at)).killed
        assert set(os.listdir(folder)) == left
        if at == 2:
            assert (folder / "new").read_bytes() == b"1234"


@pytest.mark.parametrize("lasting, refused", [(False, 1), (True, 2)])
def test_an_error_occurs_once_or_from_then_on(folder, lasting, refused):
    outcome = run(folder, injection.Plan(3, errno.EROFS, lasting))
    assert outcome.result == {"refused": [errno.EROFS] * refused}


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda path: path.chmod(0o600), "is ('0o100600'"),
        (lambda path: path.write_text("b"), "b'b'"),
        (lambda path: path.unlink(), "lost /file"),
        (lambda path: path.with_name("more").mkdir(), "left /more"),
        (lambda path: path.with_name("empty").rmdir(), "lost /empty"),
    ],
)
def test_every_difference_of_a_tree_is_seen(folder, change, words):
    path = folder / "file"
    path.write_text("a")
    path.chmod(0o644)
    before = trees.state(folder)
    assert trees.difference(before, trees.state(folder)) == ""
    change(path)
    assert words in trees.difference(before, trees.state(folder))


def raising(error):
    def run(_chance, _folder):
        raise error

    return run


def forever(_chance, _folder):
    while True:
        pass


def much(_chance, _folder):
    return bytearray(2 * sys.modules["fuzz_run"].MEMORY)


@pytest.mark.gate
@pytest.mark.parametrize(
    "run, words",
    [
        (raising(ValueError("allowed")), ""),
        (lambda chance, _folder: chance.random(), ""),
        (raising(KeyError("x")), "KeyError: \"'x'\""),
        (forever, "took more than 0.2 s"),
        (much, "MemoryError"),
        (lambda *_: os._exit(3), "ended the process"),
    ],
)
def test_what_an_input_must_not_do(monkeypatch, fuzz, run, words):
    monkeypatch.setattr(fuzz, "SECONDS", 0.2)
    monkeypatch.setattr(fuzz, "TARGETS", [fuzz.Target("one", "parsers", 1, run, (ValueError,))])
    _name, tried, found = fuzz.chunk(("one", [0, 1], 7))
    assert tried == 2 and all(words in failure.what for failure in found)
    assert [failure.number for failure in found] == ([0, 1] if words else [])


BUSY = "the idle client was 46.1 % busy before the change and 3.2 % after: "
FLAGGED = {"flags": [f"{BUSY}the change alone does not explain a difference in CPU cost."]}
CHANGED = {
    "metric": "cpu_us_per_unit_client",
    "ratio": 1.4,
    "flag": "the CPU time of one round trip changed by -28.6 %.",
}
DOUBTED = {**CHANGED, "flag": "it changed by -28.6 %, which is not credited: other work changed as well."}


@pytest.mark.parametrize(
    "case, verdict, comparison, right",
    [
        ("slower", "REGRESSED", {}, True),
        ("faster", "NO DATA", {}, False),
        ("neighbour", "INCONCLUSIVE", FLAGGED, True),
        ("neighbour", "INCONCLUSIVE", {}, False),
        ("neighbour", "UNCHANGED", {**FLAGGED, "secondary": [DOUBTED]}, True),
        ("neighbour", "UNCHANGED", {**FLAGGED, "secondary": [CHANGED]}, False),
    ],
)
def test_which_verdicts_are_right(case, verdict, comparison, right):
    empty = {"verdict": verdict, "warnings": False, "flags": [], "guards": [], "secondary": []}
    control = {**empty, "control": True, "verdict": "REGRESSED"}
    report = {"verdict": verdict, "comparisons": [control, {**empty, "control": False, **comparison}]}
    (chosen,) = (one for one in cases.CASES if one.name == case)
    assert chosen.good(report) is right


FOUND = {"app1": ["rps_cpus:0", "abc  /etc/udev/rules.d/x"], "app2": ["rps_cpus:0"]}
REPORT = {"experiment": {"progress": {"complete": True}}}


@pytest.mark.parametrize(
    "first, last, told",
    [
        (FOUND, {**FOUND, "app2": ["rps_cpus:3"]}, "NOT as they were: app2 rps_cpus:0; app2 rps_cpus:3"),
        (FOUND, {"app1": FOUND["app1"]}, "NOT as they were: app2 rps_cpus:0"),
        (FOUND, {**FOUND, "app1": [*FOUND["app1"], "d  /y"]}, "NOT as they were: app1 d  /y"),
        ({"app1": []}, {"app1": []}, "nothing could be read"),
    ],
)
def test_a_host_that_is_not_restored_fails_the_demo(first, last, told):
    assert demo.as_found(first, last).startswith(told)
    assert demo.problems(REPORT, first, last) == ["the hosts are not as they were"]
