# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the tunings that change SAP profiles."""


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  change:
    description: The name of the change for the comment above new lines.
    type: str
    default: ""
  restart:
    description:
      - Instances by system and number (V(PRD_00)) that may be restarted if they do not run with the stored values.
      - They are restarted one after another, also across the hosts of a play. If one does not come back, the old
        values are stored again, it is started once more, and the module fails. The remaining instances are not touched.
      - A stopped instance stays stopped. Names of instances that are not on this host are ignored.
    type: list
    elements: str
    default: []
  restart_timeout:
    description: How many seconds a stop may take, and a start.
    type: int
    default: 600
  restart_soft_timeout:
    description:
      - How many seconds batch jobs and updates may take to end before an instance is stopped, for example V(480)
        (C(sapcontrol -function Stop SECONDS), SAP Note 953653). With V(0) they end at once.
      - This is added to O(restart_timeout) for the stop.
    type: int
    version_added: 1.0.0
    default: 0
  restart_in_cluster:
    description:
      - Restart instances that a Pacemaker cluster manages, although neither the cluster, the node nor the resource is
        in maintenance. The cluster treats the stop as a failure. It may start the instance again, move it, or fence the
        node.
      - With V(false), such an instance is not restarted, and its profile is left alone. The record is V(failed) and
        says how to put the resource into maintenance. The same holds if the cluster's configuration cannot be read.
    type: bool
    version_added: 1.0.0
    default: false
"""
