# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether this is AIX, and its level."""

import contextlib
import functools
import platform
import re
from collections import namedtuple

from .._host.host import HostError

# text: as oslevel prints it, 7200-02-01-1731. release and technology: 7200 and 2, as numbers to compare.
AixLevel = namedtuple("AixLevel", "text release technology")

_LEVEL = re.compile(r"^[ \t]{,80}(([0-9]{4})-([0-9]{2})(?:-[0-9]{2}-[0-9]{4})?)[ \t\r]{,80}$", re.M)
# oslevel -s looks through all file sets
_TIMEOUT_S = 180


def is_aix():
    return platform.system() == "AIX"


def parse_level(out):
    """The AixLevel in the output of oslevel -s or -r, or None."""
    match = _LEVEL.search(out)
    return AixLevel(match.group(1), int(match.group(2)), int(match.group(3))) if match else None


@functools.lru_cache(maxsize=None)
def level(host):
    """The AixLevel of this AIX; None if unknown. If oslevel -s prints nothing, oslevel -r is used."""
    for option in ("-s", "-r"):
        with contextlib.suppress(HostError):
            result = host.run(["oslevel", option], timeout=_TIMEOUT_S)
            found = parse_level(result.out) if result.rc == 0 else None
            if found is not None:
                return found
    return None
