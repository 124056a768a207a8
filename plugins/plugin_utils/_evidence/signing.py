# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signatures of evidence, made and checked by ssh-keygen, which never asks for anything here."""

import os
import tempfile
from pathlib import Path
from typing import IO

from .._records.files import open_regular
from .command import call, said

VARIABLE = "zpower_evidence_key"
NAMESPACE = "evidence@zpower.sap_tuning"
RIGHT = "a private key without a passphrase, or the public key of one that ssh-agent has, belongs there"
UNASKED = ("env", "-u", "DISPLAY", "-u", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE=never", "LC_ALL=C")


def sign(path: Path | str, key: str) -> bytes:
    """The signature of a file with a key. ValueError says why there is none."""
    with open(path, "rb") as given:
        wrong, signature = _call(given, "sign", "-f", key)
    if wrong is not None:
        raise ValueError(f"{VARIABLE} is {key}, which does not sign{wrong}; {RIGHT}")
    return signature


def problem(path: Path, signers: str, identity: str) -> str:
    """Why the signature beside a file is not that of this identity; empty if it is."""
    if not os.path.exists(f"{path}.sig"):
        return "it is not signed"
    with open_regular(path) as given:
        wrong, _output = _call(given, "verify", "-f", signers, "-I", identity, "-s", f"{path}.sig")
    return f"the signature is not one of {identity}{wrong}" if wrong is not None else ""


def _call(given: IO[bytes], *arguments: str) -> tuple[str | None, bytes]:
    """What ssh-keygen says of its failure, None if it succeeds, and its output."""
    with tempfile.TemporaryFile() as output:
        code = call([*UNASKED, "ssh-keygen", "-q", "-n", NAMESPACE, "-Y", *arguments], output, given)
        told = said(output) if code != 0 else None
        output.seek(0)
        return told, output.read()
