# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How sysctl.d, tuned, saptune and fstab merge: predicted, and by the real programs."""

import json
import os
import subprocess
import sys
import tempfile

import captured
import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import boot_sources, tuned
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.other_settings import at_boot, of_system
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._system import sysctl_knob
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._system_base import shared_memory
from basekernel import BaseHost
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
