#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Attributes of AIX devices: face of module_utils/_tunings/aix_device_attributes.py."""

DOCUMENTATION = r"""
---
module: aix_device_attributes
short_description: Set attributes of AIX devices, in the database and in force
version_added: 0.1.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Sets attributes of devices such as C(sys0) or C(ent0), for each device with one C(chdev), reads them back, and can
    take them back to the values found first.
  - Three values are told apart, that of the database (C(lsattr -E)), that in force (C(lsattr -P)) and the wanted one.
    A value that someone has left to the next reboot is V(pending_restart).
  - A device that is not there is V(not_applicable); an attribute that the device does not have is an error.
  - For SMC-R there is M(zpower.sap_tuning.smc_r), which knows what that needs.
extends_documentation_fragment:
  - zpower.sap_tuning.tuning
options:
  devices:
    description:
      - Devices, and for each of them attributes with their values, as C(lsattr) shows them. Values are texts.
      - Values that YAML takes for something else (V(yes), V(true)) need quotes; two quotes are an empty value.
      - With O(state=restored), only these devices; if it is not set, all that were changed.
    type: dict
    default: {}
  when_busy:
    description:
      - What to do where C(chdev) says that a device is busy (0514-062). V(fail) leaves everything as it is.
      - V(defer) changes the database only (C(chdev -P)); the verdict is V(pending_restart) until the device is
        configured anew, by C(rmdev) and C(mkdev) or by a reboot.
    type: str
    choices: [fail, defer]
    default: fail
attributes:
  platform:
    platforms: aix
notes:
  - Values outside of what C(lsattr -R) names are refused before anything is changed, where it names them.
  - C(chdev) takes several pairs of attribute and value in one argument, so a value with a blank and C(x=) behind it is
    refused.
  - Written from the documented formats of AIX's commands; nothing here has run on AIX yet.
"""

EXAMPLES = r"""
- name: More processes for each user, and large frames at the next reboot
  zpower.sap_tuning.aix_device_attributes:
    devices:
      sys0:
        maxuproc: 4096
      ent0:
        jumbo_frames: 'yes'
    when_busy: defer

- name: Back to the values that were there before this collection touched them
  zpower.sap_tuning.aix_device_attributes:
    state: restored
"""

RETURN = r"""
tuning:
  description: One record for each device.
  returned: success or failure after the input was accepted
  type: list
  elements: dict
  contains:
    name:
      description: The tuning.
      returned: always
      type: str
      sample: aix_device_attributes
    subject:
      description: The device.
      returned: always
      type: str
      sample: sys0
    wanted:
      description: What was asked for.
      returned: always
      type: dict
      sample: {state: present, attributes: {maxuproc: '4096'}}
    before:
      description:
        - The values found, by attribute. RV(ignore:running) are those with which the device was last configured,
          RV(ignore:stored) those of the database, which are RV(ignore:next_boot) too.
      returned: always
      type: dict
      sample: {running: {maxuproc: '2048'}, stored: {maxuproc: '2048'}, next_boot: {maxuproc: '2048'}}
    after:
      description: The same after the run; in check mode what it would be.
      returned: always
      type: dict
      sample: {running: {maxuproc: '4096'}, stored: {maxuproc: '4096'}, next_boot: {maxuproc: '4096'}}
    verdict:
      description:
        - V(compliant) and V(changed) are as wanted. V(pending_restart) is stored, by whomever, and not in force yet.
        - V(drifted) is not as wanted, found in check mode, or left alone by O(state=restored) because someone else has
          changed it since.
        - V(not_applicable) and V(unsupported) say why and are no failures.
      returned: always
      type: str
      sample: changed
    reason:
      description: Why the verdict is what it is.
      returned: always
      type: str
      sample: 1 value set and read back
    remarks:
      description: What is worth knowing although nothing is wrong.
      returned: always
      type: list
      elements: str
      sample: ['sys0 is busy: only its database was changed (chdev -P)']
    restart:
      description: What must be restarted for stored values to act, V(device), or V(reboot) for C(sys0).
      returned: always
      type: str
      sample: device
    conflicts:
      description: Lines with C(chdev) in C(/etc/inittab), rc scripts and root's crontab that set the same attributes.
      returned: always
      type: list
      elements: dict
      sample:
        - what: boot script
          file: /etc/rc.d/rc2.d/S99site
          line: 3
          value: '2048'
          wins: possible
          effect: sets maxuproc of sys0 to 2048
    sources:
      description: Where the tuning is published.
      returned: always
      type: list
      elements: str
      sample: ['AIX commands reference: lsattr, chdev']
    undo:
      description: How it is taken back.
      returned: always
      type: str
      sample: 'ansible-playbook zpower.sap_tuning.rollback, or state: restored of aix_device_attributes'
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._engine.entry_point import STATE_ARGUMENTS, run_tuning
from ..module_utils._tunings.aix_device_attributes import AixDeviceAttributes


def main():
    module = AnsibleModule(
        argument_spec=dict(
            STATE_ARGUMENTS,
            devices=dict(type="dict", default={}),
            when_busy=dict(type="str", choices=["fail", "defer"], default="fail"),
        ),
        supports_check_mode=True,
    )
    run_tuning(module, AixDeviceAttributes)


if __name__ == "__main__":
    main()
