# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel takes away all entries of a PNET ID at once: whatever stops a run then, entries of others come back."""

import contextlib
import errno
import os

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import netlink
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._smc import network as smc_network
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.smc import Smc
from runs import FOLDER, Dead, records, runner, verdicts
from smckernel import PROTOCOLS, LoadingHost

TAKEN = FOLDER + "/smc.pnet_ids"
ASKED = [{"name": "SAPNET", "interface": "enc1"}, {"name": "SAPNET", "device": "mlx5_0", "port": 2}]

run = runner(Smc, pnet_ids=ASKED, ueids=[], instances=[], restart=[], restart_timeout=60)


@pytest.fixture
def host(tmp_path, monkeypatch):
    monkeypatch.setattr(smc_network, "is_live", lambda host: True)
    return LoadingHost(tmp_path)


def shared(tables, host):
    """Two entries of someone else with one PNET ID, and one with the PNET ID that is asked for."""
    tables.add("THEIRS", ethernet="enc1")
    tables.add("THEIRS", ethernet="enc8")
    tables.add("SAPNET", ethernet="enc7")
    host.fill("/proc/net/protocols", PROTOCOLS)
    return sorted(tables.entries)


def refusing(tables, monkeypatch, number, error):
    """From the change with this number on, all changes raise the error."""
    left = iter(range(number - 1))

    def change(family, command, payload):
        if next(left, None) is None:
            raise error
        tables._change(family, command, payload)

    monkeypatch.setattr(netlink, "change", change)


@pytest.mark.parametrize("then", ["present", "restored"])
@pytest.mark.parametrize("first", ["present", "restored"])
@pytest.mark.parametrize(
    "number, error",
    [*((number, Dead()) for number in range(1, 7)), (2, OSError(errno.ENOMEM, "Cannot allocate memory"))],
)
def test_stopped_at_any_change_the_entries_of_others_come_back(host, tables, monkeypatch, number, error, then, first):
    before = shared(tables, host)
    if first == "restored":
        run(host)
    with monkeypatch.context() as patch:
        refusing(tables, patch, number, error)
        with contextlib.suppress(Dead):
            run(host, state=first)
    if then == "present":
        assert not run(host)["failed"] and {("THEIRS", "enc8", "n/a", 255), *before[:1]} <= set(tables.entries)
        assert set(verdicts(run(host, check=True)).values()) == {"compliant"}
    result = run(host, state="restored")
    assert not result["failed"] and "someone else" not in str(result)
    assert sorted(tables.entries) == before and not host.exists(FOLDER)


@pytest.mark.parametrize("lost", ["boot", "module"])
def test_after_a_boot_the_entries_that_were_taken_away_are_not_added(host, tables, monkeypatch, lost):
    shared(tables, host)
    with monkeypatch.context() as patch:
        refusing(tables, patch, 2, Dead())
        with pytest.raises(Dead):
            run(host)
    assert host.exists(TAKEN) and os.stat(host.path(TAKEN)).st_mode & 0o777 == 0o600
    tables.entries = []
    if lost == "boot":
        host.fill("/proc/sys/kernel/random/boot_id", "another")
    else:
        host.fill("/proc/net/protocols", "TCP 1\n")
        tables.asked = []
    run(host, state="restored")
    assert tables.entries == [] and not host.exists(TAKEN) and (lost == "boot" or tables.asked == [])


@pytest.mark.parametrize("text", ["", "\n", "\ninterface enc8 THEIRS\ninterface enc9 THEIRS x\n", "other\ninterface"])
def test_a_damaged_note_of_entries_is_removed(host, tables, text):
    before = shared(tables, host)
    run(host)
    host.write(TAKEN, text)
    assert not run(host)["failed"] and not host.exists(TAKEN)
    run(host, state="restored")
    assert sorted(tables.entries) == before


def test_without_room_for_the_note_nothing_is_taken_away(host, tables, monkeypatch):
    before = shared(tables, host)
    real = host.replace

    def replace(path, data, mode=0o644, check=None):
        if path == TAKEN:
            raise HostError("cannot write %s: No space left on device" % path, errno.ENOSPC)
        real(path, data, mode, check)

    monkeypatch.setattr(host, "replace", replace)
    result = run(host, pnet_ids=ASKED[:1])
    assert "cannot write %s: No space left" % TAKEN in records(result)["PNET IDs"]["reason"]
    assert sorted(tables.entries) == before


def test_an_entry_that_the_hardware_has_given_meanwhile_does_not_keep_the_others_away(host, tables, monkeypatch):
    shared(tables, host)
    tables.entries = [entry for entry in tables.entries if entry[0] != "THEIRS"]
    boot = host.value("/proc/sys/kernel/random/boot_id") or ""
    host.write(TAKEN, boot + "\ninterface enc1 THEIRS 255\ninterface enc8 THEIRS 255\n")

    def change(family, command, payload):
        if b"enc1\0" in payload:
            raise OSError(errno.EEXIST, "File exists")
        tables._change(family, command, payload)

    monkeypatch.setattr(netlink, "change", change)
    run(host, pnet_ids=[])
    assert sorted(tables.entries) == [("SAPNET", "enc7", "n/a", 255), ("THEIRS", "enc8", "n/a", 255)]
    assert not host.exists(TAKEN)
