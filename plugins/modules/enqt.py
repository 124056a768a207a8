#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Locks of an enqueue server: face of module_utils/_measure."""

DOCUMENTATION = r"""
---
module: enqt
short_description: Measure how fast an enqueue server sets, checks and releases locks
version_added: 0.1.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Puts a load of locks on an enqueue server and records what it took, with the CPU time of both ends.
  - Finds out which server there is. The standalone enqueue server (ENSA1) is measured with SAP's C(enqt), the
    standalone enqueue server 2 (ENSA2) with SAP's C(enq_admin). Where there is none, C(locktable) of this collection,
    a lock table of its own over TCP, takes their place. Every record names its tool; figures of different tools are not
    comparable.
  - One call with O(side=server) on the host of the enqueue server starts an agent that tells its CPU time (with
    C(locktable) also the lock table itself), one call with O(side=client) on another host measures one round, one call
    with O(side=server) and O(state=stopped) ends the agent.
  - Locks that a measurement made are released after every run, and also when it fails, takes too long, is interrupted
    or is killed. Then a process that waits for that releases them.
  - A server that holds locks of others is refused, see O(allow_foreign_locks).
  - Of C(enqt), only the operations behind O(load) can be sent (8, 10, 11, 12 and 20). SAP warns that others can bring
    an enqueue server to a standstill.
  - Where C(sapcontrol) of this host can ask for them, the server's own counters (C(EnqGetStatistic)) before and after
    each run become metrics of it, as differences.
extends_documentation_fragment:
  - zpower.sap_tuning.measuring
attributes:
  platform:
    description: On AIX the network counters and the interface are not known and are recorded as null.
    platforms: posix
options:
  tool:
    description:
      - V(enqt) and V(enq_admin) are SAP's programs, an error where the server is not theirs. V(locktable) is the lock
        table of this collection.
      - V(auto) takes the program of the enqueue server that this host has a profile of, else locktable with a warning.
        A client always takes the tool of its O(session).
    type: str
    choices: [auto, enqt, enq_admin, locktable]
    default: auto
  load:
    description:
      - V(sd_benchmark) sets and releases locks as the sales and distribution benchmark does, for O(run_seconds). It
        brings operations per minute, with C(enq_admin) the response time of single requests.
      - V(create_locks) sets O(locks_per_user) locks for each of the O(users), and releases them outside of what is
        measured. It brings the time of a lock.
      - V(verify_entries) reads a lock table with that many locks. It brings the time of an entry.
      - V(live_statistics) makes no locks and only watches the server for O(run_seconds) while others work with it. With
        C(enq_admin) it brings the response time of a question for its state; C(locktable) has nothing to watch.
    type: str
    choices: [sd_benchmark, create_locks, verify_entries, live_statistics]
    default: sd_benchmark
  users:
    description: Users that hold locks, at most 1000.
    type: int
    default: 10
  locks_per_user:
    description: Locks of each user, at most 1000000. The table of the server has to have room for those of all users.
    type: int
    default: 1000
  processes:
    description:
      - Processes that put the load on the server at the same time, at most 250.
      - C(enqt) takes V(create_locks) and V(verify_entries) with one process only. The others take at most as many
        processes as O(users).
    type: int
    default: 1
  sid:
    description: The SAP system of the enqueue server, where this host has profiles of several.
    type: str
  instance:
    description: The instance of the enqueue server, such as V(ASCS01), where the system has several.
    type: str
  profile:
    description:
      - The profile of that instance on this host.
      - Otherwise the ASCS or SCS profile in C(/usr/sap/<SID>/SYS/profile) or C(/sapmnt/<SID>/profile) that starts a
        lock server.
    type: path
  allow_foreign_locks:
    description:
      - Measure although the lock table holds locks that this measurement has not made.
      - With C(enqt) this is for test systems only. Whether its operation for releasing locks leaves those of others
        alone is not documented.
    type: bool
    default: false
  run_seconds:
    description:
      - How long a run lasts, where the load is not a number of locks. C(enqt) takes whole seconds, at least 3.
      - C(enqt) tells averages over 10 seconds, 1 minute and 5 minutes. The longest one that lies in a run decides,
        which takes 11, 65 and 305 seconds. In shorter runs it is the actual value.
    type: float
    default: 15.0
  timeout:
    description: Seconds after which a run has failed.
    type: float
    default: 120.0
notes:
  - What C(enqt) prints for the loads V(sd_benchmark) and V(live_statistics) is not documented by SAP. Rates are read by
    their meaning, and a run whose output fits no reading fails with that output.
  - As root, SAP's programs are run as C(<sid>adm) where this host has that user.
seealso:
  - module: zpower.sap_tuning.niping
"""

EXAMPLES = r"""
- name: The agent on the host of the enqueue server, which finds out what runs there
  zpower.sap_tuning.enqt:
    side: server
    address: 10.0.0.5
    sid: PRD
  delegate_to: ascs
  register: server

- name: One round of the benchmark's load from this application server, with five processes
  zpower.sap_tuning.enqt:
    side: client
    session: "{{ server.session }}"
    address: 10.0.0.9
    sid: PRD
    load: sd_benchmark
    processes: 5
    run_seconds: 65
    timeout: 120
    peer: ascs
    change: smc-2026-11
    phase: before
    round: 1

- name: As published, 10 users with 55,000 locks each, for which enque/table_size has to be large enough
  zpower.sap_tuning.enqt:
    side: client
    session: "{{ server.session }}"
    address: 10.0.0.9
    sid: PRD
    load: create_locks
    users: 10
    locks_per_user: 55000
    timeout: 600
    peer: ascs
    change: smc-2026-11
    phase: before
    round: 1

- name: The end of the agent
  zpower.sap_tuning.enqt:
    side: server
    state: stopped
    session: "{{ server.session }}"
  delegate_to: ascs

- name: A lock table of this collection on a host without an SAP kernel
  zpower.sap_tuning.enqt:
    side: server
    address: 10.0.0.2
    tool: locktable
  delegate_to: app2
  register: server
"""

RETURN = r"""
session:
  description: What the client and the end of the server need. The token is as secret as the server is short-lived.
  returned: when a server was started
  type: dict
  sample: {tool: locktable, version: '1', address: 10.0.0.5, port: 3298, control_port: 3299,
    token: 2f6c1f5f6e1d4c0b8a7d9e3f5a6b7c8d, pid: 4711, start_time: ticks 123456, lifetime: 3600,
    started: '2026-11-20T10:00:00.123456Z'}
enqueue:
  description:
    - The enqueue server that was found and the tool for it. RV(ignore:how) says what told the kind.
    - RV(ignore:statistics) is V(true) where the server's own counters are in the metrics, else the reason why they are
      not, and null where they were not asked for.
  returned: unless a server was stopped
  type: dict
  sample: {tool: enqt, kind: ENSA1, sid: PRD, instance: ASCS01, profile: /usr/sap/PRD/SYS/profile/PRD_ASCS01_prdascs,
    how: profile /usr/sap/PRD/SYS/profile/PRD_ASCS01_prdascs, statistics: true}
paths:
  description: The record files that were written.
  returned: when O(change) is set and something was measured
  type: list
  elements: str
  sample: [results/smc-2026-11/app1/before-1-enqt-sd_benchmark-x5-ascs.json]
summary:
  description:
    - One entry for each workload with RV(ignore:workload), RV(ignore:peer), RV(ignore:control), the median of the
      metric that decides over the runs that count (null where all failed), RV(ignore:runs_ok), RV(ignore:runs_failed),
      the first RV(ignore:error) and the RV(ignore:record) file.
  returned: when something was measured
  type: list
  elements: dict
  sample: [{workload: enqt-sd_benchmark-x5, peer: ascs, control: false, ops_per_min_1min: 1178502.0, runs_ok: 5,
    runs_failed: 0, error: null, record: results/smc-2026-11/app1/before-1-enqt-sd_benchmark-x5-ascs.json}]
records:
  description: The measurement records (schema zpower.sap_tuning/measurement/1) without the raw output of the runs.
  returned: when something was measured and O(change) is not set
  type: list
  elements: dict
  sample: [{schema: zpower.sap_tuning/measurement/1, workload: {name: enqt-sd_benchmark, tool: enqt}, runs: []}]
ansible_facts:
  description: The last measurements of this host, added to those of earlier tasks.
  returned: when something was measured
  type: dict
  contains:
    zpower_measurements:
      description: By workload and by peer, the medians over the runs that count.
      returned: when something was measured
      type: dict
      sample: {enqt-sd_benchmark: {ascs: {ops_per_min_10s: 412944.0, runs_ok: 5, runs_failed: 0, phase: before,
        round: 1, record: results/smc-2026-11/app1/before-1-enqt-sd_benchmark-ascs.json}}}
"""

from ..module_utils._measure.errors import MeasureError
from ..module_utils._measure.locks import enq_request, locktable
from ..module_utils._measure.round import entry_point

ARGUMENTS = dict(
    tool=dict(type="str", choices=["auto", "enqt", "enq_admin", "locktable"], default="auto"),
    load=dict(
        type="str",
        choices=["sd_benchmark", "create_locks", "verify_entries", "live_statistics"],
        default="sd_benchmark",
    ),
    users=dict(type="int", default=10),
    locks_per_user=dict(type="int", default=1000),
    processes=dict(type="int", default=1),
    sid=dict(type="str"),
    instance=dict(type="str"),
    profile=dict(type="path"),
    allow_foreign_locks=dict(type="bool", default=False),
    run_seconds=dict(type="float", default=15.0),
    timeout=dict(type="float", default=120.0),
)


def run(params, check_mode):
    """The result of the module."""
    enq_request.check(params)
    if params["side"] == "client":
        return client(params, check_mode)
    if params["state"] == "stopped":
        return entry_point.server(params, check_mode, None, None)
    server = enq_request.find_server(params) if params["tool"] != locktable.TOOL else None
    tool, warnings = enq_request.choose_tool(params["tool"], server)
    engine = locktable.serve if tool == locktable.TOOL else None
    result = entry_point.server(params, check_mode, tool, enq_request.version_of(tool), engine=engine)
    return dict(result, warnings=warnings, enqueue=enq_request.described(server, tool))


def client(params, check_mode):
    """Measure one round; the result of the module."""
    tool = params["session"]["tool"]
    if params["tool"] not in ("auto", tool):
        raise MeasureError("tool is %s, but the server of the session serves %s" % (params["tool"], tool))
    if tool not in enq_request.TOOLS:
        raise MeasureError("the session is that of %s, which measures no locks" % tool)
    server = None
    if tool != locktable.TOOL:
        server = enq_request.find_server(params)
        enq_request.choose_tool(tool, server)
    workload, counters = enq_request.workload(params, params["session"], server)
    result = entry_point.client(params, check_mode, [workload])
    enqueue = enq_request.described(server, tool)
    if counters is not None:
        enqueue["statistics"] = counters.problem or counters.answered or None
    return dict(result, enqueue=enqueue)


def main():
    entry_point.run_module(ARGUMENTS, run)


if __name__ == "__main__":
    main()
