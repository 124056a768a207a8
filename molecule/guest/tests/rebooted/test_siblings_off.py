# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""sw_siblings false separates the CPUs again; everything else stays."""


def test_site_separates_the_cpus(play):
    status, text, changed = play("site", "--extra-vars", "cpu_topology_sw_siblings=false")
    assert (status, changed) == (0, {"guest": 1}), text


def test_each_cpu_is_its_only_sibling(siblings, topology, mask):
    assert topology == "0"
    assert siblings == {f"cpu{number}": str(number) for number in range(4)}
    assert mask == 0b1111


def test_nothing_sets_it_at_boot(host):
    set_at_boot = "grep -rhE '^s390.topology' /etc/sysctl.d /run/sysctl.d /usr/lib/sysctl.d"
    assert "1" not in host.run(set_at_boot).stdout
