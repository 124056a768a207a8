# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What verify and check mode say about both LPARs."""

import re

POLARIZATION = {"lpar61": "drifted", "lpar612": "compliant"}


def test_verify_finds_only_the_older_kernel_drifted(told, name):
    status, text, verdicts, _changed = told("verify")
    assert status != 0
    assert verdicts == {
        "cpu_polarization": POLARIZATION[name],
        "cpu_topology": "not_applicable",
        "platform": "compliant",
    }, text
    assert re.search(
        rf"^.*{name}\b.*: the machine tells this Linux its real topology \(an LPAR\)", text, re.MULTILINE
    ), text


def test_the_peer_is_no_ibm_z(told):
    _status, text, _verdicts, _changed = told("verify")
    assert "peer: Linux chooses SMT only in an LPAR of IBM Z" in text


def test_check_mode_predicts_one_change(told, name):
    status, text, verdicts, changed = told("site", "--check", "--diff")
    assert status == 0, text
    assert verdicts == {"cpu_polarization": POLARIZATION[name], "cpu_topology": "not_applicable"}, text
    assert changed == {"lpar61": 1, "lpar612": 0}[name]
    assert "+dispatching (running): vertical" in text
