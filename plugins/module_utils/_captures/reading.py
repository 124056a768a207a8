# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A folder or an archive as a Tree of its own names, before its format is known. Nothing is extracted.

tarfile reads archives as a stream, in one pass. It has no limits and trusts what it reads, so each header is checked
before tarfile acts on it.
"""

import contextlib
import functools
import os
import re
import stat
import tarfile

from .._host.descriptors import NO_FOLLOW
from .._host.errors import HostError, refused
from . import limits, unpacking
from .tree import FILE, FOLDER, LINK, REFUSED, UNREADABLE, Entry, Tree, shown

# Not subject to the size limit of single files: they are opened as archives.
_ARCHIVE = re.compile(r"\.(?:tar|tgz|txz|tbz|tbz2|tar\.(?:gz|xz|bz2))\Z")
_LOGS = re.compile(r"/(?:var/log|sos_logs|sos_strings|kernel/debug|tracing)/")
_LARGE_LOG = 64 * 1024
# The types of members: files, hard links, links, devices, folders, FIFOs; those of headers before a member.
_MEMBERS, _LONG_NAMES, _PAX = b"\x0001234567", b"LK", b"xg"
_RECORD = re.compile(rb"([1-9][0-9]{0,5}) ([^=]+)=")
# longer than a name in a folder
_LONG_NUMBER = re.compile(rb"[0-9]{256}")


def is_archive(name):
    """Whether a file has the name of an archive."""
    return bool(_ARCHIVE.search(name))


def checked_name(name, archive):
    """The path of a member, without ./ at its beginning and / at its end.

    Absolute names are those of dump2tar, /sys/...: Raises HostError for others, for .., and for control characters.
    """
    parts, what = [part for part in name.split("/") if part not in ("", ".")], ""
    if ".." in parts:
        what = "holds the name %s: a capture has no .. in its names"
    elif name.startswith("/") and parts[:1] != ["sys"]:
        what = "holds the absolute name %s: only dump2tar writes absolute names, below /sys"
    elif not name or len(name) > limits.MOST_NAME or any(sign < " " or sign == "\x7f" for sign in name):
        what = "holds a name that no capture has: %s"
    if what:
        raise HostError("%s %s" % (archive, what % (shown(name) or "an empty one")))
    return "/" + "/".join(parts)


class _Header(tarfile.TarInfo):
    """A header as it is in the archive. stream: the Stream of the archive, in a class of its own for each."""

    stream = None

    @classmethod
    def frombuf(cls, buf, encoding, errors):
        stream, archive = cls.stream, cls.stream.archive
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if stream.tell() == len(buf) and buf[257:262] != b"ustar":
                raise _no_archive(stream) from error
            if isinstance(error, tarfile.EOFHeaderError):
                raise
            sentence = "a header has a wrong checksum or a malformed number, so %s is damaged: copy it again"
            raise HostError(sentence % archive) from error
        if header.size < 0:
            raise HostError("%s is damaged: a header has a negative number" % archive)
        if header.type in _LONG_NAMES + _PAX:
            if header.size > limits.MOST_HEADER:
                raise HostError(
                    "%s has a header (type %s) that claims %d bytes: a name needs %d"
                    % (archive, header.type.decode("ascii"), header.size, limits.MOST_NAME)
                )
            stream.budget.count()
            if header.type in _PAX:
                _check_pax(stream.peek(header.size + -header.size % len(buf)), archive)
        elif header.type not in _MEMBERS:
            raise HostError(
                "%s holds an entry of type %s (%s), which no capture has: sparse files and special types are refused"
                % (archive, shown(header.type.decode("latin-1")), shown(header.name))
            )
        return header


def _check_pax(data, archive):
    """Check pax records, each "length key=value\\n". Raises HostError.

    Python before 3.6.12 hangs at the length 0 (CVE-2019-20907), older ones than 3.12.6 take minutes for long numbers
    (CVE-2024-6232), and all read maps of sparse files without a limit.
    """
    at, long_number = 0, _LONG_NUMBER.search(data)
    while data[at : at + 1].strip(b"\0"):
        match = _RECORD.match(data, at)
        end = at + int(match.group(1)) if match else 0
        if long_number or not match or not match.end() < end <= len(data):
            raise HostError("%s is damaged: a pax header cannot be read" % archive)
        if match.group(2).startswith(b"GNU.sparse"):
            raise HostError("%s holds a sparse file: no capture does" % archive)
        if match.group(2) == b"size" and not re.match(rb"[0-9]{1,19}\Z", data[match.end() : end - 1]):
            raise HostError("%s is damaged: a pax header has a malformed size" % archive)
        at = end


def _no_archive(stream):
    """The HostError for a file that does not begin with a header of tar."""
    if stream.cut:
        what = "is cut off before anything of a capture: copy it again"
    elif stream.is_empty():
        what = "is empty: a capture is a folder or a tar archive"
    elif stream.kind == "OpenPGP" or stream.archive.endswith((".gpg", ".pgp")):
        what = "is encrypted (OpenPGP): decrypt it first"
    elif stream.kind and not stream.packed:
        what = "is packed with %s: pack it as tar with gzip, xz or bzip2" % stream.kind
    elif stream.packed:
        what = "is not a tar archive"
    else:
        what = "is not an archive: a capture is a folder, or a tar archive packed with gzip, xz or bzip2"
    return HostError("%s %s" % (stream.archive, what))


def read_archive(content, archive, budget):
    """The Tree of an archive, which knows whether that is cut off. content: see Stream.

    Raises HostError with a sentence that names the archive.
    """
    stream, found = unpacking.Stream(content, archive, budget), Tree(archive, budget)
    header = type("Header", (_Header,), {"stream": stream})
    try:
        tar = tarfile.TarFile(fileobj=stream, tarinfo=header, encoding="utf-8", errors="surrogateescape")
        for member in iter(tar.next, None):
            # it keeps all members, and what global headers say
            tar.members, tar.pax_headers = [], {}
            path = checked_name(member.name, archive)
            entry = _entry(member, path, found, stream)
            if path != "/":
                found.add(path, entry)
    except EOFError as error:
        if not stream.tell():
            raise _no_archive(stream) from error
        stream.cut = True
    except (tarfile.TarError, RecursionError) as error:
        raise HostError("%s is damaged: a header has no member after it" % archive) from error
    else:
        with contextlib.suppress(EOFError):
            stream.seek(stream.tell() + limits.MOST_AFTER_END)
    found.cut = "%s is cut off" % os.path.basename(archive) if stream.cut else ""
    return found


def _entry(member, path, found, stream):
    """The Entry for a member. Raises EOFError if the archive ends in it."""
    if member.isdir():
        return Entry(FOLDER, {})
    if member.isreg():
        if member.size > limits.MOST_FILE and not is_archive(path):
            reason = "it is larger than %d MiB" % (limits.MOST_FILE >> 20)
        elif member.size > _LARGE_LOG and _LOGS.search(path):
            reason = "large logs and traces of a capture are not read"
        else:
            return _file(stream.budget.keep(stream, member.size), member.size, member.mode)
        return Entry(UNREADABLE, reason)
    if member.issym():
        if not member.linkname or len(member.linkname) > limits.MOST_NAME or "\0" in member.linkname:
            raise HostError("%s holds a link without a target: %s" % (stream.archive, shown(path[1:])))
        return Entry(LINK, member.linkname)
    if member.islnk():
        target = checked_name(member.linkname, stream.archive)
        known = found.resolve(target, follow=False)[1]
        if known is None or known.kind == FOLDER:
            raise HostError(
                "%s holds %s as a hard link to %s, which is not an earlier file of the archive"
                % (stream.archive, shown(path[1:]), shown(target[1:]))
            )
        return known
    return _special((member.devmajor, member.devminor) if member.ischr() else None)


def _file(content, size, mode):
    """sos, cp and tar copy a file of the kernel that nobody may read as an empty one."""
    if not size and not mode & 0o444:
        return Entry(UNREADABLE, "it cannot be read on the machine either")
    return Entry(FILE, content, size)


def _special(character_device):
    """dbginfo.sh copies a masked unit, a link to /dev/null, as this device."""
    return Entry(LINK, "/dev/null") if character_device == (1, 3) else Entry(REFUSED, "it is not a regular file")


def read_folder(top, budget):
    """The Tree of a folder on this machine. Links are noted, not followed."""
    found, waiting = Tree(top, budget), [""]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(top + folder) as entries:
                for one in entries:
                    path = folder + "/" + one.name
                    entry = _file_entry(top, path, one.stat(follow_symlinks=False))
                    budget.packed += entry.size if is_archive(path) else 0
                    found.add(path, entry)
                    if entry.kind == FOLDER:
                        waiting.append(path)
        except OSError as error:
            raise refused("cannot list %s" % (top + folder), error) from error
    return found


def _file_entry(top, path, status):
    if stat.S_ISDIR(status.st_mode):
        return Entry(FOLDER, {})
    if stat.S_ISLNK(status.st_mode):
        return Entry(LINK, os.readlink(top + path))
    if stat.S_ISREG(status.st_mode):
        return _file(functools.partial(_read_inside, top, path), status.st_size, status.st_mode)
    device = (os.major(status.st_rdev), os.minor(status.st_rdev))
    return _special(device if stat.S_ISCHR(status.st_mode) else None)


def _read_inside(top, path, offset=0, most=limits.MOST_FILE + 1):
    """Bytes of a file in a folder. No link is followed on the way, and only regular files are opened."""
    at = os.open(top, os.O_RDONLY)
    try:
        for part in path.strip("/").split("/"):
            above, at = at, os.open(part, os.O_RDONLY | NO_FOLLOW | os.O_NONBLOCK, dir_fd=at)
            os.close(above)
        if not stat.S_ISREG(os.fstat(at).st_mode):
            raise HostError("cannot read %s: it is not a regular file" % path)
        with os.fdopen(at, "rb", closefd=False) as stream:
            stream.seek(offset)
            return stream.read(most)
    except OSError as error:
        raise refused("cannot read %s" % path, error) from error
    finally:
        os.close(at)
