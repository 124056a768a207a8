# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for the REST API of AWX: it keeps what the modules of awx.awx send, and nothing else of AWX is in it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

API = "/api/v2/"


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
        below = ("survey_spec", "credentials", "instance_groups", "labels", "update")
        new = {"id": number, "type": kind, "url": url, "related": {name: f"{url}{name}/" for name in below}}
        new |= {"summary_fields": {}, "scm_revision": "", **data}
        self.setdefault(kind, []).append(new)
        return new

    def found(self, kind, query):
        of_kind = self.get("job_templates" if kind == "unified_job_templates" else kind, [])
        asked = {key: value for key, value in query.items() if key in ("name", "organization", "unified_job_template")}
        return [one for one in of_kind if all(str(one.get(key)) == value for key, value in asked.items())]

    def answer(self, method, path, query, data):
        """(status, body) of a request."""
        self.requests.append((method, path))
        kind, *rest = path.removeprefix(API).strip("/").split("/")
        if method == "GET" and not rest:
            results = self.found(kind, query)
            return 200, {"count": len(results), "results": results, "next": None}
        if method == "POST" and not rest:
            return 201, self.create(kind, data)
        (one,) = [one for one in self[kind] if str(one["id"]) == rest[0]]
        if len(rest) == 1:
            one.update(data)
            return 200, one
        if rest[1] == "survey_spec":
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
