# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the options of the module niping to the workloads of a round: limits, the tool, the sizes."""

import functools

from .. import transport, wire
from ..errors import MeasureError
from ..workloads import options
from . import engines, niping, pingpong

# The sizes of the published measurements.
DEFAULT_BYTES = (1, 500, 1000, 1400, 1500, 4000, 10000)


def check(params):
    """MeasureError for the first option of the module niping's own that is out of its limits."""
    options.within(params, (("loops", 0, pingpong.MAX_LOOPS), ("connections", 1, 250)))
    if not params["bytes"]:
        raise MeasureError("bytes is empty; name at least one size")
    for size in params["bytes"]:
        if not 1 <= size <= pingpong.MAX_BYTES:
            raise MeasureError("bytes has %s; every size has to be from 1 to %d" % (size, pingpong.MAX_BYTES))
    if len(set(params["bytes"])) != len(params["bytes"]):
        raise MeasureError("bytes names a size twice; each size is one workload")


def choose_tool(tool, path, search_path, kind=transport.TCP):
    """(tool, path of niping or None, warnings) for what the user asked; MeasureError when niping must be and is not.

    kind: the transport, which only pingpong can choose.
    """
    if kind != transport.TCP and tool == niping.TOOL:
        raise MeasureError("niping opens TCP sockets only: transport smc takes tool pingpong")
    if tool == pingpong.TOOL or kind != transport.TCP:
        return pingpong.TOOL, None, []
    binary = niping.find(path, search_path)
    if binary is not None:
        return niping.TOOL, binary, []
    if tool == niping.TOOL:
        where = niping.looked_in(search_path)
        raise MeasureError("SAP's niping was not found in %s: set path to it, or tool to pingpong" % where)
    return pingpong.TOOL, None, ["SAP's niping was not found on this host: pingpong of this collection measures"]


def server_of(tool, binary):
    """What agent.start() takes for this tool: version, and for niping the program."""
    if tool == pingpong.TOOL:
        return {"version": pingpong.VERSION}
    return {"version": niping.version(binary), "program": functools.partial(niping.server_argv, binary)}


def workloads(params, session, binary):
    """One workload a size. binary: niping of this host where the session serves it, or None."""
    address, connections = params["address"], params["connections"]
    if session["tool"] == niping.TOOL:
        version, where = niping.version(binary), (address, session["port"])
        return [engines.Niping(binary, version, where, size, connections) for size in params["bytes"]]
    target = wire.Target(address, session["port"], session["token"], params["transport"])
    return [engines.Pingpong(target, size, connections) for size in params["bytes"]]
