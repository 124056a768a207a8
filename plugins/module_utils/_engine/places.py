# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the journals of a host are."""

import os

# a checkpoint has a folder of this name and its own below the folder of journals
CHECKPOINT = "checkpoint-"
# the name of the checkpoint of values on probation
PROBATION = "probation"
# in the folder of a checkpoint: the time at which the host takes it back
LEASE = "lease.json"
# the folder of systemd's units, that of links to those which start at boot, and how the names of the collection's own
# units and of the services of probations begin there
UNITS = "/etc/systemd/system"
WANTS = UNITS + "/multi-user.target.wants"
OWN_UNIT = "zpower-sap-tuning-"
SERVICE = OWN_UNIT + "probation-"


def folder_of(system):
    """The folder of journals on this operating system (as platform.system() names it)."""
    return "/var/adm/zpower_sap_tuning" if system == "AIX" else "/var/lib/zpower_sap_tuning"


def journals(host, system):
    """{tuning: the paths of its journals} of all journals on this host, including those of checkpoints."""
    base, found = folder_of(system), {}
    for folder in [base] + host.glob(base, CHECKPOINT + "*"):
        for path in host.glob(folder, "*.json"):
            if os.path.basename(path) != LEASE:
                found.setdefault(os.path.basename(path)[: -len(".json")], []).append(path)
    return found
