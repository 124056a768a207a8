#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel tunables of AIX: options of module_utils/_tunings/aix_tunables.py."""

DOCUMENTATION = r"""
---
module: aix_tunables
short_description: Set kernel tunables of AIX, running and for the next boot
version_added: 1.0.0
description:
  - Sets tunables of C(no), C(vmo), C(schedo), C(ioo), C(raso) and C(nfso), the running value and that of the next
    boot in two steps, and reads each back. It can take them back, to the line of C(/etc/tunables/nextboot) that was
    there, or to none.
  - It has no values of its own. Types, ranges and defaults are those of the host (C(-x)).
  - A tunable that takes effect at boot only (type R) is stored and V(pending_restart). One that needs C(bosboot) is
    V(observed); C(bosboot) is never run.
extends_documentation_fragment:
  - zpower.sap_tuning.tuning
options:
  values:
    description:
      - Tunables by name, with the command in front, in one key, such as C(no.tcp_nodelayack).
      - YAML reads the word C(no) alone as false.
      - C(value) is a whole number, or one with C(K), C(M), C(G), C(T), C(P) or C(E), powers of 1024. C(reason), why you
        want it, is needed too.
      - Restricted tunables, and those that can harm a running system, are V(observed) unless their entry has
        C(restricted=true) or C(risky=true).
      - C(stored=false) sets the running value only, C(running=false) that of the next boot only.
      - With O(state=restored), only these tunables; if unset, all that were changed.
    type: dict
    default: {}
attributes:
  platform:
    platforms: aix
notes:
  - Written from the documented formats of the AIX commands; nothing here has run on AIX yet.
"""

EXAMPLES = r"""
- name: A candidate to measure, until the next boot
  zpower.sap_tuning.aix_tunables:
    values:
      no.tcp_nodelayack: {value: 1, reason: change 4711, stored: false}

- name: One that can harm a system at work, and one that needs a reboot
  zpower.sap_tuning.aix_tunables:
    values:
      vmo.minfree: {value: 1024, reason: measured on 12 May, risky: true}
      no.ipqmaxlen: {value: 512, reason: dropped packets in netstat -s}
"""

RETURN = r"""
tuning:
  description: One record per tunable. Fields and verdicts are described in
    U(https://github.com/zpower/sap_tuning/blob/main/docs/schemas/tunings-1.schema.json).
  returned: success or failure after the input was accepted
  type: list
  elements: dict
  sample:
    - {name: aix_tunables, subject: no.tcp_nodelayack, verdict: changed, reason: 2 values set and read back}
"""

from ..module_utils._engine.entry_point import run_tuning
from ..module_utils._tunings.aix_tunables import AixTunables


def main():
    run_tuning(AixTunables)


if __name__ == "__main__":
    main()
