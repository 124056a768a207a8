# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two ends of a measurement: their counters right before and right after the measured work."""

import os

from .. import replies
from ..cpu import counters
from ..errors import MeasureError


class Ends:
    """The counters of both ends: of this host, and of the server through its control channel (None: only this host).

    own_meter: the meter of this host, on systems that need one.
    """

    def __init__(self, channel, own_meter=None):
        self._channel = channel
        self._meter = own_meter
        self._last = None
        self.gone = None

    def sample(self):
        """{"client": snapshot, "server": snapshot or None}; ServerGone if the server does not answer."""
        server = None
        if self._channel:
            server = self._channel.request("sample")["sample"]
            replies.check_order(self._last, server, self._channel.target.address)
            self._last = server
        return dict(self.sample_alone(), server=server)

    def sample_alone(self):
        """As sample(), without asking the server."""
        return {"client": counters.snapshot(meter=self._meter, pids=(os.getpid(),)), "server": None}

    def check(self):
        """After a failed run: remember if the server is gone."""
        if self._channel and self.gone is None:
            try:
                self._channel.request("sample")
            except MeasureError as error:
                self.gone = str(error)


class Window:
    """A context that samples both ends at its begin and end."""

    def __init__(self, ends):
        self._ends = ends
        self.cpu = self.net = None

    def __enter__(self):
        self._before = self._ends.sample()
        return self

    def __exit__(self, kind, *_details):
        if kind is None:
            after = self._ends.sample()
            self.cpu = _between(counters.cpu_between, self._before, after)
            self.net = _between(counters.net_between, self._before, after)


def _between(function, before, after):
    return {
        end: function(before[end], after[end]) if before[end] and after[end] else None for end in ("client", "server")
    }
