# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A neighbour that uses part of a CPU, for experiments in which nothing else changes.

    neighbour.py start | stop

It runs as long as its file exists, but at most two minutes after the last start. There is never more than one.
"""

import fcntl
import os
import sys
import time

FILE = "/run/zpower-evidence-neighbour"
SLICE_S, BUSY_S, MOST_S = 0.010, 0.007, 120


def wanted():
    try:
        return time.time() - os.stat(FILE).st_mtime < MOST_S
    except OSError:
        return False


def burn():
    while wanted():
        until = time.monotonic() + BUSY_S
        while time.monotonic() < until:
            pass
        time.sleep(SLICE_S - BUSY_S)


def start():
    sign = os.open(FILE, os.O_CREAT | os.O_WRONLY, 0o600)
    os.utime(FILE)
    try:
        fcntl.flock(sign, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return  # it runs already
    if os.fork():
        return
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    try:
        burn()
    finally:
        os._exit(0)


def stop():
    """Return after it has ended, which releases its lock."""
    if os.path.exists(FILE):
        sign = os.open(FILE, os.O_WRONLY)
        os.unlink(FILE)
        fcntl.flock(sign, fcntl.LOCK_EX)


if __name__ == "__main__":
    {"start": start, "stop": stop}[sys.argv[1]]()
