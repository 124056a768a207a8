# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the option network of the module workload to a server, and to the workloads of a round."""

import functools
import os

from .. import transport, wire
from ..errors import MeasureError
from ..workloads import options, programs
from . import network, pingpong

MOST_CONNECTIONS = 250


def specification(tools):
    """What a user may choose, as options of the module; documented in plugins/modules/workload.py."""
    return {
        "tool": {"type": "str", "choices": [pingpong.TOOL] + sorted(tools)},
        "kinds": {
            "type": "list",
            "elements": "str",
            "choices": list(network.KIND_NAMES),
            "default": list(network.KIND_NAMES),
        },
        "connections": {"type": "list", "elements": "int", "default": list(network.CONNECTIONS)},
        "transport": {"type": "str", "choices": [transport.TCP, transport.SMC], "default": transport.TCP},
    }


def _check_transport(chosen, tool):
    if tool != pingpong.TOOL and chosen["transport"] != transport.TCP:
        raise MeasureError("%s opens TCP sockets only: transport smc takes tool pingpong" % tool)


def _check(chosen, tool, tools):
    """MeasureError for the first option that cannot be, with this tool."""
    options.check_lists("network", chosen, ("kinds", "connections"))
    options.check_limits("network", chosen, {"connections": MOST_CONNECTIONS})
    _check_transport(chosen, tool)
    if tool != pingpong.TOOL:
        network.check(tools[tool].Workload, chosen["kinds"], chosen["connections"])


def names(given, tool, tools):
    """The names of the workloads that the options of a playbook mean, in their order.

    ValueError for what is no number where one has to be.
    """
    chosen = options.filled(specification(tools), given)
    return [network.workload_name(tool, kind, number) for kind, number in _shapes(chosen)]


def _shapes(chosen):
    return [(kind, number) for number in chosen["connections"] for kind in chosen["kinds"]]


def _binary(program, path, search_path, server):
    """The program of this end. The server's lies beside a client that the user named; MeasureError where it is not."""
    name = program.SERVER if server else program.TOOL
    if path and os.path.basename(path) == program.TOOL:
        path = os.path.join(os.path.dirname(path), name)
    return programs.require(name, path, search_path, ", or take pingpong")


def server_of(chosen, tools, path, search_path):
    """(tool, version, what agent.start() takes for it)."""
    tool = chosen["tool"] or pingpong.TOOL
    _check_transport(chosen, tool)
    if tool == pingpong.TOOL:
        return tool, pingpong.VERSION, {"kind": chosen["transport"]}
    binary = _binary(tools[tool], path, search_path, True)
    return tool, tools[tool].version(binary), {"program": functools.partial(tools[tool].server_argv, binary)}


def workloads(chosen, tools, params, search_path):
    """The workloads of checked options against the server of params' session."""
    session, address = params["session"], params["address"]
    tool = session["tool"]
    if chosen["tool"] not in (None, tool):
        raise MeasureError("tool is %s, but the server of the session serves %s" % (chosen["tool"], tool))
    if tool != pingpong.TOOL and tool not in tools:
        raise MeasureError("the server of the session serves %s, which runs no network workloads" % tool)
    _check(chosen, tool, tools)
    if tool == pingpong.TOOL:
        target = wire.Target(address, session["port"], session["token"], chosen["transport"])
        return [network.Pingpong(target, network.kind_named(kind), number) for kind, number in _shapes(chosen)]
    binary = _binary(tools[tool], params["path"], search_path, False)
    version, where = tools[tool].version(binary), (address, session["port"])
    made = [
        tools[tool].Workload(binary, version, where, network.kind_named(kind), number)
        for kind, number in _shapes(chosen)
    ]
    for workload in made:
        workload.params["server_version"] = session["version"]
    return made
