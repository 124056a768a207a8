# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the documentation of the actions that run on the controller alone has in common."""


class ModuleDocFragment:
    DOCUMENTATION = r"""
attributes:
  check_mode:
    description: Writes nothing in check mode.
    support: full
  diff_mode:
    description: Shows no diff.
    support: none
  platform:
    description: Runs on the controller, for hosts of every platform.
    support: full
    platforms: all
"""
