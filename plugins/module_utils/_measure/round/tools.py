# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sets of workloads of measure_workload: one import and one entry each; only what is imported reaches a host.

Each set is a file; niping_request.py and enq_request.py are those of the modules niping and enqt. It has:

- OPTIONS: its options, as for AnsibleModule;
- LIMITS: {name: (lowest, highest)} of its numbers; LISTS: those whose combinations are one workload each, if any;
- names(options, tool): the names of the workloads of checked options, in their order; tool: that of the session;
- workloads(options, params, search_path): its Workloads on this host; params: the options of the module;
- server(options, params, search_path), if it has one: (its tool, arguments of agent.start(), what the module returns
  beside the session).
"""

from ..host import command, fio, openssl
from ..net import request

SETS = {"network": request, "fio": fio, "openssl": openssl, "command": command}
