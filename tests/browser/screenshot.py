# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures of the documentation, and pictures of any page.

screenshot.py --write [NAME ...]     write docs/images again: the pictures whose page has changed, or those named
screenshot.py report.html shot.png   take one picture of a page, to look at it
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from pathlib import Path

importlib.import_module("conftest")  # makes the checkout importable as a collection

from devtools import Browser, find_browser  # noqa: E402
from pictures import FOLDER, LICENCE, PICTURES, path_of, stamp_of, stamped  # noqa: E402


def write(browser: Browser, names: list[str]) -> None:
    """Take the pictures with these names into docs/images, each with its licence."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        for name in names:
            picture = PICTURES[name]
            page.write_text(picture.page(), encoding="utf-8")
            browser.show(scheme=picture.scheme, media="screen")
            browser.open(page.as_uri())
            png = stamped(browser.picture(picture.height, picture.first), picture.digest())
            path_of(name).write_bytes(png)
            path_of(name).with_suffix(".png.license").write_text(LICENCE, encoding="utf-8")
            print(f"{path_of(name).relative_to(FOLDER.parents[1])}: {len(png) // 1000} kB")


def outdated() -> list[str]:
    """The pictures that are missing, or were made from another page than the code makes now."""
    return [
        name
        for name, picture in PICTURES.items()
        if not path_of(name).is_file() or stamp_of(path_of(name).read_bytes()) != picture.digest()
    ]


def main() -> int:
    """0, or 1 with one sentence if there is no browser or no such page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the pictures of the documentation")
    parser.add_argument("names", nargs="*", help="names of pictures; or an HTML page and the PNG to write")
    parser.add_argument("--scheme", choices=["light", "dark"], default="light")
    parser.add_argument("--media", choices=["screen", "print"], default="screen")
    parser.add_argument("--zoom", type=float, default=1, help="2 is what a reader sees at 200 %%")
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=1060, help="0 is the whole page")
    options = parser.parse_args()
    if options.write and not set(options.names) <= set(PICTURES):
        parser.error(f"the pictures are {', '.join(PICTURES)}")
    if not options.write and len(options.names) != 2:
        parser.error("name a page and a PNG, or use --write")
    path = find_browser()
    if path is None:
        print("no picture was taken: chromium is not installed", file=sys.stderr)
        return 1
    if not options.write and not Path(options.names[0]).is_file():
        print(f"no picture was taken: there is no page {options.names[0]}", file=sys.stderr)
        return 1
    with Browser(path) as browser:
        if options.write:
            write(browser, options.names or outdated())
            return 0
        page, target = map(Path, options.names)
        browser.show(options.width, options.height or 900, options.scheme, options.media, options.zoom)
        browser.open(page.resolve().as_uri())
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(browser.picture(options.height or None))
    return 0


if __name__ == "__main__":
    sys.exit(main())
