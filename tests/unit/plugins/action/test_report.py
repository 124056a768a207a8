# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report action: what it writes, what it returns, when it fails, and what it says when it cannot."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from actions import run_action
from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.zpower.sap_tuning.plugins.action import measurement_report as action
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions import reporting
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import trusted
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import RENDERERS
from records_factory import Plan, change_tunings, load, make_change, make_record, write_change

CHANGE = "rps-2026-11"
SMALL = Plan(change=CHANGE, effect=-0.15)


def run(arguments: dict[str, Any], check: bool = False, **variables: Any) -> dict[str, Any]:
    return run_action(action, arguments, check, {"groups": {"all": ["app1", "app2"]}, **variables})


@pytest.fixture(name="results")
def fixture_results(tmp_path: Path) -> Path:
    write_change(tmp_path, make_change(SMALL), change_tunings(SMALL))
    return tmp_path


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_it_writes_every_format_and_says_the_verdict(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = {"results": str(results), "change": CHANGE, "repeat": "make again"}
    result = run(arguments, check=True)
    assert result["changed"] is True and result["verdict"] == "IMPROVED"
    assert files(results / CHANGE) == {}
    said: list[str] = []
    monkeypatch.setattr(action.ActionModule, "say", lambda _self, lines: said.extend(lines))
    result = run(arguments)
    assert said == [f"IMPROVED: {result['msg']}", str(results / CHANGE / "report.html")]
    assert "make again" in (results / CHANGE / "report.html").read_text()
    assert result["changed"] is True
    assert not result.get("failed")
    assert result["verdict"] == result["verdict_text"] == "IMPROVED"
    assert result["msg"] == result["headline"]
    assert result["counts"]["IMPROVED"] == 2
    assert result["measured"] == ["app1", "app2"]
    assert result["not_measured"] == []
    assert list(result["paths"]) == list(RENDERERS)
    for form, path in result["paths"].items():
        assert path == str(results / CHANGE / f"report.{form}")
        assert Path(path).stat().st_mode & 0o777 == 0o644
    assert json.loads(Path(result["paths"]["json"]).read_text())["verdict"] == "IMPROVED"
    json.dumps(result)
    # a second run changes nothing
    before, touched = files(results / CHANGE), (results / CHANGE / "report.html").stat().st_mtime_ns
    for check in (True, False):
        assert run(arguments, check=check)["changed"] is False
    assert files(results / CHANGE) == before
    assert (results / CHANGE / "report.html").stat().st_mtime_ns == touched


def test_the_page_of_a_batch_has_the_limit_of_its_guard(tmp_path: Path) -> None:
    """The guard of a rollout judges the CPU cost with a limit of its own."""
    records = list(make_change(replace(SMALL, cpu_noise=0.001)))
    for run in (run for record in records if record["phase"] == "after" for run in record["runs"]):
        for side in filter(None, run["cpu"].values()):
            side.update({name: 1.08 * side[name] for name in ("user_s", "system_s", "softirq_s")})
    write_change(tmp_path, records)
    templar = Templar(loader=DataLoader())
    for variables, dearer in (({}, True), ({"__report_cpu_pct": "{{ 1000 }}"}, False)):
        given = {"results": str(tmp_path), "change": CHANGE, "formats": ["md"]}
        run_action(action, given, False, {"groups": {}, **trusted(variables)}, templar)
        assert ("costs more CPU time" in (tmp_path / CHANGE / "report.md").read_text()) is dearer


def test_the_users_command_gets_the_folder(results: Path) -> None:
    program = [sys.executable, "-c", "import pathlib, sys; pathlib.Path(sys.argv[1], 'seen').touch()"]
    arguments = {"results": str(results), "change": CHANGE, "results_command": json.dumps(program)}
    run(arguments, check=True)
    assert not (results / CHANGE / "seen").exists()
    assert not run(arguments).get("warnings")
    assert (results / CHANGE / "seen").exists()
    failed = run({**arguments, "results_command": [sys.executable, "-c", "import sys; sys.exit(3)"]})
    assert not failed.get("failed") and "failed with exit code 3" in failed["warnings"][0]


@pytest.mark.parametrize(
    ("given", "facts", "said"),
    [
        ("keep", {}, "zpower_results_command is 'keep'; it must be a list of the program"),
        (["keep"], {"zpower_results_command": ["keep"]}, "app1 has the fact zpower_results_command, which is the name"),
    ],
)
def test_a_command_that_cannot_be_used_is_refused(results: Path, given: object, facts: object, said: str) -> None:
    with pytest.raises(AnsibleActionFail, match=said):
        run({"results": str(results), "change": CHANGE, "results_command": given}, ansible_facts=facts)
    assert not (results / CHANGE / "report.html").exists()


def test_one_byte_that_differs_is_mended_and_only_the_formats_asked_for(results: Path) -> None:
    arguments = {"results": str(results), "change": CHANGE, "formats": ["md", "json"]}
    result = run(arguments)
    assert set(files(results / CHANGE)) == {"report.md", "report.json"}
    assert set(result["paths"]) == {"md", "json"}
    path = results / CHANGE / "report.md"
    good = path.read_bytes()
    for wrong in (good + b"x", good[:-1], b"", good.replace(b"IMPROVED", b"REGRESSE", 1)):
        path.write_bytes(wrong)
        assert run(arguments, check=True)["changed"] is True
        assert path.read_bytes() == wrong
        assert run(arguments)["changed"] is True
        assert path.read_bytes() == good


@pytest.mark.parametrize(
    ("effect", "rounds", "fail_on", "failed"),
    [
        (0.3, 6, "never", False),
        (0.3, 6, "regressed", True),
        (0.3, 6, "inconclusive", True),
        (-0.3, 6, "inconclusive", False),
        (-0.3, 3, "regressed", False),
        (-0.3, 3, "inconclusive", True),
    ],
)
def test_fail_on_fails_after_writing(tmp_path: Path, effect: float, rounds: int, fail_on: str, failed: bool) -> None:
    write_change(tmp_path, make_change(Plan(change=CHANGE, effect=effect, rounds=rounds)))
    result = run({"results": str(tmp_path), "change": CHANGE, "fail_on": fail_on})
    assert result.get("failed", False) is failed
    assert len(files(tmp_path / CHANGE)) == len(RENDERERS)
    if failed:
        assert result["msg"].startswith(f"{result['verdict']}: ")
        assert f"fail_on is {fail_on}" in result["msg"]


def test_a_change_without_a_folder_is_an_error_that_says_what_there_is(results: Path) -> None:
    for name in ("verify", "rollouts"):  # evidence and states, not changes
        (results / name).mkdir()
    arguments = {"results": str(results), "change": "rsp-2026-11"}
    for name, words in (("", "holds 1 other change: rps-2026-11"), ("\x1b[2J\x07gone", "gone")):
        (results / name).mkdir(exist_ok=True)
        with pytest.raises(AnsibleActionFail) as error:
            run(arguments, ansible_play_hosts_all=["app1"])
        assert "there is no measurement record of change rsp-2026-11" in str(error.value)
        assert "is rps-2026-11 meant?" in str(error.value) and words in str(error.value)
        assert str(error.value).isprintable()
    assert not (results / "rsp-2026-11").exists()


def test_a_change_without_records_is_no_data(results: Path) -> None:
    (results / "rsp-2026-11").mkdir()
    arguments = {"results": str(results), "change": "rsp-2026-11"}
    result = run(arguments, ansible_play_hosts_all=["app1"])
    assert result["verdict"] == "NO DATA" and result["failed"]
    assert result["msg"].startswith("NO DATA: there is no measurement record of change rsp-2026-11 in ")
    assert [entry["host"] for entry in result["not_measured"]] == ["app1", "app2"]
    assert len(files(results / "rsp-2026-11")) == len(RENDERERS)
    assert run(arguments, ansible_play_hosts_all=["app1"])["changed"] is False
    # it proves nothing, but check mode measures nothing, and a play that tried to measure has failed itself
    assert not run(arguments, __report_measured=True).get("failed")
    assert run({**arguments, "fail_on": "inconclusive"}, __report_measured=True)["failed"]
    nowhere = {**arguments, "results": str(results / "nowhere"), "fail_on": "inconclusive"}
    assert not run(nowhere, check=True).get("failed")
    assert not (results / "nowhere").exists()


def test_hosts_of_the_play_and_the_inventory_are_accounted_for_unless_others_are_expected(results: Path) -> None:
    arguments = {"results": str(results), "change": CHANGE}
    play = {
        "ansible_play_hosts_all": ["app1", "app2", "db1", "erp7"],
        "ansible_play_hosts": ["app1", "app2", "db1"],
        "groups": {"all": ["app1", "app2", "db1", "erp7", "web1", "localhost"]},
    }
    result = run(arguments, **play)
    reasons = {entry["host"]: entry["reason"] for entry in result["not_measured"]}
    assert list(reasons) == ["db1", "erp7", "web1"]
    assert "no record" in reasons["db1"]
    assert reasons["erp7"] == action.FAILED
    assert reasons["web1"] == action.LEFT_OUT
    result = run({**arguments, "expected_hosts": ["app1", "db9"]}, **play)
    assert [entry["host"] for entry in result["not_measured"]] == ["db9"]


def test_a_broken_record_is_a_warning_and_a_problem(results: Path) -> None:
    (results / CHANGE / "app1" / "before-1-pingpong-1000B-app2.json").write_text("{")
    for number in range(7):
        (results / CHANGE / "app1" / f"\x1b[31m{number}.txt").write_text("")
    result = run({"results": str(results), "change": CHANGE})
    assert len(result["warnings"]) == reporting.PROBLEMS_SHOWN + 1
    assert result["warnings"][-1] == "3 more problems are in the files"
    assert "\x1b" not in "".join(result["warnings"])
    report = json.loads((results / CHANGE / "report.json").read_text())
    assert len(report["problems"]) == 8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"change": "../outside"}, "../outside"),
        ({"change": ""}, "change"),
        ({"change": CHANGE, "material_pct": 0}, "material_pct"),
        ({"results": "/proc", "change": "tty"}, "the report cannot be written into /proc/tty: "),
    ],
)
def test_values_that_cannot_be_used_are_one_sentence(results: Path, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(AnsibleActionFail) as caught:
        run({"results": str(results), **arguments})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None  # ansible-core 2.21 prints a cause behind the sentence


@pytest.mark.parametrize("arguments", [{}, {"change": CHANGE, "formats": ["pdf"]}, {"change": CHANGE, "fail": "never"}])
def test_wrong_options_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(AnsibleError):
        run(arguments)


def test_a_full_disk_leaves_the_old_report_and_nothing_else(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run({"results": str(results), "change": CHANGE})
    (results / CHANGE / "report.html").write_text("old")
    before = files(results / CHANGE)

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(AnsibleActionFail, match="No space left on device"):
        run({"results": str(results), "change": CHANGE})
    assert files(results / CHANGE) == before


def test_links_lead_nowhere(results: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "precious").write_text("mine")
    (results / CHANGE / "report.html").symlink_to(outside / "precious")
    run({"results": str(results), "change": CHANGE})
    assert (outside / "precious").read_text() == "mine"
    assert not (results / CHANGE / "report.html").is_symlink()
    (results / "linked").symlink_to(outside)
    with pytest.raises(AnsibleActionFail, match="symbolic link"):
        run({"results": str(results), "change": "linked"})
    assert list(files(outside)) == ["precious"]


class TestRepeat:
    def test_it_is_the_run_without_its_extra_variables(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.chdir(tmp_path)
        arguments = {
            "inventory": (str(tmp_path / "in ventory.yml"), "/etc/hosts.yml"),
            "subset": "sap:&prod",
            "args": ("zpower.sap_tuning.before_after",),
            "extra_vars": ("password=hunter2",),
        }
        command = action.repeat_command(arguments)
        inventory = "-i 'in ventory.yml' -i /etc/hosts.yml --limit 'sap:&prod'"
        assert command.splitlines()[0] == f"ansible-playbook {inventory} zpower.sap_tuning.before_after"
        assert "hunter2" not in command

    def test_a_run_that_only_reports_names_the_playbook_that_measures(self) -> None:
        site = {"inventory": ("site",)}
        for given in (("zpower.sap_tuning.report",), ("/x/playbooks/report.yml",), "localhost"):
            found = action.repeat_command({**site, "args": given})
            assert found == "ansible-playbook -i site zpower.sap_tuning.before_after"
        found = action.repeat_command({**site, "args": ("zpower.sap_tuning.report",)}, "experiment")
        assert found == "ansible-playbook -i site zpower.sap_tuning.experiment"

    @pytest.mark.parametrize(
        ("given", "remarked"),
        [
            (("zpower_change=rps-1",), False),
            (("zpower_change=rps-1", "measure_rounds=9"), True),
            (("@vars.yml",), True),
        ],
    )
    def test_a_name_of_the_change_alone_is_missing_from_no_command(self, given: Any, remarked: bool) -> None:
        command = action.repeat_command({"args": ("zpower.sap_tuning.before_after",), "extra_vars": given})
        assert ("extra variables (-e)" in command) == remarked

    @pytest.mark.parametrize(
        ("tool", "tunings", "playbook"),
        [("pingpong", [{}], "before_after"), ("pingpong", [], "measure"), ("import", [], ""), ("import", [{}], "")],
    )
    def test_what_measures_it_again_depends_on_the_records(self, tool: str, tunings: list[Any], playbook: str) -> None:
        loaded = load([make_record([50.0, 50.0])])
        records = [replace(item, workload=item.workload._replace(tool=tool)) for item in loaded.records]
        loaded = replace(loaded, records=records, tunings=tunings)
        assert action.measured_by(loaded) == playbook
        assert action.measured_by(replace(loaded, records=[], tunings=[])) == "before_after"
        assert action.measured_by(replace(loaded, experiment={"any": "plan"})) == "experiment"

    def test_the_records_of_a_guard_belong_to_their_rollout(self, tmp_path: Path) -> None:
        def found(change: str) -> bool:
            return action.of_rollout({"results": str(tmp_path), "change": change})

        assert not found("r1-batch-1")
        (tmp_path / "rollouts" / "r1").mkdir(parents=True)
        (tmp_path / "rollouts" / "r1" / "rollout.json").touch()
        assert found("r1-batch-1") and found("r1-batch-12-2")
        assert not found("r1") and not found("-batch-1") and not found("r2-batch-1")
