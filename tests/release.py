# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check the archive of a release. `make release-check` calls it, with tools in their own environments.

release.py ARCHIVE TWIN --tools BIN --importer BIN

TWIN is a second archive of the same commit, built from files with other times in another order. All checks run, and
each prints one line at the end. A check that cannot run here is SKIPPED with the reason; with CI=true it fails. Beside
the archive it writes the list of its requirements and of the packages in .venv (CycloneDX), the checksums and, if
ZPOWER_SIGNING_KEY names a key of gpg, the signatures.
"""

import argparse
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import generate
import signing
import surface
import yaml
from packaging.version import Version

HERE = Path(__file__).resolve().parents[1]
BIN = HERE / ".venv" / "bin"
NAME = "zpower.sap_tuning"
# A version with published vulnerabilities: a database without them has not answered.
KNOWN_VULNERABLE = "jinja2==2.10"
# Input of pip-audit: everything that is pinned for the controller, its tests and a release.
PINNED = ["requirements.txt", "requirements-dev.txt", "requirements-release.txt", "constraints.txt"]
# Content that the changelog lists as new, by its terms. Action plugins are documented by their modules.
LISTED = {
    "module": "plugins/modules/[!_]*.py",
    "callback": "plugins/callback/[!_]*.py",
    "lookup": "plugins/lookup/[!_]*.py",
    "role": "roles/*",
    "playbook": "playbooks/*.yml",
}
BREAKS = {"breaking_changes", "removed_features"}
NEEDS = ["runtime.yml", "ee-requirements.txt", "ee-bindep.txt"]
# The call of ansible-lint in Galaxy's importer, from its source; there is no .ansible-lint and no other collection.
LINT = ["--profile", "production", "--exclude", "tests/integration/", "--exclude", "tests/unit/", "--format=pep8"]
LINT += ["--nocolor", "-x", "yaml,var-naming,avoid-dot-notation,import-task-no-when,single-entry-point,use-loop"]
LINT += ["--offline"]
# Exits with the errors of a file according to the schema of CycloneDX.
VALID = """\
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
sys.exit(JsonStrictValidator(SchemaVersion.from_version(sys.argv[2])).validate_str(open(sys.argv[1]).read()))
"""
TIME_LIMIT = 1800
# Findings of bandit that are right, with the reason: by rule, and by file unless the reason holds everywhere.
EXPLAINED = {
    ("B404", ""): "programs are started from lists of arguments; a shell would be found by B602 or B605",
    ("B603", ""): "the same",
    ("B405", "plugins/plugin_utils/_evidence/exports.py"): "writes XML and reads none",
    ("B405", "plugins/module_utils/_machine/cluster.py"): "see B314",
    ("B314", "plugins/module_utils/_machine/cluster.py"): "a document type, and so every entity, is refused",
    ("B403", "plugins/module_utils/_host/identities.py"): "see B301",
    ("B301", "plugins/module_utils/_host/identities.py"): "the deputy reads what root sends; its answers are JSON",
    ("B103", "plugins/module_utils/_measure/locks/enq_programs.py"): "<sid>adm passes through to folders of 0700",
    ("B104", "plugins/module_utils/_measure/server/serving.py"): "all addresses only if the user asks for them",
    ("B106", "plugins/module_utils/_measure/round/entry_point.py"): "check mode starts no server, so there is no token",
    ("B108", "plugins/module_utils/_machine/other_settings.py"): "a part of paths such as /etc/tmpfiles.d",
    ("B108", "plugins/module_utils/_tunings/_system_base/shared_memory.py"): "the mount point, whose size is set",
    ("B108", "plugins/module_utils/_sap/start_times.py"): "only the time of SAP's own file is read",
    ("B108", "plugins/plugin_utils/_evidence/waivers.py"): "the name of a subject",
    ("B311", "plugins/plugin_utils/_statistics/looks.py"): "a drawn order that can be repeated, no secret",
    ("B311", "plugins/plugin_utils/_statistics/planning.py"): "simulation, no secret",
    ("B506", "plugins/plugin_utils/_actions/controller.py"): "the loader is CSafeLoader or SafeLoader",
    ("B704", "plugins/plugin_utils/_pages/pages.py"): "the style sheet of this collection, and text that was escaped",
    ("B704", "plugins/plugin_utils/_pages/svg.py"): "every part is escaped before",
}


class Failed(Exception):
    """A check found a problem, which the text describes."""


class Skipped(Exception):
    """A check cannot run here, for the reason in the text."""


def commit_time() -> int:
    """Return SOURCE_DATE_EPOCH, otherwise the time of the checkout's commit."""
    set_time = os.environ.get("SOURCE_DATE_EPOCH")
    return int(set_time or run(["git", "log", "-1", "--format=%ct"]).stdout)


def repack(path: Path, epoch: int) -> None:
    """Rewrite an archive of `ansible-galaxy collection build`, so that the same files give the same bytes.

    ansible-galaxy stores the time of the build in the gzip header and in two files, the times of all other files, and
    the order in which the file system lists them. That order is also in FILES.json, whose checksum is in MANIFEST.json.
    """
    content: dict[str, tuple[tarfile.TarInfo, bytes]] = {}
    with tarfile.open(path) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isreg() else None
            content[member.name] = (member, stream.read() if stream else b"")
    files = json.loads(content["FILES.json"][1])
    files["files"].sort(key=lambda entry: entry["name"])
    manifest = json.loads(content["MANIFEST.json"][1])
    listed = json.dumps(files, indent=True).encode()
    manifest["file_manifest_file"]["chksum_sha256"] = hashlib.sha256(listed).hexdigest()
    content["FILES.json"] = (content["FILES.json"][0], listed)
    content["MANIFEST.json"] = (content["MANIFEST.json"][0], json.dumps(manifest, indent=True).encode())
    # ansible-galaxy reads these two first
    first = ["MANIFEST.json", "FILES.json"]
    order = first + sorted(content.keys() - set(first))
    new = path.with_name(path.name + ".new")
    with (
        new.open("wb") as out,
        gzip.GzipFile("", "wb", 9, out, mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in order:
            member, data = content[name]
            plain = tarfile.TarInfo(name)
            plain.type, plain.mode, plain.linkname = member.type, member.mode, member.linkname
            plain.mtime, plain.size = epoch, len(data)
            with tempfile.SpooledTemporaryFile(max_size=1 << 24) as stream:
                stream.write(data)
                stream.seek(0)
                archive.addfile(plain, stream)
    new.replace(path)


def run(command: list[str | Path], **more: Any) -> "subprocess.CompletedProcess[str]":
    """Run a program in the checkout; more: arguments of subprocess.run."""
    env = os.environ | more.pop("env", {})
    place = more.pop("cwd", HERE)
    return subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=TIME_LIMIT, cwd=place, env=env, **more
    )


def must(command: list[str | Path], **more: Any) -> str:
    """Return the output of a program. Raise Failed with all of its output if it fails."""
    done = run(command, **more)
    if done.returncode:
        raise Failed(f"{Path(command[0]).name} ended with {done.returncode}:\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout


def version_problems(
    wanted: str, changelog: dict[str, Any], fragments: set[str], tags: set[str], new: set[str]
) -> list[str]:
    """Return the problems of the version in galaxy.yml. changelog: changelog.yaml; tags: those of the commit.

    new: the result of contents().
    """
    releases = changelog["releases"]
    newest = max(releases, key=Version)
    problems = []
    if wanted != newest:
        problems.append(f"galaxy.yml has version {wanted}, the newest entry of the changelog is {newest}")
    number = Version(newest)
    breaks = BREAKS & releases[newest].get("changes", {}).keys()
    if breaks and (number.micro or (number.major and number.minor)):
        needed = "major" if number.major else "minor"
        problems.append(f"{newest} has {' and '.join(sorted(breaks))}, which need a new {needed} version")
    known = {fragment for release in releases.values() for fragment in release.get("fragments", [])}
    if unreleased := sorted(fragments - known):
        problems.append(f"not in the changelog yet (antsibull-changelog release): {', '.join(unreleased)}")
    if missing := sorted(new - announced(changelog)):
        problems.append(f"new in no entry of the changelog (version_added, add object.playbook): {', '.join(missing)}")
    if tags and f"v{wanted}" not in tags:
        problems.append(f"the commit has the tag {', '.join(sorted(tags))}, not v{wanted}")
    return problems


def contents(top: Path) -> set[str]:
    """Return the modules, plugins, roles and playbooks of a tree, such as module/rps; renamed modules by their old
    names.
    """
    new = generate.redirects(top)
    found = {f"{kind}/{path.stem}" for kind, pattern in LISTED.items() for path in top.glob(pattern)}
    return found - {f"module/{name}" for name in new.values()} | {f"module/{old}" for old in new}


def announced(changelog: dict[str, Any]) -> set[str]:
    """Return the content that changelog.yaml lists as new, such as module/rps."""
    found = set()
    for entry in changelog["releases"].values():
        kinds = {"module": entry.get("modules", []), **entry.get("plugins", {}), **entry.get("objects", {})}
        found |= {f"{kind}/{new['name']}" for kind, all_new in kinds.items() for new in all_new}
    return found


def galaxy(key: str) -> str:
    """Return a text in galaxy.yml, such as the version."""
    return str(yaml.safe_load((HERE / "galaxy.yml").read_text())[key])


def archive_name() -> str:
    """Return the name that ansible-galaxy gives to the archive of this version."""
    return f"{NAME.replace('.', '-')}-{galaxy('version')}.tar.gz"


def check_version() -> None:
    changelog = yaml.safe_load((HERE / "changelogs" / "changelog.yaml").read_text())
    fragments = {path.name for path in (HERE / "changelogs" / "fragments").glob("*.yml")}
    tags = set(run(["git", "tag", "--points-at", "HEAD"]).stdout.split())
    if problems := version_problems(galaxy("version"), changelog, fragments, tags, contents(HERE)):
        raise Failed("\n".join(problems))


def check_surface() -> None:
    """Check that everything users rely on since the last release exists, or that this major version announces its
    removal.
    """
    new = galaxy("version")
    tag = surface.last_release(HERE, new)
    if tag is None:
        print(f"release: no tag of a version before {new}, so there is nothing to compare with")
        return
    releases = yaml.safe_load((HERE / "changelogs" / "changelog.yaml").read_text())["releases"]
    changes = [entry.get("changes", {}) for name, entry in releases.items() if Version(name) > Version(tag)]
    texts = [text for entry in changes for section in BREAKS for text in entry.get(section, [])]
    gone = surface.missing(surface.at(HERE, tag), surface.surface(HERE))
    problems = surface.problems(gone, texts, Version(tag), Version(new))
    if problems and Version(tag).major:
        raise Failed("\n".join(problems))
    print("\n".join(f"release: gone since {tag}: {line}" for line in sorted(gone)))


def check_changelog() -> None:
    must([BIN / "antsibull-changelog", "lint"])
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "CHANGELOG.md")
        must([BIN / "antsibull-changelog", "generate", "--output", text, "--output-format", "md"])
        if text.read_bytes() != (HERE / "CHANGELOG.md").read_bytes():
            raise Failed("CHANGELOG.md does not match changelog.yaml (run antsibull-changelog generate)")


def check_committed() -> None:
    if changed := must(["git", "status", "--porcelain"]):
        raise Failed(f"the archive must be that of a commit, but the checkout has changes:\n{changed.rstrip()}")


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_reproducible(archive: Path, twin: Path) -> None:
    if sha256(archive) != sha256(twin):
        raise Failed(f"{archive} and {twin} come from the same commit but have different bytes")


def check_installed(archive: Path) -> None:
    """Compare every file with the checksums of the archive, using ansible-galaxy."""
    with tempfile.TemporaryDirectory() as empty:
        command: list[str | Path] = [BIN / "ansible-galaxy", "collection"]
        here = {"cwd": empty, "env": {"ANSIBLE_COLLECTIONS_PATH": empty}}
        must([*command, "install", "--no-deps", "--offline", "-p", empty, archive], **here)
        must([*command, "verify", "--offline", "-p", empty, NAME], **here)


def check_importer(archive: Path, importer: Path) -> None:
    """Run Galaxy's import; errors and warnings in its log would be shown on the page of the collection.

    ansible-lint and ansible-test have checks of their own: here they have a short time limit.
    """
    with tempfile.TemporaryDirectory() as folder:
        options = ["RUN_ANSIBLE_TEST = False", "RUN_ANSIBLE_LINT = False", "CHECK_REQUIRED_TAGS = True"]
        config = Path(folder, "galaxy-importer.cfg")
        config.write_text("\n".join(["[galaxy-importer]", *options, ""]))
        env = {"GALAXY_IMPORTER_CONFIG": str(config), **of_importer(importer, folder)}
        done = run([importer / "python", "-m", "galaxy_importer.main", archive], cwd=folder, env=env)
    said = done.stdout + done.stderr
    if done.returncode or "Importer processing completed successfully" not in said:
        raise Failed(said.rstrip())
    if lines := [line for line in said.splitlines() if re.match(r"(ERROR|WARNING)\b", line)]:
        raise Failed("\n".join(lines))


def of_importer(importer: Path, folder: str) -> dict[str, str]:
    """Return the environment of a program beside galaxy-importer, which keeps its files in this folder."""
    return {"PATH": f"{importer}{os.pathsep}{os.environ['PATH']}", "ANSIBLE_HOME": folder}


def check_lint(archive: Path, importer: Path) -> None:
    """Run the import's ansible-lint on the extracted archive: each line of its output would be on the page, too."""
    with tempfile.TemporaryDirectory() as folder:
        collection = Path(folder, "ansible_collections", *NAME.split("."))
        with tarfile.open(archive) as content:
            content.extractall(collection, filter="data")
        env = {"ANSIBLE_COLLECTIONS_PATH": folder, **of_importer(importer, folder)}
        if said := must([importer / "ansible-lint", *LINT], cwd=collection, env=env):
            raise Failed(said.rstrip())


def found_by_audit(document: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return vulnerabilities, and packages without an answer, from the JSON of pip-audit."""
    vulnerable, unknown = [], []
    for package in document["dependencies"]:
        if "skip_reason" in package:
            unknown.append(f"{package['name']}: {package['skip_reason']}")
        for vulnerability in package.get("vulns", []):
            fixed = ", ".join(vulnerability["fix_versions"]) or "no version"
            vulnerable.append(f"{package['name']} {package['version']}: {vulnerability['id']}, fixed in {fixed}")
    return vulnerable, unknown


def audit(tools: Path, requirements: str) -> tuple[list[str], list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        (listed := Path(folder, "pinned.txt")).write_text(requirements)
        done = run([tools / "pip-audit", "--disable-pip", "--no-deps", "--format", "json", "-r", listed])
    try:
        return found_by_audit(json.loads(done.stdout))
    except (ValueError, KeyError) as error:
        last = (done.stderr.strip() or "no output").splitlines()[-1]
        raise Skipped(f"pip-audit gave no answer: {last}") from error


def pinned() -> str:
    """Return every pinned requirement of this Python once."""
    lines = [line for name in PINNED for line in (HERE / name).read_text().splitlines()]
    return "\n".join(sorted({line for line in lines if "==" in line and not line.startswith("#")}))


def check_vulnerabilities(tools: Path) -> None:
    proof, _unknown = audit(tools, KNOWN_VULNERABLE)
    if not proof:
        raise Skipped(f"the database of vulnerabilities cannot be reached: it does not report {KNOWN_VULNERABLE}")
    vulnerable, unknown = audit(tools, pinned())
    if vulnerable or unknown:
        raise Failed("\n".join([*vulnerable, *unknown]))


def unexplained(document: dict[str, Any]) -> list[str]:
    """Return findings that are not in EXPLAINED, and entries of EXPLAINED without findings, from the JSON of bandit."""
    problems = [f"{error['filename']}: {error['reason']}" for error in document["errors"]]
    used = set()
    for found in document["results"]:
        rule, path = found["test_id"], found["filename"].removeprefix("./")
        keys = {(rule, ""), (rule, path)} & set(EXPLAINED)
        used |= keys
        if not keys:
            problems.append(f"{path}:{found['line_number']}: {rule} {found['issue_text']}")
    return problems + [f"{rule} is no longer found in {path or 'any file'}" for rule, path in EXPLAINED.keys() - used]


def check_bandit(tools: Path) -> None:
    done = run([tools / "bandit", "--quiet", "--recursive", "--format", "json", "plugins"])
    if not done.stdout.startswith("{"):
        raise Failed(f"bandit ended with {done.returncode}:\n{done.stderr}")
    if problems := unexplained(json.loads(done.stdout)):
        raise Failed("\n".join(problems))


def check_licences(tools: Path) -> None:
    must([tools / "reuse", "lint"])


def needs(archive: Path) -> list[dict[str, Any]]:
    """Return the components that the collection needs, according to the files in its archive."""
    with tarfile.open(archive) as content:
        files = {name: content.extractfile(f"meta/{name}").read().decode() for name in NEEDS}  # type: ignore[union-attr]
    lines = {name: [line for line in text.splitlines() if line and line[0] != "#"] for name, text in files.items()}
    core = yaml.safe_load(files["runtime.yml"])["requires_ansible"]
    python = [("ansible-core", "required", core), *((name, "optional", "") for name in lines["ee-requirements.txt"])]
    found: list[dict[str, Any]] = [
        {"type": "library", "name": name, "scope": scope, "purl": f"pkg:pypi/{name}", "description": f"{name}{range_}"}
        for name, scope, range_ in python
    ]
    system = [(line.split()[0], line) for line in lines["ee-bindep.txt"]]
    found += [{"type": "application", "name": name, "scope": "optional", "description": line} for name, line in system]
    return [{"bom-ref": f"needed:{component['name']}", **component} for component in found]


def with_archive(bom: dict[str, Any], archive: Path) -> dict[str, Any]:
    """Return a list of the archive and its requirements. bom: that of .venv, which becomes the list of build tools."""
    needed = needs(archive)
    digest = sha256(archive)
    bom["formulation"] = [{"bom-ref": "build", "components": bom["components"]}]
    bom["components"] = needed
    bom["dependencies"] = [
        {"ref": NAME, "dependsOn": [component["bom-ref"] for component in needed]},
        *bom.get("dependencies", []),
    ]
    bom["metadata"]["component"] = {
        "type": "library",
        "bom-ref": NAME,
        "name": NAME,
        "version": galaxy("version"),
        "purl": f"pkg:generic/{NAME.replace('.', '/')}@{galaxy('version')}?checksum=sha256:{digest}",
        "licenses": [{"license": {"id": "GPL-3.0-or-later"}}],
        "hashes": [{"alg": "SHA-256", "content": digest}],
    }
    return bom


def write_sbom(archive: Path, tools: Path) -> None:
    """Write the requirements of the collection and, separately, the packages of .venv, which built and tested the
    archive.
    """
    target = sbom_of(archive)
    options = ["--output-reproducible", "--of", "JSON", "-o", target]
    must([tools / "cyclonedx-py", "environment", *options, BIN / "python"])
    bom = json.loads(target.read_text())
    if not bom.get("components"):
        raise Failed(f"{target} lists nothing")
    target.write_text(json.dumps(with_archive(bom, archive), indent=2, sort_keys=True) + "\n")
    must([tools / "python", "-c", VALID, target, bom["specVersion"]])


def sbom_of(archive: Path) -> Path:
    return archive.with_name(archive.name.removesuffix(".tar.gz") + ".cdx.json")


def write_sums(archive: Path) -> None:
    """Write SHA256SUMS for `sha256sum --check`. Remove signatures of other files."""
    for name in ("MANIFEST.json.asc", "SHA256SUMS.asc"):
        archive.with_name(name).unlink(missing_ok=True)
    lines = [f"{sha256(path)}  {path.name}\n" for path in (archive, sbom_of(archive)) if path.exists()]
    (archive.parent / "SHA256SUMS").write_text("".join(lines))


def outcome(check: Callable[[], None]) -> tuple[str, str]:
    """Return ok, failed or SKIPPED, and the reason."""
    try:
        check()
    except Failed as error:
        return "failed", str(error)
    except Skipped as error:
        return ("failed" if os.environ.get("CI") == "true" else "SKIPPED"), str(error)
    except (subprocess.TimeoutExpired, RuntimeError) as error:
        return "failed", str(error)
    return "ok", ""


def main() -> int:
    parser = argparse.ArgumentParser(description="Check an archive and its checkout as a release.")
    parser.add_argument("archive", type=Path)
    parser.add_argument("twin", type=Path, help="a second archive of the same commit")
    parser.add_argument("--tools", type=Path, required=True, help="bin folder of the other tools")
    parser.add_argument("--importer", type=Path, required=True, help="bin folder with galaxy-importer")
    said = parser.parse_args()
    archive = said.archive.resolve()
    checks: list[tuple[str, Callable[[], None]]] = [
        ("version", check_version),
        ("surface", check_surface),
        ("changelog", check_changelog),
        ("committed", check_committed),
        ("reproducible", lambda: check_reproducible(archive, said.twin)),
        ("installed", lambda: check_installed(archive)),
        ("galaxy-importer", lambda: check_importer(archive, said.importer)),
        ("ansible-lint", lambda: check_lint(archive, said.importer)),
        ("licences", lambda: check_licences(said.tools)),
        ("vulnerabilities", lambda: check_vulnerabilities(said.tools)),
        ("bandit", lambda: check_bandit(said.tools)),
        ("SBOM", lambda: write_sbom(archive, said.tools)),
        ("checksums", lambda: write_sums(archive)),
    ]
    if key := os.environ.get(signing.KEY):
        checks.append(("signed", lambda: signing.sign_release(archive, key)))
    ended = {name: outcome(check) for name, check in checks}
    # CI does not have the key: this is the only SKIPPED that passes there
    ended.setdefault("signed", ("SKIPPED", f"{signing.KEY} names no key, so nothing is signed"))
    for name, (verdict, reason) in ended.items():
        print(f"release: {name:16s} {verdict}{': ' if reason else ''}{reason}", flush=True)
    return int(any(verdict == "failed" for verdict, _reason in ended.values()))


if __name__ == "__main__":
    sys.exit(main())
