# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damaged input that fuzzing found: each is one sentence, or is left out."""

import socket
import struct

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._aix import system
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.lease import Lease
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import cpu_lists, netlink
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import smc_sockets
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import wire
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.host import fio
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap import instances
from kernel import KernelHost
from sapsystem import SapHost
from smckernel import smc_socket
from zkernel import CPU, ZHost

DEEP = "[" * 60000


def test_a_short_message_about_an_smc_socket():
    for size in (0, 4, 63):
        with pytest.raises(OSError, match="cut off"):
            smc_sockets.parse(smc_socket()[:size])
    message = smc_socket(why=None) + struct.pack("=HHI", 8, 5, 7)
    assert smc_sockets.parse(message).reason is None


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


@pytest.mark.parametrize("name", ["online", "present", "possible"])
def test_a_cpu_list_of_the_kernel_that_is_none_is_named(tmp_path, name):
    host = KernelHost(tmp_path)
    host.fill("/sys/devices/system/cpu/" + name, "0-3 " + "9" * 60000)
    with pytest.raises(HostError) as error:
        {"online": cpu_lists.online, "present": cpu_lists.present, "possible": cpu_lists.width}[name](host)
    assert str(error.value).startswith("/sys/devices/system/cpu/%s: '0-3 99" % name)
    assert len(str(error.value)) < 250


def test_siblings_that_are_no_list_are_named(tmp_path):
    host = ZHost(tmp_path, facility=False)
    path = CPU + "/cpu0/topology/core_siblings_list"
    host.fill(path, "none")
    with pytest.raises(HostError, match=path):
        cpu_lists.read_list(host, path)


def test_a_million_empty_lines_of_oslevel():
    # a pattern that takes line ends for blanks needs hours
    assert system.parse_level("\n" * 1000000 + "7200-02-01-1731\n").release == 7200


def test_a_nul_in_sapservices_hides_its_own_line_only(tmp_path):
    host = SapHost(tmp_path)
    line = (
        "LD_LIBRARY_PATH=/x; /usr/sap/PRD/D00/exe/sapstartsrv pf=/usr/sap/PRD/SYS/profile/PRD_D00_app1%s -D -u prdadm\n"
    )
    host.fill("/usr/sap/sapservices", (line % "\0x" + line % "").encode())
    assert [one.profile for one in instances.instances(host) if one.name == "D00"] == [
        "/usr/sap/PRD/SYS/profile/PRD_D00_app1"
    ]
    host.fill("/usr/sap/sapservices", (line % "\0x").encode())
    assert instances.parse_services(host.read("/usr/sap/sapservices")) == []
    assert [one.name for one in instances.instances(host)] == ["ASCS01", "D00"]


def test_json_that_is_nested_too_deeply_in_the_control_protocol():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        theirs.sendall(DEEP.encode() + b"\n")
        with pytest.raises(MeasureError, match="does not speak the control protocol"):
            wire.Lines(ours).read_object()


def test_json_of_fio_that_is_nested_too_deeply():
    with pytest.raises(MeasureError, match="fio's result cannot be read"):
        fio.parse('{"jobs": ' + '{"a":' * 60000, False)


def test_a_lease_that_is_nested_too_deeply_is_over(tmp_path):
    host = KernelHost(tmp_path)
    host.fill("/var/lib/zps/lease.json", DEEP)
    assert Lease(host, "/var/lib/zps", "rps")._due()
