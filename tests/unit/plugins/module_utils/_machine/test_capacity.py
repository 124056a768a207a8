# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an LPAR is entitled to: by polarization, by made-up files diag_204, and by lparstat -i of AIX."""

import errno
import json
import os
import platform
import types

import captured
import pr_sm
import pytest
from aix import AixHost
from ansible_collections.zpower.sap_tuning.plugins.module_utils._host.host import Host, HostError, Result
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine import (
    capacity,
    checks,
    diag_204,
    entitlement,
    facts,
    hardware,
)
from ansible_collections.zpower.sap_tuning.plugins.module_utils._machine.reading import opened
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure import fingerprint
from entitled import CPU, SPLIT, VerticalLpar
from kernel import KernelHost
from pr_sm import CP, DEDICATED, IFL, ZIIP, core, file_of, lpar, machine
from zkernel import ZVM

EIGHT = ("high",) * 2 + ("medium",) * 2 + ("low",) * 12
OWN = [core() for _number in range(8)]
OTHERS = [
    lpar("SECRETB", [core(weight=300)] * 10),
    lpar("SECRETC", [core()] * 4 + [core(CP, 700)] * 2),
    lpar("SECRETD", [core(CP, 200)] * 3),
    lpar("SECRETE", [core(weight=DEDICATED)] * 2),
    lpar("SECRETF", [core(weight=500, online=False)] * 4),
    lpar("SECRETG", []),
]
MACHINE = machine((CP, 4, 0), (IFL, 16, 2), (ZIIP, 1, 0))
BASE = "this LPAR is entitled to 3.2 IFL cores of the machine's 16 shared ones (weight 100 of 500), and has 8 online"


@pytest.fixture
def host(tmp_path):
    """An LPAR with 8 cores online, 2 high, 2 medium and 4 low ones."""
    made = VerticalLpar(tmp_path)
    made.entitle(EIGHT)
    made.online(range(8))
    return made


def cores_by_level(host):
    return entitlement.cores_by_level(host, hardware.online_polarizations(host))


def plant(host, data):
    os.makedirs(os.path.dirname(host.path(diag_204.FILE)), exist_ok=True)
    with open(host.path(diag_204.FILE), "wb") as stream:
        stream.write(data)


def fact(host, own=None, others=None, group="", mine=2, **options):
    """The fact of a host whose LPAR is, by default, the third in the file."""
    others = OTHERS if others is None else others
    options.setdefault("physical", MACHINE)
    this = lpar("SAPAPP1", OWN if own is None else own, group)
    plant(host, file_of(others[:mine] + [this] + others[mine:], own=mine, **options))
    capacity.capacity.cache_clear()
    return capacity.capacity(host, "Linux")


def verticals(entitled):
    """(high, medium) cores of an LPAR that is entitled to this many: PR/SM's rule forwards."""
    whole, rest = int(entitled), entitled - int(entitled)
    if rest == 0:
        return whole, 0
    if rest >= 0.5 or whole == 0:
        return whole, 1
    return whole - 1, 2


def test_every_entitlement_is_in_the_range_of_its_cores():
    for sixteenths in range(1, 320):
        entitled = sixteenths / 16.0
        cores = dict(zip(("high", "medium"), verticals(entitled)), low=1)
        least, most = entitlement.entitled_range(cores)
        assert least <= entitled <= most and most - least <= (1 if entitled < 1 else 0.5), entitled
        assert entitlement.entitled_range(dict(cores, low=0)) == (least, None)


@pytest.mark.parametrize(
    "cores",
    [{}, {"low": 3}, {"horizontal": 8}, {"unknown": 8}, {"high": 2, "unknown": 1, "low": 2}, {"medium": 4}]
    + [{"high": 1, "horizontal": 3}],
)
def test_cores_that_do_not_tell_an_entitlement(cores):
    assert entitlement.entitled_range(cores) is None


def test_without_root_the_polarization_tells_a_range(host):
    found = capacity.capacity(host, "Linux")
    assert found["sentence"] == (
        "2 high, 2 medium, 4 low cores: entitled to between 3.0 and 3.5 of 8 online cores; "
        "4 get time only if other LPARs leave it"
    )
    assert found["why"].startswith("weights are not visible:")
    assert found["vertical"] == {"high": 2, "medium": 2, "low": 4}
    assert set(found["group"].values()) == {None}
    known = {key: value for key, value in found.items() if not isinstance(value, (type(None), str, dict))}
    assert known == {"online_cores": 8, "entitled_range": [3.0, 3.5]} and found["source"] == "polarization"


@pytest.mark.parametrize("threads", [1, 2])
def test_cores_are_counted_and_not_threads_and_only_online_ones(tmp_path, threads):
    host = VerticalLpar(tmp_path, threads)
    host.online([cpu for cpu in range(16 * threads) if cpu not in (0, 15 * threads)])
    # with threads, a core of which one thread is offline still counts
    cores = cores_by_level(host)
    assert cores == ({"high": 3, "medium": 4, "low": 7} if threads == 1 else {"high": 4, "medium": 4, "low": 8})


def test_cores_are_told_by_their_sockets_or_else_by_their_cpus(tmp_path):
    host = KernelHost(tmp_path)
    # without topology and polarization
    assert cores_by_level(host) == {"unknown": 4}
    for cpu in range(4):
        values = {"polarization": "vertical:high", "topology/core_id": "0", "topology/book_id": "7"}
        for name, value in dict(values, **{"topology/physical_package_id": str(cpu // 2)}).items():
            host.fill("%s/cpu%d/%s" % (CPU, cpu, name), value)
    assert cores_by_level(host) == {"high": 2}


def test_horizontal_cores_tell_nothing_and_the_sentence_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr(diag_204, "os", pr_sm.Debugfs(open=errno.EACCES))
    found = capacity.capacity(VerticalLpar(tmp_path, mode="horizontal"), "Linux")
    assert found["sentence"] == (
        "horizontal: each of the 16 cores has the same share; how much is not visible (weights are in a file that only "
        "root may read: run with become)"
    )
    assert (found["source"], found["entitled_range"], set(found["vertical"].values())) == (None, None, {None})


def test_dedicated_cores_need_no_weight(host, monkeypatch):
    monkeypatch.setattr(diag_204, "os", None)
    for old, new in (("Dedicated:  0", "Dedicated:  16"), ("Shared:     16", "Shared:     0")):
        host.fill("/proc/sysinfo", host.read("/proc/sysinfo").replace(old, new))
    found = capacity.capacity(host, "Linux")
    assert found["sentence"] == "all 8 cores belong to this LPAR alone; weights do not apply"
    assert (found["source"], found["entitled_cores"], found["weight"], found["why"]) == ("sysinfo", 8.0, None, None)


@pytest.mark.parametrize(
    "program, name", [("z/VM    7.3.0", "z/VM"), ("KVM/Linux", "KVM"), ("Other 1", "the hypervisor")]
)
def test_of_a_guest_nothing_is_known_and_nothing_is_read(host, monkeypatch, program, name):
    monkeypatch.setattr(diag_204, "os", None)
    host.fill("/proc/sysinfo", ZVM.replace("z/VM    7.3.0", program))
    found = capacity.capacity(host, "Linux")
    assert found["why"] == found["sentence"] == "data of an LPAR are those of %s here, not of this guest" % name
    assert (found["online_cores"], found["entitled_range"]) == (None, None)
    assert entitlement.entitled_text(host, hardware.online_polarizations(host)) == ""


def test_damaged_lists_of_cpus_are_a_reason(host):
    host.fill(CPU + "/online", "what")
    assert "is not a CPU list" in capacity.capacity(host, "Linux")["why"]
    host.fill(CPU + "/online", "")
    capacity.capacity.cache_clear()
    assert capacity.capacity(host, "Linux")["why"] == "the online CPUs are not known"


def test_the_entitlement_by_weight(host):
    found = fact(host)
    assert found["sentence"] == BASE + "; it may use 8 while others leave time"
    assert found["why"] is None and found["entitled_range"] == [3.0, 3.5]
    keys = ("source", "global_data", "type", "weight", "weight_sum", "shared_physical", "entitled_cores")
    assert [found[key] for key in keys] == ["diag_204", True, "IFL", 100, 500, 16, 3.2]
    assert (found["capped"], found["absolute_cap"], found["group"]) == (False, None, {"name": None, "cap": None})
    assert "SECRET" not in json.dumps(found)
    host.online(range(2))
    assert fact(host)["sentence"].endswith("; 1.2 cores are more than it has online, and wasted")


@pytest.mark.parametrize(
    "core_options, group, sentence, known",
    [
        ({"capped": True}, "", "; it is capped: never more than 3.2 cores, even on an idle machine", {"capped": True}),
        ({"cap": 250}, "", "; an absolute cap of 2.5 cores is below its entitlement", {"absolute_cap": 2.5}),
        ({"cap": 600}, "", "; an absolute cap limits it to 6.0 of 8 online cores", {"absolute_cap": 6.0}),
        (
            {"group_cap": 400},
            "SAP GRP",
            "; it may use 8 while others leave time; its group of LPARs may use 4.0 cores together",
            {"group": {"name": "SAP GRP", "cap": 4.0}},
        ),
        ({"cap": 900}, "\0\0", "", {"absolute_cap": 9.0, "group": {"name": None, "cap": None}}),
    ],
)
def test_caps(host, core_options, group, sentence, known):
    found = fact(host, [core(**core_options)] * 8, group=group)
    assert found["sentence"] == BASE + sentence
    assert {key: found[key] for key in known} == known and found["entitled_cores"] == 3.2


@pytest.mark.parametrize("current, weight, entitled", [(200, 200, 5.3), (0, 100, 3.2)])
def test_the_current_weight_counts_and_both_are_shown(host, current, weight, entitled):
    found = fact(host, [core(current=current)] * 8)
    assert (found["weight"], found["weight_sum"], found["entitled_cores"]) == (weight, weight + 400, entitled)
    words = "(weight %d of %d; current weight %d, defined weight 100)" % (weight, weight + 400, current)
    assert words in found["sentence"]


def test_without_global_performance_data_the_sum_is_not_one_lpars(host):
    found = fact(host, [core(capped=True)] * 8, [], mine=0, physical=None)
    assert found["why"] == "no global performance data: without them an LPAR sees no weight but its own"
    assert (found["weight"], found["weight_sum"], found["entitled_cores"]) == (100, None, None)
    assert found["global_data"] is False
    assert (found["source"], found["capped"]) == ("polarization", True)
    assert "4 low cores: entitled to between 3.0 and 3.5 of 8 online cores;" in found["sentence"]
    assert found["sentence"].endswith("; it is capped: never more than its entitlement, even on an idle machine")


@pytest.mark.parametrize(
    "own, options, why",
    [
        ([core(weight=0)] * 8, {}, "PR/SM shows no weight of this LPAR, or no shared core of the machine"),
        (None, {"physical": machine((CP, 4, 0))}, "PR/SM shows no weight of this LPAR, or no shared core"),
        ([core(online=False)] * 8, {}, "PR/SM lists online cores of no type for this LPAR"),
        ([core(CP), core(ZIIP)], {}, "PR/SM lists online cores of CP and zIIP for this LPAR"),
    ],
)
def test_without_a_quotient_there_is_no_number(host, own, options, why):
    found = fact(host, own, **options)
    assert found["entitled_cores"] is None and found["why"].startswith(why)
    assert found["source"] == "polarization"


def test_offline_cores_and_other_types_do_not_count(host):
    found = fact(host, OWN + [core(online=False, weight=999), core(ZIIP, online=False)])
    assert (found["weight"], found["weight_sum"], found["entitled_cores"]) == (100, 500, 3.2)
    unknown = fact(host, [core(9)] * 8, [], mine=0, physical=machine((9, 4, 0)))
    assert (unknown["type"], unknown["entitled_cores"]) == ("type 9", 4.0)


def test_dedicated_cores_beside_shared_ones_are_one_each(host):
    found = fact(host, [core(weight=DEDICATED)] * 2 + [core()] * 6)
    assert found["entitled_cores"] == 5.2 and found["weight_sum"] == 500
    assert "entitled to 5.2 IFL cores" in found["sentence"] and "2 of its cores are dedicated" in found["sentence"]


def test_the_answer_of_the_emulator():
    """It proves the reader, not the arithmetic: there no CPU counts as online, and its two weights differ."""
    found = diag_204.parse(pr_sm.HERCULES)
    assert len(pr_sm.HERCULES) == 4160
    assert found == ([("CP", False, False, 100, 1000, None, None)] * 2, None, [], None)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data + b"\0",
        lambda data: data[:40],
        lambda data: b"",
        lambda data: file_of([lpar("A", OWN)], version=1),
        lambda data: file_of([lpar("A", OWN)], subcode=5),
        lambda data: file_of([lpar("A", OWN)], place=65),
        lambda data: file_of([]),
        # more cores announced than follow
        lambda data: data[:130] + b"\xff" + data[131:],
        lambda data: data[:64] + b"\xff" + data[65:],
    ],
)
def test_a_damaged_file_is_refused(host, damage):
    data = damage(file_of([lpar("A", OWN)], physical=MACHINE))
    with pytest.raises(ValueError, match="version|block|which LPAR"):
        diag_204.parse(data)


WHOLE = file_of([lpar("A", OWN)], physical=MACHINE)


@pytest.mark.parametrize(
    "contents, reads, entitled",
    [
        # everything comes from one read of one file
        ([WHOLE], 1, 16.0),
        # a cut first read is tried again
        ([WHOLE[:64], b"", WHOLE[:-64], WHOLE], 4, 16.0),
        ([WHOLE[:-1]], 10, None),
    ],
)
def test_a_file_that_is_cut_is_read_again(host, monkeypatch, contents, reads, entitled):
    kernel = pr_sm.Debugfs(*contents)
    monkeypatch.setattr(diag_204, "os", kernel)
    found = capacity.capacity(host, "Linux")
    assert found["entitled_cores"] == entitled
    assert found["source"] == ("diag_204" if entitled else "polarization")
    assert entitled or "in 10 attempts its length never was that of its header" in found["why"]
    assert kernel.paths == [host.path("/sys/kernel/debug/s390_hypfs/diag_204")] * reads
    assert kernel.closed == list(range(1, reads + 1))


@pytest.mark.parametrize("call", ["open", "read"])
@pytest.mark.parametrize(
    "number, why",
    [
        (errno.EACCES, "weights are in a file that only root may read: run with become"),
        (errno.ENOENT, "weights are not visible: debugfs is not mounted"),
        (errno.EIO, "weights are not visible: the machine refuses diagnose 204"),
        (errno.EBUSY, "weights are not visible now: the machine is busy"),
        (errno.EPERM, "cannot read /sys/kernel/debug/s390_hypfs/diag_204: Operation not permitted"),
    ],
)
def test_each_error_costs_only_the_weights(host, monkeypatch, call, number, why):
    kernel = pr_sm.Debugfs(b"", **{call: number})
    monkeypatch.setattr(diag_204, "os", kernel)
    found = capacity.capacity(host, "Linux")
    assert found["why"].startswith(why) and found["entitled_range"] == [3.0, 3.5]
    assert kernel.closed == ([1] if call == "read" else [])
    monkeypatch.undo()
    found = fact(host, version=1)
    assert found["why"].startswith("the file diag_204 is damaged: version 1") and found["source"] == "polarization"


@pytest.mark.parametrize(
    "data, why, cores", [(None, "not in this capture: " + diag_204.FILE, None), (WHOLE, None, 16.0)]
)
def test_the_facts_of_captures_have_the_reason(tmp_path, data, why, cores):
    captured.grow(tmp_path, captured.entries("lpar-linux-6.12-vertical"))
    if data:
        plant(Host(str(tmp_path)), data)
    found = facts.facts(opened(str(tmp_path)), "Linux")["capacity"]
    assert (found["why"], found["entitled_cores"]) == (why, cores)


def row(host, system="Linux"):
    """The record of the capacity among those that platform_settings_info returns; None if there is none."""
    return next((one for one in checks.records(host, system, None, None) if one["subject"] == "capacity"), None)


def test_the_row_of_an_lpar_has_a_remark_on_cores_beyond_its_entitlement(host):
    found = row(host)
    assert (found["verdict"], found["reason"]) == ("compliant", capacity.capacity(host, "Linux")["sentence"])
    assert found["reason"].endswith("4 get time only if other LPARs leave it")
    assert found["remarks"] == ["while other LPARs need their cores, work on the 4 vertical:low ones waits"]
    assert (found["before"]["running"], found["wanted"], found["undo"]) == ({"source": "polarization"}, {}, None)
    assert len(row(opened(host.root))["remarks"]) == 1
    host.online(range(4))
    capacity.capacity.cache_clear()
    found = row(host)
    assert found["remarks"] == [] and found["reason"].startswith("2 high, 2 medium cores: entitled to at least")


def test_what_is_not_known_has_no_row_and_is_in_no_record(host):
    host.entitle(None)
    assert row(host) is None and fingerprint.entitlement(host.root, "Linux") is None
    host.fill("/proc/sysinfo", ZVM)
    assert row(host) is None


def test_a_record_holds_the_entitlement(host, monkeypatch):
    assert fingerprint.entitlement(host.root, "Linux") == "3.0 to 3.5 cores (polarization)"
    fact(host)
    assert fingerprint.entitlement(host.root, "Linux") == "3.2 cores (diag_204)"
    platform.uname()  # which keeps its answer
    names = types.SimpleNamespace(nodename="app1", sysname="Linux", machine="s390x", release="6.12", version="1")
    monkeypatch.setattr(fingerprint.os, "uname", lambda: names)
    assert fingerprint.fingerprint("", "", host.root)["entitlement"] == "3.2 cores (diag_204)"
    names.machine = "x86_64"
    assert "entitlement" not in fingerprint.fingerprint("", "", host.root)
    os.unlink(host.path(diag_204.FILE))
    host.entitle(SPLIT[:4] * 4)
    capacity.capacity.cache_clear()
    assert fingerprint.entitlement(host.root, "Linux") == "8.0 cores (polarization)"


KEYS = ("Node Name", "Type", "Mode", "Entitled Capacity", "Shared Pool ID", "Online Virtual CPUs")
KEYS += ("Maximum Virtual CPUs", "Minimum Virtual CPUs", "Variable Capacity Weight", "Active CPUs in Pool")
KEYS += ("Entitled Capacity of Pool",)
SHARED = dict(zip(KEYS, ("app1", "Shared-SMT-4", "Uncapped", "0.30", "0", "2", "8", "1", "40", "32", "2265")))
OF_ONE = dict(zip(KEYS, ("app1", "Dedicated-SMT-4", "Capped", "2.00", "-", "2", "12", "1", "-", "-", "0")))


def lparstat(values=SHARED, **changes):
    # one key is as long as the column
    values = dict(values, **{"Unallocated Variable Memory Capacity Weight": "-"}, **changes)
    return "".join("%-43s: %s\n" % item for item in values.items())


def partition(tmp_path, answer):
    host = AixHost(tmp_path)
    host.answers["lparstat", "-i"] = answer if not isinstance(answer, str) else Result(0, answer, "")
    return host


def test_a_shared_partition_of_aix(tmp_path):
    host = partition(tmp_path, lparstat())
    found = facts.facts(host, "AIX")["capacity"]
    assert found["sentence"] == (
        "entitled to 0.3 cores, 2 virtual processors with SMT 4 (8 logical CPUs); uncapped, weight 40: may use up to "
        "2 cores if the pool has them"
    )
    keys = ("source", "entitled_cores", "mode", "weight", "smt", "capped", "why")
    assert [found[key] for key in keys] == ["lparstat", 0.3, "Uncapped", 40, 4, False, None]
    assert found["virtual_cpus"] == {"online": 2, "minimum": 1, "maximum": 8}
    assert found["pool"] == {"id": 0, "cores": 32, "entitled": 22.65}
    record = row(host, "AIX")
    assert (record["verdict"], record["reason"]) == ("compliant", found["sentence"])
    assert host.calls.count(["lparstat", "-i"]) == 1


def test_a_dedicated_partition_of_aix(tmp_path):
    found = capacity.capacity(partition(tmp_path, lparstat(OF_ONE)), "AIX")
    assert found["sentence"] == "entitled to 2 cores, 2 virtual processors with SMT 4 (8 logical CPUs)"
    assert (found["entitled_cores"], found["mode"], found["weight"], found["capped"]) == (2.0, "Capped", None, True)
    assert found["pool"] == {"id": None, "cores": None, "entitled": None}


@pytest.mark.parametrize(
    "changes, smt, words",
    [
        ({"Type": "Shared"}, 1, "with SMT 1 (2 logical CPUs); uncapped"),
        ({"Type": "Shared-SMT"}, 2, "with SMT 2 (4 logical CPUs); uncapped"),
        ({"Type": "Shared-SMT-8", "Mode": "Capped"}, 8, "(16 logical CPUs); capped: never more than 0.3"),
        ({"Active CPUs in Pool": "1"}, 4, "may use up to 1 cores if"),
        ({"Active CPUs in Pool": "-"}, 4, "may use up to 2 cores if"),
        ({"Type": "-", "Online Virtual CPUs": "-"}, None, "entitled to 0.3 cores"),
    ],
)
def test_kinds_of_partitions(tmp_path, changes, smt, words):
    found = capacity.capacity(partition(tmp_path, lparstat(**changes)), "AIX")
    assert words in found["sentence"] and found["smt"] == smt


@pytest.mark.parametrize(
    "answer, why",
    [
        (Result(1, "", "lparstat: not in a WPAR\n"), "lparstat -i does not show the entitlement, as in a WPAR"),
        (Result(1, lparstat(), ""), "lparstat -i does not show the entitlement"),
        (lparstat(**{"Entitled Capacity": "-"}), "lparstat -i does not show the entitlement"),
        (lparstat(**{"Entitled Capacity": "nan"}), "lparstat -i does not show the entitlement"),
        (HostError("cannot run lparstat: No such file or directory", errno.ENOENT), "cannot run lparstat"),
    ],
)
def test_what_aix_does_not_tell_is_null_with_a_reason(tmp_path, answer, why):
    found = capacity.capacity(partition(tmp_path, answer), "AIX")
    assert found["why"].startswith(why) and found["entitled_cores"] is None and found["weight"] is None
