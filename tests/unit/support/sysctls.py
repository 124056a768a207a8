# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tunings that are only a table of sysctls, and a request for each, so that every new one is tested."""

import os

from ansible_collections.zpower.sap_tuning.plugins.module_utils import _tunings
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._sysctls import SysctlTuning
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._system import sysctl_path
from ansible_collections.zpower.sap_tuning.plugins.modules import tunings

FILES = [name for folder in _tunings.__path__ for name in os.listdir(folder)]
ALL = sorted(name[:-3] for name in FILES if name.endswith(".py") and not name.startswith("_"))
KINDS = [tunings.tuning_class(name) for name in ALL]
TABLES = [kind for kind in KINDS if issubclass(kind, SysctlTuning) and "settings" in kind.options]


def first_value(kind, name):
    """Return the value that a test host has: the kernel's default if the tuning knows it, otherwise the highest."""
    return kind.defaults.get("%s.%s" % (kind.subject, name), str(kind.table[name][1]))


def fill(host, kind):
    """Give the host the sysctls of a tuning; existing ones keep their values."""
    for name in kind.table:
        path = sysctl_path("%s.%s" % (kind.subject, name))
        if not host.exists(path):
            host.fill(path, first_value(kind, name))


def request(kind):
    return {"settings": {name: lowest for name, (lowest, _highest) in kind.table.items()}}
