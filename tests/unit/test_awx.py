# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/awx: the modules of awx.awx accept what configure.yml says, and every answer of a survey is one that the
collection takes.
"""

import copy
import json
import re
import threading
from fnmatch import fnmatchcase
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import jinja2
import playing
import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._actions.variables import COMMON, role_variables
from sites import COMPLIANT, Site

API = "/api/v2/"
BELOW = ("survey_spec", "credentials", "instance_groups", "labels", "update")
BELOW_NODES = ("success_nodes", "always_nodes", "failure_nodes", "credentials", "instance_groups", "labels")
BELOW_NODES += ("create_approval_template",)
ASKED = ("name", "organization", "unified_job_template", "workflow_job_template", "identifier")


class Objects(dict):
    """{kind: [objects]}; surveys and associations are kept by the path under which they were sent."""

    def __init__(self, **names):
        super().__init__()
        self.below, self.requests = {}, []
        for kind, found in names.items():
            for name in found:
                self.create(kind, {"name": name})

    def create(self, kind, data):
        number = 1 + sum(len(found) for found in self.values())
        url = f"{API}{kind}/{number}/"
        below = {"workflow_job_template_nodes": BELOW_NODES, "workflow_approval_templates": ()}.get(kind, BELOW)
        new = {"id": number, "type": kind, "url": url, "related": {name: f"{url}{name}/" for name in below}}
        new |= {"summary_fields": {}, "scm_revision": "", **data}
        self.setdefault(kind, []).append(new)
        return new

    def found(self, kind, query):
        of_kind = self.get("job_templates" if kind == "unified_job_templates" else kind, [])
        asked = {key: value for key, value in query.items() if key in ASKED}
        return [one for one in of_kind if all(str(one.get(key)) == value for key, value in asked.items())]

    def refused(self, node):
        """What a node of a workflow asks for and its job template does not ask at a launch, as the errors of AWX."""
        templates = [one for one in self["job_templates"] if one["id"] == node.get("unified_job_template")]
        asked = [key for key in ("job_type", "limit", "job_tags", "diff_mode") if key in node]
        refused = [key for key in asked if not all(one.get(f"ask_{key}_on_launch") for one in templates)]
        return {key: ["Field is not configured to prompt on launch."] for key in refused}

    def answer(self, method, path, query, data):
        self.requests.append((method, path))
        kind, *rest = path.removeprefix(API).strip("/").split("/")
        if method == "GET" and not rest:
            results = self.found(kind, query)
            return 200, {"count": len(results), "results": results, "next": None}
        if method == "POST" and not rest:
            wrong = self.refused(data) if kind == "workflow_job_template_nodes" else {}
            return (400, wrong) if wrong else (201, self.create(kind, data))
        (one,) = [one for one in self[kind] if str(one["id"]) == rest[0]]
        if len(rest) > 1:
            return self.answer_below(one, method, path, rest[1], data)
        one.update(data)
        return 200, one

    def answer_below(self, one, method, path, name, data):
        if name not in one["related"]:
            return 404, {"detail": "Not found."}
        if name == "create_approval_template":
            kept = {key: data[key] for key in ("name", "description", "timeout")}
            made = self.create("workflow_approval_templates", kept)
            one["unified_job_template"], one["related"]["unified_job_template"] = made["id"], made["url"]
            return 201, made
        if name == "survey_spec":
            if method == "POST":
                self.below[path] = data
            return 200, self.below.get(path, {})
        associated = self.below.setdefault(path, [])
        if method == "POST":
            associated.append(data)
            return 204, None
        return 200, {"count": len(associated), "results": associated, "next": None}


def serve(objects):
    """A server on a free port of this machine; the caller shuts it down."""

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self):
            url = urlsplit(self.path)
            size = int(self.headers.get("Content-Length") or 0)
            data = json.loads(self.rfile.read(size) or "{}") if size else {}
            status, body = objects.answer(self.command, url.path, dict(parse_qsl(url.query)), data)
            text = b"" if body is None else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PATCH = handle_any  # noqa: N815

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


TOP = Path(__file__).parents[2]
AWX, COLLECTIONS = TOP / "docs" / "awx", TOP / ".cache" / "awx"
TEMPLATES = yaml.safe_load((AWX / "job_templates.yml").read_text())["awx_job_templates"]
SETTINGS = yaml.safe_load((AWX / "settings.yml").read_text())
(ROLLOUT_SURVEY,) = [template["survey"] for template in TEMPLATES if template["name"] == "rollout"]
QUESTIONS = [(template["name"], question) for template in TEMPLATES for question in template["survey"]]
# the roles of a playbook that have another name or come in addition
ROLES = {
    "site": ["tune"],
    "rollback": ["tune"],
    "confirm": ["tune"],
    "before_after": ["before_after", "measure", "report"],
}
OF_TUNINGS = {name: {"type": "str"} for name in ("zpower_confirm_within", "zpower_probation")}
PYTHON_TYPES = {"text": str, "textarea": str, "multiplechoice": str, "integer": int, "float": (int, float)}
CHOSEN = re.compile(r"[a-z_]+_tunings")
"""Variables that the lookup zpower.sap_tuning.tunings reads: its tests tell what an empty text means."""


def every(questions):
    ids = [f"{name}-{question['variable']}" for name, question in questions]
    return pytest.mark.parametrize(("template", "question"), questions, ids=ids)


def specs(template):
    """The variables of the roles of a template's playbook, with their argument specifications."""
    found = {}
    for role in ROLES.get(template, [template]):
        text = (TOP / "roles" / role / "meta" / "argument_specs.yml").read_text()
        found |= yaml.safe_load(text)["argument_specs"]["main"]["options"]
    return found


def defaults():
    """[(role, variable, value)] of all roles."""
    for path in sorted(TOP.glob("roles/*/defaults/main.yml")):
        for variable, value in (yaml.safe_load(path.read_text()) or {}).items():
            yield path.parts[-3], variable, str(value)


OF_THE_SITE = [
    (variable, value) for _role, variable, value in defaults() if "zpower_" in value and not CHOSEN.fullmatch(variable)
]


def play(*arguments, **environment):
    env = playing.environment(ANSIBLE_NOCOLOR="1", ANSIBLE_LOCALHOST_WARNING="false", **environment)
    done = playing.ansible_playbook(*arguments, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", name="told")
def fixture_told():
    """What AWX was told, what ansible-playbook said the second time, and what AWX was told for a site with slices."""
    if not COLLECTIONS.exists():
        pytest.skip("awx.awx is missing: make setup gets it")
    objects = Objects(
        organizations=[SETTINGS["awx_organization"]],
        inventories=[SETTINGS["awx_inventory"]],
        credentials=SETTINGS["awx_credentials"],
    )
    server = serve(objects)
    login = {"CONTROLLER_HOST": f"http://127.0.0.1:{server.server_port}", "CONTROLLER_OAUTH_TOKEN": "of nobody"}
    login |= {"ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS)}
    # ansible-core 2.16 cannot run its own Python if there is a blank in its path
    command = [str(AWX / "configure.yml"), "-e", "ansible_python_interpreter=/usr/bin/python3"]
    try:
        play(*command, **login)
        said = play(*command, **login)
        before = copy.deepcopy(objects)
        play(*command, "-e", "awx_verify_slices=4", **login)
        yield before, said, objects
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.nightly
def test_the_templates_are_as_described_and_verify_runs_every_night(told):
    objects = told[0]
    assert re.search(r"localhost +: ok=8 +changed=0 ", told[1]), "a second run changes nothing"
    made = {template["name"]: template for template in objects["job_templates"]}
    assert list(made) == [f"zpower {template['name']}" for template in TEMPLATES]
    (project,), (image,) = objects["projects"], objects["execution_environments"]
    for described in TEMPLATES:
        template = made[f"zpower {described['name']}"]
        assert (template["project"], template["execution_environment"]) == (project["id"], image["id"])
        assert template["job_slice_count"] == 1 and not template["allow_simultaneous"]
        assert json.loads(template["extra_vars"]) == {"zpower_results": SETTINGS["awx_results"]}
        survey = objects.below.get(template["related"]["survey_spec"], {"spec": []})
        assert survey["spec"] == described["survey"]
        assert template["survey_enabled"] == bool(described["survey"])
    (schedule,) = objects["schedules"]
    (verify,) = [one for one in objects["job_templates"] if one["id"] == schedule["unified_job_template"]]
    assert (verify["name"], schedule["enabled"]) == ("zpower verify", True)
    assert re.fullmatch(r"DTSTART;TZID=[\w/]+:\d{8}T\d{6} RRULE:FREQ=DAILY;INTERVAL=1", schedule["rrule"])


@pytest.mark.nightly
def test_a_rollout_waits_for_an_approval_and_a_failed_step_has_none_after_it(told):
    objects = told[0]
    (workflow,) = objects["workflow_job_templates"]
    assert workflow["name"] == "zpower rollout with approval" and workflow["ask_limit_on_launch"]
    assert objects.below[workflow["related"]["survey_spec"]]["spec"] == ROLLOUT_SURVEY and workflow["survey_enabled"]
    kinds = ("job_templates", "workflow_approval_templates")
    named = {one["id"]: one["name"] for kind in kinds for one in objects[kind]}
    nodes = {node["id"]: node for node in objects["workflow_job_template_nodes"]}
    assert {node["workflow_job_template"] for node in nodes.values()} == {workflow["id"]}
    steps = [
        (node["identifier"], named[node["unified_job_template"]], node.get("job_type", ""), after(objects, node, nodes))
        for node in nodes.values()
    ]
    assert steps == [
        ("plan", "zpower rollout", "check", ["approval"]),
        ("approval", "The plan of the rollout", "", ["rollout"]),
        ("rollout", "zpower rollout", "run", ["verify"]),
        ("verify", "zpower verify", "", []),
    ]
    (approval,) = objects["workflow_approval_templates"]
    assert approval["timeout"] == SETTINGS["awx_approval_timeout"]
    assert not [path for path in objects.below if path.endswith(("always_nodes/", "failure_nodes/"))]


def after(objects, node, nodes):
    return [nodes[one["id"]]["identifier"] for one in objects.below.get(node["related"]["success_nodes"], [])]


def test_every_job_of_a_workflow_takes_the_answers_of_its_survey(tmp_path):
    """AWX hands them to all jobs of the workflow, also to those that do not ask."""
    answers = {question["variable"]: question.get("default", "a-change") for question in ROLLOUT_SURVEY}
    site = Site(tmp_path, {"app1": COMPLIANT})
    status, text = site.play("zpower.sap_tuning.verify", "-e", json.dumps(answers))
    assert status == 0 and "1 host: 1 ok." in text, text


@pytest.mark.nightly
def test_slices_share_the_name_of_a_run(told):
    """Ansible fills it in: all jobs of a workflow have its id, and a job without slices has one of its own."""
    templates = {template["name"]: template for template in told[2]["job_templates"]}
    verify = templates.pop("zpower verify")
    assert verify["job_slice_count"] == 4
    assert {template["job_slice_count"] for template in templates.values()} == {1}
    name = json.loads(verify["extra_vars"])["zpower_run"]
    assert [name for template in templates.values() if "zpower_run" in template["extra_vars"]] == []
    render = jinja2.Environment(autoescape=False, undefined=jinja2.StrictUndefined).from_string(name).render  # noqa: S701
    assert render(awx_workflow_job_id=4711, awx_job_id=4713, awx_job_template_id=7) == "4711-7"
    assert render(awx_job_id=4713, awx_job_template_id=7) == "4713-7"


def test_what_is_scheduled_needs_no_answer():
    unanswered = [q["variable"] for t in TEMPLATES if "rrule" in t for q in t["survey"] if "default" not in q]
    assert unanswered == []


def test_each_template_has_its_playbook():
    files = {path.stem: yaml.safe_load(path.read_text()) for path in AWX.glob("project/*.yml")}
    assert set(files) == {template["name"] for template in TEMPLATES}
    for name, (imported,) in files.items():
        assert imported["ansible.builtin.import_playbook"] == f"zpower.sap_tuning.{name}"
        assert (TOP / "playbooks" / f"{name}.yml").exists()
    complete = [str(AWX / "project" / f"{name}.yml") for name in files]
    play("--syntax-check", *complete)


@every(QUESTIONS)
def test_a_question_keeps_the_rules_of_awx(template, question):
    """A default that breaks them would be dropped without a word."""
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
def test_a_question_is_about_a_variable_that_takes_its_answers(template, question):
    variable, known = question["variable"], specs(template)
    if variable not in known:
        # a variable of the site: roles have it as a default of their own, or every tuning takes it
        assert variable.startswith("zpower_")
        users = [spec for name, spec in known.items() if uses(name, variable)]
        known = {variable: users[0]} if users else OF_TUNINGS
    answers = [*question.get("choices", ()), *([question["default"]] if "default" in question else ())]
    for answer in answers:
        checked = ArgumentSpecValidator({variable: known[variable]}).validate({variable: answer})
        assert not checked.error_messages, checked.error_messages
    assert variable in known


@pytest.mark.parametrize("template", TEMPLATES, ids=[template["name"] for template in TEMPLATES])
def test_a_variable_of_a_playbook_is_asked_or_named_as_left_out(template):
    page = (TOP / "docs" / "awx.md").read_text()
    section = page.partition("### What no survey asks")[2].partition("\n## ")[0]
    left_out = [name for line in section.splitlines() for name in re.findall(r"`([\w*]+)`", line.partition(" | ")[0])]
    asked = {question["variable"] for question in template["survey"]}
    anywhere = {question["variable"] for _name, question in QUESTIONS}
    missing = (specs(template["name"]).keys() - asked) | (COMMON.keys() - anywhere)
    assert [name for name in missing if not any(fnmatchcase(name, pattern) for pattern in left_out)] == []
    known = {name for role in TOP.glob("roles/*") for name in role_variables(role.name)} | COMMON.keys()
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
    template = jinja2.Environment(autoescape=False).from_string(value)  # noqa: S701
    assert template.render({name: ""}) == template.render()


def test_the_image_has_the_versions_that_the_tests_use():
    described = yaml.safe_load((AWX / "execution-environment.yml").read_text())["dependencies"]
    pinned = {(TOP / name).read_text() for name in ("requirements.txt", "requirements-gate.txt")}
    for tool in ("ansible_core", "ansible_runner"):
        wanted = described[tool]["package_pip"]
        assert any(re.search(rf"^{re.escape(wanted)}\b", text, re.MULTILINE) for text in pinned), wanted


def test_the_examples_hold_no_secret():
    for path in AWX.rglob("*.yml"):
        assert not re.search(r"(?i)(password|token|secret)\w*\s*:", path.read_text()), path
