# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The distribution of a Linux, see os-release(5)."""

import re


def distribution(host):
    """{id, version, name}; None without an os-release file."""
    text = host.read("/etc/os-release") or host.read("/usr/lib/os-release")
    return parse_os_release(text) if text else None


def parse_os_release(text):
    """{id, version, name} of an os-release file."""
    values = {}
    for line in text.splitlines():
        match = re.match(r"^([A-Z_]+)=([\"']?)(.*)\2$", line.strip())
        if match:
            values[match.group(1)] = match.group(3)
    return {"id": values.get("ID"), "version": values.get("VERSION_ID"), "name": values.get("PRETTY_NAME")}
