# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users of the last release build on is still there, or the changelog of the next one says that it is not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import generate  # noqa: E402  (they lie beside what uses them without pytest)
import surface  # noqa: E402

CHANGELOGS = generate.HERE / "changelogs"
SECTIONS = ("breaking_changes", "removed_features", "deprecated_features")
NOW = surface.surface(generate.HERE)


def texts_of_this_release() -> list[str]:
    """What the fragments that are in no release yet say of breaks."""
    releases = yaml.safe_load((CHANGELOGS / "changelog.yaml").read_text("utf-8"))["releases"].values()
    released = {name for release in releases for name in release.get("fragments", ())}
    fragments = [
        surface.of_yaml(path) for path in (CHANGELOGS / "fragments").glob("*.yml") if path.name not in released
    ]
    return [text for fragment in fragments for section in SECTIONS for text in fragment.get(section, ())]


def test_the_last_release_is_that_of_galaxy_yml() -> None:
    version, lines = surface.recorded()
    assert version == surface.version(), "run make generate"
    assert {"modules rps", "modules rps state=restored", "variable rps_every: int", "playbook site"} <= lines
    assert {"record zpower.sap_tuning/report/1 verdict: string", "lookup tunings"} <= lines


def test_what_is_gone_or_has_another_type_is_announced() -> None:
    texts = texts_of_this_release()
    gone = surface.missing(surface.recorded()[1], NOW)
    assert sorted(line for line in gone if not surface.announced(line, texts)) == [], (
        "name each in a fragment, below breaking_changes, removed_features or deprecated_features"
    )


@pytest.mark.parametrize(
    ("was", "now", "gone"),
    [
        ("variable rps_every: int", "variable rps_every: str", True),
        ("modules rps mode=all", "modules rps mode=any", True),
        ("modules rps name: str", "modules rps name: raw", False),
        (
            "record zpower.sap_tuning/rollout/1 pct: null|number",
            "record zpower.sap_tuning/rollout/1 pct: number",
            False,
        ),
        ("record zpower.sap_tuning/rollout/1 pct: number", "record zpower.sap_tuning/rollout/1 pct: null|number", True),
    ],
)
def test_which_changes_are_breaks(was: str, now: str, gone: bool) -> None:
    assert (surface.missing({was}, {now, "playbook site"}) == {was}) is gone


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("modules rps mode=all", "rps - ``mode`` takes no ``all`` any more."),
        ("variable rps_every: int", "``rps_every`` is text."),
        ("record zpower.sap_tuning/rollout/1 plan guard pct: number", "rollout - ``pct`` can be null."),
    ],
)
def test_which_words_announce_a_break(line: str, named: str) -> None:
    assert surface.announced(line, ["something else", named])
    assert not surface.announced(line, [named.replace("``rps_", "``smc_").replace("all", "any").replace("pct", "rate")])


@pytest.mark.parametrize("old", ["leftovers", "report", "workload"])
def test_a_module_is_there_under_its_old_name_too(old: str) -> None:
    assert f"modules {old}" in NOW


@pytest.mark.parametrize("module", ["before_after", "calibrate", "experiment", "rollout"])
def test_an_option_is_there_under_its_old_name_too(module: str) -> None:
    names = ("event: str", "event=planned", "state: str", "state=planned")
    assert {f"modules {module} {name}" for name in names} <= NOW


def test_a_state_is_one_that_a_host_can_have() -> None:
    """Neither a question nor a step. CONTRIBUTING.md says why `observe` is among them."""
    found: set[str] = set()
    for folder in ("modules", "doc_fragments"):
        for path in (generate.HERE / "plugins" / folder).glob("*.py"):
            found |= {*generate.documentation(path).get("options", {}).get("state", {}).get("choices", ())}
    assert found == {"present", "off", "observe", "restored", "confirmed", "started", "stopped"}
