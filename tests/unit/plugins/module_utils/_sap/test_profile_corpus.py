# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The format of SAP profiles: own profiles in all known layouts."""

import os

import pytest
from ansible_collections.zpower.sap_tuning.plugins.module_utils._sap.profile import Profile, marker
from places import FIXTURES

FOLDER = str(FIXTURES / "profiles")
MARKER = marker("2026-11-20", "more_locks")

# What each file holds, as a person reads it: how many parameters have a line, and some values.
READ_BY_HAND = {
    "DEFAULT.PFL": (
        17,
        {
            "SAPGLOBALHOST": "prdascs",
            "system/type": "ABAP",
            "rdisp/msserv": "",
            "gw/logging": "ACTION=Ss LOGFILE=gw_log-%y-%m-%d SWITCHTF=day MAXSIZEKB=100",
            "gw/sec_info": "$(DIR_DATA)/secinfo # not a comment",
            "icm[J2EE]/enable_icmadm": "TRUE",
            "dbs/db6/schema": '"SAPPRD"',
            "vmcj/enable": "off;; # two",
            "rdisp/TRACE": "5",
            "": None,
        },
    ),
    "PRD_ASCS01_prdascs": (12, {"enque/table_size": "16384", "enq/server/schema_0": "global"}),
    "PRD_D00_prdapp1": (
        23,
        {
            "SAPSYSTEM": "00",
            "rdisp/wp_no_btc": "24",
            "rdisp/linux/os_scheduler": None,
            "icm/server_port_0": "PROT=HTTP,PORT=80$$,TIMEOUT=60,PROCTIMEOUT=600",
        },
    ),
    "PRD_ERS10_prders": (9, {"SCSID": "01", "NR": "$(SCSID)", "enque/process_location": "REMOTESA"}),
    "QAS_ASCS01_qasascs": (18, {"enque/table_size": "64000", "rdisp/enqname": "$(rdisp/myname)"}),
    "QAS_DVEBMGS02_qasci": (14, {"rdisp/vb_dispatching": "1", "ES/TABLE": "SHM_SEGS", "SAPSYSTEM": "02"}),
}
FILLER = b"".join(b"#filler/%d = %d\n" % (number, number) for number in range(2000))
LONG = b"# " + b"-" * 65536 + b"\n_LONG = " + b"v" * 65536 + b"\n"
LAYOUTS = {
    "as_it_is": lambda data: data,
    "cr_lf": lambda data: data.replace(b"\n", b"\r\n"),
    "last_line_ended": lambda data: data.rstrip(b"\n") + b"\n",
    "last_line_open": lambda data: data.rstrip(b"\n"),
    "latin_1": lambda data: data.decode("utf-8").encode("latin-1") + b"\n# \xe4\n",
    "tabs": lambda data: data.replace(b" = ", b"\t=\t"),
    "2000_lines": lambda data: FILLER + data,
    "64_kb_lines": lambda data: LONG + data,
}


def corpus_file(name):
    with open(os.path.join(FOLDER, name), "rb") as stream:
        return stream.read()


def samples():
    """Each file as it is and DEFAULT.PFL in each layout; the rest of the product at night."""
    found = []
    for file in sorted(READ_BY_HAND):
        for layout, change in LAYOUTS.items():
            marks = [] if layout == "as_it_is" or file == "DEFAULT.PFL" else pytest.mark.nightly
            found.append(pytest.param(file, change(corpus_file(file)), id="%s-%s" % (file, layout), marks=marks))
    return found


def test_duplicates_are_reported_with_their_lines():
    assert set(os.listdir(FOLDER)) == set(READ_BY_HAND)
    assert Profile(corpus_file("DEFAULT.PFL")).duplicates() == {"rdisp/TRACE": [12, 13, 29]}
    assert Profile(corpus_file("PRD_D00_prdapp1")).duplicates() == {}


@pytest.mark.parametrize("file, data", samples())
def test_the_corpus_is_read_as_a_person_reads_it_and_changed_and_brought_back(file, data):
    profile, lines = Profile(data), data.split(b"\n")
    number, values = READ_BY_HAND[file]
    assert profile.data() == data
    assert len(profile.names()) == number
    assert {name: profile.value(name) for name in values} == values
    # each parameter is set, taken out and brought back
    for name in profile.names():
        new = profile.changed({name: profile.wanted(name, "new value")}, MARKER)
        assert new.value(name) == "new value"
        different = [pair for pair in zip(lines, new.data().split(b"\n")) if pair[0] != pair[1]]
        assert len(different) == 1
        assert len(new.data().split(b"\n")) == len(lines)
        assert different[0][0].split(b"=")[0] == different[0][1].split(b"=")[0]
        assert new.changed({name: profile.text(name)}, MARKER).data() == data
        out = profile.changed({name: None}, MARKER)
        assert out.value(name) is None
        assert len(out.active("_PF")) == len(profile.active("_PF"))
        assert out.changed({name: profile.text(name)}, MARKER).data() == data


def test_a_long_profile_is_changed_and_comes_back():
    profile = Profile(corpus_file("PRD_D00_prdapp1") + FILLER.replace(b"#", b"") * 5)
    names = profile.names()[:20]
    new = Profile(profile.data()).changed(dict.fromkeys(names), MARKER)
    back = new.changed({name: profile.text(name) for name in names}, MARKER)
    assert back.data() == profile.data()
