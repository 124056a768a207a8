#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Attributes of AIX devices: options of module_utils/_tunings/aix_device_attributes.py."""

DOCUMENTATION = r"""
---
module: aix_device_attributes
short_description: Set attributes of AIX devices, in the database and in force
version_added: 0.1.0
description:
  - Sets attributes of devices such as C(sys0) or C(ent0) with one C(chdev) per device, reads them back, and can take
    them back to the values found first.
  - Compares the wanted value with the one in the database (C(lsattr -E)) and the one in force (C(lsattr -P)). A value
    that waits for the next reboot is V(pending_restart).
  - A missing device is V(not_applicable); an attribute that the device does not have is an error.
  - For SMC-R use M(zpower.sap_tuning.smc_r), which knows its requirements.
extends_documentation_fragment:
  - zpower.sap_tuning.tuning
options:
  devices:
    description:
      - Attributes by device, with their values as C(lsattr) shows them.
      - Quote values that YAML does not read as text (V(yes), V(true)); two quotes are an empty value.
      - With O(state=restored), only these devices; if unset, all that were changed.
    type: dict
    default: {}
  when_busy:
    description:
      - If a device is busy, V(fail) changes nothing, V(defer) only the database until it is configured again.
      - Busy is error 0514-062 or 0514-029 of C(chdev). After V(defer) (C(chdev -P)) the verdict is V(pending_restart)
        until C(rmdev) and C(mkdev), or a reboot, configure the device again.
    type: str
    choices: [fail, defer]
    default: fail
attributes:
  platform:
    platforms: aix
notes:
  - If C(lsattr -R) lists the legal values of an attribute, other values are refused before anything is changed.
  - C(chdev) accepts several pairs of attribute and value in one argument, so a value with a blank followed
    by C(x=) is refused.
  - Written from the documented formats of the AIX commands; nothing here has run on AIX yet.
"""

EXAMPLES = r"""
- name: More processes per user, and large frames at the next reboot
  zpower.sap_tuning.aix_device_attributes:
    devices:
      sys0:
        maxuproc: 4096
      ent0:
        jumbo_frames: 'yes'
    when_busy: defer
"""

RETURN = r"""
tuning:
  description: One record per device. Fields and verdicts are described in
    U(https://github.com/zpower/sap_tuning/blob/main/docs/schemas/tunings-1.schema.json).
  returned: success or failure after the input was accepted
  type: list
  elements: dict
  sample:
    - {name: aix_device_attributes, subject: sys0, verdict: changed, reason: 1 value set and read back}
"""

from ..module_utils._engine.entry_point import run_tuning
from ..module_utils._tunings.aix_device_attributes import AixDeviceAttributes


def main():
    run_tuning(AixDeviceAttributes)


if __name__ == "__main__":
    main()
