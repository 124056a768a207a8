# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where this collection keeps files on a host: journals, drop-in files, units, and lines in files of others."""

import fnmatch
import os

from .._host.drop_ins import FOLDERS, PREFIX
from .._host.host import TEMPORARY

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
# (folder, pattern of names, tuning) of files whose names do not tell the tuning; a folder's name may be a pattern too
_FILES = (
    ("/etc/security/limits.d", "zpower-sap-tuning-*adm.conf", "sap_profile"),
    ("/etc/systemd/system/SAP*.service.d", "zpower-sap-tuning.conf", "sap_profile"),
    ("/etc/security/limits.d", "zz-zpower-sap-tuning-*.conf", "system_base"),
    ("/etc/systemd/system/SAP*.service.d", "zz-zpower-sap-tuning-*.conf", "system_base"),
)
# the same for files of others in which a tuning replaces a line, or which it restores
_REPLACED = (
    ("/etc", "fstab", "system_base"),
    ("/etc/tunables", "nextboot", "aix_tunables"),
    ("/etc/tunables", "nextliveupdate", "aix_tunables"),
    ("/etc/udev/rules.d", "41-qeth-*.rules", "qeth"),
)
# {tuning: the program of its service, beside the journals}
PROGRAMS = {"smc": "smc.pyz"}


def folder_of(system):
    """The folder of journals on this operating system (as platform.system() names it)."""
    return "/var/adm/zpower_sap_tuning" if system == "AIX" else "/var/lib/zpower_sap_tuning"


def journals(host, system):
    """{tuning: the paths of its journals} of all journals on this host, including those of checkpoints."""
    base, found = folder_of(system), {}
    for folder in [base] + host.glob(base, CHECKPOINT + "*"):
        for path in host.glob(folder, "*.json"):
            # the name of a checkpoint may end like that of a file
            if os.path.basename(path) != LEASE and not os.path.basename(path).startswith(CHECKPOINT):
                found.setdefault(os.path.basename(path)[: -len(".json")], []).append(path)
    return found


def own_files(host, killed=False):
    """{tuning: paths} of the files outside of the folder of journals.

    killed: of the temporary files that killed runs have left beside them.
    """
    found = {}
    for folder, pattern, tuning in _patterns(host) + (list(_REPLACED) if killed else []):
        for path in host.glob(folder, "%s%s.*" % (TEMPORARY, pattern) if killed else pattern):
            found.setdefault(tuning or _tuning_of(stem(os.path.basename(path))), []).append(path)
    return found


def folders(host):
    """The folders of these files; before a folder whose name is a pattern, the one above it."""
    yield from (os.path.dirname(folder) for folder, _pattern, _tuning in _FILES if "*" in folder)
    yield from (folder for folder, _pattern, _tuning in _patterns(host) + list(_REPLACED))


def named(path):
    """Whether the name of a file, not its marks, tells that it is one of this collection."""
    folder, name = os.path.split(path)
    return folder in FOLDERS or any(fnmatch.fnmatchcase(name, pattern) for _folder, pattern, _tuning in _FILES)


def stem(name):
    """The name of a file, or of the file that a temporary one was to replace, up to the first dot."""
    return (name[len(TEMPORARY) :] if name.startswith(TEMPORARY) else name).split(".")[0]


def _patterns(host):
    """[(folder, pattern of names, tuning, or None if the name tells it)]."""
    found = [(folder, PREFIX + "*", None) for folder in FOLDERS]
    found += [(folder, OWN_UNIT + "*.service", None) for folder in (UNITS, WANTS)]
    for folder, pattern, tuning in _FILES:
        top, name = os.path.split(folder)
        found += [(one, pattern, tuning) for one in (host.glob(top, name) if "*" in name else [folder])]
    return found


def _tuning_of(name):
    start = next(start for start in (PREFIX, SERVICE, OWN_UNIT) if name.startswith(start))
    return name[len(start) :].replace("-", "_")
