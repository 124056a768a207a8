# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a capture for facts: no file in it can stop the reading."""

from .._captures.host import CapturedHost
from .._captures.opening import open_capture
from .reading import Forgiving


def opened(path):
    """The capture at this path. Raises HostError if it cannot be opened."""
    return open_capture(path).again(ReadingCapture)


class ReadingCapture(Forgiving, CapturedHost):
    """The capture, for facts."""
