# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""For all tests: the examples of property tests, and skipped tests that fail in CI. Runs on Python 3.6 too."""

import os

import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run, not stored and without a time limit, so that a failure is reproducible everywhere. A
# run in random order (SHUFFLE, see noxfile.py) also has random examples and prints the number that repeats both.
settings.register_profile(
    "zpower",
    derandomize="SHUFFLE" not in os.environ,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("zpower")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    outcome = yield
    if item.get_closest_marker("may_skip") is None:
        _fail_in_ci(outcome.get_result())


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report():
    outcome = yield
    _fail_in_ci(outcome.get_result())


def _fail_in_ci(report):
    """Turn a skipped test into a failed one."""
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = "in CI, a test without the marker may_skip must not be skipped: %s" % (report.longrepr,)
