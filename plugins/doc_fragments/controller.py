# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the actions that run only on the controller share in their documentation."""


class ModuleDocFragment:
    DOCUMENTATION = r"""
author:
  - The zpower.sap_tuning authors (@zpower)
options:
  results:
    description: The results folder on the controller, relative to the working directory of the playbook run.
    type: path
    default: results
attributes:
  check_mode:
    description: Checks and computes everything, predicts what would change, and writes nothing.
    support: full
  diff_mode:
    description: Shows no diff.
    support: none
  platform:
    description: Runs on the controller, for hosts of every platform.
    support: full
    platforms: all
"""
