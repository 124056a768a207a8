# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a running machine for facts: no file on it can stop the reading."""

import platform

from .._host.host import Host, HostError

# a mask of 8192 CPUs has 2303 characters
_LONGEST_VALUE = 4096
_SENTENCES = 5


class Forgiving:
    """A Host for facts. A file that cannot be read counts as absent, with a sentence in remarks."""

    def __init__(self, *parts):
        super().__init__(*parts)
        self.remarks = []

    def _forgive(self, method, path, otherwise):
        try:
            return method(path)
        except HostError as error:
            self.remarks.append(str(error))
            return otherwise

    def exists(self, path):
        return self._forgive(super().exists, path, False)

    def listdir(self, path):
        return self._forgive(super().listdir, path, [])

    def read(self, path):
        return self._forgive(super().read, path, None)

    def value(self, path):
        text = super().value(path)
        return text if text is None or len(text) <= _LONGEST_VALUE else None

    def summary(self):
        """The first few remarks, each once, and how many more there are."""
        different = list(dict.fromkeys(self.remarks))
        more = len(different) - _SENTENCES
        return different[:_SENTENCES] + (["%d more files could not be read" % more] if more > 0 else [])


class ReadingHost(Forgiving, Host):
    """The running machine, for facts."""


def opened(path):
    """The capture at this path, for facts. Raises HostError if it cannot be opened."""
    # most calls read no capture, and compiling this takes time
    from .._captures.host import CapturedHost  # noqa: PLC0415
    from .._captures.opening import open_capture  # noqa: PLC0415

    class ReadingCapture(Forgiving, CapturedHost):
        """The capture, for facts."""

    return open_capture(path).again(ReadingCapture)


def host_and_system(root=None):
    """(a host to read, its system as platform.system() names it); root: a capture, None for this machine.

    Raises HostError for a capture that cannot be opened.
    """
    if not root or root == "/":
        return ReadingHost(), platform.system()
    return opened(root), "Linux"
