# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Netlink messages that are cut off, and questions in another network namespace."""

import errno
import os
import struct

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import namespaces, netlink
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import smc_sockets
from smckernel import smc_socket


def test_netlink_messages_that_are_cut_off(monkeypatch):
    for data in (b"", b"abc", b"123456789"):
        with pytest.raises(OSError, match="number of %d bytes" % len(data)):
            netlink.number(data)
    with pytest.raises(OSError, match="cut off"):
        netlink.messages(struct.pack("=IHHIIH", 18, 2, 0, 1, 0, 0))
    for bodies in ([], [b"\0" * 4]):
        monkeypatch.setattr(netlink, "_ask", lambda *_arguments, found=bodies: found)
        with pytest.raises(OSError, match="number of 0 bytes"):
            netlink.family("SMC_GEN_NETLINK")
    for size in (0, 4, 63):
        with pytest.raises(OSError, match="cut off"):
            smc_sockets.parse(smc_socket()[:size])
    # a short reason for a fallback is none
    message = smc_socket(why=None) + struct.pack("=HHI", 8, 5, 7)
    assert smc_sockets.parse(message).reason is None


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


def test_a_file_that_is_not_a_namespace_is_an_error():
    with pytest.raises(OSError) as raised:
        namespaces.inside(__file__, lambda: pytest.fail("asked in the wrong namespace"))
    assert raised.value.errno == errno.EINVAL


def test_this_namespace_is_not_one_of_the_others():
    paths = [path for _pid, path in namespaces.others(Host())]
    assert "/proc/%d/ns/net" % os.getpid() not in paths
