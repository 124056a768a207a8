# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the options of the module enqt to a workload: limits, the server, the tool."""

from ..._host.host import Host
from ..errors import MeasureError
from ..workloads import programs
from ..workloads.options import check_options, session_tool
from ..workloads.workload import workload_name
from . import enq_admin, enq_statistics, enqt, enqueue
from .enq_programs import Runner

_TOOL_OF = {"ENSA1": enqt.TOOL, "ENSA2": enq_admin.TOOL}
_WORKLOADS = {enqt.TOOL: enqt.Enqt, enq_admin.TOOL: enq_admin.EnqAdmin}
# The options of the module enqt, documented in plugins/modules/enqt.py.
OPTIONS = {
    "tool": {"type": "str", "choices": ["auto", enqt.TOOL, enq_admin.TOOL], "default": "auto"},
    "load": {"type": "str", "choices": list(enqueue.LOADS), "default": enqueue.LOADS[0]},
    "users": {"type": "int", "default": 10},
    "locks_per_user": {"type": "int", "default": 1000},
    "processes": {"type": "int", "default": 1},
    "sid": {"type": "str"},
    "instance": {"type": "str"},
    "profile": {"type": "path"},
    "allow_foreign_locks": {"type": "bool", "default": False},
    "run_seconds": {"type": "float", "default": 15.0},
    "timeout": {"type": "float", "default": 120.0},
}
LIMITS = {"users": (1, 1000), "locks_per_user": (1, 1000 * 1000), "processes": (1, 250)}


def names(options, tool):
    return [workload_name(tool, options["load"], options["processes"])]


def choose_tool(wanted, found):
    """The tool for an enqueue server; MeasureError if the user asked for another one."""
    fitting = _TOOL_OF[found.kind]
    if wanted not in ("auto", fitting):
        raise MeasureError(
            "tool is %s, but the enqueue server is %s (%s), whose tool is %s" % (wanted, found.kind, found.how, fitting)
        )
    return fitting


def _server(options, wanted):
    """(the enqueue.Server that the options name or that is found on this host, its tool, the enqueue entry of the
    module's result)."""
    found = enqueue.find_server(Host(), options["sid"], options["instance"], options["profile"])
    tool = choose_tool(wanted, found)
    values = {name: getattr(found, name) for name in ("kind", "sid", "instance", "profile", "how")}
    return found, tool, dict(values, tool=tool, statistics=None)


def server(options, _params, _search_path):
    """As in round/tools.py."""
    _found, tool, described = _server(options, options["tool"])
    return tool, {"version": "unknown"}, {"enqueue": described}


def workloads(options, params, search_path):
    """The workload of checked options, in a list, for the tool that the session serves."""
    check_options(options, LIMITS)
    tool = session_tool(options["tool"], params["session"])
    if tool not in _WORKLOADS:
        raise MeasureError("the session belongs to %s, which does not measure locks" % tool)
    found, _tool, described = _server(options, tool)
    asked = enqueue.Asked(**{name: options[name] for name in enqueue.Asked._fields})
    folders = enqueue.folders(found)
    binary = programs.require(tool, params["path"], search_path, folders=folders)
    runner = Runner(enqueue.user_of(found))
    counters = enq_statistics.source(found, params["address"], folders, runner)
    made = _WORKLOADS[tool](asked, binary, found.profile, runner, counters)
    made.found = described
    return [made]
