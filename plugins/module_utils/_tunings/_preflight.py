# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What would stop tunings on this host, found without writing anything.

A value that differs from the request is not a reason to stop.
"""

import os
import platform

from .._engine.journal import Journal
from .._engine.places import UNITS, folder_of
from .._engine.run import ORPHAN
from .._engine.tuning import InputError
from .._host.host import Host, HostError
from .._host.identities import too_open
from .._host.lock import Busy, Lock

SPACE = 1024 * 1024
INODES = 16
_IDLE = ("not_applicable", "unsupported")
_LONGEST = 300


def sentences(tunings, results):
    """The reasons not to begin, one sentence each.

    tunings: {name: (its class, its checked parameters)}; results: {name: the result of its call in check mode}.
    """
    host, folders, found = Host(), {}, []
    base = folder_of(platform.system())
    for name, (kind, params) in tunings.items():
        records = results[name].get("tuning", [])
        found += _busy(host, name, base)
        found += _checkpoint(host, name, params)
        found += [sentence for record in records for sentence in _conflicts(record)]
        # no later run without it would find the host as requested
        found += ["%s %s" % (name, record["reason"]) for record in records if ORPHAN in record["reason"]]
        if not records or any(record["verdict"] not in _IDLE for record in records):
            folders.update(dict.fromkeys([base] + _drop_in_folders(host, kind, params)))
            # the service that takes back values on probation
            if params["confirm_within"] and host.exists("/run/systemd/system"):
                folders[UNITS] = None
    return [_short(sentence) for sentence in _places(host, list(folders)) + found]


def _short(sentence):
    """The sentence as one line of a bounded length: it contains text from files of the host."""
    text = " ".join("".join(sign if sign.isprintable() else " " for sign in sentence).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


# another run, a checkpoint, another file


def _busy(host, name, base):
    path = os.path.join(base, name + ".lock")
    try:
        Lock(host, path).look()
    except Busy as error:
        owner = " (%s)" % error.owner if error.owner else ""
        return ["%s: another run%s is changing this tuning now; it holds %s" % (name, owner, path)]
    except HostError as error:
        return ["%s: %s" % (name, error)]
    return []


def _checkpoint(host, name, params):
    try:
        sentence = Journal(host, name, checkpoint=params["checkpoint"]).blocking_checkpoint()
    except (InputError, HostError):
        return []  # the tuning itself failed for it
    return [sentence] if sentence else []


def _conflicts(record):
    """The other settings that replace the stored value at boot; one that sets the same value does no harm."""
    found = []
    for other in record["conflicts"]:
        place = "%s line %s" % (other["file"], other["line"])
        if other["wins"] == "yes" and "at the next boot %s sets " % place in record["reason"]:
            title = "%s %s" % (record["name"], record["subject"])
            found.append("%s: %s wins over the stored value at the next boot (%s)" % (title, place, other["what"]))
    return found


# the places to which the tunings write


def _drop_in_folders(host, kind, params):
    try:
        drop_ins = kind(host, params).drop_ins
    except (InputError, HostError):
        return []
    return [os.path.dirname(drop_in.path) for drop_in in drop_ins if drop_in.usable()]


def _places(host, folders):
    """One sentence per problem, with all folders that have it."""
    found = {}
    for folder in folders:
        problem = _problem(host, folder)
        if problem:
            found.setdefault(problem, []).append(folder)
    return ["%s: %s" % (", ".join(names), problem) for problem, names in found.items()]


def _problem(host, folder):
    """Why nothing can be written to a folder, or to the nearest one that exists above it; empty if it can."""
    at = host.path(folder)
    while not os.path.lexists(at):
        at = os.path.dirname(at)
    return _of_folder(host, folder, at) or _of_file_system(at)


def _of_folder(host, folder, at):
    way = host.way(folder)
    if way.owner is not None:
        return "the folder is under the control of the user with id %d; it must belong to root" % way.owner
    if way.loose is not None:
        return too_open(_shown(host, way.loose))
    return "" if os.path.isdir(at) else "%s is not a folder" % _shown(host, at)


def _of_file_system(at):
    try:
        system = os.statvfs(at)
    except OSError as error:
        return "its file system cannot be read (%s)" % os.strerror(error.errno)
    if system.f_flag & getattr(os, "ST_RDONLY", 1):
        return "the file system is read-only"
    if not os.access(at, os.W_OK | os.X_OK):
        return "this process may not write there; tuning needs root"
    free = system.f_bavail * system.f_frsize
    if free < SPACE:
        return "the file system has %d KiB left; make room for at least %d KiB" % (free // 1024, SPACE // 1024)
    # file systems without a table of inodes say 0
    if system.f_files and system.f_favail < INODES:
        return "the file system has %d inodes left; at least %d are needed" % (system.f_favail, INODES)
    return ""


def _shown(host, path):
    """The path on the Host's machine for one of this machine."""
    root = os.path.normpath(host.root)
    return path if root == "/" else "/" + os.path.relpath(path, root)
