# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the options of the module niping to a server, and to the workloads of a round."""

import functools

from .. import transport
from ..errors import MeasureError
from ..workloads.options import check_limits, check_lists, session_tool
from . import engines, niping, pingpong, request

# The options of the module, documented in plugins/modules/niping.py; the sizes are those of the published measurements.
OPTIONS = {
    "tool": {"type": "str", "choices": ["auto", niping.TOOL, pingpong.TOOL], "default": "auto"},
    "transport": request.TRANSPORT,
    "bytes": {"type": "list", "elements": "int", "default": [1, 500, 1000, 1400, 1500, 4000, 10000]},
    "loops": {"type": "int", "default": 0},
    "connections": {"type": "int", "default": 1},
}
LIMITS = {
    "bytes": (1, pingpong.MAX_BYTES),
    "connections": (1, request.MOST_CONNECTIONS),
    "loops": (0, pingpong.MAX_LOOPS),
}


def names(options, tool):
    return [engines.workload_name(tool, size, options["connections"]) for size in options["bytes"]]


def choose(tool, path, search_path, kind=transport.TCP):
    """(tool, path of niping or None, warnings) for the option tool; MeasureError if niping is required and missing.

    kind: the transport, which only pingpong can choose.
    """
    if tool == niping.TOOL:
        request.check_transport(tool, kind)
    if tool == pingpong.TOOL or kind != transport.TCP:
        return pingpong.TOOL, None, []
    binary = niping.find(path, search_path)
    if binary is not None:
        return niping.TOOL, binary, []
    if tool == niping.TOOL:
        where = niping.looked_in(search_path)
        raise MeasureError("SAP's niping was not found in %s: set path to it, or tool to pingpong" % where)
    return pingpong.TOOL, None, ["SAP's niping was not found on this host: pingpong of this collection measures"]


def how_to_serve(tool, binary):
    """Arguments of agent.start() for this tool: version, and for niping the program."""
    if tool == pingpong.TOOL:
        return {"version": pingpong.VERSION}
    return {"version": niping.version(binary), "program": functools.partial(niping.server_argv, binary)}


def server(options, params, search_path):
    """As in round/tools.py."""
    kind = options["transport"]
    tool, binary, warnings = choose(options["tool"], params["path"], search_path, kind)
    return tool, dict(how_to_serve(tool, binary), kind=kind), {"warnings": warnings}


def workloads(options, params, search_path):
    """One workload per size, against the server of params' session."""
    check_lists(options, ("bytes",))
    check_limits(options, LIMITS)
    session, sizes, connections = params["session"], options["bytes"], options["connections"]
    if session_tool(options["tool"], session) != niping.TOOL:
        target = request.target(params, options["transport"])
        return [engines.Pingpong(target, size, connections) for size in sizes]
    binary = choose(niping.TOOL, params["path"], search_path, options["transport"])[1]
    version, where = niping.version(binary), (params["address"], session["port"])
    return [engines.Niping(binary, version, where, size, connections) for size in sizes]
