# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures of the documentation: pages made from fixed records, and which part of each is shown.

The licence file of a picture contains the digest of its page, so that a test detects a picture of an older page without
a browser, whatever fonts a machine has.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import evidence_samples
import records_factory as factory
import rollout_samples
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._compare.comparing import (
    Options,
    compare_change,
)
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._rollout import keeping
from rendering import render
from report_samples import sample

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "images"
LICENCE = "".join(line.removeprefix("# ") for line in Path(__file__).read_text("utf-8").splitlines(True)[:2])
LARGEST = 150_000
"""Maximum size of a picture in bytes."""


class Picture(NamedTuple):
    """A page, from the selected element on or from its top."""

    page: Callable[[], str]
    height: int
    scheme: str = "light"
    first: str = ""

    def digest(self) -> str:
        """Return the digest of the page without versions and times, which change with each release or run."""
        text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?", "TIME", self.page())
        text = re.sub(r"\b\d+\.\d+\.\d+\b", "VERSION", text)
        shown = f"{self.height} {self.scheme} {self.first}\n{text}"
        return hashlib.sha256(shown.encode()).hexdigest()


def example_site(made: dict[str, Any]) -> dict[str, Any]:
    """Return a sample with the names of inventories/example and a workload of this collection."""
    text = re.sub(r"\bapp(\d+)\b", r"sapapp\1", json.dumps(made))
    text = re.sub(r"\bdb(1?)\b", "sapdb1", text).replace("tcp_rr", "pingpong-1000B").replace("latency_p50", "av2_us")
    renamed: dict[str, Any] = json.loads(text)
    return renamed


def report(records: Iterable[dict[str, Any]], plan: factory.Plan) -> str:
    """Return the report of a change."""
    loaded = factory.load(records, factory.change_tunings(plan))
    options = Options(repeat="ansible-playbook -i inventory zpower.sap_tuning.before_after")
    return render(example_site(compare_change(loaded, (plan.hosts, {}), options)), "html")


FASTER = factory.Plan(sizes=(1, 1000), effect=-0.1, session_noise=0.02, run_noise=0.02)


@functools.cache
def before_after() -> str:
    """Two hosts whose round trips take a tenth less time."""
    return report(factory.make_change(FASTER), FASTER)


@functools.cache
def with_warnings() -> str:
    """The same, with retransmits on one host."""
    records = list(factory.make_change(FASTER))
    for record in records:
        if record["phase"] == "after" and record["host"] == "app1" and not record["workload"]["control"]:
            for run in record["runs"]:
                run["net"]["client"]["retransmits"] = 9
    return report(records, FASTER)


@functools.cache
def experiment() -> str:
    """Four levels of RPS, of which one wins."""
    return render(example_site(sample("experiment")), "html")


@functools.cache
def rollout() -> str:
    """A rollout whose second batch was stopped."""
    return "".join(keeping.FORMATS["html"](example_site(rollout_samples.stopped())))


@functools.cache
def evidence() -> str:
    """A verify of twelve hosts with drift, a waiver and lost hosts."""
    return "".join(
        files.FORMATS["html"](example_site(evidence_samples.site(collection="0.9.0", inventory="inventory")))
    )


PICTURES = {
    "report": Picture(before_after, 955),
    "report-dark": Picture(before_after, 720, "dark"),
    "report-figures": Picture(with_warnings, 700, first="#pairs"),
    "experiment": Picture(experiment, 720, first="#experiment"),
    "rollout": Picture(rollout, 800),
    "evidence": Picture(evidence, 1000),
    "evidence-dark": Picture(evidence, 800, "dark"),
}


def path_of(name: str) -> Path:
    """Return the path of one of PICTURES."""
    return FOLDER / f"{name}.png"


def licence(name: str) -> str:
    """Return the licence file of a picture that shows its page as it is now."""
    return f"{LICENCE}\nPage: {PICTURES[name].digest()}\n"


def outdated() -> list[str]:
    """Return the names of pictures that are missing or show an older page."""
    licences = {name: path_of(name).with_suffix(".png.license") for name in PICTURES}
    return [name for name, path in licences.items() if not path.is_file() or path.read_text("utf-8") != licence(name)]
