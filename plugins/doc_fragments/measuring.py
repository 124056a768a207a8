# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options and notes of all measuring modules."""


class ModuleDocFragment:
    DOCUMENTATION = r"""
author:
  - The zpower.sap_tuning authors (@zpower)
options:
  side:
    description: V(server) on the host that answers, V(client) on the host that measures.
    type: str
    choices: [client, server]
    required: true
  state:
    description:
      - For O(side=server), start a new server or stop the server of O(session).
      - Stopping a server that has ended changes nothing.
    type: str
    choices: [started, stopped]
    default: started
  path:
    description:
      - The tool's program on this host.
      - By default the first one in the folders of C(PATH). SAP's tools are looked for in
        C(/usr/sap/<SID>/<instance>/exe), C(/usr/sap/<SID>/SYS/exe/run) and C(/usr/sap/hostctrl/exe) first.
    type: path
  address:
    description:
      - For O(side=client), the name or address of the server on the network to measure. Required there.
      - For O(side=server), the address of this host to listen on. Required to start a server. V(0.0.0.0) means
        all addresses of IPv4, V(::) all of IPv4 and IPv6.
      - niping and qperf have no option for an address. Their programs listen on all addresses, and O(address) applies
        to the port of the counters only. netperf's program uses it for its own port.
    type: str
  port:
    description: The server's TCP port for the messages. V(0) is the first free one from 3298 to 3397.
    type: int
    default: 0
  control_port:
    description:
      - The server's TCP port for its counters, if the tool's server is a program. V(0) is the first free one
        from 3298 to 3397.
      - pingpong uses O(port) for both.
    type: int
    default: 0
  lifetime:
    description: Seconds after which the server ends by itself, at most a week.
    type: int
    default: 3600
  calibrated:
    description:
      - Loops of a run by name of the workload (V(pingpong-1000B)), for workloads that are runs of a number of loops.
      - With O(change) the numbers are taken from the stored records of the change, so that all rounds use the same.
    type: dict
    default: {}
  run_seconds:
    description: Seconds that a run lasts.
    type: float
    default: 1.0
  runs:
    description: Counted runs of each workload, at most 50.
    type: int
    default: 5
  warmup:
    description: Runs before them that are recorded but not counted, at most 10.
    type: int
    default: 1
  timeout:
    description: Seconds after which a run has failed.
    type: float
    default: 60.0
  control:
    description: Also measure pingpong with 1000 bytes on the loopback interface, which shows other changes.
    type: bool
    default: true
  idle_seconds:
    description: Seconds of the idle window at the beginning of the round, for the background CPU time. V(0) skips it.
    type: float
    default: 1.0
  session:
    description: The returned RV(session) of the started server. Required for O(state=stopped), and for O(side=client)
      if the tool has a server.
    type: dict
    suboptions:
      tool:
        description: The tool that the server serves.
        type: str
        required: true
      version:
        description: Its version.
        type: str
        default: unknown
      address:
        description: The address it listens on.
        type: str
        default: ''
      port:
        description: The port for the messages.
        type: int
        required: true
      control_port:
        description: The port for the counters.
        type: int
        required: true
      token:
        description: The secret that a connection must begin with.
        type: str
        required: true
      pid:
        description: The process id of the server.
        type: int
      start_time:
        description: The time when that process began, in the form of its system.
        type: str
      lifetime:
        description: Seconds after which it ends by itself.
        type: int
      started:
        description: The time when it was started.
        type: str
  change:
    description:
      - The change that the measurement belongs to, at most 64 letters, digits, C(.), C(_) and C(-).
      - Without it, the records are returned but not stored.
    type: str
  phase:
    description: The phase of the change, V(before) or V(after), or the name of a state of an experiment. Required with
      O(change).
    type: str
  round:
    description: The number of the round in its phase, from 1.
    type: int
    default: 1
  peer:
    description: The inventory name of the server's host, for the records. The default is O(address), or C(local) if the
      tool has no server.
    type: str
  results:
    description: The results folder on the controller, relative to the working directory of the playbook run.
    type: path
    default: results
  protocol:
    description: The protocol of the change, for the records and the report.
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
        description: V(alternate) if the phases alternated, V(blocks) if all rounds of one phase came first.
        type: str
        choices: [alternate, blocks]
        default: blocks
      session:
        description: The number of the session, for a measurement that was continued later.
        type: int
        version_added: 0.9.0
      seed:
        description: The text from which the order of the phases was drawn.
        type: str
        version_added: 0.9.0
attributes:
  check_mode:
    description: Starts, stops, measures and stores nothing. A started server is predicted with an empty token.
    support: full
  diff_mode:
    description: Shows no diff.
    support: none
  platform:
    description: On AIX the network counters and the interface are recorded as null.
    support: full
    platforms: posix
notes:
  - One call with O(side=server) starts a server on the peer, each call with O(side=client) measures one round against
    it, and one call with O(side=server) and O(state=stopped) stops it. After O(lifetime) the server ends by itself.
  - Needs Python 3.6 or later on the host.
  - With O(change) the records are stored on the controller, one file each, as
    C(<results>/<change>/<host>/<phase>-<round>-<workload>-<peer>.json). A round that is stored already is refused
    before anything is measured.
  - Connections to the servers of this collection (pingpong, and the port for the counters of every tool) must send
    the random token of the session within 5 seconds. The programs of other tools
    have no token and serve everyone who reaches their port while the server runs.
  - The server process stays after the connection of Ansible has ended. If systemd-logind is set to
    C(KillUserProcesses=yes), use C(become) with a user that lingers.
  - The firewall between the hosts must let the ports through.
"""
