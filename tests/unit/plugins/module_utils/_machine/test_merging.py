# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How sysctl.d, tuned, saptune and fstab merge: predicted, simulated in short, and by the real programs.

The simulations are written after the sources of the tools, not after the readers under test.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import OrderedDict

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import sysctl_files, tuned
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.other_settings import at_boot, of_system
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._system import sysctl_knob
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._system_base import others, shared_memory
from basekernel import BaseHost
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kernel import KernelHost

MAPS, BYTES, RATIO = "vm.max_map_count", "vm.dirty_bytes", "vm.dirty_ratio"
OWN = "/etc/sysctl.d/91-zpower-sap-tuning-system-base.conf"
OURS = "629145600"
WANTS = "/etc/systemd/system/multi-user.target.wants/"
CHECKOUT = sysctl_files.__file__.split("/.cache/")[0]
PATHS = [
    "%s/sysctl.d/%s.conf" % (folder, name)
    for folder in ("/usr/lib", "/usr/local/lib", "/run", "/etc")
    for name in ("50-a", "95-b")
]

names = st.sampled_from([MAPS, BYTES, RATIO])
numbers = st.integers(min_value=1, max_value=9).map(str)
options = st.dictionaries(names, numbers, min_size=1, max_size=3)


@st.composite
def profiles(draw):
    """{name: (includes, {unit: (flags, options)})}; "site" is active."""
    units = st.dictionaries(
        st.sampled_from(["sysctl", "late"]),
        st.tuples(st.sampled_from(["", "replace=1", "drop=" + MAPS, "drop=%s,%s" % (BYTES, RATIO)]), options),
        min_size=1,
        max_size=2,
    )
    includes = st.lists(st.sampled_from(["base", "more", "-missing", "-base"]), min_size=1, max_size=2)
    return {name: (draw(includes), draw(units)) for name in ("site", "base", "more")}


def render(host, found, folder="/etc/tuned"):
    for name, (includes, units) in found.items():
        lines = ["[main]", "include=" + ", ".join(includes)] if includes else ["[main]"]
        for unit, (flags, values) in units.items():
            # the line of the type is needed again in each profile
            lines += ["[%s]" % unit, "type=sysctl", "priority=%d" % (unit == "late"), flags]
            lines += ["%s = %s  # %s" % (key, value, unit) for key, value in values.items()]
        host.fill("%s/%s/tuned.conf" % (folder, name), "\n".join(lines))
    host.fill("/etc/tuned/active_profile", "site")


def merge(found):
    """[(option, value)] in the order in which tuned sets them."""
    order, units = [], {}

    def load(name):
        if name in found and name not in order:
            order.append(name)
            for other in found[name][0]:
                load(other.lstrip("-"))
            for unit, (flags, values) in found[name][1].items():
                if flags == "replace=1":
                    units.pop(unit, None)
                for dropped in flags[5:].split(",") if flags.startswith("drop") and unit in units else ():
                    units[unit].pop(dropped, None)
                units.setdefault(unit, OrderedDict()).update(values)

    load("site")
    return [pair for unit in ("sysctl", "late") for pair in units.get(unit, {}).items()]


@st.composite
def sysctl_trees(draw):
    """{folder/name: [line]}"""
    lines = st.tuples(st.sampled_from(["%s = %s", "-%s=%s", "%s=0x%s # why"]), names, st.sampled_from("12"))
    files = ["/etc/sysctl.conf", *PATHS]
    found = draw(st.fixed_dictionaries({}, optional={file: st.lists(lines, min_size=1, max_size=2) for file in files}))
    return {path: [line % (key, value) for line, key, value in some] for path, some in found.items()}


def visible(files, folders):
    """The paths that count of these folders, the last of which comes first, by the names of their files."""
    found = {}
    for folder in folders:
        found.update((path.rsplit("/", 1)[1], path) for path in files if path.startswith(folder + "/sysctl.d/"))
    return [found[name] for name in sorted(found)]


def read(lines):
    for line in lines:
        name, _equals, value = line.partition("=")
        yield name.strip(), str(int(value.split("#")[0].strip(), 0))


def in_order(files):
    """[(name, value)] in the order in which systemd-sysctl writes them."""
    table = OrderedDict()
    for path in visible(files, ("/usr/lib", "/usr/local/lib", "/run", "/etc")):
        for line in files[path]:
            ((name, value),) = read([line])
            text = line.partition("=")[2].strip()
            if table.get(name.lstrip("-"), ("", ""))[1] != text:
                table.pop(name.lstrip("-"), None)
                table[name.lstrip("-")] = value, text
    return [(name, value) for name, (value, _text) in table.items()]


class Machine:
    """The values of a booting machine."""

    def __init__(self):
        self.values = {MAPS: "65530", BYTES: "ratio 20"}

    def write(self, pairs):
        for name, value in pairs:
            self.values[BYTES if name == RATIO else name] = "ratio " + value if name == RATIO else value

    def boot(self, files, set_by_tuned, again, notes):
        self.write(in_order(files))
        self.write(set_by_tuned)
        if again:
            again = OrderedDict()
            for path in [*visible(files, ("/etc", "/run")), "/etc/sysctl.conf"]:
                again.update(pair for pair in read(files.get(path, ())) if not pair[0].startswith("-"))
            self.write(again.items())
        for note, override in notes:
            self.write((key, override.get(key, value)) for key, value in note.items() if override.get(key) != "")


def notes():
    """[({option: value} of a note, that of its override)]"""
    override = st.dictionaries(names, st.sampled_from(["", "7"]))
    return st.one_of(st.just([]), st.lists(st.tuples(options, override), min_size=1, max_size=3))


def predict(host, name, stored):
    """(next boot, whether it is left to a tool)"""
    found = others.of_sysctl(host, name, OWN)
    default = {MAPS: "65530", BYTES: "ratio 20"}[name]
    value = at_boot("it", name, stored, found, str.__eq__, default)[0]
    return value or default


class Files:
    """A host that is nothing but files."""

    root, capture = "/nowhere", None

    def __init__(self, **files):
        self.files = dict(files)

    def fill(self, path, text):
        self.files[path] = text

    def read(self, path):
        return self.files.get(path)

    def value(self, path):
        return self.files[path].strip() if path in self.files else None

    def real(self, path):
        return path

    def size(self, path):
        return len(self.files.get(path, ""))

    def lacking(self, path):
        return ""

    def exists(self, path):
        return path in self.files or bool(self.listdir(path))

    def listdir(self, folder):
        inside = [path[len(folder) + 1 :] for path in self.files if path.startswith(folder + "/")]
        return sorted({path.split("/")[0] for path in inside})

    glob = Host.glob


@settings(max_examples=100)
@given(sysctl_trees(), profiles(), notes(), st.booleans(), st.booleans())
def test_the_predicted_boot_is_the_simulated_one(files, found, applied, stored, again):
    host = Files(**{"/usr/lib/systemd/systemd": "", "/etc/tuned/tuned-main.conf": "reapply_sysctl = %d" % again})
    render(host, found)
    if stored:
        files = dict(files, **{OWN: ["%s = %s" % (name, OURS) for name in (MAPS, BYTES)]})
    fill(host, files)
    host.fill("/etc/sysconfig/saptune", 'NOTE_APPLY_ORDER="%s"' % " ".join(map(str, range(len(applied)))))
    for number, (note, override) in enumerate(applied):
        lines = ["[sysctl:os=12-SP1]", MAPS + "=1", "[sysctl]", *("%s = %s" % pair for pair in note.items())]
        host.fill("/etc/saptune/extra/%d.conf" % number, "\n".join(lines))
        lines = ["[sysctl]", *("%s=%s" % pair for pair in override.items())]
        host.fill("/etc/saptune/override/%d" % number, "\n".join(lines))
    for service in ("tuned", "saptune"):
        host.fill("%s%s.service" % (WANTS, service), "")
    machine = Machine()
    machine.boot(files, merge(found), again, applied)
    assert {name: predict(host, name, OURS if stored else None) for name in (MAPS, BYTES)} == machine.values


def fill(host, files):
    for path, lines in files.items():
        host.fill(path, "\n".join(lines))


@given(sysctl_trees())
def test_the_lines_of_sysctl_d_have_the_order_of_systemd(files):
    host = Files(**{"/usr/lib/systemd/systemd": ""})
    fill(host, files)
    expected = [(sysctl_files.path_of(name), value) for name, value in in_order(files)]
    found = sysctl_files.sysctls(host, *map(sysctl_files.path_of, (MAPS, BYTES, RATIO)))
    assert [(path, sysctl_files.number(one.value)) for path, one in found[len(found) - len(expected) :]] == expected


def merged(host):
    return [tuple(write.setting.text.split("=")) for write in tuned.profile(host).writes]


@given(profiles())
def test_profiles_of_tuned_are_merged_in_their_order(found):
    host = Files()
    render(host, found)
    assert merged(host) == merge(found)


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has a private namespace")
DEFAULTS = {"net.core.somaxconn": "4096", "net.ipv4.tcp_keepalive_time": "7200", "net.ipv4.tcp_keepalive_intvl": "75"}
IN_NAMESPACE = """
mount --make-rprivate / && mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /usr/local/lib || exit 1
for folder in /etc /run /usr/lib /usr/local/lib; do
    mkdir -p $folder/sysctl.d "$1$folder/sysctl.d" && mount --bind "$1$folder/sysctl.d" $folder/sysctl.d || exit 1
done
/lib/systemd/systemd-sysctl --prefix=/net 2>/dev/null
for name in somaxconn; do cat /proc/sys/net/core/$name; done
for name in time intvl; do cat /proc/sys/net/ipv4/tcp_keepalive_$name; done
"""


@st.composite
def network_files(draw):
    keys = [*DEFAULTS, "net.ipv4.tcp_keepalive_*", "net/ipv4/tcp_keepalive_time", "-net.core.somaxconn"]
    values = ["= 12", "=0x1f", " = 017", "= 9   # why", '= "8"', "= 08", "=5 6", "=", "= -1x"]
    line = st.tuples(st.sampled_from(keys), st.sampled_from(values)).map("".join)
    lines = st.lists(
        st.one_of(line, st.sampled_from(["-net.ipv4.tcp_keepalive_time", "# net.core.somaxconn = 1", "x"]))
    )
    return {path: draw(lines) for path in draw(st.sets(st.sampled_from(PATHS), min_size=1, max_size=5))}


@pytest.mark.gate
@needs_root
@settings(max_examples=60)
@given(network_files())
def test_systemd_sysctl_does_what_is_predicted(files):
    host = Files(
        **{"/usr/lib/systemd/systemd": ""}, **{sysctl_files.path_of(name): DEFAULTS[name] for name in DEFAULTS}
    )
    fill(host, files)
    with tempfile.TemporaryDirectory() as root:
        for path, lines in files.items():
            os.makedirs(os.path.dirname(root + path), exist_ok=True)
            with open(root + path, "w", encoding="utf-8") as stream:
                stream.write("\n".join(lines) + "\n")
        argv = ["unshare", "-mn", "sh", "-c", IN_NAMESPACE, "sh", root]
        told = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60).stdout.split()
    for (name, default), value in zip(DEFAULTS.items(), told):
        found = of_system(host, sysctl_knob(name, OWN))
        predicted = at_boot("it", name, None, found, str.__eq__)[0] or default
        # a refused value changes nothing
        assert value == (default if "kernel" in predicted else predicted), (name, found)


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
    """Ask the loader and merger of Debian's tuned, which tests/setup.sh unpacks."""
    packages = os.path.join(CHECKOUT, ".cache", "tuned", "usr", "lib", "python3", "dist-packages")
    if not os.path.isdir(packages):
        pytest.skip("tests/setup.sh could not fetch Debian's tuned")
    argv, env = [sys.executable, "-W", "ignore", "-c", LOADER], dict(os.environ, PYTHONPATH=packages)
    with subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def ask(folder):
            process.stdin.write(folder + "\n")
            process.stdin.flush()
            return [tuple(pair) for pair in json.loads(process.stdout.readline())]

        yield ask
        process.stdin.close()


@pytest.mark.gate
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(found=profiles())
def test_debians_tuned_merges_the_same(real_tuned, found):
    with tempfile.TemporaryDirectory() as root:
        host = KernelHost(root)
        render(host, found)
        assert merged(host) == real_tuned(host.path("/etc/tuned"))


@pytest.mark.gate
@needs_root
@pytest.mark.parametrize(
    "lines",
    [
        [
            "#tmpfs /dev/shm tmpfs size=8m",
            "tmpfs /dev/shm/ tmpfs defaults,size=16m 0 0",
            "x /dev/shm tmpfs size=32m 0 0",
        ],
        ["tmpfs /dev//shm tmpfs size=8m,size=4m", "tmpfs /dev/shm tmpfs size=32m 0 0"],
    ],
)
def test_mount_takes_the_line_of_fstab_that_is_named_first(tmp_path, lines):
    (tmp_path / "fstab").write_text("\n".join(lines) + "\n")
    script = (
        "mount --make-rprivate / && mount --bind $1/fstab /etc/fstab && mount -t tmpfs -o size=64m tmpfs /dev/shm"
        " && mount -o remount /dev/shm && grep ' /dev/shm ' /proc/mounts | tail -n 1"
    )
    argv = ["unshare", "-m", "sh", "-c", script, "sh", str(tmp_path)]
    told = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60).stdout
    host = BaseHost(tmp_path / "root")
    host.fill("/etc/fstab", "\n".join(lines))
    fstab, memory = shared_memory.Fstab(host), shared_memory.SharedMemory(host)
    assert "size=%dk" % memory.stored(fstab.block("/dev/shm")) in told
    assert "mount takes the first one" in fstab.remarks("/dev/shm")[0]
