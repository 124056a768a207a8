# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Put a new profile in place of the old one: wholly or not at all, whoever else writes, also where hosts share it."""

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

# a name with a dot is no profile to any SAP program
LOCK = ".zpower-sap_profile.lock"
_PATIENCE = 10.0
# the wait for the lock, four calls of sappfpar, and a slow file server
_TIMEOUT_S = 400
_ERRORS = {
    errno.EROFS: "the file system is read-only here; run it on the host that may write to it",
    errno.EACCES: "run it on a host where that user may write there",
    errno.ENOSPC: "the file system is full, and the old profile stands",
    errno.ENOLCK: "the file server grants no locks, without which two hosts could write at once",
}


def write(host, path, old, new, checkers=()):
    """Replace the profile at path, whose bytes are old, by the bytes new.

    checkers: Instances, whose sappfpar checks it first. All of it, from the lock to the last look, is done by a process
    with the rights of the user to whom the folder belongs: whatever lies there is in the hands of that user.
    Raises HostError, and the old profile stands then: where somebody else has changed it since it was read or is about
    to, where the SAP kernel finds something wrong that it did not find in the old one, where it cannot be written.
    """
    way = host.way(path)
    if way.loose is not None:
        raise HostError("%s was not changed: %s" % (path, too_open(way.loose)), errno.EPERM)
    for instance in checkers if way.owner is not None else ():
        if uid_of(instance.user) not in (None, way.owner):
            raise HostError(
                "%s was not changed: its folder belongs to %s, who may not run sappfpar of %s to check it; give the "
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
                    raise HostError("sappfpar refuses the new %s, so the old one stands: %s" % (path, "; ".join(fresh)))
        # the last moment before the rename: editors take no lock
        _unchanged(host, path, old)

    try:
        lock.take("%s process %d" % (socket.gethostname(), os.getpid()), _PATIENCE)
    except Busy as error:
        raise HostError(
            "%s is being changed by another run (%s); nothing was changed, run again when it is done"
            % (path, error.owner or "unknown"),
            errno.EAGAIN,
        ) from error
    except HostError as error:
        raise explained(error, _ERRORS) from error
    try:
        _unchanged(host, path, old)
        _tidy(host, os.path.dirname(path))
        try:
            host.replace(path, new, check=check)
        except HostError as error:
            if error.errno in _ERRORS:
                raise explained(error, _ERRORS) from error
            raise  # what check() says is complete
        if host.data(path) != new:
            raise HostError("%s does not read back as it was written" % path)
    finally:
        lock.release()


def _without_sizes(problem):
    """A complaint of sappfpar without its numbers, but for a count of errors: sizes change with the new value."""
    return re.sub(r"(?i)(errors? detected[ .:]*[0-9]+)|[0-9]+", r"\1", problem)


def leftovers(host, folder):
    """What runs left behind in a profile folder that were killed while they wrote; or what a run is writing now."""
    try:
        return host.glob(folder, TEMPORARY + "*")
    except HostError:
        return []


def clean(host, folder):
    """Remove what lies there, unless somebody is writing. Where that is refused it does no harm."""
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
    """Whoever holds the lock is the only writer."""
    for left in leftovers(host, folder):
        if os.path.basename(left) != LOCK:
            host.remove(left)


def _unchanged(host, path, old):
    if host.data(path) != old:
        raise HostError("%s was changed by someone else meanwhile, and is left as it is now; run again" % path)
