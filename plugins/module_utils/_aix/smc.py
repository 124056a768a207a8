# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SMC-R of AIX: its devices, and the attributes that enable it."""

import re

ENABLED, ADDRESSES, PORTS = "enabled", "ip_addr_list", "port_range"
_DEVICES = re.compile(r"^smcr[0-9]+\Z")


def is_device(name):
    return _DEVICES.match(name) is not None


def empty_lists(values):
    """The lists that are empty although SMC-R is on, so that AIX does not use it; values: {attribute: text or None}."""
    return [item for item in (ADDRESSES, PORTS) if values[ENABLED] != "0" and values[item] == ""]
