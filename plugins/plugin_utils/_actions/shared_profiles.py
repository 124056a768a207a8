# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SAP profiles of several hosts on one shared file system: the first host that asks for a profile changes it."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean

from .variables import asked_for, choose, known_tunings

# These describe one profile; it is added to the list of profiles.
PROFILE = ("profile", "sid", "instance", "presets", "parameters")
SHARED_FOLDERS = re.compile(r"^/(?:sapmnt/([A-Z][A-Z0-9]{2})|usr/sap/([A-Z][A-Z0-9]{2})/SYS)/profile/")


def shared_name(entry: Mapping[str, Any]) -> str:
    """The same text for all paths of one shared profile; empty if the entry names an instance of its own host."""
    if entry.get("instance") == "DEFAULT":
        return f"{entry.get('sid') or ''}/DEFAULT.PFL"
    return SHARED_FOLDERS.sub(r"\1\2/", entry.get("profile") or "")


def named_entries(value_of: Callable[[str], Any]) -> list[tuple[str, dict[str, Any]]]:
    """[(shared name, entry for the module)], from the variables of the role; ValueError names a wrong variable."""
    plain = {option: found for option in PROFILE if (found := value_of(f"sap_profile_{option}"))}
    more = value_of("sap_profile_profiles") or []
    if not isinstance(more, list) or not all(isinstance(entry, Mapping) for entry in more):
        raise ValueError(f"sap_profile_profiles: a list of dictionaries is needed, this is {more!r}")
    shared = value_of("sap_profile_shared")
    try:
        shared = shared is None or boolean(shared)
    except TypeError as error:
        raise ValueError(f"sap_profile_shared: {error}") from error
    return [(shared_name(entry) if shared else "", entry) for entry in ([plain] if plain else []) + more]


def common(
    variables: Mapping[str, object], own: Mapping[str, object], defaults: Mapping[str, object]
) -> dict[str, object]:
    """The variables of a task that the play, roles or the task set to the same value on all hosts.

    own: what the inventory and facts say of the task's host; defaults: of roles, which do not count.
    """
    return {
        name: value
        for name, value in variables.items()
        if (own[name] != value if name in own else name not in defaults or defaults[name] != value)
    }


def asks(value_of: Callable[[str], Any], chosen: str | None = None) -> dict[str, object]:
    """What a host tells the others: the names of its shared profiles, and whether it may restart instances.

    chosen: the variable with its tunings; None if sap_profile certainly is one.
    """
    try:
        rollback = boolean(value_of("zpower_rollback"), strict=False)
        names = [] if rollback else [name for name, _entry in named_entries(value_of) if name]
        restart = bool(value_of("sap_profile_restart"))
        if not names and not restart:  # most hosts, which saves them the template of the tunings
            return {}
        if chosen and "sap_profile" not in choose(asked_for(value_of(chosen), value_of), known_tunings()):
            return {}
        return {"names": names, "restart": restart}
    except ValueError:  # its call will fail with this error
        return {}


def order(asked: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """What the hosts need to know of each other; asked: {host: asks()}, in the order of the play.

    owners: {shared name: the host that changes it}. later: the hosts that come second, because they restart instances
    or wait for other hosts; with 1 if only one of them may run at a time, which keeps them in the order of the play.
    """
    owners: dict[str, str] = {}
    for host, one in asked.items():
        for name in one.get("names", ()):
            owners.setdefault(name, host)
    waits = {host: {owners[name] for name in one.get("names", ())} - {host} for host, one in asked.items()}
    single = {host for host, one in asked.items() if one.get("restart")}
    later = {host for host in asked if waits[host]} | single
    for host in later:
        if second := waits[host] & later:
            single |= {host, *second}
    return {"owners": owners, "later": {host: int(host in single) for host in asked if host in later}}


def profiles(value_of: Callable[[str], Any]) -> list[dict[str, object]]:
    """The entries for the module, with left_to in those that another host changes."""
    owners = (value_of("__sap_profile_order") or {}).get("owners", {})
    host, found = value_of("inventory_hostname"), []
    for name, entry in named_entries(value_of):
        owner = owners.get(name, host)
        found.append(entry if owner == host else {**entry, "left_to": owner})
    return found
