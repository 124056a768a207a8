# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later

import captured
import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import cpu_lists
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError


@pytest.mark.parametrize(
    "text, cpus",
    [("", []), ("0", [0]), ("0-3,8", [0, 1, 2, 3, 8]), (" 5 , 1-2\n", [1, 2, 5]), ("0-1,1-2", [0, 1, 2])],
)
def test_cpu_lists(text, cpus):
    assert cpu_lists.parse_list(text) == cpus


LONG = ["9" * 60000, "0-" + "9" * 60000, "0-8191," * 9999 + "0"]


@pytest.mark.parametrize(
    "text", ["a", "1-", "3-1", "1,,2", "0x3", "-1", "1 2", "9000", "\u0663"] + LONG, ids=lambda text: text[:9]
)
def test_what_is_no_cpu_list_is_named(text):
    with pytest.raises(ValueError) as error:
        cpu_lists.parse_list(text)
    assert text.strip()[:40] in str(error.value)


@pytest.mark.parametrize("cpus, text", [([], ""), ([3], "3"), ([0, 1, 2, 3, 8], "0-3,8"), ([7, 5, 5], "5,7")])
def test_format_list(cpus, text):
    assert cpu_lists.format_list(cpus) == text


# widths and spellings as the kernel prints them: bitmap_print_to_pagebuf with %*pb
@pytest.mark.parametrize(
    "mask, width, text",
    [
        (3, 2, "3"),
        (0, 2, "0"),
        (0xFF, 8, "ff"),
        (0xFFFF, 16, "ffff"),
        (0xFFFF, 32, "0000ffff"),
        ((1 << 40) - 1, 40, "ff,ffffffff"),
        ((1 << 64) - 1, 64, "ffffffff,ffffffff"),
        (1 << 32, 64, "00000001,00000000"),
        (1 << 199, 200, "80,00000000,00000000,00000000,00000000,00000000,00000000"),
        (1, 5, "01"),
    ],
)
def test_masks_as_the_kernel_spells_them(mask, width, text):
    assert cpu_lists.format_mask(mask, width) == text
    assert cpu_lists.parse_mask(text) == mask


def test_a_mask_of_any_number_of_cpus_survives_the_round_trip():
    for width in (1, 2, 31, 32, 33, 63, 64, 65, 200, 512, 1025):
        for cpus in ([0], [width - 1], list(range(width)), list(range(0, width, 4))):
            mask = cpu_lists.mask_of(cpus)
            assert cpu_lists.cpus_of(cpu_lists.parse_mask(cpu_lists.format_mask(mask, width))) == cpus


@pytest.mark.parametrize("text", ["", "0x3", "g", "0-1", "000000003", "1,,2", "-1", "f," * 256 + "f"])
def test_what_is_no_mask_is_refused(text):
    with pytest.raises(ValueError):
        cpu_lists.parse_mask(text)


@pytest.mark.parametrize(
    "name, read",
    [
        ("online", cpu_lists.online),
        ("present", cpu_lists.present),
        ("possible", cpu_lists.width),
        ("cpu0/topology/core_siblings_list", None),
    ],
)
def test_a_cpu_list_of_the_kernel_that_is_none_is_named(tmp_path, name, read):
    path = "/sys/devices/system/cpu/" + name
    captured.grow(tmp_path, {path: "0-3 " + "9" * 60000})
    host = Host(str(tmp_path))
    with pytest.raises(HostError) as error:
        cpu_lists.read_list(host, path) if read is None else read(host)
    assert str(error.value).startswith("%s: '0-3 99" % path) and len(str(error.value)) < 250
