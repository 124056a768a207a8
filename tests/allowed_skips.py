# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tests that may be skipped in CI: (test, reason that pytest prints, why it may be skipped).

``*`` matches any text. Conditions in this file limit an entry to the environments where it is valid.
"""

import sys

UNIT = "tests/unit/plugins/"

ALLOWED = []

if sys.version_info < (3, 10):
    ALLOWED += [
        (UNIT + "modules/" + test, "could not import 'yaml'*", "targets have the standard library only")
        for test in (
            "test_platform_modules.py::test_everything_returned_is_documented_and_the_other_way_round",
            "test_sap_profile_module.py::test_the_presets_are_those_that_the_target_knows",
            "test_smc_modules.py::test_every_sysctl_is_documented",
            "test_system_base_module.py::test_every_value_is_documented",
        )
    ]
