#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Network round trips between two hosts: face of module_utils/_measure."""

DOCUMENTATION = r"""
---
module: niping
short_description: Measure network round trips between two hosts as niping does
version_added: 0.1.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Sends messages of given sizes from one host to another and back, many times, and records round trip times,
    throughput, the CPU time of both ends, TCP retransmits and packets steered by RPS.
  - Uses C(niping) of the SAP kernel where it is found. Elsewhere the engine C(pingpong) that comes with this
    collection does the same exchange and computes the same figures. Every record names its tool; figures of the two
    are not comparable.
  - One call with O(side=server) starts a measurement server on the peer, one call with O(side=client) measures one
    round against it, one call with O(side=server) and O(state=stopped) ends it. The server ends itself after
    O(lifetime) anyway.
  - A round has an idle window, then for each size the warm-up runs and the runs, then a control workload on the
    loopback interface. The order of the sizes rotates with O(round).
  - C(tr) and C(tr2) are 2 x bytes / C(avg) and 2 x bytes / C(av2) in KiB (1024 bytes) a second, because both
    directions count. C(av2) leaves out all round trips that are equal to the longest or the shortest one.
  - niping prints milliseconds with three digits, which is coarse for a fast network. Where C(tr2) was printed with more
    digits, C(av2) is computed from it.
  - With O(change) the records are stored on the controller, one file each, as
    C(<results>/<change>/<host>/<phase>-<round>-<workload>-<peer>.json). A round that has its records already is
    refused before anything is measured. The control workload is measured once in a round.
attributes:
  check_mode:
    description: Starts, stops, measures and stores nothing. A started server is predicted with an empty token.
    support: full
  diff_mode:
    description: Shows no diff.
    support: none
  platform:
    description: On AIX the network counters and the interface are not known and are recorded as null. CPU times come
      from lparstat or vmstat there, whose interval makes each run up to 4 seconds longer.
    support: full
    platforms: posix
options:
  side:
    description: V(server) on the host that answers, V(client) on the host that measures.
    type: str
    choices: [client, server]
    required: true
  state:
    description:
      - For O(side=server), whether a new server is started or the server of O(session) is stopped.
      - Stopping a server that has ended already changes nothing.
    type: str
    choices: [started, stopped]
    default: started
  tool:
    description:
      - V(niping) is SAP's niping, an error where it is not found. V(pingpong) is the engine of this collection.
      - V(auto) is niping where it is found on the server, else pingpong with a warning. A client always takes the
        tool of its O(session).
    type: str
    choices: [auto, niping, pingpong]
    default: auto
  transport:
    description:
      - The kind of sockets that pingpong opens on this host. V(smc) is the address family C(AF_SMC) of Linux, which
        agrees with the other end on SMC-R or SMC-D, and falls back to TCP where the two cannot. V(tcp) is plain TCP.
      - Every run with V(smc) records what its connections became, with the reason of a fallback.
      - Records of V(tcp) and V(smc) with the same sizes are comparable; the report says which is which.
      - An error on a system without such sockets. On AIX SMC-R lies below plain TCP sockets, so that its end takes
        V(tcp). A server with V(smc) also answers clients with V(tcp).
      - With V(smc), O(tool=auto) is pingpong, and O(tool=niping) is an error.
    type: str
    choices: [tcp, smc]
    default: tcp
  path:
    description:
      - The niping program on this host.
      - Otherwise the first of C(/usr/sap/<SID>/<instance>/exe), C(/usr/sap/<SID>/SYS/exe/run),
        C(/usr/sap/hostctrl/exe) and the folders of C(PATH) that holds one.
    type: path
  address:
    description:
      - For O(side=client), the name or address of the server on the network that is to be measured. Required there.
      - For O(side=server), the address to listen on; all addresses where it is not set. niping always listens on all.
    type: str
  port:
    description: The server's TCP port for the messages. V(0) is the first free one from 3298 to 3397.
    type: int
    default: 0
  control_port:
    description:
      - The server's TCP port for questions about its counters, with niping as the tool. V(0) is the first free one
        from 3298 to 3397 that is left.
      - pingpong does both on O(port).
    type: int
    default: 0
  lifetime:
    description: Seconds after which the server ends itself, at most a week.
    type: int
    default: 3600
  bytes:
    description: Sizes of the messages, from 1 to 16777216 bytes. Each size is a workload of its own.
    type: list
    elements: int
    default: [1, 500, 1000, 1400, 1500, 4000, 10000]
  loops:
    description:
      - Round trips of each run and connection, at most 10000000.
      - V(0) takes the number from O(calibrated), or chooses it so that a run lasts about O(run_seconds).
    type: int
    default: 0
  calibrated:
    description:
      - Round trips by name of the workload (V(pingpong-1000B)), used where O(loops) is V(0).
      - With O(change) it is filled in from the records of the change that are there, so that all rounds use the same
        number.
    type: dict
    default: {}
  run_seconds:
    description: How long a run shall last.
    type: float
    default: 1.0
  runs:
    description: Runs of each workload that count, at most 50.
    type: int
    default: 5
  warmup:
    description: Runs before them that are recorded and do not count, at most 10.
    type: int
    default: 1
  connections:
    description:
      - Parallel connections, each with the full number of round trips, at most 250.
      - Over several connections the figures are those of all round trips together; with niping, whose single round
        trips are not known, C(avg) and C(av2) are means over the connections.
    type: int
    default: 1
  timeout:
    description: Seconds after which a run has failed.
    type: float
    default: 60.0
  control:
    description: Also measure pingpong with 1000 bytes on the loopback interface, which shows what moved by itself.
    type: bool
    default: true
  idle_seconds:
    description: Seconds of the idle window at the beginning of the round, for the CPU background. V(0) leaves it out.
    type: float
    default: 1.0
  session:
    description:
      - What the started server returned, RV(session). Required for O(side=client) and for O(state=stopped).
    type: dict
    suboptions:
      tool:
        description: The tool that the server serves.
        type: str
        choices: [niping, pingpong]
        required: true
      version:
        description: Its version.
        type: str
        default: unknown
      address:
        description: The address it listens on, empty for all.
        type: str
        default: ''
      port:
        description: The port for the messages.
        type: int
        required: true
      control_port:
        description: The port for questions.
        type: int
        required: true
      token:
        description: What a connection has to begin with.
        type: str
        required: true
      pid:
        description: The process id of the server.
        type: int
      start_time:
        description: When that process began, in the words of its system.
        type: str
      lifetime:
        description: Seconds after which it ends itself.
        type: int
      started:
        description: When it was started.
        type: str
  change:
    description:
      - The change that the measurement belongs to, at most 64 letters, digits, C(.), C(_) and C(-).
      - Without it nothing is stored and the records are returned.
    type: str
  phase:
    description: The phase of the change, V(before) or V(after). Required with O(change).
    type: str
  round:
    description: The number of the round in its phase, from 1.
    type: int
    default: 1
  peer:
    description: The inventory name of the server's host, for the records; O(address) where it is not set.
    type: str
  results:
    description: The results folder on the controller, relative to the working directory of the playbook run.
    type: path
    default: results
  protocol:
    description: What the round is a part of, for the records and the report.
    type: dict
    default: {}
    suboptions:
      name:
        description: The name of the protocol.
        type: str
        default: custom
      rounds:
        description: Rounds in each phase.
        type: int
        default: 1
      design:
        description: V(alternate) when the phases took turns, V(blocks) when all rounds of one came first.
        type: str
        choices: [alternate, blocks]
        default: blocks
notes:
  - Every connection to the server has to begin with the random token of its session.
  - The server process stays after the connection of Ansible has ended. Where systemd-logind is set to
    C(KillUserProcesses=yes), C(become) with a user that lingers is needed.
  - The firewall between the hosts has to let the ports through.
"""

EXAMPLES = r"""
- name: A server on the peer
  zpower.sap_tuning.niping:
    side: server
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

- name: Eight parallel connections of short runs, only registered
  zpower.sap_tuning.niping:
    side: client
    session: "{{ server.session }}"
    address: 10.0.0.2
    bytes: [1000]
    connections: 8
    run_seconds: 0.2
  register: quick

- name: The end of the server
  zpower.sap_tuning.niping:
    side: server
    state: stopped
    session: "{{ server.session }}"
  delegate_to: app2

- name: A server that takes SMC as well as TCP
  zpower.sap_tuning.niping:
    side: server
    transport: smc
  delegate_to: app2
  register: server

- name: The same sizes over SMC, stored beside those that went over TCP before
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
    tool: niping
    path: /usr/sap/PRD/D00/exe/niping
    port: 3298
    control_port: 3299
"""

RETURN = r"""
session:
  description: What the client and the end of the server need. The token is as secret as the server is short-lived.
  returned: when a server was started
  type: dict
  sample: {tool: pingpong, version: '1', address: '', port: 3298, control_port: 3298,
    token: 2f6c1f5f6e1d4c0b8a7d9e3f5a6b7c8d, pid: 4711, start_time: ticks 123456, lifetime: 3600,
    started: '2026-11-20T10:00:00.123456Z'}
paths:
  description: The record files that were written.
  returned: when O(change) is set and something was measured
  type: list
  elements: str
  sample: [results/rps-2026-11/app1/before-1-pingpong-1000B-app2.json]
summary:
  description:
    - One entry for each workload with RV(ignore:workload), RV(ignore:peer), RV(ignore:control), the medians
      RV(ignore:av2_us) and RV(ignore:tr2_kib_per_s) of the runs that count (null where all failed),
      RV(ignore:runs_ok), RV(ignore:runs_failed), the first RV(ignore:error) and the RV(ignore:record) file.
    - With O(transport=smc) also RV(ignore:links), what the connections of the runs became.
  returned: when something was measured
  type: list
  elements: dict
  sample: [{workload: pingpong-1000B, peer: app2, control: false, av2_us: 51.2, tr2_kib_per_s: 38147.0, runs_ok: 5,
    runs_failed: 0, error: null, record: results/rps-2026-11/app1/before-1-pingpong-1000B-app2.json}]
records:
  description: The measurement records (schema zpower.sap_tuning/measurement/1) without the raw output of the runs.
  returned: when something was measured and O(change) is not set
  type: list
  elements: dict
  sample: [{schema: zpower.sap_tuning/measurement/1, workload: {name: pingpong-1000B, tool: pingpong}, runs: []}]
ansible_facts:
  description: The last measurements of this host, added to those of earlier tasks.
  returned: when something was measured
  type: dict
  contains:
    zpower_measurements:
      description: By workload and by peer, the medians over the runs that count.
      returned: when something was measured
      type: dict
      sample: {pingpong-1000B: {app2: {av2_us: 51.2, tr2_kib_per_s: 38147.0, runs_ok: 5, runs_failed: 0, phase: before,
        round: 1, record: results/rps-2026-11/app1/before-1-pingpong-1000B-app2.json}}}
"""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import agent, niping, pingpong, request, rounds
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError


def server(params, check_mode):
    """Start or stop a server; the result of the module."""
    if params["state"] == "stopped":
        session = params["session"]
        return {"changed": agent.is_running(session) if check_mode else agent.stop(session)}
    kind = params["transport"]
    tool, binary, warnings = request.choose_tool(params["tool"], params["path"], os.environ.get("PATH", ""), kind)
    address, port, control_port = params["address"] or "", params["port"], params["control_port"]
    if check_mode:
        session = {"tool": tool, "version": "unknown" if binary else pingpong.VERSION, "address": address}
        session.update(port=port, control_port=control_port, token="", pid=None, start_time=None)
        session.update(lifetime=params["lifetime"], started=None)
    else:
        session = agent.start(
            tool, address, port, control_port=control_port, lifetime=params["lifetime"], binary=binary, kind=kind
        )
    return {"changed": True, "session": session, "warnings": warnings}


def client(params, check_mode):
    """Measure one round; the result of the module."""
    session, binary = params["session"], None
    if params["tool"] not in ("auto", session["tool"]):
        raise MeasureError("tool is %s, but the server of the session serves %s" % (params["tool"], session["tool"]))
    if session["tool"] == niping.TOOL:
        search_path = os.environ.get("PATH", "")
        binary = request.choose_tool(niping.TOOL, params["path"], search_path, params["transport"])[1]
    if check_mode:
        return {"changed": False, "records": [], "msg": "check mode: nothing was measured"}
    return {"changed": False, "records": request.measure(params, session, binary)}


def main():
    session_spec = dict(
        tool=dict(type="str", choices=["niping", "pingpong"], required=True),
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
    protocol_spec = dict(
        name=dict(type="str", default="custom"),
        rounds=dict(type="int", default=1),
        design=dict(type="str", choices=["alternate", "blocks"], default="blocks"),
    )
    module = AnsibleModule(
        argument_spec=dict(
            side=dict(type="str", choices=["client", "server"], required=True),
            state=dict(type="str", choices=["started", "stopped"], default="started"),
            tool=dict(type="str", choices=["auto", "niping", "pingpong"], default="auto"),
            transport=dict(type="str", choices=["tcp", "smc"], default="tcp"),
            path=dict(type="path"),
            address=dict(type="str"),
            port=dict(type="int", default=0),
            control_port=dict(type="int", default=0),
            lifetime=dict(type="int", default=3600),
            bytes=dict(type="list", elements="int", default=list(rounds.DEFAULT_BYTES)),
            loops=dict(type="int", default=0),
            calibrated=dict(type="dict", default={}),
            run_seconds=dict(type="float", default=1.0),
            runs=dict(type="int", default=5),
            warmup=dict(type="int", default=1),
            connections=dict(type="int", default=1),
            timeout=dict(type="float", default=60.0),
            control=dict(type="bool", default=True),
            idle_seconds=dict(type="float", default=1.0),
            session=dict(type="dict", options=session_spec),
            change=dict(type="str"),
            phase=dict(type="str"),
            round=dict(type="int", default=1),
            peer=dict(type="str"),
            results=dict(type="path", default="results"),
            protocol=dict(type="dict", default={}, options=protocol_spec),
        ),
        required_if=[("side", "client", ("address", "session")), ("state", "stopped", ("session",))],
        required_by={"change": "phase"},
        supports_check_mode=True,
    )
    try:
        request.check(module.params)
        run = client if module.params["side"] == "client" else server
        result = run(module.params, module.check_mode)
    except MeasureError as error:
        module.fail_json(msg=str(error))
    for warning in result.pop("warnings", []):
        module.warn(warning)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
