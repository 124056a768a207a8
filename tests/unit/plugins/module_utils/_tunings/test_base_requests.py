# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What system_base sets only if its items name it: limits of open files, uuidd.socket, the scheduler of SCSI disks."""

import os

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError, Result
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings import _leftovers
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.system_base import SystemBase
from basekernel import BaseHost
from runs import everything, only, runner

LOGIN = "/etc/security/limits.d/zz-zpower-sap-tuning-system-base.conf"
UNIT = "SAPPRD_00.service"
DROP_IN = "/etc/systemd/system/%s.d/zz-zpower-sap-tuning-system-base.conf" % UNIT
RULES = "/etc/udev/rules.d/91-zpower-sap-tuning-system-base.rules"
JOURNAL = "/var/lib/zpower_sap_tuning/system_base.json"
GENERATED = "[Service]\nLimitNOFILE=1048576\nTasksMax=infinity"
SOURCE = "(SAP Note 1771258 v8, quoted by saptune 3.2 (2026-03))"
ASKED = "SAP asks for at least 1048576, soft and hard %s" % SOURCE
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


def there_and_back(host, item):
    """Set an item and take it back; between the two, yields the result of setting it."""
    before, folders = everything(host), folders_of(host)
    predicted = run(host, True, items=[item])
    assert predicted["changed"] and everything(host) == before
    result = run(host, items=[item])
    assert result["diff"] == predicted["diff"] and only(result)["verdict"] == "changed", result
    again = run(host, items=[item])
    assert not again["changed"] and only(again)["verdict"] == "compliant"
    yield only(result)
    restored = run(host, state="restored", items=[])
    assert not restored["failed"] and only(restored)["verdict"] == "changed"
    assert everything(host) == before and folders_of(host) == folders and host.read(JOURNAL) is None


def folders_of(host):
    return sorted(path for path, _folders, _files in os.walk(host.path("/etc")))


def wins(found):
    return [(one["what"], os.path.basename(one["file"]), one["value"], one["wins"]) for one in found["conflicts"]]


# limits of open files


def test_open_files_are_set_for_logins_and_units_and_taken_back(host):
    host.instance("PRD", "[Service]\nUser=prdadm")
    host.instance("QAS")
    (found,) = there_and_back_once(host, "nofile", lambda: (host.read(LOGIN), host.read(DROP_IN)))
    result, (login, drop_in) = found
    assert login.endswith("begin nofile\n@sapsys - nofile 1048576\n# zpower.sap_tuning end nofile\n")
    assert drop_in.endswith("begin nofile\n[Service]\nLimitNOFILE=1048576\n# zpower.sap_tuning end nofile\n")
    assert result["restart"] == "instance" and result["wanted"]["nofile"] == "at least 1048576, soft and hard"
    assert result["after"]["next_boot"] == {"nofile": "1048576", UNIT: "1048576"}
    reloads = [one for one in host.log if one == ("systemctl", "daemon-reload")]
    assert len(reloads) == 2


def there_and_back_once(host, item, look=lambda: None):
    return [(result, look()) for result in there_and_back(host, item)]


def test_a_generated_unit_and_limits_of_others_are_enough(host):
    host.instance("PRD", GENERATED)
    host.fill("/etc/security/limits.d/99-sap.conf", "@sapsys\thard\tnofile\t1048576\n@sapsys\tsoft\tnofile\t1048576")
    before = everything(host)
    found = record(host, "nofile")
    assert found["verdict"] == "compliant" and everything(host) == before
    assert wins(found) == [
        ("limits", "99-sap.conf", "1048576", "no"),
        ("limits", "99-sap.conf", "1048576", "no"),
        ("unit", UNIT, "1048576", "no"),
    ]


@pytest.mark.parametrize(
    "name",
    ["saptune-@sapsys-nofile-hard.conf", "sapconf-nofile.conf", "99-sap.conf"],
)
def test_files_of_other_tools_are_read_before_ours(host, name):
    host.fill("/etc/security/limits.d/" + name, "@sapsys hard nofile 32800")
    ((found, _look),) = there_and_back_once(host, "nofile")
    assert wins(found) == [("limits", name, "32800", "no")]
    assert found["verdict"] == "changed" and found["after"]["next_boot"] == {"nofile": "1048576"}


def test_of_two_files_of_other_tools_the_later_one_counts(host):
    host.fill("/etc/security/limits.d/sapconf-nofile.conf", "@sapsys - nofile 1048576")
    host.fill("/etc/security/limits.d/99-sap.conf", "@sapsys - nofile 65536")
    assert record(host, "nofile", True)["verdict"] == "compliant"
    # saptune says that its own file is right, and another one wins
    host.fill("/etc/security/limits.d/saptune-@sapsys-nofile-soft.conf", "@sapsys soft nofile 65536")
    found = record(host, "nofile", state="observe")
    assert found["verdict"] == "observed" and not host.exists(LOGIN)
    assert found["reason"] == "only observed: the soft limit of <sid>adm is 65536, %s" % ASKED


@pytest.mark.parametrize(
    "name, line, value",
    [
        ("zzz-site.conf", "@sapsys soft nofile 4096", "4096"),
        ("10-site.conf", "prdadm soft nofile 8192", "8192"),
        ("zzz-site.conf", "@sapsys\tSoft\tNOFILE\t4096 files\r", "4096"),
    ],
)
def test_what_wins_over_our_file_is_drift(host, name, line, value):
    host.instance("PRD")
    host.fill("/etc/security/limits.d/" + name, line)
    found = record(host, "nofile")
    assert found["verdict"] == "drifted" and wins(found) == [("limits", name, value, "yes")]
    sentence = "/etc/security/limits.d/%s line 1 sets the soft limit of prdadm to %s after the stored value"
    assert sentence % (name, value) in found["reason"]
    assert found["after"]["next_boot"] == {"nofile": value}


def test_words_for_no_limit_count_in_any_case(host):
    host.fill("/etc/security/limits.d/99-sap.conf", "@sapsys - nofile Unlimited")
    assert record(host, "nofile", True)["verdict"] == "compliant"


def test_a_wildcard_never_wins_over_the_group(host):
    host.fill("/etc/security/limits.d/zzz.conf", "* - nofile 1024")
    found = record(host, "nofile")
    assert found["verdict"] == "changed" and wins(found) == [("limits", "zzz.conf", "1024", "no")]


@pytest.mark.parametrize(
    "files, verdict, at_boot",
    [
        ({UNIT + ".d/10.conf": "[Service]\nLimitNOFILE=4096:1048576"}, "changed", "1048576"),
        ({UNIT + ".d/10.conf": "[Service]\nLimitNOFILE="}, "changed", "1048576"),
        ({UNIT + ".d/10.conf": "[Service]\nLimitNOFILE=infinity"}, "compliant", "infinity"),
        ({UNIT + ".d/zzz.conf": "[Service]\nLimitNOFILE=4096"}, "drifted", "4096"),
    ],
)
def test_the_last_drop_in_of_a_unit_counts(host, files, verdict, at_boot):
    host.instance("PRD", GENERATED)
    host.fill("/etc/security/limits.d/99-sap.conf", "@sapsys - nofile unlimited")
    for name, text in files.items():
        host.fill("/etc/systemd/system/" + name, text)
    found = record(host, "nofile")
    assert found["verdict"] == verdict and host.exists(DROP_IN) == (verdict != "compliant")
    if verdict != "compliant":
        assert found["after"]["next_boot"][UNIT] == at_boot


def test_somebody_elses_change_of_our_file_is_left_alone_on_the_way_back(host):
    record(host, "nofile")
    changed = host.read(LOGIN).replace("1048576", "2097152")
    host.fill(LOGIN, changed.rstrip("\n"))
    found = only(run(host, state="restored", items=[]))
    assert "changed by someone else and is left alone" in found["reason"] and host.read(LOGIN) == changed
    assert record(host, "nofile", state="restored", force=True)["verdict"] == "changed"
    assert not host.exists(LOGIN)


def test_the_drop_in_of_an_instance_that_is_gone_is_taken_back(host):
    host.instance("PRD", "[Service]")
    record(host, "nofile")
    os.remove(host.path("/etc/systemd/system/" + UNIT))
    assert record(host, "nofile", state="restored")["verdict"] == "changed"
    assert not host.exists(os.path.dirname(DROP_IN))


def test_files_without_a_journal_are_found_and_removed(host):
    host.instance("PRD", "[Service]")
    record(host, "nofile")
    os.remove(host.path(JOURNAL))
    left = next(one for one in _leftovers.records(host, "Linux") if one["subject"] == "files")
    assert left["reason"] == (
        "%s, %s: ansible-playbook zpower.sap_tuning.rollback --limit HOST --tags system_base removes it, although no "
        "journal knows the values before" % (LOGIN, DROP_IN)
    )
    assert "its journal does not know it" in record(host, "nofile", True)["reason"]
    found = record(host, "nofile", state="restored")
    assert found["verdict"] == "changed" and not host.exists(LOGIN) and not host.exists(DROP_IN)


def test_a_refused_reload_leaves_no_drop_in(host):
    host.instance("PRD", "[Service]")
    host.refuses = "Failed to reload daemon: Transport endpoint is not connected"
    result = run(host, items=["nofile"])
    assert result["failed"] and "Transport endpoint" in only(result)["reason"]
    assert not host.exists(DROP_IN) and not host.exists(LOGIN)


def test_a_limit_above_that_of_the_kernel_is_not_written(host):
    host.fill("/proc/sys/fs/nr_open", "524288")
    found = record(host, "nofile")
    assert (found["verdict"], host.exists(LOGIN)) == ("unsupported", False)
    assert found["reason"] == "fs.nr_open is 524288: pam_limits would refuse logins with a higher limit"


# uuidd.socket


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
    ((found, _look),) = there_and_back_once(host, "uuidd.socket")
    assert host.log == [("systemctl", one, "uuidd.socket") for one in commands + back] and host.socket == states
    assert found["after"]["running"] == {"uuidd.socket": "active"}
    assert found["after"]["stored"] == found["after"]["next_boot"] == {"uuidd.socket": "enabled"}


def test_the_socket_is_only_observed_by_default(host):
    host.socket = ["disabled", "inactive"]
    found = record(host, "uuidd.socket", state="observe")
    assert found["verdict"] == "observed" and host.log == []
    assert found["reason"] == (
        "only observed: uuidd.socket is disabled; uuidd.socket is inactive, SAP asks for active (SAP Note 2578899 v55, "
        "quoted by saptune 3.2 (2026-03))"
    )


def test_a_socket_that_someone_else_has_stopped_is_left_alone(host):
    host.socket = ["disabled", "inactive"]
    record(host, "uuidd.socket")
    host.socket = ["disabled", "inactive"]
    assert not run(host, state="restored", items=[])["changed"]
    assert host.socket == ["disabled", "inactive"] and host.read(JOURNAL) is None


@pytest.mark.parametrize(
    "states, reason",
    [
        (None, "uuidd.socket is not-found: only enabled and disabled can be taken back"),
        (["masked", "inactive"], "uuidd.socket is masked: only enabled and disabled can be taken back"),
        (["static", "active"], "uuidd.socket is static: only enabled and disabled can be taken back"),
        (["", "active"], "uuidd.socket is loaded: only enabled and disabled can be taken back"),
    ],
)
def test_a_socket_whose_state_could_not_come_back_is_refused(host, states, reason):
    host.socket = states
    found = record(host, "uuidd.socket")
    assert (found["verdict"], found["reason"], host.log) == ("unsupported", reason, [])


def test_a_socket_that_someone_else_has_masked_is_left_alone_and_named(host):
    host.socket = ["disabled", "inactive"]
    record(host, "uuidd.socket")
    host.socket = ["masked", "inactive"]
    found = only(run(host, state="restored", items=[]))
    assert found["verdict"] == "drifted" and host.read(JOURNAL) is not None
    assert found["reason"] == (
        "uuidd.socket was changed by someone else and is left alone: it is masked, this collection set enabled, before "
        "that it was disabled (force: true takes it back all the same)"
    )
    host.socket = ["enabled", "inactive"]
    assert run(host, state="restored", items=[])["changed"] and host.socket == ["disabled", "inactive"]


def test_a_socket_that_is_gone_is_forgotten(host):
    host.socket = ["disabled", "inactive"]
    record(host, "uuidd.socket")
    host.socket = None
    assert not run(host, state="restored", items=[])["failed"] and host.read(JOURNAL) is None


@pytest.mark.parametrize("printed", ["", "Running in chroot, ignoring command 'show'\n"])
def test_an_answer_of_systemctl_without_the_socket_forgets_nothing(host, monkeypatch, printed):
    host.socket = ["disabled", "inactive"]
    record(host, "uuidd.socket")
    with monkeypatch.context() as patch:
        patch.setattr(host, "_systemctl", lambda *_words: Result(0, printed, ""))
        sentence = "systemctl does not tell the state of uuidd.socket"
        assert record(host, "uuidd.socket", True)["reason"] == sentence
        result = run(host, state="restored", items=[])
        assert result["failed"] and sentence in result["msg"]
    assert run(host, state="restored", items=[])["changed"] and host.socket == ["disabled", "inactive"]


def test_without_systemd_there_is_no_socket(host, monkeypatch):
    def refuse(*_words, **_more):
        raise HostError("cannot run systemctl: No such file or directory")

    monkeypatch.setattr(host, "run", refuse)
    found = record(host, "uuidd.socket")
    assert found["verdict"] == "unsupported" and "cannot run systemctl" in found["reason"]


def test_a_refused_start_disables_the_socket_again(host, monkeypatch):
    host.socket = ["disabled", "inactive"]
    work = host._systemctl

    def refuse(command, *arguments):
        host.refuses = "Job failed" if command == "start" else None
        return work(command, *arguments)

    monkeypatch.setattr(host, "_systemctl", refuse)
    result = run(host, items=["uuidd.socket"])
    assert result["failed"] and "systemctl start uuidd.socket: Job failed" in only(result)["reason"]
    assert host.socket == ["disabled", "inactive"]


def test_who_else_starts_or_stops_the_socket_is_named(host):
    host.socket = ["enabled", "active"]
    host.fill(
        "/usr/lib/systemd/system/sapconf.service", "[Unit]\nRequires=uuidd.socket\n[Service]\nExecStart=/bin/true"
    )
    host.enable("sapconf")
    found = record(host, "uuidd.socket")
    assert found["verdict"] == "compliant" and wins(found) == [("unit", "sapconf.service", "active", "yes")]
    host.fill("/etc/systemd/system/site.service", "[Service]\nExecStart=/usr/bin/systemctl stop uuidd.socket")
    host.enable("site")
    found = record(host, "uuidd.socket")
    assert found["verdict"] == "drifted" and wins(found)[-1] == ("unit", "site.service", "inactive", "yes")


# the scheduler


def test_the_scheduler_of_scsi_disks_is_set_kept_and_taken_back(host):
    host.disk("sda", "none [mq-deadline] kyber")
    host.disk("sdb", "[none] mq-deadline kyber")
    host.disk("sr0", "none [mq-deadline]", kind="5")
    host.fill("/sys/block/dasda/queue/scheduler", "none [mq-deadline] kyber")
    ((found, rule),) = there_and_back_once(host, "io_scheduler", lambda: host.read(RULES))
    assert RULE % "none" in rule
    assert host.log == [("/sys/block/sda/queue/scheduler", word) for word in ("none", "mq-deadline")]
    assert found["after"]["running"] == {"sda": "none", "sdb": "none"}
    assert found["after"]["stored"] == found["after"]["next_boot"] == {"io_scheduler": "none"}


@pytest.mark.parametrize("text, first", [("none [bfq_2]", "bfq_2"), ("none [MQ]", "MQ")])
def test_a_scheduler_with_an_odd_name_comes_back(host, text, first):
    host.disk("sda", text)
    assert only(run(host, True, items=["io_scheduler"]))["before"]["running"] == {"sda": first}
    there_and_back_once(host, "io_scheduler")


def test_old_kernels_have_noop(host):
    host.disk("sda", "noop deadline [cfq]")
    record(host, "io_scheduler")
    assert host.value("/sys/block/sda/queue/scheduler") == "[noop] deadline cfq" and RULE % "noop" in host.read(RULES)


def test_a_disk_that_came_later_gets_the_first_scheduler_of_the_others(host):
    host.disk("sda", "none [mq-deadline] kyber")
    record(host, "io_scheduler")
    host.disk("sdb", "[none] mq-deadline kyber")
    record(host, "io_scheduler", state="restored")
    assert host.value("/sys/block/sdb/queue/scheduler") == "none [mq-deadline] kyber"


def test_a_disk_that_is_gone_is_forgotten(host):
    host.disk("sda", "none [mq-deadline] kyber")
    host.disk("sdb", "none [mq-deadline] kyber")
    record(host, "io_scheduler")
    os.remove(host.path("/sys/block/sdb/queue/scheduler"))
    assert record(host, "io_scheduler", state="restored")["verdict"] == "changed" and host.read(JOURNAL) is None


def test_a_scheduler_that_someone_else_has_set_is_left_alone_on_the_way_back(host):
    host.disk("sda", "none [mq-deadline] kyber")
    record(host, "io_scheduler")
    host.fill("/sys/block/sda/queue/scheduler", "none mq-deadline [kyber]")
    found = only(run(host, state="restored", items=[]))
    assert "io_scheduler sda was changed by someone else and is left alone" in found["reason"]
    assert host.value("/sys/block/sda/queue/scheduler").endswith("[kyber]") and not host.exists(RULES)


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
def test_rules_of_others_count_by_the_order_of_their_files(host, name, rule, expected):
    host.disk("sda", "none [mq-deadline] kyber")
    host.fill("/etc/udev/rules.d/" + name, rule)
    found = record(host, "io_scheduler")
    assert wins(found) == ([("udev rule", name, rule.split('"')[-2], expected)] if expected else [])
    assert found["verdict"] == ("drifted" if expected == "yes" else "changed")


def test_a_rule_of_others_that_is_right_is_enough(host):
    host.disk("sda", "[none] mq-deadline kyber")
    host.fill("/usr/lib/udev/rules.d/60-io-scheduler.rules", 'KERNEL=="sd*", ATTR{queue/scheduler}="none"')
    before = everything(host)
    assert record(host, "io_scheduler")["verdict"] == "compliant" and everything(host) == before


@pytest.mark.parametrize("tool", ["sapconf", "tuned"])
def test_a_tool_in_charge_keeps_the_scheduler(host, tool):
    host.disk("sda", "none [mq-deadline] kyber")
    if tool == "sapconf":
        host.sapconf('IO_SCHEDULER="noop none"')
    else:
        host.tuned("site", "[disk]\nelevator=kyber")
    found = record(host, "io_scheduler")
    assert found["verdict"] == "drifted" and host.log == [] and not host.exists(RULES)
    value = {"sapconf": "noop none", "tuned": "kyber"}[tool]
    assert [one for one in found["remarks"] if one.startswith("io_scheduler is left to %s (" % tool) and value in one]
    assert wins(found)[-1][0] == tool and found["conflicts"][-1]["wins"] == "yes"
    assert "sda is mq-deadline, SAP asks for none or noop" in found["reason"]


def test_a_disk_that_refuses_keeps_everything(host):
    host.disk("sda", "[mq-deadline] kyber")
    result = run(host, items=["io_scheduler"])
    assert result["failed"] and "the kernel does not take this value" in only(result)["reason"]
    assert not host.exists(RULES) and host.value("/sys/block/sda/queue/scheduler") == "[mq-deadline] kyber"


def test_without_scsi_disks_there_is_nothing_to_set(host):
    host.fill("/sys/block/dasda/queue/scheduler", "none [mq-deadline] kyber")
    found = record(host, "io_scheduler")
    assert (found["verdict"], found["reason"]) == ("not_applicable", "there is no SCSI disk (sd)")


# all of them


@pytest.mark.parametrize(
    "release, expected",
    [
        ("SLES 16", {"nofile": "not_applicable", "uuidd.socket": "drifted", "io_scheduler": "drifted"}),
        ("RHEL 9", {"nofile": "drifted", "uuidd.socket": "drifted", "io_scheduler": "not_applicable"}),
        ("Debian", dict.fromkeys(["nofile", "uuidd.socket", "io_scheduler"], "not_applicable")),
    ],
)
def test_a_release_without_a_public_value_is_left_alone(tmp_path, release, expected):
    host = BaseHost(tmp_path, release)
    host.socket = ["disabled", "inactive"]
    host.disk("sda", "none [mq-deadline]")
    found = {one["subject"]: one for one in run(host, True, items=list(expected))["tuning"]}
    assert {name: one["verdict"] for name, one in found.items()} == expected
    refused = {one["reason"] for one in found.values() if one["verdict"] == "not_applicable"}
    assert all(reason.startswith("no public source names a value for") for reason in refused)


def test_all_of_them_are_set_and_taken_back_together(host):
    host.instance("PRD", "[Service]")
    host.socket = ["disabled", "inactive"]
    host.disk("sda", "none [mq-deadline]")
    before = everything(host)
    items = ["nofile", "uuidd.socket", "io_scheduler"]
    assert {one["verdict"] for one in run(host, items=items)["tuning"]} == {"changed"}
    restored = run(host, state="restored", items=[])
    assert {one["verdict"] for one in restored["tuning"]} == {"changed"} and len(restored["tuning"]) == 3
    assert everything(host) == before and host.socket == ["disabled", "inactive"]


@pytest.mark.parametrize(
    "key, text",
    [
        (LOGIN + " nofile", "@sapsys - nofile 1048576\nroot - nofile 1"),
        (LOGIN + " nofile", "root - nofile 1"),
        (DROP_IN, "[Service]\nExecStart=/bin/sh"),
        (DROP_IN.replace(UNIT, "sshd.service"), "[Service]\nLimitNOFILE=1048576"),
        (RULES + " io_scheduler", 'RUN+="/bin/sh"'),
        ("/sys/block/sda/queue/scheduler", None),
        ("/sys/block/sda/../x/queue/scheduler", "none"),
        ("/sys/block/sda/queue/scheduler", "none\nx"),
        ("uuidd.socket is-enabled", "masked"),
        ("uuidd.socket is-active", "enabled"),
        ("sshd.socket is-active", "inactive"),
    ],
)
def test_a_journal_with_other_values_is_refused(host, key, text):
    assert not SystemBase(host, dict(state="observe", items=[], force=False)).legible(key, text)
