#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of SMC on Linux: face of module_utils/_tunings/smc_sysctls.py."""

DOCUMENTATION = r"""
---
module: smc_sysctls
short_description: Set the sysctls of SMC-R and SMC-D on Linux
version_added: 0.1.0
description:
  - Sets sysctls C(net.smc.*), now and for the next boot, reads them back, and can restore the values found first.
  - The kernel has them while its module C(smc) is loaded. If it lacks one of the sysctls in O(settings), the verdict
    is V(unsupported), and none is set. Without O(settings) the verdict is V(not_applicable).
  - This switches no connection to SMC. That takes RoCE or ISM devices with a common PNET id on both ends, and
    programs that open SMC sockets (C(smc_run)). M(zpower.sap_tuning.platform_settings_info) says whether connections
    use SMC.
  - No published measurement says what these values are worth for SAP. Measure before and after.
extends_documentation_fragment:
  - zpower.sap_tuning.tuning
options:
  settings:
    description:
      - Whole numbers by the names of the sysctls below C(net.smc). Sysctls that are missing or null are left alone.
      - C(autocorking_size), bytes up to which small messages of one connection are put together; V(0)
        sends each by itself.
      - C(limit_smc_hs), V(1) lets new connections fall back to TCP while many handshakes are under way, V(0) does not.
      - C(rmem) and C(wmem), bytes of the receive and the send buffer that a connection begins with, from 16384.
      - C(smcr_buf_type), buffers of new link groups of SMC-R, V(0) physically contiguous, V(1) virtually, V(2)
        physically if there is such memory, else virtually.
      - C(smcr_max_conns_per_lgr), connections per link group, 16 to 255. SMC-R from version 2.1 on.
      - C(smcr_max_links_per_lgr), links per link group, 1 or 2. SMC-R from version 2.1 on.
      - C(smcr_max_recv_wr) and C(smcr_max_send_wr), work requests that a link can receive and send at once, 2 to
        2048. Newer kernels only.
      - C(smcr_testlink_time), seconds without traffic after which a link is tested; V(0) tests none.
    type: dict
    version_added: 0.9.0
    default: {}
notes:
  - Kept over reboots by C(/etc/sysctl.d/91-zpower-sap-tuning-smc-sysctls.conf). Linux reads that folder once
    at boot, so C(/etc/modules-load.d/91-zpower-sap-tuning-smc-sysctls.conf) loads the module C(smc) first, unless
    something else does.
  - If the kernel refuses a value, the error says so, and nothing is changed.
  - The values are those of the network namespace in which the module runs.
"""

EXAMPLES = r"""
- name: Larger buffers for SMC
  zpower.sap_tuning.smc_sysctls:
    settings:
      rmem: 262144
      wmem: 262144
"""

RETURN = r"""
tuning:
  description: One record. Fields and verdicts are described in
    U(https://github.com/zpower/sap_tuning/blob/main/docs/schemas/tunings-1.schema.json).
  returned: success or failure after the input was accepted
  type: list
  elements: dict
  sample:
    - {name: smc_sysctls, subject: net.smc, verdict: changed, reason: 3 values set and read back}
"""

from ..module_utils._engine.entry_point import run_tuning
from ..module_utils._tunings.smc_sysctls import SmcSysctls


def main():
    run_tuning(SmcSysctls)


if __name__ == "__main__":
    main()
