# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Serve every page that the collection writes on a local port."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import page_samples

REPORTS = [*page_samples.REPORTS]
PAGES = [*REPORTS, "trend", "scaling", "guests"]
EVIDENCE = ["verify-site", "verify-hostile", "verify-fleet"]
ROLLOUTS = [f"rollout-{name}" for name in ("planned", "running", "stopped", "complete", "hostile", "fleet")]
EVERYTHING = [*PAGES, *EVIDENCE, *ROLLOUTS]


class Site:
    """The pages on a local port, and the paths of all requests."""

    def __init__(self) -> None:
        self.pages = {f"/{name}/report.html": page_samples.write(name, "html").encode() for name in EVERYTHING}
        self.requests: list[str] = []
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.requests.append(self.path)
                body = site.pages.get(self.path, b"")
                self.send_response(200 if body else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Print nothing: the requests are kept."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/{name}/report.html"


@contextmanager
def serving() -> Iterator[Site]:
    """Serve the pages while the block runs."""
    site = Site()
    site.thread.start()
    try:
        yield site
    finally:
        site.server.shutdown()
        site.thread.join()
        site.server.server_close()
