# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tunings that were never used on a host: found by the names of files, without importing them."""

import os
import platform
from importlib import util

from .._engine.places import CHECKPOINT, LEASE, folder_of, folders, own_files, stem
from .._host.host import Host, HostError


def unused(names):
    """Return those of these tunings that have no file on this host: no journal, no stored value, no temporary file.

    In doubt a tuning counts as used, so that its own code says what is wrong.
    """
    try:
        left = _left(Host())
    except HostError:
        return []
    # an unknown name is a mistake, which the module finds when it imports the tuning
    known = [name for name in names if name.isidentifier() and util.find_spec("%s.%s" % (__package__, name))]
    return [name for name in known if name not in left]


def _left(host):
    """Return the names of all tunings with files on the host, and some other names. Raises HostError in doubt."""
    found = {stem(name) for name in _journals(host)}
    for folder in folders(host):
        _check(host, folder)
    return found | set(own_files(host)) | set(own_files(host, killed=True))


def _journals(host):
    """The names in the folders of journals."""
    base = folder_of(platform.system())
    names = _names(host, base)
    inner = [_names(host, os.path.join(base, name)) for name in names if name.startswith(CHECKPOINT)]
    # any tuning removes a folder that a killed run left empty
    if not all(set(some) - {LEASE} for some in inner + ([names] if host.exists(base) else [])):
        raise HostError("%s has an empty folder" % base)
    return names + [name for some in inner for name in some]


def _names(host, folder):
    """The names in a folder of root; none if it is absent."""
    _check(host, folder)
    return host.listdir(folder)


def _check(host, folder):
    # a process with the rights of another user could not import the tunings any more: see Deputy
    if host.owner(folder) is not None:
        raise HostError("%s is under the control of another user" % folder)
