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
    description:
      - With O(state=restored), take back also what someone else has changed since, and drop from the journal what is
        gone for good, such as an interface that was removed.
      - In every state, use a journal that was written on another machine. A host that was copied has the journal of the
        host it was copied from, and otherwise the call fails before anything is changed.
    type: bool
    default: false
  checkpoint:
    description:
      - A name for what is set only for a while, up to 64 letters, digits, C(.), C(_) and C(-). Calls with it keep what
        they find first in a journal of its own, and O(state=restored) with the same name brings back exactly that,
        which need not be what the collection found first of all.
      - While there is a checkpoint that is not taken back, a call without it, or with another one, sets nothing. It
        fails, or in check mode reports V(drifted). O(state=restored) without it takes back the checkpoint and then the
        rest.
    type: str
  lease:
    description:
      - With O(checkpoint), after so many seconds the host takes the checkpoint back by itself, unless another call with
        the same checkpoint renews the lease before that or takes the checkpoint back. So the host ends as it was found
        also where whoever made the call is gone.
      - A process on the host waits for it, which outlives the session that made the call. It does not outlive a
        reboot, and it restarts nothing. A value that takes effect with a restart waits for one.
      - V(0) ends the lease and leaves the checkpoint. Unset, a lease stays as it is. Up to V(604800), a week.
    type: int
  complete:
    description:
      - This call names all values of this tuning that are wanted on the host, as the roles do. Then the record of
        whatever else the journal knows of this tuning, such as an interface that is no longer named, is V(drifted)
        and says how it is taken back. It is not changed.
      - Ignored with O(checkpoint).
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
    by root only. Those of a checkpoint lie in a folder C(checkpoint-<name>) below.
"""
