#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Input buffers of qeth devices: options of module_utils/_tunings/qeth.py."""

DOCUMENTATION = r"""
---
module: qeth
short_description: Store the number of input buffers of OSA, VSWITCH and HiperSockets devices
version_added: 1.0.0
description:
  - Stores C(buffer_count) of qeth devices of Linux on Z with C(chzdev -p), and can take it back. OSA and VSWITCH start
    with 64 input buffers, HiperSockets with 128, which is the maximum.
  - It never changes a running device. The kernel takes a new number only while the device is offline, which ends its
    connections. The stored number acts at the next boot, or when an administrator sets the device offline and online;
    until then the verdict is V(pending_restart) with the words C(needs re-activation).
  - A device that gets the number at boot anyway, such as HiperSockets by default, is left alone. So is one that chzdev
    does not keep; it is V(drifted), with a sentence that says where to set the number.
  - MTU, size of the input buffers and number of queues are shown and never set.
  - A host without qeth devices is V(not_applicable), one without C(chzdev) V(unsupported).
extends_documentation_fragment:
  - zpower.sap_tuning.tuning
options:
  devices:
    description: Devices by bus id (V(0.0.0600)), by the name of their interface, by a shell glob of either, by card
      type (V(hipersockets), V(osa)), or V(auto) for all. V(osa) includes VSWITCH. Devices for management (OSM, OSN) are
      left out.
    type: list
    elements: str
    default: [auto]
  buffer_count:
    description: The number of input buffers, 8 to 128. Each has the size that C(inbuf_size) shows, 16 to 64 KiB.
    type: int
    default: 128
notes:
  - Kept by chzdev's file C(/etc/udev/rules.d/41-qeth-<bus id>.rules), whose bytes before are in the journal. The way
    back restores them. A file of this name that chzdev has not written is left alone.
  - The initial RAM disk is left alone (C(--no-root-update)). If the root file system is reached through the device,
    rebuild it by hand.
"""

EXAMPLES = r"""
- name: 128 input buffers for all qeth devices, from the next boot on
  zpower.sap_tuning.qeth:

- name: Only one device
  zpower.sap_tuning.qeth:
    devices: [0.0.0600]
"""

RETURN = r"""
tuning:
  description: One record per device. Fields and verdicts are described in
    U(https://github.com/zpower/sap_tuning/blob/main/docs/schemas/tunings-1.schema.json).
  returned: success or failure after the input was accepted
  type: list
  elements: dict
  sample:
    - {name: qeth, subject: 0.0.0600, verdict: pending_restart,
       reason: '0.0.0600 buffer_count: 64 is in force, 128 once the device is configured again'}
"""

from ..module_utils._engine.entry_point import run_tuning
from ..module_utils._tunings.qeth import Qeth


def main():
    run_tuning(Qeth)


if __name__ == "__main__":
    main()
