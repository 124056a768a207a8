# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detached signatures of a release.

signing.py ARCHIVE    signs the MANIFEST.json of the archive, and SHA256SUMS beside it, with the key ZPOWER_SIGNING_KEY
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

NAME = "zpower.sap_tuning"
KEY = "ZPOWER_SIGNING_KEY"


def gpg(*arguments: str | Path, **more: bytes) -> None:
    """Run gpg without prompts. The RuntimeError contains its message if it fails."""
    done = subprocess.run(["gpg", "--batch", "--yes", *arguments], check=False, capture_output=True, **more)  # type: ignore[call-overload]
    if done.returncode:
        raise RuntimeError(f"gpg ended with {done.returncode}: {done.stderr.decode(errors='replace').strip()}")


def manifest(archive: Path) -> bytes:
    """Return MANIFEST.json, which has the checksum of FILES.json, which has those of all other files."""
    with tarfile.open(archive) as content:
        stream = content.extractfile("MANIFEST.json")
        assert stream is not None
        return stream.read()


def sign(data: bytes, target: Path, *options: str | Path) -> None:
    """Return the armoured detached signature of some bytes; the options of gpg choose the key."""
    gpg(*options, "--armor", "--output", target, "--detach-sign", "-", input=data)


def sign_release(archive: Path, key: str) -> None:
    """Write MANIFEST.json.asc and SHA256SUMS.asc beside the archive."""
    sums = archive.with_name("SHA256SUMS")
    sign(manifest(archive), archive.with_name("MANIFEST.json.asc"), "--local-user", key)
    sign(sums.read_bytes(), sums.with_name("SHA256SUMS.asc"), "--local-user", key)


def main() -> None:
    key = os.environ.get(KEY)
    if len(sys.argv) != 2 or not key:
        sys.exit(f"usage: {KEY}=<key of gpg> {sys.argv[0]} ARCHIVE")
    sign_release(Path(sys.argv[1]).resolve(), key)


if __name__ == "__main__":
    main()
