# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Take the picture of a report: ``python tests/browser/screenshot.py report.html docs/images/report.png``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from devtools import Browser, find_browser


def main() -> int:
    """0, or 1 with one sentence where there is no browser or no report."""
    parser = argparse.ArgumentParser(description="Picture of an HTML report, from the top.")
    parser.add_argument("report", type=Path, help="the report.html")
    parser.add_argument("picture", type=Path, help="the PNG to write")
    parser.add_argument("--scheme", choices=["light", "dark"], default="light")
    parser.add_argument("--media", choices=["screen", "print"], default="screen")
    parser.add_argument("--zoom", type=float, default=1, help="2 is what a reader sees at 200 %%")
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=1060, help="0 is the whole page")
    options = parser.parse_args()
    path = find_browser()
    if path is None or not options.report.is_file():
        missing = "chromium is not installed" if path is None else f"there is no report {options.report}"
        print(f"no picture was taken: {missing}", file=sys.stderr)
        return 1
    with Browser(path) as browser:
        browser.show(options.width, options.height or 900, options.scheme, options.media, options.zoom)
        browser.open(options.report.resolve().as_uri())
        picture = browser.picture(options.height or None)
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    options.picture.write_bytes(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
