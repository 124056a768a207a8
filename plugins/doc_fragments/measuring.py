# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the documentation of every measuring module has in common."""


class ModuleDocFragment:
    DOCUMENTATION = r"""
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
  path:
    description:
      - The tool's program on this host.
      - Otherwise the first that is found, of SAP's tools in C(/usr/sap/<SID>/<instance>/exe),
        C(/usr/sap/<SID>/SYS/exe/run) and C(/usr/sap/hostctrl/exe), of all tools in the folders of C(PATH).
    type: path
  address:
    description:
      - For O(side=client), the name or address of the server on the network that is to be measured. Required there.
      - For O(side=server), the address of this host to listen on. Required to start a server. V(0.0.0.0) is all
        addresses of IPv4, V(::) all of IPv4 and IPv6.
      - niping, qperf and uperf have no option for an address. Their programs listen on all, and O(address) holds for
        the port of the counters only. netperf's program takes it for its own port.
    type: str
  port:
    description: The server's TCP port for the messages. V(0) is the first free one from 3298 to 3397.
    type: int
    default: 0
  control_port:
    description:
      - The server's TCP port for questions about its counters, where the tool's server is a program of its own. V(0) is
        the first free one from 3298 to 3397 that is left.
      - pingpong does both on O(port).
    type: int
    default: 0
  lifetime:
    description: Seconds after which the server ends itself, at most a week.
    type: int
    default: 3600
  calibrated:
    description:
      - Loops of a run by name of the workload (V(pingpong-1000B)), for workloads whose runs are as long as they have
        loops.
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
      - What the started server returned as C(session). Required for O(state=stopped), and for O(side=client) where
        the tool has a server.
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
    description:
      - The phase of the change, V(before) or V(after), or the name of a state of an experiment. Required with
        O(change).
    type: str
  round:
    description: The number of the round in its phase, from 1.
    type: int
    default: 1
  peer:
    description:
      - The inventory name of the server's host, for the records; O(address) where it is not set, and C(local) where
        the tool has no server.
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
attributes:
  check_mode:
    description: Starts, stops, measures and stores nothing. A started server is predicted with an empty token.
    support: full
  diff_mode:
    description: Shows no diff.
    support: none
  platform:
    description: Where it runs.
    support: full
    platforms: posix
notes:
  - With O(change) the records are stored on the controller, one file each, as
    C(<results>/<change>/<host>/<phase>-<round>-<workload>-<peer>.json). A round that has its records already is
    refused before anything is measured.
  - Connections to the servers of this collection (pingpong, locktable, and the port for questions of every tool) have
    to begin with the random token of the session within 5 seconds. The programs of other tools (niping, netperf, qperf,
    sockperf, uperf) know no token and serve whoever reaches their port while the server runs.
  - The server process stays after the connection of Ansible has ended. Where systemd-logind is set to
    C(KillUserProcesses=yes), C(become) with a user that lingers is needed.
  - The firewall between the hosts has to let the ports through.
"""
