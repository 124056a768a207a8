# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A compressed file as a stream of bytes, within the limits of a Budget.

The first bytes decide how it is compressed, not its name. Archives of several compressed parts (pbzip2, pigz) are read
to the end.
"""

import bz2
import lzma
import zlib

from .._host.errors import HostError
from . import limits

_PIECE = 256 * 1024
_MAGIC = ((b"\x1f\x8b", "gzip"), (b"\xfd7zXZ\x00", "xz"), (b"BZh", "bzip2"))
LONGEST_MAGIC = 6
# The session key for a public key or a pass phrase, with which an encrypted message begins, in the old and new format.
_PGP = tuple((head, "OpenPGP") for head in (b"\x84", b"\x85", b"\x8c", b"\xc1", b"\xc3", b"-----BEGIN"))
_OTHERS = ((b"\x28\xb5\x2f\xfd", "zstd"), (b"PK\x03\x04", "zip")) + _PGP


def kind_of(head):
    """gzip, xz or bzip2 for the first bytes of a file; None for anything else."""
    return next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)


def foreign_kind(head):
    """The name of a format that is known and not read; None for anything else."""
    return next((kind for magic, kind in _OTHERS if head.startswith(magic)), None)


class _Gzip:
    """zlib with the interface of bz2 and lzma."""

    def __init__(self):
        self._object = zlib.decompressobj(31)

    eof = property(lambda self: self._object.eof)
    unused_data = property(lambda self: self._object.unused_data)
    needs_input = property(lambda self: not self._object.unconsumed_tail)

    def decompress(self, data, most):
        return self._object.decompress(self._object.unconsumed_tail + data, most)


def _decompressor(kind):
    if kind == "gzip":
        return _Gzip()
    if kind == "bzip2":
        return bz2.BZ2Decompressor()
    return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=limits.MOST_XZ_MEMORY)


class Stream:
    """The unpacked bytes of a file. source: a function of a number of bytes that returns bytes, at the end none.

    cut: whether the file ends before its compressed data does; it may be set later by the reader of the archive.
    """

    def __init__(self, source, budget, name):
        self._source, self._budget, self.name = source, budget, name
        self._rest = b""
        self._pending = source(_PIECE)
        self.head = self._pending[:512]
        self.kind = kind_of(self._pending)
        self._decompressor = _decompressor(self.kind) if self.kind else None
        self._done = False
        self.position = 0
        self.cut = False

    def read(self, size):
        """So many bytes, fewer at the end. Raises HostError for damaged data and above a limit."""
        pieces, missing = [], size
        while missing:
            if not self._rest:
                self._rest = self._next()
                if not self._rest:
                    break
            piece, self._rest = self._rest[:missing], self._rest[missing:]
            pieces.append(piece)
            missing -= len(piece)
        self.position += size - missing
        return b"".join(pieces)

    def skip(self, size):
        """Pass over so many bytes; whether they were there."""
        while size:
            got = len(self.read(min(size, _PIECE)))
            if not got:
                return False
            size -= got
        return True

    def _next(self):
        try:
            found = self._unpack() if self.kind else self._plain()
        except MemoryError as error:
            raise HostError("%s needs more memory than a capture does" % self.name) from error
        except (OSError, EOFError, zlib.error, lzma.LZMAError, ValueError) as error:
            if "memory" in str(error).lower():
                raise HostError(
                    "%s needs more than %d MiB of memory to unpack" % (self.name, limits.MOST_XZ_MEMORY >> 20)
                ) from error
            raise HostError("%s is damaged (%s): copy it again" % (self.name, str(error)[:100])) from error
        self._budget.unpack(len(found))
        return found

    def _plain(self):
        data, self._pending = self._pending, b""
        return data or self._source(_PIECE)

    def _unpack(self):
        while not self._done:
            if self._decompressor.eof and not self._another():
                break
            if self._decompressor.needs_input and not self._pending:
                self._pending = self._source(_PIECE)
            # without input, it may still have output
            data, self._pending = self._pending, b""
            found = self._decompressor.decompress(data, _PIECE)
            if found:
                return found
            if not data and not self._decompressor.eof:
                self._done = self.cut = True
        return b""

    def _another(self):
        """Begin the next compressed part; False at the end. Anything else after a part is left alone, as gzip does."""
        rest = self._decompressor.unused_data
        if len(rest.lstrip(b"\0")) < LONGEST_MAGIC:
            rest += self._source(_PIECE)
        if kind_of(rest.lstrip(b"\0")) != self.kind:
            self._done = True
            return False
        self._pending = rest.lstrip(b"\0")
        self._decompressor = _decompressor(self.kind)
        return True
