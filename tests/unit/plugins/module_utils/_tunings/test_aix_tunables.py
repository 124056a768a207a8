# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel tunables of AIX on the stand-in: three values, questions, what is only observed, every byte of nextboot."""

import errno
import platform

import pytest
from aix import TUNABLES, AixHost, standin
from ansible_collections.zpower.sap_tuning.plugins.module_utils._aix import tunables
from ansible_collections.zpower.sap_tuning.plugins.module_utils._aix.startup import parse_tunables
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.journal import Journal
from ansible_collections.zpower.sap_tuning.plugins.module_utils._engine.tuning import InputError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import HostError, Result
from ansible_collections.zpower.sap_tuning.plugins.module_utils._tunings.aix_tunables import AixTunables
from runs import FOLDER, only, runner, verdicts

NEXT_BOOT, LIVE = TUNABLES + "/nextboot", TUNABLES + "/nextliveupdate"
NO_F = ("no", "-F")
TYPE_C = "type C: open connections keep the value they began with, and a change restarts inetd"
# comments, an empty stanza, blanks, a second line and a second stanza that do not count, no line end at the end
FOUND = (
    '# kept by hand \xe9\n\nvmo:\n\nno:\n\tipqmaxlen_old = "7"  # was here\n\n\ttcp_keepidle = "7201"\n'
    '\ttcp_keepidle = "1"\n\nschedo:\nno:\n\ttcp_fastlo = "1"\n\n# end'
)
pytestmark = pytest.mark.usefixtures("aix")
run = runner(AixTunables, values={})


@pytest.fixture
def host(tmp_path):
    made = AixHost(tmp_path)
    put(made, NEXT_BOOT, FOUND)
    return made


def put(host, path, text):
    host.fill(path, "")
    with open(host.path(path), "w", encoding="latin-1", newline="") as stream:
        stream.write(text)


def text(host, path=NEXT_BOOT):
    return (host.data(path) or b"").decode("latin-1")


def ask(host, check=False, more=None, **values):
    """Set these: no__tcp_fastlo=1 is no.tcp_fastlo. A dict is an entry's own fields."""
    wanted = {}
    for name, given in values.items():
        fields = given if isinstance(given, dict) else {"value": given}
        wanted[name.replace("__", ".").replace("PCT", "%")] = dict({"reason": "measured"}, **fields)
    return run(host, check, values=wanted, **(more or {}))


def now(host, name):
    command, tunable = name.split(".")
    return host.tunables["rows"][command][tunable][0]


def changes(host):
    return [argv for argv, _answers in host.asked]


def test_set_running_and_stored_read_back_and_taken_back(host):
    predicted = ask(host, True, no__tcp_nodelayack=1)
    assert predicted["changed"] and host.asked == [] and text(host) == FOUND and not host.exists(FOLDER)
    result = ask(host, no__tcp_nodelayack=1)
    found = only(result)
    assert found["verdict"] == "changed" and result["diff"] == predicted["diff"]
    assert result["diff"]["before"] == "no.tcp_nodelayack (stored): absent\nno.tcp_nodelayack (running): 0\n"
    assert result["diff"]["after"] == "no.tcp_nodelayack (stored): 1\nno.tcp_nodelayack (running): 1\n"
    before, after = {"no.tcp_nodelayack": "0"}, {"no.tcp_nodelayack": "1"}
    assert found["before"] == {"running": before, "stored": None, "next_boot": before}
    assert found["after"] == {"running": after, "stored": after, "next_boot": after}
    assert changes(host) == ["no -r -o tcp_nodelayack=1", "no -o tcp_nodelayack=1"]
    assert now(host, "no.tcp_nodelayack") == "1" and 'tcp_nodelayack = "1"' in text(host)
    again = ask(host, no__tcp_nodelayack="1")
    assert not again["changed"] and only(again)["verdict"] == "compliant" and len(host.asked) == 2
    host.reboot()
    assert only(ask(host, True, no__tcp_nodelayack=1))["verdict"] == "compliant"
    assert run(host, True, state="restored")["changed"] and len(host.asked) == 2
    assert run(host, state="restored")["changed"]
    assert now(host, "no.tcp_nodelayack") == "0" and text(host) == FOUND and not host.exists(FOLDER)
    assert not run(host, state="restored")["changed"]


@pytest.mark.parametrize("left", ["nothing", "DEFAULT", "number"])
@pytest.mark.parametrize("found", [FOUND, FOUND + "\r\n\n", 'no:\n\ttcp_nodelayack = "DEFAULT"\n'])
def test_an_absent_line_is_absent_again_and_every_other_byte_is_left(host, found, left):
    put(host, NEXT_BOOT, found)
    host.tunables["after_d"] = left
    ask(host, no__tcp_nodelayack=1)
    result = run(host, state="restored")
    # one with the word DEFAULT is one again or none
    expected = "no:\n" if "DEFAULT" in found and left != "DEFAULT" else found
    assert not result["failed"] and text(host) == expected and not host.exists(FOLDER)
    assert "no -r -d tcp_nodelayack" in changes(host)
    if found.startswith(FOUND):
        # tuncheck has seen a copy: it writes into what it finds right
        assert ("tuncheck" in changes(host)[-2]) is (left != "nothing")


@pytest.mark.parametrize("line", ["", '\ttcp_nodelayack = "DEFAULT"\n', '\ttcp_nodelayack = "0"\n'])
def test_the_default_is_not_a_line_and_a_line_that_was_there_comes_back(host, line):
    put(host, NEXT_BOOT, "no:\n" + line)
    assert only(ask(host, no__tcp_nodelayack=0))["verdict"] == "compliant" and host.asked == []
    found = 'no:\n\ttcp_nodelayack = "1"\n'
    put(host, NEXT_BOOT, found)
    host.reboot()
    ask(host, no__tcp_nodelayack={"value": 0})
    assert "tcp_nodelayack" not in text(host) and now(host, "no.tcp_nodelayack") == "0"
    run(host, state="restored")
    assert text(host) == found and now(host, "no.tcp_nodelayack") == "1"


def test_a_line_that_somebody_else_changed_since_is_left_and_named(host):
    ask(host, no__tcp_sendspace="64K", no__tcp_fastlo=1)
    assert now(host, "no.tcp_sendspace") == "65536"
    put(host, NEXT_BOOT, text(host).replace('tcp_sendspace = "65536"', 'tcp_sendspace = "32768"'))
    result = run(host, state="restored")
    reasons = {record["subject"]: record["reason"] for record in result["tuning"]}
    assert "changed by someone else and is left alone: it is 32768" in reasons["no.tcp_sendspace"]
    assert 'tcp_sendspace = "32768"' in text(host) and now(host, "no.tcp_fastlo") == "0"
    run(host, state="restored", force=True)
    assert text(host) == FOUND and not host.exists(FOLDER)


@pytest.mark.parametrize("left", ["DEFAULT", "0"])
def test_a_line_that_a_killed_rollback_has_left_is_removed(host, left):
    ask(host, no__tcp_nodelayack=1)
    put(host, NEXT_BOOT, text(host).replace('tcp_nodelayack = "1"', 'tcp_nodelayack = "%s"' % left))
    result = run(host, state="restored")
    assert not result["failed"] and text(host) == FOUND and not host.exists(FOLDER)


def test_a_second_writer_of_nextboot_is_noticed_if_its_line_counts(host, monkeypatch):
    host.tunables["other_writer"] = ["vmo", "minfree", "970"]
    record = only(ask(host, no__tcp_nodelayack=1))
    assert record["verdict"] == "changed"
    assert [one for one in record["remarks"] if "look at its lines of vmo.minfree" in one]
    host.tunables["other_writer"] = ["no", "tcp_fastlo", "1"]
    put(host, NEXT_BOOT, 'no:\n\tsb_max = "1048576"\nno:\n\tsb_max = "7"\n')
    work = standin.with_value
    monkeypatch.setattr(standin, "with_value", lambda *words: work(*words).replace('"7"', '"8"'))
    assert only(ask(host, no__tcp_fastlo=1))["remarks"] == [TYPE_C] and '"8"' in text(host)


def test_nothing_is_removed_from_a_file_that_changes_meanwhile_or_is_refused(host, monkeypatch):
    host.tunables["after_d"] = "DEFAULT"
    ask(host, no__tcp_nodelayack=1)
    host.answers["tuncheck", "-r"] = Result(1, "", "stand-in: not right\n")
    result = run(host, state="restored")
    assert result["failed"] and "tuncheck refuses the file without the line: stand-in: not right" in result["msg"]
    assert 'tcp_nodelayack = "DEFAULT"' in text(host)
    host.answers.clear()
    replace = AixHost.replace

    def late(self, path, data, mode=0o644, check=None):
        if path == NEXT_BOOT:
            put(host, NEXT_BOOT, text(host) + "# late\n")
        return replace(self, path, data, mode, check)

    monkeypatch.setattr(AixHost, "replace", late)
    result = run(host, state="restored")
    assert result["failed"] and "changed by somebody else meanwhile: nothing was removed" in result["msg"]
    assert text(host).endswith("# late\n") and 'tcp_nodelayack = "DEFAULT"' in text(host)


def test_what_differs_between_file_and_command_is_said_and_left(host):
    put(host, NEXT_BOOT, 'no:\n\ttcp_nodelayack = "0"\n')
    host.answers["no", "-F"] = Result(0, "tcp_nodelayack,0,0,1,0,1,boolean,D,\n", "")
    record = only(ask(host, no__tcp_nodelayack=1))
    assert record["verdict"] == "drifted" and host.asked == []
    assert "nextboot has 0 for the next boot, and no -x says 1: nothing is set" in record["reason"]


@pytest.mark.parametrize("kind, name, value", [(Journal, "lock", "1"), (AixTunables, "set_together", "0")])
def test_the_values_are_read_again_under_the_lock_and_as_proof(host, monkeypatch, kind, name, value):
    real = getattr(kind, name)

    def late(self, *arguments):
        real(self, *arguments)
        host.tunables["rows"]["no"]["tcp_fastlo"][0] = value

    monkeypatch.setattr(kind, name, late)
    result = ask(host, no__tcp_fastlo=1)
    if kind is Journal:
        assert not result["failed"] and changes(host) == ["no -r -o tcp_fastlo=1"]
    else:
        assert result["failed"] and "no.tcp_fastlo is 0, although 1 was written" in result["msg"]
    # two calls show all tunables of a command
    del host.calls[:]
    ask(host, True, no__tcp_fastlo=1, no__tcp_nodelayack=1, no__tcp_sendspace="64K", vmo__maxpermPCT=95)
    calls = [" ".join(argv) for argv in host.calls if "-x" in argv]
    assert sorted(calls) == ["no -F -x", "no -x", "vmo -F -x", "vmo -x"]


@pytest.mark.parametrize(
    "name, first, value, call", [("ipqmaxlen", "100", 512, "no -r -o ipqmaxlen=512"), ("psebufcalls", "20", 30, None)]
)
def test_type_r_is_stored_and_type_i_falls_at_a_reboot(host, name, first, value, call):
    host.level = "7200-05-03-2148"
    asked, tunable = {"no__" + name: value}, "no." + name
    if call is None:
        # it rises at once
        ask(host, no__psebufcalls=40)
        assert now(host, tunable) == "40"
    before = now(host, tunable)
    record = only(ask(host, **asked))
    assert record["verdict"] == "pending_restart" and record["restart"] == "reboot"
    assert record["reason"] == "%s: %s is in force, %d after a reboot" % (tunable, before, value)
    assert call is None or changes(host) == [call]
    assert not ask(host, **asked)["changed"] and now(host, tunable) == before
    if call:
        host.reboot()
        assert only(ask(host, True, **asked))["verdict"] == "compliant"
    back = only(run(host, state="restored"))
    assert back["verdict"] == "pending_restart" and text(host) == FOUND and host.exists(FOLDER)
    host.reboot()
    run(host, state="restored")
    assert now(host, tunable) == first and not host.exists(FOLDER)


@pytest.mark.parametrize("booted", [True, False])
def test_a_value_that_only_a_boot_brings_is_taken_back_after_it(host, booted):
    ask(host, no__psebufcalls=40)
    ask(host, no__psebufcalls=30)
    if booted:
        host.reboot()
        assert now(host, "no.psebufcalls") == "30"
    back = only(run(host, state="restored"))
    assert back["verdict"] == "pending_restart" and "someone else" not in back["reason"]
    host.reboot()
    run(host, state="restored")
    assert now(host, "no.psebufcalls") == "20" and text(host) == FOUND and not host.exists(FOLDER)


def test_1485_514_leads_to_k_and_the_third_value_is_taken_back(host):
    host.level = "7300-02-01-2346"
    # this level needs no -K for it
    assert only(ask(host, no__ipqmaxlen=512))["verdict"] == "pending_restart"
    assert not host.exists(LIVE) and not ask(host, True, no__ipqmaxlen=512)["changed"]
    run(host, state="restored")
    assert text(host) == FOUND and not host.exists(FOLDER)
    del host.asked[:]
    host.tunables["live_update"] = ["ipqmaxlen"]
    put(host, LIVE, "no:\n")
    predicted = ask(host, True, no__ipqmaxlen=512)
    result = ask(host, no__ipqmaxlen=512)
    assert only(result)["verdict"] == "pending_restart" and result["diff"] == predicted["diff"]
    assert "no.ipqmaxlen live update (stored): 512\n" in result["diff"]["after"]
    assert changes(host) == ["no -r -o ipqmaxlen=512", "no -r -K -o ipqmaxlen=512"]
    assert 'ipqmaxlen = "512"' in text(host) and 'ipqmaxlen = "512"' in text(host, LIVE)
    assert not ask(host, no__ipqmaxlen=512)["changed"]
    host.tunables["after_d"] = "number"
    run(host, state="restored")
    assert text(host) == FOUND and text(host, LIVE) == "no:\n" and not host.exists(FOLDER)


@pytest.mark.parametrize(
    "name, value, remarks",
    [
        ("no__tcp_fastlo", 1, [TYPE_C]),
        ("ioo__numfsbufs", 400, ["type M: mounted file systems keep"]),
        ("no__tcp_sendspace", "64K", ["en0 has tcp_sendspace 262144 of its own", "no value is overridden on en1"]),
    ],
)
def test_what_keeps_an_old_value_or_its_own_is_said(host, name, value, remarks):
    found = only(ask(host, **{name: value}))["remarks"]
    assert all(any(one.startswith(words) for one in found) for words in remarks)
    assert not any("en2" in one for one in found)


@pytest.mark.parametrize(
    "name, given, words",
    [
        ("no__netm_affinity", 0, "it needs bosboot -ad /dev/ipldevice and a reboot, which are never run here"),
        ("no__use_isno", {"value": 0, "restricted": True}, "it decides whether values of interfaces count"),
        ("vmo__maxpermPCT", 95, "it is restricted: restricted: true in its entry sets it"),
        ("vmo__minfree", 1000, "it can harm a running system: risky: true in its entry sets it"),
        ("no__bcastping", 1, "it can harm a running system: risky: true in its entry sets it"),
        ("no__tcp_fastlo", 1, "its type Z is not known here"),
    ],
)
def test_what_is_only_observed(host, name, given, words):
    host.tunables["rows"]["no"]["tcp_fastlo"][5] = "Z"
    result = ask(host, **{name: given})
    record = only(result)
    assert record["verdict"] == "observed" and not result["changed"] and host.asked == []
    assert record["reason"].startswith("only observed: ") and record["reason"].endswith(words)
    assert not host.exists(FOLDER)
    assert only(ask(host, vmo__minfree=960))["verdict"] == "compliant"
    # the scripts have it all
    host.devices["sys0"].stored["pre520tune"] = "enable"
    record = only(ask(host, no__tcp_nodelayack=1))
    assert record["verdict"] == "observed" and "pre520tune of sys0 is enable" in record["reason"] and host.asked == []


def test_a_risky_one_and_a_restricted_one_by_an_entry_of_their_own(host):
    entries = {"vmo__minfree": {"value": 970, "risky": True}, "vmo__maxpermPCT": {"value": 95, "restricted": True}}
    assert set(verdicts(ask(host, **entries)).values()) == {"changed"}
    # the first question of a restricted one is answered with yes; bosboot never is
    assert host.asked == [
        ("vmo -r -o maxperm%=95", "yes\nno\n"),
        ("vmo -r -o minfree=970", "no\nno\n"),
        ("vmo -o maxperm%=95", "yes\nno\n"),
        ("vmo -o minfree=970", "no\nno\n"),
    ]
    run(host, state="restored")
    assert text(host) == FOUND and now(host, "vmo.maxperm%") == "90" and not host.exists(FOLDER)
    others = {"raso__mtrc_enabled": 0, "nfso__nfs_rfc1323": 1}
    found = {"raso.mtrc_enabled": "pending_restart", "nfso.nfs_rfc1323": "changed"}
    assert verdicts(ask(host, **others)) == found and host.asked[-1] == ("nfso -o nfs_rfc1323=1", "no\nno\n")


def test_a_real_program_gets_its_answer_and_one_without_ends_by_the_time_limit(host, monkeypatch):
    monkeypatch.setattr(tunables, "LIMIT_S", 4)
    host.apart = True
    entry = {"value": 95, "restricted": True, "running": False}
    assert not ask(host, vmo__maxpermPCT=entry)["failed"] and 'maxperm% = "95"' in text(host)
    run(host, state="restored")
    host.tunables["deaf"] = ["maxperm%"]
    result = ask(host, vmo__maxpermPCT={"value": 95, "restricted": True})
    assert result["failed"] and text(host) == FOUND and now(host, "vmo.maxperm%") == "90"
    assert "did not answer within 4 s" in result["msg"]
    assert "Modification to restricted tunable maxperm%" in result["msg"]


@pytest.mark.parametrize("line", ['""', '"STATIC"', '"0 1"', "x"])
def test_a_stored_value_that_is_not_understood_is_left(host, line):
    put(host, NEXT_BOOT, "no:\n\ttcp_nodelayack = %s\n" % line)
    # what -x says of such a line is not known
    host.answers["no", "-x"] = host.answers["no", "-F"] = Result(0, "tcp_nodelayack,0,0,0,0,1,boolean,D,\n", "")
    record = only(ask(host, no__tcp_nodelayack=1))
    assert record["verdict"] == "observed" and record["reason"].endswith("its current value is not understood")
    assert host.asked == [] and not host.exists(FOLDER)


def test_running_only_is_lost_at_the_next_boot_and_next_boot_only_is_pending(host):
    entry = {"value": 1, "stored": False}
    record = only(ask(host, no__tcp_fastlo=entry))
    assert record["verdict"] == "changed" and text(host) == FOUND
    lost = "only the running value is asked for: it is lost at the next boot"
    assert lost in record["remarks"]
    assert run(host, state="restored")["changed"] and now(host, "no.tcp_fastlo") == "0" and not host.exists(FOLDER)
    ask(host, no__tcp_fastlo=1)
    assert lost not in only(ask(host, no__tcp_fastlo=entry))["remarks"]
    del host.asked[:]
    entry = {"value": 1, "running": False}
    assert only(ask(host, no__tcp_nodelayack=entry))["verdict"] == "pending_restart"
    assert changes(host) == ["no -r -o tcp_nodelayack=1"]
    host.reboot()
    assert only(ask(host, True, no__tcp_nodelayack=entry))["verdict"] == "compliant"
    del host.tunables["rows"]["no"]["tcp_fastlo"]
    back = {record["subject"]: record["reason"] for record in run(host, state="restored")["tuning"]}
    assert "no longer has it: the journal keeps" in back["no.tcp_fastlo"]


@pytest.mark.parametrize(
    "values", [[("maxfree", 4608), ("minfree", 4096)], [("maxperm%", 94), ("maxclient%", 93), ("minperm%", 92)]]
)
def test_values_are_set_in_the_order_in_which_their_rule_holds(host, values):
    entry = {"risky": True, "restricted": True}
    entries = {"vmo__" + name.replace("%", "PCT"): dict(entry, value=value) for name, value in values}
    assert not ask(host, **entries)["failed"]
    assert changes(host)[: len(values)] == ["vmo -r -o %s=%d" % one for one in values]
    back = run(host, state="restored")
    assert not back["failed"] and text(host) == FOUND and not host.exists(FOLDER)
    assert [call for call in changes(host) if "-d" in call] == ["vmo -r -d " + name for name, _v in reversed(values)]


@pytest.mark.parametrize(
    "values, words",
    [
        ({"no__tcp_nodelayack": 2}, "values: no.tcp_nodelayack: 2 is out of range, 0 to 1"),
        ({"no__tcp_nodelayack": "on"}, "no.tcp_nodelayack: on is not a number like 16K, 0 to 1"),
        ({"no__tcp_sendspace": "64k"}, "no.tcp_sendspace: 64k is not a number like 16K, 4096 to "),
        ({"no__tcp_sendspace": "2M"}, "no.tcp_sendspace would be 2097152 and no.sb_max 1048576: the first has to be "),
        (
            {"no__tcp_sendspace": "2M", "no__sb_max": {"value": "4M", "stored": False}},
            "and no.sb_max 1048576: the first has to be not more than the other (stored)",
        ),
        (
            {"no__tcp_sendspace": "2M", "no__sb_max": {"value": "4M", "running": False}},
            "and no.sb_max 1048576: the first has to be not more than the other (running)",
        ),
        ({"vmo__minfree": 1088}, "vmo.minfree would be 1088 and vmo.maxfree 1088: the first has to be less than"),
        ({"vmo__maxpermPCT": 80}, "vmo.maxclient% would be 90 and vmo.maxperm% 80"),
        ({"vmo__vpm_xvcpus": 2}, "values: vmo.vpm_xvcpus: vmo has no such tunable, but schedo has"),
        ({"no__ipqmaxlen": {"value": 512, "stored": False}}, "type R takes it at boot only: leave out stored"),
        ({"no__psebufcalls": {"value": 30, "stored": False}}, "type I takes it at boot only: leave out stored"),
    ],
)
def test_mistakes_are_found_before_anything_is_changed(host, values, words):
    host.tunables["rows"]["no"]["psebufcalls"][0] = "40"
    with pytest.raises(InputError) as caught:
        ask(host, no__tcp_fastlo=1, **values)
    assert words in str(caught.value) and host.asked == [] and not host.exists(FOLDER)


GOOD = {"value": 1, "reason": "measured"}


@pytest.mark.parametrize(
    "values, words",
    [
        ({}, "values: nothing to set"),
        ({False: {"tcp_nodelayack": 1}}, "YAML reads the word no as false: write each tunable as one key"),
        ({"no": {"tcp_nodelayack": GOOD}}, "YAML reads the word no as false"),
        ({"asoo.tcp": GOOD}, "'asoo.tcp' is not a tunable: write one of ioo, nfso, no, raso, schedo, vmo"),
        ({"no.tcp_nodelayack": {"value": 1}}, "no.tcp_nodelayack: give value and reason"),
        ({"no.tcp_nodelayack": dict(GOOD, colour="red")}, "but reason, restricted, risky, running, stored, value"),
        ({"no.tcp_nodelayack": dict(GOOD, value=True)}, "True is not a value: give a whole number"),
        ({"no.tcp_nodelayack": dict(GOOD, value="1 2")}, "'1 2' is not a value"),
        ({"no.tcp_nodelayack": dict(GOOD, value="9" * 5000 + "K")}, "is not a value"),
        ({"no.tcp_nodelayack": dict(GOOD, risky="yes")}, "risky is true or false"),
        ({"no.tcp_nodelayack": dict(GOOD, running=False, stored=False)}, "nothing is set"),
    ],
)
def test_mistakes_in_the_request(host, values, words):
    with pytest.raises(InputError) as caught:
        run(host, values=values)
    assert words in str(caught.value) and host.asked == []


@pytest.mark.parametrize(
    "name, words",
    [
        ("vmo__lru_file_repage", "vmo of this level of AIX has no tunable lru_file_repage"),
        ("vmo__htabscale", "n/a: the kernel or the platform does not support it"),
        ("no__thewall", "type S: it can never be set"),
        ("ioo__old_ioo", "type d: it can never be set"),
    ],
)
def test_unsupported_ones(host, name, words):
    record = only(ask(host, **{name: 1}))
    assert (record["verdict"], record["reason"]) == ("unsupported", words) and host.asked == []


MISSING = HostError("cannot run schedo: No such file", errno.ENOENT)


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda host: host.answers.update({("schedo", "-x"): MISSING}), "has no command schedo, or it shows none"),
        (lambda host: host.tunables.update(empty=["schedo"]), "has no command schedo, or it shows none"),
        (lambda host: setattr(host, "wpar", "3"), "workload partition"),
    ],
)
def test_where_it_is_not_applicable(host, change, words):
    change(host)
    record = only(ask(host, schedo__vpm_xvcpus=1))
    assert record["verdict"] == "not_applicable" and words in record["reason"]


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda host: host.tunables.update(root=False), "no -x: stand-in: only root; only root can read all tunables"),
        # which does not mean that AIX lacks the tunables
        (lambda host: host.answers.update({NO_F: Result(1, "", "refused\n")}), "no -F -x: refused"),
        (lambda host: host.answers.update({NO_F: Result(0, "tcp_fastlo,0,0\n", "")}), "-x are not understood: tcp_fas"),
    ],
)
def test_values_that_cannot_be_read_are_an_error(host, change, words):
    change(host)
    with pytest.raises(HostError, match=words):
        ask(host, no__tcp_fastlo=1)
    assert host.asked == []


@pytest.mark.parametrize("values", [{}, {"no.tcp_fastlo": GOOD}])
def test_a_host_that_is_not_aix(host, monkeypatch, values):
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    record = only(run(host, values=values))
    assert record["verdict"] == "not_applicable" and "on AIX only" in record["reason"] and host.calls == []
    with pytest.raises(InputError, match="values: no.tcp_fastlo"):
        run(host, values={"no.tcp_fastlo": dict(GOOD, value="")})


def test_lines_of_boot_scripts_are_conflicts_and_read_once_for_all_tunables(host, monkeypatch):
    host.fill("/etc/rc.net", "#!/bin/ksh\n/usr/sbin/no -o tcp_fastlo=0 -o sb_max=1\necho no -o tcp_fastlo\n")
    host.fill("/etc/rc.d/init.d/agent", "\0" * (2 << 20))  # a program
    read, seen = AixHost.read, []
    monkeypatch.setattr(AixHost, "read", lambda self, path: seen.append(path) or read(self, path))
    found = ask(host, no__tcp_fastlo=1, no__tcp_nodelayack=1)["tuning"]
    (conflict,) = [one for record in found for one in record["conflicts"]]
    assert (conflict["file"], conflict["line"], conflict["value"]) == ("/etc/rc.net", 2, "0")
    assert seen.count("/etc/rc.net") == 1


def test_a_command_that_refuses_or_reports_success_and_does_nothing(host):
    host.answers["no", "-o"] = Result(0, "", "stand-in: refused\n")
    result = ask(host, no__tcp_fastlo=1)
    assert result["failed"] and "stand-in: refused (exit code 0)" in result["msg"] and text(host) == FOUND
    host.answers.clear()
    host.tunables["ignored"] = ["tcp_fastlo"]
    result = ask(host, no__tcp_fastlo=1)
    assert result["failed"] and not result["changed"]
    assert "no.tcp_fastlo (stored) is absent, and not 1, after no -r -o tcp_fastlo=1: Setting" in result["msg"]


@pytest.mark.parametrize("place, flag", [("stored", "-r "), ("running", "")])
def test_a_value_that_the_command_rounds_is_put_back(host, monkeypatch, place, flag):
    change = standin.Aix.change

    def rounding(self, command, options, name, value):
        rounded = value == "65537" and ("-r" in options) is (place == "stored")
        return change(self, command, options, name, "65536" if rounded else value)

    monkeypatch.setattr(standin.Aix, "change", rounding)
    result = ask(host, no__tcp_sendspace=65537)
    said = "no.tcp_sendspace (%s) is 65536, and not 65537, after no %s-o tcp_sendspace=65537"
    assert result["failed"] and said % (place, flag) in result["msg"]
    assert text(host) == FOUND and now(host, "no.tcp_sendspace") == "16384"
    assert not run(host, state="restored")["changed"] and not host.exists(FOLDER)


def test_a_tunable_that_is_listed_without_a_value_is_not_unknown(host):
    answer = host.run

    def dying(argv, **more):
        ends = "-x" in argv and argv != ["no", "-x"]
        return Result(139, "sb_max,1,1,1,1,1,byte,D,\n", "Segmentation fault") if ends else answer(argv, **more)

    host.run = dying
    with pytest.raises(HostError, match="no -x lists tcp_fastlo, and does not tell its values"):
        ask(host, no__tcp_fastlo=1)
    assert host.asked == []


def test_no_other_flags_and_programs_are_used(host):
    host.level = "7300-02-01-2346"
    host.tunables.update(live_update=["ipqmaxlen"], after_d="number")
    ask(host, no__ipqmaxlen=512, no__tcp_sendspace="64K", no__netm_affinity=0, vmo__lru_file_repage=0)
    run(host, state="restored")
    assert {argv[0] for argv in host.calls} <= {*standin.COMMANDS, "ifconfig", "lsattr", "oslevel", "tuncheck", "uname"}
    flags = {word for argv in host.calls if argv[0] in standin.COMMANDS for word in argv if word.startswith("-")}
    assert flags == {"-F", "-K", "-d", "-o", "-r", "-x"}
    assert {answers for argv, answers in host.asked if not argv.startswith("tuncheck")} == {"no\nno\n"}


def test_lines_of_files_and_scripts():
    assert tunables.first_line('no:\n a = "1" # b\nvmo:\n\ta = 2\n', "vmo", "a") == ("2", 3)
    assert parse_tunables("no", "/usr/sbin/no -p -o a=1 -o 'b=2'; vmo -o c=3") == [("a", "1"), ("b", "2")]
    assert parse_tunables("vmo", "x=`vmo -r -o minperm%=3` && no -o d=4") == [("minperm%", "3")]
    assert parse_tunables("no", "casino -o a=1 | yes or no") == []
