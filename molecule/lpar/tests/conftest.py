# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures that read the CPUs from the kernels of the LPARs."""

import time

import pytest

READ = (
    "cd /sys/devices/system/cpu && grep . dispatching online cpu[0-9]*/configure cpu[0-9]*/polarization && "
    "{ grep -rs . hiperdispatch /proc/sys/s390; true; }"
)


@pytest.fixture
def kernel(host):
    """Return a function that reads {file below /sys/devices/system/cpu: text} once each configured CPU is polarized."""

    def read():
        until = time.monotonic() + 300
        while True:
            found = dict(line.split(":", 1) for line in host.check_output(READ).splitlines())
            configured = [path.split("/")[0] for path in found if path.endswith("/configure") and found[path] == "1"]
            if all(found[f"{cpu}/polarization"] != "unknown" for cpu in configured) or time.monotonic() > until:
                return found

    return read


@pytest.fixture
def told(told, name, verdicts):
    """Return a function that runs a playbook once for all LPARs: status, text, and verdicts and changed tasks of this
    one.
    """

    def run(*arguments):
        status, text, changed = told(*arguments)
        found = {tuning: verdict for (tuning, _subject), verdict in verdicts(text).items()}
        return status, text, found, changed[name]

    return run
