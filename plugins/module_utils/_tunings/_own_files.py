# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of all tunings on a host, outside of the folder of journals, by their names: no tuning is imported."""

import os

from .._engine.places import OWN_UNIT, SERVICE, UNITS, WANTS
from .._host.drop_ins import FOLDERS, PREFIX
from .._host.host import TEMPORARY
from ._about import FILES, REPLACED


def own_files(host, killed=False):
    """{tuning: paths} of the files; killed: of the temporary ones that killed runs have left beside them."""
    found = {}
    for folder, pattern, tuning in _patterns(host) + (list(REPLACED) if killed else []):
        for path in host.glob(folder, "%s%s.*" % (TEMPORARY, pattern) if killed else pattern):
            found.setdefault(tuning or _tuning_of(stem(os.path.basename(path))), []).append(path)
    return found


def folders(host):
    """The folders in which they are."""
    return [folder for folder, _pattern, _tuning in _patterns(host) + list(REPLACED)]


def stem(name):
    """The name of a file, or of the file that a temporary one was to replace, up to the first dot."""
    return (name[len(TEMPORARY) :] if name.startswith(TEMPORARY) else name).split(".")[0]


def _patterns(host):
    """[(folder, pattern of names, tuning, or None if the name tells it)]."""
    found = [(folder, PREFIX + "*", None) for folder in FOLDERS]
    found += [(folder, OWN_UNIT + "*.service", None) for folder in (UNITS, WANTS)]
    for folder, pattern, tuning in FILES:
        top, name = os.path.split(folder)
        found += [(one, pattern, tuning) for one in (host.glob(top, name) if "*" in name else [folder])]
    return found


def _tuning_of(name):
    start = next(start for start in (PREFIX, SERVICE, OWN_UNIT) if name.startswith(start))
    return name[len(start) :].replace("-", "_")
