# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replace a profile completely or not at all, safe against other writers, also on other hosts that share it."""

import contextlib
import errno
import os
import re
import socket
from collections import Counter

from .._engine.tuning import explained
from .._host.host import TEMPORARY, HostError
from .._host.identities import Identity, too_open, uid_of
from .._host.lock import Busy, Lock
from .sapcontrol import NOT_READ, SapPfPar

# no SAP program takes a name with a dot for a profile
LOCK = ".zpower-sap_profile.lock"
_PATIENCE = 10.0
# the wait for the lock, four calls of sappfpar, and a slow file server
_TIMEOUT_S = 400
_ERRORS = {
    errno.EROFS: "the file system is read-only here; run it on the host that may write to it",
    errno.EACCES: "run it on a host where that user may write there",
    errno.ENOSPC: "the file system is full; the old profile is unchanged",
    errno.ENOLCK: "the file server grants no locks, without which two hosts could write at once",
}


def write(host, path, old, new, checkers=()):
    """Replace the profile at path, whose bytes are old, with the bytes new.

    checkers: Instances whose sappfpar checks it first. All work, from the lock to the last check, is done by a process
    with the rights of the owner of the folder, because the owner controls all files in it.
    Raises HostError, and the old profile stays: if somebody else has changed it since it was read or is changing it, if
    the SAP kernel finds an error that the old profile did not have, if it cannot be written.
    """
    way = host.way(path)
    if way.loose is not None:
        raise HostError("%s was not changed: %s" % (path, too_open(way.loose)), errno.EPERM)
    for instance in checkers if way.owner is not None else ():
        if uid_of(instance.user) not in (None, way.owner):
            raise HostError(
                "%s was not changed: its folder belongs to %s, who may not run sappfpar of %s to check it: give the "
                "folder to %s (chown)" % (path, Identity.of_uid(way.owner).name, instance.user, instance.user),
                errno.EPERM,
            )
    host.work(path, _write, path, old, new, list(checkers), timeout=_TIMEOUT_S)


def _write(host, path, old, new, checkers):
    lock = Lock(host, os.path.join(os.path.dirname(path), LOCK))

    def check(beside):
        for program in [SapPfPar(host, instance) for instance in checkers]:
            problems = program.check(beside)
            if problems:
                known = Counter(_without_sizes(problem) for problem in program.check(path))
                found = Counter(_without_sizes(problem) for problem in problems) - known
                fresh = [one for one in problems if one == NOT_READ or _without_sizes(one) in found]
                if fresh:
                    raise HostError("sappfpar refuses the new %s, so the old one stays: %s" % (path, "; ".join(fresh)))
        # just before the rename, because editors take no lock
        _refuse_if_changed(host, path, old)

    try:
        lock.take("%s process %d" % (socket.gethostname(), os.getpid()), _PATIENCE)
    except Busy as error:
        raise HostError(
            "%s is being changed by another run (%s); nothing was changed, run again when that run has ended"
            % (path, error.owner or "unknown"),
            errno.EAGAIN,
        ) from error
    except HostError as error:
        raise explained(error, _ERRORS) from error
    try:
        _refuse_if_changed(host, path, old)
        _tidy(host, os.path.dirname(path))
        try:
            host.replace(path, new, check=check)
        except HostError as error:
            if error.errno in _ERRORS:
                raise explained(error, _ERRORS) from error
            raise  # the message of check() is complete
        if host.data(path) != new:
            raise HostError("%s does not contain what was written" % path)
    finally:
        lock.release()


def _without_sizes(problem):
    """A message of sappfpar without numbers except a count of errors, because sizes change with the new value."""
    return re.sub(r"(?i)(errors? detected[ .:]*[0-9]+)|[0-9]+", r"\1", problem)


def leftovers(host, folder):
    """The temporary files in a profile folder, of runs that were killed or are writing now."""
    try:
        return host.glob(folder, TEMPORARY + "*")
    except HostError:
        return []


def clean(host, folder):
    """Remove the leftovers unless somebody is writing. If that is refused, it does no harm."""
    with contextlib.suppress(HostError):
        host.work(folder, _clean, folder)


def _clean(host, folder):
    lock = Lock(host, os.path.join(folder, LOCK))
    lock.take("%s process %d" % (socket.gethostname(), os.getpid()))
    try:
        _tidy(host, folder)
    finally:
        lock.release()


def _tidy(host, folder):
    """Remove the leftovers; the caller holds the lock and so is the only writer."""
    for left in leftovers(host, folder):
        if os.path.basename(left) != LOCK:
            host.remove(left)


def _refuse_if_changed(host, path, old):
    if host.data(path) != old:
        raise HostError("%s was changed by someone else meanwhile and was not written; run again" % path)
