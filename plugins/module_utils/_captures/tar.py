# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The members of a tar archive in their order, in one pass, with nothing extracted.

Not the module tarfile: it holds a header of 300 MiB in memory before any member is seen, and its filters have been
bypassed several times (CVE-2024-12718, CVE-2025-4517 and others). Formats: POSIX.1-2001 pax, ustar, and GNU tar
with its long names, as GNU tar, Python and dump2tar of s390-tools write them.
"""

import struct
from collections import namedtuple

from .._host.errors import HostError
from . import limits

_BLOCK = 512
_HEADER = struct.Struct("100s8s8s8s12s12s8s1s100s6s2s32s32s8s8s155s12x")
FILE, FOLDER, LINK, HARD_LINK, CHARACTER, OTHER = "file", "folder", "link", "hard link", "character device", "other"
_KINDS = {
    b"0": FILE,
    b"\0": FILE,
    b"7": FILE,
    b"1": HARD_LINK,
    b"2": LINK,
    b"3": CHARACTER,
    b"4": OTHER,
    b"5": FOLDER,
    b"6": OTHER,
}

# name: checked, without slashes at its end; it begins with / only below /sys. link: the target as written. mode: the
# permissions. device: (major, minor).
Member = namedtuple("Member", "name kind size link mode device")


def shown(name):
    """A name of an archive for a message: one line, printable, at most 100 characters."""
    return (
        name.encode("utf-8", "surrogateescape")
        .decode("ascii", "backslashreplace")
        .encode("unicode_escape")
        .decode("ascii")[:100]
    )


def checked_name(raw, archive):
    """A member's name without ./ at its beginning and / at its end; "" for the folder of the archive itself.

    Absolute names are those of dump2tar, /sys/...: Raises HostError for others, for .., and for control characters.
    """
    name = raw.decode("utf-8", "surrogateescape")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise HostError("%s holds the name %s: a capture has no .. in its names" % (archive, shown(name)))
    if name.startswith("/") and parts[:1] != ["sys"]:
        raise HostError(
            "%s holds the absolute name %s: only dump2tar writes absolute names, below /sys" % (archive, shown(name))
        )
    if not name or len(name) > limits.MOST_NAME or any(sign < " " or sign == "\x7f" for sign in name):
        raise HostError("%s holds a name that no capture has: %s" % (archive, shown(name) or "an empty one"))
    return ("/" if name.startswith("/") else "") + "/".join(parts)


def _number(field, archive):
    if field[0] & 0x80:
        # base 256 of GNU tar, for sizes from 8 GiB; 0xff begins a negative number
        if field[0] != 0x80:
            raise HostError("%s is damaged: a header has a negative number" % archive)
        return int.from_bytes(field[1:], "big")
    text = field.strip(b" \0").split(b"\0")[0]
    try:
        return int(text, 8) if text else 0
    except ValueError as error:
        raise HostError("%s is damaged: a header has no number where one belongs" % archive) from error


def is_header(block):
    """Whether this is the header of a member: its checksum is right."""
    if len(block) < _BLOCK or not block.strip(b"\0"):
        return False
    try:
        return int(block[148:156].strip(b" \0") or b"x", 8) == sum(block[:148]) + 256 + sum(block[156:512])
    except ValueError:
        return False


def _text(field):
    return field.split(b"\0", 1)[0]


def members(stream, budget):
    """Yield each Member. The caller reads the content of a file from the stream, or part of it, before the next one.

    stream: an unpacking.Stream; its cut becomes true if the archive ends too early. Raises HostError.
    """
    first, long_name, long_link, pax = True, None, None, {}
    while True:
        block = stream.read(_BLOCK)
        if len(block) < _BLOCK:
            if first and not block:
                raise HostError("%s is empty" % stream.name if not stream.cut else "%s is cut off" % stream.name)
            # a tar archive ends with a block of zeros
            stream.cut = True
            return
        if not block.strip(b"\0"):
            stream.skip(limits.MOST_AFTER_END)
            return
        if not is_header(block):
            raise HostError("%s is %s" % (stream.name, "no tar archive" if first else "damaged: copy it again"))
        first = False
        budget.count()
        fields = _HEADER.unpack(block)
        kind, size = fields[7], _number(fields[4], stream.name)
        if kind in (b"L", b"K", b"x", b"g"):
            data = _header_data(stream, kind, size)
            if data is None:
                return
            if kind == b"L":
                long_name = _text(data)
            elif kind == b"K":
                long_link = _text(data)
            elif kind == b"x":
                pax = _pax(data, stream.name)
            continue
        if kind not in _KINDS:
            raise HostError(
                "%s holds an entry of type %s (%s), which no capture has: sparse files and special types are refused"
                % (stream.name, shown(kind.decode("latin-1")), shown(_text(fields[0]).decode("latin-1")))
            )
        # the prefix of a long name is POSIX; GNU tar has other fields in its place
        prefix = _text(fields[15]) if fields[9] == b"ustar\0" else b""
        name = pax.get(b"path") or long_name or (prefix + b"/" if prefix else b"") + _text(fields[0])
        link = pax.get(b"linkpath") or long_link or _text(fields[8])
        what = FOLDER if kind in (b"0", b"\0") and name.endswith(b"/") else _KINDS[kind]
        size = (int(pax[b"size"]) if b"size" in pax else size) if what == FILE else 0
        device = (_number(fields[13], stream.name), _number(fields[14], stream.name)) if what == CHARACTER else (0, 0)
        end = stream.position + size + -size % _BLOCK
        yield Member(
            checked_name(name, stream.name),
            what,
            size,
            link.decode("utf-8", "surrogateescape"),
            _number(fields[1], stream.name),
            device,
        )
        long_name, long_link, pax = None, None, {}
        if not stream.skip(end - stream.position):
            stream.cut = True
            return


def _header_data(stream, kind, size):
    """The data of a header of GNU tar or pax; None if the archive ends in it."""
    if size > limits.MOST_HEADER:
        raise HostError(
            "%s has a header (type %s) that claims %d bytes: a name needs %d"
            % (stream.name, kind.decode("ascii"), size, limits.MOST_NAME)
        )
    data = stream.read(size + -size % _BLOCK)
    if len(data) < size:
        stream.cut = True
        return None
    return data[:size]


def _pax(data, archive):
    """{key: value} of pax records, each "length key=value\n"."""
    found = {}
    while data:
        length, blank, dummy = data[:20].partition(b" ")
        if not blank or not length.isdigit() or not len(length) + 2 < int(length) <= len(data):
            raise HostError("%s is damaged: a pax header cannot be read" % archive)
        key, dummy, value = data[len(length) + 1 : int(length) - 1].partition(b"=")
        if key.startswith(b"GNU.sparse"):
            raise HostError("%s holds a sparse file: no capture does" % archive)
        if key == b"size" and not (value.isdigit() and len(value) < 20):
            raise HostError("%s is damaged: a pax header has no size where one belongs" % archive)
        found[key] = value
        data = data[int(length) :]
    return found
