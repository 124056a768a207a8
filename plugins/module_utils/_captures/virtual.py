# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that a capture holds as text of a command or as a section, at the paths that the machine has them at."""

import posixpath

from .limits import MOST_NAME
from .tree import CONTRADICTORY, FILE, FOLDER, UNREADABLE, Entry, text_entry

_NUMBER_OF_WORDS = 12


class Virtual:
    """Collects such files for a Tree. Two different contents of one path are contradictory: neither is chosen."""

    def __init__(self, tree, archive, count):
        self._tree, self._archive, self._count = tree, archive, count
        self._where = {}

    def add(self, path, text, where, loose=False):
        """Add a file; where: the part of the capture that holds it, for messages.

        loose: blanks do not matter, as for the values of sysctl(8). count: called for each new name.
        """
        if len(path) > MOST_NAME:
            return
        known = self._tree.get(path)
        if known is None or known.kind == UNREADABLE:
            if known is None:
                # untrusted text may name /etc/passwd/x
                above = posixpath.dirname(path)
                while above not in self._tree:
                    above = posixpath.dirname(above)
                if self._tree.get(above).kind != FOLDER:
                    return
                self._count()
                self._tree.add(path, text_entry(text), self._archive, self._count)
            else:
                self._tree.put(path, text_entry(text))
            self._where[path] = where
            return
        if known.kind != FILE:
            return
        found = known.value().decode("utf-8", "surrogateescape")
        if (found.split() != text.split()) if loose else found.rstrip("\n") != text.rstrip("\n"):
            first = self._where.get(path, "the copied file")
            values = tuple(" ".join(one.split()[:_NUMBER_OF_WORDS])[:60] for one in (found, text))
            sentence = "it is contradictory in the capture: %r in %s, %r in %s" % (values[0], first, values[1], where)
            self._tree.put(path, Entry(CONTRADICTORY, sentence, 0, None))
