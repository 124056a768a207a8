# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs as AWX starts them: ansible-runner, the playbooks of docs/awx/project, and answers of surveys, which are texts.

Evidence and report are among the artifacts. The collection is the one in ANSIBLE_COLLECTIONS_PATH: in the session
`installed`, only the installed archive.
"""

import json
import os
import shutil
from pathlib import Path

import pytest
import yaml
from hosts import BIN, CHOSEN, COLLECTIONS, SHORT, evidence, run, standing

NAME = "runner"
HOSTS = ["app1", "app2"]
INSTALLED = Path(COLLECTIONS) / "ansible_collections" / "zpower" / "sap_tuning"
RESULTS = "{{ lookup('ansible.builtin.env', 'AWX_ISOLATED_DATA_DIR') }}/results"
SECRET = "correct-horse-battery"
TUNINGS = ["cpu_topology", "rps"]


class Answer(str):
    """The answer of a survey, which AWX marks so that Ansible does not treat it as a template."""

    __slots__ = ()


class Dumper(yaml.SafeDumper):
    pass


Dumper.add_representer(Answer, lambda dumper, answer: dumper.represent_scalar("!unsafe", str(answer), style='"'))


class Job:
    """A finished job and its artifacts."""

    def __init__(self, done, artifacts):
        self.code, self.said, self.artifacts = done.returncode, done.stdout + done.stderr, artifacts

    def file(self, name):
        return (self.artifacts / name).read_text()

    @property
    def outcome(self):
        return self.code, int(self.file("rc")), self.file("status")

    @property
    def events(self):
        found = [json.loads(path.read_text()) for path in self.artifacts.glob("job_events/*-*.json")]
        return sorted(found, key=lambda event: event["counter"])

    @property
    def evidence(self):
        return evidence(self.folder)

    @property
    def folder(self):
        """Return the only folder of evidence."""
        found = [path.parent for path in self.artifacts.glob("results/*/*/*.json") if path.stem == path.parts[-3]]
        (folder,) = found
        return folder

    def verdicts(self, tuning):
        rows = {host["host"]: host["rows"] for host in self.evidence["hosts"]}
        return {host: [row["verdict"] for row in rows[host] if row["name"] == tuning] for host in rows}


class Runner:
    """The working folder of ansible-runner, as AWX fills it: inventory, environment, project."""

    def __init__(self, folder, lab):
        self.folder = folder
        for name in ("inventory", "env"):
            (folder / name).mkdir()
        shutil.copytree(INSTALLED / "docs" / "awx" / "project", folder / "project")
        chosen = {"zpower_tunings": TUNINGS, **CHOSEN, **SHORT, "measure_control": False}
        group = {"hosts": lab.hosts, "vars": {**lab.connection, **chosen}}
        (folder / "inventory" / "hosts.json").write_text(json.dumps({"erp": group}))
        environment = {"ANSIBLE_COLLECTIONS_PATH": COLLECTIONS, "SITE_PASSWORD": SECRET}
        (folder / "env" / "envvars").write_text(json.dumps(environment))

    def play(self, name, playbook, *options, **answers):
        """Run a playbook; answers: those of a survey, all of them texts."""
        given = {name: Answer(answer) for name, answer in answers.items()}
        variables = {"zpower_results": RESULTS, "ansible_become_password": SECRET, **given}
        (self.folder / "env" / "extravars").write_text(yaml.dump(variables, Dumper=Dumper))
        command = [BIN / "ansible-runner", "run", self.folder, "--ident", name]
        path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
        done = run(*command, "-p", playbook, *options, check=False, PATH=path)
        return Job(done, self.folder / "artifacts" / name)


@pytest.fixture(scope="module", name="story")
def fixture_story(tmp_path_factory):
    """Return all jobs by name."""
    with standing(NAME, len(HOSTS)) as lab:
        yield dict(told(Runner(tmp_path_factory.mktemp("runner"), lab)))


def survey(name, **answers):
    """Return the answers of a launch that keeps all defaults of the survey except for those given here."""
    templates = yaml.safe_load((INSTALLED / "docs" / "awx" / "job_templates.yml").read_text())["awx_job_templates"]
    (questions,) = [template["survey"] for template in templates if template["name"] == name]
    return {**{one["variable"]: one["default"] for one in questions if "default" in one}, **answers}


def told(runner):
    def job(name, playbook, *options, **answers):
        return name, runner.play(name, playbook, *options, **answers)

    yield job("drift", "zpower.sap_tuning.verify")
    yield job("warned", "verify.yml", verify_tunings="rps", zpower_drift="warn")
    yield job("site", "site.yml", tune_tunings="")
    yield job("verify", "verify.yml", verify_tunings=" rps, cpu_topology", zpower_drift="")
    yield job("mistyped", "verify.yml", verify_tunings="rps, cpu_topolgy", zpower_drift="fail")
    yield job("taken back", "rollback.yml")
    measured = {"measure_rounds": "1", "measure_workloads": "niping", "before_after_continue": "false"}
    measured |= {"before_after_tunings": "rps", "before_after_final": "restored", "zpower_change": "CHG1"}
    yield job("before_after", "before_after.yml", "--limit", "app1", **measured)
    yield job("rollout", "rollout.yml", **survey("rollout", zpower_change="CHG2"))


OUTCOMES = {
    "drift": (2, 2, "failed"),
    "warned": (0, 0, "successful"),
    "site": (0, 0, "successful"),
    "verify": (0, 0, "successful"),
    "mistyped": (2, 2, "failed"),
    "taken back": (0, 0, "successful"),
    "rollout": (0, 0, "successful"),
    "before_after": (0, 0, "successful"),
}
EVIDENCE = dict.fromkeys(("drift", "warned"), "drift")
EVIDENCE |= dict.fromkeys(("site", "verify", "taken back", "rollout"), "compliant")


@pytest.mark.parametrize("name", OUTCOMES)
def test_code_status_and_events_agree(story, name):
    job = story[name]
    assert job.outcome == OUTCOMES[name], job.said
    kinds = [event["event"] for event in job.events]
    assert [kind for kind in kinds if kind in ("playbook_on_start", "playbook_on_stats")] == [
        "playbook_on_start",
        "playbook_on_stats",
    ]
    assert ("runner_on_failed" in kinds) == (job.code != 0)


@pytest.mark.parametrize("name", EVIDENCE)
def test_the_evidence_is_among_the_artifacts(story, name):
    job = story[name]
    assert job.evidence["result"] == EVIDENCE[name]
    assert {host["host"] for host in job.evidence["hosts"]} == set(HOSTS)
    assert {path.suffix for path in job.folder.glob("*.*")} == {".json", ".csv", ".md", ".html", ".xml", ".prom"}
    assert f"Evidence: {job.folder}" in job.file("stdout")


def test_an_empty_answer_means_the_value_of_the_inventory(story):
    for tuning in TUNINGS:
        assert all(story["site"].verdicts(tuning).values()), tuning
    assert story["site"].verdicts("rps") == dict.fromkeys(HOSTS, ["changed"])


def test_an_answer_names_several_tunings(story):
    assert story["verify"].verdicts("rps") == dict.fromkeys(HOSTS, ["compliant"])
    assert all(story["verify"].verdicts("cpu_topology").values())
    assert not any(story["warned"].verdicts("cpu_topology").values())
    assert "there is no tuning 'cpu_topolgy'" in story["mistyped"].file("stdout")


def test_plan_state_and_summary_of_a_rollout_are_among_the_artifacts(story):
    job = story["rollout"]
    folder = job.artifacts / "results" / "rollouts" / "CHG2"
    assert {f"rollout.{suffix}" for suffix in ("json", "html", "md")} <= {path.name for path in folder.iterdir()}
    state = json.loads((folder / "rollout.json").read_text())
    assert (state["result"], [batch["state"] for batch in state["batches"]]) == ("complete", ["good", "good"])
    values = {host: found["values"] for batch in state["batches"] for host, found in batch["hosts"].items()}
    assert values == dict.fromkeys(HOSTS, "confirmed")
    assert state["plan"]["tunings"] == dict.fromkeys(HOSTS, TUNINGS)


def test_records_and_report_are_among_the_artifacts(story):
    change = story["before_after"].artifacts / "results" / "CHG1"
    assert {f"report.{suffix}" for suffix in ("json", "html", "md")} <= {path.name for path in change.iterdir()}
    report = json.loads((change / "report.json").read_text())
    assert report["change"] == "CHG1" and list(change.glob("app1/after-*.json"))


def test_the_files_of_the_collection_contain_no_secret(story):
    """Files of ansible-runner itself may: `command` contains the whole environment."""
    for job in story.values():
        assert SECRET in job.file("command")
        written = [path for path in job.artifacts.glob("results/**/*") if path.is_file()]
        assert written or job is story["mistyped"]
        assert [path for path in written if SECRET in path.read_text()] == []
