#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU polarization of an LPAR: options of module_utils/_tunings/cpu_polarization.py."""

DOCUMENTATION = r"""
---
module: cpu_polarization
short_description: Dispatch the CPUs of an LPAR vertically or horizontally
version_added: 0.1.0
description:
  - Sets the dispatching mode of an LPAR on IBM Z, as C(chcpu -p) does, now and for the next boot, waits until every
    online CPU shows it, and can take it back to the mode found first.
  - With horizontal polarization the LPAR's share of the machine is spread evenly over all its CPUs. With vertical
    polarization a few CPUs get all of a real one (C(vertical:high)), one or two a part of it
    (C(vertical:medium)), and the others only the capacity that other LPARs do not use (C(vertical:low)). Work
    stays on fewer CPUs with warmer caches.
  - The published effects are small, under 1 % of batch elapsed time (IBM, Performance Evaluation of SAP Application
    Servers on Z, v1.02, 5.6) and no change (IBM, SAP CRM 7.0 on IBM Z, v1.00, 4.3), both on LPARs of 12 to 16 IFLs.
    Measure it on your own machines.
  - On an LPAR with shared CPUs whose kernel has no HiperDispatch, a remark quotes IBM's advice against a mix of types.
  - A guest of z/VM cannot choose, and one of KVM only with QEMU from 8.2 on and its CPU model C(host), or C(ctop=on)
    for other models; otherwise the record says V(unsupported) and why.
extends_documentation_fragment:
  - zpower.sap_tuning.tuning
options:
  mode:
    description: The dispatching mode, V(vertical) or V(horizontal).
    type: str
    choices: [vertical, horizontal]
    default: vertical
  wait_timeout:
    description:
      - How many seconds to wait until all online CPUs show the mode.
      - After a switch each CPU shows C(unknown) until the machine has reported its new topology, usually for a
        second, for a minute if the report is late.
    type: int
    default: 75
notes:
  - Kernels from 6.12 on are set through the sysctl C(s390.polarization), kept by
    C(/etc/sysctl.d/91-zpower-sap-tuning-cpu-polarization.conf); older ones through
    C(/sys/devices/system/cpu/dispatching), kept by C(/etc/tmpfiles.d/91-zpower-sap-tuning-cpu-polarization.conf).
  - A kernel that boots into the wanted mode by itself (C(CONFIG_SCHED_TOPOLOGY_VERTICAL)) gets no such file, unless
    something else on the host sets another mode.
"""

EXAMPLES = r"""
- name: Vertical dispatching
  zpower.sap_tuning.cpu_polarization:
    mode: vertical
"""

RETURN = r"""
tuning:
  description: One record. Fields and verdicts are described in
    U(https://github.com/zpower/sap_tuning/blob/main/docs/schemas/tunings-1.schema.json).
  returned: success or failure after the input was accepted
  type: list
  elements: dict
  sample:
    - {name: cpu_polarization, subject: dispatching, verdict: changed, reason: 2 values set and read back}
"""

from ..module_utils._engine.entry_point import run_tuning
from ..module_utils._tunings.cpu_polarization import CpuPolarization


def main():
    run_tuning(CpuPolarization)


if __name__ == "__main__":
    main()
