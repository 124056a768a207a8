# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of the tunings' roles are those of their modules' documentation; the call imports every tuning."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import generate  # noqa: E402  (it lies beside what uses it without pytest)


@pytest.mark.parametrize("role", generate.MODULE_OF)
def test_the_files_of_a_role_are_up_to_date(role: str) -> None:
    for path, text in generate.files(role):
        assert path.read_text("utf-8") == text, f"{path} differs from the module's documentation: run make generate"


@pytest.mark.parametrize("role", generate.TUNINGS)
def test_every_tuning_has_its_tables(role: str) -> None:
    found = [path.relative_to(generate.HERE).as_posix() for path, _text in generate.files(role)]
    files = [f"roles/{role}/{name}" for name in ("defaults/main.yml", "meta/argument_specs.yml")]
    assert found == [*files, f"docs/tunings/{role}.md"]
    assert (
        f"__{role}_result" in (generate.ROLES / role / "tasks" / "main.yml").read_text("utf-8") or role == "sap_profile"
    )


def test_the_actions_of_modules_are_up_to_date() -> None:
    assert generate.ROUTING.read_text("utf-8") == generate.routing(), "run make generate"


def test_the_call_imports_every_tuning() -> None:
    assert generate.CALL.read_text("utf-8") == generate.call(), "run make generate"


def test_markup_of_options_becomes_markdown_with_the_names_of_variables() -> None:
    text = "With O(state=restored), C(a|b) of O(cpus), V(x(y)z), O(other)."
    options = {"state": {}, "cpus": {}}
    assert (
        generate.as_markdown(text, "rps", options)
        == "With `rps_state: restored`, `a\\|b` of `rps_cpus`, `x(y)z`, `other`."
    )
