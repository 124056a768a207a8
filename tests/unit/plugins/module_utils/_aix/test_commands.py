# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""lsdev, lsattr, chdev, oslevel: what their output means, how they are called, and every form of their errors."""

import errno

import pytest
from aix import BUSY, AixHost, Device, aligned
from ansible_collections.zpower.sap_tuning.plugins.module_utils._aix import devices, startup, system
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError, Result


@pytest.fixture
def host(tmp_path):
    return AixHost(tmp_path)


class Said:
    """A host that gives one answer to everything."""

    def __init__(self, rc=0, out="", err=""):
        self.answer = Result(rc, out, err)
        self.calls = []

    def run(self, argv, timeout=30):
        self.calls.append(argv)
        return self.answer


def test_names_and_last_columns_of_a_listing_are_found():
    rows = [("a", "", "no value", "True"), ("b_2", "two  blanks True", "a  b", "False"), ("c", "1", "", "True+")]
    found = devices.parse_listing(aligned(rows))
    assert found == {row[0]: row[3] != "False" for row in rows}
    # without the last column nothing is said of it
    out = aligned([(name, value, "Device CLEARS its Queue on error") for name, value, *_rest in rows])
    assert devices.parse_listing(out) == dict.fromkeys(row[0] for row in rows)


@pytest.mark.parametrize("out", ["", "smcr01 Available  SMC-R\n"])
def test_a_device_whose_name_only_begins_so_is_another_one(out):
    assert devices.Devices(Said(out=out)).device("smcr0") is None


@pytest.mark.parametrize(
    "out, value, allowed",
    [
        ("1...256 (+1)\n", "256", True),
        ("1...256 (+1)\n", "257", False),
        ("1...256 (+1)\n", "64k", False),
        ("-5...5\n", "-3", True),
        ("0...1 (+1)\n64...128 (+64)\n", "128", True),
        ("yes\nno\n", "no", True),
        ("any\n1...65535 (+1)\n", "70000", False),
        # not understood, or one example: chdev has to say
        ("any\n", "any", True),
        ("0x1...0xff\n", "0x10", None),
        ("", "1", None),
    ],
)
def test_legal_values(out, value, allowed):
    assert devices.allows(devices.parse_legal(out), value) is allowed


@pytest.mark.parametrize(
    "value, further", [("512 enabled=0", "enabled="), ("a\tb=", "b="), ("; rm -rf /", None), ("a=b", None), ("", None)]
)
def test_what_chdev_would_take_for_a_second_pair(value, further):
    assert devices.second_pair(value) == further


@pytest.mark.parametrize("value", ["", "IBM,FW830.00 (SV830_048)", "two  blanks", "True", "16"])
def test_values_that_split_would_get_wrong(host, value):
    host.devices["dev0"] = Device({"a": value})
    host.devices["dev0"].in_force["a"] = "other"
    lsattr = devices.Devices(host)
    assert (lsattr.stored("dev0", "a"), lsattr.in_force("dev0", "a")) == (value, "other")
    assert host.calls == [["lsattr", "-%sl" % which, "dev0", "-a", "a", "-F", "value"] for which in "EP"]
    host.knows_p = False
    assert lsattr.in_force("dev0", "a") is None


def test_an_unknown_attribute_is_named_with_all_that_lsattr_said(host):
    with pytest.raises(devices.UnknownAttributeError) as error:
        devices.Devices(host).stored("smcr0", "con_per_lg")
    assert error.value.attribute == "con_per_lg"
    assert str(error.value).startswith('lsattr fails for con_per_lg of smcr0: lsattr: 0514-528 The "con_per_lg" attr')
    # the exit code or the number of the message is enough
    for said in (Said(255, err="lsattr: no such attribute\n"), Said(1, err='lsattr: 0514-528 The "x" attribute\n')):
        with pytest.raises(devices.UnknownAttributeError):
            devices.Devices(said).stored("smcr0", "x")


@pytest.mark.parametrize(
    "call",
    [
        lambda one: one.devices(),
        lambda one: one.attributes("smcr0"),
        lambda one: one.stored("smcr0", "x"),
        lambda one: one.change("smcr0", {"x": "1"}),
    ],
)
@pytest.mark.parametrize(
    "said, words",
    [
        (Said(1, err="Method error (/x/chgx):\n   0514-018\n\tNot valid:\n  a=b\n"), "chgx): 0514-018 Not valid: a=b"),
        (Said(1, out="two\n", err="ls: 0514-001\n\tone\n"), ": ls: 0514-001 one two"),
        (Said(1, out="lsattr: 0514-546 Invalid parameter - x.\n"), "lsattr: 0514-546 Invalid parameter - x."),
        (Said(1), "exit code 1 without a message"),
    ],
)
def test_every_error_is_shown_whole(call, said, words):
    with pytest.raises(HostError) as error:
        call(devices.Devices(said))
    assert type(error.value) is HostError and str(error.value).endswith(words)


@pytest.mark.parametrize("number", ["0514-062", "0514-029"])
def test_a_busy_device_is_told_from_other_errors(number):
    said = BUSY.replace("0514-062", number)
    with pytest.raises(devices.DeviceBusyError, match="smcr0: Method error .*: %s Cannot perform .* is busy" % number):
        devices.Devices(Said(1, err=said)).change("smcr0", {"enabled": "1"})


def test_a_number_is_spelled_as_the_device_does():
    assert [devices.spelled(one, ["0x100000", "16"]) for one in ("1048576", "0X10")] == ["0x100000", "16"]
    for one in ("16", "0x20", "yes", "017", ""):
        assert devices.spelled(one, ["0x100000", "16", "yes"]) == one


def test_one_chdev_for_all_attributes_and_one_argument_for_each_value(host):
    chdev = devices.Devices(host)
    chdev.change("smcr0", {"max_memory": "256", "enabled": "1"})
    chdev.change("smcr0", {"enabled": "0"}, database_only=True)
    chdev.change("smcr0", {"port_range": "; rm -rf '$(reboot)' -P \"`x`"})
    assert host.calls == [
        ["chdev", "-l", "smcr0", "-a", "enabled=1", "-a", "max_memory=256"],
        ["chdev", "-l", "smcr0", "-P", "-a", "enabled=0"],
        ["chdev", "-l", "smcr0", "-a", "port_range=; rm -rf '$(reboot)' -P \"`x`"],
    ]
    with pytest.raises(HostError, match="'enabled=' for another attribute"):
        chdev.change("smcr0", {"max_memory": "512 enabled=0"})
    assert len(host.calls) == 3


def test_every_command_has_a_time_limit_and_a_timeout_is_an_error(host):
    aix = devices.Devices(host)
    aix.devices()
    aix.device("smcr0")
    for ask in (aix.stored, aix.in_force, aix.legal):
        ask("smcr0", "enabled")
    aix.attributes("smcr0")
    aix.change("smcr0", {"enabled": "1"})
    system.level(host)
    # those of Host.run() itself are for quick programs
    assert len(host.limits) == 8 and all(30 < limit <= 900 for limit in host.limits)
    host.answers["chdev", "-l"] = HostError("chdev did not answer within 900 s", errno.ETIMEDOUT)
    with pytest.raises(HostError, match="within 900 s"):
        aix.change("smcr0", {"enabled": "1"})


@pytest.mark.parametrize(
    "out, level",
    [
        ("7200-02-01-1731\n", ("7200-02-01-1731", 7200, 2)),
        ("\n7100-03  \n", ("7100-03", 7100, 3)),
        ("7.2.0.0\n", None),
        ("", None),
    ],
)
def test_levels(out, level):
    assert system.parse_level(out) == level


FAILED = Result(1, "7200-02\n", "oslevel: failed\n")
LATE = HostError("oslevel did not answer within 180 s", errno.ETIMEDOUT)


@pytest.mark.parametrize(
    "answers, technology",
    [([Result(0, "", ""), Result(0, "7200-05\n", "")], 5), ([FAILED, FAILED], None), ([LATE, LATE], None)],
)
def test_oslevel_that_says_nothing_is_asked_in_another_way(host, answers, technology):
    host.answers["oslevel", "-s"], host.answers["oslevel", "-r"] = answers
    found = system.level(host)
    assert (found and found.technology) == technology
    assert host.calls == [["oslevel", "-s"], ["oslevel", "-r"]]


@pytest.mark.parametrize(
    "text, found",
    [
        ("/usr/sbin/chdev -l smcr0 -a enabled=0 >/dev/null 2>&1", [("smcr0", {"enabled": "0"})]),
        ("chdev -lsmcr0 -aenabled=0 -a max_memory=1", [("smcr0", {"enabled": "0", "max_memory": "1"})]),
        ("chdev -P -l smcr0 -a 'enabled=1 port_range=any'", [("smcr0", {"enabled": "1", "port_range": "any"})]),
        (
            "tune:2:once:chdev -l en0 -a mtu=9000; chdev -l sys0 -a maxuproc=9",
            [("en0", {"mtu": "9000"}), ("sys0", {"maxuproc": "9"})],
        ),
        ("chdev -l smcr0 -a ip_addr_list=", [("smcr0", {"ip_addr_list": ""})]),
        ('su root -c "chdev -l smcr0 -a enabled=0"', [("smcr0", {"enabled": "0"})]),
        ("lsattr -El smcr0 -a enabled", []),
    ],
)
def test_chdev_in_scripts(text, found):
    assert startup.parse_chdev(text) == found


def test_scripts_that_change_the_same_attributes_are_found(host):
    host.fill("/etc/inittab", ":old:2:once:chdev -l smcr0 -a enabled=1\ntune:2:once:chdev -l smcr0 -a enabled=0\n")
    host.fill("/etc/rc.net", "# chdev -l smcr0 -a enabled=0\nchdev -l inet0 -a hostname=x\n")
    host.fill("/etc/rc.d/rc2.d/S99site", "chdev -l smcr0 -a \\\n  max_memory=64\nchdev -l smcr0 -a tx_intr_cnt=1\n")
    host.fill("/etc/rc.d/rc2.d/K99site", "chdev -l smcr0 -a enabled=0\n")
    host.fill("/etc/rc.site", "chdev -l smcr1 -a enabled=0\n")
    host.fill("/etc/rc.d/init.d/folder/script", "chdev -l smcr0 -a enabled=0\n")
    host.fill("/var/spool/cron/crontabs/root", "0 1 * * * chdev -P -l smcr0 -a enabled=\n")
    found = startup.others(host, "smcr0", ["enabled", "max_memory"])
    assert [(one["what"], one["file"], one["line"], one["effect"]) for one in found] == [
        ("boot script", "/etc/inittab", 2, "sets enabled of smcr0 to 0"),
        ("boot script", "/etc/rc.d/rc2.d/S99site", 1, "sets max_memory of smcr0 to 64"),
        ("crontab", "/var/spool/cron/crontabs/root", 1, "sets enabled of smcr0 to nothing"),
    ]
    assert {one["wins"] for one in found} == {"possible"}
