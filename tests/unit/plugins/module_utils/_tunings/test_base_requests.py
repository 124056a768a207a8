# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What system_base sets only if its items name it: limits of open files, uuidd.socket, the scheduler of SCSI disks."""

import os

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError, Result
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.system_base import SystemBase
from basekernel import BaseHost, path_of
from runs import everything, only, runner

LOGIN = "/etc/security/limits.d/zz-zpower-sap-tuning-system-base.conf"
UNIT = "SAPPRD_00.service"
DROP_IN = "/etc/systemd/system/%s.d/zz-zpower-sap-tuning-system-base.conf" % UNIT
RULES = "/etc/udev/rules.d/91-zpower-sap-tuning-system-base.rules"
SYSCTL, MAPS = "/etc/sysctl.d/91-zpower-sap-tuning-system-base.conf", "vm.max_map_count"
JOURNAL = "/var/lib/zpower_sap_tuning/system_base.json"
GENERATED = "[Service]\nLimitNOFILE=1048576\nTasksMax=infinity"
SDA = "/sys/block/sda/queue/scheduler"
REQUESTED = ["nofile", "uuidd.socket", "io_scheduler"]
RULE = 'SUBSYSTEM=="block", ACTION=="add|change", KERNEL=="sd*", TEST=="queue/scheduler", ATTR{queue/scheduler}="%s"\n'

run = runner(SystemBase)


@pytest.fixture
def host(tmp_path):
    found = BaseHost(tmp_path)
    found.fill("/etc/security/limits.conf", "# limits")
    found.fill("/run/systemd/system/x", "")
    return found


def record(host, item, check=False, **changes):
    result = run(host, check, items=[item], **changes)
    assert not result["failed"], result["msg"]
    return only(result)


def there_and_back(host, item, look=lambda: None):
    """Set an item and take it back; (the record of setting it, what look() found between the two)."""
    before, folders = everything(host), folders_of(host)
    predicted = run(host, True, items=[item])
    assert predicted["changed"] and everything(host) == before
    result = run(host, items=[item])
    assert result["diff"] == predicted["diff"] and only(result)["verdict"] == "changed", result
    again = run(host, items=[item])
    assert not again["changed"] and only(again)["verdict"] == "compliant"
    seen = look()
    restored = run(host, state="restored", items=[])
    assert not restored["failed"] and only(restored)["verdict"] == "changed"
    assert everything(host) == before and folders_of(host) == folders and host.read(JOURNAL) is None
    return only(result), seen


def folders_of(host):
    return sorted(path for path, _folders, _files in os.walk(host.path("/etc")))


def wins(found):
    return [(one["what"], os.path.basename(one["file"]), one["value"], one["wins"]) for one in found["conflicts"]]


def test_open_files_are_set_for_logins_and_units_and_taken_back(host):
    host.instance("PRD", "[Service]\nUser=prdadm")
    host.instance("QAS")
    found, (login, drop_in) = there_and_back(host, "nofile", lambda: (host.read(LOGIN), host.read(DROP_IN)))
    assert login.endswith("begin nofile\n@sapsys - nofile 1048576\n# zpower.sap_tuning end nofile\n")
    assert drop_in.endswith("begin nofile\n[Service]\nLimitNOFILE=1048576\n# zpower.sap_tuning end nofile\n")
    assert found["restart"] == "instance" and found["wanted"]["nofile"] == "at least 1048576, soft and hard"
    assert found["after"]["next_boot"] == {"nofile": "1048576", UNIT: "1048576"}
    assert host.log.count(("systemctl", "daemon-reload")) == 2
    # what someone else changed in our file stays, and the drop-in of an instance that is gone does not
    record(host, "nofile")
    os.remove(host.path("/etc/systemd/system/" + UNIT))
    changed = host.read(LOGIN).replace("1048576", "2097152")
    host.write(LOGIN, changed)
    found = only(run(host, state="restored", items=[]))
    assert "changed by someone else and is left alone" in found["reason"] and host.read(LOGIN) == changed
    assert record(host, "nofile", state="restored", force=True)["verdict"] == "changed"
    assert not host.exists(LOGIN) and not host.exists(os.path.dirname(DROP_IN))


def test_a_generated_unit_limits_and_rules_of_others_are_enough(host):
    host.instance("PRD", GENERATED)
    host.fill("/etc/security/limits.d/99-sap.conf", "@sapsys\thard\tnofile\t1048576\n@sapsys\tsoft\tnofile\t1048576")
    host.disk("sda", "[none] mq-deadline kyber")
    host.fill("/usr/lib/udev/rules.d/60-io-scheduler.rules", 'KERNEL=="sd*", ATTR{queue/scheduler}="none"')
    before = everything(host)
    assert record(host, "io_scheduler")["verdict"] == "compliant"
    found = record(host, "nofile")
    assert found["verdict"] == "compliant" and everything(host) == before
    limit = ("limits", "99-sap.conf", "1048576", "no")
    assert wins(found) == [limit, limit, ("unit", UNIT, "1048576", "no")]


@pytest.mark.parametrize("name", ["saptune-@sapsys-nofile-hard.conf", "sapconf-nofile.conf", "99-sap.conf"])
def test_files_of_other_tools_are_read_before_ours(host, name):
    host.fill("/etc/security/limits.d/" + name, "@sapsys hard nofile 32800")
    found, _look = there_and_back(host, "nofile")
    assert wins(found) == [("limits", name, "32800", "no")]
    assert found["after"]["next_boot"] == {"nofile": "1048576"}


def test_of_two_files_of_other_tools_the_later_one_counts(host):
    # a wildcard never wins over the group, and words for no limit count in any case
    host.fill("/etc/security/limits.d/zzz.conf", "* - nofile 1024")
    found = record(host, "nofile", True)
    assert found["verdict"] == "drifted" and wins(found) == [("limits", "zzz.conf", "1024", "no")]
    host.fill("/etc/security/limits.d/99-sap.conf", "@sapsys - nofile Unlimited")
    assert record(host, "nofile", True)["verdict"] == "compliant"
    host.fill("/etc/security/limits.d/sapconf-nofile.conf", "@sapsys - nofile 1048576")
    host.fill("/etc/security/limits.d/99-sap.conf", "@sapsys - nofile 65536")
    assert record(host, "nofile", True)["verdict"] == "compliant"
    # saptune says that its own file is right, and another one wins
    host.fill("/etc/security/limits.d/saptune-@sapsys-nofile-soft.conf", "@sapsys soft nofile 65536")
    found = record(host, "nofile", state="observe")
    assert found["verdict"] == "observed" and not host.exists(LOGIN)
    assert "the soft limit of <sid>adm is 65536, SAP asks for at least 1048576, soft and hard (SAP" in found["reason"]


@pytest.mark.parametrize(
    "name, line, value",
    [("zzz-site.conf", "@sapsys soft nofile 4096", "4096"), ("10-site.conf", "prdadm soft nofile 8192", "8192")],
)
def test_what_wins_over_our_file_is_drift(host, name, line, value):
    host.instance("PRD")
    host.fill("/etc/security/limits.d/" + name, line)
    found = record(host, "nofile")
    assert found["verdict"] == "drifted" and wins(found) == [("limits", name, value, "yes")]
    sentence = "/etc/security/limits.d/%s line 1 sets the soft limit of prdadm to %s after the stored value"
    assert sentence % (name, value) in found["reason"]
    assert found["after"]["next_boot"] == {"nofile": value}


def test_a_unit_without_a_limit_has_the_default_of_systemd(host):
    host.instance("PRD", "[Service]\nUser=prdadm")
    host.fill("/etc/systemd/system.conf", "[Manager]\nDefaultLimitNOFILE=1048576\n#DefaultLimitNOFILE=5")
    found = record(host, "nofile")
    assert host.read(DROP_IN) is None and found["after"]["next_boot"] == {"nofile": "1048576", UNIT: "1048576"}
    assert wins(found)[-1] == ("unit", "system.conf", "1048576", "no")
    host.fill("/etc/systemd/system.conf.d/a.conf", "[Manager]\nDefaultLimitNOFILE=1024:524288")
    found = record(host, "nofile", check=True)
    assert found["verdict"] == "drifted" and "%s: absent" % UNIT in found["reason"]


@pytest.mark.parametrize(
    "name, limit, verdict, at_boot",
    [
        ("10.conf", "4096:1048576", "changed", "1048576"),
        ("10.conf", "", "changed", "1048576"),
        ("10.conf", "infinity", "compliant", "infinity"),
        ("zzz.conf", "4096", "drifted", "4096"),
    ],
)
def test_the_last_drop_in_of_a_unit_counts(host, name, limit, verdict, at_boot):
    host.instance("PRD", GENERATED)
    host.fill("/etc/security/limits.d/99-sap.conf", "@sapsys - nofile unlimited")
    host.fill("/etc/systemd/system/%s.d/%s" % (UNIT, name), "[Service]\nLimitNOFILE=" + limit)
    found = record(host, "nofile")
    assert found["verdict"] == verdict and host.exists(DROP_IN) == (verdict != "compliant")
    if verdict != "compliant":
        assert found["after"]["next_boot"][UNIT] == at_boot


def test_a_refused_reload_leaves_no_drop_in(host):
    host.instance("PRD", "[Service]")
    host.refuses = "Failed to reload daemon: Transport endpoint is not connected"
    result = run(host, items=["nofile"])
    assert result["failed"] and "Transport endpoint" in only(result)["reason"]
    assert not host.exists(DROP_IN) and not host.exists(LOGIN)
    # nor is a limit written above that of the kernel
    host.fill("/proc/sys/fs/nr_open", "524288")
    found = record(host, "nofile")
    assert (found["verdict"], host.exists(LOGIN)) == ("unsupported", False)
    assert found["reason"].startswith("fs.nr_open is 524288: pam_limits would refuse logins")


@pytest.mark.parametrize(
    "states, commands, back",
    [
        (["disabled", "inactive"], ["enable", "start"], ["disable", "stop"]),
        (["disabled", "active"], ["enable"], ["disable"]),
        (["enabled", "inactive"], ["start"], ["stop"]),
    ],
)
def test_the_socket_is_enabled_and_started_and_its_state_comes_back(host, states, commands, back):
    host.socket = list(states)
    found = record(host, "uuidd.socket", state="observe")
    assert found["verdict"] == "observed" and host.log == []
    assert ", SAP asks for " in found["reason"] and "(SAP Note 257" in found["reason"]
    found, _look = there_and_back(host, "uuidd.socket")
    assert host.log == [("systemctl", one, "uuidd.socket") for one in commands + back] and host.socket == states
    assert found["after"]["running"] == {"uuidd.socket": "active"}
    assert found["after"]["stored"] == found["after"]["next_boot"] == {"uuidd.socket": "enabled"}


@pytest.fixture
def stopped(host):
    host.socket = ["disabled", "inactive"]
    return host


def test_a_socket_that_someone_else_has_stopped_or_masked_is_left_alone(stopped):
    record(stopped, "uuidd.socket")
    stopped.socket = ["masked", "inactive"]
    found = only(run(stopped, state="restored", items=[]))
    assert found["verdict"] == "drifted" and stopped.read(JOURNAL) is not None
    assert "is left alone: it is masked, this collection set enabled, before that it was disabled" in found["reason"]
    stopped.socket = ["enabled", "inactive"]
    assert run(stopped, state="restored", items=[])["changed"] and stopped.socket == ["disabled", "inactive"]
    record(stopped, "uuidd.socket")
    stopped.socket = ["disabled", "inactive"]
    assert not run(stopped, state="restored", items=[])["changed"]
    assert stopped.socket == ["disabled", "inactive"] and stopped.read(JOURNAL) is None
    record(stopped, "uuidd.socket")
    stopped.socket = None
    assert not run(stopped, state="restored", items=[])["failed"] and stopped.read(JOURNAL) is None


@pytest.mark.parametrize(
    "states, word",
    [(None, "not-found"), (["masked", "inactive"], "masked"), (["static", "active"], "static"), (["", "x"], "loaded")],
)
def test_a_socket_whose_state_could_not_come_back_is_refused(host, states, word):
    host.socket = states
    found = record(host, "uuidd.socket")
    assert (found["verdict"], host.log) == ("unsupported", [])
    assert found["reason"] == "uuidd.socket is %s: only enabled and disabled can be taken back" % word


@pytest.mark.parametrize("printed", ["", "Running in chroot, ignoring command 'show'\n"])
def test_an_answer_of_systemctl_without_the_socket_forgets_nothing(stopped, monkeypatch, printed):
    record(stopped, "uuidd.socket")
    with monkeypatch.context() as patch:
        patch.setattr(stopped, "_systemctl", lambda *_words: Result(0, printed, ""))
        sentence = "systemctl does not tell the state of uuidd.socket"
        assert record(stopped, "uuidd.socket", True)["reason"] == sentence
        result = run(stopped, state="restored", items=[])
        assert result["failed"] and sentence in result["msg"]
    assert run(stopped, state="restored", items=[])["changed"] and stopped.socket == ["disabled", "inactive"]


def test_a_refused_start_disables_the_socket_again(stopped, monkeypatch):
    work = stopped._systemctl

    def refuse(command, *arguments):
        stopped.refuses = "Job failed" if command == "start" else None
        return work(command, *arguments)

    def missing(*_words, **_more):
        raise HostError("cannot run systemctl: No such file or directory")

    with monkeypatch.context() as patch:
        patch.setattr(stopped, "run", missing)
        found = record(stopped, "uuidd.socket")
        assert found["verdict"] == "unsupported" and "cannot run systemctl" in found["reason"]
    monkeypatch.setattr(stopped, "_systemctl", refuse)
    result = run(stopped, items=["uuidd.socket"])
    assert result["failed"] and "systemctl start uuidd.socket: Job failed" in only(result)["reason"]
    assert stopped.socket == ["disabled", "inactive"]


def test_who_else_starts_or_stops_the_socket_is_named(host):
    host.socket = ["enabled", "active"]
    unit = "[Unit]\nRequires=uuidd.socket\n[Service]\nExecStart=/bin/true"
    host.fill("/usr/lib/systemd/system/sapconf.service", unit)
    host.enable("sapconf")
    found = record(host, "uuidd.socket")
    assert found["verdict"] == "compliant" and wins(found) == [("unit", "sapconf.service", "active", "yes")]
    host.fill("/etc/systemd/system/site.service", "[Service]\nExecStart=/usr/bin/systemctl stop uuidd.socket")
    host.enable("site")
    found = record(host, "uuidd.socket")
    assert found["verdict"] == "drifted" and wins(found)[-1] == ("unit", "site.service", "inactive", "yes")


def test_the_scheduler_of_scsi_disks_is_set_kept_and_taken_back(host):
    host.disk("sda", "none [mq-deadline] kyber")
    host.disk("sdb", "[none] mq-deadline kyber")
    host.disk("sr0", "none [mq-deadline]", kind="5")
    host.fill("/sys/block/dasda/queue/scheduler", "none [mq-deadline] kyber")
    found, rule = there_and_back(host, "io_scheduler", lambda: host.read(RULES))
    assert RULE % "none" in rule
    assert host.log == [(SDA, word) for word in ("none", "mq-deadline")]
    assert found["after"]["running"] == {"sda": "none", "sdb": "none"}
    assert found["after"]["stored"] == found["after"]["next_boot"] == {"io_scheduler": "none"}


@pytest.mark.parametrize(
    "text, first, new", [("none [bfq_2]", "bfq_2", "none"), ("none [MQ]", "MQ", "none"), ("noop [cfq]", "cfq", "noop")]
)
def test_a_scheduler_with_an_odd_name_comes_back_and_old_kernels_have_noop(host, text, first, new):
    host.disk("sda", text)
    found, rule = there_and_back(host, "io_scheduler", lambda: host.read(RULES))
    assert found["before"]["running"] == {"sda": first}
    assert found["after"]["running"] == {"sda": new} and RULE % new in rule


@pytest.fixture
def disk(host):
    host.disk("sda", "none [mq-deadline] kyber")
    return host


def test_a_disk_that_came_later_gets_the_first_scheduler_of_the_others(disk):
    record(disk, "io_scheduler")
    disk.disk("sdb", "[none] mq-deadline kyber")
    record(disk, "io_scheduler", state="restored")
    assert disk.value("/sys/block/sdb/queue/scheduler") == "none [mq-deadline] kyber"
    record(disk, "io_scheduler")
    disk.fill(SDA, "none mq-deadline [kyber]")
    found = only(run(disk, state="restored", items=[]))
    assert "io_scheduler sda was changed by someone else and is left alone" in found["reason"]
    assert disk.value(SDA).endswith("[kyber]") and not disk.exists(RULES)
    record(disk, "io_scheduler", state="restored", force=True)
    record(disk, "io_scheduler")
    os.remove(disk.path("/sys/block/sdb/queue/scheduler"))
    assert record(disk, "io_scheduler", state="restored")["verdict"] == "changed" and disk.read(JOURNAL) is None


@pytest.mark.parametrize(
    "name, rule, expected",
    [
        ("60-io-scheduler.rules", 'SUBSYSTEM=="block", ATTR{queue/scheduler}="bfq"', "no"),
        ("59-dasd.rules", 'SUBSYSTEM=="block", KERNEL=="dasd*", ATTR{queue/scheduler}="none"', None),
        ("99-site.rules", 'SUBSYSTEM=="block", KERNEL=="sd[a-z]", ATTR{queue/scheduler}="bfq"', "yes"),
        ("99-site.rules", 'KERNEL=="sd*", ENV{ID_VENDOR}=="IBM", ATTR{queue/scheduler}="bfq"', "possible"),
        ("99-site.rules", 'KERNEL=="vd*|xvd*", ATTR{queue/scheduler}="bfq"', None),
        ("99-site.rules", 'KERNEL=="sd*", ATTR{queue/scheduler}=="bfq", GOTO="end"', None),
    ],
)
def test_rules_of_others_count_by_the_order_of_their_files(disk, name, rule, expected):
    disk.fill("/etc/udev/rules.d/" + name, rule)
    found = record(disk, "io_scheduler")
    assert wins(found) == ([("udev rule", name, rule.split('"')[-2], expected)] if expected else [])
    assert found["verdict"] == ("drifted" if expected == "yes" else "changed")


@pytest.mark.parametrize("tool, value", [("sapconf", "noop none"), ("tuned", "kyber")])
def test_a_tool_in_charge_keeps_the_scheduler(disk, tool, value):
    if tool == "sapconf":
        disk.sapconf('IO_SCHEDULER="%s"' % value)
    else:
        disk.tuned("site", "[disk]\nelevator=" + value)
    found = record(disk, "io_scheduler")
    assert found["verdict"] == "drifted" and disk.log == [] and not disk.exists(RULES)
    assert [one for one in found["remarks"] if one.startswith("io_scheduler is left to %s (" % tool) and value in one]
    assert wins(found)[-1][0] == tool and found["conflicts"][-1]["wins"] == "yes"
    assert "sda is mq-deadline, SAP asks for none or noop" in found["reason"]


def test_a_disk_that_refuses_keeps_everything(host):
    host.fill("/sys/block/dasda/queue/scheduler", "none [mq-deadline] kyber")
    found = record(host, "io_scheduler")
    assert (found["verdict"], found["reason"]) == ("not_applicable", "there is no SCSI disk (sd)")
    host.disk("sda", "[mq-deadline] kyber")
    result = run(host, items=["io_scheduler"])
    assert result["failed"] and "the kernel does not take this value" in only(result)["reason"]
    assert not host.exists(RULES) and host.value(SDA) == "[mq-deadline] kyber"


@pytest.mark.parametrize(
    "release, verdicts",
    [
        ("RHEL 9", ["drifted", "drifted", "not_applicable"]),
        ("Debian", ["not_applicable"] * 3),
        ("SLES 15", ["drifted"] * 3),
        ("SLES 16", ["not_applicable", "drifted", "drifted"]),
    ],
)
def test_a_release_without_a_public_value_is_left_alone(tmp_path, release, verdicts):
    host = BaseHost(tmp_path, release)
    host.socket = ["disabled", "inactive"]
    host.disk("sda", "none [mq-deadline]")
    host.instance("PRD", "[Service]")
    before = everything(host)
    found = {one["subject"]: one for one in run(host, True, items=REQUESTED)["tuning"]}
    assert [found[name]["verdict"] for name in REQUESTED] == verdicts
    refused = {one["reason"] for one in found.values() if one["verdict"] == "not_applicable"}
    assert all(reason.startswith("no public source names a value for") for reason in refused)
    # all that has one is set and taken back together
    run(host, items=REQUESTED)
    back = {one["verdict"] for one in run(host, state="restored", items=[])["tuning"]}
    assert back == {"changed" if "drifted" in verdicts else "compliant"}
    assert everything(host) == before and host.socket == ["disabled", "inactive"]


@pytest.mark.parametrize(
    "key, text",
    [
        (path_of(MAPS), "1; reboot"),
        (path_of(MAPS), None),
        (path_of("vm.swappiness"), "10"),
        (SYSCTL + " " + MAPS, "vm.max_map_count = 1\nkernel.core_pattern = x"),
        ("/etc/fstab /dev/shm", "tmpfs /dev/shm tmpfs a 0 0\n/dev/sda1 / ext4 a 0 0"),
        ("/dev/shm", "1k"),
        (LOGIN + " nofile", "@sapsys - nofile 1048576\nroot - nofile 1"),
        (DROP_IN, "[Service]\nExecStart=/bin/sh"),
        (DROP_IN.replace(UNIT, "sshd.service"), "[Service]\nLimitNOFILE=1048576"),
        (RULES + " io_scheduler", 'RUN+="/bin/sh"'),
        ("/sys/block/sda/../x/queue/scheduler", "none"),
        ("/sys/block/sda/queue/scheduler", "none\nx"),
        ("uuidd.socket is-enabled", "masked"),
        ("sshd.socket is-active", "inactive"),
    ],
)
def test_a_journal_with_other_values_is_refused(host, key, text):
    assert not SystemBase(host, dict(state="observe", items=[], force=False)).legible(key, text)
