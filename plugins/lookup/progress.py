# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The progress of a measurement in words."""

DOCUMENTATION = r"""
---
name: progress
short_description: Progress of a measurement, with the time that is left
version_added: 0.9.0
author:
  - The zpower.sap_tuning authors (@zpower)
description:
  - Returns one text, such as C(round 3 of 12, about 4 minutes left) or C(round 3 of at most 32, about 4 minutes to the
    next look). The roles that measure show it in task names.
options:
  _terms:
    description: Takes none.
  done:
    description: The number of rounds that have ended.
    type: int
    required: true
  total:
    description: The number of all rounds.
    type: int
    required: true
  until:
    description: The number of rounds after which the measurement may end, by default O(total).
    type: int
  since:
    description: The time of the beginning, in seconds since 1970. The time left follows from the rounds so far.
    type: float
    required: true
"""

EXAMPLES = r"""
- name: "Measure, {{ lookup('zpower.sap_tuning.progress', done=2, total=12, since=1763820000) }}"
  ansible.builtin.debug:
"""

RETURN = r"""
_list:
  description: One text.
  type: list
  elements: str
"""

import time
from typing import Any

from ansible.plugins.lookup import LookupBase

from ..plugin_utils._sessions.schedules import duration_text


def describe(done: int, total: int, elapsed: float, until: int | None = None) -> str:
    """Round and time left; no time before the first round has ended."""
    end = total if until is None else until
    text = f"round {done + 1} of {'at most ' if end < total else ''}{total}"
    if done < 1:
        return text
    left = duration_text(max(0.0, elapsed) / done * (end - done))
    return f"{text}, about {left} {'to the next look' if end < total else 'left'}"


class LookupModule(LookupBase):
    def run(self, terms: list[Any], variables: Any = None, **kwargs: Any) -> list[str]:
        self.set_options(var_options=variables, direct=kwargs)
        elapsed = time.time() - self.get_option("since")
        numbers = self.get_option("done"), self.get_option("total")
        return [describe(*numbers, elapsed, self.get_option("until"))]
