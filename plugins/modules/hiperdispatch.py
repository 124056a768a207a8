#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HiperDispatch of Linux: options of module_utils/_tunings/hiperdispatch.py."""

DOCUMENTATION = r"""
---
module: hiperdispatch
short_description: Let Linux keep work away from CPUs of an LPAR that lose time to other LPARs
version_added: 0.9.0
description:
  - Sets the sysctl C(s390.hiperdispatch) and, if they are given, its thresholds, now and for the next boot, and can
    take them back to the values found first.
  - C(vertical:low) CPUs of an LPAR have only the capacity that other LPARs do not use. While HiperDispatch is on, the
    kernel measures the steal time of the C(vertical:medium) and C(vertical:low) CPUs. From O(steal_threshold) percent
    on, its scheduler treats the low ones as slow and prefers the others; below it, all CPUs are equal.
  - It acts on vertical CPUs only and never switches the polarization itself. If the CPUs are horizontal, or will be
    after the next boot, the verdict is V(drifted) with O(enabled=true); apply M(zpower.sap_tuning.cpu_polarization)
    with C(mode=vertical) first.
  - No measurement with SAP has been published. Measure it on your own machines.
  - A kernel without it (before 6.12, if the distribution has not added it) and a guest without CPU topology facility
    are V(unsupported).
extends_documentation_fragment:
  - zpower.sap_tuning.tuning
options:
  enabled:
    description: V(true) sets C(s390.hiperdispatch) to 1, V(false) to 0.
    type: bool
    default: true
  steal_threshold:
    description:
      - Percent of steal time from which on work is kept away from C(vertical:low) CPUs; if unset, it is left alone.
      - C(hd_steal_threshold), 0 to 100. V(0) always keeps work away, V(100) practically never.
    type: int
  delay_factor:
    description:
      - Quarters of a second that the kernel waits after a change of the topology; if unset, it is left alone.
      - C(hd_delay_factor), from 1. The kernel decides again only after that time.
    type: int
notes:
  - Kept by C(/etc/sysctl.d/91-zpower-sap-tuning-hiperdispatch.conf) and, for the thresholds,
    C(/etc/tmpfiles.d/91-zpower-sap-tuning-hiperdispatch.conf). A kernel that boots with the wanted
    C(s390.hiperdispatch) by itself (C(CONFIG_HIPERDISPATCH_ON)) gets no file for it, unless something else on the
    host sets another value.
"""

EXAMPLES = r"""
- name: HiperDispatch on, which needs vertical CPUs
  zpower.sap_tuning.hiperdispatch:

- name: Keep work away from low CPUs earlier
  zpower.sap_tuning.hiperdispatch:
    steal_threshold: 15

- name: HiperDispatch off
  zpower.sap_tuning.hiperdispatch:
    enabled: false
"""

RETURN = r"""
tuning:
  description: One record. Fields and verdicts are described in
    U(https://github.com/zpower/sap_tuning/blob/main/docs/schemas/tunings-1.schema.json).
  returned: success or failure after the input was accepted
  type: list
  elements: dict
  sample:
    - {name: hiperdispatch, subject: s390.hiperdispatch, verdict: changed, reason: 2 values set and read back}
"""

from ..module_utils._engine.entry_point import run_tuning
from ..module_utils._tunings.hiperdispatch import Hiperdispatch


def main():
    run_tuning(Hiperdispatch)


if __name__ == "__main__":
    main()
