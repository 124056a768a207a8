# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The imports of the unit tests, and one browser for all tests of a module."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
_spec = importlib.util.spec_from_file_location("unit_conftest", HERE.parent / "unit" / "conftest.py")
assert _spec and _spec.loader
_spec.loader.exec_module(importlib.util.module_from_spec(_spec))

from axe import AXE  # noqa: E402  (the path to it stands above)
from devtools import Browser, find_browser  # noqa: E402
from site_of_pages import Site, serving  # noqa: E402


@pytest.fixture(name="browser", scope="module")
def fixture_browser() -> Iterator[Browser]:
    path = find_browser()
    if path is None:
        pytest.skip("no chromium, chromium-browser or google-chrome on this machine")
    with Browser(path) as browser:
        yield browser


@pytest.fixture(name="site", scope="session")
def fixture_site() -> Iterator[Site]:
    with serving() as site:
        yield site


@pytest.fixture(name="axe", scope="module")
def fixture_axe() -> str:
    if AXE.is_file():
        return AXE.read_text(encoding="utf-8")
    pytest.skip(f"{AXE} is not there; tests/setup.sh all installs it")
