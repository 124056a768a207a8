# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The common part of the measuring modules: options, their limits, the server, the round."""

import contextlib
import os

from ansible.module_utils.basic import AnsibleModule

from ..._host.errors import HostError
from .. import replies, wire
from ..errors import MeasureError
from ..server import agent
from ..workloads import options
from ..workloads.workload import MAX_LOOPS
from . import rounds

SESSION = dict(
    tool=dict(type="str", required=True),
    version=dict(type="str", default="unknown"),
    address=dict(type="str", default=""),
    port=dict(type="int", required=True),
    control_port=dict(type="int", required=True),
    token=dict(type="str", required=True, no_log=True),
    pid=dict(type="int"),
    start_time=dict(type="str"),
    lifetime=dict(type="int"),
    started=dict(type="str"),
)
PROTOCOL = dict(
    name=dict(type="str", default="custom"),
    rounds=dict(type="int", default=1),
    design=dict(type="str", choices=["alternate", "blocks"], default="blocks"),
    session=dict(type="int"),
    seed=dict(type="str"),
)
# documented in plugins/doc_fragments/measuring.py
ARGUMENTS = dict(
    side=dict(type="str", choices=["client", "server"], required=True),
    state=dict(type="str", choices=["started", "stopped"], default="started"),
    path=dict(type="path"),
    address=dict(type="str"),
    port=dict(type="int", default=0),
    control_port=dict(type="int", default=0),
    lifetime=dict(type="int", default=3600),
    calibrated=dict(type="dict", default={}),
    run_seconds=dict(type="float", default=1.0),
    runs=dict(type="int", default=5),
    warmup=dict(type="int", default=1),
    timeout=dict(type="float", default=60.0),
    control=dict(type="bool", default=True),
    idle_seconds=dict(type="float", default=1.0),
    session=dict(type="dict", options=SESSION),
    change=dict(type="str"),
    phase=dict(type="str"),
    round=dict(type="int", default=1),
    peer=dict(type="str"),
    results=dict(type="path", default="results"),
    protocol=dict(type="dict", default={}, options=PROTOCOL),
)
_LIMITS = {
    "port": (0, 65535),
    "control_port": (0, 65535),
    "lifetime": (1, 7 * 86400),
    "run_seconds": (0.001, 600),
    "runs": (1, 50),
    "warmup": (0, 10),
    "timeout": (1, 86400),
    "idle_seconds": (0, 600),
    "round": (1, 1000),
}


def check(params):
    """MeasureError for the first common option that is out of its limits."""
    options.check_options(params, _LIMITS)
    if params["timeout"] < params["run_seconds"]:
        raise MeasureError("timeout is shorter than run_seconds; every run would fail")
    if params.get("session") is not None:
        replies.check_session(params["session"], params["address"])
    for name, loops in (params["calibrated"] or {}).items():
        if isinstance(loops, bool) or not isinstance(loops, int) or not 1 <= loops <= MAX_LOOPS:
            raise MeasureError("calibrated has %s: %s; loops from 1 to %d" % (name, loops, MAX_LOOPS))


def plan(params):
    """The rounds.Plan of checked options; a module without the option loops always calibrates."""
    values = {name: params.get(name) for name in rounds.Plan._fields}
    return rounds.Plan(**dict(values, loops=values["loops"] or 0, calibrated=params["calibrated"] or {}))


def start(params, check_mode, tool, version, **how):
    """Start the server of a tool: its session. how: further arguments of agent.start() (program, kind)."""
    address, port, control_port = params["address"], params["port"], params["control_port"]
    if not address:
        raise MeasureError(
            "address is not set: a server needs the address of this host to listen on, or 0.0.0.0 or :: for all"
        )
    if not check_mode:
        how.update(version=version, control_port=control_port, lifetime=params["lifetime"])
        return agent.start(tool, address, port, **how)
    session = {"tool": tool, "version": version, "address": address, "port": port, "control_port": control_port}
    return dict(session, token="", pid=None, start_time=None, lifetime=params["lifetime"], started=None)


def measure(params, workloads):
    """The records of one round without ids."""
    session = params["session"]
    if session is None:
        return rounds.measure_round(plan(params), workloads)
    target = wire.Target(params["address"], session["control_port"], session["token"])
    with contextlib.closing(wire.Channel(target, session.get("lifetime"))) as channel:
        return rounds.measure_round(plan(params), workloads, channel)


def chosen(tools, params):
    """(the chosen set of workloads, its options). tools: one set, with the options of the module, or sets by name."""
    if not isinstance(tools, dict):
        return tools, params
    return tools[params["workload"]], params[params["workload"]] or []


def run(params, check_mode, tools, options):
    """The result of the module. tools: the file of the set of workloads, see tools.py; options: its checked options."""
    session, search_path = params["session"], os.environ.get("PATH", "")
    if params["side"] == "client":
        workloads = tools.workloads(options, params, search_path)
        if not hasattr(tools, "server"):
            session = None
        elif session and not params["address"]:
            raise MeasureError("address is not set: use the address of the host that started the session")
        records = [] if check_mode else measure(dict(params, session=session), workloads)
        result = {"changed": False, "records": records}
        for workload in workloads:
            result.update(workload.told())
        return dict(result, msg="check mode: nothing was measured") if check_mode else result
    if not hasattr(tools, "server"):
        raise MeasureError("workload %s has no server: use side client" % params["workload"])
    if params["state"] == "stopped":
        return {"changed": agent.is_running(session) if check_mode else agent.stop(session)}
    tool, how, result = tools.server(options, params, search_path)
    return dict(result, changed=True, session=start(params, check_mode, tool, **how))


def run_module(arguments, tools, **rules):
    """The main() of a measuring module.

    arguments: its own options beside ARGUMENTS; tools: as in chosen(); rules: further arguments of AnsibleModule. The
    warnings of the result are shown.
    """
    rules.setdefault("required_if", [("side", "client", ("address", "session")), ("state", "stopped", ("session",))])
    module = AnsibleModule(
        argument_spec=dict(ARGUMENTS, **arguments), required_by={"change": "phase"}, supports_check_mode=True, **rules
    )
    try:
        check(module.params)
        result = run(module.params, module.check_mode, *chosen(tools, module.params))
    except HostError as error:
        module.fail_json(msg=str(error))
    for warning in result.pop("warnings", []):
        module.warn(warning)
    module.exit_json(**result)
