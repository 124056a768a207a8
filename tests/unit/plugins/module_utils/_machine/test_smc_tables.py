# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""PNET IDs and UEIDs in the kernel: entries of others survive, and each trap of the kernel's interface is handled."""

import errno

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import netlink
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import smc_tables
from smckernel import Tables


@pytest.fixture
def tables(monkeypatch):
    return Tables(monkeypatch, netlink)


def test_an_entry_is_added_and_taken_away_and_others_of_its_id_stay(tables):
    tables.add("SAPNET", ethernet="enc1")
    tables.add("SAPNET", ib="mlx5_1", port=2)
    tables.add("OTHER", ethernet="enc2")
    before = set(tables.entries)
    smc_tables.set_pnet_id("device", "0001:00:00.0", ("SAPNET", 1))
    assert set(tables.entries) - before == {("SAPNET", "n/a", "0001:00:00.0", 1)}
    smc_tables.set_pnet_id("device", "0001:00:00.0", None)
    assert set(tables.entries) == before
    # what is there already is not asked for again
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
    # it is an error if the UEID stays
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


@pytest.mark.parametrize(
    "kind, name, path",
    [
        ("interface", "enc1", "/sys/class/net/enc1"),
        ("device", "mlx5_0", "/sys/class/infiniband/mlx5_0"),
        ("device", "0001:00:00.0", "/sys/bus/pci/devices/0001:00:00.0/driver"),
    ],
)
def test_place(kind, name, path):
    assert smc_tables.place(kind, name) == path


def test_a_damaged_line_of_the_unit_keeps_no_other_from_being_set(tables, unit):
    lines = ("", "interface", "ueid", "interface enc1 SAPNET one", "interface enc\u00e41 SAPNET 0", "ueid UE1")
    assert len(smc_tables.main(unit(*lines))) == 5
    assert smc_tables.ueids() == ["UE1"]
