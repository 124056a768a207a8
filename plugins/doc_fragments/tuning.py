# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the documentation of every tuning module has in common."""


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  state:
    description:
      - V(present) sets the tuning and keeps it over reboots.
      - V(restored) goes back to the values found before this collection first changed them, as the journal on the
        host has
        them. A value that someone else has changed since is left alone and reported.
    type: str
    choices: [present, restored]
    default: present
  force:
    description: With O(state=restored), take back also what someone else has changed since.
    type: bool
    default: false
attributes:
  check_mode:
    description: Can run in check mode and predict every change without making it.
    support: full
  diff_mode:
    description: Shows what changes, in the words of the tuning.
    support: full
  platform:
    description: Where it acts. Elsewhere the verdict is V(not_applicable).
    support: full
    platforms: linux
notes:
  - First values are kept on the host in C(/var/lib/zpower_sap_tuning) (AIX C(/var/adm/zpower_sap_tuning)), readable
    by root only.
"""
