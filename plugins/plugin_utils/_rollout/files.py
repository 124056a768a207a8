# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files for people beside the state file of a rollout."""

from __future__ import annotations

import functools
import os
import urllib.parse
from pathlib import Path

from .._report.files import write_formats
from . import summary, to_html, to_markdown


def write(document: summary.Document, folder: Path) -> dict[str, str]:
    """Write ``rollout.html`` and ``rollout.md`` into the folder, each as a whole, and return their paths.

    Errors as of :func:`write_formats`.
    """
    pieces = {
        "html": functools.partial(to_html.lines, document, links(document, folder)),
        "md": functools.partial(to_markdown.lines, document),
    }
    return write_formats(pieces, folder, "rollout", tuple(pieces), check=False).paths


def links(document: summary.Document, folder: Path) -> dict[str, str]:
    """The addresses of the guard's reports, seen from the folder of the page."""
    reports = [str((batch["guard"] or {}).get("report") or "") for batch in document["batches"]]
    return {path: urllib.parse.quote(os.path.relpath(path, folder)) for path in reports if path}
