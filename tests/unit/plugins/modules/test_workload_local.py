# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module measure_workload with fio and openssl: this host alone, without a server."""

import os
import shutil

import pytest
from ansible_collections.zpower.sap_tuning.plugins.modules import measure_workload
from measuring import QUICK
from modules import caller

needs_fio = pytest.mark.skipif(not shutil.which("fio"), reason="no fio on this machine")


@pytest.fixture
def call(monkeypatch, capsys):
    return caller(measure_workload.main, monkeypatch, capsys)


@pytest.mark.gate
@needs_fio
def test_disks(call, tmp_path):
    files = {"directory": str(tmp_path), "patterns": ["randread"], "modes": ["direct"], "size_mib": 1}
    (record,) = call(workload="fio", fio=files, **QUICK)["records"]
    assert record["workload"]["name"] == "fio-randread-direct" and record["peer"] == "local"
    assert record["workload"]["metric"] == {"name": "iops", "unit": "requests/s", "better": "higher"}
    assert record["runs"][0]["ok"] and record["runs"][0]["metrics"]["units"] > 0
    assert os.listdir(str(tmp_path)) == []


@pytest.mark.gate
@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl on this machine")
def test_cryptography_rotates_and_takes_all_defaults_but_what_is_named(call):
    shapes = {"ciphers": ["aes-128-gcm"], "bytes": [256, 1024]}
    records = call(workload="openssl", openssl=shapes, round=2, **QUICK)["records"]
    assert [record["workload"]["name"] for record in records] == [
        "openssl-aes-128-gcm-1024B",
        "openssl-aes-128-gcm-256B",
    ]
    assert all(record["runs"][0]["ok"] for record in records)


@pytest.mark.gate
@needs_fio
def test_check_mode_measures_nothing(call, tmp_path):
    result = call(workload="fio", fio={"directory": str(tmp_path)}, _ansible_check_mode=True, **QUICK)
    assert result["records"] == [] and not result["changed"] and os.listdir(str(tmp_path)) == []


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"workload": "fio"}, "fio"),
        ({"workload": "fio", "fio": {}}, "directory"),
        ({"workload": "fio", "fio": {"directory": "/nowhere", "jobs": [99]}}, "fio.jobs has 99"),
        ({"workload": "fio", "fio": {"directory": "/tmp", "modes": ["fast"]}}, "fast"),
        ({"workload": "openssl", "openssl": {"ciphers": ["rot13"]}}, "rot13"),
        ({"workload": "openssl", "path": "/nowhere/openssl"}, "/nowhere/openssl is no executable file"),
        ({"workload": "openssl", "side": "server"}, "openssl has no server"),
    ],
)
def test_a_wrong_call_hears_what_is_wrong(call, arguments, words):
    result = call(**dict(QUICK, **arguments))
    assert result["failed"] and words in result["msg"]
