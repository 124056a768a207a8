# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later

from ansible_collections.zpower.sap_tuning.plugins.lookup.progress import describe


def test_the_progress_counts_to_the_next_look() -> None:
    assert describe(0, 32, 0.0, 12) == "round 1 of at most 32"
    assert describe(2, 32, 60.0, 12) == "round 3 of at most 32, about 5 minutes to the next look"
    assert describe(30, 32, 60.0, 32) == "round 31 of 32, about 4 seconds left"
    assert describe(2, 12, 60.0) == "round 3 of 12, about 5 minutes left"
