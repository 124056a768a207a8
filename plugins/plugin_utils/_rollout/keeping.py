# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files for people beside the state file of a rollout."""

from __future__ import annotations

import os
import urllib.parse
from pathlib import Path

from .._pages.writing import Formats, write_formats
from . import state, to_html, to_markdown
from .checking import Document

FORMATS: Formats = {"html": to_html.lines, "md": to_markdown.lines}


def keep(rollout: state.Rollout, results: Path | str) -> dict[str, str]:
    """Save the state, then write its pages; their paths. Errors as of :func:`state.Rollout.save`."""
    rollout.save(results)
    return write(rollout.document, state.folder_of(results, rollout.document["change"]))


def write(document: Document, folder: Path) -> dict[str, str]:
    """Write ``rollout.html`` and ``rollout.md`` into the folder, each as a whole, and return their paths.

    Errors as of :func:`write_formats`.
    """
    given = document, links(document, folder)
    return write_formats(FORMATS, given, (folder, "rollout"), tuple(FORMATS), check=False).paths


def links(document: Document, folder: Path) -> dict[str, str]:
    """The addresses of the guard's reports, seen from the folder of the page."""
    reports = [batch["guard"]["report"] for batch in document["batches"] if batch["guard"]]
    return {path: urllib.parse.quote(os.path.relpath(path, folder)) for path in reports if path}
