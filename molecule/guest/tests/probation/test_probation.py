# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two tunings on probation, one of which is confirmed."""

import json

UNIT = "zpower-sap-tuning-probation-%s.service"


def test_site_sets_them_on_probation(play):
    more = ["-e", "zpower_confirm_within=1h", "-e", "rps_every=2"]
    status, text, changed = play("site", *more)
    assert (status, changed) == (0, {"guest": 1}), text


def test_systemd_guards_both_tunings(host, mask, topology):
    assert (mask, topology) == (0b0101, "1")
    for name in ("rps", "cpu_topology"):
        unit = host.check_output(f"systemctl show --property=ActiveState,UnitFileState {UNIT % name}")
        assert sorted(unit.split()) == ["ActiveState=active", "UnitFileState=enabled"]


def test_a_killed_guardian_is_restarted(host, eventually):
    main = f"systemctl show --property=MainPID --value {UNIT % 'rps'}"
    old = host.check_output(main)
    assert old != "0"
    host.check_output(f"kill -KILL {old}")
    assert eventually(lambda: host.check_output(main) not in (old, "0"))


def test_one_tuning_is_confirmed(host, play, boot, memory, remembered):
    status, text, changed = play("confirm", "--tags", "cpu_topology")
    assert (status, changed) == (0, {"guest": 1}), text
    assert not host.file(f"/etc/systemd/system/{UNIT % 'cpu_topology'}").exists
    assert host.file(f"/etc/systemd/system/{UNIT % 'rps'}").exists
    memory.write_text(json.dumps({**remembered, "boot": boot}))
