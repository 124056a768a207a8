#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action plugin of this name."""

DOCUMENTATION = r"""
---
module: tuning
short_description: Run the module of a tuning with the variables of its role
version_added: 0.9.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - The only task that the role of a tuning needs. Each option of the module comes from the variable
    C(<tuning>_<option>); a variable that is null leaves its option out.
  - C(zpower_checkpoint), C(zpower_lease), C(zpower_confirm_within) and C(zpower_root) become the options of these
    names, and O(zpower.sap_tuning.rps#module:complete) is always true. Empty text in C(zpower_confirm_within) means
    that it is not given.
  - If C(zpower_rollback) is true, the state is V(restored) for everything in the journal.
  - If C(zpower_confirm) is true, the state is V(confirmed), and C(zpower_confirm_within) does not count. The other
    variables say which values the host should have.
  - An error in the template of a variable names the variable.
  - Needs Python 3.6 or later on the host.
options:
  name:
    description: The tuning, such as V(rps).
    type: str
    required: true
attributes:
  check_mode:
    description: As the module of the tuning.
    support: full
  diff_mode:
    description: As the module of the tuning.
    support: full
"""

EXAMPLES = r"""
- name: Receive Packet Steering, as the variables rps_interfaces, rps_cpus and so on say
  zpower.sap_tuning.tuning:
    name: rps
  become: true
"""

RETURN = r"""
tuning:
  description: The tuning records, as the module of the tuning returns them.
  returned: success or failure after the input was accepted
  type: list
  elements: dict
"""
