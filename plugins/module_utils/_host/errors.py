# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The error of all functions that work on the machine."""

import os


class HostError(Exception):
    """A request that the machine refused, as one sentence for the user; errno if the kernel gave one."""

    def __init__(self, message, number=None):
        super().__init__(message)
        self.errno = number


def refused(what, error):
    """The HostError for an OSError; what: the action that failed, to which the system's reason is added."""
    return HostError("%s: %s" % (what, os.strerror(error.errno)), error.errno)
