#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SMC for SAP instances on Linux: options of module_utils/_tunings/smc.py."""

DOCUMENTATION = r"""
---
module: smc
short_description: Let SAP instances on Linux use SMC-R and SMC-D
version_added: 0.9.0
description:
  - Lets the named SAP instances open SMC sockets instead of TCP sockets, by a line
    C(SETENV_nn = LD_PRELOAD=libsmc-preload.so) in their instance profiles, and prepares the kernel. It sets PNET IDs,
    UEIDs, and modules at boot.
  - A connection then runs over SMC-R or SMC-D if the other end offers SMC too and both find a common device. Otherwise
    it falls back to TCP; the remarks of the record count the connections of each kind with the kernel's reasons.
  - The profile is used, and not a drop-in of the systemd unit, because it acts on every start of the instance, by
    systemd, C(sapinit), C(sapcontrol) or a cluster.
  - An instance takes the line at its next start. Until then the verdict is V(pending_restart). It is restarted only if
    O(restart) names it. The proof is the library in its processes (C(/proc/PID/maps)), not the variable.
  - The library has no fallback. If the kernel lacks SMC, every TCP socket of the instance fails. So the module refuses
    to write the line without SMC in the kernel, and without the library in a folder of the dynamic linker. It loads the
    kernel's module C(smc) before it writes the line.
  - No published measurement says what SMC is worth for SAP on Linux on Z. Measure before and after.
extends_documentation_fragment:
  - zpower.sap_tuning.tuning
  - zpower.sap_tuning.restarting
options:
  instances:
    description:
      - The SAP instances that are to use SMC, as system and number (V(PRD_00)), or as paths of instance profiles.
      - Instances that are not named are left alone.
      - SAP HANA and default profiles are refused. The central services would read a default profile too.
      - If profiles preload other libraries already, they are kept (C(%(LD_PRELOAD))).
    type: list
    elements: str
    default: []
  pnet_ids:
    description:
      - PNET IDs for interfaces and devices to which the hardware gives none. A PNET ID of the hardware overrides them.
      - Ends of a connection with SMC-R or SMC-D version 1 need interfaces and devices of one PNET ID.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: The PNET ID, up to 16 letters and digits. The kernel turns them into upper case.
        type: str
        required: true
      interface:
        description: The name of a network interface, such as V(enc1000).
        type: str
      device:
        description: The name of an RDMA device, such as V(mlx5_0).
        type: str
      pci:
        description: The PCI address of an ISM or RDMA device, such as V(0001:00:00.0).
        type: str
      port:
        description: The port of O(pnet_ids[].device), V(1) if it is not given. The kernel keeps one port per device.
        type: int
        choices: [1, 2]
  ueids:
    description:
      - User-defined EIDs for version 2 of SMC, which crosses IP subnets. Both ends need one in common.
      - At most four, of V(A) to V(Z), digits, C(.) and C(-).
    type: list
    elements: str
    default: []
attributes:
  platform:
    platforms: linux
notes:
  - Needs root.
  - The library is part of smc-tools. This module does not install it.
  - O(state=restored) takes the line out of the profiles first, then PNET IDs, UEIDs and modules at boot. It unloads no
    module, because the kernel refuses that while SMC sockets are open. The instances then wait for another restart.
"""

EXAMPLES = r"""
- name: Two instances use SMC from their next start on; the hardware has PNET IDs
  zpower.sap_tuning.smc:
    instances: [PRD_00, PRD_01]
    ueids: [SAP.PRD]

- name: SMC-R over a RoCE card whose PNET ID the hardware does not give, and the instance restarted at once
  zpower.sap_tuning.smc:
    instances: [/usr/sap/PRD/SYS/profile/PRD_D00_sapapp1]
    pnet_ids:
      - {name: SAPNET, interface: enc1000}
      - {name: SAPNET, device: mlx5_0}
    restart: [PRD_00]
"""

RETURN = r"""
tuning:
  description: One record per instance, one for the kernel, and one each for PNET IDs and UEIDs if they are asked for.
    Fields and verdicts are described in
    U(https://github.com/zpower/sap_tuning/blob/main/docs/schemas/tunings-1.schema.json).
  returned: success or failure after the input was accepted
  type: list
  elements: dict
  sample:
    - {name: smc, subject: /usr/sap/PRD/SYS/profile/PRD_D00_sapapp1, verdict: pending_restart,
       reason: 'LD_PRELOAD: not loaded is in force, libsmc-preload.so after a restart of the instance'}
"""

from ..module_utils._engine.entry_point import run_tuning
from ..module_utils._tunings.smc import Smc


def main():
    run_tuning(Smc)


if __name__ == "__main__":
    main()
