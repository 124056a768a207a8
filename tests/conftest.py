# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""For all tests: property tests use the same examples everywhere, and in CI a skipped test fails (allowed_skips.py).

Runs on Python 3.6 too.
"""

import fnmatch
import os

import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run, none stored, and no time limit: a failure is reproducible everywhere.
settings.register_profile(
    "repeatable", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "allowed_skips.py")


class Skips:
    """The allowed skips, and which of them happened. in_ci: whether any other skip is a failure."""

    def __init__(self, allowed, in_ci):
        self.allowed = allowed
        self.in_ci = in_ci
        self.idle = set()

    @staticmethod
    def _matches(text, pattern):
        # brackets around parameters are no special characters here
        return fnmatch.fnmatchcase(text, pattern.replace("[", "[[]"))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config, items):
        """Every entry names a test; this is known only if all tests of its file were collected."""
        if any("::" in argument for argument in config.args):
            return
        files = {item.nodeid.split("::")[0] for item in items}
        tests = {test for test, _said, _why in self.allowed if test.split("::")[0] in files}
        unknown = sorted(test for test in tests if not any(self._matches(item.nodeid, test) for item in items))
        if unknown:
            raise pytest.UsageError("allowed_skips.py: no test is called %s" % ", ".join(unknown))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        report = outcome.get_result()
        named = [test for test, _said, _why in self.allowed if self._matches(item.nodeid, test)]
        if report.when == "call" and report.passed:
            self.idle.update(named)
        self._judge(report)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector):
        outcome = yield
        self._judge(outcome.get_result())

    def _judge(self, report):
        """Turn a skip that is not allowed into a failure."""
        if not self.in_ci or not report.skipped or hasattr(report, "wasxfail"):
            return
        said = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        said = said[len("Skipped: ") :] if said.startswith("Skipped: ") else said
        if not any(
            self._matches(report.nodeid, test) and self._matches(said, words) for test, words, _reason in self.allowed
        ):
            report.outcome = "failed"
            report.longrepr = "skipped (%s), which in CI is a failure: tests/allowed_skips.py does not list it" % said

    def pytest_terminal_summary(self, terminalreporter):
        for test in sorted(self.idle):
            terminalreporter.write_line("allowed_skips.py: %s may be skipped, and was not" % test)


def pytest_configure(config):
    # not runpy: below ansible-test, Ansible's hook of paths takes each path of the collection for a folder
    names = {}
    with open(LIST, encoding="utf-8") as text:
        exec(compile(text.read(), LIST, "exec"), names)
    config.pluginmanager.register(Skips(names["ALLOWED"], os.environ.get("CI") == "true"), "skips")
