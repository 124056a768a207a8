# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How sysctl.d, tuned, saptune and fstab merge: the next boot as predicted, simulated in short, and by the real programs.

The simulations are written after the sources of the tools, not after the readers under test.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import OrderedDict

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import saptune, sysctl_files, tuned
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.other_settings import at_boot, udev_tokens
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings._system_base import others, shared_memory
from basekernel import BaseHost
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel import KernelHost

MAPS, BYTES, RATIO = "vm.max_map_count", "vm.dirty_bytes", "vm.dirty_ratio"
OWN = "/etc/sysctl.d/91-zpower-sap-tuning-system-base.conf"
OURS = "629145600"
WANTS = "/etc/systemd/system/multi-user.target.wants/"
CHECKOUT = os.path.dirname(os.path.dirname(sysctl_files.__file__.split("plugins")[0]))
PACKAGE = os.path.join(os.path.realpath(sysctl_files.__file__).split("/plugins/")[0], ".cache", "tuned")

names = st.sampled_from([MAPS, BYTES, RATIO])
numbers = st.integers(min_value=1, max_value=9).map(str)
options = st.dictionaries(names, numbers, max_size=3)


@st.composite
def profiles(draw):
    """{name: (includes, {unit: (flags, options)})}; "site" is active."""
    units = st.dictionaries(
        st.sampled_from(["sysctl", "late"]),
        st.tuples(st.sampled_from(["", "replace=1", "drop=" + MAPS, "drop=%s,%s" % (BYTES, RATIO)]), options),
        max_size=2,
    )
    includes = st.lists(st.sampled_from(["base", "more", "-missing", "-base"]), max_size=2)
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
    return [pair for unit in ("sysctl", "late") for pair in units.get(unit, {}).items()], bool(units)


@st.composite
def sysctl_trees(draw):
    """{folder/name: [line]}"""
    lines = st.tuples(st.sampled_from(["%s = %s", "-%s=%s", "%s=0x%s # why"]), names, numbers)
    folders = ("/usr/lib", "/usr/local/lib", "/run", "/etc")
    files = ["%s/sysctl.d/%s.conf" % (folder, name) for folder in folders for name in ("50-a", "95-b")]
    found = draw(
        st.dictionaries(st.sampled_from([*files, "/etc/sysctl.conf"]), st.lists(lines, max_size=3), max_size=4)
    )
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


class Machine:
    """The values of a booting machine."""

    def __init__(self):
        self.values = {MAPS: "65530", BYTES: "ratio 20"}

    def write(self, pairs):
        for name, value in pairs:
            self.values[BYTES if name == RATIO else name] = "ratio " + value if name == RATIO else value

    def boot(self, files, set_by_tuned, notes):
        table = OrderedDict()
        for path in visible(files, ("/usr/lib", "/usr/local/lib", "/run", "/etc")):
            for name, value in read(files[path]):
                key = name.lstrip("-")
                if table.get(key) != value:
                    table.pop(key, None)
                    table[key] = value
        self.write(table.items())
        self.write(set_by_tuned[0])
        if set_by_tuned[1]:
            again = OrderedDict()
            for path in [*visible(files, ("/etc", "/run")), "/etc/sysctl.conf"]:
                again.update(pair for pair in read(files.get(path, ())) if not pair[0].startswith("-"))
            self.write(again.items())
        for note, override in notes:
            self.write((key, override.get(key, value)) for key, value in note.items() if override.get(key) != "")


def predict(host, name, stored):
    """(next boot, whether it is left to a tool)"""
    found = others.of_sysctl(host, name, OWN)
    default = {MAPS: "65530", BYTES: "ratio 20"}[name]
    value = at_boot("it", name, stored, found, str.__eq__, default)[0]
    return value or default


@settings(max_examples=150)
@given(
    sysctl_trees(),
    profiles(),
    st.lists(st.tuples(options, st.dictionaries(names, st.sampled_from(["", "7"])))),
    st.booleans(),
)
def test_the_predicted_boot_is_the_simulated_one(files, found, notes, stored):
    with tempfile.TemporaryDirectory() as root:
        host = KernelHost(root)
        host.fill("/usr/lib/systemd/systemd", "")
        render(host, found)
        if stored:
            files = dict(files, **{OWN: ["%s = %s" % (name, OURS) for name in (MAPS, BYTES)]})
        for path, lines in files.items():
            host.fill(path, "\n".join(lines))
        host.fill("/etc/sysconfig/saptune", 'NOTE_APPLY_ORDER="%s"' % " ".join(map(str, range(len(notes)))))
        for number, (note, override) in enumerate(notes):
            lines = ["[version]", "VERSION=1", "[sysctl:os=12-SP1]", MAPS + "=1", "[sysctl]"]
            body = ["%s = %s" % pair for pair in note.items()]
            host.fill("/etc/saptune/extra/%d.conf" % number, "\n".join(lines + body))
            host.fill(
                "/etc/saptune/override/%d" % number,
                "\n".join(["[sysctl]"] + ["%s=%s" % pair for pair in override.items()]),
            )
        for service in ("tuned", "saptune"):
            host.fill("%s%s.service" % (WANTS, service), "")
        machine = Machine()
        machine.boot(files, merge(found), notes)
        assert {name: predict(host, name, OURS if stored else None) for name in (MAPS, BYTES)} == machine.values
