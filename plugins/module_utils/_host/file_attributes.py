# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Give a new file the owner, mode, access control list and SELinux context of the file that it will replace."""

import errno
import os
import stat
import tempfile

from .descriptors import NO_FOLLOW
from .errors import HostError
from .identities import Identity


def copy(host, path, old, new, temporary, mode):
    """Copy them from the file old to the open file new, whose path is temporary. If old is absent, new gets mode.

    path: the name of the file in messages.
    """
    try:
        descriptor = os.open(old, os.O_RDONLY | NO_FOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise
        os.fchmod(new, mode)
        return
    try:
        found, made = os.fstat(descriptor), os.fstat(new)
        if not stat.S_ISREG(found.st_mode):
            raise HostError("cannot write %s: it is not a regular file" % path)
        if (found.st_uid, found.st_gid) != (made.st_uid, made.st_gid):
            _copy_owner(path, found, new)
        os.fchmod(new, stat.S_IMODE(found.st_mode))
        if hasattr(os, "listxattr"):
            _copy_extended(descriptor, new)
        else:
            _copy_aix_list(host, old, temporary)
    finally:
        os.close(descriptor)


def _copy_owner(path, found, new):
    try:
        os.fchown(new, found.st_uid, found.st_gid)
    except OSError as error:
        if error.errno != errno.EPERM:
            raise
        owner, worker = (Identity.of_uid(uid).name for uid in (found.st_uid, os.geteuid()))
        raise HostError(
            "cannot write %s: it belongs to %s (group id %d) and its folder to %s, who cannot keep that owner: "
            "give the file to %s (chown)" % (path, owner, found.st_gid, worker, worker),
            error.errno,
        ) from error


def _copy_extended(old, new):
    try:
        names = os.listxattr(old)
    except OSError as error:
        # a file system without attributes
        if error.errno == errno.ENOTSUP:
            return
        raise
    for name in names:
        if name.startswith(("system.", "user.")) or name == "security.selinux":
            value = os.getxattr(old, name)
            # the policy sets the context of the new file, and few users may set one
            if name != "security.selinux" or _extended(new, name) != value:
                os.setxattr(new, name, value)


def _extended(descriptor, name):
    """An extended attribute of an open file; None if absent."""
    try:
        return os.getxattr(descriptor, name)
    except OSError:
        return None


def _copy_aix_list(host, old, new):
    """Use the programs of AIX, for which Python has no calls. Both paths are under the control of one user."""
    with tempfile.NamedTemporaryFile(prefix="zpower-") as kept:
        for argv in (["aclget", "-o", kept.name, old], ["aclput", "-i", kept.name, new]):
            try:
                done = host.run(argv)
            except HostError as error:
                raise OSError(error.errno or errno.EIO, str(error)) from error
            if done.rc != 0:
                raise OSError(errno.EIO, done.err)
