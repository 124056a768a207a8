# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slices of one run: united hosts, totals, result and waivers, whatever order and processes they come in."""

from __future__ import annotations

import errno
import fcntl
import json
import multiprocessing
import os
import platform
from datetime import date
from pathlib import Path
from typing import Any

import evidence_samples as samples
import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import files, slices
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence.choosing import Runs
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence.slices import united
from documents import schema_errors
from evidence_samples import build, result, row, run, waiver

FORMATS = {f"verify.{form}" for form in files.FORMATS}


def part(verdicts: dict[str, str], waivers: Any = None, kind: str = "verify", **more: Any) -> dict[str, Any]:
    """A slice with one row per host."""
    results = {
        host: result("ok", "", [row(verdict=verdict)], accepted=waivers, names=[host])
        for host, verdict in verdicts.items()
    }
    return build(run(kind, **more), results, results)


def stored(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "verify.json").read_text("utf-8"))
    return found


def test_slices_are_what_one_run_would_have_been() -> None:
    whole = samples.site()
    kept = {"schema", "run", "problems", "waivers"}
    halves = []
    for odd in (0, 1):
        hosts = [host for number, host in enumerate(whole["hosts"]) if number % 2 == odd]
        halves.append({**{key: whole[key] for key in kept}, "hosts": hosts})
    made = united("verify", halves)
    waivers = made.pop("waivers")
    assert made == {key: value for key, value in whole.items() if key != "waivers"}
    assert [one["state"] for one in waivers] == [one["state"] for one in whole["waivers"]]


def test_times_and_result_are_those_of_all_slices() -> None:
    first = part({"app2": "compliant"}, begun="2026-11-20T10:00:00Z", ended="2026-11-20T10:09:00Z")
    second = part({"app1": "drifted"}, begun="2026-11-20T10:00:05Z", ended="2026-11-20T10:02:00Z", limit="app1")
    made = united("verify", [first, second])
    assert (made["run"]["begun"], made["run"]["ended"]) == ("2026-11-20T10:00:00Z", "2026-11-20T10:09:00Z")
    assert made["run"]["limit"] is None and made["problems"] == []
    assert made["result"] == "drift" and made["headline"] == "1 of 2 hosts is not compliant."
    assert [host["host"] for host in made["hosts"]] == ["app1", "app2"]
    assert schema_errors("evidence", made) == []
    # it is unfinished until all known slices have ended
    made = united("verify", [second, build(run(ended=None), ["app2"], {})])
    assert made["run"]["ended"] is None and made["result"] == "unfinished"
    assert made["totals"]["outcomes"]["not_reached"] == 1


def test_the_later_slice_of_a_host_counts_and_a_sentence_says_so() -> None:
    killed = build(run(ended=None), ["app1", "app2"], {})
    again = part({"app1": "compliant", "app2": "drifted"}, begun="2026-11-20T11:00:00Z", ended="2026-11-20T11:01:00Z")
    made = united("verify", [killed, again])
    assert made["problems"] == ["in more than one slice (the last begun counts): app1, app2"]
    assert made["result"] == "drift"  # nothing of the killed slice is left
    assert made["run"]["begun"] == "2026-11-20T10:00:00Z"
    partly = part({"app1": "compliant"}, begun="2026-11-20T11:00:00Z", ended="2026-11-20T11:01:00Z")
    assert united("verify", [killed, partly])["result"] == "unfinished"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"collection": "0.2.0"}, "with different versions of the collection: 0.1.0, 0.2.0"),
        ({"tags": ["rps"]}, "with different tags"),
        ({"check": True}, "with and without check mode"),
    ],
)
def test_doubtful_parts_are_named(more: dict[str, Any], words: str) -> None:
    made = united("site", [part({"app1": "changed"}, kind="site"), part({"app2": "changed"}, kind="site", **more)])
    (sentence,) = made["problems"]
    assert words in sentence and made["run"]["check"] is False


@pytest.mark.parametrize(
    ("first", "second", "state", "rows"),
    [
        ("drifted", "drifted", "applied", 2),
        ("compliant", "drifted", "applied", 1),
        ("compliant", "compliant", "needless", 2),
        ("", "drifted", "applied", 1),
        ("", "", "unused", 0),
    ],
)
def test_waivers_are_united(first: str, second: str, state: str, rows: int) -> None:
    value = [waiver(subject="hsi0", hosts="*")]
    parts = []
    for host, verdict in (("app1", first), ("app2", second)):
        records = [row(verdict=verdict)] if verdict else []
        parts.append(build(run(), [host], {host: result("ok", "", records, accepted=value)}))
    (one,) = united("verify", parts)["waivers"]
    assert (one["state"], one["rows"]) == (state, rows)


def test_different_waivers_stay_apart_and_mistakes_are_shown_once() -> None:
    owners = {"app1": "Ada Byron", "app2": "Grace Hopper"}
    given = {host: [waiver(owner=owner), waiver(tuning="rsp")] for host, owner in owners.items()}
    made = united("verify", [part({host: "compliant"}, given[host]) for host in owners])
    assert [one["owner"] for one in made["waivers"]] == [*owners.values()]
    assert len(made["problems"]) == 1


def test_a_folder_holds_the_slices_and_the_united_files(tmp_path: Path) -> None:
    ours = slices.new_slice(tmp_path, "verify", "4711", "2026-11-20T10:00:00Z")
    slices.write(build(run(ended=None), ["app1"], {}), ours)
    folder = tmp_path / "verify" / "run-4711"
    assert stored(folder)["result"] == "unfinished"
    other = slices.new_slice(tmp_path, "verify", "4711", "2026-11-20T10:00:00Z")
    slices.write(part({"app2": "compliant"}), other)
    assert stored(folder)["result"] == "unfinished"
    written = slices.write(part({"app1": "compliant"}), ours)[1]
    assert written.paths["html"] == str(folder / "verify.html")
    assert stored(folder)["headline"] == "All 2 hosts are compliant."
    assert {path.name for path in folder.iterdir()} == FORMATS | {slices.FOLDER, slices.LOCK, files.SUMS}
    assert {path.name for path in (folder / "slices").iterdir()} == {ours.name, other.name}


def test_a_slice_that_cannot_be_read_leaves_the_run_unfinished(tmp_path: Path) -> None:
    ours = slices.new_slice(tmp_path, "verify", "1", "2026-11-20T10:00:00Z")
    endless = part({"app2": "drifted"}, [waiver()])
    endless["waivers"][0]["days_left"] = 10**400
    for name, text in (
        ("a", json.dumps({"schema": "zpower.sap_tuning/evidence/9"})),
        ("b", "{"),
        ("c", json.dumps(part({"app9": "changed"}, kind="site"))),
        ("d", json.dumps(endless)),
    ):
        ours.with_name(f"20260101T000000Z-{name}.json").write_text(text, "utf-8")
    slices.write(part({"app1": "compliant"}), ours)
    made = stored(ours.parents[1])
    assert made["result"] == "unfinished" and [host["host"] for host in made["hosts"]] == ["app1"]
    told = {"a": "schema is 'zpower.sap_tuning/evidence/9'", "b": "it is not JSON", "c": "is of site"}
    told["d"] = "; it must be a whole number"
    for (name, words), problem in zip(told.items(), made["problems"], strict=True):
        assert f"20260101T000000Z-{name}.json" in problem and words in problem


DEEP = '{"schema": ' + "[" * 900 + "]" * 900 + "}"
FOREIGN: dict[str, tuple[str, str]] = {
    "nested": (DEEP, "nested too deeply"),
    "large": (" " * 100_000, "more than the 99999 bytes"),
    "of another run": (json.dumps({**part({"app2": "drifted"}), "run": {**run(), "name": "8"}}), "of the run '8'"),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_a_foreign_file_is_left_out_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    text, said = FOREIGN[what]
    monkeypatch.setattr(files, "LARGEST_FILE", 99_999)
    ours = slices.new_slice(tmp_path, "verify", "7", "2026-11-20T10:00:00Z")
    slices.write(part({"app1": "compliant"}), ours)
    ours.with_name("20260101T000000Z-a.json").write_text(text, "utf-8")
    made, _written, (sentence,), _late = slices.unite(ours.parents[1], "verify")
    assert said in sentence and sentence in made["problems"] and made["result"] == "unfinished"


def test_each_slice_is_named_and_a_late_one_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, other, forged = (slices.new_slice(tmp_path, "verify", "7", "2026-11-20T10:00:00Z") for _number in range(3))
    slices.write(part({"app1": "compliant"}), ours)
    slices.write(part({"app2": "compliant"}), other)
    made = stored(ours.parents[1])
    assert schema_errors("evidence", made) == [] and made["problems"] == []
    assert schema_errors("evidence", json.loads(ours.read_text("utf-8"))) == []
    assert {use["file"]: use["late"] for use in made["slices"]} == {ours.name: False, other.name: False}
    assert {use["controller"] for use in made["slices"]} == {platform.node()}
    sums = [f"{use['sha256']}  slices/{use['file']}" for use in made["slices"]]
    assert {*sums} <= {*(ours.parents[1] / files.SUMS).read_text().splitlines()}
    # somebody adds one, and the next honest process unites it; then again
    forged.write_text(json.dumps(part({"app3": "compliant"}, begun="2026-11-23T10:00:00Z")), "utf-8")
    for _time in range(2):
        slices.write(part({"app2": "drifted"}), other)
        made = stored(ours.parents[1])
        (sentence,) = made["problems"]
        assert forged.stem in sentence and "unknown controller" in sentence and "2026-11-23 10:00:00" in sentence
        assert [use["file"] for use in made["slices"] if use["late"]] == [forged.name]
    page = (ours.parents[1] / "verify.html").read_text("utf-8")
    assert platform.node() in page and "late" in page
    # or swaps one before its own process unites it
    unite = slices.unite
    changed = other.with_name("changed")

    def swapping(*given: Any) -> slices.Union:
        changed.write_text(other.read_text("utf-8").replace("rx-0", "rx-2"), "utf-8")
        changed.replace(other)
        return unite(*given)

    monkeypatch.setattr(slices, "unite", swapping)
    assert any(other.stem in doubt for doubt in slices.write(part({"app2": "drifted"}), other)[3])
    monkeypatch.undo()
    # or changes that of somebody else
    ours.write_text(ours.read_text("utf-8").replace("rx-0", "rx-1"), "utf-8")
    assert any(ours.stem in doubt for doubt in slices.unite(ours.parents[1], "verify")[3])


NASTY = "a\x1b[31mb\x00\x0b\ufffe\u202e\ud800\n# c"


def test_what_somebody_else_put_into_a_slice_reaches_no_terminal_and_no_ticket(tmp_path: Path) -> None:
    one = slices.new_slice(tmp_path, "verify", "nightly", "2026-11-20T10:00:00Z")
    document = part({"app1": "drifted"})
    document["run"]["begun"], document["problems"] = NASTY, [NASTY]
    one.write_text(json.dumps(document), "utf-8")
    (one.parent / os.fsdecode(b"\xff\x1b.json")).write_text("no JSON", "utf-8")
    made, written, *_doubts = slices.unite(one.parents[1], "verify")
    assert len(made["problems"]) == 2 and all(map(str.isprintable, made["problems"]))
    ticket = Path(written.paths["md"]).read_text("utf-8")
    assert ticket.replace("\n", "").isprintable() and "\n# c" not in ticket


def test_without_a_slice_there_is_nothing_to_unite_and_a_link_is_refused(tmp_path: Path) -> None:
    ours = slices.new_slice(tmp_path, "verify", "1", "2026-11-20T10:00:00Z")
    with pytest.raises(ValueError, match="slices holds no slice of verify"):
        slices.unite(ours.parents[1], "verify")
    other = ours.parents[1].with_name("run-2")
    with pytest.raises(ValueError, match="run-2 has no slices"):
        slices.unite(other, "verify")
    assert not other.exists()
    other.symlink_to(tmp_path)
    with pytest.raises(ValueError, match="symbolic link"):
        slices.new_slice(tmp_path, "verify", "2", "2026-11-20T10:00:00Z")


@pytest.mark.parametrize(("code", "said"), [(errno.ENOLCK, "refuses the lock"), (errno.EWOULDBLOCK, "for 0 s")])
def test_without_a_lock_slices_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, said: str) -> None:
    def refuse(_handle: int, _operation: int) -> None:
        raise OSError(code, "refused")

    monkeypatch.setattr(fcntl, "flock", refuse)
    monkeypatch.setattr(slices, "PATIENCE_S", 0.0)
    ours = slices.new_slice(tmp_path, "verify", "1", "2026-11-20T10:00:00Z")
    with pytest.raises(slices.NotUnitedError, match=said):
        slices.write(part({"app1": "compliant"}), ours)
    assert not (ours.parents[1] / "verify.json").exists()
    if code == errno.EWOULDBLOCK:
        with pytest.raises(slices.NotUnitedError, match=said):
            slices.unite(ours.parents[1], "verify")
        monkeypatch.undo()
    slices.unite(ours.parents[1], "verify")
    assert stored(ours.parents[1])["result"] == "compliant"


@pytest.mark.parametrize(
    ("value", "name"), [(None, ""), ("", ""), (4711, "4711"), ("4711-12", "4711-12"), ("week 5", None), (True, None)]
)
def test_the_name_of_a_run(value: object, name: str | None) -> None:
    if name is None:
        with pytest.raises(ValueError, match="zpower_run is "):
            slices.run_name(value)
    else:
        assert slices.run_name(value) == name


def run_slice(results: Path, number: int) -> None:
    """What one process does, with a host of its own."""
    host = f"app{number}"
    ours = slices.new_slice(results, "verify", "7", "2026-11-20T10:00:00Z")
    slices.write(build(run(ended=None), [host], {}), ours)
    slices.write(part({host: "compliant"}), ours)


@pytest.mark.gate
def test_processes_that_write_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=run_slice, args=(tmp_path, number)) for number in range(1, 9)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(processes)
    assert stored(tmp_path / "verify" / "run-7")["headline"] == "All 8 hosts are compliant."


def test_differences_find_united_runs_by_their_time(tmp_path: Path) -> None:
    ours = slices.new_slice(tmp_path, "verify", "zz", "2026-11-20T10:00:00Z")
    slices.write(part({"app1": "compliant"}), ours)
    for begun in ("2026-11-19T10:00:00Z", "2026-11-21T10:00:00Z"):
        files.write(part({"app1": "drifted"}, begun=begun, ended=begun), files.new_folder(tmp_path, "verify", begun))
    (tmp_path / "verify" / "run-empty").mkdir()
    runs = Runs(tmp_path, "verify", date(2026, 11, 22))
    assert runs.names == ["20261121T100000Z", "run-zz", "20261119T100000Z"]
    first, second = runs.pair("previous", "latest")
    assert (first.name, second.name) == ("run-zz", "20261121T100000Z")
    assert runs.find("from", "2026-11-20").name == runs.find("from", "run-zz").name == "run-zz"
    assert [found.name for found in runs.pair("previous", "run-zz")] == ["20261119T100000Z", "run-zz"]
