# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of a host that would override the inventory: Ansible lets a fact beat variables of a role.

They come from modules that are not of this collection, such as setup, or from a cache of facts.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from .text import one_line, shorten

ROLES = Path(__file__).resolve().parents[3] / "roles"
ALLOWED = ("zpower_platform",)
"""What platform_info returns; nothing here decides by it."""
OF_ANSIBLE = {"group_names", "groups", "hostvars", "inventory_hostname", "inventory_hostname_short", "omit"}
LONGEST_NAME = 80


@cache
def _own() -> re.Pattern[str]:
    """The names of this collection's variables: ``rps_every``, ``zpower_change``, ``__tunings_result``."""
    names = [path.name for path in ROLES.iterdir() if path.is_dir()]
    return re.compile(f"(__)?({'|'.join(map(re.escape, [*names, 'tunings', 'zpower']))})_|__session(_|$)")


def deciding(variables: Mapping[str, object]) -> list[str]:
    """The facts of a host with names of variables of this collection. ``variables``: those of a task of the host."""
    facts = variables.get("ansible_facts")
    if not isinstance(facts, Mapping):
        return []
    found = {str(name) for name in facts if name in OF_ANSIBLE or _own().match(str(name))} - {*ALLOWED}
    # the plan of a rollout, which the controller keeps as a fact of its own
    return sorted(found - {"__rollout_plan"} if variables.get("inventory_hostname") == "localhost" else found)


def check(variables: Mapping[str, object]) -> None:
    """ValueError for a host whose facts would decide."""
    if names := deciding(variables):
        shown = ", ".join(shorten(one_line(name), LONGEST_NAME) for name in names[:3])
        raise ValueError(
            f"{one_line(variables.get('inventory_hostname'))} has the fact {shown}, which is the name of a variable of "
            "this collection or of Ansible: only the inventory, a play or -e may set it. Find what returns it (a "
            "module on the host, set_fact with cacheable, a cache of facts), and run again without it"
        )
