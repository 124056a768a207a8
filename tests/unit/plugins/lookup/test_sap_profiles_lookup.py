# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which host changes a shared SAP profile, and which hosts come second."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions import shared_profiles

Entry = dict[str, Any]


@pytest.mark.parametrize(
    "entry, name",
    [
        ({"sid": "PRD", "instance": "DEFAULT"}, "PRD/DEFAULT.PFL"),
        ({"profile": "/sapmnt/PRD/profile/DEFAULT.PFL"}, "PRD/DEFAULT.PFL"),
        ({"profile": "/usr/sap/PRD/SYS/profile/PRD_W00_web"}, "PRD/PRD_W00_web"),
        ({"profile": "/srv/sapmnt/PRD/profile/x"}, "/srv/sapmnt/PRD/profile/x"),
        ({"sid": "PRD", "instance": "D*", "profile": None}, ""),
    ],
)
def test_paths_of_one_shared_profile_have_one_name(entry: Entry, name: str) -> None:
    assert shared_profiles.shared_name(entry) == name


def test_the_first_host_that_asks_keeps_a_profile() -> None:
    asked = {"app1": {"names": ["a"]}, "app2": {"names": ["a", "b"]}, "app3": {"names": ["c", "b"]}, "app4": {}}
    assert shared_profiles.order(asked)["owners"] == {"a": "app1", "b": "app2", "c": "app3"}


@pytest.mark.parametrize(
    ("variables", "asks"),
    [
        ({}, {"names": ["PRD/DEFAULT.PFL"], "restart": False}),
        ({"sap_profile_restart": ["PRD_00"]}, {"names": ["PRD/DEFAULT.PFL"], "restart": True}),
        ({"sap_profile_shared": "no"}, {}),
        ({"sap_profile_instance": "D00"}, {}),
        # a rollback takes back what the journal of each host has, and may restart instances too
        ({"zpower_rollback": "yes", "sap_profile_restart": ["PRD_00"]}, {"names": [], "restart": True}),
        ({"sap_profile_profiles": "DEFAULT.PFL"}, {}),
    ],
)
def test_what_a_host_asks_for(variables: Entry, asks: Entry) -> None:
    plain = {"sap_profile_sid": "PRD", "sap_profile_instance": "DEFAULT", "sap_profile_shared": True}
    assert shared_profiles.asks({**plain, **variables}.get) == asks


ASKS = {"names": ["PRD/DEFAULT.PFL"], "restart": False}
RESTARTS = {**ASKS, "restart": True}


@pytest.mark.parametrize(
    ("asked", "later"),
    [
        ([], {}),
        ([{}, {}], {}),
        ([ASKS, {}], {}),
        ([ASKS, ASKS, ASKS], {"app2": 0, "app3": 0}),
        ([{}, {"names": [], "restart": True}, ASKS], {"app2": 1}),
        # app3 must see what app2 stores, and app2 comes second
        ([{}, RESTARTS, ASKS], {"app2": 1, "app3": 1}),
        ([ASKS, ASKS, RESTARTS], {"app2": 0, "app3": 1}),
        ([ASKS, {"names": ["PRD/DEFAULT.PFL", "b"]}, {"names": ["b"]}], {"app2": 1, "app3": 1}),
    ],
)
def test_who_comes_second_and_who_alone(asked: Iterable[Entry], later: dict[str, int]) -> None:
    found = shared_profiles.order({f"app{number}": one for number, one in enumerate(asked, 1)})
    assert found["later"] == later
    assert list(found["later"]) == sorted(later), "in the order of the play"


def test_what_the_play_sets_counts_for_all_hosts() -> None:
    own = {"a": "inventory", "b": "inventory", "host": "app1"}
    variables = {**own, "b": "play", "c": "play", "d": "default", "e": "play"}
    assert shared_profiles.common(variables, own, {"d": "default", "e": "default", "a": "default"}) == {
        "b": "play",
        "c": "play",
        "e": "play",
    }


@pytest.mark.parametrize(("chosen", "asks"), [(["rps"], False), (["sap_profile"], True), (None, False)])
def test_a_host_that_did_not_choose_the_tuning_asks_for_nothing(chosen: list[str] | None, asks: bool) -> None:
    variables = {"names": chosen, "sap_profile_shared": True, "sap_profile_restart": ["PRD_00"]}
    assert bool(shared_profiles.asks(variables.get, "names")) is asks
