# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of tunings, and the evidence, from the events that Ansible sends."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.errors import AnsibleUndefinedVariable
from ansible_collections.zpower.sap_tuning.plugins.callback import tunings
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions import plays
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import trusted
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._answers.rows import rows_of
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import waivers, waiving

Make = Callable[..., Any]
"""Makes a callback."""

RECORD = {
    "name": "rps",
    "subject": "hsi0",
    "wanted": {},
    "before": {"running": {"rx-0": "0", "rx-1": "0"}, "stored": None, "next_boot": {"rps_cpus": "0"}},
    "after": {
        "running": {"rx-0": "f", "rx-1": "f"},
        "stored": {"udev rule": "rps_cpus=f"},
        "next_boot": {"rps_cpus": "f"},
    },
    "verdict": "changed",
    "reason": "3 values set and read back",
    "conflicts": [],
}
NOTHING = {"name": "rps", "subject": "all", "verdict": "compliant"}
COMPLIANT = {**RECORD, "verdict": "compliant"}
DRIFTED = {**RECORD, "verdict": "drifted", "reason": "hsi0 rx-0: 0, wanted f"}
HOSTS = ("app1", "app2", "app3")
WAIVER = {"tuning": "rps", "subject": "hsi*", "hosts": "db", "reason": "old", "owner": "Ada", "until": "2999-01-31"}


def call(*records: dict[str, Any], failing: object = None, **more: object) -> dict[str, Any]:
    """The result of the one call of all tunings of a host."""
    drift = [record["reason"] for record in records if record["verdict"] == "drifted"]
    evidence = {"tunings": {"rps": {}}, "tuning": rows_of(list(records)), "errors": [], "drift": drift, **more}
    told = {} if failing is None else {"failing": failing, "msg": "; ".join(map(str, failing))}
    return {"invocation": {"evidence": json.dumps(evidence)}, **told}


TASK = {"run_once": False, "ignore_unreachable": False}


def task(**more: Any) -> Any:
    name = {"action": "zpower.sap_tuning.tunings", "resolved_action": more.get("action"), **more}
    return SimpleNamespace(get_name=lambda: "Set values", **{**TASK, **name})


def outcome(host: str, result: dict[str, Any], its_task: Any = None) -> Any:
    """The outcome of a task of this collection; records are those of a single tuning, parsed by its action."""
    if "tuning" in result and its_task is None:
        its_task, result = task(action="zpower.sap_tuning.rps"), {**result, "tuning": rows_of(result["tuning"])}
    return SimpleNamespace(host=host, result=result, task=its_task or task())


class Stats:
    """As Ansible counts: failures that are rescued are not among failures."""

    def __init__(self, failures: Iterable[str] = (), unreachable: Iterable[str] = ()) -> None:
        self.counts = {"failures": Counter(failures), "unreachable": Counter(unreachable)}
        self.failures, self.dark = self.counts["failures"], self.counts["unreachable"]
        self.processed = dict.fromkeys(HOSTS, 1)

    def summarize(self, host: str) -> dict[str, int]:
        return {name: counter[host] for name, counter in self.counts.items()}


class Play:
    def __init__(
        self, hosts: Iterable[str] = HOSTS, batch: Iterable[str] | None = None, ident: str = "1", **variables: Any
    ) -> None:
        self.hosts, self._uuid = list(hosts), ident
        self._variables = variables
        self._inventory = self
        self._batch = list(hosts if batch is None else batch)
        self.processed_sources: list[str] = []
        self.get_path, self.get_name, self.get_loader = lambda: "/site/play.yml:1", lambda: "a play", lambda: None

    def get_hosts(self, hosts: list[str], ignore_restrictions: bool = False) -> list[str]:
        return hosts if ignore_restrictions else self._batch

    def get_variable_manager(self) -> Play:
        return self

    def get_vars(self, play: object = None, host: str | None = None) -> dict[str, Any]:
        return dict(self._variables)


class Display:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.colours: dict[str, str | None] = {}
        self.warnings: list[str] = []
        self.errors: list[str] = []
        self.verbosity = 0
        self.banner, self.warning, self.error = self.lines.append, self.warnings.append, self.errors.append

    def display(self, text: str, color: str | None = None) -> None:
        self.lines.append(text)
        self.colours[text] = color


@pytest.fixture
def shown() -> Display:
    """What the first callback of a test prints."""
    return Display()


@pytest.fixture
def callback(monkeypatch: pytest.MonkeyPatch, shown: Display) -> Make:
    monkeypatch.setattr(tunings.CallbackModule, "_owner", None)
    monkeypatch.setattr(tunings, "atexit", SimpleNamespace(register=lambda *_given: None))

    displays = iter([shown])

    def make(play: Play | None = None) -> Any:
        made = tunings.CallbackModule()
        made._display = next(displays, None) or Display()
        made.v2_playbook_on_play_start(play or Play(["app1"]))
        return made

    return make


def rows(one: Any) -> list[str]:
    """The rows of the table, without banner, header and the sentences below."""
    head = next(number for number, line in enumerate(one._display.lines) if line.startswith("host "))
    return [line for line in one._display.lines[head + 1 :] if "  " in line]


def ran(one: Any, *results: dict[str, Any], **others: dict[str, Any]) -> Any:
    """Send these results of app1, and one result of each other host, and end the run."""
    for host, result in [*(("app1", result) for result in results), *others.items()]:
        one.v2_runner_on_ok(outcome(host, result))
    one.v2_playbook_on_stats(Stats())
    return one


@pytest.fixture
def evidence(callback: Make, tmp_path: Path) -> Make:
    """A run with evidence: the callback; its document is read by ``document``."""

    def make(kind: str = "verify", hosts: Iterable[str] = HOSTS, **more: Any) -> Any:
        return callback(Play(hosts, zpower_evidence=kind, zpower_results=str(tmp_path), **more))

    return make


def document(folder: Path, kind: str = "verify") -> dict[str, Any]:
    (path,) = folder.glob(f"{kind}/*Z/{kind}.json")
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def test_without_a_lock_the_slice_is_kept_and_a_warning_says_so(
    evidence: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_handle: int, _operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    one = ran(evidence(hosts=["app1"], zpower_run="4711"), {"tuning": [RECORD]})
    (path,) = (tmp_path / "verify" / "run-4711" / "slices").iterdir()
    assert json.loads(path.read_text("utf-8"))["run"]["ended"]
    assert one._display.lines[-1] == f"Evidence: {path}"
    folder = path.parent.parent
    refused = f"the file system refuses the lock {folder}/.lock: No locks available"
    assert set(one._display.warnings) == {
        f"the slices of {folder} are not united: {refused}; zpower.sap_tuning.unite does it"
    }


def outcomes(found: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {host["host"]: (host["outcome"], host["message"]) for host in found["hosts"]}


class TestTable:
    def test_a_row_for_each_record_and_a_line_of_totals(self, callback: Make) -> None:
        one = ran(callback(), {"tuning": [RECORD]}, {"stdout": "tuning"})
        assert one._display.lines == [
            "TUNINGS",
            "host  tuning  subject  running  stored          next boot  verdict",
            "app1  rps     hsi0     0 → f    - → rps_cpus=f  0 → f      changed",
            "1 host: 1 ok. 1 row: 1 changed.",
        ]
        assert one._display.colours[one._display.lines[2]] == "yellow"

    @pytest.mark.parametrize("verbosity", [0, 1])
    def test_compliant_rows_are_counted_and_shown_with_v(self, callback: Make, verbosity: int) -> None:
        one = callback()
        one._display.verbosity = verbosity
        *shown, totals = ran(one, {"tuning": [COMPLIANT]})._display.lines
        assert sum("rps_cpus=f" in line for line in shown) == verbosity
        assert ("1 compliant row is not shown; -v shows them" in shown) is not bool(verbosity)
        assert (totals, one._display.colours[totals]) == ("1 host: 1 ok. 1 row: 1 compliant.", "green")

    def test_every_host_of_a_play_with_records_is_counted_and_no_other(self, callback: Make) -> None:
        one = callback(Play(["app1", "app2", "app3", "app4"]))
        one.v2_runner_on_unreachable(outcome("app2", {"msg": "no route"}))
        one.v2_runner_on_ok(outcome("app1", {"tuning": [RECORD]}))
        one.v2_runner_on_skipped(outcome("app3", {"skipped": True}))
        one.v2_playbook_on_play_start(Play(["localhost"], ident="2"))
        one.v2_runner_on_ok(outcome("localhost", {"msg": "a report"}))
        one.v2_playbook_on_stats(Stats(unreachable=["app2"]))
        assert [row.split()[0] for row in rows(one)] == ["app2", "app4", "app3", "app1"]
        assert [row.split("  ")[-1].strip() for row in rows(one)] == [
            "unreachable",
            "not reached",
            "skipped",
            "changed",
        ]
        assert "app2: no route" in one._display.lines
        assert one._display.lines[-1] == "4 hosts: 1 ok, 1 unreachable, 1 skipped, 1 not reached. 1 row: 1 changed."

    def test_an_empty_record_is_a_note_and_only_where_there_is_no_other(self, callback: Make, shown: Display) -> None:
        one = ran(callback(), {"tuning": [NOTHING]})
        assert shown.errors == [], "without evidence, there may be nothing to take back"
        assert "app1: nothing to take back of rps" in one._display.lines
        one.v2_playbook_on_play_start(Play(["app1"], ident="2"))
        one._display.lines.clear()
        ran(one, {"tuning": [NOTHING, RECORD]})
        assert [row.split()[2] for row in rows(one)] == ["hsi0"]
        assert not any("nothing" in line for line in one._display.lines)
        assert one._display.lines[-1] == "1 host: 1 ok. 1 row: 1 changed."

    def test_predictions_are_not_drift_once_nothing_is_left_to_roll_back(self, callback: Make) -> None:
        one = callback(Play(["app1", "app2"]))
        one.v2_runner_on_ok(outcome("app1", {"tuning": [DRIFTED]}))
        one.v2_runner_on_ok(outcome("app2", {"tuning": [DRIFTED]}))
        ran(one, {"tuning": [NOTHING]})
        assert [row.split()[0] for row in rows(one)] == ["app2"]
        assert "app1: nothing to take back of rps" in one._display.lines

    def test_a_tuning_that_does_not_apply_is_not_an_empty_record(self, callback: Make) -> None:
        one = callback()
        one._display.verbosity = 1
        reason = "RPS is a facility of the Linux kernel"
        record = dict(RECORD, subject="all", verdict="not_applicable", before={}, after={}, reason=reason)
        ran(one, {"tuning": [record]})
        assert rows(one)[0].split() == ["app1", "rps", "all", "-", "-", "-", "not", "applicable"]
        assert f"app1: {reason}" in one._display.lines

    def test_only_one_of_two_instances_prints(self, callback: Make) -> None:
        first, second = callback(), callback()
        for one in (first, second):
            ran(one, {"tuning": [RECORD]})
        assert first._display.lines and not second._display.lines

    def test_a_second_playbook_has_a_table_of_its_own_with_the_last_record_of_a_subject(self, callback: Make) -> None:
        one = ran(callback(), {"tuning": [RECORD]})
        one._display.lines.clear()
        one.v2_playbook_on_play_start(Play(["app2"], ident="2"))
        one.v2_runner_on_ok(outcome("app2", {"tuning": [RECORD]}))
        ran(one, app2={"tuning": [DRIFTED]})
        assert [(row.split()[0], row.split()[-1]) for row in rows(one)] == [("app2", "drifted")]

    @pytest.mark.parametrize(
        ("action", "resolved", "lines"),
        [
            ("zpower.sap_tuning.rps", None, 0),
            ("ansible.builtin.command", None, 0),
            ("tunings", "ansible.legacy.tunings", 0),
            ("tunings", "zpower.sap_tuning.tunings", 4),
        ],
    )
    def test_only_answers_that_an_action_of_this_collection_has_parsed_count(
        self, callback: Make, action: str, resolved: str | None, lines: int
    ) -> None:
        one = ran(callback())
        one.v2_playbook_on_play_start(Play(["app1"], ident="2"))
        answer = {**call(RECORD), **({"tuning": "text"} if action != "zpower.sap_tuning.rps" else {})}
        one.v2_runner_on_ok(outcome("app1", answer, task(action=action, resolved_action=resolved)))
        one.v2_playbook_on_stats(Stats())
        assert len(one._display.lines) == lines

    @pytest.mark.parametrize(
        "place", ["name", "subject", "verdict", "before", "after", "reason", "conflicts", "remarks"]
    )
    def test_a_record_of_other_types_costs_no_other_host_its_row(self, callback: Make, place: str) -> None:
        values = [None, 7, "text", ["x"], [["x"]], {"x": {}}, [{"x": [1]}], True]
        one = callback(Play([*(f"odd{at}" for at in range(len(values))), "app1"]))
        for at, value in enumerate(values):
            one.v2_runner_on_ok(outcome(f"odd{at}", {"tuning": [{**RECORD, "verdict": "failed", place: value}]}))
        ran(one, {"tuning": [RECORD]})
        assert [line for line in one._display.lines if line.startswith("app1")]

    def test_a_long_text_of_a_host_is_cut_and_has_no_control_characters(self, callback: Make) -> None:
        one = callback()
        hostile = "\x1b]0;title\x07\u202e\r" + "x" * 100_000
        tuning = {**RECORD, "name": hostile, "subject": hostile, "verdict": "failed", "reason": hostile}
        tuning |= {"before": {"running": {hostile: hostile}}, "remarks": [hostile], "conflicts": [{"file": hostile}]}
        one.v2_runner_on_failed(outcome("app1", {"msg": hostile, "tuning": [tuning]}))
        one.v2_playbook_on_stats(Stats(failures=["app1"]))
        assert rows(one) and all(line.isprintable() for line in one._display.lines)
        assert max(map(len, one._display.lines)) < 10_000


class TestRollout:
    """A play that rescues the failures of its hosts and ends a bad batch with one task that runs once."""

    def test_the_reason_for_the_stop_is_shown_once_and_is_not_an_error_of_a_host(
        self, evidence: Make, tmp_path: Path
    ) -> None:
        one = evidence("rollout", batch=["app1", "app2"])
        for host in ("app1", "app2"):
            one.v2_runner_on_ok(outcome(host, call(RECORD)))
        one.v2_runner_on_failed(outcome("app1", {"msg": "batch 1: app2 is slower"}, task(run_once=True)))
        one.v2_playbook_on_stats(Stats(failures=["app1"]))
        found = document(tmp_path, "rollout")
        assert outcomes(found) == {"app1": ("ok", ""), "app2": ("ok", ""), "app3": ("not_reached", "")}
        assert found["result"] == "error" and found["run"]["stopped"] == "batch 1: app2 is slower"
        assert found["headline"] == "Batch 1: app2 is slower; 1 host not reached."
        lines = [line for line in one._display.lines if "is slower" in line]
        assert lines == ["batch 1: app2 is slower"] and one._display.colours[lines[0]] == "red"

    def test_hosts_that_are_left_out_are_named_with_the_reason(self, evidence: Make, tmp_path: Path) -> None:
        one = evidence("rollout", ["app1"])
        left_out = {"app17": "left out by Ada Byron: a new machine comes in May"}
        begun = {"rollout": {"results": str(tmp_path), "change": "c1", "run": "r1", "left_out": left_out}}
        one.v2_runner_on_ok(outcome("app1", begun, task(action="zpower.sap_tuning.rollout", run_once=True)))
        ran(one, call(RECORD))
        found = document(tmp_path, "rollout")
        assert outcomes(found) == {"app1": ("ok", ""), "app17": ("skipped", left_out["app17"])}
        assert found["headline"] == "1 host is as requested, 1 skipped. Of 1 row, 1 changed."
        assert f"app17: {left_out['app17']}" in one._display.lines

    def test_a_good_end_and_a_rescued_task_stop_nothing(self, evidence: Make, tmp_path: Path) -> None:
        one = evidence("rollout", ["app1"])
        one.v2_runner_on_failed(outcome("app1", {"msg": "rescued"}, task(run_once=True)))
        one.v2_runner_on_failed(outcome("app1", {"msg": "ignored"}, task(run_once=True)), ignore_errors=True)
        ran(one, call(RECORD))
        found = document(tmp_path, "rollout")
        assert found["result"] == "compliant" and "stopped" not in found["run"]

    def test_a_host_is_lost_until_a_later_call_succeeds(self, evidence: Make, tmp_path: Path) -> None:
        one = evidence("rollout", ["crashed", "mended", "dark", "back", "broken", "ignored"])
        for host in ("crashed", "mended"):
            one.v2_runner_on_failed(outcome(host, {"msg": "no space left"}))
        for host in ("dark", "back"):
            one.v2_runner_on_unreachable(outcome(host, {"msg": "no route"}, task(ignore_unreachable=True)))
        one.v2_runner_on_failed(outcome("broken", call(errors=["rps: no"], failing=["rps: no"])))
        one.v2_runner_on_failed(outcome("ignored", {"msg": "no"}), ignore_errors=True)
        for host in ("mended", "back"):
            one.v2_runner_on_ok(outcome(host, call(RECORD)))
        one.v2_playbook_on_stats(Stats())
        assert outcomes(document(tmp_path, "rollout")) == {
            "crashed": ("failed", "no space left"),
            "mended": ("ok", ""),
            "dark": ("unreachable", "no route"),
            "back": ("ok", ""),
            "broken": ("failed", "rps: no"),
            "ignored": ("failed", "no"),
        }

    def test_hosts_of_a_batch_that_could_not_begin_are_not_reached(self, evidence: Make, tmp_path: Path) -> None:
        one = evidence("rollout", batch=["app1", "app2"])
        one.v2_runner_on_ok(outcome("app1", {"changed": True}, task(run_once=True)))
        one.v2_runner_on_failed(outcome("app1", {"msg": "the window is closed"}, task(run_once=True)))
        one.v2_playbook_on_stats(Stats(failures=["app1"]))
        assert outcomes(document(tmp_path, "rollout")) == dict.fromkeys(HOSTS, ("not_reached", ""))

    @pytest.mark.parametrize(
        ("later", "verdict"), [(COMPLIANT, "changed"), (DRIFTED, "drifted"), ({**RECORD, "reason": "back"}, "changed")]
    )
    def test_a_later_check_does_not_hide_what_was_changed(
        self, evidence: Make, tmp_path: Path, later: dict[str, Any], verdict: str
    ) -> None:
        one = evidence("rollout", ["app1"])
        for record in (DRIFTED, {**RECORD, "remarks": ["on probation"]}, later):
            one.v2_runner_on_ok(outcome("app1", call(record)))
        ran(one, call(NOTHING))
        (row,) = document(tmp_path, "rollout")["hosts"][0]["rows"]
        assert row["verdict"] == verdict
        assert row["reason"] == (RECORD if later is COMPLIANT else later)["reason"]
        assert row["remarks"] == later.get("remarks", [])  # it is confirmed


class TestEvidence:
    def test_the_json_is_there_from_the_start_and_all_files_at_the_end(self, evidence: Make, tmp_path: Path) -> None:
        one = evidence(batch=["app1"])
        evidence(batch=["app1"])  # of two instances, one writes
        found = document(tmp_path)
        assert found["result"] == "unfinished" and found["run"]["ended"] is None
        assert outcomes(found) == dict.fromkeys(HOSTS, ("not_reached", ""))
        assert [path.name for path in tmp_path.glob("verify/*/*")] == ["verify.json"]
        one.v2_playbook_on_stats(Stats())
        assert document(tmp_path)["run"]["ended"]
        endings = {path.suffix for path in tmp_path.glob("verify/*/*.*")}
        assert endings == {".json", ".csv", ".md", ".html", ".xml", ".prom"}

    def test_all_batches_of_a_play_are_one_document(self, evidence: Make, tmp_path: Path) -> None:
        one = evidence(batch=["app1"])
        one.v2_runner_on_ok(outcome("app1", call(COMPLIANT)))
        one.v2_playbook_on_play_start(Play(batch=["app2"], zpower_evidence="verify", zpower_results=str(tmp_path)))
        ran(one, app2=call(DRIFTED))
        found = document(tmp_path)
        assert [host["outcome"] for host in found["hosts"]] == ["ok", "ok", "not_reached"]
        assert found["result"] == "error" and found["run"]["ended"]
        assert one._display.lines[-1].startswith(f"Evidence: {tmp_path}/verify/")
        assert Path(one._display.lines[-1].removeprefix("Evidence: ")).read_text("utf-8").startswith("<!DOCTYPE html>")

    def test_plays_of_one_kind_are_united_and_other_kinds_apart(self, evidence: Make, tmp_path: Path) -> None:
        one = evidence("site", ["app1"])
        one.v2_runner_on_ok(outcome("app1", call(RECORD)))
        more = {"zpower_results": str(tmp_path / "elsewhere")}
        for ident, kind, host in (("2", "verify", "app1"), ("3", "site", "app2"), ("4", "verify", "app2")):
            one.v2_playbook_on_play_start(Play([host], ident=ident, zpower_evidence=kind, **more))
            one.v2_runner_on_ok(outcome(host, call(COMPLIANT)))
        one.v2_playbook_on_stats(Stats())
        site, verify = document(tmp_path, "site"), document(tmp_path / "elsewhere", "verify")
        for found in (site, verify):
            assert list(outcomes(found)) == ["app1", "app2"] and found["result"] == "compliant"
        assert site["totals"]["verdicts"]["changed"] == 1
        assert verify["totals"]["verdicts"]["changed"] == 0
        assert [line for line in one._display.lines if line.startswith("TUNINGS")] == [
            "TUNINGS (site)",
            "TUNINGS (verify)",
        ]

    @pytest.mark.parametrize(
        ("back", "kind"), [("yes", "rollback"), (True, "rollback"), (False, "verify"), (trusted("{{ x }}"), "verify")]
    )
    def test_a_check_of_a_complete_rollback_is_a_rollback_in_check_mode(
        self, evidence: Make, tmp_path: Path, back: object, kind: str
    ) -> None:
        one = evidence("verify", ["app1", "app2"], zpower_rollback=back)
        unused = {**COMPLIANT, "subject": "all"}
        waiting = {**DRIFTED, "verdict": "pending_restart"}
        ran(one, call(unused), app2=call(waiting))
        found = document(tmp_path, kind)
        assert found["run"]["kind"] == kind and found["run"]["check"]
        assert found["result"] == "drift", "a value that waits for a restart is not taken back yet"
        assert [len(host["rows"]) for host in found["hosts"]] == [0 if kind == "rollback" else 1, 1]

    def test_outcomes_follow_the_statistics(self, evidence: Make, tmp_path: Path) -> None:
        hosts = ["ignored", "rescued", "failed", "dark", "returned", "skipped", "looped", "silent"]
        one = evidence(hosts=hosts)
        one.v2_runner_on_failed(outcome("ignored", {"msg": "no"}), ignore_errors=True)
        one.v2_runner_on_failed(outcome("rescued", {"msg": "no"}))
        one.v2_runner_on_ok(outcome("rescued", {}))
        one.v2_runner_on_failed(outcome("failed", {"msg": "first"}))
        one.v2_runner_on_failed(outcome("failed", {"msg": "MODULE FAILURE", "module_stderr": "x\nKeyError: 1\n"}))
        one.v2_runner_on_unreachable(outcome("dark", {"msg": "Task failed: no route"}))
        one.v2_runner_on_unreachable(outcome("returned", {"msg": "no route"}, task(ignore_unreachable=True)))
        one.v2_runner_on_skipped(outcome("skipped", {"skipped": True}))
        items = [{"failed": False, "msg": ""}, {"failed": True, "msg": "second item"}]
        one.v2_runner_on_failed(outcome("looped", {"msg": "One or more items failed", "results": items}))
        one.v2_runner_on_failed(outcome("silent", {}))
        one.v2_playbook_on_stats(Stats(failures=["failed", "looped", "silent"], unreachable=["dark"]))
        assert outcomes(document(tmp_path)) == {
            "ignored": ("ok", ""),
            "rescued": ("ok", ""),
            "failed": ("failed", "MODULE FAILURE; KeyError: 1"),
            "dark": ("unreachable", "no route"),
            "returned": ("ok", ""),
            "skipped": ("skipped", ""),
            "looped": ("failed", "second item"),
            "silent": ("failed", "the task Set values failed"),
        }

    def test_a_task_that_runs_once_fails_the_hosts_of_its_batch(self, evidence: Make, tmp_path: Path) -> None:
        one = evidence(batch=["app1", "app2"])
        one.v2_runner_on_ok(outcome("app2", {}))
        one.v2_runner_on_failed(outcome("app1", {"msg": "no"}, task(run_once=True)))
        one.v2_playbook_on_stats(Stats(failures=["app1"]))
        found = outcomes(document(tmp_path))
        assert found == {"app1": ("failed", "no"), "app2": ("failed", "no"), "app3": ("not_reached", "")}

    def test_a_host_that_was_lost_in_an_earlier_play_says_why(self, callback: Make, tmp_path: Path) -> None:
        one = callback(Play())
        one.v2_runner_on_unreachable(outcome("app1", {"msg": "no route"}))
        one.v2_runner_on_failed(outcome("app2", {"msg": "rescued"}))
        one.v2_playbook_on_play_start(Play(ident="2", zpower_evidence="site", zpower_results=str(tmp_path)))
        one.v2_runner_on_ok(outcome("app2", call(COMPLIANT)))
        one.v2_playbook_on_stats(Stats(unreachable=["app1"]))
        assert outcomes(document(tmp_path, "site")) == {
            "app1": ("unreachable", "earlier in this run: no route"),
            "app2": ("ok", ""),
            "app3": ("not_reached", ""),
        }

    @pytest.mark.parametrize(
        ("result", "failure", "expected"),
        [
            (call(DRIFTED), {"failing": ["hsi0 rx-0: 0, wanted f"]}, "ok"),
            (call(COMPLIANT), {"failing": ["hsi0 rx-0: 0, wanted f"]}, "failed"),
            (call(DRIFTED), {}, "failed"),
            (call(DRIFTED), {"failing": "yes"}, "failed"),
            (call(DRIFTED, errors=["rps: no"]), {"failing": ["rps: no"]}, "failed"),
            ({"tuning": [DRIFTED]}, {"failing": ["hsi0 rx-0: 0, wanted f"]}, "failed"),
        ],
    )
    def test_drift_is_not_an_error_of_a_host(
        self, evidence: Make, tmp_path: Path, result: dict[str, Any], failure: dict[str, Any], expected: str
    ) -> None:
        one = evidence(hosts=["app1"])
        one.v2_runner_on_ok(outcome("app1", result))
        one.v2_runner_on_failed(outcome("app1", {"msg": "hsi0 rx-0: 0, wanted f", **failure}))
        one.v2_playbook_on_stats(Stats(failures=["app1"]))
        found = document(tmp_path)
        assert [outcome for outcome, _message in outcomes(found).values()] == [expected]
        assert found["result"] == ("drift" if expected == "ok" else "error")

    def test_a_later_play_says_that_drift_ended_the_run_of_a_host(self, evidence: Make, tmp_path: Path) -> None:
        one = evidence(hosts=["app1"])
        one.v2_runner_on_ok(outcome("app1", call(DRIFTED)))
        one.v2_runner_on_failed(outcome("app1", {"msg": "0, wanted f", "failing": ["0, wanted f"]}))
        one.v2_playbook_on_play_start(Play(["app1"], ident="2", zpower_evidence="site", zpower_results=str(tmp_path)))
        one.v2_playbook_on_stats(Stats(failures=["app1"]))
        assert outcomes(document(tmp_path, "verify")) == {"app1": ("ok", "")}
        assert outcomes(document(tmp_path, "site")) == {"app1": ("not_reached", "earlier in this run: 0, wanted f")}

    def test_errors_of_tunings_count_even_if_their_failure_is_ignored(self, evidence: Make, tmp_path: Path) -> None:
        one = evidence()
        wrong = call(errors=["rps: it is broken", "platform: no"])
        one.v2_runner_on_ok(outcome("app1", wrong))
        one.v2_runner_on_failed(outcome("app1", {"msg": "no"}), ignore_errors=True)
        one.v2_runner_on_ok(outcome("app2", call(errors=["rps: it is broken"])))
        one.v2_runner_on_ok(outcome("app2", call(tunings={"sap_profile": {}}, errors=["sap_profile: no"])))
        one.v2_runner_on_ok(outcome("app2", call(COMPLIANT)))
        one.v2_runner_on_ok(outcome("app3", call(DRIFTED, errors=["smc_r: it is broken"])))
        said = ["smc_r: it is broken", "0, wanted f"]
        one.v2_runner_on_failed(outcome("app3", {"msg": "; ".join(said), "failing": said}))
        one.v2_playbook_on_stats(Stats(failures=["app3"]))
        found = outcomes(document(tmp_path))
        assert found["app3"] == ("failed", "smc_r: it is broken"), "only the errors"
        assert found["app1"] == ("failed", "rps: it is broken; platform: no")
        assert found["app2"] == ("failed", "sap_profile: no")  # the last call of each tuning counts

    @pytest.mark.parametrize(
        "said",
        [
            "Task failed: Finalization of task args for 'zpower.sap_tuning.tunings' failed: Error while resolving "
            "value for 'names': The lookup plugin 'zpower.sap_tuning.tunings' failed: "
            "no tunings are chosen: set x. Or y",
            "An unhandled exception occurred while templating '{{ query('zpower.sap_tuning.tunings', names) }}'. "
            "Error was a <class 'ansible.errors.AnsibleError'>, original message: An unhandled exception occurred "
            "while running the lookup plugin 'zpower.sap_tuning.tunings'. Error was a <class "
            "'ansible.errors.AnsibleError'>, original message: "
            "no tunings are chosen: set x. Or y. no tunings are chosen: set x. Or y",
            "Task failed: no tunings are chosen: set x. Or y",
        ],
        ids=["2.19", "2.16", "no lookup"],
    )
    def test_a_lookup_of_this_collection_that_fails_is_quoted_without_what_ansible_puts_before_it(
        self, evidence: Make, tmp_path: Path, said: str
    ) -> None:
        one = evidence(hosts=["app1"])
        one.v2_runner_on_failed(outcome("app1", {"msg": said}))
        one.v2_playbook_on_stats(Stats(failures=["app1"]))
        assert outcomes(document(tmp_path)) == {"app1": ("failed", "no tunings are chosen: set x. Or y")}

    def test_facts_waivers_and_groups_come_with_the_call(self, evidence: Make, tmp_path: Path) -> None:
        one = evidence()
        known, problems = waivers.parse([WAIVER, {**WAIVER, "tuning": "rsp"}], ["rps"])
        more = {"platform": {"system": "Linux"}, "problems": problems}
        for host, group in (("app1", "db"), ("app2", "app"), ("app3", "app")):
            judged, uses, _demanded = waiving.judge(rows_of([DRIFTED]), known, [host, group], ())
            one.v2_runner_on_ok(outcome(host, call(tuning=judged, waivers=uses, **more)))
        with pytest.raises(SystemExit):  # the second waiver waives nothing
            one.v2_playbook_on_stats(Stats())
        found = document(tmp_path)
        assert [host["rows"][0]["verdict"] for host in found["hosts"]] == ["waived", "drifted", "drifted"]
        assert {json.dumps(host["platform"]) for host in found["hosts"]} == {'{"system": "Linux"}'}
        assert [waiver["state"] for waiver in found["waivers"]] == ["applied"]
        (problem,) = found["problems"]
        assert "entry 2: tuning is 'rsp'; is rps meant?" in problem and problem in one._display.lines

    def test_a_waiver_keeps_its_role_for_the_last_row_of_a_subject(self, evidence: Make, tmp_path: Path) -> None:
        known, _problems = waivers.parse([{**WAIVER, "hosts": "all"}])
        judged = [waiving.judge(rows_of([record]), known, ["all"], ())[:2] for record in (DRIFTED, COMPLIANT)]
        ran(evidence("rollout", ["app1"]), *(call(tuning=rows, waivers=uses) for rows, uses in judged))
        (use,) = document(tmp_path, "rollout")["waivers"]
        assert (use["state"], use["rows"]) == ("needless", 1)

    def test_an_unknown_word_ends_the_run(self, evidence: Make, tmp_path: Path, shown: Display) -> None:
        with pytest.raises(SystemExit) as ended:
            evidence("sites")
        assert ended.value.code == 2
        (said,) = shown.errors
        assert "zpower_evidence of the play 'a play' is 'sites'" in said and "verify, site, rollback" in said
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("when", ["folder", "template"])
    def test_evidence_that_cannot_be_written_ends_the_run_before_a_host_is_reached(
        self, callback: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str, shown: Display
    ) -> None:
        results = tmp_path / "results"
        if when == "folder":
            results.write_text("no folder")
        else:

            def undefined(_play: object, _host: object) -> Path:
                raise AnsibleUndefinedVariable("'x' is undefined")

            monkeypatch.setattr(plays, "results_folder", undefined)
        with pytest.raises(SystemExit) as ended:
            callback(Play(zpower_evidence="verify", zpower_results=str(results)))
        assert ended.value.code == 2
        (said,) = shown.errors
        assert said.startswith("the evidence of verify cannot be written: ")

    @pytest.mark.parametrize("failed", [[], ["app2"]])
    def test_evidence_that_cannot_be_written_at_the_end_fails_the_run_after_the_table(
        self, evidence: Make, tmp_path: Path, shown: Display, failed: list[str]
    ) -> None:
        one = evidence()
        one.v2_runner_on_ok(outcome("app1", call(DRIFTED)))
        (folder,) = tmp_path.glob("verify/*")
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
        folder.symlink_to(tmp_path)
        if failed:  # the exit code of Ansible says more
            one.v2_playbook_on_stats(Stats(failed))
        else:
            with pytest.raises(SystemExit) as ended:
                one.v2_playbook_on_stats(Stats())
            assert ended.value.code == 2
        (said,) = shown.errors
        assert said.startswith("the evidence of verify cannot be written: ")
        assert rows(one) and not any(line.startswith("Evidence") for line in shown.lines)

    @pytest.mark.parametrize(("form", "hosts"), [("none", []), ("json", ["app1"])])
    def test_the_format_of_the_table_does_not_matter_for_the_files(
        self, evidence: Make, tmp_path: Path, form: str, hosts: list[str]
    ) -> None:
        printed = [[{**rows_of([RECORD])[0], "host": host}] for host in hosts]
        one = evidence()
        one._format = form
        ran(one, call(RECORD, NOTHING))
        assert [json.loads(line) for line in one._display.lines] == printed
        assert document(tmp_path)["run"]["ended"]

    def test_a_refusal_of_a_later_play_keeps_what_came_before(
        self, evidence: Make, tmp_path: Path, shown: Display
    ) -> None:
        one = evidence("site", ["app1", "app2"])
        one.v2_runner_on_ok(outcome("app1", call(RECORD)))
        one.v2_runner_on_unreachable(outcome("app2", {"unreachable": True, "msg": "no route"}))
        with pytest.raises(SystemExit) as ended:
            one.v2_playbook_on_play_start(Play([], ident="2", zpower_evidence="verify"))
        assert ended.value.code == 4  # as Ansible would end for app2
        found = document(tmp_path, "site")
        assert found["run"]["ended"] and [host["outcome"] for host in found["hosts"]] == ["ok", "unreachable"]
        assert rows(one) and "no host matches" in shown.errors[0]

    def test_variables_that_cannot_be_read_end_the_run(self, callback: Make, shown: Display) -> None:
        class Broken(Play):
            def get_vars(self, play: object = None, host: str | None = None) -> dict[str, Any]:
                if host is not None:
                    raise OSError("vars.yml is gone")
                return super().get_vars()

        with pytest.raises(SystemExit):
            callback(Broken(zpower_evidence="verify"))
        assert shown.errors == ["the variables of the play 'a play' cannot be read: vars.yml is gone"]

    @pytest.mark.parametrize("given", [{"start_at_task": "x"}, {"skip_tags": ["always"]}])
    def test_wrong_variables_end_the_run_where_the_task_that_says_so_would_be_left_out(
        self, callback: Make, monkeypatch: pytest.MonkeyPatch, shown: Display, given: dict[str, Any]
    ) -> None:
        monkeypatch.setattr(tunings.context, "CLIARGS", given)
        with pytest.raises(SystemExit):
            callback(Play(zpower_evidence="verify", rps_evry=2))
        assert "did you mean rps_every?" in shown.errors[0]

    def test_a_run_in_which_every_host_is_skipped_fails(self, evidence: Make, tmp_path: Path, shown: Display) -> None:
        one = evidence(hosts=["app1", "app2"])
        for host in ("app1", "app2"):
            one.v2_runner_on_skipped(outcome(host, {"skipped": True}))
        with pytest.raises(SystemExit):
            one.v2_playbook_on_stats(Stats())
        assert shown.errors == [
            "nothing was done: no tuning is chosen for app1, app2, or the tags match none; check zpower_tunings"
        ]
        assert document(tmp_path)["run"]["ended"]

    def test_the_run_has_the_command_line(
        self, evidence: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        given = {"inventory": ("a.yml", "b.yml"), "subset": "app*", "tags": ("rps",), "skip_tags": ("x",)}
        given["check"] = True
        monkeypatch.setattr(tunings.context, "CLIARGS", given)
        monkeypatch.setattr(
            plays, "sources_of", lambda _inventory: [str(Path(name).resolve()) for name in given["inventory"]]
        )
        evidence("site")
        about = document(tmp_path, "site")["run"]
        expected = {"inventory": "a.yml, b.yml", "limit": "app*", "tags": ["rps"], "skip_tags": ["x"], "check": True}
        assert {key: about[key] for key in expected} == expected
        assert about["collection"] != "unknown"


@pytest.mark.parametrize("broken", ["Recording.document", "Recording.keep", "table.lines"])
def test_any_error_of_the_callback_is_a_sentence_and_an_exit_code(
    evidence: Make, monkeypatch: pytest.MonkeyPatch, shown: Display, broken: str
) -> None:
    one = evidence(hosts=["app1"])

    def fail(*_given: object, **_more: object) -> None:
        raise RecursionError("maximum recursion\x1b depth")

    monkeypatch.setattr(f"{tunings.__name__}.{broken}", fail)
    with pytest.raises(SystemExit) as ended:
        ran(one, call(RECORD))
    assert ended.value.code == 2 and any("RecursionError: maximum recursion depth" in said for said in shown.errors)


def test_an_interrupted_run_shows_once_what_has_arrived(evidence: Make, tmp_path: Path, shown: Display) -> None:
    one = evidence("site", ["app1", "app2"])
    one.v2_runner_on_ok(outcome("app1", call(RECORD)))
    one.v2_playbook_on_play_start(Play(["app1"], ident="2", zpower_evidence="verify", zpower_results=str(tmp_path)))
    one._interrupted(os.getpid() + 1)  # in a worker
    assert shown.lines == []
    for _kind in ("site", "verify"):  # each has told atexit of it
        one._interrupted(os.getpid())
    assert [line for line in shown.lines if line.startswith("TUNINGS")] == [
        "TUNINGS (site, unfinished)",
        "TUNINGS (verify, unfinished)",
    ]
    assert outcomes(document(tmp_path, "site")) == {"app1": ("ok", ""), "app2": ("not_reached", "")}
