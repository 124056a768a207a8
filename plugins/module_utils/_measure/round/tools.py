# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sets of workloads of the module workload: one import and one entry each; only what is imported reaches a host."""

from ..host import command, fio, openssl
from ..net import request

# Sets of workloads of one host; command may have a server that samples CPU time. Each file has OPTIONS, names and
# workloads.
LOCAL = {tool.TOOL: tool for tool in (command, fio, openssl)}
OPTIONS = dict({name: tool.OPTIONS for name, tool in LOCAL.items()}, network=request.NETWORK)
