#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU topology of a guest: options of module_utils/_tunings/cpu_topology.py."""

DOCUMENTATION = r"""
---
module: cpu_topology
short_description: Let the scheduler of a guest treat all CPUs as cores of one socket
version_added: 0.1.0
description:
  - Sets the sysctl C(s390.topology) of a guest that gets no topology information from its hypervisor (z/VM, KVM), now
    and for the next boot, checks the topology that the scheduler sees, and can take the sysctl back to the value
    found first. The published study calls it C(sw_siblings).
  - Without topology information every CPU is a socket, book and drawer of its own, the greatest distance the
    scheduler knows. With O(sw_siblings=true) all CPUs are siblings in one socket, and the scheduler moves work
    between them more readily.
  - IBM published 26 % less batch elapsed time on z/VM guests with SMT, which had needed about 30 % more than without
    SMT because they did not know their topology, and 1 % less without SMT (Performance Evaluation of SAP Application
    Servers on Z, v1.02, 5.1 to 5.4 and table 2).
  - The kernel's commit message mentions up to 10 %, depending on the workload, and recommends the
    default on overcommitted hypervisors.
  - An LPAR knows its real topology; there the record says V(not_applicable), unless it hides the topology (booted with
    C(topology=off), or C(s390.topology) is 0). Then it is V(drifted), and O(sw_siblings=true) shows the topology again.
extends_documentation_fragment:
  - zpower.sap_tuning.tuning
options:
  sw_siblings:
    description: V(true) puts all CPUs into one socket (C(s390.topology) 1), V(false) each CPU into its own (0).
    type: bool
    default: true
notes:
  - Kept over reboots by C(/etc/sysctl.d/91-zpower-sap-tuning-cpu-topology.conf), which overrides C(topology=on) and
    C(topology=off) on the kernel command line.
"""

EXAMPLES = r"""
- name: All CPUs are siblings
  zpower.sap_tuning.cpu_topology:

- name: Each CPU in its own socket, the kernel's default
  zpower.sap_tuning.cpu_topology:
    sw_siblings: false
"""

RETURN = r"""
tuning:
  description: One record. Fields and verdicts are described in
    U(https://github.com/zpower/sap_tuning/blob/main/docs/schemas/tunings-1.schema.json).
  returned: success or failure after the input was accepted
  type: list
  elements: dict
  sample:
    - {name: cpu_topology, subject: s390.topology, verdict: changed, reason: 2 values set and read back}
"""

from ..module_utils._engine.entry_point import run_tuning
from ..module_utils._tunings.cpu_topology import CpuTopology


def main():
    run_tuning(CpuTopology)


if __name__ == "__main__":
    main()
