# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users build on: the lines of a tree, and which changes of them are breaks."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import evidence_samples
import pytest
import surface
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import exports
from packaging.version import Version

NOW = surface.surface()


@pytest.mark.parametrize(
    "line",
    [
        "modules rps state=restored",
        "modules leftovers",
        "default/modules rps every: 1",
        "default/variable rps_every: 1",
        'default/variable zpower_drift: "fail"',
        "return/modules rps tuning: list of dict",
        "modules tunings preflight: bool",
        "lookup captures",
        "role verify captures",
        "playbook site",
        "setting ZPOWER_TUNINGS_FORMAT",
        "record zpower.sap_tuning/report/1 verdict: string",
        "exit code 2",
        "file <change>/experiment.json",
    ],
)
def test_the_lines_of_this_checkout(line: str) -> None:
    assert line in NOW


@pytest.mark.parametrize(
    "name",
    [
        *(f"modules {name}" for name in ("rollout", "experiment", "calibrate", "measurement_check", "record_tunings")),
        *(f"modules tunings {name}" for name in ("defer", "records", "fail", "failing")),
        *(f"return/modules tunings {name}" for name in ("deferred", "later", "throttle")),
        *(f"modules rps {name}" for name in ("complete", "confirm_runs", "confirmed_state")),
        "modules sap_profile profiles left_to",
        "lookup sap_profiles",
    ],
)
def test_parts_of_the_roles_are_not_public(name: str) -> None:
    """Their documentation says so."""
    assert [line for line in NOW if re.match(rf"(default/)?{name}\b", line)] == []


def test_the_page_on_evidence_names_all_metrics_and_columns() -> None:
    metrics = set()
    for made in evidence_samples.SAMPLES.values():
        for metric, labels in re.findall(r"(?m)^(zpower_\w+)\{(.*)\} ", "".join(exports.prometheus(made()))):
            metrics |= {f"metric {metric} {label}" for label in re.findall(r'(\w+)="(?:[^"\\]|\\.)*"', labels)}
    assert {line for line in NOW if line.startswith("metric ")} == metrics
    assert {line for line in NOW if line.startswith("column ")} == {f"column {name}" for name in exports.HEADER}


def test_a_state_is_one_that_a_host_can_have() -> None:
    """It is neither a question nor a step. CONTRIBUTING.md says why `observe` is among them."""
    states = {line for line in NOW if " state=" in line and line.replace(" state=", " event=") not in NOW}
    assert {line.rpartition("=")[2] for line in states if line.startswith("modules ")} == {
        *("present", "off", "observe", "restored", "confirmed", "started", "stopped")
    }


@pytest.mark.parametrize(
    ("was", "now", "gone"),
    [
        ("variable rps_every: int", "variable rps_every: str", True),
        ("modules rps mode=all", "modules rps mode=any", True),
        ("modules rps name: str", "modules rps name: raw", False),
        ("modules rps name: int", "modules rps name: float", False),
        ("modules rps name: list of int", "modules rps name: list", False),
        ("modules rps name: list of str", "modules rps name: list of int", True),
        ("default/variable rps_every: 1", "default/variable rps_every: 2", True),
        ("return/modules rps tuning: dict", "return/modules rps tuning: raw", True),
        ("record zpower.sap_tuning/rollout/1 p: null|number", "record zpower.sap_tuning/rollout/1 p: number", False),
        ("record zpower.sap_tuning/rollout/1 p: number", "record zpower.sap_tuning/rollout/1 p: null|number", True),
    ],
)
def test_which_changes_are_breaks(was: str, now: str, gone: bool) -> None:
    assert (surface.missing({was}, {now, "playbook site"}) == {was}) is gone


def test_an_option_without_choices_takes_more_than_one_with_choices() -> None:
    was = {"modules rps mode: str", "modules rps mode=all"}
    assert surface.missing(was, {"modules rps mode: str"}) == set()
    assert surface.missing(was, {"modules rps mode: str", "modules rps mode=any"}) == {"modules rps mode=all"}
    assert surface.missing(was, set()) == was


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("modules rps mode=all", "rps - ``mode`` takes no ``all`` any more."),
        ("variable rps_every: int", "``rps_every`` is text."),
        ("default/modules rps every: 1", "rps - ``every`` is 2 by default."),
        ("record zpower.sap_tuning/rollout/1 plan guard pct: number", "rollout - ``pct`` can be null."),
        ("file /etc/x.conf", "The file ``/etc/x.conf`` has another place."),
    ],
)
def test_a_break_must_be_named_and_needs_a_major_version(line: str, named: str) -> None:
    one, two = Version("1.3.0"), Version("2.0.0")
    assert surface.problems({line}, ["something else", named], one, two) == []
    (unnamed,) = surface.problems({line}, ["something else"], one, two)
    assert unnamed.startswith("gone, and in no entry") and unnamed.endswith(line)
    (minor,) = surface.problems({line}, [named], one, Version("1.4.0"))
    assert minor.startswith("needs the version 2.0.0")
    assert surface.problems(set(), [], one, Version("1.3.1")) == []


def test_the_last_release_is_the_newest_tag_below_the_version(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    git("commit", "--allow-empty", "-m", "one")
    assert surface.last_release(tmp_path, "0.10.0") is None
    for tag in ("v0.9.0", "v0.10.0", "v0.2.0", "other"):
        git("tag", tag)
    assert surface.last_release(tmp_path, "0.10.0") == "v0.9.0"
    assert surface.last_release(tmp_path, "1.0.0") == "v0.10.0"
