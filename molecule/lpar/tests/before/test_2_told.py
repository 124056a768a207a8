# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What verify and check mode say about both LPARs."""

import re

POLARIZATION = {"lpar61": "drifted", "lpar612": "compliant"}
HIPERDISPATCH = {"lpar61": "unsupported", "lpar612": "drifted"}


def test_verify_finds_the_missing_features_of_each_kernel(told, name):
    status, text, verdicts, _changed = told("verify")
    assert status != 0
    assert verdicts == {
        "cpu_polarization": POLARIZATION[name],
        "cpu_topology": "not_applicable",
        "hiperdispatch": HIPERDISPATCH[name],
        "platform": "compliant",
    }, text
    assert re.search(r"^.*lpar61\b.*: the kernel 6\.1\.\S+ has no s390\.hiperdispatch", text, re.MULTILINE), text
    said = rf"^.*{name}\b.*: the machine tells this Linux its real topology \(an LPAR\)"
    assert re.search(said, text, re.MULTILINE), text
    assert "peer: Linux chooses SMT only in an LPAR of IBM Z" in text


def test_check_mode_predicts_the_changes(told, name):
    status, text, verdicts, changed = told("site", "--check", "--diff")
    assert status == 0, text
    assert verdicts == {
        "cpu_polarization": POLARIZATION[name],
        "cpu_topology": "not_applicable",
        "hiperdispatch": HIPERDISPATCH[name],
    }, text
    assert changed == 1
    assert "+s390.hiperdispatch hd_steal_threshold (running): 15" in text
    assert "+dispatching (running): vertical" in text
