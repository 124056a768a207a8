# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The names of a capture in memory: what each is, where its content lies, and where its links lead.

Links are text of the capture. They are followed in this index only, component by component, and never above its top.
"""

import posixpath
from collections import namedtuple

from .._host.errors import HostError
from . import limits

FOLDER, FILE, LINK, NOTHING, UNREADABLE, REFUSED = range(6)

# kind: one of the above; NOTHING is /dev/null. value: of a FOLDER {name: Entry}, of a FILE its content (a function of
# an offset and a number of bytes, by default all, that returns bytes), of a LINK its target, of UNREADABLE (read as if
# absent) and REFUSED (an error) a sentence. size: of a FILE in bytes.
Entry = namedtuple("Entry", "kind value size")
Entry.__new__.__defaults__ = (None, 0)
_LOOP = Entry(UNREADABLE, "its links lead in a circle")
_NUMBER_OF_WORDS = 12


def inside(folder, names):
    """The paths of these names in a folder; names: a text with blanks between them."""
    return tuple("%s/%s" % (folder, name) for name in names.split())


# Where settings of the kernel are stored.
SYSCTL = inside("", "etc/sysctl.conf etc/sysctl.d usr/lib/sysctl.d lib/sysctl.d run/sysctl.d usr/local/lib/sysctl.d")


def file_of(data):
    """A FILE with this content."""
    return Entry(FILE, lambda *dummy: data, len(data))


def shown(name):
    """A name of an archive for a message: one line, printable, at most 100 characters."""
    escaped = name.encode("utf-8", "surrogateescape").decode("ascii", "backslashreplace")
    return escaped.encode("unicode_escape").decode("ascii")[:100]


class Tree:
    """An index of absolute names. archive: what they are of, for messages; budget: what is left for the capture.

    default: why it has no other paths than those that it holds, see lacks(). cut, cut_below: why something may be
    missing below a folder that it holds as a whole. cut_at: bytes of a name in /sys from which the last one is missing.
    """

    def __init__(self, archive, budget, top=None, default=""):
        self.archive, self.budget = archive, budget
        self.cut, self.cut_below, self.cut_at = "", "/", 0
        self._top = top or Entry(FOLDER, {})
        self._where = {}
        self._rows = {"/": default}

    def below(self, folder):
        """The Tree of what is below a folder."""
        return Tree(self.archive, self.budget, self._top.value[folder] if folder else self._top)

    def only(self, names, default):
        """A new Tree of these names of the top. It has /dev/null, because masked units lead there."""
        found = {name: self._top.value[name] for name in names if name in self._top.value}
        found["dev"] = Entry(FOLDER, dict(self.names("/dev"), null=Entry(NOTHING)))
        return Tree(self.archive, self.budget, Entry(FOLDER, found), default)

    def _folder(self, path):
        """The names in the folder of a path, which is made if it is absent; None below what is not a folder."""
        inside = self._top
        for name in path.strip("/").split("/")[:-1]:
            if name not in inside.value:
                self.budget.count()
                inside.value[name] = Entry(FOLDER, {})
            inside = inside.value[name]
            if inside.kind != FOLDER:
                return None
        return inside.value

    def add(self, path, entry):
        """Add an entry and the folders above it.

        Raises HostError if the path is there already, or lies below something that is not a folder.
        """
        names, name = self._folder(path), posixpath.basename(path)
        if names is None:
            above = shown(posixpath.dirname(path))
            raise HostError("%s holds names below %s, which is not a folder" % (self.archive, above))
        if name not in names:
            self.budget.count()
            names[name] = entry
        elif not names[name].kind == entry.kind == FOLDER:
            raise HostError("%s holds %s twice" % (self.archive, shown(path)))

    def put(self, path, entry):
        """Set an entry, whatever was there."""
        self._folder(path)[posixpath.basename(path)] = entry

    def add_text(self, path, text, where, loose=False):
        """Add a file that a capture holds as the text of a command or as a section, where the machine has it.

        where: the part of the capture that holds it, for messages. loose: blanks do not matter, as for the values of
        sysctl(8). Two different contents of one path are contradictory: neither is chosen.
        """
        # untrusted text may name /etc/passwd/x
        names, name = self._folder(path) if len(path) <= limits.MOST_NAME else None, posixpath.basename(path)
        if names is None:
            return
        known = names.get(name)
        if known is None or known.kind == UNREADABLE:
            if known is None:
                self.budget.count()
            names[name] = file_of(text.encode("utf-8", "surrogateescape"))
            self._where[path] = where
        elif known.kind == FILE:
            found = known.value().decode("utf-8", "surrogateescape")
            if (found.split() != text.split()) if loose else found.rstrip("\n") != text.rstrip("\n"):
                values = tuple(" ".join(one.split()[:_NUMBER_OF_WORDS])[:60] for one in (found, text))
                parts = (values[0], self._where.get(path, "the copied file"), values[1], where)
                sentence = "it is contradictory in the capture: %r in %s, %r in %s" % parts
                names[name] = Entry(REFUSED, sentence)

    def text(self, path):
        """The text of a file; "" if absent."""
        entry = self.resolve(path)[1]
        if entry is None or entry.kind != FILE:
            return ""
        self.budget.read(entry.size)
        return entry.value().decode("utf-8", "surrogateescape")

    def names(self, path):
        """{name: Entry} of what is in a folder."""
        entry = self.resolve(path)[1]
        return entry.value if entry is not None and entry.kind == FOLDER else {}

    def files(self, top):
        """Yield (path, Entry) of the files below a folder."""
        waiting = [(top, self.names(top))]
        while waiting:
            folder, names = waiting.pop()
            for name, entry in names.items():
                if entry.kind == FOLDER:
                    waiting.append((folder + "/" + name, entry.value))
                elif entry.kind == FILE:
                    yield folder + "/" + name, entry

    def resolve(self, path, follow=True):
        """(path with all links followed, its Entry or None). follow: False leaves a link at the end.

        A loop of links leads to an UNREADABLE entry.
        """
        way, waiting, links = [("", self._top)], path.split("/")[::-1], 0
        while waiting:
            name, inside = waiting.pop(), way[-1][1]
            if name in ("", "."):
                continue
            if name == ".." and inside.kind == FOLDER:
                way[1:] = way[1:-1]
                continue
            entry = inside.value.get(name) if inside.kind == FOLDER else None
            if entry is None:
                names = [above for above, dummy in way] + [name] + waiting[::-1]
                return posixpath.normpath("/".join(names)), None
            if entry.kind != LINK or (not follow and not any(waiting)):
                way.append((name, entry))
                continue
            links += 1
            if links > limits.MOST_LINKS:
                return posixpath.normpath(path), _LOOP
            if entry.value.startswith("/"):
                del way[1:]
            waiting += entry.value.split("/")[::-1]
        return "/".join(name for name, dummy in way) or "/", way[-1][1]

    def lacks(self, sentence, *paths):
        """Say why these paths and all below them may be missing; the longest path decides, a * stands for one name.

        sentence: "" if the capture holds the paths as a whole: what is missing there is missing on the host.
        """
        self._rows.update(dict.fromkeys(paths, sentence))

    def why(self, path):
        """The sentence why the capture cannot hold a path that is missing; "" if it holds the folder as a whole."""
        cut = path.startswith("/sys/") and len(path.encode("utf-8", "surrogateescape")) == self.cut_at
        if cut and self.resolve(path[:-1])[1] is not None:
            return "dump2tar before 2.29 cuts a name of 100 characters, and %s is there" % path[:-1]
        below, above = self.cut_below.rstrip("/") + "/", path
        while True:
            for row in _patterns(above):
                if row in self._rows:
                    return self._rows[row] or (self.cut if (path + "/").startswith(below) else "")
            above = posixpath.dirname(above)


def _patterns(path):
    yield path
    folder, name = posixpath.split(path)
    if name:
        yield posixpath.join(folder, "*" + posixpath.splitext(name)[1])
        yield posixpath.join(folder, "*")
        above, inner = posixpath.split(folder)
        if inner:
            yield posixpath.join(above, "*", name)
