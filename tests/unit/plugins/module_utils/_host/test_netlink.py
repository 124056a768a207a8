# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Netlink messages that are cut off, which fuzzing found: each is one sentence."""

import struct

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import netlink
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
