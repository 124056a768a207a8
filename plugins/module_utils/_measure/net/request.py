# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the options of the modules niping and workload (network) to a server, and to the workloads of a round.

In both, pingpong needs nothing installed, every other tool is a program, and a client takes the tool of its session.
"""

import functools
import os

from .. import transport, wire
from ..errors import MeasureError
from ..workloads import options, programs
from ..workloads.workload import workload_name
from . import engines, netperf, network, niping, pingpong, qperf, sockperf

MOST_CONNECTIONS = 250
# The sizes of the published measurements.
DEFAULT_BYTES = (1, 500, 1000, 1400, 1500, 4000, 10000)
TRANSPORT = {"type": "str", "choices": [transport.TCP, transport.SMC], "default": transport.TCP}
# Programs for the network workloads. Each file has TOOL, SERVER, version, server_argv and Workload.
NETWORK_TOOLS = {tool.TOOL: tool for tool in (netperf, qperf, sockperf)}
# The option network of the module workload, documented in plugins/modules/workload.py.
NETWORK = {
    "tool": {"type": "str", "choices": [pingpong.TOOL] + sorted(NETWORK_TOOLS)},
    "kinds": {
        "type": "list",
        "elements": "str",
        "choices": list(network.KIND_NAMES),
        "default": list(network.KIND_NAMES),
    },
    "connections": {"type": "list", "elements": "int", "default": list(network.CONNECTIONS)},
    "transport": TRANSPORT,
}


def _check_transport(tool, kind):
    if tool != pingpong.TOOL and kind != transport.TCP:
        raise MeasureError("%s opens TCP sockets only: transport smc takes tool pingpong" % tool)


def _target(params, kind):
    session = params["session"]
    return wire.Target(params["address"], session["port"], session["token"], kind)


# the module niping


def check_niping(params):
    """MeasureError for the first option of the module niping's own that is out of its limits."""
    options.check_lists(params, ("bytes",))
    limits = {"bytes": pingpong.MAX_BYTES, "connections": MOST_CONNECTIONS}
    options.check_limits(params, {name: (1, most) for name, most in limits.items()})
    options.check_limits(params, {"loops": (0, pingpong.MAX_LOOPS)})


def choose_niping(tool, path, search_path, kind=transport.TCP):
    """(tool, path of niping or None, warnings) for the option tool; MeasureError if niping is required and missing.

    kind: the transport, which only pingpong can choose.
    """
    if tool == niping.TOOL:
        _check_transport(tool, kind)
    if tool == pingpong.TOOL or kind != transport.TCP:
        return pingpong.TOOL, None, []
    binary = niping.find(path, search_path)
    if binary is not None:
        return niping.TOOL, binary, []
    if tool == niping.TOOL:
        where = niping.looked_in(search_path)
        raise MeasureError("SAP's niping was not found in %s: set path to it, or tool to pingpong" % where)
    return pingpong.TOOL, None, ["SAP's niping was not found on this host: pingpong of this collection measures"]


def niping_server(tool, binary):
    """Arguments of agent.start() for this tool: version, and for niping the program."""
    if tool == pingpong.TOOL:
        return {"version": pingpong.VERSION}
    return {"version": niping.version(binary), "program": functools.partial(niping.server_argv, binary)}


def niping_workloads(params, search_path):
    """One workload per size, against the server of params' session."""
    session, sizes, connections = params["session"], params["bytes"], params["connections"]
    if options.session_tool(params["tool"], session) != niping.TOOL:
        target = _target(params, params["transport"])
        return [engines.Pingpong(target, size, connections) for size in sizes]
    binary = choose_niping(niping.TOOL, params["path"], search_path, params["transport"])[1]
    version, server = niping.version(binary), (params["address"], session["port"])
    return [engines.Niping(binary, version, server, size, connections) for size in sizes]


# the module workload with its option network


def network_names(given, tool):
    """The names of the workloads that the options of a playbook mean, in their order.

    ValueError for text where a number is required.
    """
    chosen = options.filled(NETWORK, given)
    return [workload_name(tool, kind, number) for kind, number in _shapes(chosen)]


def _shapes(chosen):
    return [(kind, number) for number in chosen["connections"] for kind in chosen["kinds"]]


def _binary(program, path, search_path, server):
    """The program of this end. The server's lies beside a client that the user named; MeasureError if it does not."""
    name = program.SERVER if server else program.TOOL
    if path and os.path.basename(path) == program.TOOL:
        path = os.path.join(os.path.dirname(path), name)
    return programs.require(name, path, search_path, ", or take pingpong")


def network_server(chosen, path, search_path):
    """(tool, arguments of agent.start() for it)."""
    tool = chosen["tool"] or pingpong.TOOL
    _check_transport(tool, chosen["transport"])
    if tool == pingpong.TOOL:
        return tool, {"version": pingpong.VERSION, "kind": chosen["transport"]}
    program = NETWORK_TOOLS[tool]
    binary = _binary(program, path, search_path, True)
    return tool, {"version": program.version(binary), "program": functools.partial(program.server_argv, binary)}


def network_workloads(chosen, params, search_path):
    """The workloads of the option network against the server of params' session."""
    session = params["session"]
    tool = options.session_tool(chosen["tool"], session)
    if tool not in NETWORK["tool"]["choices"]:
        raise MeasureError("the server of the session serves %s, which runs no network workloads" % tool)
    options.check_lists(chosen, ("kinds", "connections"), "network.")
    options.check_limits(chosen, {"connections": (1, MOST_CONNECTIONS)}, "network.")
    _check_transport(tool, chosen["transport"])
    shapes = [(network.kind_named(kind), number) for kind, number in _shapes(chosen)]
    if tool == pingpong.TOOL:
        target = _target(params, chosen["transport"])
        return [network.Pingpong(target, kind, number) for kind, number in shapes]
    program = NETWORK_TOOLS[tool]
    network.check(program.Workload, chosen["kinds"], chosen["connections"])
    binary = _binary(program, params["path"], search_path, False)
    version, server = program.version(binary), (params["address"], session["port"])
    made = [program.Workload(binary, version, server, kind, number) for kind, number in shapes]
    for workload in made:
        workload.params["server_version"] = session["version"]
    return made
