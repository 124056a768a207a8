# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The names of a capture in memory: what each is, where its content lies, and where its links lead.

Links are text of the capture. They are followed in this index only, component by component, and never above its top.
"""

import os
import posixpath
import stat
import tempfile
from collections import namedtuple

from .._host.descriptors import NO_FOLLOW
from .._host.errors import HostError, refused
from . import limits

FOLDER, FILE, LINK, SPECIAL, NOTHING, UNREADABLE, CONTRADICTORY = range(7)

# kind: one of the above. value: of a FILE its content (a function that returns bytes), of a LINK its target, of
# UNREADABLE and CONTRADICTORY a sentence. NOTHING is /dev/null. size: of a FILE in bytes. mode: permissions, or None.
Entry = namedtuple("Entry", "kind value size mode")
_A_FOLDER = Entry(FOLDER, None, 0, None)
_LOOP = Entry(UNREADABLE, "its links lead in a circle", 0, None)


def text_entry(text):
    """A FILE with this text."""
    return bytes_entry(text.encode("utf-8", "surrogateescape"))


def bytes_entry(data):
    """A FILE with this content."""
    return Entry(FILE, lambda: data, len(data), None)


def link_entry(target):
    return Entry(LINK, target, 0, None)


class Tree:
    """An index of absolute names. It always has /dev/null, because masked units lead there."""

    def __init__(self):
        self._entries = {"/": _A_FOLDER, "/dev": _A_FOLDER, "/dev/null": Entry(NOTHING, None, 0, None)}
        self._names = {"/": {"dev"}, "/dev": {"null"}}
        self._read = 0

    def __contains__(self, path):
        return path in self._entries

    def add(self, path, entry, archive, count=None):
        """Add an entry and the folders above it. count: called for each of these folders that is new.

        Raises HostError if the path is there already, or lies below something that is not a folder.
        """
        known = self._entries.get(path)
        if known is not None:
            if known.kind == FOLDER and entry.kind == FOLDER:
                return
            if path in ("/dev", "/dev/null"):
                return
            raise HostError("%s holds %s twice" % (archive, _shown(path)))
        self._folder(posixpath.dirname(path), archive, count)
        self.put(path, entry)

    def put(self, path, entry):
        """Set an entry whose folder exists, whatever was there."""
        self._entries[path] = entry
        self._names.setdefault(posixpath.dirname(path), set()).add(posixpath.basename(path))

    def _folder(self, path, archive, count):
        missing = []
        while path not in self._entries:
            missing.append(path)
            path = posixpath.dirname(path)
        if self._entries[path].kind != FOLDER:
            raise HostError("%s holds names below %s, which is not a folder" % (archive, _shown(path)))
        for one in reversed(missing):
            if count is not None:
                count()
            self.put(one, _A_FOLDER)

    def read(self, entry, archive):
        """The content of a FILE. Raises Exceeded if so much of this Tree was read that no capture needs it."""
        self._read += min(entry.size, limits.MOST_FILE)
        if self._read > limits.MOST_READ:
            raise limits.Exceeded("more than %d MiB of %s were read" % (limits.MOST_READ >> 20, archive))
        return entry.value()

    def names(self, path):
        """The names in a folder, given by its path with all links followed."""
        return self._names.get(path, ())

    def get(self, path):
        """The Entry of a path with all links followed; None if absent."""
        return self._entries.get(path)

    def below(self, folder, tops):
        """A new Tree of these names in a folder, as its top."""
        found, prefix = Tree(), folder.rstrip("/")
        wanted = tuple("%s/%s/" % (prefix, top) for top in tops)
        exact = {"%s/%s" % (prefix, top) for top in tops}
        for path, entry in self._entries.items():
            if (path in exact or path.startswith(wanted)) and path[len(prefix) :] not in ("/dev", "/dev/null"):
                found.put(path[len(prefix) :], entry)
        return found

    def graft(self, other, top):
        """Replace what is below a folder (/sys) with that of another Tree."""
        for path in [path for path in self._entries if path == top or path.startswith(top + "/")]:
            del self._entries[path]
            self._names.pop(path, None)
        self._names[posixpath.dirname(top)].discard(posixpath.basename(top))
        for path, entry in other.items():
            if path == top or path.startswith(top + "/"):
                self.put(path, entry)

    def items(self):
        return self._entries.items()

    def resolve(self, path, follow=True):
        """(path with all links followed, its Entry or None). follow: False leaves a link at the end.

        A loop of links leads to an UNREADABLE entry.
        """
        at, waiting, links = "/", path.split("/")[::-1], 0
        while waiting:
            name = waiting.pop()
            if name in ("", "."):
                continue
            if name == "..":
                at = posixpath.dirname(at)
                continue
            here = posixpath.join(at, name)
            entry = self._entries.get(here)
            if entry is None or (entry.kind not in (FOLDER, LINK) and waiting):
                rest = posixpath.normpath(posixpath.join(here, *waiting[::-1]))
                return (rest, None) if entry is None or rest != here else (here, entry)
            if entry.kind != LINK or (not follow and not any(waiting)):
                at = here
                continue
            links += 1
            if links > limits.MOST_LINKS:
                return posixpath.normpath(path), _LOOP
            at = "/" if entry.value.startswith("/") else at
            waiting += entry.value.split("/")[::-1]
        return at, self._entries[at]


def _shown(path):
    return path.encode("unicode_escape", "backslashreplace").decode("ascii")[:100]


class Spool:
    """A private file without a name that keeps the content of members."""

    def __init__(self, budget):
        self._budget = budget
        # it lives as long as the capture and has no name
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        self._end = 0

    def keep(self, stream, size):
        """Copy so many bytes from a stream; returns the function that reads them. None if the stream ends before."""
        start = self._end
        self._budget.keep(size)
        left = size
        while left:
            piece = stream.read(min(left, 1 << 20))
            if not piece:
                return None
            try:
                self._file.write(piece)
            except OSError as error:
                raise refused("cannot unpack %s into %s" % (self._budget.name, tempfile.gettempdir()), error) from error
            left -= len(piece)
            self._end += len(piece)
        return Piece(self._file, start, size)


class Piece:
    """A part of the private file."""

    def __init__(self, file, start, size):
        self._file, self._start, self._size = file, start, size

    def __call__(self):
        return self.read(0, self._size)

    def read(self, offset, size):
        """So many bytes from an offset, fewer at the end."""
        self._file.flush()
        return os.pread(self._file.fileno(), max(min(size, self._size - offset), 0), self._start + offset)


class FolderFile:
    """A file in a folder on this machine. No link is followed on the way, and nothing else than a file is opened."""

    def __init__(self, top, name):
        self._top, self._name = top, name

    def __call__(self):
        return self.read(0, limits.MOST_FILE + 1)

    def read(self, offset, size):
        parts = self._name.strip("/").split("/")
        flags = os.O_RDONLY | NO_FOLLOW | os.O_NONBLOCK
        at = os.open(self._top, os.O_RDONLY)
        try:
            for part in parts:
                inside = os.open(part, flags, dir_fd=at)
                os.close(at)
                at = inside
            if not stat.S_ISREG(os.fstat(at).st_mode):
                raise HostError("cannot read %s: it is not a regular file" % self._name)
            with os.fdopen(at, "rb", closefd=False) as stream:
                stream.seek(offset)
                return stream.read(size)
        except OSError as error:
            raise refused("cannot read %s" % self._name, error) from error
        finally:
            os.close(at)
