# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence of real runs of the playbooks. The Python of a host is a script that prints the result of a module."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

CHECKOUT = Path(__file__).resolve().parents[4]
SCHEMA = json.loads((CHECKOUT / "docs" / "schemas" / "evidence-1.schema.json").read_text(encoding="utf-8"))
PLACES = {"running": {"rx-0": "0"}, "stored": None, "next_boot": {"rps_cpus": "0"}}
WAIVER = {
    "tuning": "rps",
    "subject": "hsi*",
    "hosts": "old",
    "reason": "replaced",
    "owner": "Ada",
    "until": "2999-12-31",
}


def returned(verdict: str, **more: Any) -> str:
    """What the module prints on a host with one row."""
    row = {"name": "rps", "subject": "hsi0", "verdict": verdict, "before": PLACES, "after": PLACES, "restart": "none"}
    row["reason"] = "" if verdict == "compliant" else f"hsi0 rx-0: {verdict}"
    result = {"failed": False, "msg": "", "changed": False, "tuning": [row], "diff": {}, **more}
    return json.dumps({"changed": False, "tunings": {"rps": result}, "tuning": [], "platform": {"system": "Linux"}})


COMPLIANT, DRIFTED = returned("compliant"), returned("drifted")
FAILED = returned("compliant", failed=True, msg="the journal is broken", tuning=[])
CRASHED = "Traceback: no space left"


class Site:
    """An inventory in a folder, and runs of playbooks there."""

    def __init__(self, folder: Path, hosts: dict[str, str], **variables: Any) -> None:
        self.folder = folder
        common = {"ansible_connection": "local", "ansible_become": False, "zpower_tunings": ["rps"], **variables}
        about: dict[str, dict[str, Any]] = {}
        for name, output in hosts.items():
            about[name] = {"ansible_python_interpreter": str(self.script(name, output))}
            if name.startswith("lost"):
                about[name]["ansible_remote_tmp"] = "/dev/null/nowhere"
        inventory = {
            "all": {
                "vars": common,
                "hosts": about,
                "children": {"old": {"hosts": {name: {} for name in hosts if name == "app2"}}},
            }
        }
        (folder / "hosts.yml").write_text(json.dumps(inventory))
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("ZPOWER_")},
            "ANSIBLE_COLLECTIONS_PATH": str(CHECKOUT / ".cache" / "collections"),
            "ANSIBLE_NOCOLOR": "1",
        }

    def script(self, name: str, output: str) -> Path:
        """A program that prints a text; without one it runs until the file ``wait`` is gone."""
        path = self.folder / f"python-{name}"
        action = f"cat <<'END'\n{output}\nEND" if output else f"while [ -e '{self.folder}/wait' ]; do sleep 0.1; done"
        path.write_text(f"#!/bin/sh\n{action}\n")
        path.chmod(0o755)
        return path

    def command(self, *arguments: str) -> list[str]:
        program = os.path.join(os.path.dirname(sys.executable), "ansible-playbook")
        return [program, "-i", "hosts.yml", *arguments]

    def play(self, *arguments: str) -> tuple[int, str]:
        """Exit code and output, the table last."""
        done = subprocess.run(
            self.command(*arguments), cwd=self.folder, env=self.environment, check=False, capture_output=True, text=True
        )
        return done.returncode, done.stderr + done.stdout

    def evidence(self, kind: str = "verify") -> dict[str, Any]:
        """The only document of a kind; all formats are there, and the schema is kept."""
        (folder,) = (self.folder / "results" / kind).iterdir()
        expected = {f"{kind}.{form}" for form in ("json", "csv", "md", "html", "xml", "prom")}
        assert {path.name for path in folder.iterdir()} == expected
        found: dict[str, Any] = json.loads((folder / f"{kind}.json").read_text(encoding="utf-8"))
        Draft202012Validator(SCHEMA).validate(found)
        return found


def outcomes(found: dict[str, Any]) -> dict[str, str]:
    return {host["host"]: host["outcome"] for host in found["hosts"]}


def verdicts(found: dict[str, Any]) -> dict[str, list[str]]:
    return {host["host"]: [row["verdict"] for row in host["rows"]] for host in found["hosts"]}


@pytest.mark.parametrize(("drift", "code", "result"), [("fail", 2, "drift"), ("warn", 0, "drift")])
def test_drift_is_told_from_errors(tmp_path: Path, drift: str, code: int, result: str) -> None:
    site = Site(tmp_path, {"app1": DRIFTED, "app2": DRIFTED, "app3": COMPLIANT}, zpower_waivers=[WAIVER])
    status, text = site.play("zpower.sap_tuning.verify", "-e", f"zpower_drift={drift}")
    assert status == code, text
    found = site.evidence()
    assert outcomes(found) == {"app1": "ok", "app2": "ok", "app3": "ok"}
    assert verdicts(found) == {"app1": ["drifted"], "app2": ["waived"], "app3": ["compliant"]}
    assert found["result"] == result and found["problems"] == []
    assert found["hosts"][0]["platform"] == {"system": "Linux"}
    *_others, totals, explained, path = text.rstrip().splitlines()
    assert totals == "3 hosts: 3 ok. 3 rows: 1 drifted, 1 waived, 1 compliant."
    assert (CHECKOUT / explained.removeprefix("Messages explained: ").split()[0]).is_file()
    assert (tmp_path / path.removeprefix("Evidence: ")).is_file()


def test_hosts_that_failed_or_could_not_be_reached_are_in_it(tmp_path: Path) -> None:
    hosts = {"app1": COMPLIANT, "app2": FAILED, "app3": CRASHED, "lost1": COMPLIANT}
    site = Site(tmp_path, hosts, zpower_waivers=[{**WAIVER, "tuning": "rsp"}])
    status, text = site.play("zpower.sap_tuning.verify")
    assert status == 4, text
    found = site.evidence()
    assert outcomes(found) == {"app1": "ok", "app2": "failed", "app3": "failed", "lost1": "unreachable"}
    assert found["result"] == "error"
    messages = {host["host"]: host["message"] for host in found["hosts"]}
    assert messages["app2"] == "rps: the journal is broken"
    assert messages["app3"] and "/dev/null/nowhere" in messages["lost1"]
    (problem,) = found["problems"]
    assert "tuning is 'rsp'; is rps meant?" in problem and problem in text
    table = text.partition("\nTUNINGS ")[2].splitlines()
    assert [line.split()[0] for line in table[2:5]] == ["app2", "app3", "lost1"]


def test_all_hosts_failed(tmp_path: Path) -> None:
    site = Site(tmp_path, {"app1": CRASHED, "app2": CRASHED})
    status, text = site.play("zpower.sap_tuning.site")
    assert status == 2, text
    found = site.evidence("site")
    assert outcomes(found) == {"app1": "failed", "app2": "failed"}
    assert found["result"] == "error" and found["run"]["ended"]


def test_a_users_playbook_with_batches_and_imports(tmp_path: Path) -> None:
    hosts = {"app1": COMPLIANT, "app2": CRASHED, "app3": COMPLIANT}
    site = Site(tmp_path, hosts)
    imported = [
        {"ansible.builtin.import_playbook": "zpower.sap_tuning.verify", "vars": {"zpower_hosts": name}}
        for name in ("app1", "app3")
    ]
    rollout = {"hosts": "all", "gather_facts": False, "serial": 1, "vars": {"zpower_evidence": "site"}}
    rollout["roles"] = ["zpower.sap_tuning.tune"]
    (tmp_path / "play.yml").write_text(json.dumps([*imported, rollout]))
    # both copies of the callback are loaded
    site.environment["ANSIBLE_CALLBACKS_ENABLED"] = "zpower.sap_tuning.tunings"
    status, text = site.play("play.yml")
    assert status == 2, text
    assert outcomes(site.evidence("verify")) == {"app1": "ok", "app3": "ok"}
    assert outcomes(site.evidence("site")) == {"app1": "ok", "app2": "failed", "app3": "not_reached"}
    assert [line.split(" *")[0] for line in text.splitlines() if line.startswith("TUNINGS")] == [
        "TUNINGS (verify)",
        "TUNINGS (site)",
    ]


def test_a_rollout_says_once_why_it_stopped(tmp_path: Path) -> None:
    hosts = {"app1": COMPLIANT, "app2": CRASHED, "app3": DRIFTED, "app4": COMPLIANT}
    site = Site(tmp_path, hosts)
    play = {"hosts": "all", "gather_facts": False, "serial": [1, 2], "vars": {"zpower_evidence": "rollout"}}
    call = {"ansible.builtin.import_role": {"name": "zpower.sap_tuning.tune"}}
    judge = {"name": "Judge", "ansible.builtin.fail": {"msg": "batch 2 is bad"}, "run_once": True}
    judge.update(delegate_to="localhost", when="'app2' in ansible_play_batch")
    rescue = {"ansible.builtin.debug": {"msg": "judged later"}}
    play["tasks"] = [{"name": "Set", "block": [call], "rescue": [rescue]}, judge]
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    site.environment["ANSIBLE_CALLBACKS_ENABLED"] = "zpower.sap_tuning.tunings"
    status, text = site.play("play.yml")
    assert status == 2, text
    found = site.evidence("rollout")
    assert outcomes(found) == {"app1": "ok", "app2": "failed", "app3": "ok", "app4": "not_reached"}
    assert found["run"]["stopped"] == "batch 2 is bad" and found["result"] == "error"
    assert "batch 2 is bad" not in [host["message"] for host in found["hosts"]]
    table = text.partition("\nTUNINGS ")[2]
    assert table.count("batch 2 is bad") == 1 and "\nbatch 2 is bad\n" in table


def test_the_results_folder_is_that_of_the_first_host(tmp_path: Path) -> None:
    site = Site(tmp_path, {"app1": COMPLIANT}, zpower_results="{{ inventory_hostname }}/results")
    status, text = site.play("zpower.sap_tuning.verify")
    assert status == 0, text
    assert list((tmp_path / "app1" / "results" / "verify").glob("*/verify.html"))
    status, text = site.play("zpower.sap_tuning.verify", "-e", "zpower_results={{ nowhere }}")
    assert status == 0 and "the evidence of verify cannot be written: " in text and "nowhere" in text
    assert "1 host: 1 ok." in text


def test_a_killed_controller_leaves_unfinished_files(tmp_path: Path) -> None:
    site = Site(tmp_path, {"app1": "", "app2": COMPLIANT})
    wait = tmp_path / "wait"
    wait.touch()
    pattern = "results/verify/*/verify.prom"  # written last
    with subprocess.Popen(
        site.command("zpower.sap_tuning.verify"),
        cwd=tmp_path,
        env=site.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as controller:
        try:
            end = time.monotonic() + 600
            while not list(tmp_path.glob(pattern)) and controller.poll() is None and time.monotonic() < end:
                time.sleep(0.1)
            assert controller.poll() is None
        finally:
            controller.send_signal(signal.SIGKILL)
            wait.unlink()
    found = site.evidence()
    assert found["result"] == "unfinished" and found["run"]["ended"] is None
    assert outcomes(found) == {"app1": "not_reached", "app2": "not_reached"}


def test_slices_at_the_same_time_are_one_run(tmp_path: Path) -> None:
    site = Site(
        tmp_path, {"app1": COMPLIANT, "app2": DRIFTED, "app3": COMPLIANT, "app4": COMPLIANT}, zpower_drift="warn"
    )
    run = ["zpower.sap_tuning.verify", "-e", "zpower_run={{ awx_workflow_job_id }}-7", "-e", "awx_workflow_job_id=4711"]
    started = [
        subprocess.Popen(
            site.command(*run, "--limit", limit), cwd=tmp_path, env=site.environment, stdout=subprocess.PIPE, text=True
        )
        for limit in ("app1,app2", "app3,app4")
    ]
    texts = [process.communicate()[0] for process in started]
    assert [process.returncode for process in started] == [0, 0], texts
    folder = tmp_path / "results" / "verify" / "run-4711-7"
    assert all(text.endswith("Evidence: results/verify/run-4711-7/verify.html\n") for text in texts)
    found = json.loads((folder / "verify.json").read_text("utf-8"))
    Draft202012Validator(SCHEMA).validate(found)
    assert verdicts(found) == {"app1": ["compliant"], "app2": ["drifted"], "app3": ["compliant"], "app4": ["compliant"]}
    assert found["result"] == "drift" and found["problems"] == []
    assert sorted(found["run"]["limit"].split(",")) == ["app1", "app2", "app3", "app4"]
    assert len(list((folder / "slices").iterdir())) == 2


@pytest.mark.parametrize("given", ["week 5", "../up"])
def test_a_name_that_is_none_is_a_warning(tmp_path: Path, given: str) -> None:
    site = Site(tmp_path, {"app1": COMPLIANT})
    status, text = site.play("zpower.sap_tuning.verify", "-e", json.dumps({"zpower_run": given}))
    assert status == 0 and "the evidence of verify cannot be written: zpower_run is" in " ".join(text.split())
    assert not (tmp_path / "results").exists()


def keeper(folder: Path, code: int = 0) -> str:
    """A program that notes its arguments."""
    path = folder / "keep"
    path.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" >>'{folder}/kept'\necho no space\nexit {code}\n")
    path.chmod(0o755)
    return str(path)


def test_the_users_command_gets_the_folder_of_the_evidence(tmp_path: Path) -> None:
    site = Site(tmp_path, {"app1": DRIFTED}, zpower_results_command=["{{ program }}", "a b"], program=keeper(tmp_path))
    status, text = site.play("zpower.sap_tuning.verify")
    assert status == 2 and "no space" not in text
    (folder,) = (tmp_path / "results" / "verify").iterdir()
    assert (tmp_path / "kept").read_text("utf-8").splitlines() == ["a b", f"results/verify/{folder.name}"]


def test_a_command_that_fails_is_a_warning(tmp_path: Path) -> None:
    site = Site(tmp_path, {"app1": COMPLIANT})
    given = json.dumps([keeper(tmp_path, 3)])
    status, text = site.play("zpower.sap_tuning.verify", "-e", f"zpower_results_command={given!r}")
    said = " ".join(text.split())
    assert status == 0 and "failed with exit code 3: no space" in said and "zpower_results_command" in said
    status, text = site.play("zpower.sap_tuning.verify", "-e", "zpower_results_command=keep")
    assert status == 0 and "zpower_results_command is not called: zpower_results_command is 'keep'; a list" in " ".join(
        text.split()
    )


def test_a_fact_of_a_host_is_no_command(tmp_path: Path) -> None:
    site = Site(tmp_path, {"app1": COMPLIANT})
    fact = {"zpower_results_command": [keeper(tmp_path)], "cacheable": True}
    first = {"hosts": "all", "gather_facts": False, "tasks": [{"ansible.builtin.set_fact": fact}]}
    (tmp_path / "own.yml").write_text(json.dumps([first, {"import_playbook": "zpower.sap_tuning.verify"}]))
    status, text = site.play("own.yml")
    assert status == 0 and "a host returned a fact of the name zpower_results_command" in " ".join(text.split())
    assert not (tmp_path / "kept").exists()
