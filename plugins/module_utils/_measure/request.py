# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the options of the module niping to a round: limits, the tool, the plan."""

from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import (
    engines,
    niping,
    pingpong,
    rounds,
    transport,
    wire,
)
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError

_LIMITS = (
    ("port", 0, 65535),
    ("control_port", 0, 65535),
    ("lifetime", 1, 7 * 86400),
    ("loops", 0, pingpong.MAX_LOOPS),
    ("run_seconds", 0.001, 600),
    ("runs", 1, 50),
    ("warmup", 0, 10),
    ("connections", 1, 250),
    ("timeout", 1, 86400),
    ("idle_seconds", 0, 600),
    ("round", 1, 1000),
)


def check(params):
    """MeasureError for the first option that is out of its limits."""
    for name, low, high in _LIMITS:
        if not low <= params[name] <= high:
            raise MeasureError("%s is %s; it has to be from %s to %s" % (name, params[name], low, high))
    if not params["bytes"]:
        raise MeasureError("bytes is empty; name at least one size")
    for size in params["bytes"]:
        if not 1 <= size <= pingpong.MAX_BYTES:
            raise MeasureError("bytes has %s; every size has to be from 1 to %d" % (size, pingpong.MAX_BYTES))
    if len(set(params["bytes"])) != len(params["bytes"]):
        raise MeasureError("bytes names a size twice; each size is one workload")
    if params["timeout"] < params["run_seconds"]:
        raise MeasureError("timeout is shorter than run_seconds; every run would fail")
    for name, loops in (params["calibrated"] or {}).items():
        if isinstance(loops, bool) or not isinstance(loops, int) or not 1 <= loops <= pingpong.MAX_LOOPS:
            raise MeasureError("calibrated has %s: %s; round trips from 1 to %d" % (name, loops, pingpong.MAX_LOOPS))


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


def plan(params):
    """The rounds.Plan of checked options."""
    values = {name: params[name] for name in rounds.Plan._fields}
    values["calibrated"] = params["calibrated"] or {}
    protocol = params["protocol"] or {}
    values["protocol"] = {"name": "custom", "rounds": 1, "design": "blocks"}
    values["protocol"].update((key, value) for key, value in protocol.items() if value is not None)
    return rounds.Plan(**values)


def measure(params, session, binary):
    """One round against the server of a session: its records without ids. binary: niping of this host, or None."""
    address = params["address"]
    channel = wire.Channel(wire.Target(address, session["control_port"], session["token"]))
    if session["tool"] == niping.TOOL:
        engine = engines.Niping(binary, niping.version(binary), address, session["port"])
    else:
        engine = engines.Pingpong(wire.Target(address, session["port"], session["token"], params["transport"]))
    try:
        return rounds.measure_round(plan(params), engine, channel)
    finally:
        channel.close()
