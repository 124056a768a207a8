# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every page that the collection writes, on a local port."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import evidence_samples
import rollout_samples
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._report import of_scaling, of_trend
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import keeping
from rendering import render
from report_samples import NAMES, fleet, sample
from series_samples import banking, connections, virtualization

REPORTS = [*NAMES, "fleet"]
SERIES = {
    "trend": lambda: of_trend.FORMATS["html"](banking()),
    "scaling": lambda: of_scaling.FORMATS["html"](connections()),
    "guests": lambda: of_scaling.FORMATS["html"](virtualization()),
}
PAGES = [*REPORTS, *SERIES]
EVIDENCE = {
    "verify": evidence_samples.site,
    "verify-hostile": evidence_samples.hostile,
    "verify-fleet": lambda: evidence_samples.fleet(200),
}
ROLLOUTS = {
    f"rollout-{name}": rollout_samples.SAMPLES[name]
    for name in ("planned", "running", "stopped", "complete", "hostile", "fleet")
}
EVERYTHING = [*PAGES, *EVIDENCE, *ROLLOUTS]


def page(name: str) -> bytes:
    """One of EVERYTHING."""
    if name in ROLLOUTS:
        return "".join(keeping.FORMATS["html"](ROLLOUTS[name]())).encode()
    if name in EVIDENCE:
        return "".join(files.FORMATS["html"](EVIDENCE[name]())).encode()
    if name in SERIES:
        return "".join(SERIES[name]()).encode()
    report = fleet(200) if name == "fleet" else sample(name)
    return render(report, "html").encode()


class Site:
    """The pages on a local port, and the path of every request that came."""

    def __init__(self) -> None:
        self.pages = {f"/{name}/report.html": page(name) for name in EVERYTHING}
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
                """The requests are kept, not printed."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/{name}/report.html"


@contextmanager
def serving() -> Iterator[Site]:
    """The site while the block runs."""
    site = Site()
    site.thread.start()
    try:
        yield site
    finally:
        site.server.shutdown()
        site.thread.join()
        site.server.server_close()
