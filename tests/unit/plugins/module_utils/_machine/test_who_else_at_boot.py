# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who else sets RPS masks and sysctls at boot: scripts of network services, .link files, tuned, /etc/sysctl.conf."""

import os

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.boot_sources import runs_systemd, scripts
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.other_settings import of_system
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._system import sysctl_knob
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.rps import Rps
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.smc_sysctls import SmcSysctls
from kernel import KernelHost, rps_params
from runs import only, runner

ECHO = "echo f > /sys/class/net/hsi0/queues/rx-0/rps_cpus"
ENABLED = "/etc/systemd/system/multi-user.target.wants/tuned.service"

_run = runner(Rps, **rps_params())


def run(host, **changes):
    return _run(host, **dict({"interfaces": ["hsi0"]}, **changes))


@pytest.fixture
def host(tmp_path):
    host = KernelHost(tmp_path)
    host.interface("hsi0")
    host.interface("eth0")
    return host


def link(host, path, target):
    os.makedirs(os.path.dirname(host.path(path)), exist_ok=True)
    os.symlink(target, host.path(path))


def conflicts(host, **params):
    """[(what, file, wins, value)] of the record of hsi0, in check mode."""
    record = run(host, check=True, **params)["tuning"][0]
    return [(one["what"], one["file"], one["wins"], one["value"]) for one in record["conflicts"]]


@pytest.mark.parametrize(
    "path",
    ["/etc/rc.local", "/etc/init.d/boot.local", "/sbin/ifup-local", "/etc/cron.d/rps"]
    + ["/etc/sysconfig/network/" + name for name in ("scripts/rps", "if-up.d/rps")]
    + ["/etc/networkd-dispatcher/" + name for name in ("routable.d/50-rps", "configured.d/rps.sh")]
    + ["/usr/lib/networkd-dispatcher/carrier.d/rps", "/usr/lib/NetworkManager/dispatcher.d/pre-up.d/rps"]
    + ["/etc/network/" + name for name in ("if-up.d/rps", "if-pre-up.d/rps", "interfaces.d/hsi0")]
    + ["/etc/NetworkManager/dispatcher.d/" + name for name in ("99-rps", "pre-up.d/rps", "no-wait.d/rps")],
)
def test_a_script_is_found_wherever_the_network_service_looks(host, path):
    host.fill(path, "#!/bin/sh\n# rps_cpus for %s\n%s" % (path, ECHO))
    assert conflicts(host) == [("boot script", path, "possible", "f")]
    assert run(host, check=True)["tuning"][0]["conflicts"][0]["line"] == 3


def test_a_script_is_found_through_the_line_that_calls_it(host, monkeypatch):
    host.fill("/etc/sysconfig/network/ifcfg-hsi0", "STARTMODE='auto'\nPOST_UP_SCRIPT='wicked:/usr/local/sbin/rps'")
    host.fill("/usr/local/sbin/rps", "#!/bin/sh\n" + ECHO)
    host.fill("/etc/network/interfaces", "iface eth0 inet dhcp\n  post-up /opt/site/net.sh")
    host.fill("/opt/site/net.sh", ECHO.replace("echo f", "echo 3"))
    host.fill("/etc/systemd/system/rps.service", "[Service]\nExecStart=/usr/local/sbin/unit.sh hsi0")
    host.fill("/usr/local/sbin/unit.sh", ECHO.replace("echo f", "echo 6"))
    host.fill("/etc/rc.local", "(/root/missing; /home) &\n/home/site/tune")

    def hangs(path, reads):
        """As on a network file system whose server is down."""
        if path.startswith("/home"):
            raise HostError("no answer from %s" % path)
        return reads(path)

    found = [
        ("boot script", "/opt/site/net.sh", "possible", "3"),
        ("boot script", "/usr/local/sbin/rps", "possible", "f"),
        ("unit", "/usr/local/sbin/unit.sh", "possible", "6"),
    ]
    assert sorted(conflicts(host)) == found
    for name in ("real", "size", "read"):
        reads = getattr(host, name)
        monkeypatch.setattr(host, name, lambda path, reads=reads: hangs(path, reads))
    assert sorted(conflicts(host)) == found


def test_a_drop_in_of_a_unit_is_part_of_it(host):
    host.fill("/proc/sys/vm/max_map_count", "1")
    drop_in = "systemd/system/network.service.d/%d.conf"
    host.fill("/usr/lib/" + drop_in % 1, "[Service]\nExecStartPost=/sbin/sysctl -w vm.max_map_count=8\n")
    host.fill("/etc/" + drop_in % 2, "[Service]\nExecStartPost=-/usr/local/sbin/tune\n")
    host.fill("/usr/local/sbin/tune", "sysctl -w vm.max_map_count=9\n")
    knob = sysctl_knob("vm.max_map_count", "/etc/sysctl.d/x.conf")
    for wins in ("possible", "yes"):
        if wins == "yes":
            link(host, "/etc/systemd/system/multi-user.target.wants/network.service", "/usr/lib/network.service")
        found = [(one["what"], one["file"], one["wins"], one["value"]) for one in of_system(host, knob)]
        assert found == [("unit", "/usr/lib/" + drop_in % 1, wins, "8"), ("unit", "/usr/local/sbin/tune", wins, "9")]


def files(host):
    return [file for _what, file, _wins, _value in conflicts(host)]


def test_a_script_in_etc_hides_the_distributions(host):
    names = ["/NetworkManager/dispatcher.d/10-rps", "/networkd-dispatcher/routable.d/10-rps"]
    for name in names:
        host.fill("/usr/lib" + name, ECHO)
        host.fill("/etc" + name, ECHO)
    assert files(host) == ["/etc" + name for name in names]


def test_a_link_and_its_target_are_one_script(host):
    host.fill("/etc/sysconfig/network/scripts/rps", ECHO)
    link(host, "/etc/sysconfig/network/if-up.d/rps", "../scripts/rps")
    host.fill("/etc/sysconfig/network/ifcfg-hsi0", "POST_UP_SCRIPT=/etc/sysconfig/network/scripts/rps")
    assert files(host) == scripts(host) == ["/etc/sysconfig/network/scripts/rps"]


def test_a_script_for_another_interface_does_not_count(host):
    host.fill("/etc/rc.local", ECHO.replace("hsi0", "eth0"))
    assert conflicts(host) == []
    for name in ("hsi*", "$IFACE", "${1}", "*"):
        host.fill("/etc/rc.local", ECHO.replace("hsi0", name))
        assert conflicts(host) == [("boot script", "/etc/rc.local", "possible", "f")], name


def test_what_is_not_a_script_is_not_read(host):
    host.fill("/etc/sysconfig/network/if-up.d/large", ECHO + "\n" + "#" * (256 * 1024))
    os.makedirs(host.path("/etc/NetworkManager/dispatcher.d/rps_cpus.d"))
    os.mkfifo(host.path("/etc/NetworkManager/dispatcher.d/pipe"))
    assert conflicts(host) == []


def profile(host, text, enabled=True):
    host.fill("/etc/tuned/active_profile", "site")
    host.fill("/etc/tuned/site/tuned.conf", text)
    if enabled:
        host.fill(ENABLED, "")


@pytest.mark.parametrize(
    "section, expected, verdict",
    [
        ("[sysfs]\n/sys/class/net/hsi0/queues/rx-0/rps_cpus=3", [("yes", "3")], "drifted"),
        ("[sysfs]\n/sys/class/net/*/queues/rx-*/rps_cpus = ff,00000003", [("yes", "ff,00000003")], "drifted"),
        # the same mask does no harm
        ("[sysfs]\n/sys/class/net/*/queues/rx-*/rps_cpus=0000000f", [("yes", "0000000f")], "compliant"),
        ("[sysfs]\n/sys/class/net/eth0/queues/rx-0/rps_cpus=3", [], "compliant"),
        ("[sysctl]\nnet.core.rps_default_mask=3", [("no", "3")], "compliant"),
        ("[sysctl]\nnet.core.rps_default_mask=${not_isolated_cpumask}", [("no", None)], "compliant"),
        # the net plugin has no option for it (tuned/plugins/plugin_net.py)
        ("[net]\nchannels=combined 4\nring=rx 1024", [], "compliant"),
        ("[net]\nrps_cpus=3", [("yes", "3")], "drifted"),
    ],
)
def test_a_tuned_profile(host, section, expected, verdict):
    run(host)
    profile(host, section)
    assert [(wins, value) for _what, _file, wins, value in conflicts(host)] == expected
    assert only(run(host, check=True))["verdict"] == verdict


def test_the_default_mask_of_later_queues_is_told_as_such(host):
    host.fill("/proc/cmdline", "quiet sysctl.net.core.rps_default_mask=1")
    host.fill("/etc/sysctl.d/99-default-rps-mask.conf", "net.core.rps_default_mask=2")
    host.fill("/etc/rc.local", "sysctl -w net.core.rps_default_mask=3")
    record = only(run(host, check=True))
    assert [(one["what"], one["wins"], one["value"]) for one in record["conflicts"]] == [
        ("net.core.rps_default_mask", "no", "1"),
        ("net.core.rps_default_mask", "no", "2"),
        ("boot script", "no", "3"),
    ]
    assert "of receive queues that are made later" in record["conflicts"][2]["effect"]
    # what a script sets late does not reach the queues that are there
    assert record["before"]["next_boot"] == {"rps_cpus": "2"}


def rps_link(match, *masks):
    lines = ["[Match]", match, "[Link]"] + ["ReceivePacketSteeringCPUMask=" + mask for mask in masks]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "masks, values",
    [
        (["0 2"], ["5"]),
        (["0, 2-3"], ["d"]),
        (["0", "3"], ["9"]),
        (["0", "", "3"], ["8"]),
        (["0", "disable"], ["0"]),
        (["all"], ["f"]),
        (["0", "words"], [None]),
        (["0x3"], [None]),
        # a reset mask is none
        ([""], []),
    ],
)
def test_masks_of_a_link_file_are_merged(host, masks, values):
    path = "/etc/systemd/network/50-rps.link"
    host.fill(path, rps_link("OriginalName=eth* hsi*", *masks))
    assert conflicts(host) == [(".link file", path, "no", value) for value in values]
    record = only(run(host))
    at_boot = {"rps_cpus": values[0] or "set by " + path} if values else None
    assert values == [] or record["before"]["next_boot"] == at_boot
    assert record["after"]["next_boot"] == {"rps_cpus": "f"}


def test_only_the_first_link_file_of_an_interface_counts_as_with_netplan(host):
    netplan = "/run/systemd/network/10-netplan-hsi0.link"
    match = "[Match]\nPermanentMACAddress=02:00:00:00:00:0%d\n[Link]\nWakeOnLan=off"
    host.fill("/usr/lib/systemd/network/99-default.link", "[Match]\nOriginalName=*\n[Link]\nNamePolicy=keep")
    host.fill("/etc/systemd/network/99-rps.link", rps_link("OriginalName=*", "0"))
    assert conflicts(host) == []
    host.fill("/etc/systemd/network/50-rps.link", rps_link("OriginalName=*", "0"))
    assert [one[1:] for one in conflicts(host)] == [("/etc/systemd/network/50-rps.link", "no", "1")]
    host.fill(netplan, match % 1)
    assert conflicts(host) == []
    # netplan itself knows no mask; sites give its file a drop-in
    drop_in = "/etc/systemd/network/10-netplan-hsi0.link.d/rps.conf"
    host.fill(drop_in, "[Link]\nReceivePacketSteeringCPUMask=1")
    assert conflicts(host) == [(".link file", drop_in, "no", "2")]
    host.fill(netplan, match % 9)
    assert [wins for _what, _file, wins, _value in conflicts(host)] == ["possible", "possible"]


def test_a_link_file_that_is_switched_off_has_no_drop_ins(host):
    host.fill("/usr/lib/systemd/network/99-default.link", rps_link("OriginalName=*", "0"))
    host.fill("/etc/systemd/network/99-default.link.d/rps.conf", "[Link]\nReceivePacketSteeringCPUMask=1")
    assert [value for _what, _file, _wins, value in conflicts(host)] == ["3"]
    host.fill("/etc/systemd/network/99-default.link", "")
    assert conflicts(host) == []


@pytest.fixture
def smc(tmp_path):
    host = KernelHost(tmp_path)
    host.fill("/proc/sys/net/smc/autocorking_size", "65536")
    host.fill("/etc/sysctl.conf", "# site\nnet.smc.autocorking_size = 64")
    return host


set_smc = runner(SmcSysctls, settings={"autocorking_size": "1024"})


def of_sysctl_conf(host, **more):
    """(the record, its one conflict) after a run."""
    set_smc(host)
    record = only(set_smc(host, check=True))
    (found,) = record["conflicts"]
    assert found["value"] == "64"
    return record, found


def test_without_systemd_procps_reads_it_last(smc):
    assert not runs_systemd(smc)
    record, found = of_sysctl_conf(smc)
    assert (found["file"], found["line"], found["wins"]) == ("/etc/sysctl.conf", 2, "yes")
    assert record["verdict"] == "drifted" and record["after"]["next_boot"] == {"net.smc.autocorking_size": "64"}


@pytest.mark.parametrize("sign", ["/usr/lib/systemd/systemd", "/lib/systemd/systemd", "/etc/systemd/system/x.service"])
def test_systemd_does_not_read_it_without_a_link(smc, sign):
    smc.fill(sign, "")
    assert runs_systemd(smc)
    # before a value is stored, an unread file does not set the next boot
    assert only(set_smc(smc, check=True))["before"]["next_boot"] is None
    record, found = of_sysctl_conf(smc)
    assert (found["what"], found["file"], found["wins"]) == ("sysctl.conf", "/etc/sysctl.conf", "no")
    assert found["effect"].startswith("is not read at boot: systemd reads only sysctl.d")
    assert record["verdict"] == "compliant" and record["after"]["next_boot"] == {"net.smc.autocorking_size": "1024"}


@pytest.mark.parametrize(
    "path, wins",
    [
        ("/etc/sysctl.d/99-sysctl.conf", "yes"),
        ("/usr/lib/sysctl.d/99-sysctl.conf", "yes"),
        ("/etc/sysctl.d/10-a.conf", "no"),
    ],
)
@pytest.mark.parametrize("systemd", [True, False])
def test_a_link_in_sysctl_d_decides_by_its_name(smc, path, wins, systemd):
    if systemd:
        smc.fill("/usr/lib/systemd/systemd", "")
    link(smc, path, os.path.relpath("/etc/sysctl.conf", os.path.dirname(path)))
    record, found = of_sysctl_conf(smc)
    assert (found["what"], found["file"], found["wins"]) == ("sysctl.d", path, wins)
    assert record["verdict"] == ("drifted" if wins == "yes" else "compliant")
