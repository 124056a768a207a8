# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who else sets a value at boot: scripts, link files, sysctl.conf, and files that tools merge as real programs do."""

import json
import os
import subprocess
import sys
import tempfile

import captured
import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import boot_sources, tuned
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.boot_sources import runs_systemd, scripts
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.other_settings import at_boot, of_system
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._system import sysctl_knob
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._system_base import shared_memory
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.rps import Rps
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.smc_sysctls import SmcSysctls
from basekernel import BaseHost
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
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


MAPS, BYTES, RATIO = "vm.max_map_count", "vm.dirty_bytes", "vm.dirty_ratio"
OWN = "/etc/sysctl.d/91-zpower-sap-tuning-system-base.conf"
CHECKOUT = boot_sources.__file__.split("/.cache/")[0]
FOLDERS = ("/usr/lib", "/usr/local/lib", "/run", "/etc")
PATHS = ["%s/sysctl.d/%s.conf" % (folder, name) for folder in FOLDERS for name in ("50-a", "95-b")]
NAMES = st.sampled_from([MAPS, BYTES, RATIO])
OPTIONS = st.dictionaries(NAMES, st.sampled_from("123456789"), min_size=1, max_size=3)
FLAGS = st.sampled_from(["", "replace=1", "drop=" + MAPS, "drop=%s,%s" % (BYTES, RATIO)])
UNITS = st.dictionaries(st.sampled_from(["sysctl", "late"]), st.tuples(FLAGS, OPTIONS), min_size=1, max_size=2)
INCLUDES = st.lists(st.sampled_from(["base", "more", "-missing", "-base"]), min_size=1, max_size=2)
# {profile: (includes, {unit: (flag, options)})}
PROFILES = st.fixed_dictionaries({name: st.tuples(INCLUDES, UNITS) for name in ("site", "base", "more")})


def planted(root, files, profiles=()):
    """A host that is nothing but these files and profiles of tuned."""
    files = dict(files, **{"/usr/lib/systemd/systemd": "", "/etc/tuned/active_profile": "site"})
    for name in profiles:
        includes, units = profiles[name]
        lines = ["[main]", "include=" + ", ".join(includes)]
        for unit, (flag, values) in units.items():
            lines += ["[%s]" % unit, "type=sysctl", "priority=%d" % (unit == "late"), flag]
            lines += ["%s = %s  # %s" % (key, value, unit) for key, value in values.items()]
        files["/etc/tuned/%s/tuned.conf" % name] = "\n".join(lines)
    captured.grow(root, files)
    return Host(root)


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has a private namespace")
DEFAULTS = {"net.core.somaxconn": "4096", "net.ipv4.tcp_keepalive_time": "7200", "net.ipv4.tcp_keepalive_intvl": "75"}
IN_NAMESPACE = """
mount --make-rprivate / && mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /usr/local/lib || exit 1
for folder in /etc /run /usr/lib /usr/local/lib; do
    mkdir -p $folder/sysctl.d "$1$folder/sysctl.d" && mount --bind "$1$folder/sysctl.d" $folder/sysctl.d || exit 1
done
/lib/systemd/systemd-sysctl --prefix=/net 2>/dev/null
cat /proc/sys/net/core/somaxconn /proc/sys/net/ipv4/tcp_keepalive_time /proc/sys/net/ipv4/tcp_keepalive_intvl
"""
KEYS = st.sampled_from([*DEFAULTS, "net.ipv4.tcp_keepalive_*", "net/ipv4/tcp_keepalive_time", "-net.core.somaxconn"])
TEXTS = st.sampled_from(["= 12", "=0x1f", " = 017", "= 9   # why", '= "8"', "= 08", "=5 6", "=", "= -1x"])
OTHERS = st.sampled_from(["-net.ipv4.tcp_keepalive_time", "# net.core.somaxconn = 1", "x"])
NETWORK = st.lists(st.one_of(st.builds(str.__add__, KEYS, TEXTS), OTHERS))


def in_private(script, folder):
    argv = ["unshare", "-mn", "sh", "-c", script, "sh", str(folder)]
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, universal_newlines=True, timeout=60).stdout


@pytest.mark.gate
@needs_root
@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from(PATHS), NETWORK, min_size=1, max_size=5))
def test_systemd_sysctl_does_what_is_predicted(files):
    with tempfile.TemporaryDirectory() as root:
        files = {path: "\n".join(lines) + "\n" for path, lines in files.items()}
        host = planted(root, dict(files, **{boot_sources.path_of(name): DEFAULTS[name] for name in DEFAULTS}))
        told = in_private(IN_NAMESPACE, root).split()
        found = {name: of_system(host, sysctl_knob(name, OWN)) for name in DEFAULTS}
    for (name, default), value in zip(DEFAULTS.items(), told):
        predicted = at_boot("it", name, None, found[name], str.__eq__)[0] or default
        # a refused value changes nothing
        assert value == (default if "kernel" in predicted else predicted), (name, found[name])


LOADER = """
import json, sys
from tuned.profiles import factory, loader, locator, merger, variables
for line in sys.stdin:
    known = variables.Variables()
    found = loader.Loader(locator.Locator([line.strip()]), factory.Factory(), merger.Merger(), None, known)
    # tuned before 2.21 has no priorities, so that they are options
    units = found.load(["site"]).units.values()
    units = sorted(units, key=lambda unit: int(unit.options.pop("priority", 0) or unit.priority or 0))
    print(json.dumps([pair for unit in units for pair in unit.options.items()]), flush=True)
"""


@pytest.fixture(scope="module")
def real_tuned():
    """A process with the loader and merger of Debian's tuned, which tests/setup.sh unpacks."""
    packages = os.path.join(CHECKOUT, ".cache", "tuned", "usr", "lib", "python3", "dist-packages")
    if not os.path.isdir(packages):
        pytest.skip("tests/setup.sh could not fetch Debian's tuned")
    argv, pipe = [sys.executable, "-W", "ignore", "-c", LOADER], subprocess.PIPE
    env = dict(os.environ, PYTHONPATH=packages)
    with subprocess.Popen(argv, env=env, stdin=pipe, stdout=pipe, universal_newlines=True) as process:
        yield process
        process.stdin.close()


@pytest.mark.gate
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(profiles=PROFILES)
def test_debians_tuned_merges_the_same(real_tuned, profiles):
    with tempfile.TemporaryDirectory() as root:
        host = planted(root, {}, profiles)
        real_tuned.stdin.write(root + "/etc/tuned\n")
        real_tuned.stdin.flush()
        told = json.loads(real_tuned.stdout.readline())
        found = [write.setting.text.split("=") for write in tuned.tuned_profile(host).writes]
    assert found == told


@pytest.mark.gate
@needs_root
@pytest.mark.parametrize(
    "lines", ["/dev/shm/ tmpfs x,size=16m\nx /dev/shm", "/dev//shm tmpfs size=8m,size=4m\nx /dev/shm"]
)
def test_mount_takes_the_line_of_fstab_that_is_named_first(tmp_path, lines):
    text = "#tmpfs /dev/shm tmpfs size=8m\ntmpfs %s tmpfs size=32m 0 0\n" % lines.replace("x,", "defaults,")
    (tmp_path / "fstab").write_text(text)
    told = in_private(
        "mount --make-rprivate / && mount --bind $1/fstab /etc/fstab && mount -t tmpfs -o size=64m tmpfs /dev/shm"
        " && mount -o remount /dev/shm && grep ' /dev/shm ' /proc/mounts | tail -n 1",
        tmp_path,
    )
    host = BaseHost(tmp_path / "root")
    host.fill("/etc/fstab", text)
    fstab, memory = shared_memory.Fstab(host), shared_memory.SharedMemory(host)
    assert "size=%dk" % memory.stored(fstab.block("/dev/shm")) in told
    assert "in lines 2, 3: mount takes the first one" in fstab.remarks("/dev/shm")[0]
