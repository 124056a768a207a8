# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the options of the module enqt to a workload: limits, the server, the tool."""

import os

from ..._host.host import Host
from ..errors import MeasureError
from ..workloads import options, programs
from . import enq_admin, enq_statistics, enqt, enqueue
from .enq_programs import Runner

TOOLS = (enqt.TOOL, enq_admin.TOOL)
_TOOL_OF = {"ENSA1": enqt.TOOL, "ENSA2": enq_admin.TOOL}
_LIMITS = {"users": (1, 1000), "locks_per_user": (1, 1000 * 1000), "processes": (1, 250)}


def check(params):
    """MeasureError for the first option of the module enqt's own that is out of its limits."""
    options.check_limits(params, _LIMITS)


def find_server(params):
    """The enqueue.Server that the options name or that is found on this host; MeasureError if there is none."""
    server = enqueue.find_server(Host(), params["sid"], params["instance"], params["profile"])
    if server is None:
        raise MeasureError(
            "no SAP enqueue server was found: neither /usr/sap/<SID>/SYS/profile nor /sapmnt/<SID>/profile of this "
            "host has the profile of an ASCS or SCS instance that starts one; name its profile, or take a host of the "
            "SAP system"
        )
    return server


def choose_tool(wanted, server):
    """The tool for an enqueue server; MeasureError if the user asked for another one."""
    fitting = _TOOL_OF[server.kind]
    if wanted not in ("auto", fitting):
        raise MeasureError(
            "tool is %s, but the enqueue server is %s (%s), whose tool is %s"
            % (wanted, server.kind, server.how, fitting)
        )
    return fitting


def described(server, tool):
    """The enqueue entry of the module's result."""
    values = {name: getattr(server, name) for name in ("kind", "sid", "instance", "profile", "how")}
    return dict(values, tool=tool, statistics=None)


def workload(params, session, server):
    """(the workload, its source of the server's counters or None) for the tool that the session serves."""
    asked = enqueue.Asked(
        params["load"],
        params["users"],
        params["locks_per_user"],
        params["processes"],
        params["run_seconds"],
        params["allow_foreign_locks"],
    )
    binary = find_program(session["tool"], params["path"], server)
    runner = Runner(enqueue.user_of(server))
    counters = enq_statistics.source(server, params["address"], enqueue.folders(server), runner)
    if session["tool"] == enqt.TOOL:
        return enqt.Enqt(asked, binary, server.profile, runner, counters), counters
    return enq_admin.EnqAdmin(asked, enq_admin.Command(binary, server.profile), runner, counters), counters


def find_program(tool, path, server):
    """SAP's program on this host; MeasureError if it is missing."""
    search_path, folders = os.environ.get("PATH", ""), enqueue.folders(server)
    binary = programs.find(tool, path, search_path, folders)
    if binary is None:
        where = ", ".join(list(folders) + programs.folders_of(search_path))
        raise MeasureError("SAP's %s was not found in %s: set path to it" % (tool, where))
    return binary
