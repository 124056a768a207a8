# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands for the next boot: the udev rules, and who else would set the mask."""

import os

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.service import quoted
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.drop_ins import DropIn, numbered_lines
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.other_settings import udev_tokens
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._rps.stored import (
    RULES,
    queues_at_boot,
    rules,
    values_of,
)
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._system import stored_line
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.qeth import planned
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.rps import Rps
from kernel import KernelHost, rps_params
from runs import runner

NET_RULE = 'SUBSYSTEM=="net", %s, ATTR{queues/rx-0/rps_cpus}="1"'


@pytest.fixture
def host(tmp_path):
    return KernelHost(tmp_path).interface("hsi0", queues=2)


run = runner(Rps, **rps_params(interfaces=["hsi0"]))


def record_of(host, check=True, **params):
    """The record of the interface, the first one."""
    return run(host, check, **params)["tuning"][0]


def test_the_rules_name_every_queue_at_boot_and_catch_late_ones():
    text = rules("enc1", 2, {"rps_cpus": "ff,00000001"})
    parsed = [udev_tokens(line) for line in text.splitlines()]
    on_net = [tokens for tokens in parsed if ("SUBSYSTEM", None, "==", "net") in tokens]
    on_queues = [tokens for tokens in parsed if ("SUBSYSTEM", None, "==", "queues") in tokens]
    # with the name that udev decided, and with the kernel's where udev decides none
    for queue in ("rx-0", "rx-1"):
        write = ("ATTR", "queues/%s/rps_cpus" % queue, "=", "ff,00000001")
        named = [tokens for tokens in on_net if write in tokens]
        # without it udev logs an error for each queue that is not there
        assert all(("TEST", None, "==", "queues/%s/rps_cpus" % queue) in tokens for tokens in named)
        assert any(("NAME", None, "==", "enc1") in tokens for tokens in named)
        assert any(("NAME", None, "==", "") in tokens and ("KERNEL", None, "==", "enc1") in tokens for tokens in named)
    assert len(on_queues) == 1
    assert ("KERNELS", None, "==", "enc1") in on_queues[0]
    assert ("ATTR", "rps_cpus", "=", "ff,00000001") in on_queues[0]
    # the final name is decided by 80-net-setup-link.rules
    assert os.path.basename(RULES) > "80-net-setup-link.rules"
    assert values_of(text) == {"rps_cpus": "ff,00000001"}


@pytest.mark.parametrize(
    "text, refusing",
    [("a\nb", 7), ("a\x1b[2J", 7), ("a\u2028b", 7), ('a",RUN+="x', 5), ("a\\", 5), ("a*", 2), ("$a", 2)],
)
def test_no_text_leaves_its_place_in_a_file_of_root(tmp_path, text, refusing):
    """The writers themselves refuse it, whoever calls them; to some of them, fewer characters mean something."""
    drop_in = DropIn(Host(str(tmp_path)), "/etc/udev/rules.d/91.rules", "# x\n")
    writers = [
        lambda: rules(text, 1, {"rps_cpus": "ff"}),
        lambda: rules("hsi0", 1, {"rps_cpus": text}),
        lambda: stored_line("vm.swappiness", "/proc/sys/vm/swappiness", text),
        lambda: stored_line("x", "/sys/" + text, "1"),
        lambda: planned(text, 128),
        lambda: drop_in.put(text, "x"),
        lambda: quoted(text),
    ]
    for write in writers[:refusing]:
        with pytest.raises((InputError, HostError), match="cannot be (named|written)"):
            write()
    assert os.listdir(str(tmp_path)) == []


def test_the_rules_name_a_queue_for_each_cpu_but_one_for_qeth(host):
    record_of(host, check=False)
    assert host.read(RULES).count("ATTR{queues/rx-3/") == 2 and "rx-4" not in host.read(RULES)
    host.qeth("enc1", "OSD_10GIG")
    assert queues_at_boot(host, "enc1", 1) == 1
    assert queues_at_boot(host, "hsi0", 2) == 4
    assert queues_at_boot(host, "hsi0", 6) == 6
    host.interface("hsi0", queues=6, mask=15)
    record = record_of(host)
    assert record["verdict"] == "drifted"
    assert "hsi0 udev rule: rps_cpus=f for 4 queues, wanted rps_cpus=f for 6 queues" in record["reason"]
    host.fill("/sys/devices/system/cpu/present", "0-199")
    assert queues_at_boot(host, "hsi0", 2) == 64


def test_the_block_of_another_interface_and_foreign_lines_stay(host):
    drop_in = DropIn(host, RULES, "# header\n")
    drop_in.put("a", "rule a")
    drop_in.put("b", "rule b1\nrule b2")
    host.write(RULES, host.read(RULES) + "# by hand\n")
    drop_in.put("a", "rule a2")
    assert drop_in.block("a") == "rule a2" and drop_in.block("b") == "rule b1\nrule b2"
    drop_in.put("a", None)
    drop_in.put("b", None)
    assert host.read(RULES) == "# header\n# by hand\n"
    host.write(RULES, "# header\n")
    drop_in.put("a", None)
    assert not host.exists(RULES)


def test_lines_that_go_on_count_from_where_they_begin(host):
    host.fill("/etc/x", "# c\n\none, \\\n  two\nthree")
    assert list(numbered_lines(host, "/etc/x")) == [(3, "one, two"), (5, "three")]
    host.fill("/etc/x", "\\\n\\\none\\\n\n# c\\\ntwo\\")
    assert list(numbered_lines(host, "/etc/x")) == [(3, "one")]


@pytest.mark.parametrize(
    "path, line, wins",
    [
        ("95-site.rules", NET_RULE % 'NAME=="hsi0"', "yes"),
        ("70-site.rules", NET_RULE % 'NAME=="hsi0"', "no"),
        ("95-site.rules", 'SUBSYSTEM=="queues", KERNEL=="rx-*", KERNELS=="hsi0", ATTR{rps_cpus}="1"', "possible"),
        ("71-site.rules", 'SUBSYSTEM=="queues", KERNEL=="rx-*", KERNELS=="hsi*", ATTR{rps_cpus}="1"', "no"),
        ("95-site.rules", NET_RULE % 'DRIVERS=="qeth", NAME=="hsi0"', None),
        ("95-site.rules", NET_RULE % 'ENV{X}=="y", NAME=="hsi0"', "possible"),
        ("95-site.rules", NET_RULE % 'NAME!="eth*"', "yes"),
        ("95-site.rules", NET_RULE % 'ACTION=="remove", NAME=="hsi0"', None),
        ("95-site.rules", NET_RULE % 'KERNEL=="eth0"', "possible"),
        ("60-site.rules", 'SUBSYSTEM=="net", NAME=="hsi0", RUN+="/bin/set-rps rps_cpus 1"', "yes"),
    ],
)
def test_other_udev_rules(host, path, line, wins):
    record_of(host, check=False)
    host.fill("/etc/udev/rules.d/" + path, "# site\n" + line)
    record = record_of(host)
    found = [(one["file"], one["line"], one["wins"]) for one in record["conflicts"]]
    assert found == ([] if wins is None else [("/etc/udev/rules.d/" + path, 2, wins)])
    # a conflict that wins makes the next boot wrong, even where the running value is right
    told = "at the next boot /etc/udev/rules.d/%s line 2 sets rps_cpus" % path
    assert record["verdict"] == ("drifted" if wins == "yes" else "compliant")
    assert (told in record["reason"]) is (record["after"]["next_boot"] != {"rps_cpus": "f"}) is (wins == "yes")


def test_a_rule_edited_by_hand_is_drift_and_of_others_those_with_the_same_mask_are_not(host):
    host.fill("/etc/udev/rules.d/70-site.rules", NET_RULE.replace('"1"', '"2"') % 'NAME=="hsi0"')
    assert record_of(host)["before"]["next_boot"] == {"rps_cpus": "2"}
    record_of(host, check=False)
    host.fill("/etc/udev/rules.d/95-site.rules", NET_RULE.replace('"1"', '"0000000f"') % 'NAME=="hsi0"')
    assert record_of(host)["verdict"] == "compliant"
    host.write(RULES, host.read(RULES).replace('"f"', '"1"', 1))
    record = record_of(host)
    assert (record["verdict"], record["before"]["stored"]) == ("drifted", {"udev rule": "edited by hand"})
    restored = record_of(host, check=False, state="restored")
    assert restored["verdict"] == "drifted" and "left alone" in restored["reason"] and host.exists(RULES)


def test_tmpfiles_default_mask_tuned_and_scripts_are_found(host):
    record_of(host, check=False)
    host.fill("/etc/tmpfiles.d/rps.conf", "w /sys/class/net/hsi*/queues/rx-0/rps_cpus - - - - 1")
    host.fill("/etc/sysctl.d/50-rps.conf", "net.core.rps_default_mask = 3")
    host.fill("/etc/tuned/active_profile", "site")
    host.fill("/etc/tuned/site/tuned.conf", "[main]\ninclude=base")
    host.fill("/usr/lib/tuned/base/tuned.conf", "[script]\nscript=script.sh")
    host.fill("/usr/lib/tuned/base/script.sh", "#!/bin/sh\necho 1 > /sys/class/net/hsi0/queues/rx-0/rps_cpus")
    host.fill("/etc/rc.d/rc.local", "echo 1 > /sys/class/net/hsi0/queues/rx-0/rps_cpus")
    found = {one["what"]: (one["file"], one["line"], one["wins"]) for one in record_of(host)["conflicts"]}
    assert found == {
        "tmpfiles.d": ("/etc/tmpfiles.d/rps.conf", 1, "possible"),
        "net.core.rps_default_mask": ("/etc/sysctl.d/50-rps.conf", 1, "no"),
        "tuned": ("/usr/lib/tuned/base/script.sh", 2, "possible"),
        "boot script": ("/etc/rc.d/rc.local", 1, "possible"),
    }
    assert record_of(host)["verdict"] == "compliant"
    host.fill("/etc/systemd/system/multi-user.target.wants/tuned.service", "")
    record = record_of(host)
    assert record["verdict"] == "drifted" and "/usr/lib/tuned/base/script.sh line 2" in record["reason"]
    host.fill("/usr/lib/tuned/base/tuned.conf", "[main]\ninclude=base,site\n[script]\nscript=script.sh")
    assert record_of(host)["verdict"] == "drifted"


ENTRIES = "net.core.rps_sock_flow_entries"


@pytest.mark.parametrize(
    "path, text, wins, value",
    [
        ("/etc/sysctl.conf", "net/core/rps_sock_flow_entries = 64", "yes", "64"),
        ("/etc/tuned/site/tuned.conf", "[sysctl]\n%s = 64" % ENTRIES, "no", "64"),
        ("/etc/tuned/site/go.sh", "#\necho 64 > /proc/sys/net/core/rps_sock_flow_entries", "yes", "64"),
        ("/etc/tmpfiles.d/a.conf", "#\nw /proc/sys/net/core/rps_sock_flow_entries - - - - 64", "possible", "64"),
        ("/etc/cron.d/a", "#\n@reboot root sysctl -w %s=64" % ENTRIES, "possible", "64"),
        ("/proc/cmdline", "quiet sysctl.%s=64" % ENTRIES, "no", "64"),
    ],
)
def test_others_set_the_flow_entries(host, path, text, wins, value):
    host.fill("/proc/sys/net/core/rps_sock_flow_entries", "0")
    host.fill("/etc/tuned/active_profile", "site")
    host.fill("/etc/tuned/site/tuned.conf", "[script]\nscript=go.sh")
    if not path.startswith("/etc/sysctl"):
        # tuned would read these files again
        host.fill("/etc/systemd/system/multi-user.target.wants/tuned.service", "")
    host.fill(path, text)
    run(host, sock_flow_entries=1024)
    record = run(host, True, sock_flow_entries=1024)["tuning"][1]
    assert [(one["file"], one["wins"], one["value"]) for one in record["conflicts"]] == [(path, wins, value)]
    assert record["verdict"] == ("drifted" if wins == "yes" else "compliant")
    assert record["after"]["next_boot"] == {ENTRIES: value if wins == "yes" else "1024"}


@pytest.mark.parametrize("other, verdict, boot", [("20000", "compliant", "32768"), ("0x400", "drifted", "1024")])
def test_another_number_of_flow_entries_is_rounded_as_the_kernel_does(host, other, verdict, boot):
    host.fill("/proc/sys/net/core/rps_sock_flow_entries", "0")
    host.fill("/etc/sysctl.d/99-site.conf", "%s = %s" % (ENTRIES, other))
    run(host, sock_flow_entries=32768)
    record = run(host, True, sock_flow_entries=32768)["tuning"][1]
    assert (record["verdict"], record["after"]["next_boot"]) == (verdict, {ENTRIES: boot})
