# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detached signatures of a release, and the proof that ansible-galaxy notices what is wrong with one.

signing.py ARCHIVE    signs the MANIFEST.json of the archive, and SHA256SUMS beside it, with the key ZPOWER_SIGNING_KEY
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

NAME = "zpower.sap_tuning"
KEY = "ZPOWER_SIGNING_KEY"


def gpg(*arguments: str | Path, **more: bytes) -> None:
    """Run gpg without questions. RuntimeError has what it says if it fails."""
    done = subprocess.run(["gpg", "--batch", "--yes", *arguments], check=False, capture_output=True, **more)  # type: ignore[call-overload]
    if done.returncode:
        raise RuntimeError(f"gpg ended with {done.returncode}: {done.stderr.decode(errors='replace').strip()}")


def manifest(archive: Path) -> bytes:
    """MANIFEST.json, which has the checksum of FILES.json, which has those of all other files."""
    with tarfile.open(archive) as content:
        stream = content.extractfile("MANIFEST.json")
        assert stream is not None
        return stream.read()


def sign(data: bytes, target: Path, *options: str | Path) -> None:
    """Write the armoured detached signature of some bytes. options of gpg choose the key."""
    gpg(*options, "--armor", "--output", target, "--detach-sign", "-", input=data)


def sign_release(archive: Path, key: str) -> None:
    """Write MANIFEST.json.asc and SHA256SUMS.asc beside the archive."""
    sums = archive.with_name("SHA256SUMS")
    sign(manifest(archive), archive.with_name("MANIFEST.json.asc"), "--local-user", key)
    sign(sums.read_bytes(), sums.with_name("SHA256SUMS.asc"), "--local-user", key)


def verification(collections: str, signature: str, keyring: str) -> list[str]:
    """The arguments of ansible-galaxy that compare an installed collection with a signature, as in SECURITY.md."""
    asked = ["--signature", signature, "--keyring", keyring, "--required-valid-signature-count", "+all"]
    return ["collection", "verify", NAME, "--offline", "-p", collections, *asked]


def problems(archive: Path, programs: Path) -> list[str]:
    """What ansible-galaxy in the folder `programs` does otherwise than SECURITY.md says, tried with throw-away keys."""
    # not below a long TMPDIR: the socket of gpg's agent has to be in a path of 107 bytes
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        homes = [Path(folder, name) for name in ("signer", "reader")]
        for home in homes:
            home.mkdir(0o700)
        try:
            return [
                f"{case}: exit code {done.returncode}, not {wanted}, or not in its output: {words!r}\n{done.stdout}"
                for case, done, wanted, words in _cases(archive, programs, Path(folder), *homes)
                if done.returncode != wanted or words not in done.stdout
            ]
        finally:
            for home in homes:
                subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"], check=False)


def _cases(
    archive: Path, programs: Path, folder: Path, signer: Path, reader: Path
) -> Iterator[tuple[str, subprocess.CompletedProcess[str], int, str]]:
    """(what is tried, what ansible-galaxy did, the right exit code, words of the right output)."""
    env = os.environ | {"GNUPGHOME": str(reader), "ANSIBLE_HOME": str(folder / "home"), "ANSIBLE_NOCOLOR": "1"}
    env["COLUMNS"] = "1000"
    for name in ("ANSIBLE_GALAXY_GPG_KEYRING", "ANSIBLE_COLLECTIONS_PATH"):
        # with a checkout in the path of collections, ansible-galaxy says that there is nothing to install
        env.pop(name, None)

    def galaxy(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [programs / "ansible-galaxy", *arguments]
        merged = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.run(command, check=False, text=True, env=env, cwd=folder, **merged)  # type: ignore[call-overload,no-any-return]

    signatures = {name: folder / f"{name}.asc" for name in ("good", "stranger", "another")}
    keyring, collections = folder / "keyring.kbx", folder / "collections"
    for key in ("known", "stranger"):
        unlocked = ["--homedir", signer, "--pinentry-mode", "loopback", "--passphrase", ""]
        gpg(*unlocked, "--quick-generate-key", key, "ed25519", "sign", "never")
    gpg("--homedir", signer, "--armor", "--output", folder / "public.asc", "--export", "known")
    gpg("--homedir", reader, "--no-default-keyring", "--keyring", keyring, "--import", folder / "public.asc")
    sign(manifest(archive), signatures["good"], "--homedir", signer, "--local-user", "known")
    sign(manifest(archive), signatures["stranger"], "--homedir", signer, "--local-user", "stranger")
    sign(manifest(archive) + b"\n", signatures["another"], "--homedir", signer, "--local-user", "known")

    def verify(signature: str) -> subprocess.CompletedProcess[str]:
        return galaxy(*verification(str(collections), signatures[signature].as_uri(), str(keyring)))

    install: list[str | Path] = ["collection", "install", archive, "-p", collections, "--offline", "--no-deps"]
    yield "install without a keyring", galaxy(*install), 0, "was installed successfully"
    yield "a good signature", verify("good"), 0, "internally consistent with its manifest"
    none = "no successful signatures"
    yield "the signature of another manifest", verify("another"), 1, none
    yield "a key that is not in the keyring", verify("stranger"), 1, none
    plain: list[str | Path] = ["collection", "verify", NAME, "--offline", "-p", collections]
    unsigned = [*plain, "--keyring", keyring]
    yield "no signature", galaxy(*unsigned, "--required-valid-signature-count", "+all"), 1, none
    yield "no signature, without +all", galaxy(*unsigned), 0, "internally consistent with its manifest"
    no_keyring = galaxy(*plain, "--signature", signatures["good"].as_uri())
    yield "a signature without a keyring", no_keyring, 1, "no keyring was configured"
    place = collections / "ansible_collections" / "zpower" / "sap_tuning"
    (added := place / "plugins" / "modules" / "added.py").write_text("")
    modified = "contains modified content in the following files"
    yield "a file that was added", verify("good"), 1, modified
    added.unlink()
    (place / "README.md").write_text("another text\n")
    yield "a file that was changed", verify("good"), 1, modified
    yield "install with a keyring", galaxy(*install, "--force", "--keyring", keyring), 250, "'NoneType' object"


def main() -> None:
    key = os.environ.get(KEY)
    if len(sys.argv) != 2 or not key:
        sys.exit(f"usage: {KEY}=<key of gpg> {sys.argv[0]} ARCHIVE")
    sign_release(Path(sys.argv[1]).resolve(), key)


if __name__ == "__main__":
    main()
