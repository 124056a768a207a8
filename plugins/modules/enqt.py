#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Locks of an enqueue server; the code is in module_utils/_measure."""

DOCUMENTATION = r"""
---
module: enqt
short_description: Measure how fast an enqueue server sets, checks and releases locks
version_added: 0.1.0
description:
  - Puts a load of locks on an enqueue server and records rates or times, with the CPU time of both ends.
  - Finds out which server there is. The standalone enqueue server (ENSA1) is measured with SAP's C(enqt), the
    standalone enqueue server 2 (ENSA2) with SAP's C(enq_admin). Every record names its tool; figures of different
    tools are not comparable.
  - The server is an agent on the host of the enqueue server that reports its CPU time. Another host measures.
  - The locks of a measurement are released after every run, also if it fails, takes too long, is interrupted or is
    killed. In the last case a second process releases them.
  - A server that holds locks of others is refused, see O(allow_foreign_locks).
  - Of C(enqt), only the operations for O(load) are ever sent (8, 10, 11, 12 and 20). SAP warns that others can bring
    an enqueue server to a standstill.
  - If C(sapcontrol) of this host can read the server's own counters (C(EnqGetStatistic)), their differences over each
    run become metrics of the run.
extends_documentation_fragment:
  - zpower.sap_tuning.measuring
options:
  tool:
    description:
      - V(enqt) and V(enq_admin) are SAP's programs, each for one kind of enqueue server. The wrong one is an error.
      - V(auto) takes the program for the enqueue server that this host has a profile of. A client always uses the
        tool of its O(session).
    type: str
    choices: [auto, enqt, enq_admin]
    default: auto
  load:
    description:
      - V(sd_benchmark) sets and releases locks as the sales and distribution benchmark does, for O(run_seconds). It
        measures operations per minute, with C(enq_admin) the response time of single requests.
      - V(create_locks) sets O(locks_per_user) locks for each of the O(users), and releases them after the measured
        time. It measures the time per lock.
      - V(verify_entries) reads a lock table with that many locks. It measures the time per entry.
      - V(live_statistics) sets no locks and only watches the server for O(run_seconds) while others work with it.
        With C(enq_admin) it measures the response time of a request for the server's state.
    type: str
    choices: [sd_benchmark, create_locks, verify_entries, live_statistics]
    default: sd_benchmark
  users:
    description: Users that hold locks, at most 1000.
    type: int
    default: 10
  locks_per_user:
    description: Locks of each user, at most 1000000. The table of the server must have room for those of all users.
    type: int
    default: 1000
  processes:
    description:
      - Processes that put the load on the server at the same time, at most 250.
      - C(enqt) supports V(create_locks) and V(verify_entries) with one process only. For the others, this must not
        exceed O(users).
    type: int
    default: 1
  sid:
    description: The SAP system of the enqueue server, if this host has profiles of several systems.
    type: str
  instance:
    description: The instance of the enqueue server, such as V(ASCS01), if the system has several.
    type: str
  profile:
    description:
      - The profile of that instance on this host.
      - Otherwise the ASCS or SCS profile in C(/usr/sap/<SID>/SYS/profile) or C(/sapmnt/<SID>/profile) that
        starts a lock server.
    type: path
  allow_foreign_locks:
    description:
      - Measure although the lock table holds locks of others.
      - With C(enqt) this is for test systems only. Whether its operation for releasing locks leaves those of others
        alone is not documented.
    type: bool
    default: false
  run_seconds:
    description:
      - Seconds that a run lasts, if the load is not a number of locks. C(enqt) needs whole seconds, at least 3.
      - C(enqt) prints averages over 10 seconds, 1 minute and 5 minutes. The longest one that fits into a run decides;
        they fit into runs of 11, 65 and 305 seconds. In shorter runs the actual value decides.
    type: float
    default: 15.0
  timeout:
    description: Seconds after which a run has failed.
    type: float
    default: 120.0
notes:
  - SAP does not document the output of C(enqt) for the loads V(sd_benchmark) and V(live_statistics). Rates are
    recognized by the words beside them. If none is recognized, the run fails and shows the output.
  - As root, SAP's programs are run as C(<sid>adm) if this host has that user.
seealso:
  - module: zpower.sap_tuning.niping
"""

EXAMPLES = r"""
- name: Start the agent on the host of the enqueue server
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

- name: As published, 10 users with 55,000 locks each, for which enque/table_size must be large enough
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
"""

RETURN = r"""
session:
  description: As M(zpower.sap_tuning.niping) returns it.
  returned: when a server was started
  type: dict
enqueue:
  description:
    - The enqueue server that was found and the tool for it. RV(ignore:how) names the source of the kind.
    - RV(ignore:statistics) is V(true) if the metrics have the server's own counters, else the reason why they do not,
      and null if they were not requested.
  returned: unless a server was stopped
  type: dict
  sample: {tool: enqt, kind: ENSA1, sid: PRD, instance: ASCS01, profile: /usr/sap/PRD/SYS/profile/PRD_ASCS01_prdascs,
    how: profile /usr/sap/PRD/SYS/profile/PRD_ASCS01_prdascs, statistics: true}
records:
  description: As M(zpower.sap_tuning.niping) returns them, one per workload.
  returned: when something was measured and O(change) is not set
  type: list
  elements: dict
paths:
  description: As M(zpower.sap_tuning.niping) returns them, one file per record.
  returned: when something was measured and O(change) is set
  type: list
  elements: str
summary:
  description: As M(zpower.sap_tuning.niping) returns it, with the metric that decides.
  returned: when something was measured
  type: list
  elements: dict
  sample: [{workload: enqt-sd_benchmark, peer: ascs, control: false, ops_per_min_10s: 412944.0, runs_ok: 5,
    runs_failed: 0, error: null, record: results/smc-2026-11/app1/before-1-enqt-sd_benchmark-ascs.json}]
"""

from ..module_utils._measure.locks import enq_request
from ..module_utils._measure.round import entry_point

TOOLS = enq_request
ARGUMENTS = TOOLS.OPTIONS


def main():
    entry_point.run_module(ARGUMENTS, TOOLS)


if __name__ == "__main__":
    main()
