#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Network round trips between two hosts; the code is in module_utils/_measure."""

DOCUMENTATION = r"""
---
module: niping
short_description: Measure network round trips between two hosts as niping does
version_added: 0.1.0
description:
  - Sends messages of given sizes from one host to another and back, many times, and records round trip times,
    throughput, the CPU time of both ends, TCP retransmits and packets steered by RPS.
  - Uses C(niping) of the SAP kernel if it is found, else C(pingpong), which comes with this collection, does the same
    exchange and computes the same figures. Every record names its tool. Figures of the two are not comparable.
  - A round has an idle window, then for each size the warm-up runs and the runs, then once a control workload on the
    loopback interface. The order of the sizes rotates with O(round).
  - C(tr) and C(tr2) are 2 x bytes / C(avg) and 2 x bytes / C(av2) in KiB (1024 bytes) a second, because both
    directions count. C(av2) leaves out all round trips that are equal to the longest or the shortest one.
  - niping prints milliseconds with three decimals, which is coarse for a fast network. If C(tr2) was printed with
    more digits, C(av2) is computed from it.
  - The records of pingpong hold the distribution of the single round trips. A guard of the report reads it.
extends_documentation_fragment:
  - zpower.sap_tuning.measuring
attributes:
  platform:
    description: On AIX the network counters and the interface are recorded as null. CPU times come from lparstat or
      vmstat there, whose interval makes each run up to 4 seconds longer.
    platforms: posix
options:
  tool:
    description:
      - V(niping) is SAP's niping, an error if it is not found. V(pingpong) comes with this collection.
      - V(auto) is niping if the server has it, else pingpong with a warning. A client always uses the
        tool of its O(session).
    type: str
    choices: [auto, niping, pingpong]
    default: auto
  transport:
    description:
      - The kind of sockets that pingpong opens on this host. V(smc) is the address family C(AF_SMC) of Linux, which
        agrees with the other end on SMC-R or SMC-D, and falls back to TCP if they cannot. V(tcp) is plain TCP.
      - Every run with V(smc) records the transport that its connections got, with the reason of a fallback.
      - Records of V(tcp) and V(smc) with the same sizes are comparable; the report says which is which.
      - V(smc) is an error on a system without such sockets. On AIX SMC-R lies below plain TCP sockets, so an AIX host
        takes V(tcp). A server with V(smc) also answers clients with V(tcp).
      - With V(smc), O(tool=auto) is pingpong, and O(tool=niping) is an error.
    type: str
    choices: [tcp, smc]
    default: tcp
  bytes:
    description: Sizes of the messages, from 1 to 16777216 bytes. Each size is one workload.
    type: list
    elements: int
    default: [1, 500, 1000, 1400, 1500, 4000, 10000]
  loops:
    description:
      - Round trips of each run and connection, at most 10000000.
      - V(0) takes the number from O(calibrated), or a number with which a run lasts about O(run_seconds).
    type: int
    default: 0
  connections:
    description:
      - Parallel connections, each with the full number of round trips, at most 250.
      - Over several connections the figures are those of all round trips together. niping does not print single round
        trips; there C(avg) and C(av2) are means over the connections.
    type: int
    default: 1
  rate:
    description:
      - Round trips a second on each connection, at most 100000. V(0) begins each when the one before has ended.
      - With a rate, a round trip is timed from the moment at which it was due, so that a stall counts for all round
        trips that waited for it. C(tr) and C(tr2) then follow from these times and are not throughput. The CPU time of
        the client is not recorded, because it waits awake for up to 1 ms before each round trip.
      - It is an error if the hosts cannot keep the rate. With it O(tool=auto) is pingpong, and O(tool=niping) is an
        error.
    type: int
    version_added: 1.0.0
    default: 0
"""

EXAMPLES = r"""
- name: A server on the peer
  zpower.sap_tuning.niping:
    side: server
    address: 10.0.0.2
  delegate_to: app2
  register: server

- name: One round before the change, stored on the controller
  zpower.sap_tuning.niping:
    side: client
    session: "{{ server.session }}"
    address: 10.0.0.2
    peer: app2
    change: rps-2026-11
    phase: before
    round: 1

- name: Stop the server
  zpower.sap_tuning.niping:
    side: server
    state: stopped
    session: "{{ server.session }}"
  delegate_to: app2

- name: The same sizes over SMC, with a server that was started with this transport
  zpower.sap_tuning.niping:
    side: client
    session: "{{ server.session }}"
    address: 10.0.0.2
    transport: smc
    peer: app2
    change: smc-2026-11
    phase: after
    round: 1

- name: A server of SAP's niping at a port that the firewall lets through
  zpower.sap_tuning.niping:
    side: server
    address: 10.0.0.2
    tool: niping
    path: /usr/sap/PRD/D00/exe/niping
    port: 3298
    control_port: 3299
"""

RETURN = r"""
session:
  description: The client and the task that stops the server need it. Its token is a secret until the server ends.
  returned: when a server was started
  type: dict
  sample: {tool: pingpong, version: '1', address: 10.0.0.2, port: 3298, control_port: 3298,
    token: 2f6c1f5f6e1d4c0b8a7d9e3f5a6b7c8d, pid: 4711, start_time: ticks 123456, lifetime: 3600,
    started: '2026-11-20T10:00:00.123456Z'}
records:
  description: One measurement record per workload, without the raw output of its runs. The fields are described in
    U(https://github.com/zpower/sap_tuning/blob/main/docs/schemas/measurement-1.schema.json).
  returned: when something was measured and O(change) is not set
  type: list
  elements: dict
  sample: [{schema: zpower.sap_tuning/measurement/1, workload: {name: pingpong-1000B, tool: pingpong}, runs: []}]
paths:
  description: The files on the controller to which the records were written instead.
  returned: when something was measured and O(change) is set
  type: list
  elements: str
  sample: [results/rps-2026-11/app1/before-1-pingpong-1000B-app2.json]
summary:
  description:
    - Per workload, the median of the decisive metric over the counted runs (null if all failed), the numbers of runs,
      the first error and the record file.
    - With O(transport=smc) also RV(ignore:links), the transport that the connections got.
  returned: when something was measured
  type: list
  elements: dict
  sample: [{workload: pingpong-1000B, peer: app2, control: false, av2_us: 51.2, runs_ok: 5, runs_failed: 0,
    error: null, record: results/rps-2026-11/app1/before-1-pingpong-1000B-app2.json}]
"""

from ..module_utils._measure.net import niping_request
from ..module_utils._measure.round import entry_point

TOOLS = niping_request
ARGUMENTS = TOOLS.OPTIONS


def main():
    entry_point.run_module(ARGUMENTS, TOOLS)


if __name__ == "__main__":
    main()
