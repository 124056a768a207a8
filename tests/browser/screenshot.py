# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""screenshot.py --write [NAME ...]: retake the named pictures in docs/images, or those whose page has changed."""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from pathlib import Path

importlib.import_module("conftest")  # makes the checkout importable as a collection

from devtools import Browser, find_browser  # noqa: E402
from pictures import FOLDER, PICTURES, licence, outdated, path_of  # noqa: E402


def write(browser: Browser, names: list[str]) -> None:
    """Take these pictures into docs/images, each with its licence."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        for name in names:
            picture = PICTURES[name]
            page.write_text(picture.page(), encoding="utf-8")
            browser.show(scheme=picture.scheme, media="screen")
            browser.open(page.as_uri())
            png = browser.picture(picture.height, picture.first)
            path_of(name).write_bytes(png)
            path_of(name).with_suffix(".png.license").write_text(licence(name), encoding="utf-8")
            print(f"{path_of(name).relative_to(FOLDER.parents[1])}: {len(png) // 1000} kB")


def main() -> int:
    """Return 0, or 1 with one sentence if there is no browser."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", required=True, help="write them into docs/images")
    parser.add_argument("names", nargs="*", choices=[*PICTURES, []], metavar="NAME")
    options = parser.parse_args()
    path = find_browser()
    if path is None:
        print("no picture was taken: chromium is not installed", file=sys.stderr)
        return 1
    with Browser(path) as browser:
        write(browser, options.names or outdated())
    return 0


if __name__ == "__main__":
    sys.exit(main())
