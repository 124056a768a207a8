# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""openssl speed: the lines of -mr (printed by OpenSSL 3.0.19 of Debian 12), and the program itself."""

import os
import shutil

import pytest
from action_options import names_of
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.errors import MeasureError
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.host import openssl
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.round import rounds
from ansible_collections.zpower.sap_tuning.plugins.module_utils._measure.workloads import programs
from measuring import ALONE, errors, plan
from places import FIXTURES

OPTIONS = {"ciphers": ["aes-128-gcm"], "bytes": [1024], "processes": [1]}
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl on this machine")


def text_of(name):
    return (FIXTURES / "openssl" / name).read_text("utf-8")


def test_figures_of_one_process_two_processes_and_a_longer_time():
    metrics, elapsed = openssl.parse(text_of("aes-128-gcm_1024_x1.txt"), "aes-128-gcm", 1024, 1)
    assert metrics == {"units": 2148111, "kib_per_s": 2148111.0, "operations_per_s": 2148111.0}
    assert elapsed == 1.0
    two = text_of("aes-256-cbc_256_x2.txt")
    metrics, elapsed = openssl.parse(two, "aes-256-cbc", 256, 2)
    assert metrics == {"units": 2241964 + 2243926, "kib_per_s": 1121472.5, "operations_per_s": 4485890.0}
    assert elapsed == 1.0
    with pytest.raises(MeasureError, match="with 2 processes"):
        openssl.parse(two.replace("+R:2241964:AES-256-CBC:1.000000\n", ""), "aes-256-cbc", 256, 2)
    text = text_of("aes-128-xts_8192_x1.txt").replace(":1.000000", ":2.50").replace("12032368640", "4812947456")
    metrics, elapsed = openssl.parse(text, "aes-128-xts", 8192, 1)
    assert elapsed == 2.5 and metrics["operations_per_s"] == pytest.approx(1468795 / 2.5)


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("+R:", "-R:", "no result for aes-128-gcm with 1 process, its output began: .DT:AES-128-GCM"),
        ("AES-128-GCM", "AES-128-CBC", "no result"),
        ("+R:2148111", "+R:1148111", "contradicts itself: 2199665664 bytes a second, but its counts make 1175665664"),
        (":1.000000", ":0.000000", "no result"),
        ("2199665664.00", "nan", "no result"),
    ],
)
def test_what_is_missing_or_does_not_fit_is_never_a_figure(old, new, words):
    text = text_of("aes-128-gcm_1024_x1.txt")
    assert old in text
    with pytest.raises(MeasureError, match=words):
        openssl.parse(text.replace(old, new), "aes-128-gcm", 1024, 1)


def test_names_are_the_published_shapes():
    names = names_of("measure_workload", workload="openssl")
    assert len(names) == 18 and len(set(names)) == 18
    assert names[:3] == ["openssl-aes-128-gcm-256B", "openssl-aes-128-gcm-1024B", "openssl-aes-128-gcm-8192B"]
    shape = {"ciphers": ["rsa2048", "sha256"], "bytes": [256, 8192]}
    wanted = ["openssl-rsa2048", "openssl-sha256-256B", "openssl-sha256-8192B"]
    assert names_of("measure_workload", workload="openssl", openssl=shape) == wanted
    shape = {"ciphers": ["aes-256-xts"], "bytes": 8192, "processes": "4"}
    assert names_of("measure_workload", workload="openssl", openssl=shape) == ["openssl-aes-256-xts-8192B-x4"]
    with pytest.raises(ValueError):
        names_of("measure_workload", workload="openssl", openssl={"bytes": ["many"]})


def test_commands():
    begin = ["/o", "speed", "-mr", "-elapsed", "-seconds", "1", "-bytes", "256"]
    assert openssl.Speed("/o", "v", 1, "aes-128-cbc", 256).argv == begin + ["-evp", "aes-128-cbc"]
    assert openssl.Speed("/o", "v", 3, "aes-128-cbc", 256).argv == begin + ["-multi", "3", "-evp", "aes-128-cbc"]
    short = begin[:-2] + ["-multi", "2", "rsa4096"]
    assert openssl.Speed("/o", "v", 2, "rsa4096", 0).argv == short
    for wanted, seconds in ((0.1, "1"), (1.0, "1"), (2.6, "3"), (10.0, "10")):
        speed = openssl.Speed("/o", "v", 1, "aes-128-cbc", 256)
        speed.prepare(plan(run_seconds=wanted))
        assert speed.argv[speed.argv.index("-seconds") + 1] == seconds


def test_version_with_the_build_of_the_distribution(monkeypatch):
    with pytest.raises(MeasureError, match="/bin/echo is not openssl, it said: version"):
        programs.version("/bin/echo", *openssl.VERSION)
    for version in ("OpenSSL 3.0.19 27 Jan 2026", "OpenSSL 1.1.1l 24 Aug 2021 SUSE release 150500.17.1"):
        told = version.replace("1l 24", "1l  24").replace("27 Jan 2026", "27 Jan 2026 (Library: %s)" % version)
        monkeypatch.setattr(programs, "ask", lambda _argv, told=told: told + "\n")
        assert programs.version("openssl", *openssl.VERSION) == version


@pytest.mark.parametrize(
    "changed, words",
    [
        ({"ciphers": []}, "openssl.ciphers is"),
        ({"bytes": [256, 256]}, "openssl.bytes is .*only once"),
        ({"bytes": [0]}, "openssl.bytes has 0; it must be from 1 to 16777216"),
        ({"processes": [251]}, "openssl.processes has 251"),
        ({}, "openssl was not found in /nowhere: install it"),
    ],
)
def test_options_out_of_their_limits_or_no_openssl(changed, words):
    with pytest.raises(MeasureError, match=words):
        openssl.workloads(dict(OPTIONS, **changed), {"path": None}, "/nowhere")


def measured(workload):
    return rounds.measure_workload(workload, plan(run_seconds=1.0, runs=1, warmup=0, timeout=600.0), ALONE)


@pytest.mark.parametrize(
    "text", ["", "+F2:2:4096:600.0:11000.0\n", "+F2:2:2048:0.0:1.0\n", "Got: +F2:2:2048:6.0:1.0\n"]
)
def test_an_asymmetric_algorithm_without_a_result(text):
    with pytest.raises(MeasureError, match="no result for rsa2048"):
        openssl.parse_asymmetric(text, "rsa2048", 1)


@pytest.mark.gate
@needs_openssl
@pytest.mark.parametrize(
    "name, processes, figures",
    [
        ("aes-128-gcm", 2, ["kib_per_s", "operations_per_s", "units"]),
        ("sha3-256", 1, ["kib_per_s", "operations_per_s", "units"]),
        ("rsa2048", 1, ["operations_per_s", "verifications_per_s"]),
        ("ecdsap256", 2, ["operations_per_s", "verifications_per_s"]),
        ("ecdhp256", 2, ["operations_per_s"]),
    ],
)
def test_the_real_openssl(name, processes, figures):
    options = {"ciphers": [name], "bytes": [8192], "processes": [processes]}
    record = measured(openssl.workloads(options, {"path": None}, os.environ["PATH"])[0])
    run = record["runs"][0]
    assert (errors(record), sorted(run["metrics"])) == ([None], figures) and min(run["metrics"].values()) > 10
    if "units" in figures:
        assert run["metrics"]["kib_per_s"] == pytest.approx(run["metrics"]["operations_per_s"] * 8, rel=1e-4)
    assert record["workload"]["metric"]["name"] == figures[0] and run["elapsed_s"] > 0.9
    assert run["cpu"]["client"]["user_s"] > 0 and record["workload"]["version"].startswith("OpenSSL")


@pytest.mark.gate
@needs_openssl
def test_a_refusal_of_the_real_openssl_is_its_sentence():
    record = measured(openssl.Speed(shutil.which("openssl"), "v", 1, "aes-128-nosuch", 1024))
    assert "openssl ended with 1: " in errors(record)[0] and "aes-128-nosuch" in errors(record)[0]
