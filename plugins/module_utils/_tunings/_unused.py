# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tunings that were never used on a host: found by the names of files, without importing them."""

import os
import platform

from .._engine.places import CHECKPOINT, LEASE, OWN_UNIT, SERVICE, UNITS, WANTS, folder_of
from .._engine.records import NoKnobs, Recorder, nothing_to_take_back
from .._host.drop_ins import FOLDERS, PREFIX
from .._host.host import TEMPORARY, Host, HostError
from ._about import RESTART, SOURCES
from ._sap_limits import LIMITS

# part of the names of the files that sap_profile writes beside profiles
_LIMIT_FILE = "zpower-sap-tuning"
# what a tuning's module returns beside its records
_RESULTS = {"sap_profile": {"instances": []}}


def unused(names):
    """Those of these tunings of which this host has no file: no journal, no stored value, no temporary file.

    In doubt a tuning counts as used, so that its own code says what is wrong.
    """
    try:
        left = _left(Host())
    except HostError:
        return []
    return [name for name in names if name in SOURCES and name not in left]


def result(name):
    """The result of an unused tuning's module for state: restored."""
    subjects = [nothing_to_take_back()]
    recorder = Recorder(NoKnobs(name, SOURCES[name], RESTART.get(name, "none")), check_mode=False, restoring=True)
    return dict(recorder.result(subjects, subjects, {}), **_RESULTS.get(name, {}))


def _left(host):
    """The names of all tunings of which the host has files, and some other names. Raises HostError in doubt."""
    found = {_stem(name) for name in _journals(host)}
    for stem in [_stem(name) for folder in FOLDERS for name in _names(host, folder)]:
        if stem.startswith(PREFIX):
            found.add(stem[len(PREFIX) :].replace("-", "_"))
    for stem in [_stem(name) for folder in (UNITS, WANTS) for name in _names(host, folder)]:
        found.update(stem[len(start) :] for start in (SERVICE, OWN_UNIT) if stem.startswith(start))
    units = [os.path.join(UNITS, name) for name in _names(host, UNITS) if name.startswith("SAP")]
    if any(_LIMIT_FILE in name for folder in [LIMITS] + units for name in _names(host, folder)):
        found.add("sap_profile")
    return found


def _journals(host):
    """The names in the folders of journals."""
    base = folder_of(platform.system())
    names = _names(host, base)
    folders = [os.path.join(base, name) for name in names if name.startswith(CHECKPOINT)]
    inner = [_names(host, folder) for folder in folders]
    # any tuning removes a folder that a killed run left empty
    if not all(set(some) - {LEASE} for some in inner + ([names] if host.exists(base) else [])):
        raise HostError("%s has an empty folder" % base)
    return names + [name for some in inner for name in some]


def _names(host, folder):
    """The names in a folder of root; none if it is absent."""
    # a process with the rights of another user could not import the tunings any more: see Deputy
    if host.owner(folder) is not None:
        raise HostError("%s is under the control of another user" % folder)
    return host.listdir(folder)


def _stem(name):
    """The name of a file, or of the file that a temporary one was to replace, up to the first dot."""
    return (name[len(TEMPORARY) :] if name.startswith(TEMPORARY) else name).split(".")[0]
