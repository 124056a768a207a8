# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the options of the module niping to a server, and to the workloads of a round."""

from ..._host.commands import folders_of
from .. import transport
from ..errors import MeasureError
from ..workloads import programs
from ..workloads.options import check_options, session_tool
from . import engines, niping, pingpong, request

# The options of the module, documented in plugins/modules/niping.py; the sizes are those of the published measurements.
OPTIONS = {
    "tool": {"type": "str", "choices": ["auto", niping.TOOL, pingpong.TOOL], "default": "auto"},
    "transport": request.TRANSPORT,
    "bytes": {"type": "list", "elements": "int", "default": [1, 500, 1000, 1400, 1500, 4000, 10000]},
    "loops": {"type": "int", "default": 0},
    "connections": {"type": "int", "default": 1},
    "rate": {"type": "int", "default": 0},
}
LIMITS = {
    "bytes": (1, pingpong.MAX_BYTES),
    "connections": (1, request.MOST_CONNECTIONS),
    "loops": (0, pingpong.MAX_LOOPS),
    "rate": (0, pingpong.MAX_RATE),
}


def names(options, tool):
    return [engines.workload_name(tool, size, options["connections"], options["rate"]) for size in options["bytes"]]


def check_rate(tool, rate, prefix=""):
    """MeasureError if this tool cannot keep a rate. prefix: of the names of options to set."""
    if rate and tool == niping.TOOL:
        advice = "set %stool to pingpong, or %srate to 0" % (prefix, prefix)
        raise MeasureError("rate is %s, but niping sends as soon as it has an answer: %s" % (rate, advice))


def choose(tool, path, search_path, kind=transport.TCP, rate=0):
    """(tool, path of niping or None, warnings) for the option tool; MeasureError if niping is required and missing.

    kind and rate: the transport and the rate, which only pingpong can choose.
    """
    if tool == niping.TOOL:
        request.check_transport(tool, kind)
        check_rate(tool, rate)
    if tool == pingpong.TOOL or kind != transport.TCP or rate:
        return pingpong.TOOL, None, []
    name = "SAP's niping" if path else niping.TOOL
    binary = programs.find(name, path, search_path, programs.SAP_FOLDERS)
    if binary is not None:
        return niping.TOOL, binary, []
    if tool == niping.TOOL:
        where = ", ".join(list(programs.SAP_FOLDERS_TEXT) + folders_of(search_path))
        raise MeasureError("SAP's niping was not found in %s: set path to it, or tool to pingpong" % where)
    return pingpong.TOOL, None, ["SAP's niping was not found on this host: pingpong of this collection measures"]


def server(options, params, search_path):
    """As in round/tools.py."""
    kind = options["transport"]
    tool, binary, warnings = choose(options["tool"], params["path"], search_path, kind, options["rate"])
    return tool, request.how_to_serve(tool, binary, kind), {"warnings": warnings}


def workloads(options, params, search_path):
    """One workload per size, against the server of params' session."""
    check_options(options, LIMITS, ("bytes",))
    session, sizes, connections = params["session"], options["bytes"], options["connections"]
    tool = session_tool(options["tool"], session)
    check_rate(tool, options["rate"])
    if tool != niping.TOOL:
        target = request.target(params, options["transport"])
        return [engines.Pingpong(target, size, connections, options["rate"]) for size in sizes]
    binary = choose(niping.TOOL, params["path"], search_path, options["transport"])[1]
    version, where = programs.version(binary, *niping.VERSION), (params["address"], session["port"])
    return [engines.Niping(binary, version, where, size, connections) for size in sizes]
