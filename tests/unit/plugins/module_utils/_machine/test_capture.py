# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""tests/capture takes all that the facts come from: what it took, planted again, gives the same facts."""

import gzip
import json
import os
import subprocess
import sys

import captured
import pytest
import synthetic
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import kernel as running_kernel
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.boot_sources import path_of, sysctls
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.facts import facts
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.reading import opened

PROGRAM = os.path.join(os.path.dirname(captured.FOLDER), "..", "..", "capture")
TUNED = "/etc/systemd/system/multi-user.target.wants/tuned.service"


def capture(*arguments):
    done = subprocess.run([sys.executable, PROGRAM] + list(arguments), check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout.decode("ascii"))


@pytest.fixture
def machine(tmp_path):
    root = tmp_path / "machine"
    root.mkdir()
    tree = synthetic.large_lpar(4)
    tree.update(
        {
            TUNED: {"link": "/usr/lib/systemd/system/tuned.service"},
            "/sys/fs/cgroup/system.slice/irqbalance.service": {"folder": True},
            "/usr/sap/C11/D00/work": {"folder": True},
            "/usr/sap/C11/ASCS01/work": {"folder": True},
            "/usr/sap/C11/SYS/profile": {"link": "/sapmnt/C11/profile"},
            "/sapmnt/C11/profile/DEFAULT.PFL": "login/secret = 1\n",
            "/sapmnt/C11/profile/C11_D00_app1": "rdisp/wp_no_dia = 10\n",
            "/sapmnt/C11/profile/C11_ASCS01_ascs": "icm/secret = 1\nStart_Program_01 = local enq.sapC11_ASCS01\n",
            "/usr/sap/sapservices": "systemctl start SAPC11_00 # sapstartsrv pf=/sapmnt/C11/profile/C11_D00_app1\n",
            "/etc/systemd/system/SAPC11_00.service": "[Service]\nEnvironment=SECRET=1\n",
            "/proc/sys/kernel/hostname": "app1\n",
            "/etc/tuned/active_profile": "sap-netweaver\n",
            "/proc/sys/s390/hiperdispatch": "1\n",
            "/sys/devices/system/cpu/hiperdispatch/hd_steal_threshold": "30\n",
            "/boot/config-6.4.0-150600.23.25-default": "CONFIG_SCHED_TOPOLOGY_VERTICAL=y\nCONFIG_SECRET=y\n",
            "/etc/sysctl.d/50-site.conf": "vm.swappiness = 10\n",
            "/usr/lib/sysctl.d/60-s390.conf": "s390.topology = 1\n",
            "/proc/self/environ": "PASSWORD=secret\n",
        }
    )
    captured.grow(root, tree)
    return root


@pytest.mark.gate
def test_what_was_taken_gives_the_same_facts(machine, tmp_path):
    taken = capture("--root", str(machine))
    captured.grow(tmp_path / "again", taken)
    again = opened(str(tmp_path / "again"))
    found = facts(again, "Linux")
    assert found == facts(opened(str(machine)), "Linux") and found["conflicts"]
    told = [(one["profile"], one["enqueue"], one["unit"]) for one in found["sap_instances"]]
    assert told == [
        ("/usr/sap/C11/SYS/profile/C11_ASCS01_ascs", "ENSA2", None),
        ("/sapmnt/C11/profile/C11_D00_app1", None, "SAPC11_00.service"),
    ]
    assert [setting.value for _path, setting in sysctls(again, path_of("s390.topology"))] == ["1"]
    assert running_kernel.kernel_option(again, "CONFIG_SCHED_TOPOLOGY_VERTICAL") == "y"
    assert capture("--root", str(tmp_path / "again")) == taken
    # only what is looked at is taken
    assert "SECRET" not in json.dumps(taken).upper()
    assert "/etc/sysctl.d/50-site.conf" not in taken and "/usr/sap/C11/SYS" not in taken
    assert taken[TUNED] == {"link": "/usr/lib/systemd/system/tuned.service"}
    assert taken["/etc/sysctl.d"] == {"folder": True}


@pytest.mark.parametrize(
    "name",
    [
        name if name == "lpar-linux-6.12-hiperdispatch" else pytest.param(name, marks=pytest.mark.nightly)
        for name in captured.names()
    ],
)
def test_every_fixture_is_a_capture(tmp_path, name):
    captured.plant(name, tmp_path)
    # what could not be read there is planted as a folder
    found = {
        path: {"folder": True} if isinstance(entry, dict) and "error" in entry else entry
        for path, entry in captured.entries(name).items()
    }
    assert capture("--root", str(tmp_path)) == found


def test_bytes_that_are_no_text_come_back_and_a_packed_configuration_becomes_lines(tmp_path):
    proc = tmp_path / "proc"
    proc.mkdir()
    (proc / "version").write_bytes(b"Linux version 6.1.0 \xff\x00\n")
    with gzip.open(str(proc / "config.gz"), "wb") as stream:
        stream.write(b"CONFIG_SCHED_TOPOLOGY=y\nCONFIG_OTHER=y\n")
    taken = capture("--root", str(tmp_path))
    captured.grow(tmp_path / "again", taken)
    assert (tmp_path / "again" / "proc" / "version").read_bytes() == b"Linux version 6.1.0 \xff\x00\n"
    assert taken["/boot/config-6.1.0"] == "CONFIG_SCHED_TOPOLOGY=y\n"


def test_a_folder_without_proc_is_one_sentence(tmp_path):
    done = subprocess.run([sys.executable, PROGRAM, "--root", str(tmp_path)], check=False, stderr=subprocess.PIPE)
    assert done.returncode == 1 and done.stderr.decode() == "capture: no folder proc in %s\n" % tmp_path
