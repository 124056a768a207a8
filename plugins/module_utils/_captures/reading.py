# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A folder or an archive as a Tree of its own names, before its format is known."""

import os
import re
import stat

from .._host.errors import HostError, refused
from . import limits, tar, tree, unpacking

# Their size is not limited to that of a file that is read: they are opened in their turn.
_ARCHIVE = re.compile(r"\.(?:tar|tgz|txz|tbz|tbz2|tar\.(?:gz|xz|bz2))\Z")
_LOGS = re.compile(r"/(?:var/log|sos_logs|sos_strings|kernel/debug|tracing)/")
_LARGE_LOG = 64 * 1024


def is_archive(name):
    """Whether a file has the name of an archive."""
    return bool(_ARCHIVE.search(name))


def _not_kept(path, size):
    """Why the content of a member is passed over, or ""."""
    if size > limits.MOST_FILE and not is_archive(path):
        return "it is larger than %d MiB" % (limits.MOST_FILE >> 20)
    if size > _LARGE_LOG and _LOGS.search(path):
        return "large logs and traces of a capture are not read"
    return ""


def read_archive(source, name, budget, spool):
    """(Tree, whether the archive is cut off) of an archive. source: a function of a number of bytes.

    Raises HostError with a sentence that names the archive.
    """
    stream = unpacking.Stream(source, budget, name)
    if stream.kind is None and not tar.is_header(stream.head):
        raise HostError(_no_archive(stream.head, name))
    found = tree.Tree()
    for member in tar.members(stream, budget):
        entry = _entry(member, stream, found, spool)
        if entry is not None:
            found.add("/" + member.name.lstrip("/"), entry, name, budget.count)
    return found, stream.cut


def _no_archive(head, name):
    if not head:
        return "%s is empty: a capture is a folder or a tar archive" % name
    foreign = unpacking.foreign_kind(head)
    if foreign == "OpenPGP" or name.endswith((".gpg", ".pgp")):
        return "%s is encrypted (OpenPGP): decrypt it first" % name
    if foreign:
        return "%s is packed with %s: pack it as tar with gzip, xz or bzip2" % (name, foreign)
    return "%s is no archive: a capture is a folder, or a tar archive packed with gzip, xz or bzip2" % name


def _entry(member, stream, found, spool):
    """The Entry for a member; None if the archive ends in it."""
    if member.kind == tar.FOLDER:
        return tree.Entry(tree.FOLDER, None, 0, None)
    if member.kind == tar.FILE:
        reason = _not_kept("/" + member.name, member.size)
        if reason:
            return tree.Entry(tree.UNREADABLE, reason, 0, member.mode)
        content = spool.keep(stream, member.size)
        return None if content is None else tree.Entry(tree.FILE, content, member.size, member.mode)
    if member.kind == tar.LINK:
        if not member.link or len(member.link) > limits.MOST_NAME or "\0" in member.link:
            raise HostError("%s holds a link without a target: %s" % (stream.name, tar.shown(member.name)))
        return tree.link_entry(member.link)
    if member.kind == tar.HARD_LINK:
        target = tar.checked_name(member.link.encode("utf-8", "surrogateescape"), stream.name)
        known = found.get("/" + target.lstrip("/"))
        if known is None or known.kind == tree.FOLDER:
            raise HostError(
                "%s holds %s as a hard link to %s, which is no earlier file of the archive"
                % (stream.name, tar.shown(member.name), tar.shown(target))
            )
        return known
    return _special(member.device)


def _special(device):
    """dbginfo.sh copies a masked unit, a link to /dev/null, as this device."""
    return tree.link_entry("/dev/null") if device == (1, 3) else tree.Entry(tree.SPECIAL, None, 0, None)


def read_folder(top, budget):
    """The Tree of a folder on this machine. Links are noted, not followed."""
    found, waiting = tree.Tree(), [""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(top + folder) as entries:
                for one in entries:
                    budget.count()
                    path = folder + "/" + one.name
                    entry = _file_entry(top, path, one)
                    budget.packed += entry.size if is_archive(path) else 0
                    found.add(path, entry, top)
                    if entry.kind == tree.FOLDER:
                        waiting.append(path)
        except OSError as error:
            raise refused("cannot list %s" % (top + folder), error) from error
    return found


def _file_entry(top, path, one):
    status = one.stat(follow_symlinks=False)
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISDIR(status.st_mode):
        return tree.Entry(tree.FOLDER, None, 0, None)
    if stat.S_ISLNK(status.st_mode):
        return tree.link_entry(os.readlink(top + path))
    if stat.S_ISREG(status.st_mode):
        return tree.Entry(tree.FILE, tree.FolderFile(top, path), status.st_size, mode)
    is_device = stat.S_ISCHR(status.st_mode)
    return _special((os.major(status.st_rdev), os.minor(status.st_rdev)) if is_device else (0, 0))


def opened_file(path):
    """(source, descriptor) of a regular file on this machine. Raises HostError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise refused("cannot read the capture %s" % path, error) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise HostError("%s is neither a folder nor a file: a capture is a folder or a tar archive" % path)
    return lambda size: os.read(descriptor, size), descriptor


def source_of(entry):
    """A source for an archive inside a capture."""
    position = [0]

    def read(size):
        data = entry.value.read(position[0], size)
        position[0] += len(data)
        return data

    return read
