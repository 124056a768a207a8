# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Python says of itself on a host of the AIX stand-in, read at every start of its /opt/freeware/bin/python3.

The interpreter stays the Linux one that it is, with the names of the system that programs ask for, and without calls
that Python on AIX does not have.
"""

import json
import os
import sys

with open("/var/standin/aix/state.json") as stream:
    STATE = json.load(stream)

ABSENT = ("listxattr", "getxattr", "setxattr", "removexattr", "sched_getaffinity", "sched_setaffinity")

for call in ABSENT:
    delattr(os, call)
# AIX 7.2 is version 7, release 2
NAMES = ("AIX", STATE["host"], STATE["oslevel"][1], STATE["oslevel"][0], "00F6A1C24C00")
os.uname = lambda: os.uname_result(NAMES)
sys.platform = "aix"
sys.executable = "/opt/freeware/bin/python3"
