# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for the REST API of AWX: it keeps what the modules of awx.awx send, and nothing else of AWX is in it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

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
