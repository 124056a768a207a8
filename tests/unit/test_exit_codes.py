# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each line of the table of exit codes in docs/codes_files_ports.md, run with the playbook that it names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from ansible_collections.zpower.sap_tuning.plugins.lookup.tunings import known_tunings
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import collection_version
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence.document import HostResult, build
from evidence_samples import row, run
from sites import CHECKOUT, COMPLIANT, DRIFTED, FAILED, WAIVER, Site, keeper, returned

PAGE = (CHECKOUT / "docs" / "codes_files_ports.md").read_text("utf-8")
LINE = re.compile(r"(?m)^\| `(\w+)` \| (.+?) \| (\d+) \|$")
NOT_REACHED = "Tunings of this host"
"""The name of the first task that goes to a host."""


class Case(NamedTuple):
    said: str = ""
    """What the output has to say."""
    answer: str = COMPLIANT
    """What the module on each host prints."""
    options: tuple[str, ...] = ()
    prepare: Callable[[Path], object] | None = None
    reached: bool = True
    after: Callable[[Path], object] | None = None
    """What holds in the folder afterwards."""


def write(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text)


def folder(name: str) -> Callable[[Path], object]:
    return lambda top: (top / name).mkdir(parents=True)


def evidence(dropped: str = "no such word") -> Callable[[Path], object]:
    """Evidence of a run, without a word in its JSON."""

    def made(top: Path) -> None:
        run_of_it = run(collection=collection_version(CHECKOUT))
        place = files.new_folder(top / "results", "verify", "2026-11-20T10:00:00Z")
        files.write(build(run_of_it, ["app1"], {"app1": HostResult("ok", "", [row()])}), place)
        path = place / "verify.json"
        path.write_text(path.read_text().replace(dropped, ""))

    return made


def extra(**variables: object) -> tuple[str, ...]:
    return ("-e", json.dumps(variables))


def left(*drift: str) -> str:
    return json.dumps({"changed": False, "tuning": [], "tunings": {}, "errors": [], "drift": list(drift)})


def of_all(verdict: str) -> str:
    """What the module prints that takes back all tunings: nothing to take back, but of rps."""
    found = json.loads(returned(verdict))
    unused = {"failed": False, "tuning": [{"name": "x", "subject": "all", "verdict": "compliant"}]}
    return json.dumps({**found, "tunings": {**dict.fromkeys(known_tunings(), unused), **found["tunings"]}})


def nothing_is_set(top: Path) -> None:
    rollout = json.loads((top / "results" / "rollouts" / "c1" / "rollout.json").read_text("utf-8"))
    assert rollout["result"] == "stopped"
    assert [host["values"] for batch in rollout["batches"] for host in batch["hosts"].values()] == ["unchanged"]


OBSERVED, UNSUPPORTED = returned("observed"), returned("unsupported")
WRONG_WAIVER = extra(zpower_waivers=[{**WAIVER, "until": "soon"}])
CASES = {
    ("verify", "all values are as requested"): Case("1 ok"),
    ("verify", "a value is not as requested"): Case("hsi0 rx-0: drifted", DRIFTED),
    ("verify", "a value is not as requested, and `zpower_drift` is `warn`"): Case(
        "1 drifted", DRIFTED, extra(zpower_drift="warn")
    ),
    ("verify", "a value that is only observed differs"): Case("1 observed", OBSERVED),
    ("verify", "a value that is only observed differs, and `zpower_observed` is `fail`"): Case(
        "hsi0 rx-0: observed (zpower_observed is fail)", OBSERVED, extra(zpower_observed="fail", zpower_drift="warn")
    ),
    ("verify", "the host does not support a requested value"): Case("1 unsupported", UNSUPPORTED),
    ("verify", "the host does not support a requested value, and `zpower_unsupported` is `fail`"): Case(
        "hsi0 rx-0: unsupported (zpower_unsupported is fail)", UNSUPPORTED, extra(zpower_unsupported="fail")
    ),
    ("verify", "a waiver accepts the value"): Case(
        "1 waived", DRIFTED, extra(zpower_waivers=[{**WAIVER, "hosts": "app1"}])
    ),
    ("verify", "an entry of `zpower_waivers` has a mistake; all hosts are checked"): Case(
        "zpower_waivers, entry 1: until is 'soon'; the last day", options=WRONG_WAIVER
    ),
    ("verify", "a value could not be read"): Case("rps: the journal is broken", FAILED),
    ("verify", "a host could not be reached"): Case(
        "1 unreachable", options=extra(ansible_remote_tmp="/dev/null/nowhere")
    ),
    ("verify", "no host has a chosen tuning"): Case(
        "nothing was done: no tuning is chosen for app1",
        # nothing of the platform was asked either
        options=("-e", '{"zpower_tunings": []}', "--skip-tags", "platform"),
    ),
    ("verify", "`--tags` matches no tuning"): Case("--tags rsp matches none of", options=("--tags", "rsp")),
    ("verify", "the inventory does not exist; no host is reached"): Case(
        "gone.yml does not exist, so hosts may be missing", options=("-i", "gone.yml"), reached=False
    ),
    ("verify", "one of two inventories cannot be read; no host is reached"): Case(
        "second.yml cannot be read as an inventory",
        options=("-i", "second.yml"),
        prepare=write("second.yml", "[broken\n"),
        reached=False,
    ),
    ("verify", "the inventory has no host"): Case(
        "no host matches all", options=("-i", "hosts.yml"), prepare=write("hosts.yml", "all: {}\n"), reached=False
    ),
    ("verify", "`zpower_hosts` matches no host"): Case(
        "no host matches ap1", options=extra(zpower_hosts="ap1"), reached=False
    ),
    ("verify", "`--limit` matches no host"): Case("limit", options=("--limit", "ap1"), reached=False),
    ("verify", "the evidence cannot be written; no host is reached"): Case(
        "the evidence of verify cannot be written: ", prepare=write("results", "a file"), reached=False
    ),
    ("verify", "`zpower_results_command` is not a list; no host is reached"): Case(
        "zpower_results_command cannot be called", options=extra(zpower_results_command="keep"), reached=False
    ),
    ("verify", "`zpower_results_command` fails"): Case(
        "failed with exit code 3", options=extra(zpower_results_command=["./keep"]), prepare=lambda top: keeper(top, 3)
    ),
    ("site", "nothing to change, or everything was set"): Case("1 ok"),
    ("site", "a value could not be set"): Case("rps: the journal is broken", FAILED),
    ("site", "a value that is only observed differs, and `zpower_observed` is `fail`"): Case(
        "hsi0 rx-0: observed (zpower_observed is fail)", OBSERVED, extra(zpower_observed="fail")
    ),
    ("site", "the host does not support a requested value, and `zpower_unsupported` is `fail`"): Case(
        "hsi0 rx-0: unsupported (zpower_unsupported is fail)", UNSUPPORTED, extra(zpower_unsupported="fail")
    ),
    ("site", "an entry of `zpower_waivers` has a mistake; nothing is set"): Case(
        "zpower_waivers, entry 1: until is 'soon'; the last day", returned("changed"), WRONG_WAIVER
    ),
    ("rollback", "everything was taken back"): Case("1 ok", of_all("changed")),
    ("rollback", "a value was left alone, because somebody else has changed it"): Case(
        "hsi0 rx-0: drifted", of_all("drifted")
    ),
    ("confirm", "a host has taken its values back"): Case("hsi0 rx-0: drifted", DRIFTED),
    ("rollout", "`rollout_change` is missing"): Case("rollout_change is not set"),
    ("rollout", "the change window is closed"): Case(
        "The change window closed",
        options=extra(rollout_change="c1", rollout_not_before="2001-01-01 10:00", rollout_not_after="2001-01-01 11:00"),
    ),
    ("rollout", "a value that is only observed differs, and `zpower_observed` is `fail`; nothing is set"): Case(
        "batch 1 stops after preflight: app1: hsi0 rx-0: observed (zpower_observed is fail)",
        OBSERVED,
        extra(rollout_change="c1", zpower_observed="fail"),
        after=nothing_is_set,
    ),
    ("leftovers", "nothing is left"): Case(answer=left()),
    ("leftovers", "something is left"): Case("something is left on this host", left("a journal")),
    ("captures", "the folder of captures does not exist"): Case("gone", options=extra(zpower_captures="gone")),
    ("measure", "no host has a `measure_peer`"): Case(
        "no host of this play has a measure_peer", options=extra(zpower_change="c1", measure_phase="before")
    ),
    ("before_after", "a tag is given"): Case("tag", options=("--tags", "rps", *extra(zpower_change="c1"))),
    ("experiment", "no host has a `measure_peer`"): Case(
        "no host of this play has a measure_peer", options=extra(zpower_change="c1")
    ),
    ("calibrate", "a tag is given"): Case("--tags", options=("--tags", "rps")),
    ("calibrate", "`--start-at-task` matches no task"): Case("no task was selected", options=("--start-at-task", "x")),
    ("report", "the change does not exist; nothing is written"): Case(
        "there is no measurement record of change c1", options=("--tags", "rps", *extra(zpower_change="c1"))
    ),
    ("report", "the change has no records"): Case(
        "NO DATA", options=extra(zpower_change="c1"), prepare=folder("results/c1")
    ),
    ("trend", "no change has records"): Case(
        options=("--tags", "rps", *extra(trend_changes=["c1"])), prepare=folder("results/c1")
    ),
    ("scaling", "the change has no records"): Case(
        options=("--tags", "rps", *extra(zpower_change="c1")), prepare=folder("results/c1")
    ),
    ("diff", "there is no run to compare"): Case("results", options=("--tags", "rps")),
    ("prove", "no file was changed"): Case("Runs: 1 proved", options=("--tags", "rps"), prepare=evidence()),
    ("prove", "a file was changed"): Case("WRONG verify.json was changed", prepare=evidence(" is compliant")),
    ("prove", "there is no evidence"): Case("results holds no evidence", options=("--tags", "rps")),
    ("unite", "there is no run of this name"): Case("r1", options=("--tags", "rps", *extra(zpower_run="r1"))),
}
LINES = LINE.findall(PAGE)


def test_each_line_of_the_page_has_a_case_and_each_playbook_a_line() -> None:
    assert [line[:2] for line in LINES] == list(CASES)
    assert {line[0] for line in LINES} == {path.stem for path in (CHECKOUT / "playbooks").glob("*.yml")}


@pytest.mark.parametrize(("playbook", "what", "code"), LINES)
def test_the_playbook_ends_with_the_code_of_the_page(tmp_path: Path, playbook: str, what: str, code: str) -> None:
    case = CASES[playbook, what]
    site = Site(tmp_path, {"app1": case.answer})
    before = {path.name for path in tmp_path.iterdir()}
    if case.prepare:
        case.prepare(tmp_path)
    status, text = site.play(f"zpower.sap_tuning.{playbook}", *case.options)
    said = " ".join(text.split())
    assert status == int(code), text
    assert case.said in said
    assert case.reached or NOT_REACHED not in said
    if case.after:
        case.after(tmp_path)
    if what.endswith("nothing is written"):
        assert {path.name for path in tmp_path.iterdir()} == before
