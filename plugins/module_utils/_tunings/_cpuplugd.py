# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""cpuplugd of s390-tools, which takes CPUs offline and online by its own rules."""

import re

from .._machine.other_settings import conflict, lines_with
from .._machine.services import services

CONFIGURATION = "/etc/cpuplugd.conf"
# this and later versions leave vertical CPUs alone (s390-tools CHANGELOG.md)
LEAVES_VERTICAL_ALONE = (2, 35)
_RULES = re.compile(r"^HOT(?:UN)?PLUG\s*=")


def hotplug_conflicts(host, effect, since=None):
    """conflict() of each of its rules for CPUs, if it is enabled or running and older than the version since."""
    service = next((one for one in services(host) if one["service"] == "cpuplugd"), None)
    if service is None:
        return []
    numbers = re.findall(r"\d+", service["version"] or "")
    if since is not None and numbers and tuple(int(part) for part in numbers[:2]) >= since:
        return []
    what = "cpuplugd %s" % (service["version"] or "of unknown version")
    return [conflict(what, line, "possible", effect=effect) for line in lines_with(host, CONFIGURATION, _RULES)]
