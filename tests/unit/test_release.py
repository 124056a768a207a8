# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""tests/release.py and the workflows: the decisions of `make release-check`, without the tools that it runs."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
import release
import yaml
from packaging.version import Version

TOP = Path(__file__).resolve().parents[2]
CHANGELOG = {
    "releases": {
        "0.9.0": {"fragments": ["1-a.yml"], "modules": [{"name": "rps"}], "plugins": {"lookup": [{"name": "tunings"}]}},
        "0.10.0": {"fragments": ["2-b.yml"], "objects": {"playbook": [{"name": "site"}]}},
    }
}
LISTED = {"module/rps", "lookup/tunings", "playbook/site"}


def built(path: Path, names: list[str], time: int) -> Path:
    """Build an archive as ansible-galaxy does, with these files in this order."""
    listed = json.dumps({"files": [{"name": name, "ftype": "file"} for name in names]}).encode()
    manifest = json.dumps({"file_manifest_file": {"chksum_sha256": hashlib.sha256(listed).hexdigest()}}).encode()
    texts = {name: (TOP / name).read_bytes() if name.startswith("meta/") else name.encode() for name in names}
    content = {"MANIFEST.json": manifest, "FILES.json": listed, **texts}
    with tarfile.open(path, "w:gz") as archive:
        for name, data in content.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.mode = len(data), time, 0o755 if name == "run" else 0o644
            archive.addfile(member, io.BytesIO(data))
    return path


def test_the_same_files_give_the_same_bytes_whatever_their_times_and_their_order(tmp_path: Path) -> None:
    one = built(tmp_path / "one.tar.gz", ["README.md", "run", "a/b"], 1)
    two = built(tmp_path / "two.tar.gz", ["a/b", "README.md", "run"], 99)
    release.repack(one, 1234567890)
    release.repack(two, 1234567890)
    release.check_reproducible(one, two)
    with tarfile.open(one) as archive:
        assert archive.getnames() == ["MANIFEST.json", "FILES.json", "README.md", "a/b", "run"]
        assert {member.mtime for member in archive} == {1234567890}
        assert [member.name for member in archive if member.mode == 0o755] == ["run"]
        read = {name: archive.extractfile(name).read() for name in archive.getnames()}  # type: ignore[union-attr]
    assert read["a/b"] == b"a/b"
    # ansible-galaxy compares these when it installs
    stored = json.loads(read["MANIFEST.json"])["file_manifest_file"]["chksum_sha256"]
    assert stored == hashlib.sha256(read["FILES.json"]).hexdigest()
    with gzip.open(one) as stream:
        stream.read(1)
        assert stream.mtime == 1234567890
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.tar.gz", "two.tar.gz"]


@pytest.mark.parametrize(
    ("version", "fragments", "tags", "new", "words"),
    [
        ("0.10.0", {"1-a.yml", "2-b.yml"}, set(), LISTED, []),
        ("0.10.0", {"2-b.yml"}, {"v0.10.0"}, set(), []),
        ("0.9.0", set(), set(), set(), ["galaxy.yml has version 0.9.0, the newest entry of the changelog is 0.10.0"]),
        ("0.10.0", {"3-c.yml"}, set(), set(), ["not in the changelog yet"]),
        ("0.10.0", set(), {"v0.9.0"}, set(), ["the commit has the tag v0.9.0, not v0.10.0"]),
        ("0.10.0", set(), set(), {*LISTED, "role/site", "playbook/x"}, ["add object.playbook): playbook/x, role/site"]),
    ],
)
def test_version_changelog_and_tag_belong_together(
    version: str, fragments: set[str], tags: set[str], new: set[str], words: list[str]
) -> None:
    found = release.version_problems(version, CHANGELOG, fragments, tags, new)
    assert len(found) == len(words) and all(word in problem for word, problem in zip(words, found, strict=True))


@pytest.mark.parametrize(
    ("version", "section", "needed"),
    [
        ("0.10.0", "breaking_changes", ""),
        ("0.10.1", "breaking_changes", "minor"),
        ("1.0.1", "removed_features", "major"),
        ("1.1.0", "breaking_changes", "major"),
        ("2.0.0", "removed_features", ""),
    ],
)
def test_what_breaks_needs_a_major_version(version: str, section: str, needed: str) -> None:
    changelog = {"releases": {version: {"changes": {section: ["rps - ``rps_every`` is gone."]}}}}
    found = release.version_problems(version, changelog, set(), set(), set())
    assert found == ([f"{version} has {section}, which need a new {needed} version"] if needed else [])


@pytest.mark.parametrize(
    ("tag", "new", "verdict"),
    [("v0.9.0", "0.10.0", "ok"), ("v1.0.0", "1.1.0", "failed"), ("v1.0.0", "2.0.0", "failed"), (None, "0.9.0", "ok")],
)
def test_what_is_gone_since_the_last_release_is_named_or_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tag: str | None, new: str, verdict: str
) -> None:
    monkeypatch.setattr(release, "galaxy", lambda _key: new)
    monkeypatch.setattr(release.surface, "last_release", lambda _top, _version: tag)
    monkeypatch.setattr(release.surface, "at", lambda _top, _tag: {"playbook gone", "playbook site"})
    monkeypatch.setattr(release.surface, "surface", lambda _top: {"playbook site"})
    found, reason = release.outcome(release.check_surface)
    assert found == verdict and ("playbook gone" in reason) == (verdict == "failed")
    assert ("gone since v0.9.0: playbook gone" in capsys.readouterr().out) == (tag == "v0.9.0")


def test_what_the_changelog_must_list() -> None:
    found = release.contents(TOP)
    assert {"module/rps", "callback/tunings", "lookup/tunings", "role/rps", "playbook/site"} <= found
    assert {"module/leftovers", "playbook/leftovers"} <= found and "module/leftovers_info" not in found
    assert not [name for name in found if name.partition("/")[2].startswith(("_", "."))]


def test_without_an_answer_about_vulnerabilities_the_audit_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "audit", lambda _tools, _requirements: ([], ["jinja2: not found on PyPI"]))
    monkeypatch.setenv("CI", "false")
    verdict, reason = release.outcome(lambda: release.check_vulnerabilities(Path("bin")))
    assert verdict == "SKIPPED" and "jinja2==2.10" in reason
    monkeypatch.setenv("CI", "true")
    assert release.outcome(lambda: release.check_vulnerabilities(Path("bin")))[0] == "failed"


def found(rule: str, path: str) -> dict[str, Any]:
    return {"test_id": rule, "filename": path, "line_number": 7, "issue_text": "text"}


def test_a_finding_of_bandit_is_explained_or_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "EXPLAINED", {("B1", ""): "why", ("B2", "plugins/a.py"): "why"})
    results = [found("B1", "plugins/b.py"), found("B2", "plugins/a.py"), found("B2", "plugins/b.py")]
    assert release.unexplained({"errors": [], "results": results}) == ["plugins/b.py:7: B2 text"]
    assert release.unexplained({"errors": [], "results": results[:1]}) == ["B2 is no longer found in plugins/a.py"]
    broken = {"filename": "plugins/c.py", "reason": "syntax error"}
    assert "plugins/c.py: syntax error" in release.unexplained({"errors": [broken], "results": results[:2]})


def test_components_and_checksums_belong_to_the_archive(tmp_path: Path) -> None:
    archive = built(tmp_path / "zpower-sap_tuning-1.tar.gz", [f"meta/{name}" for name in release.NEEDS], 1)
    tool = {"name": "nox", "bom-ref": "nox"}
    bom = release.with_archive({"metadata": {}, "components": [tool], "dependencies": [{"ref": "nox"}]}, archive)
    (digest,) = bom["metadata"]["component"]["hashes"]
    assert digest["content"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    # what it needs is separate from what built it
    assert {part["name"]: part["scope"] for part in bom["components"]} == {
        "ansible-core": "required",
        "openssh-clients": "optional",
        "tzdata": "optional",
    }
    assert [part["components"] for part in bom["formulation"]] == [[tool]]
    references = [part["bom-ref"] for part in bom["components"]]
    assert bom["dependencies"] == [{"ref": release.NAME, "dependsOn": references}, {"ref": "nox"}]
    release.sbom_of(archive).write_text("{}")
    (old := tmp_path / "MANIFEST.json.asc").write_text("of another archive")
    release.write_sums(archive)
    lines = (tmp_path / "SHA256SUMS").read_text().splitlines()
    assert [line.split("  ")[1] for line in lines] == [archive.name, "zpower-sap_tuning-1.cdx.json"]
    assert lines[0].startswith(digest["content"]) and not old.exists()


def test_the_workflows_call_makefile_targets_and_skip_nothing() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*## ", (TOP / "Makefile").read_text(), re.MULTILINE))
    texts = {path.name: path.read_text() for path in (TOP / ".github" / "workflows").glob("*.yml")}
    called = {target for text in texts.values() for target in re.findall(r"^ +(?:run: )?make ([a-z-]+)", text, re.M)}
    assert {"test", "release-check"} <= called <= targets
    workflow = yaml.safe_load(texts["tests.yml"])
    assert workflow["env"] == {"CI": "true"}
    assert all("CI" not in job.get("env", {}) for job in workflow["jobs"].values())


def test_the_workflow_tries_every_core_and_python_of_a_release() -> None:
    text = (TOP / "tests" / "environments.py").read_text()
    cores = text.replace("    OLDEST_CORE: ", f"    {re.findall('OLDEST_CORE = (.*)', text)[0]}: ")
    found = re.findall(r'^    "ansible-core==(\d+\.\d+)\.\d+": \[(.*)\],$', cores, re.MULTILINE)
    tried = {f"{core}-{python}" for core, pythons in found for python in re.findall(r"[\d.]+", pythons)}
    workflow = yaml.safe_load((TOP / ".github" / "workflows" / "tests.yml").read_text())
    assert set(workflow["jobs"]["cores"]["strategy"]["matrix"]["core"]) == tried and len(tried) > 1
    runtime = yaml.safe_load((TOP / "meta" / "runtime.yml").read_text())
    assert runtime["requires_ansible"] == f">={min((core for core, _pythons in found), key=Version)}.0"
