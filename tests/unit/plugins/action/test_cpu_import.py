# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later

import gzip
import re
from pathlib import Path

import pytest
import yaml
from actions import run_action
from ansible.errors import AnsibleActionFail
from ansible_collections.zpower.sap_tuning.plugins.action import cpu_import
from ansible_collections.zpower.sap_tuning.plugins.modules import cpu_import as module
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._imports import cpu_files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records import cpu_annex, record_files

FIXTURES = Path(__file__).parents[2] / "fixtures" / "nmon"
AIX = str(FIXTURES / "aix_shared.nmon")


def run(check_mode=False, **arguments):
    return run_action(cpu_import, arguments, check_mode, {"inventory_hostname": "aixapp1"})


@pytest.mark.parametrize("check_mode", [False, True])
def test_a_window_comes_back_as_data(check_mode):
    result = run(check_mode, src=AIX, begin="23:59:49", end="23:59:59", smc_r="yes")
    assert result["changed"] is False and "warnings" not in result
    assert (result["cpu"]["cpu_s"], result["cpu"]["network"]["applicable"]) == (9, False)
    # remarks are warnings
    result = run(check_mode, src=AIX, end="2026-11-20 01:00:00")
    assert result["warnings"] == [f"{AIX}: {result['cpu']['remarks'][0]}"]


def test_the_documentation_names_formats_and_figures_as_they_are():
    assert cpu_import.ActionModule.ARGUMENTS["format"]["choices"] == ["auto", *cpu_annex.FORMATS, "sar"]
    assert set(yaml.safe_load(module.RETURN)["cpu"]["sample"]) == set(run(src=AIX)["cpu"])


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"src": "/nowhere/x.nmon"}, "/nowhere/x.nmon on the controller: No such file"),
        ({"src": "/dev/zero"}, "not a regular file"),
        ({"src": str(FIXTURES)}, "not a regular file"),
        ({"src": __file__}, "test_cpu_import.py: this is neither a file of nmon"),
        ({"begin": "tomorrow"}, "not a time of the file, which has no zone: .* 16:30:00$"),
        # what YAML makes of 23:59:49 and +10:00
        ({"begin": 86389}, r"'86389' is not a time of the file.* \(in quotes: without them, YAML treats it"),
        ({"change": "c", "utc_offset": 600}, r"utc_offset is '600'; .* \+01:00 \(in quotes: without them"),
        ({"cpus": 0}, "cpus is 0; it must be above 0"),
        ({"change": "x"}, f"^{re.escape(AIX)}: its times are local: give utc_offset"),
        ({"change": "x", "utc_offset": "one hour"}, "utc_offset is 'one hour'; it must be the offset of local time"),
        ({"change": "../x", "utc_offset": "Z"}, "change is '../x'; it must begin with a letter"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(tmp_path, arguments, message):
    with pytest.raises(AnsibleActionFail, match=message) as caught:
        run(**{"src": AIX, "results": str(tmp_path), **arguments})
    assert caught.value.__cause__ is None  # ansible-core 2.21 prints a cause behind the sentence
    assert list(tmp_path.iterdir()) == []


def test_no_file_is_read_or_unpacked_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(cpu_files, "LARGEST_UNPACKED", 2000)
    path = tmp_path / "x.nmon.gz"
    path.write_bytes(gzip.compress(Path(AIX).read_bytes()))
    with pytest.raises(AnsibleActionFail, match="more than 2000 characters unpacked"):
        run(src=str(path))
    monkeypatch.setattr(cpu_files, "LONGEST_LINE", 100)
    path = tmp_path / "x.nmon"
    path.write_text("AAA," + "x" * 1000)
    with pytest.raises(AnsibleActionFail, match="no sample"):
        run(src=str(path))
    assert len(next(cpu_files.lines_of(str(path)))) == 100


def test_a_compressed_file_is_read_like_the_file_itself_and_refused_if_damaged(tmp_path):
    path, packed = tmp_path / "aixapp1_261119_2359.nmon.gz", gzip.compress(Path(AIX).read_bytes())
    path.write_bytes(packed)
    assert run(src=str(path))["cpu"] == run(src=str(path), format="nmon")["cpu"] == run(src=AIX)["cpu"]
    for damaged in (
        packed[:-200],
        packed[:5],
        packed[:40] + b"\0\0\0\0" + packed[44:],
        packed[:-8] + b"\0\0\0\0" + packed[-4:],
        packed + b"x",
        b"\x1f\x8b" + b"x" * 100,
    ):
        path.write_bytes(damaged)
        with pytest.raises(AnsibleActionFail, match="this compressed file is damaged or incomplete") as caught:
            run(src=str(path))
        assert caught.value.__cause__ is None


KEEP = {"src": AIX, "change": "smc-r-2026-11", "utc_offset": "+01:00"}


def test_the_intervals_are_kept_beside_the_records_of_a_host(tmp_path):
    results = tmp_path / "results"
    path = results / "smc-r-2026-11" / "aixapp1" / "cpu-client.json"
    for check_mode in (True, False):
        result = run(check_mode, **KEEP, results=str(results))
        assert (result["changed"], result["path"], path.exists()) == (True, str(path), not check_mode)
    assert result["intervals"] == 3
    kept = path.read_bytes()
    for check_mode in (True, False):
        again = run(check_mode, **KEEP, results=str(results))
        assert again["changed"] is False and path.read_bytes() == kept
    annex = record_files.read_annex(results, {"change": "smc-r-2026-11", "host": "aixapp1", "end": "client"})
    assert annex["files"][0]["intervals"][0]["begin"] == "2026-11-19T22:59:39.000000Z"
    other = run(**KEEP, results=str(results), host="lnxapp2", side="server", replace=True)
    assert other["path"].endswith("lnxapp2/cpu-server.json")


def test_files_in_utc_need_no_offset(tmp_path):
    sadf = str(FIXTURES.parent / "sysstat" / "sadf.json")
    result = run(src=sadf, change="x", results=str(tmp_path))
    assert (result["cpu"]["zone"], result["intervals"]) == ("UTC", 6)
    annex = record_files.read_annex(tmp_path, {"change": "x", "host": "aixapp1", "end": "client"})
    assert annex["files"][0]["intervals"][0]["begin"].startswith("2026-11-20T19:13:3")


def test_an_annex_that_is_broken_is_named_and_left_alone(tmp_path):
    path = tmp_path / "smc-r-2026-11" / "aixapp1" / "cpu-client.json"
    path.parent.mkdir(parents=True)
    for text, wrong in (
        ('{"schema": 1}', "this version reads an object with schema"),
        ('{"schema": ', "it is not JSON"),
    ):
        path.write_text(text)
        with pytest.raises(AnsibleActionFail, match=f"{path} cannot be used: {wrong}"):
            run(**KEEP, results=str(tmp_path))
        assert path.read_text() == text
