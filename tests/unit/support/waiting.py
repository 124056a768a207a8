# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wait for another process or thread: for a condition, never "long enough"."""

import time


def until(condition, what, limit=60):
    """Return the first true value of condition(); raise AssertionError naming `what` after `limit` seconds."""
    deadline = time.monotonic() + limit
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError("after %s s still not true: %s" % (limit, what))
        time.sleep(0.02)
