# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-in itself: Ansible sees AIX, and the commands print the documented formats over the state file."""

import json
import os
import subprocess

import pytest

HOST = "app1"


@pytest.fixture
def facts(name):
    """The facts that Ansible itself gathers."""
    command = ["ansible", name, "--one-line", "-m", "ansible.builtin.setup"]
    plain = {**os.environ, "ANSIBLE_FORCE_COLOR": "0", "ANSIBLE_NOCOLOR": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600, env=plain)
    return json.loads(done.stdout.partition("=>")[2])["ansible_facts"]


def test_ansible_sees_aix(facts):
    assert (facts["ansible_system"], facts["ansible_distribution"]) == ("AIX", "AIX")
    assert facts["ansible_distribution_version"] == "7.2"
    assert (facts["ansible_kernel_version"], facts["ansible_kernel"]) == ("7", "2")
    assert facts["ansible_devices"]["sys0"]["attributes"]["maxuproc"] == "128"
    assert "ansible_interfaces" in facts and "en0" in facts["ansible_interfaces"]


def test_python_and_the_shell_agree_on_the_system(host):
    ask = "import os, platform, sys; print(platform.system(), sys.platform, hasattr(os, 'listxattr'), *os.uname())"
    said = host.check_output("/opt/freeware/bin/python3 -c %s", ask)
    assert said == "AIX aix False " + host.check_output("uname -a")
    assert host.check_output("oslevel -s") == "7200-05-03-2148"
    assert host.check_output("ls /proc /sys") == "/proc:\n\n/sys:"


def test_columns_are_as_wide_as_their_longest_cell(host):
    lines = host.check_output("lsattr -El sys0").splitlines()
    assert "fwversion   IBM,FW860.60 (SV860_180)             Firmware version and revision levels" in lines[0]
    assert lines[4].split() == ["os_uuid", "6c4b2a10-55d1-4b1e-9a6f-0d5b1f2c7e88", "N/A", "False"]
    assert lines[5].split() == ["restrictlog", "Log", "restricted", "True"], "the value is empty"
    assert len({line.index(" T") if line.endswith("True") else line.index(" F", 80) for line in lines}) == 1


def test_one_attribute_by_itself(host):
    ask = "lsattr -El {0} -a {1} -F value"
    assert host.check_output(ask.format("sys0", "fwversion")) == "IBM,FW860.60 (SV860_180)"
    assert host.run(ask.format("en0", "alias4")).stdout == "\n"
    assert host.check_output(ask.format("en0", "mtu")) == "1500"


@pytest.mark.parametrize(
    ("command", "code", "text"),
    [
        ("lsattr -El sys0 -a mtu", 255, '0514-528 The "mtu" attribute does not exist'),
        ("lsattr -El nix0", 255, "0514-519"),
        ("lsdev -Cl nix0", 0, ""),
        ("chdev -l nix0 -a a=b", 255, "0514-519"),
        ("chdev -l sys0 -a fwversion=1", 1, "Method error (/usr/lib/methods/chgsys):\n        0514-018"),
    ],
)
def test_refusals(host, command, code, text):
    # by itself, 255 would be an error of ssh
    done = host.run(f"{command}; echo {code} is $?")
    assert done.stdout == f"{code} is {code}\n"
    assert text in done.stderr


def test_odm_and_in_force_are_two_values(host, values, edited):
    with edited():
        assert host.check_output("chdev -P -l en0 -a mtu=9000") == "en0 changed"
        assert (values("en0", "odm")["mtu"], values("en0", "in_force")["mtu"]) == ("9000", "1500")
        assert host.check_output("lsattr -Pl en0 -a mtu -F value") == "1500"
        host.run_expect([0], "rmdev -l en0 && mkdev -l en0")
        assert values("en0", "in_force")["mtu"] == "9000"
    with edited("devices.en0.busy=true"):
        done = host.run("chdev -l en0 -a mtu=9000")
        assert done.rc != 0 and "0514-062" in done.stderr
        assert values("en0", "odm")["mtu"] == "1500"
    assert values("en0", "odm")["mtu"] == "1500"
