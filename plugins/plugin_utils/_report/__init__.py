# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The formats of the report: one file each, all of them a function from the report dict to pieces of text.

The runs come beside the report, because the report of a large fleet holds none: they are asked once for each format
that needs them.
"""

from .._pages import to_json
from .._pages.pages import page_formats
from .._pages.writing import Formats
from . import to_csv
from .page import make_page

RENDERERS: Formats = {
    "json": to_json.lines,
    **page_formats(make_page),
    "csv": to_csv.lines,
}
