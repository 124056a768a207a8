# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the option network of the module measure_workload to a server, and to the workloads of a round.

pingpong needs nothing installed, every other tool is a program, and a client takes the tool of its session.
"""

import functools
import os

from .. import transport, wire
from ..errors import MeasureError
from ..workloads import programs
from ..workloads.options import check_options, session_tool, shapes
from ..workloads.workload import workload_name
from . import netperf, network, niping, pingpong, qperf, sockperf

MOST_CONNECTIONS = 250
TRANSPORT = {"type": "str", "choices": [transport.TCP, transport.SMC], "default": transport.TCP}
# Programs for the network workloads. Each file has TOOL, SERVER, VERSION (arguments of programs.version()), server_argv
# and Workload.
NETWORK_TOOLS = {tool.TOOL: tool for tool in (netperf, qperf, sockperf)}
# The options of the module, documented in plugins/modules/measure_workload.py.
OPTIONS = {
    "tool": {"type": "str", "choices": [pingpong.TOOL] + sorted(NETWORK_TOOLS)},
    "kinds": {"type": "list", "elements": "str", "choices": list(network.KINDS), "default": list(network.KINDS)},
    "connections": {"type": "list", "elements": "int", "default": list(network.CONNECTIONS)},
    "transport": TRANSPORT,
}
LISTS = ("connections", "kinds")
LIMITS = {"connections": (1, MOST_CONNECTIONS)}


def check_transport(tool, kind):
    """MeasureError if this tool cannot open sockets of this kind."""
    if tool != pingpong.TOOL and kind != transport.TCP:
        raise MeasureError("%s opens TCP sockets only: transport smc needs tool pingpong" % tool)


def check(tool, options):
    """MeasureError if this tool cannot do what checked options ask for."""
    check_transport(tool, options["transport"])
    if tool != pingpong.TOOL:
        network.check(NETWORK_TOOLS[tool].Workload, options["kinds"], options["connections"])


def target(params, kind):
    """The wire.Target of params' session, for sockets of this kind."""
    session = params["session"]
    return wire.Target(params["address"], session["port"], session["token"], kind)


def how_to_serve(tool, binary, kind=transport.TCP):
    """Arguments of agent.start() for a tool: of pingpong the kind of its sockets, of others their server, a binary."""
    if tool == pingpong.TOOL:
        return {"version": pingpong.VERSION, "kind": kind}
    program = niping if tool == niping.TOOL else NETWORK_TOOLS[tool]
    serve = functools.partial(program.server_argv, binary)
    return {"version": programs.version(binary, *program.VERSION), "program": serve}


def names(options, tool):
    return [workload_name(tool, kind, number) for number, kind in shapes(options, LISTS)]


def _binary(program, path, search_path, server):
    """The program of this end. The server's lies beside a client that the user named; MeasureError if it does not."""
    name = program.SERVER if server else program.TOOL
    if path and os.path.basename(path) == program.TOOL:
        path = os.path.join(os.path.dirname(path), name)
    return programs.require(name, path, search_path, ", or use pingpong")


def server(options, params, search_path):
    """As in round/tools.py."""
    tool = options["tool"] or pingpong.TOOL
    check_transport(tool, options["transport"])
    binary = None if tool == pingpong.TOOL else _binary(NETWORK_TOOLS[tool], params["path"], search_path, True)
    return tool, how_to_serve(tool, binary, options["transport"]), {}


def workloads(options, params, search_path):
    """The workloads of checked options against the server of params' session."""
    session = params["session"]
    if not session or not params["address"]:
        raise MeasureError("workload network needs the session of a started server and its address")
    tool = session_tool(options["tool"], session)
    if tool not in OPTIONS["tool"]["choices"]:
        raise MeasureError("the server of the session serves %s, which runs no network workloads" % tool)
    check_options(options, LIMITS, LISTS, "network.")
    check(tool, options)
    asked = [(network.KINDS[kind], number) for number, kind in shapes(options, LISTS)]
    if tool == pingpong.TOOL:
        where = target(params, options["transport"])
        return [network.Pingpong(where, kind, number) for kind, number in asked]
    program = NETWORK_TOOLS[tool]
    binary = _binary(program, params["path"], search_path, False)
    version, where = programs.version(binary, *program.VERSION), (params["address"], session["port"])
    made = [program.Workload(binary, version, where, kind, number) for kind, number in asked]
    for workload in made:
        workload.params["server_version"] = session["version"]
    return made
