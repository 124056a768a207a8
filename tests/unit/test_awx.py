# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/awx: awx.awx knows the arguments of each task, and the collection accepts every answer of a survey."""

import json
import re
from fnmatch import fnmatchcase
from pathlib import Path

import generate
import jinja2
import playing
import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.parsing.dataloader import DataLoader
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import COMMON, role_specs
from sites import COMPLIANT, Site

TOP = Path(__file__).parents[2]
AWX, MODULES = TOP / "docs" / "awx", TOP / ".cache/awx/ansible_collections/awx/awx/plugins/modules"
TASKS, SETTINGS = (DataLoader().load_from_file(str(AWX / name)) for name in ("objects.yml", "workflows.yml"))
TEMPLATES = yaml.safe_load((AWX / "job_templates.yml").read_text())["awx_job_templates"]
(ROLLOUT_SURVEY,) = [template["survey"] for template in TEMPLATES if template["name"] == "rollout"]
QUESTIONS = [(template["name"], question) for template in TEMPLATES for question in template["survey"]]
# the roles of a playbook that have a different name or come in addition
ROLES = {
    "site": ["tune"],
    "rollback": ["tune"],
    "confirm": ["tune"],
    "before_after": ["before_after", "measure", "report"],
}
OF_TUNINGS = {name: {"type": "str"} for name in ("zpower_confirm_within", "zpower_probation")}
PYTHON_TYPES = {"text": str, "textarea": str, "multiplechoice": str, "integer": int, "float": (int, float)}
CHOSEN = re.compile(r"[a-z_]+_tunings")
"""Variables that the lookup zpower.sap_tuning.tunings reads: its tests show what an empty text means."""


def every(questions):
    ids = [f"{name}-{question['variable']}" for name, question in questions]
    return pytest.mark.parametrize(("template", "question"), questions, ids=ids)


def specs(template):
    """Return the variables of the roles of a template's playbook, with their argument specifications."""
    found = {}
    for role in ROLES.get(template, [template]):
        text = (TOP / "roles" / role / "meta" / "argument_specs.yml").read_text()
        found |= yaml.safe_load(text)["argument_specs"]["main"]["options"]
    return found


def defaults():
    """Return [(role, variable, value)] of all roles."""
    for path in sorted(TOP.glob("roles/*/defaults/main.yml")):
        for variable, value in (yaml.safe_load(path.read_text()) or {}).items():
            yield path.parts[-3], variable, str(value)


OF_THE_SITE = [
    (variable, value) for _role, variable, value in defaults() if "zpower_" in value and not CHOSEN.fullmatch(variable)
]


@pytest.mark.nightly
@pytest.mark.parametrize("task", TASKS, ids=[task["name"] for task in TASKS])
def test_awx_awx_knows_the_arguments_of_each_task(task):
    if not MODULES.exists():
        pytest.skip("awx.awx is missing: tests/setup.sh all installs it")
    ((name, arguments),) = [(name, value) for name, value in task.items() if name.startswith("awx.awx.")]
    documented = generate.documentation(MODULES / f"{name.rpartition('.')[2]}.py")["options"]
    assert {*arguments} <= {*documented}
    assert {option for option, rule in documented.items() if rule.get("required")} <= {*arguments}
    for option, value in arguments.items():
        choices = documented[option].get("choices")
        assert not choices or "{{" in str(value) or value in choices, option


def test_a_rollout_waits_for_an_approval_and_nothing_follows_a_failed_step():
    (workflow,) = SETTINGS["awx_workflows"]
    assert workflow["survey"] == "rollout"
    steps = [
        (step["name"], step.get("template", step.get("approval", {}).get("name")), step.get("job_type"), step["then"])
        for step in workflow["steps"]
    ]
    assert steps == [
        ("plan", "rollout", "check", ["approval"]),
        ("approval", "The plan of the rollout", None, ["rollout"]),
        ("rollout", "rollout", "run", ["verify"]),
        ("verify", "verify", None, []),
    ]
    asked = next(one["awx.awx.job_template"] for one in TASKS if "awx.awx.job_template" in one)
    assert asked["ask_job_type_on_launch"] == "{{ item.check | default(false) }}", "the plan sets its type"
    assert next(template for template in TEMPLATES if template["name"] == "rollout")["check"]
    nodes = [one["awx.awx.workflow_job_template_node"] for one in TASKS if "awx.awx.workflow_job_template_node" in one]
    assert "success_nodes" in nodes[-1] and not {"always_nodes", "failure_nodes"} & {*nodes[0], *nodes[1]}


def test_every_job_of_a_workflow_accepts_the_answers_of_its_survey(tmp_path):
    """AWX hands them to all jobs of the workflow, including those that do not ask."""
    answers = {question["variable"]: question.get("default", "a-change") for question in ROLLOUT_SURVEY}
    site = Site(tmp_path, {"app1": COMPLIANT})
    status, text = site.play("zpower.sap_tuning.verify", "-e", json.dumps(answers))
    assert status == 0 and "1 host: 1 ok." in text, text


def test_slices_share_the_name_of_a_run():
    """AWX fills it in: all jobs of a workflow have its id, and a job without slices has its own."""
    extra = next(one["awx.awx.job_template"]["extra_vars"] for one in TASKS if "awx.awx.job_template" in one)
    assert "{'zpower_run': awx_run_of_slices} if item.slices | default(1) | int > 1 else {}" in extra
    assert [template["name"] for template in TEMPLATES if "slices" in template] == ["verify"]
    name = str(SETTINGS["awx_run_of_slices"])
    render = jinja2.Environment(autoescape=False, undefined=jinja2.StrictUndefined).from_string(name).render
    assert render(awx_workflow_job_id=4711, awx_job_id=4713, awx_job_template_id=7) == "4711-7"
    assert render(awx_job_id=4713, awx_job_template_id=7) == "4713-7"


def test_scheduled_jobs_need_no_answers():
    unanswered = [q["variable"] for t in TEMPLATES if "rrule" in t for q in t["survey"] if "default" not in q]
    assert unanswered == []


def test_each_template_has_its_playbook():
    files = {path.stem: yaml.safe_load(path.read_text()) for path in AWX.glob("project/*.yml")}
    assert set(files) == {template["name"] for template in TEMPLATES}
    for name, (imported,) in files.items():
        assert imported["ansible.builtin.import_playbook"] == f"zpower.sap_tuning.{name}"
        assert (TOP / "playbooks" / f"{name}.yml").exists()
    complete = [str(AWX / "project" / f"{name}.yml") for name in files]
    done = playing.ansible_playbook("--syntax-check", *complete)
    assert done.returncode == 0, done.stdout + done.stderr


@every(QUESTIONS)
def test_a_question_follows_the_rules_of_awx(template, question):
    """AWX would silently drop a default that breaks them."""
    assert {"type", "variable", "question_name", "question_description", "required"} <= set(question)
    kind, choices = question["type"], question.get("choices")
    assert (choices is not None) == (kind == "multiplechoice")
    answers = [*(choices or ()), *([question["default"]] if "default" in question else ())]
    for answer in answers:
        assert isinstance(answer, PYTHON_TYPES[kind]) and not isinstance(answer, bool)
        assert not choices or answer in choices
        size = len(answer) if isinstance(answer, str) else answer
        assert question.get("min", size) <= size <= question.get("max", size)
    if kind != "text":
        assert question["required"] and "default" in question
    elif question["required"]:
        assert question["min"] >= 1 and question.get("default") != ""
    else:
        assert question["default"] == ""


@every(QUESTIONS)
def test_each_question_is_about_a_variable_that_accepts_its_answers(template, question):
    variable, known = question["variable"], specs(template)
    if variable not in known:
        # a variable of the site: roles have a default for it, or every tuning accepts it
        assert variable.startswith("zpower_")
        users = [spec for name, spec in known.items() if uses(name, variable)]
        known = {variable: users[0]} if users else OF_TUNINGS
    answers = [*question.get("choices", ()), *([question["default"]] if "default" in question else ())]
    for answer in answers:
        checked = ArgumentSpecValidator({variable: known[variable]}).validate({variable: answer})
        assert not checked.error_messages, checked.error_messages
    assert variable in known


@pytest.mark.parametrize("template", TEMPLATES, ids=[template["name"] for template in TEMPLATES])
def test_each_variable_of_a_playbook_is_asked_or_listed_as_left_out(template):
    page = (TOP / "docs" / "awx.md").read_text()
    section = page.partition("### What no survey asks")[2].partition("\n## ")[0]
    left_out = [name for line in section.splitlines() for name in re.findall(r"`([\w*]+)`", line.partition(" | ")[0])]
    asked = {question["variable"] for question in template["survey"]}
    anywhere = {question["variable"] for _name, question in QUESTIONS}
    missing = (specs(template["name"]).keys() - asked) | (COMMON.keys() - anywhere)
    assert [name for name in missing if not any(fnmatchcase(name, pattern) for pattern in left_out)] == []
    known = {name for role in TOP.glob("roles/*") for name in role_specs(role.name)} | COMMON.keys()
    assert [pattern for pattern in left_out if not any(fnmatchcase(name, pattern) for name in known)] == []
    assert not {*left_out} & anywhere - {"tune_tunings"}


def uses(variable, other):
    return any(name == variable and re.search(rf"\b{other}\b", value) for _role, name, value in defaults())


def test_no_answer_means_not_given():
    for template, question in QUESTIONS:
        variable, known = question["variable"], specs(template)
        if not question["required"] and variable in known and not CHOSEN.fullmatch(variable):
            assert known[variable]["default"] == "", variable


@pytest.mark.parametrize(("variable", "value"), OF_THE_SITE, ids=[variable for variable, _value in OF_THE_SITE])
def test_an_empty_variable_of_the_site_is_not_given(variable, value):
    (name,) = re.findall(r"\bzpower_\w+", value)
    template = jinja2.Environment(autoescape=False).from_string(value)
    assert template.render({name: ""}) == template.render()


def test_the_image_has_the_versions_that_the_tests_use():
    described = yaml.safe_load((AWX / "execution-environment.yml").read_text())["dependencies"]
    pinned = {(TOP / name).read_text() for name in ("requirements.txt", "requirements-gate.txt")}
    for tool in ("ansible_core", "ansible_runner"):
        wanted = described[tool]["package_pip"]
        assert any(re.search(rf"^{re.escape(wanted)}\b", text, re.MULTILINE) for text in pinned), wanted


def test_the_examples_contain_no_secrets():
    for path in AWX.rglob("*.yml"):
        assert not re.search(r"(?i)(password|token|secret)\w*\s*:", path.read_text()), path
