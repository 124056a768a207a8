# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.lease import seconds


@pytest.mark.parametrize(
    "value, expected", [(0, 0), (90, 90), ("90", 90), ("90s", 90), ("10m", 600), (" 2 h ", 7200), ("1d", 86400)]
)
def test_a_number_is_seconds_and_a_letter_is_the_unit(value, expected):
    assert seconds(value, "soak") == expected


@pytest.mark.parametrize("value", ["", "10 minutes", "-5", 1.5, True, None, [], "1h30m", "9" * 10])
def test_anything_else_is_refused_with_the_name_of_the_option(value):
    with pytest.raises(ValueError, match="^soak is .*; it must be seconds, or a duration such as 90s, 10m"):
        seconds(value, "soak")
