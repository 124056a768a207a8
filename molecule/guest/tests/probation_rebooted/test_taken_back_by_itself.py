# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guest after a reboot on probation: confirmed values stay, the others are taken back when their time is over."""

UNIT = "zpower-sap-tuning-probation-rps.service"


def test_the_other_tuning_is_still_on_probation(host, boot, mask, topology, eventually, remembered):
    assert boot != remembered["boot"]
    assert (mask, topology) == (0b0101, "1")
    assert eventually(lambda: host.run(f"systemctl is-active {UNIT}").stdout.strip() == "active")
    # Python takes a while to become the guardian
    lock = "/var/lib/zpower_sap_tuning/checkpoint-probation/rps.guardian"
    assert eventually(lambda: host.run(f"flock --nonblock --shared {lock} true").rc == 1)


def test_verify_reports_the_end_of_the_probation(play):
    status, text, _changed = play("verify")
    assert status != 0
    assert "rps has values on probation since 20" in text and "takes back by itself at 20" in text


def test_the_values_are_taken_back_when_their_time_is_over(host, eventually):
    host.check_output("date --set '+2 hours'")
    mask = "cat /sys/class/net/enc1/queues/rx-0/rps_cpus"
    assert eventually(lambda: host.check_output(mask) == "f")
    assert eventually(lambda: not host.file(f"/etc/systemd/system/{UNIT}").exists)
    assert eventually(lambda: not host.file("/var/lib/zpower_sap_tuning/checkpoint-probation").exists)
    assert eventually(lambda: host.run(f"systemctl is-active {UNIT}").stdout.strip() == "inactive")
    host.check_output("date --set '-2 hours'")


def test_no_unit_is_left(host, topology):
    assert topology == "1"
    assert host.check_output("find /etc/systemd /run/systemd/system -name 'zpower*'") == ""
    assert host.check_output("systemctl list-units --all --no-legend 'zpower*'") == ""
    assert host.run("systemctl is-system-running").stdout.strip() == "running"


def test_verify_agrees(play):
    status, text, changed = play("verify")
    assert (status, changed) == (0, {"guest": 0}), text
