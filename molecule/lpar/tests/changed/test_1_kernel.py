# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""LPARs with CPU 2 offline and CPU 3 deconfigured: the older one vertical, the newer one horizontal."""

import json

import pytest

AT_BOOT = {
    "lpar61": "echo 0 >/sys/devices/system/cpu/dispatching && systemd-tmpfiles --create --prefix=/sys",
    "lpar612": "echo 1 >/sys/devices/system/cpu/dispatching && echo 1 >/proc/sys/s390/hiperdispatch && "
    "echo 30 >/sys/devices/system/cpu/hiperdispatch/hd_steal_threshold && "
    "systemd-tmpfiles --create --prefix=/sys && sysctl --system",
}


@pytest.fixture
def as_wanted(name, kernel):
    """Return a function that tells whether the remaining CPUs have the mode of this LPAR."""

    def look():
        found = kernel()
        shown = {found[path] for path in ("cpu0/polarization", "cpu1/polarization")}
        return (found["dispatching"], shown) == {
            "lpar61": ("1", {"vertical:medium"}),
            "lpar612": ("0", {"horizontal"}),
        }[name]

    return look


def test_the_remaining_cpus_have_the_mode(kernel, as_wanted):
    found = kernel()
    assert (found["online"], found["cpu3/configure"]) == ("0-1", "0")
    assert as_wanted(), found


def test_the_stored_files_set_it_at_boot(host, name, kernel, as_wanted):
    host.check_output(AT_BOOT[name])
    assert as_wanted()
    if name == "lpar612":
        found = kernel()
        values = found["/proc/sys/s390/hiperdispatch"], found["hiperdispatch/hd_steal_threshold"]
        assert values == ("0", "15")


def test_platform_info_agrees_with_lscpu(host, platform):
    each = json.loads(host.check_output("lscpu -J --all --extended=CPU,CONFIGURED,POLARIZATION"))["cpus"]
    shown = [{"-": "unknown", "vert-medium": "vertical_medium"}.get(cpu["polarization"], "horizontal") for cpu in each]
    assert platform["virtualization"] == "lpar"
    assert platform["cpus"]["offline"]["list"] == "2"
    assert [str(cpu["cpu"]) for cpu in each if not cpu["configured"]] == [platform["cpus"]["deconfigured"]["list"]]
    assert {word: count for word, count in platform["polarization"].items() if count} == {
        word: shown.count(word) for word in set(shown)
    }
    assert platform["topology"]["facility"] is True
    assert platform["interfaces"]["ctc0"]["mtu"] == 1500
