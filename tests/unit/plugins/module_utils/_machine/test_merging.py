# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How sysctl.d, tuned, saptune and fstab merge: predicted, simulated in short, and by the real programs."""

import json
import os
import subprocess
import sys
import tempfile
from collections import OrderedDict

import captured
import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import boot_sources, tuned
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.other_settings import at_boot, of_system
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._system import sysctl_knob
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._system_base import shared_memory, topics
from basekernel import UNIT, BaseHost
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

MAPS, BYTES, RATIO = "vm.max_map_count", "vm.dirty_bytes", "vm.dirty_ratio"
OWN = "/etc/sysctl.d/91-zpower-sap-tuning-system-base.conf"
CHECKOUT = boot_sources.__file__.split("/.cache/")[0]
FOLDERS = ("/usr/lib", "/usr/local/lib", "/run", "/etc")
PATHS = ["%s/sysctl.d/%s.conf" % (folder, name) for folder in FOLDERS for name in ("50-a", "95-b")]
NAMES = st.sampled_from([MAPS, BYTES, RATIO])
OPTIONS = st.dictionaries(NAMES, st.sampled_from("123456789"), min_size=1, max_size=3)
# [({option: value} of a note, that of its override)]
NOTES = st.lists(st.tuples(OPTIONS, st.dictionaries(NAMES, st.sampled_from(["", "7"]))), min_size=1, max_size=3)
FLAGS = st.sampled_from(["", "replace=1", "drop=" + MAPS, "drop=%s,%s" % (BYTES, RATIO)])
UNITS = st.dictionaries(st.sampled_from(["sysctl", "late"]), st.tuples(FLAGS, OPTIONS), min_size=1, max_size=2)
INCLUDES = st.lists(st.sampled_from(["base", "more", "-missing", "-base"]), min_size=1, max_size=2)
# {profile: (includes, {unit: (flag, options)})}
PROFILES = st.fixed_dictionaries({name: st.tuples(INCLUDES, UNITS) for name in ("site", "base", "more")})
LINE = st.builds(str.format, st.sampled_from(["{} = {}", "-{}={}", "{}=0x{} # why"]), NAMES, st.sampled_from("12"))
LINES = st.lists(LINE, min_size=2, max_size=3)
# {file: its lines}
TREES = st.fixed_dictionaries({}, optional=dict.fromkeys([*PATHS, "/etc/sysctl.conf"], LINES))


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


# the simulations: after the sources of the tools, not after the readers under test


def merge(profiles):
    """[(option, value)] in the order in which tuned sets them."""
    loaded, found = [], {}

    def load(name):
        if name not in profiles or name in loaded:
            return
        loaded.append(name)
        for other in profiles[name][0]:
            load(other.lstrip("-"))
        for unit, (flag, values) in profiles[name][1].items():
            if flag == "replace=1":
                found.pop(unit, None)
            for option in flag[5:].split(",") if unit in found else ():
                found[unit].pop(option, None)
            found.setdefault(unit, OrderedDict()).update(values)

    load("site")
    return [pair for unit in ("sysctl", "late") for pair in found.get(unit, {}).items()]


def visible(files, folders):
    """The lines of these folders, the last of which hides the others, by the names of files."""
    found = {}
    for folder in folders:
        found.update((path.rsplit("/", 1)[1], path) for path in files if path.startswith(folder + "/sysctl.d/"))
    return [line for name in sorted(found) for line in files[found[name]]]


def in_order(lines):
    """[(name, text)] in the order in which systemd-sysctl writes them."""
    table = OrderedDict()
    for line in lines:
        name, text = (word.strip() for word in line.lstrip("-").split("=", 1))
        if table.get(name) != text:
            table.pop(name, None)
            table[name] = text
    return list(table.items())


def boot(files, set_by_tuned, again, notes):
    values = {MAPS: "65530", BYTES: "ratio 20"}
    writes = in_order(visible(files, FOLDERS)) + set_by_tuned
    if again:
        lines = visible(files, ("/etc", "/run")) + files.get("/etc/sysctl.conf", [])
        pairs = ((word.strip() for word in line.split("=", 1)) for line in lines if not line.startswith("-"))
        writes += OrderedDict(pairs).items()
    for note, override in notes:
        writes += [(key, override.get(key, value)) for key, value in note.items() if override.get(key) != ""]
    for name, text in writes:
        value = str(int(text.split("#")[0], 0))
        values[BYTES if name == RATIO else name] = "ratio " + value if name == RATIO else value
    return values


@given(TREES, PROFILES, st.one_of(st.just([]), NOTES), st.sampled_from([None, "629145600"]), st.booleans())
def test_the_predicted_boot_is_the_simulated_one(files, profiles, notes, stored, again):
    if stored:
        files = dict(files, **{OWN: ["%s = %s" % (name, stored) for name in (MAPS, BYTES)]})
    expected = boot(files, merge(profiles), again, notes)
    order = ['NOTE_APPLY_ORDER="%s"' % " ".join(map(str, range(len(notes))))]
    units = {UNIT + name: [""] for name in ("tuned.service", "saptune.service")}
    files = dict(files, **units, **{"/etc/sysconfig/saptune": order})
    files["/etc/tuned/tuned-main.conf"] = ["reapply_sysctl = %d" % again]
    for number, (note, override) in enumerate(notes):
        lines = ["[sysctl:os=12-SP1]", MAPS + "=1", "[sysctl]", *map("%s = %s".__mod__, note.items())]
        files["/etc/saptune/extra/%d.conf" % number] = lines
        files["/etc/saptune/override/%d" % number] = ["[sysctl]", *map("%s=%s".__mod__, override.items())]
    with tempfile.TemporaryDirectory() as root:
        host = planted(root, {path: "\n".join(lines) for path, lines in files.items()}, profiles)
        for name, default in ((MAPS, "65530"), (BYTES, "ratio 20")):
            found = of_system(host, *topics.forms(name))
            assert (at_boot("it", name, stored, found, str.__eq__, default)[0] or default) == expected[name]


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
    assert found == told == list(map(list, merge(profiles)))


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
