# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Neither verify nor check mode has changed anything."""


def test_nothing_was_touched(kernel, stored, remembered):
    assert kernel() == remembered["kernel"]
    assert stored == remembered["stored"]
