# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools of the module workload: one import and one entry each, because only what is imported reaches a host."""

from ..host import fio, openssl
from ..net import netperf, network_options, qperf, sockperf, uperf

# Programs for the network workloads. Each file has TOOL, SERVER, version, server_argv and Workload.
NETWORK = {tool.TOOL: tool for tool in (netperf, qperf, sockperf, uperf)}
# Sets of workloads of one host alone, without a server. Each file has OPTIONS, names and workloads.
LOCAL = {tool.TOOL: tool for tool in (fio, openssl)}
OPTIONS = dict({name: tool.OPTIONS for name, tool in LOCAL.items()}, network=network_options.specification(NETWORK))
