# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a capture can hold: tells a file that the machine did not have from one that the capture lacks."""

import posixpath


def inside(folder, names):
    """The paths of these names in a folder; names: a text with blanks between them."""
    return tuple("%s/%s" % (folder, name) for name in names.split())


# Where settings of the kernel are stored.
SYSCTL = inside("", "etc/sysctl.conf etc/sysctl.d usr/lib/sysctl.d lib/sysctl.d run/sysctl.d usr/local/lib/sysctl.d")


class Holdings:
    """{path: ""} for what the capture holds as a whole, {path: sentence} for what it lacks; the longest path decides.

    default: the sentence for all other paths. A * stands for one name in a path.
    """

    def __init__(self, default):
        self._rows = {"/": default}

    def holds(self, *paths):
        """The capture has these paths as a whole: what is missing there is missing on the host."""
        self.lacks("", *paths)

    def lacks(self, sentence, *paths):
        """sentence: "" if the capture holds these paths as a whole."""
        self._rows.update(dict.fromkeys(paths, sentence))

    def why(self, path):
        """The sentence for a path, or ""."""
        while True:
            for row in self._names(path):
                if row in self._rows:
                    return self._rows[row]
            path = posixpath.dirname(path)

    def _names(self, path):
        yield path
        folder, name = posixpath.split(path)
        if name:
            yield posixpath.join(folder, "*" + posixpath.splitext(name)[1])
            yield posixpath.join(folder, "*")
            above, inner = posixpath.split(folder)
            if inner:
                yield posixpath.join(above, "*", name)
