# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Common documentation of the tuning modules."""


class ModuleDocFragment:
    DOCUMENTATION = r"""
author:
  - The zpower.sap_tuning authors (@zpower)
options:
  state:
    description:
      - V(present) sets the values, V(restored) goes back to the first values, V(confirmed) keeps values on probation.
      - V(present) sets the values now and for the next boot.
      - V(confirmed) makes values that were set with O(confirm_within) normal ones and ends the probation. It sets
        nothing. Its records say whether the values are as requested; they are not if the host has taken them back.
      - First values are those found before this collection first changed them, as the journal on the host has them. A
        value that someone else has changed since is left alone and reported.
    type: str
    choices: [present, restored, confirmed]
    default: present
  force:
    description:
      - Also take back values that someone else has changed since, and use the journal of another machine.
      - With O(state=restored), it also drops from the journal what is gone, for example a removed interface.
      - A copied host has the journal of its original. In every state, the call then fails without this option before
        anything is changed.
    type: bool
    default: false
  checkpoint:
    description:
      - A name for values that are set only for a while, up to 64 letters, digits, C(.), C(_) and C(-). Calls with it
        keep the values that they find in a journal of its own, and O(state=restored) with the same name brings back
        exactly these, which need not be the first values.
      - Until the checkpoint is taken back, a call without it, or with another one, sets nothing. It fails, or in
        check mode reports V(drifted). O(state=restored) without it takes back the checkpoint and then the rest.
    type: str
  lease:
    description:
      - With O(checkpoint), the number of seconds after which the host takes the checkpoint back by itself, unless
        another call with the same checkpoint renews the lease or takes the checkpoint back. So the host returns to
        its state even if the controller is gone.
      - A process on the host does this. It outlives the session that made the call, but not a reboot, and it restarts
        nothing. A value that takes effect with a restart waits for one.
      - V(0) ends the lease and keeps the checkpoint. If unset, the lease does not change. At most V(604800), a week.
    type: int
  confirm_within:
    description:
      - Sets the values on probation for this time, such as V(90s), V(10m), V(2h) or V(1d), at most a week. The host
        takes them back by itself, to the values found when the probation began, unless a call with O(state=confirmed)
        keeps them before. Each further call with this option starts the time again.
      - Where systemd runs, a service does this, which goes on after a reboot and when the session of the call ends.
        Elsewhere it is a process, as for O(lease). Neither restarts anything.
      - With V(0), the values stay on probation until they are confirmed or taken back. Empty text means that the
        option is not given.
      - With O(state=restored), only values on probation are taken back. Until they are confirmed or taken back, a
        call without this option sets nothing.
      - Not with O(checkpoint) and O(lease). Ignored with O(state=confirmed).
    type: str
    version_added: 0.9.0
  confirm_runs:
    description:
      - For the roles of this collection only; it may change in any version.
      - The runs of a rollout, this one last. Values that another run has set on probation are then neither set nor
        confirmed nor taken back; the call fails. If empty, values of all runs are.
    type: list
    elements: str
    version_added: 1.0.0
    default: []
  confirmed_state:
    description:
      - For the roles of this collection only; it may change in any version.
      - With O(state=confirmed), the state that the values should have.
    type: str
    version_added: 0.9.0
    choices: [present, 'off', restored]
    default: present
  complete:
    description:
      - For the roles of this collection only; it may change in any version.
      - This call names all values of this tuning that the host should have, as calls of the roles do. Any other
        subject in the journal, such as an interface that is no longer named, then has a record V(drifted) that says
        how to take it back. It is not changed.
      - Ignored with O(checkpoint).
    type: bool
    version_added: 0.9.0
    default: false
  root:
    description:
      - A capture that is checked instead of the host, in check mode only. It is a folder or archive with C(proc)
        and C(sys) of a machine with Linux, or an archive of C(dbginfo.sh), C(sos) or C(supportconfig).
      - The module reads it where it runs. A value that the capture cannot hold is V(unknown), never absent. Nothing of
        the archive is unpacked, and no command is run.
    type: path
    version_added: 0.9.0
attributes:
  check_mode:
    description: Predicts every change without making it.
    support: full
  diff_mode:
    description: Shows changes in the terms of the tuning.
    support: full
  platform:
    description: Where it acts. Elsewhere the verdict is V(not_applicable).
    support: full
    platforms: linux
notes:
  - Needs Python 3.6 or later on the host.
  - The host keeps the first values in C(/var/lib/zpower_sap_tuning) (AIX C(/var/adm/zpower_sap_tuning)), readable by
    root only, and those of a checkpoint in the folder C(checkpoint-<name>) below.
"""
