# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later

import pytest
from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.zpower.sap_tuning.plugins.lookup.tunings import LookupModule
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import choose, known_tunings


def test_the_tunings_are_the_files_of_the_folder():
    assert "rps" in known_tunings()
    assert not any(name.startswith("_") for name in known_tunings())


@pytest.mark.parametrize(
    "chosen, names",
    [
        ([], []),
        (["b"], ["b"]),
        ("b", ["b"]),
        (" b,a ", ["b", "a"]),
        ("a, all", ["a", "b"]),
        (["b", "a", "b"], ["b", "a"]),
        (["all"], ["a", "b"]),
        (["b", "all"], ["a", "b"]),
    ],
)
def test_choose(chosen, names):
    assert choose(chosen, ["a", "b"]) == names


@pytest.mark.parametrize(
    "chosen, words",
    [
        (None, "no tunings are chosen: set zpower_tunings to a list of some of a, b"),
        ("", "no tunings are chosen: set zpower_tunings to a list of some of a, b"),
        (" , ", "no tunings are chosen: set zpower_tunings to a list of some of a, b"),
        ("a, rsp", "there is no tuning 'rsp': zpower_tunings takes a, b, or all"),
        (["rsp"], "there is no tuning 'rsp': zpower_tunings takes a, b, or all"),
    ],
)
def test_what_cannot_be_chosen_gets_one_sentence(chosen, words):
    with pytest.raises(ValueError, match="^" + words.replace("(", "\\(")):
        choose(chosen, ["a", "b"])


@pytest.mark.parametrize("answer", ["", " ", None])
def test_an_empty_answer_of_a_survey_means_the_tunings_of_the_host(answer):
    lookup = LookupModule(templar=Templar(DataLoader()))
    assert lookup.run([answer], variables={"zpower_tunings": ["rps"]}) == ["rps"]
    assert lookup.run([answer], variables={"zpower_tunings": "rps, cpu_topology"}) == ["rps", "cpu_topology"]
    assert lookup.run([answer], variables={"zpower_tunings": []}) == []
    for given in ({}, {"zpower_tunings": ""}, {"zpower_tunings": None}):
        with pytest.raises(AnsibleError, match="no tunings are chosen: set zpower_tunings"):
            lookup.run([answer], variables=given)


def test_the_plugin_fails_as_ansible_expects():
    assert LookupModule().run([["rps"]]) == ["rps"]
    assert LookupModule().run([]) == []
    with pytest.raises(AnsibleError):
        LookupModule().run([None])
