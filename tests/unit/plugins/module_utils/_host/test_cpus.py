# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later

import captured
import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host import cpu_lists
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError


@pytest.mark.parametrize(
    "text, cpus", [("", []), ("0", [0]), ("0-3,8", [0, 1, 2, 3, 8]), (" 5 , 1-2\n", [1, 2, 5]), ("0-1,1-2", [0, 1, 2])]
)
def test_cpu_lists(text, cpus):
    assert cpu_lists.parse_list(text) == cpus


def test_a_user_may_write_a_list_or_a_mask():
    texts = ["0-3,8", "10", "0x10", "0XfF", "0xf00000000", "0x1,00000000", "00000000,0000ffff", "ff,ffffffff", "0x0"]
    wanted = ["0-3,8", "10", "4", "0-7", "32-35", "32", "0-15", "0-39", ""]
    assert [cpu_lists.format_list(cpu_lists.parse_cpus(text)) for text in texts] == wanted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("00000033", ["as a list it means CPU 33", "as a mask CPU 0-1,4-5", "0x33"]),
        ("00000001,00000003", ["as a list it means CPU 1,3", "as a mask CPU 0-1,32", "0x100000003"]),
        ("0,08-09", ["as a list it means CPU 0,8-9"]),
        *((text, ["is not a CPU list"]) for text in ("ff", "0x", "0xg", "ff,ff", "0x1,ff")),
    ],
)
def test_what_could_be_a_list_or_a_mask_is_neither(text, words):
    with pytest.raises(ValueError) as error:
        cpu_lists.parse_cpus(text)
    assert all(word in str(error.value) for word in [text, *words])


LONG = ["9" * 60000, "0-" + "9" * 60000, "0-8191," * 9999 + "0"]


@pytest.mark.parametrize(
    "text", ["a", "1-", "3-1", "1,,2", "0x3", "-1", "1 2", "9000", "\u0663"] + LONG, ids=lambda text: text[:9]
)
def test_what_is_not_a_cpu_list_is_named(text):
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
def test_what_is_not_a_mask_is_refused(text):
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
def test_an_invalid_cpu_list_of_the_kernel_is_named(tmp_path, name, read):
    path = "/sys/devices/system/cpu/" + name
    captured.grow(tmp_path, {path: "0-3 " + "9" * 60000})
    host = Host(str(tmp_path))
    with pytest.raises(HostError) as error:
        cpu_lists.read_list(host, path) if read is None else read(host)
    assert str(error.value).startswith("%s: '0-3 99" % path) and len(str(error.value)) < 250
