# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A compressed file as a stream of bytes, within the limits of a Budget.

Not the mode r|* of tarfile: it unpacks 10 KiB of bzip2 into gigabytes at once, sets no limit to the memory of xz, and
ends after the first of several compressed parts (pbzip2, pigz). The first bytes decide, not the name of the file.
"""

import bz2
import lzma
import zlib

from .._host.errors import HostError
from . import limits

# the session key for a public key or a pass phrase, with which an encrypted message begins, in the old and new format
_PGP = (b"\x84", b"\x85", b"\x8c", b"\xc1", b"\xc3", b"-----BEGIN")
_MAGIC = (
    (b"\x1f\x8b", "gzip"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"BZh", "bzip2"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"PK\x03\x04", "zip"),
    *((head, "OpenPGP") for head in _PGP),
)
_LONGEST = 10
_DECOMPRESSORS = {
    "gzip": lambda: zlib.decompressobj(31),
    "xz": lambda: lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=limits.MOST_XZ_MEMORY),
    "bzip2": bz2.BZ2Decompressor,
}


def _kind(head):
    return next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)


def _unpacked(kind, source):
    """Yield the unpacked pieces. Raises EOFError if the file ends before its compressed data does."""
    rest = source()
    while _kind(rest) == kind:
        part = _DECOMPRESSORS[kind]()
        while not part.eof:
            # zlib hands back what it has not used, the others keep it
            data = rest or getattr(part, "unconsumed_tail", b"")
            hungry = not data and getattr(part, "needs_input", True)
            data = source() if hungry else data
            piece = part.decompress(data, limits.PIECE)
            # without input, it may still have output
            if hungry and not data and not piece and not part.eof:
                raise EOFError
            rest = b""
            yield piece
        # anything but another part is ignored, as gzip does
        rest = part.unused_data.lstrip(b"\0")
        if len(rest) < _LONGEST:
            rest = (rest + source()).lstrip(b"\0")


class Stream:
    """The unpacked bytes of a file, which tarfile reads forward only.

    content: a function of an offset and a number of bytes, as an Entry has it. kind: what the first bytes say, also of
    formats that are not read; None if unknown. packed: whether it is unpacked here. cut: whether the file ends before
    its compressed data does; whoever reads the archive sets it too.
    """

    def __init__(self, content, archive, budget):
        self.archive, self.budget = archive, budget
        self.kind = _kind(content(0, _LONGEST))
        self.packed, self.cut = self.kind in _DECOMPRESSORS, False
        self._content, self._taken = content, 0
        self._pieces = _unpacked(self.kind, self._take) if self.packed else iter(self._take, b"")
        self._buffer, self._at, self._before = b"", 0, 0

    def is_empty(self):
        """Whether it is empty; known after the first read."""
        return not (self._before or self._buffer)

    def _take(self):
        data = self._content(self._taken, limits.PIECE)
        self._taken += len(data)
        return data

    def peek(self, size):
        """The next bytes, which stay. Raises EOFError if there are fewer, HostError for damaged data or at a limit."""
        while len(self._buffer) - self._at < size:
            more = self._next()
            self._before += self._at
            self._buffer, self._at = self._buffer[self._at :] + more, 0
        return self._buffer[self._at : self._at + size]

    def _next(self):
        try:
            piece = next(self._pieces, None)
        except EOFError:
            self.cut = True
            raise
        except (MemoryError, OSError, zlib.error, lzma.LZMAError, ValueError) as error:
            if isinstance(error, MemoryError) or "memory" in str(error).lower():
                what = "needs more than %d MiB of memory to unpack" % (limits.MOST_XZ_MEMORY >> 20)
            else:
                what = "is damaged (%s): copy it again" % str(error)[:100]
            raise HostError("%s %s" % (self.archive, what)) from error
        if piece is None:
            raise EOFError
        self.budget.unpack(len(piece))
        return piece

    def read(self, size):
        data = self.peek(size)
        self._at += size
        return data

    def tell(self):
        return self._before + self._at

    def seek(self, position):
        """Skip bytes. Raises EOFError as peek() does, HostError for a step backwards."""
        if position < self.tell():
            raise HostError("%s is damaged: a header leads backwards" % self.archive)
        for left in range(position - self.tell(), 0, -limits.PIECE):
            self.read(min(left, limits.PIECE))
