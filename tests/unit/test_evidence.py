# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `make evidence` counts as right, and that it counts."""

import contextlib
import copy
import importlib.util
import subprocess
import sys
import time
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "evidence"


def loaded(name):
    """A file of tests/evidence as a module."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


cases = loaded("cases")
run = loaded("run")
BY_NAME = {case.name: case for case in cases.CASES}
COMPARISON = {"control": False, "verdict": "UNCHANGED", "warnings": False, "flags": [], "guards": [], "secondary": []}
STEADY = "the client was 46 % busy with other work before the change."
IDLE = "the idle client was 46.1 % busy before the change and 3.2 % after: "
BUSY = IDLE + "the change alone does not explain a difference in CPU cost."
CHANGED = "the CPU time of one round trip changed by -28.6 % (p = 0.01 after Holm's correction)"
CHEAPER = {"metric": "cpu_us_per_unit_client", "ratio": 1.4, "flag": CHANGED + "."}
DOUBTED = {**CHEAPER, "flag": CHANGED + ", which is not credited: other work changed as well."}


def report(verdict, **comparison):
    control = {**COMPARISON, "control": True, "verdict": "REGRESSED"}
    return {"verdict": verdict, "comparisons": [control, {**COMPARISON, "verdict": verdict, **comparison}]}


def test_the_states_take_turns():
    assert cases.order(3) == [
        ("before", 1),
        ("after", 1),
        ("after", 2),
        ("before", 2),
        ("before", 3),
        ("after", 3),
    ]
    assert [phase for phase, _number in cases.order(6)].count("before") == 6


@pytest.mark.parametrize(
    "name, right",
    [("aa", {"UNCHANGED", "INCONCLUSIVE"}), ("slower", {"REGRESSED"}), ("faster", {"IMPROVED"})],
)
def test_which_verdicts_are_right(name, right):
    verdicts = ["UNCHANGED", "INCONCLUSIVE", "REGRESSED", "IMPROVED", "NOT COMPARABLE", "NO DATA"]
    assert {verdict for verdict in verdicts if BY_NAME[name].good(report(verdict))} == right


@pytest.mark.parametrize(
    "verdict, comparison, right",
    [
        ("INCONCLUSIVE", {"flags": [BUSY]}, True),
        ("INCONCLUSIVE", {"flags": [STEADY]}, False),
        ("IMPROVED", {"flags": [BUSY]}, False),
        ("IMPROVED", {"warnings": True, "flags": [BUSY], "guards": [IDLE + "this may explain an improvement."]}, True),
        ("UNCHANGED", {"flags": [BUSY], "secondary": [CHEAPER]}, False),
        ("UNCHANGED", {"flags": [BUSY], "secondary": [DOUBTED]}, True),
        ("UNCHANGED", {"secondary": [DOUBTED]}, False),
        ("UNCHANGED", {"flags": [BUSY], "secondary": [{**CHEAPER, "ratio": 0.7}]}, True),
        ("UNCHANGED", {"flags": [BUSY], "secondary": [{**CHEAPER, "flag": None, "ratio": None}]}, True),
    ],
)
def test_a_neighbour_is_flagged_and_not_credited(verdict, comparison, right):
    assert BY_NAME["neighbour"].good(report(verdict, **copy.deepcopy(comparison))) is right


def test_the_words_are_those_of_the_report():
    text = (FOLDER.parents[1] / "plugins" / "plugin_utils" / "_compare" / "cpu_cost.py").read_text(encoding="utf-8")
    assert cases.NOT_ALONE in text and cases.NOT_CREDITED in text


def test_the_states_of_a_true_change_are_ten_percent_apart():
    for shaper in cases.SHAPERS:
        slower, faster = (BY_NAME[name].states(shaper) for name in ("slower", "faster"))
        assert (slower["before"], slower["after"]) == (
            faster["after"],
            faster["before"],
        ) and shaper.short != shaper.long
    rates = [int(command[command.index("rate") + 1][: -len("kbit")]) for command in cases.TBF[1:]]
    assert rates[0] / rates[1] == pytest.approx(1.1, abs=0.001)


def outcome(good, verdict="UNCHANGED"):
    return {"good": good, "verdict": verdict}


def test_how_often_a_case_may_be_wrong():
    assert run.enough({"aa": [outcome(True)] * 19 + [outcome(False)]})
    assert not run.enough({"aa": [outcome(True)] * 18 + [outcome(False)] * 2})
    assert run.enough({"slower": [outcome(True)] * 9 + [outcome(False)], "neighbour": [outcome(True)] * 10})
    assert not run.enough({"neighbour": [outcome(True)] * 9 + [outcome(False)]})


def test_the_table():
    lines = run.table({"aa": [outcome(True), outcome(False, "IMPROVED"), outcome(True)]})
    assert lines[2:] == ["| nothing is changed | 3 | 2 UNCHANGED, 1 IMPROVED | UNCHANGED or INCONCLUSIVE | 2 |"]


def test_which_experiments_and_how_many():
    assert {case.name: case.repeats for case in run.wanted([])} == {
        "aa": 20,
        "slower": 10,
        "faster": 10,
        "neighbour": 10,
    }
    assert [(case.name, case.repeats) for case in run.wanted(["aa=2", "slower"])] == [("aa", 2), ("slower", 10)]
    with pytest.raises(SystemExit, match="nobody is no case; there are aa, slower"):
        run.wanted(["nobody"])


def test_the_neighbour_works_until_it_is_told(tmp_path):
    text = (FOLDER / "neighbour.py").read_text(encoding="utf-8")
    there = "/run/zpower-evidence-neighbour"
    assert there in text
    sign, script = tmp_path / "sign", tmp_path / "neighbour.py"
    script.write_text(text.replace(there, str(sign)), encoding="utf-8")
    for _twice in range(2):
        subprocess.run([sys.executable, script, "start"], check=True, timeout=60)
    try:
        assert sign.exists() and eventually(lambda: working(script) == 1)
    finally:
        subprocess.run([sys.executable, script, "stop"], check=True, timeout=60)
    assert not sign.exists() and eventually(lambda: working(script) == 0)


def eventually(true):
    """Whether it becomes true within a minute."""
    end = time.monotonic() + 60
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def working(script):
    """How many processes run a script."""
    count = 0
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            count += str(script) in path.read_text(encoding="utf-8", errors="replace")
    return count
