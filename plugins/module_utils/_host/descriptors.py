# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The flag for opening files without following links; close inherited files."""

import os

# Refuses a link. On a system without this flag, only the rights of the folder's owner protect.
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FALLBACK_DESCRIPTORS = 4096


def close_others(keep):
    """Close every descriptor above 2 that is not in keep."""
    for folder in ("/proc/self/fd", "/dev/fd"):
        try:
            numbers = [int(name) for name in os.listdir(folder)]
            break
        except (OSError, ValueError):
            continue
    else:
        numbers = range(3, _FALLBACK_DESCRIPTORS)
    for number in numbers:
        if number > 2 and number not in keep:
            try:
                os.close(number)
            except OSError:
                continue  # the descriptor of the listing itself


def keep_only(descriptors):
    """Close all other files of this process, so that nobody who reads the module's output waits for it."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    close_others(descriptors)
