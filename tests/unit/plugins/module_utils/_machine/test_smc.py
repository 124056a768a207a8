# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SMC as the kernel answers: sockets, devices, counters, PNET IDs and UEIDs."""

import errno
import socket
import struct

import pytest
import smckernel
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import netlink
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import (
    facts,
    smc_facts,
    smc_sockets,
    smc_tables,
)
from kernel import KernelHost
from smckernel import LoadedHost

NO_SMC, PEER_DECLINED, NO_DEVICE = 0x03010000, 0x05000000, 0x03030000


def header(kind, body, length=None):
    return struct.pack("=IHHII", length or 16 + len(body), kind, 2, 1, 0) + body + b"\0" * (-len(body) % 4)


class Kernel:
    def __init__(self, *pieces):
        self.pieces, self.sent = list(pieces), []
        self.send = self.sent.append
        self.recv = lambda _limit: self.pieces.pop(0)

    def __call__(self, family, kind, protocol):
        assert (family, kind) == (socket.AF_NETLINK, socket.SOCK_RAW)
        self.protocol = protocol
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_details):
        return False

    def settimeout(self, seconds):
        assert seconds > 0


@pytest.fixture
def answering(monkeypatch):
    def answer(*pieces):
        kernel = Kernel(*pieces)
        monkeypatch.setattr(netlink.socket, "socket", kernel)
        return kernel

    return answer


def test_a_dump_comes_in_several_pieces_until_it_is_done(answering):
    kernel = answering(header(20, b"one") + header(20, b"three"), header(20, b"2222") + header(3, b"\0" * 4))
    assert netlink.dump(4, 20, b"what?") == [b"one", b"three", b"2222"]
    (sent,) = kernel.sent
    assert kernel.protocol == 4 and struct.unpack("=IHH", sent[:8]) == (21, 20, 0x301) and sent[16:] == b"what?"
    answering(header(2, struct.pack("=i", -errno.EPERM) + b"\0" * 16))
    with pytest.raises(PermissionError):
        netlink.dump(4, 20, b"")


def test_a_change_asks_for_an_acknowledgement(answering):
    kernel = answering(header(2, struct.pack("=i", 0)))
    netlink.change(30, 2, netlink.attribute(1, b"SAPNET\0"))
    (sent,) = kernel.sent
    length, kind, flags = struct.unpack_from("=IHH", sent)
    assert (length, kind, flags, sent[16:20]) == (len(sent), 30, 5, b"\2\1\0\0")
    assert sent[20:] == smckernel.attribute(1, b"SAPNET\0") and len(sent) % 4 == 0

    def acknowledged(code):
        return header(2, struct.pack("=i", -code) + struct.pack("=IHHII", 16, 20, 5, 1, 0))

    assert netlink.messages(acknowledged(0)) == ([], True)
    with pytest.raises(FileExistsError):
        netlink.messages(acknowledged(errno.EEXIST))


@pytest.mark.parametrize("length", [0, 15, 400])
def test_an_answer_that_is_cut_off_is_an_error_and_no_endless_loop(answering, length):
    answering(struct.pack("=IHHII", length, 20, 2, 1, 0) + b"body")
    with pytest.raises(OSError, match="cut off"):
        netlink.dump(4, 20, b"")


def test_the_number_of_a_family(answering):
    known = struct.pack("=BBxx", 1, 2) + smckernel.text(2, "SMC_GEN_NETLINK") + smckernel.number(1, 34, "H")
    kernel = answering(header(16, known))
    assert netlink.family("SMC_GEN_NETLINK") == 34
    assert b"SMC_GEN_NETLINK\0" in kernel.sent[0]
    answering(header(2, struct.pack("=i", -errno.ENOENT) + b"\0" * 16))
    assert netlink.family("NONE") is None


def test_attributes_that_are_cut_off_end_the_list():
    whole = smckernel.text(1, "a") + smckernel.number(2, 7, "I")
    assert netlink.attributes(whole) == {1: b"a\0", 2: struct.pack("=I", 7)}
    assert netlink.attributes(whole[:-1]) == {1: b"a\0"}
    assert netlink.attributes(b"\0\0\0\0" * 3) == {}


@pytest.mark.parametrize(
    "mode, state, peer_port, shown",
    [
        # without a connection
        ("SMCR", "INIT", 3200, None),
        ("SMCR", "CLOSED", 3200, None),
        ("SMCR", "LISTEN", 3200, None),
        # as kernel 6.12 shows a client with TCP_FASTOPEN_CONNECT, which fell back before it connected
        ("TCP", "INIT", 3298, "TCP"),
        ("TCP", "INIT", 0, None),
    ],
)
def test_the_mode_of_a_socket_by_its_state(mode, state, peer_port, shown):
    why = (0x03060000, 0) if mode == "TCP" else (0, 0)
    told = smckernel.smc_socket(mode, ports=(40000, peer_port), state=state, why=why)
    assert smc_sockets.parse(told).mode == shown


@pytest.mark.parametrize("peer", ["192.0.2.17", "2001:db8::17", "::ffff:192.0.2.17"])
@pytest.mark.parametrize("mode", ["SMCR", "SMCD", "TCP"])
def test_a_socket_with_a_connection(mode, peer):
    local = "2001:db8::1" if ":" in peer else "192.0.2.1"
    why = (NO_SMC, 0) if mode == "TCP" else (0, 0)
    found = smc_sockets.parse(smckernel.smc_socket(mode, local, peer, (40001, 3200), why=why, inode=1 << 40))
    assert found == smc_sockets.SmcSocket(mode, why[0], 0, 40001, peer, 3200, 1 << 40)


DEVICE = "0x03030000 (no SMC device found, neither for SMC-R nor for SMC-D)"


@pytest.mark.parametrize(
    "mode, why, words",
    [
        ("TCP", (NO_SMC, 0), "0x03010000 (the peer does not support SMC)"),
        ("TCP", (PEER_DECLINED, NO_DEVICE), "0x05000000 (the peer declined), the peer's reason: " + DEVICE),
        ("TCP", (0, NO_DEVICE), DEVICE),
        ("TCP", (0x0A0B0C0D, 0), "0x0a0b0c0d (unknown reason)"),
        ("TCP", (0, 0), None),
        ("TCP", None, None),
        # a reason without a fallback says nothing
        ("SMCR", (NO_SMC, 0), None),
    ],
)
def test_why_a_socket_fell_back(mode, why, words):
    assert smc_sockets.fallback(smc_sockets.parse(smckernel.smc_socket(mode, why=why))) == words


def test_a_socket_of_this_process_is_found_by_its_inode(monkeypatch):
    with socket.socket() as mine:
        inode = smc_sockets.os.fstat(mine.fileno()).st_ino
        told = [smckernel.smc_socket("TCP", inode=inode + 1), smckernel.smc_socket("SMCR", inode=inode)]
        answers = smckernel.Answers(monkeypatch, netlink, told)
        assert smc_sockets.of_socket(mine).mode == "SMCR"
        answers.sockets = told[:1]
        assert smc_sockets.of_socket(mine) is None
        answers.error = OSError(errno.ENOENT, "no smc_diag")
        assert smc_sockets.of_socket(mine) is None


def generic():
    return {
        5: [{5: smckernel.ism_device()}],
        6: [{6: smckernel.roce_device()}],
        7: [{7: smckernel.counters(client_v1=4, server_v2=2, bytes_sent=5 << 33, errors=1)}],
        8: [
            {8: smckernel.fallback(NO_SMC, 6, 9, 7, "client")},
            {8: smckernel.fallback(PEER_DECLINED, 9, 9, 7, "server")},
        ],
        9: [{1: b"SAP.UEID".ljust(32) + b"\0"}],
    }


def test_everything_that_the_kernel_tells(monkeypatch):
    sockets = [smckernel.smc_socket("SMCR")] * 2 + [
        smckernel.smc_socket("TCP", peer="10.0.0.3", why=(NO_SMC, 0)),
        smckernel.smc_socket("SMCR", state="LISTEN"),
    ]
    smckernel.Answers(monkeypatch, netlink, sockets, generic=generic())
    found = smc_facts.smc()
    assert found["sockets"] == [
        {"peer": "10.0.0.2", "mode": "SMCR", "fallback": None, "count": 2},
        {"peer": "10.0.0.3", "mode": "TCP", "fallback": "0x03010000 (the peer does not support SMC)", "count": 1},
    ]
    ism, roce = found["devices"]
    known = {"type": "SMCD", "pci_id": "0009:00:00.0", "pnet_id": "NET25", "pnet_id_by_user": False, "in_use": 3}
    assert ism == dict(known, name=None, port=None, interface=None, active=None)
    assert (roce["type"], roce["name"], roce["port"], roce["active"]) == ("SMCR", "mlx5_0", 1, True)
    assert (roce["pnet_id"], roce["pnet_id_by_user"], roce["in_use"]) == ("SAPNET", True, 1)
    assert found["ueids"] == ["SAP.UEID"]
    stats = found["stats"]
    assert (stats["SMCR"]["client_v1"], stats["SMCR"]["server_v2"], stats["SMCR"]["bytes_sent"]) == (4, 2, 5 << 33)
    assert set(stats["SMCD"].values()) == {0}
    assert (stats["handshake_errors"], stats["fallbacks"]) == (1, 16)
    assert stats["fallback_reasons"] == [
        {"end": "client", "reason": "0x03010000 (the peer does not support SMC)", "count": 6},
        {"end": "server", "reason": "0x05000000 (the peer declined)", "count": 9},
    ]


@pytest.mark.parametrize("number, name", [(1, socket.if_indextoname(1)), (999999, None)])
def test_the_interface_of_a_device_is_named_unless_it_is_gone(monkeypatch, number, name):
    device = smckernel.roce_device(interface=number, active=0)
    smckernel.Answers(monkeypatch, netlink, generic={5: [], 6: [{6: device}]})
    (found,) = smc_facts.smc()["devices"]
    assert (found["interface"], found["active"]) == (name, False)


def test_a_kernel_before_the_family_tells_of_sockets_only(monkeypatch):
    smckernel.Answers(monkeypatch, netlink, [smckernel.smc_socket(why=None)], family=None)
    found = smc_facts.smc()
    assert [entry["mode"] for entry in found["sockets"]] == ["SMCR"]
    assert (found["devices"], found["ueids"], found["stats"]) == (None, None, None)


def test_what_a_kernel_does_not_know_yet_is_null_and_the_rest_is_told(monkeypatch):
    smckernel.Answers(
        monkeypatch, netlink, generic={5: [], 6: []}, error=OSError(errno.ENOENT, "there is no smc_diag here")
    )
    assert smc_facts.smc() == {"sockets": None, "devices": [], "ueids": None, "stats": None}


def test_without_smc_and_in_a_captured_folder_nothing_is_asked(monkeypatch, tmp_path):
    smckernel.Answers(monkeypatch, netlink, error=AssertionError("asked"))
    host = LoadedHost()
    host.protocols = "protocol\nTCP\n"
    assert facts.smc(host) is None
    host = KernelHost(tmp_path)
    host.fill("/proc/net/protocols", smckernel.PROTOCOLS)
    assert facts.smc(host) is None


def test_an_entry_is_added_and_taken_away_and_others_of_its_id_stay(tables):
    tables.add("SAPNET", ethernet="enc1")
    tables.add("SAPNET", ib="mlx5_1", port=2)
    tables.add("OTHER", ethernet="enc2")
    before = set(tables.entries)
    smc_tables.set_pnet_id("device", "0001:00:00.0", ("SAPNET", 1))
    assert set(tables.entries) - before == {("SAPNET", "n/a", "0001:00:00.0", 1)}
    smc_tables.set_pnet_id("device", "0001:00:00.0", None)
    assert set(tables.entries) == before
    tables.changes = []
    smc_tables.set_pnet_id("interface", "enc2", ("OTHER", 0))
    smc_tables.set_pnet_id("interface", "enc9", None)
    assert tables.changes == []


def test_another_id_replaces_the_first_one_unless_it_is_refused(tables, monkeypatch):
    tables.add("OLD", ethernet="enc1")
    tables.add("OLD", ib="mlx5_0", port=2)
    smc_tables.set_pnet_id("interface", "enc1", ("NEW", 0))
    found = {("interface", "enc1"): ("NEW", 0), ("device", "mlx5_0"): ("OLD", 2)}
    assert smc_tables.pnet_ids() == found
    add = smc_tables._add

    def refuse_newer(kind, name, entry):
        if entry[0] == "NEWER":
            raise OSError(errno.EINVAL, "Invalid argument")
        add(kind, name, entry)

    monkeypatch.setattr(smc_tables, "_add", refuse_newer)
    with pytest.raises(OSError, match="Invalid"):
        smc_tables.set_pnet_id("interface", "enc1", ("NEWER", 0))
    assert smc_tables.pnet_ids() == found


def test_an_error_while_others_come_back_is_told_after_all_were_tried(tables):
    for name in ("enc1", "enc2", "enc3"):
        tables.add("SAPNET", ethernet=name)
    tables.hardware = {"enc2"}
    with pytest.raises(FileExistsError):
        smc_tables.set_pnet_id("interface", "enc1", None)
    assert [entry[1] for entry in tables.entries] == ["enc3"]


def test_ueids_keep_their_order(tables):
    tables.eids = ["FIRST", "SECOND.1"]
    smc_tables.set_ueid("OURS-1", True)
    assert smc_tables.ueids() == ["FIRST", "SECOND.1", "OURS-1"]
    smc_tables.set_ueid("OURS-1", False)
    assert smc_tables.ueids() == ["FIRST", "SECOND.1"]
    tables.changes = []
    smc_tables.set_ueid("FIRST", True)
    smc_tables.set_ueid("NEVER", False)
    assert tables.changes == []


def test_the_last_ueid_of_an_s390_answers_eagain_and_is_gone(tables, monkeypatch):
    tables.eids = ["ONLY"]
    smc_tables.set_ueid("ONLY", False)
    assert tables.eids == []
    tables.eids = ["ONLY"]
    monkeypatch.setattr(tables, "_ueid", lambda command, values: errno.EAGAIN)
    with pytest.raises(BlockingIOError):
        smc_tables.set_ueid("ONLY", False)


def test_a_kernel_without_the_family_says_so(tables, monkeypatch):
    monkeypatch.setattr(netlink, "family", lambda name: None)
    with pytest.raises(OSError) as caught:
        smc_tables.ueids()
    assert caught.value.errno == errno.EOPNOTSUPP


@pytest.fixture
def unit(tmp_path):
    """A function from entries to the path of a unit that has them."""

    def write(*entries):
        lines = ["# X-SMC=ueid NO", "[Service]", "ExecStart=/bin/true", *("X-SMC=" + entry for entry in entries)]
        (tmp_path / "unit").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return str(tmp_path / "unit")

    return write


def test_the_program_sets_all_entries_and_waits_only_while_the_host_boots(tables, monkeypatch, unit):
    monkeypatch.setattr(smc_tables, "_READY_S", 0)
    path = unit("interface lo SAPNET 0", "device mlx5_0 SAPNET 2", "ueid SAP.1")
    for _twice in range(2):
        assert smc_tables.main(path) == []
    assert tables.entries == [("SAPNET", "lo", "n/a", 255), ("SAPNET", "n/a", "mlx5_0", 2)]
    assert tables.eids == ["SAP.1"]


def test_the_program_waits_for_a_name(tables, monkeypatch, unit):
    waited, there = [], []
    monkeypatch.setattr(smc_tables, "_READY_S", float("inf"))
    monkeypatch.setattr(smc_tables.os.path, "exists", lambda path: len(there) > 2 or there.append(path))
    monkeypatch.setattr(smc_tables.time, "sleep", waited.append)
    assert smc_tables.main(unit("interface enc1 SAPNET 0")) == []
    assert there == ["/sys/class/net/enc1"] * 3 and len(waited) == 3
    assert tables.entries == [("SAPNET", "enc1", "n/a", 255)]


def test_the_program_says_what_was_refused_and_sets_the_rest(tables, monkeypatch, unit):
    monkeypatch.setattr(smc_tables, "_READY_S", 0)
    tables.hardware = {"enc1"}
    monkeypatch.setattr(smc_tables.sys, "argv", ["smc.pyz", unit("interface enc1 SAPNET 0", "ueid SAP.1")])
    with pytest.raises(SystemExit) as caught:
        smc_tables.program()
    assert caught.value.code == "interface enc1 SAPNET 0: File exists" and tables.eids == ["SAP.1"]


def test_a_damaged_line_of_the_unit_keeps_no_other_from_being_set(tables, unit):
    lines = ("", "interface", "ueid", "interface enc1 SAPNET one", "interface enc\u00e41 SAPNET 0", "ueid UE1")
    assert len(smc_tables.main(unit(*lines))) == 5
    assert smc_tables.ueids() == ["UE1"]
