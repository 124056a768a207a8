# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The format of SAP profiles: bytes in, bytes out; bytes that are not to change are kept exactly.

A line assigns a value if its first non-blank character is not ``#`` and it has text before its first ``=``. Blanks and
tabs around name and value are ignored, a ``#`` in a value belongs to the value, and the last of several lines wins.
Lines end with LF or CR LF, sometimes both in one file; the last line may lack its end.

SAP does not define an encoding. Text here is Latin-1, which keeps any bytes; shown() makes it readable.

The journal keeps the lines of a parameter as a journal text: a JSON list with one item per line. An item begins with
the line's number and the line. The rest is for finding its place again after other lines have been added or removed:
its line end, checksums of its neighbours, and the number of lines of the profile, without those that this collection
added. A line that is still to be added has the number 0 and nothing after it.
"""

import json
import re
import zlib
from collections import namedtuple
from itertools import count, takewhile

from .._engine.tuning import InputError
from .._host.errors import HostError

# number: from 1. raw: the line without its end.
Line = namedtuple("Line", "number raw value")

_BLANKS = " \t"
MARKER = "# zpower.sap_tuning "
# SAP's have a few hundred lines, and one or two for a name
_LARGEST, _MOST_LINES = 256 * 1024, 100
_DIRECTIVE = re.compile(r"^(?:_.*|(?:SETENV|Execute|Start_Program|Restart_Program|Stop_Program)_\d+)$", re.IGNORECASE)


def is_directive(name):
    """Whether this is not a parameter but a command for sapstartsrv (Execute_00) or a variable."""
    return bool(_DIRECTIVE.match(name))


def marker(date, change):
    """The comment above lines that this collection adds; change may be empty."""
    return MARKER + " ".join([date] + (["change"] + change.split() if change else []))


def value_of(text):
    """The effective value in a journal text; None for None."""
    return None if text is None else _assignment(json.loads(text)[-1][1])[1]


def name_of(text):
    """The parameter or directive that a journal text sets."""
    return _assignment(json.loads(text)[-1][1])[0]


def legible(text):
    """Whether this is None or a valid journal text."""
    try:
        items = [] if text is None else json.loads(text)
        return text is None or isinstance(items, list) and items != [] and all(_is_item(item) for item in items)
    except (ValueError, RecursionError):
        return False


def _is_item(item):
    if not isinstance(item, list) or len(item) not in (2, 6):
        return False
    numbers = [item[0]] + item[3:4] * (item[3:4] != [None]) + item[4:5] * (item[4:5] != [None]) + item[5:]
    raw = item[1]
    if not all(isinstance(number, int) for number in numbers) or not isinstance(raw, str):
        return False
    raw.encode("latin-1")  # UnicodeEncodeError is a ValueError
    ends = item[2:3] == [] or isinstance(item[2], str) and item[2].strip("\r\n") == ""
    return ends and "\n" not in raw and _assignment(raw)[0] is not None


def shown(text):
    """Text of a profile for people: as UTF-8 if it is valid UTF-8, else as Latin-1."""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


class Profile:
    """One profile, which does not change; changed() returns a new one. Raises HostError if it is too large for one."""

    def __init__(self, data):
        if len(data) > _LARGEST:
            raise HostError("a file of more than %d KiB is not a profile" % (_LARGEST >> 10))
        self._data = data
        self._lines = _lines(data.decode("latin-1"))
        self._values = {}
        self._where = {}
        self._ours = set()  # our markers and the lines below them
        ours = False
        for index, (raw, _end) in enumerate(self._lines):
            name, value = _assignment(raw)
            ours = raw.startswith(MARKER) or ours and bool(name)
            if ours:
                self._ours.add(index)
            if name:
                self._values[index] = value
                self._where.setdefault(name, []).append(index)
        for name, where in self._where.items():
            if len(where) > _MOST_LINES:
                raise HostError("more than %d lines set %.100s: this is not a profile" % (_MOST_LINES, shown(name)))

    def data(self):
        return self._data

    def names(self):
        """The parameters with a line, in the order of the file, without directives."""
        return [name for name in sorted(self._where, key=lambda name: self._where[name][0]) if not is_directive(name)]

    def directives(self):
        """The directives with a line, in the order of the file."""
        return [name for name in sorted(self._where, key=lambda name: self._where[name][0]) if is_directive(name)]

    def active(self, name):
        """The lines that assign this name: [Line]."""
        return [Line(at + 1, self._lines[at][0], self._values[at]) for at in self._where.get(name, [])]

    def value(self, name):
        """The effective value; None if no line assigns this name."""
        lines = self.active(name)
        return lines[-1].value if lines else None

    def duplicates(self):
        """{parameter: [numbers of its lines]} for parameters with more than one line."""
        return {name: [at + 1 for at in self._where[name]] for name in self.names() if len(self._where[name]) > 1}

    def text(self, name):
        """The journal text of a parameter's lines; None if no line assigns it."""
        return json.dumps(self._items(name)) if name in self._where else None

    def wanted(self, name, value):
        """The journal text of a parameter with the requested value; value: text from the user, or None for no line.

        Raises InputError if the value cannot be written in the profile's encoding.
        """
        if value is None:
            return None
        text = self._encoded(value)
        if text == self.value(name):
            return self.text(name)
        if name not in self._where:
            return json.dumps([[0, ("%s = %s" % (name, text)).rstrip(_BLANKS)]])
        items = self._items(name)
        items[-1][1] = _with_value(items[-1][1], text)
        return json.dumps(items)

    def changed(self, changes, marker_line):
        """The profile after changes {name: journal text or None}.

        A parameter with lines gets the last line of the text in place of its own last line. A parameter without lines,
        or with only one that this collection added for removed lines, gets the lines of the text: at their old place,
        or at the end below one marker_line. None removes all lines, and a marker together with the last line below it.
        """
        gone, other, back, new = set(), {}, [], []
        for name, text in changes.items():
            here = self._where.get(name, [])
            items = [] if text is None else json.loads(text)
            if here and items and not self._added(here[-1], items[-1]):
                other[here[-1]] = items[-1][1]
            else:
                gone.update(here)
                back += [item for item in items if item[0]]
                new += [item[1] for item in items if not item[0]]
        gone.update(self._emptied_markers(gone))
        raws = [other.get(at, raw) for at, (raw, _end) in enumerate(self._lines)]
        lines = []
        for entry in self._order(raws, gone, back):
            if isinstance(entry, list):
                lines.append((entry[1], entry[2]))
            elif entry not in gone:
                lines.append((raws[entry], self._lines[entry][1]))
        if new:
            lines += [(raw, self._usual_end()) for raw in [self._encoded(marker_line)] + new]
        # the end of the line before a removed last one tells how to put it back
        keeps_end = not self._lines or len(self._lines) - 1 in gone - self._ours
        return Profile(self._joined(lines, keeps_end).encode("latin-1"))

    def _items(self, name):
        """The lines of a name as items of a journal text."""
        theirs = len(self._lines) - len(self._ours)
        return [
            [at + 1] + list(self._lines[at]) + [self._key(at - 1), self._key(at + 1), theirs]
            for at in self._where[name]
        ]

    def _key(self, at):
        """The checksum of a line as a neighbour; None before the first and after the last line."""
        return _checksum(self._lines[at][0]) if 0 <= at < len(self._lines) else None

    def _order(self, raws, gone, items):
        """The indexes of the lines, with the returning items among them; raws: the new text of the lines."""
        if not items:
            return range(len(raws))
        # the neighbour may have had its old or its new text when the item was removed
        return _arranged([{_checksum(raw), _checksum(new)} for (raw, _end), new in zip(self._lines, raws)], gone, items)

    def _added(self, at, item):
        """Whether this collection added the line at this index after the item was noted."""
        return item[0] > 0 and at in self._ours and self._key(at - 1) != item[3]

    def _emptied_markers(self, gone):
        """Indexes of our markers whose lines will all be removed."""
        for index in self._ours.difference(self._values):
            below = set(takewhile(self._values.__contains__, count(index + 1)))
            if below and below <= gone:
                yield index

    def _usual_end(self):
        ends = [end for _raw, end in self._lines if end.endswith("\n")]
        return max(sorted(set(ends)), key=ends.count) if ends else "\n"

    def _joined(self, lines, keeps_end):
        """The text of lines; it ends without a line end if this profile does, unless the last line keeps its own."""
        if not lines:
            return ""
        usual = self._usual_end()
        text = "".join(raw + (end if end.endswith("\n") else usual) for raw, end in lines[:-1])
        raw, end = lines[-1]
        if not keeps_end and not self._lines[-1][1].endswith("\n"):
            # an empty last line without its end would not exist
            end = self._lines[-1][1] or (end if not raw else "")
        return text + raw + end

    def _encoded(self, text):
        """Text of a user in the encoding of this profile, as Latin-1 text."""
        try:
            self._data.decode("utf-8")
            encoding = "UTF-8"
        except UnicodeDecodeError:
            encoding = "Latin-1"
        try:
            return text.encode(encoding, "surrogateescape").decode("latin-1")
        except UnicodeEncodeError as error:
            said = "'%s' cannot be written into this profile: its encoding is %s, which does not have '%s'"
            raise InputError(said % (text, encoding, text[error.start : error.end])) from error


def _lines(text):
    """[(line without its end, its end)]. The end is LF with the CRs before it; the last line may lack LF or both."""
    parts = [part + "\n" for part in text.split("\n")]
    parts[-1] = parts[-1][:-1]
    raws = [part.rstrip("\r\n") for part in parts if part]
    return [(raw, part[len(raw) :]) for raw, part in zip(raws, parts)]


def _assignment(raw):
    """(name, value) of a line; (None, None) if it assigns nothing."""
    name, equals, value = raw.partition("=")
    name = name.strip(_BLANKS)
    if not equals or not name or name.startswith("#"):
        return None, None
    return name, value.strip(_BLANKS)


def _with_value(raw, value):
    """An assigning line with another value, its spacing kept."""
    name, _equals, rest = raw.partition("=")
    old = rest.strip(_BLANKS)
    before, _old, after = rest.partition(old) if old else (rest, "", "")
    if not before and not old and name[-1:] in _BLANKS:
        before = " "
    return "%s=%s%s%s" % (name, before, value, after)


def _checksum(raw):
    """The checksum by which a line is recognized as a neighbour."""
    return zlib.crc32(raw.encode("latin-1")) & 0xFFFFFFFF


def _arranged(keys, gone, items):
    """The indexes of keys, with the items among them in their places; keys: the possible checksums of each line.

    The item that was removed last returns first, because its number is that of the file without the others.
    """
    order, gaps = list(range(len(keys))), _gaps(keys, gone)
    for item in sorted(items, key=lambda item: (item[-1], item[0])):
        at, own = _place(gaps, item), {_checksum(item[1])}
        order.insert(at, item)
        gaps[at : at + 1] = [(gaps[at][0], own), (own, gaps[at][1])]
    return order


def _gaps(keys, gone):
    """[(checksums above, checksums below)] for every place between two lines.

    Lines that will be removed were added at the end meanwhile: the line before them still counts as the last one.
    """
    below = [{None}]
    for at, own in reversed(list(enumerate(keys))):
        below.append(own | below[-1] if at in gone else own)
    return list(zip([{None}] + keys, reversed(below)))


def _place(gaps, item):
    """The index of the best gap for a line: with most of its neighbours, then the nearest to its number."""
    number, _raw, _end, before, after, _theirs = item
    return max(
        range(len(gaps)), key=lambda at: ((before in gaps[at][0]) + (after in gaps[at][1]), -abs(at + 1 - number), at)
    )
