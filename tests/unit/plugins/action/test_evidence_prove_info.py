# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence that was changed, exchanged or taken out is told; what was written is proved."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import evidence_samples as samples
import pytest
from actions import run_action
from ansible.errors import AnsibleActionFail
from ansible_collections.zpower.sap_tuning.plugins.action import evidence_prove_info as action
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import COLLECTION, collection_version
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import files, signing, slices
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence.document import HostResult, build
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence.proving import (
    PROVED,
    SKIPPED,
    Note,
    Rules,
    prove,
)
from evidence_samples import row, run, waived, waiver
from jsonschema import Draft202012Validator
from sites import COMPLIANT, SCHEMA, Site

VERSION = collection_version(COLLECTION)
RULES = Rules(VERSION)
RUNS = tuple(f"verify/202611{day}T100000Z" for day in (20, 21, 22))


def write(results: Path, day: int = 20, formats: tuple[str, ...] = tuple(files.FORMATS), key: str = "") -> Path:
    """A run of that day, small, with a waived row."""
    begun = f"2026-11-{day}T10:00:00Z"
    rows = [row(verdict="drifted", sources=[], undo=None)]
    fields = run(begun=begun, ended=begun, collection=VERSION)
    accepted = waived(["app1"], [waiver(subject="*", hosts="app1")])
    folder = files.new_folder(results, "verify", begun)
    files.write(build(fields, ["app1"], {"app1": HostResult("ok", "", rows)}, accepted), folder, formats, key=key)
    return folder


@pytest.fixture(name="results")
def fixture_results(tmp_path: Path) -> Path:
    """Three runs in all formats."""
    for day in (20, 21, 22):
        write(tmp_path / "results", day)
    return tmp_path / "results"


def ssh_key(path: Path, phrase: str = "") -> str:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", phrase, "-f", str(path)], check=True)
    return str(path)


def signers(*keys: str, name: str = "ada@example.com") -> str:
    """The file of signers beside the first key."""
    path = Path(keys[0]).with_name("signers")
    path.write_text("".join(f"{name} {Path(f'{key}.pub').read_text()}" for key in keys))
    return str(path)


def told(results: Path, rules: Rules = RULES) -> dict[str, list[str]]:
    """The sentences of each run that has some."""
    found: dict[str, list[str]] = {}
    for note in prove(results, rules):
        if note.result != PROVED:
            found.setdefault(note.run, []).append(f"{note.result} {note.sentence}")
    return found


def test_what_was_written_is_proved_and_sha256sum_agrees(results: Path) -> None:
    assert prove(results, RULES) == [Note(name, PROVED, "") for name in RUNS]
    lists = [*results.rglob(files.SUMS)]
    assert len(lists) == 4
    for path in lists:
        done = subprocess.run(["sha256sum", "-c", files.SUMS], cwd=path.parent, check=False, capture_output=True)
        assert done.returncode == 0, done.stdout


def test_each_run_names_the_one_that_ended_before(results: Path) -> None:
    documents = [json.loads((results / name / "verify.json").read_text()) for name in RUNS]
    listed = files.read_sums(results / files.SUMS)
    first, second = (f"{name}/verify.json" for name in RUNS[:2])
    assert [document["run"]["previous"] for document in documents] == [
        None,
        {"path": first, "sha256": listed[first]},
        {"path": second, "sha256": listed[second]},
    ]
    for document in documents:
        Draft202012Validator(SCHEMA).validate(document)


@pytest.mark.parametrize("sample", [samples.site, samples.hostile, lambda **more: samples.fleet(20)])
def test_every_format_can_be_made_again_from_the_json(tmp_path: Path, sample: Any) -> None:
    made = sample()
    made["run"]["collection"] = VERSION
    # more than two values, in an order that JSON does not keep
    places = {"running": {f"rx-{number}": str(number % 9) for number in range(12)}, "stored": None, "next_boot": None}
    made["hosts"][0]["rows"][0] |= {"before": places, "after": {**places, "running": {"rx-10": "1", "rx-9": "2"}}}
    files.write(made, files.new_folder(tmp_path, "verify", "2026-11-20T10:00:00Z"))
    assert told(tmp_path) == {}


def changed(form: str) -> Callable[[Path], object]:
    """Another owner of the waiver in one format of the second run."""

    def change(results: Path) -> None:
        path = results / RUNS[1] / f"verify.{form}"
        path.write_text(path.read_text("utf-8").replace("Ada", "Eve"), "utf-8")

    return change


def unlist(results: Path, run_name: str) -> None:
    lines = (results / files.SUMS).read_text().splitlines(keepends=True)
    (results / files.SUMS).write_text("".join(line for line in lines if run_name not in line))


def take_out(results: Path, run_name: str) -> None:
    shutil.rmtree(results / run_name)
    unlist(results, run_name)


def exchange(results: Path) -> None:
    for name, other in ((RUNS[0], "verify/x"), (RUNS[1], RUNS[0]), ("verify/x", RUNS[1])):
        (results / name).rename(results / other)


LISTED = "it is missing, and SHA256SUMS of the results folder lists it"
OTHER = "the run before it is not the one that it names"


@pytest.mark.parametrize(
    ("change", "run_name", "said"),
    [
        *((changed(form), RUNS[1], f"verify.{form} was changed") for form in files.FORMATS),
        (lambda results: (results / RUNS[0] / "verify.md").unlink(), RUNS[0], "verify.md is missing"),
        (lambda results: (results / RUNS[1] / "verify.txt").touch(), RUNS[1], "verify.txt was added"),
        (lambda results: (results / RUNS[2] / files.SUMS).unlink(), RUNS[2], "SHA256SUMS is missing"),
        (lambda results: shutil.rmtree(results / RUNS[0]), RUNS[0], LISTED),
        (lambda results: shutil.rmtree(results / RUNS[2]), RUNS[2], LISTED),
        (lambda results: take_out(results, RUNS[0]), RUNS[1], OTHER),
        (lambda results: unlist(results, RUNS[2]), RUNS[2], "verify.json was added"),
        (exchange, RUNS[0], "verify.json was changed"),
        (exchange, RUNS[1], "verify.json was changed"),
    ],
)
def test_what_was_done_to_a_run_is_told(
    results: Path, change: Callable[[Path], object], run_name: str, said: str
) -> None:
    change(results)
    assert f"WRONG {said}" in told(results)[run_name]


def test_names_and_links_that_somebody_put_there(tmp_path: Path) -> None:
    folder = files.new_folder(tmp_path, "verify", "2026-11-20T10:00:00Z")
    (folder / os.fsdecode(b"\xff\x1b.txt")).write_text("x")
    files.write(build(run(collection=VERSION), ["app1"], {"app1": HostResult("ok", "", [row()])}), folder)
    assert told(tmp_path) == {}
    (folder / os.fsdecode(b"\xff\x1b.txt")).write_text("y")
    assert told(tmp_path)[RUNS[0]] == ["WRONG \udcff\x1b.txt was changed"]
    (folder / "verify.csv").unlink()
    (folder / "verify.csv").symlink_to(folder / "verify.md")
    os.mkfifo(folder / "verify.prom.x")  # reading it would wait for ever
    assert len(told(tmp_path)[RUNS[0]]) == 1


def forge(folder: Path, old: str, new: str) -> None:
    """Change the JSON, and all checksums with it."""
    path = folder / "verify.json"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    files._seal(folder, files.read_sums(folder.parents[1] / files.SUMS), "")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"result": "compliant"', '"result": "nothing"', "result does not follow from the rows"),
        ("1 waived.", "2 waived.", "headline does not follow from the rows"),
        ('"drifting_hosts": 0', '"drifting_hosts": 1', "totals does not follow from the rows"),
        ('"expired": false', '"expired": true', "app1: rps hsi0 is waived, unlike its waiver"),
        (
            '"until": "2026-12-10", "verdict"',
            '"until": "2026-12-11", "verdict"',
            "app1: rps hsi0 is waived, unlike its",
        ),
        ('"verdict": "drifted"}', '"verdict": "failed"}', "app1: rps hsi0 is waived, unlike its waiver"),
        ("Ada", "Eve", "verify.csv does not show what the JSON holds"),
        ('"wanted": {', '"wanted":  {', "verify.json does not show what the JSON holds"),
    ],
)
def test_verdicts_totals_and_formats_are_computed_again(results: Path, old: str, new: str, said: str) -> None:
    forge(results / RUNS[2], old, new)
    assert any(note.startswith(f"WRONG {said}") for note in told(results)[RUNS[2]])


def test_a_signature_holds_what_checksums_cannot(tmp_path: Path) -> None:
    key, other, results = ssh_key(tmp_path / "key"), ssh_key(tmp_path / "other"), tmp_path / "results"
    folder = write(results, key=key)
    good = Rules(VERSION, signers(key), "ada@example.com")
    assert told(results, good) == {}
    [wrong] = told(results, good._replace(identity="eve@example.com"))[RUNS[0]]
    assert wrong.startswith("WRONG the signature is not one of eve@example.com")
    signature = folder / files.SIGNATURE
    kept = signature.read_bytes()
    signature.write_bytes(signing.sign(folder / files.SUMS, other))
    assert any("not one of ada@example.com" in note for note in told(results, good)[RUNS[0]])
    signature.write_bytes(kept)
    (folder / files.SUMS).write_text((folder / files.SUMS).read_text() + "0" * 64 + "  more\n")
    assert any("not one of ada@example.com" in note for note in told(results, good)[RUNS[0]])
    write(results, 21)
    assert told(results, good)[RUNS[1]] == ["WRONG it is not signed"]
    # without the list of signers only the byte is noticed
    assert set(told(results)) == {RUNS[0]}


def test_a_key_in_the_agent_signs_by_its_public_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = ssh_key(tmp_path / "key")
    with tempfile.TemporaryDirectory() as folder:  # the path of a socket is short
        address = f"{folder}/agent"
        with subprocess.Popen(["ssh-agent", "-D", "-a", address], stdout=subprocess.DEVNULL) as agent:
            try:
                while not os.path.exists(address):
                    assert agent.poll() is None
                    time.sleep(0.05)
                monkeypatch.setenv("SSH_AUTH_SOCK", address)
                subprocess.run(["ssh-add", "-q", key], check=True, stdin=subprocess.DEVNULL)
                Path(key).unlink()
                write(tmp_path / "results", key=f"{key}.pub")
            finally:
                agent.terminate()
    assert told(tmp_path / "results", Rules(VERSION, signers(key), "ada@example.com")) == {}
    with pytest.raises(ValueError, match="which does not sign"):
        signing.sign(os.devnull, f"{key}.pub")


def test_old_and_unfinished_runs_are_skipped_and_prove_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, unfinished = (files.new_folder(tmp_path, "site", f"2026-11-2{day}T10:00:00Z") for day in (0, 1))
    files.write(build(run("site"), ["app1"], {}), old)
    (old / files.SUMS).unlink()
    (tmp_path / files.SUMS).unlink()
    files.write(build(run("site", ended=None), ["app1"], {}), unfinished, ["json"])
    found = run_action(action, {"results": str(tmp_path)})
    assert found["failed"] and found["msg"].startswith("Runs: 2 SKIPPED; signatures SKIPPED")
    assert capsys.readouterr().out.splitlines() == [
        "site/20261120T100000Z  SKIPPED  it has no checksums, as evidence of 0.9.0",
        "site/20261121T100000Z  SKIPPED  the run did not end",
        "Runs: 2 SKIPPED; signatures SKIPPED, because zpower_evidence_signers is not set",
    ]
    assert told(tmp_path, Rules(VERSION, "gone", "ada"))["site/20261120T100000Z"][-1] == "WRONG it is not signed"


def test_another_version_is_not_computed_again_and_that_is_said(results: Path) -> None:
    found = prove(results, Rules("9.0.0"))
    assert [note.result for note in found] == [SKIPPED] * 3
    assert found[0].sentence == f"verdicts and formats are those of version {VERSION}, and this is 9.0.0"
    (results / RUNS[0] / "verify.csv").touch()
    (results / RUNS[0] / "verify.csv").write_text("")
    assert "WRONG verify.csv was changed" in told(results, Rules("9.0.0"))[RUNS[0]]


def test_it_writes_nothing(results: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in results.rglob("*")}
    for path in before:
        path.chmod(path.stat().st_mode & 0o555)
    results.chmod(0o555)
    try:
        found = run_action(action, {"results": str(results)})
    finally:
        for path in (results, *before):
            path.chmod(0o755)
    assert not found["failed"] and not found["changed"] and found["msg"].startswith("Runs: 3 proved")
    assert {path: path.stat().st_mtime_ns for path in results.rglob("*")} == before


def test_signers_without_an_identity_are_refused(results: Path) -> None:
    with pytest.raises(AnsibleActionFail, match="evidence_signers, evidence_identity"):
        run_action(action, {"results": str(results), "evidence_signers": "x"})


def test_a_list_that_nobody_can_read_refuses_the_next_run(results: Path) -> None:
    (results / files.SUMS).write_text("no list\n")
    with pytest.raises(ValueError, match="SHA256SUMS is damaged"):
        write(results, 23)


def test_runs_that_end_at_once_stand_one_behind_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PATIENCE_S", 3600.0)
    threads = [threading.Thread(target=write, args=(tmp_path, day, ("json",))) for day in range(10, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = prove(tmp_path, RULES)
    assert len(found) == 10 and {note.result for note in found} == {PROVED}


def test_united_slices_keep_their_place(tmp_path: Path) -> None:
    def written(host: str, verdict: str) -> None:
        one = slices.new_slice(tmp_path, "verify", "w1", "2026-11-20T10:00:00Z")
        document = build(run(collection=VERSION), [host], {host: HostResult("ok", "", [row(verdict=verdict)])})
        slices.write(document, one)

    write(tmp_path, 20)
    written("app1", "compliant")
    written("app2", "compliant")
    assert told(tmp_path) == {}
    write(tmp_path, 21)
    slices.unite(tmp_path / "verify" / "run-w1", "verify", by_hand=True)
    assert told(tmp_path) == {}
    written("app2", "drifted")  # after a later run has named what it was
    assert told(tmp_path) == {RUNS[1]: ["WRONG the run before it is not the one that it names"]}
    next((tmp_path / "verify" / "run-w1" / "slices").iterdir()).unlink()
    assert any(note.endswith(".json is missing") for note in told(tmp_path)["verify/run-w1"])


@pytest.fixture(name="site")
def fixture_site(tmp_path: Path) -> Iterator[Site]:
    yield Site(tmp_path, {"app1": COMPLIANT})


@pytest.mark.gate
def test_a_run_is_signed_and_proved_by_its_playbooks(site: Site) -> None:
    ssh_key(site.folder / "key")
    status, text = site.play("zpower.sap_tuning.verify", "-e", "zpower_evidence_key=key")
    assert status == 0, text
    signed = ["-e", f"zpower_evidence_signers={signers(str(site.folder / 'key'))}", "-e", "zpower_evidence_identity="]
    signed[-1] += "ada@example.com"
    status, text = site.play("zpower.sap_tuning.prove", *signed)
    assert status == 0 and " proved" in text and "SKIPPED" not in text, text
    [page] = site.folder.glob("results/verify/*/verify.html")
    page.write_bytes(page.read_bytes().replace(b"app1", b"app2", 1))
    status, text = site.play("zpower.sap_tuning.prove", *signed)
    assert status == 2 and "WRONG  verify.html was changed" in text and "Runs: 1 WRONG" in text, text
