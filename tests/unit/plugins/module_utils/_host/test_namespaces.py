# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A question that is asked in another network namespace of this machine."""

import errno
import os

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import namespaces
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host

OWN = "/proc/self/ns/net"
CAP_SYS_ADMIN = 21


def test_only_one_who_may_administer_the_system_enters_a_namespace():
    before = os.readlink(OWN)
    with open("/proc/self/status") as status:
        allowed = next(int(line.split()[1], 16) for line in status if line.startswith("CapEff:")) >> CAP_SYS_ADMIN & 1
    if allowed:
        assert namespaces.inside(OWN, lambda: "answer") == "answer"
    else:
        with pytest.raises(PermissionError):
            namespaces.inside(OWN, lambda: "answer")
    assert os.readlink(OWN) == before


def test_a_file_that_is_no_namespace_is_an_error():
    with pytest.raises(OSError) as raised:
        namespaces.inside(__file__, lambda: pytest.fail("asked in the wrong namespace"))
    assert raised.value.errno == errno.EINVAL


def test_this_namespace_is_none_of_the_others():
    paths = [path for _pid, path in namespaces.others(Host())]
    assert "/proc/%d/ns/net" % os.getpid() not in paths
