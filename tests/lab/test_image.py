# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The execution environment, as far as it can be built without a container runtime: its context contains the archive
of the collection, which can be installed from it as in the image, and its requirements are found.

ZPOWER_ARCHIVE: the archive, as the session `installed` builds it.
"""

import os
import shutil
from pathlib import Path

import hosts
import pytest
import yaml

DESCRIPTION = "docs/awx/execution-environment.yml"


def run(program, *arguments, **more):
    done = hosts.run(hosts.BIN / program, *arguments, **more)
    return done.stdout + done.stderr


@pytest.fixture(scope="module", name="archive")
def fixture_archive():
    if "ZPOWER_ARCHIVE" not in os.environ:
        pytest.skip("ZPOWER_ARCHIVE is not set: the session installed sets it")
    return Path(os.environ["ZPOWER_ARCHIVE"])


@pytest.fixture(scope="module", name="context")
def fixture_context(archive, tmp_path_factory):
    """Return the context that ansible-builder makes from the files that the guide names."""
    folder = tmp_path_factory.mktemp("image")
    shutil.copy(archive, folder / "zpower-sap_tuning.tar.gz")
    installed = Path(os.environ["ANSIBLE_COLLECTIONS_PATH"], "ansible_collections", "zpower", "sap_tuning")
    shutil.copy(installed / DESCRIPTION, folder)
    said = run("ansible-builder", "create", "-c", "context", "--output-filename", "Containerfile", cwd=folder)
    assert "No matches" not in said
    return folder / "context"


def test_the_context_contains_the_archive(archive, context):
    copy = context / "_build" / "archives" / "zpower-sap_tuning.tar.gz"
    assert copy.read_bytes() == archive.read_bytes()
    steps = (context / "Containerfile").read_text()
    assert "COPY _build /build" in steps and "ansible-core==" in steps


def test_the_collection_and_its_requirements_are_found_in_it(context, tmp_path):
    """Run the commands of the Containerfile with other folders."""
    options = ["--offline", "-r", "requirements.yml", "--collections-path", str(tmp_path)]
    # otherwise the collection that is already installed would be used
    empty = {"ANSIBLE_COLLECTIONS_PATH": str(tmp_path)}
    run("ansible-galaxy", "collection", "install", *options, cwd=context / "_build", **empty)
    assert (tmp_path / "ansible_collections" / "zpower" / "sap_tuning" / "playbooks" / "verify.yml").exists()
    needs = yaml.safe_load(run("ansible-builder", "introspect", str(tmp_path)))
    found = {kind: [line.partition("#")[0].strip() for line in lines] for kind, lines in needs.items()}
    assert found == {"python": ["tzdata"], "system": ["openssh-clients [platform:rpm]"]}
