# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of measuring, each with one sentence that the user can act on."""

import socket

from .._host.errors import HostError


class MeasureError(HostError):
    """A measurement, a server or a run failed; the text is one sentence for the user."""


def sentence(error):
    """The text of a MeasureError; of an OSError, its file and the system's reason."""
    if isinstance(error, OSError) and error.strerror:
        return "%s: %s" % (error.filename, error.strerror) if error.filename else error.strerror
    return str(error)


def explain(error, address, port):
    """Turn an exception of a socket call into one sentence that names the other end.

    The order matters: timeouts and refusals are OSErrors, too.
    """
    where = "%s port %s" % (address, port)
    if isinstance(error, MeasureError):
        return str(error)
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens at %s (connection refused)" % where
    # A blocking socket with SO_RCVTIMEO reports its time limit as EAGAIN.
    if isinstance(error, (socket.timeout, BlockingIOError)):
        return "no answer from %s within the time limit" % where
    if isinstance(error, (ConnectionResetError, BrokenPipeError, ConnectionAbortedError, EOFError)):
        return "the server at %s closed the connection" % where
    if isinstance(error, socket.gaierror):
        return "the name %s cannot be resolved: %s" % (address, error.strerror or error)
    return "%s: %s" % (where, getattr(error, "strerror", None) or error)
