# SPDX-FileCopyrightText: 2026 The zpower.sap_tuning authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The evidence in each of its formats: complete, escaped and valid."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from typing import Any

import evidence_samples as samples
import pytest
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import files
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence import page as evidence_page
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._evidence.shapes import OUTCOMES
from ansible_collections.zpower.sap_tuning.plugins.plugin_utils._records.checks import VERDICTS
from evidence_samples import build, result, row, run
from pages import Page
from report_samples import HOSTILE

Made = dict[str, Any]
SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\} (-?[0-9.e+]+)')


def render(made: Made, form: str) -> str:
    return "".join(files.FORMATS[form](made))


@pytest.fixture(name="made", params=samples.SAMPLES)
def fixture_made(request: pytest.FixtureRequest) -> Made:
    return samples.SAMPLES[request.param]()


@pytest.fixture(name="page")
def fixture_page(made: Made) -> Page:
    return Page(render(made, "html"))


def test_json_is_the_whole_document(made: Made) -> None:
    assert json.loads(render(made, "json")) == made


class TestPage:
    def test_every_filter_has_a_label_and_a_rule(self, page: Page) -> None:
        style = page.source.partition("</style>")[0]
        fields = page.all("input")
        inside = [parent for tag, parent in page.parents if tag == "input"]
        assert set(inside) <= {"label"}
        assert [parent for tag, parent in page.parents if tag == "legend"] == ["fieldset"] * len(page.all("fieldset"))
        assert sum("checked" in a for a in fields if a["type"] == "radio") <= 1
        assert all("checked" in a for a in fields if a["type"] == "checkbox")
        for ident in {a["id"] for a in fields} - {"show-all"}:
            state = ":not(:checked)" if ident.startswith("tuning-") else ":checked"
            assert f".filters:has(#{ident}{state})" in style

    def test_every_verdict_and_outcome_that_occurs_can_be_filtered(self, made: Made, page: Page) -> None:
        """By the field itself: a browser asks ``:has()`` of what holds the table again for each of its rows."""
        style = page.source.partition("</style>")[0]
        assert set(re.findall(r"([^\s,}]*):has\(#", style)) <= {".filters"}
        occurring = {host["outcome"] for host in made["hosts"]} - {"ok"}
        occurring |= {one["verdict"] for host in made["hosts"] for one in host["rows"]}
        for name in occurring:
            assert f".filters:has(#show-{name}:checked) ~ .scroll .matrix tbody tr:not(.m-{name})" in style, name
        assert {*VERDICTS, *OUTCOMES} == set(evidence_page.STYLES)

    def test_a_filter_shows_as_many_hosts_as_it_says(self) -> None:
        page = Page(render(samples.site(), "html"))
        classes = [set(a["class"].split()) for a in page.all("tr") if a.get("class", "").startswith("m-")]
        assert len(classes) == 12
        told = re.findall(r'id="show-(\w+)"[^>]*> [^<]*<b>(\d+)</b>', page.source)
        assert len(told) == 11
        for name, count in told:
            assert int(count) == (12 if name == "all" else sum(f"m-{name}" in found for found in classes)), name

    def test_equal_rows_of_many_hosts_are_shown_once_and_what_is_left_out_is_counted(self) -> None:
        results = {f"app{n}": result("ok", "", [row(verdict="drifted")]) for n in range(30)}
        source = render(build(run(), results, results), "html")
        assert source.count("hsi0 rx-0: off (mask 0), wanted CPUs 0-15 (mask ffff)") == 1
        assert "app0, app1, app2, app3, app4, app5 and 24 more" in source and "30 hosts by name" in source
        reasons = [row(subject=f"hsi{n}", verdict="drifted") for n in range(250)]
        source = render(build(run(), ["app1"], {"app1": result("ok", "", reasons)}), "html")
        assert "50 more rows in verify.json and verify.csv." in source

    def test_why_a_tuning_does_not_apply_is_shown_once(self) -> None:
        source = render(samples.site(), "html")
        table = source.partition('id="cap-idle"')[2].partition("</table>")[0]
        assert source.count("no RoCE device") == table.count("no RoCE device") == 1
        asked = "the kernel was built without SMC"
        assert source.count(asked) == 1 and asked not in table, "it stands with what is not as requested"
        assert "app1, app2, app3, app4, app5, app7 and 2 more" in table
        assert "cap-idle" not in render(samples.applied(), "html")

    def test_the_result_is_a_word(self) -> None:
        words = {"site": "ERROR", "unfinished": "UNFINISHED", "empty": "NOTHING CHECKED", "applied": "AS REQUESTED"}
        for name, word in words.items():
            assert f"</span> {word}</p>" in render(samples.SAMPLES[name](), "html")
        assert "to the one wanted" in render(samples.confirmed(), "html")


class TestCsv:
    def test_fields(self) -> None:
        found = list(csv.DictReader(io.StringIO(render(samples.site(), "csv"))))
        line = next(item for item in found if item["host"] == "app4" and item["subject"] == "eth0")
        assert (line["verdict"], line["waived_by"], line["waived_until"]) == ("waived", "Ada Byron", "2026-12-10")
        assert (line["running"], line["next_boot"]) == ("rx-0 = 0", "rps_cpus = ffff")
        assert next(item for item in found if item["host"] == "app12")["outcome"] == "not_reached"
        line = list(csv.DictReader(io.StringIO(render(samples.confirmed(), "csv"))))[1]
        assert (line["verdict"], line["running"]) == ("drifted", "rx-0 = 0")
        for cells in csv.reader(io.StringIO(render(samples.hostile(), "csv"))):
            assert not any(cell.startswith(("=", "@", "+", "-")) for cell in cells), "a formula"

    def test_a_row_per_value_and_one_per_host_without_any(self, made: Made) -> None:
        found = list(csv.DictReader(io.StringIO(render(made, "csv"))))
        assert len(found) == sum(max(1, len(host["rows"])) for host in made["hosts"])
        assert all(None not in line and None not in line.values() for line in found)


class TestMarkdown:
    def test_a_ticket_is_short(self) -> None:
        assert len(render(samples.fleet(600), "md").splitlines()) < 200

    @pytest.mark.parametrize("differ", [False, True])
    def test_a_ticket_names_every_host(self, differ: bool) -> None:
        reasons = {f"app{number}": f"hsi0: {number * differ}, wanted 3" for number in range(1, 301)}
        rows = {name: [row(verdict="drifted", reason=reason)] for name, reason in reasons.items()}
        results = {name: result("ok", "", found) for name, found in rows.items()}
        results |= {f"lost{number}": result("unreachable", "x") for number in range(1, 301)}
        text = render(build(run(), results, results), "md")
        names = {name for name in re.findall(r"\w+", text) if name in results}
        assert names == set(results)
        assert ("250 more rows in verify.json and verify.csv, of app51, app52, " in text) is differ

    def test_it_has_failing_lost_and_waived(self) -> None:
        text = render(samples.site(), "md")
        assert text.startswith(
            "# ✖ ERROR: Check of 2026-11-20 10:00:00 UTC, inventory inventories/site\n\n5 of 12 hosts"
        )
        for words in (
            "| rps (hsi0) | app1, app2, app3 | 0 → ffff | rps\\_cpus=ffff | ffff | ▼ drifted |",
            f"| ∅ unreachable | app9, app11 | {samples.LOST} |",
            "| rps (eth0) | app4 | Ada Byron | 2026-12-10 | replaced in January |",
            "- waiver of Grace Hopper for sap\\_profile \\* on app4, which fits every subject: expired",
        ):
            assert words in text


class TestJunit:
    def test_counts_and_unique_names(self, made: Made) -> None:
        root = ET.fromstring(render(made, "xml"))
        suites = root.findall("testsuite")
        assert len(suites) == len(made["hosts"]) + 1
        for key, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert [int(suite.attrib[key]) for suite in suites] == [len(suite.findall(f".//{tag}")) for suite in suites]
            assert int(root.attrib[key]) == len(root.findall(f".//{tag}"))
        for suite in suites:
            names = [(case.attrib["classname"], case.attrib["name"]) for case in suite]
            assert len(names) == len(set(names))
            assert re.fullmatch(r"[0-9T:.-]+", suite.attrib["timestamp"])

    def test_a_run_that_stopped_or_is_without_an_end_or_a_host_is_an_error(self) -> None:
        suite = ET.fromstring(render(samples.stopped(), "xml")).findall("testsuite")[-1]
        assert suite.attrib["errors"] == "1"
        (error,) = suite.findall("testcase[@name='the rollout was completed']/error")
        assert error.attrib["message"] == f"batch 2: {HOSTILE[0]}"
        for made in (samples.unfinished(), samples.empty()):
            (error,) = ET.fromstring(render(made, "xml")).findall("testsuite[@name='run']//error")
            assert error.attrib["message"] == made["headline"]

    def test_drift_fails_errors_are_errors_and_waived_is_skipped(self) -> None:
        root = ET.fromstring(render(samples.site(), "xml"))
        assert (root.attrib["failures"], root.attrib["errors"], root.attrib["skipped"]) == ("5", "4", "10")
        skipped = [item.attrib["message"] for item in root.iter("skipped")]
        assert "waived by Ada Byron until 2026-12-10: replaced in January" in skipped
        types = [item.attrib["type"] for item in root.iter("error")]
        assert types == ["unreachable", "failed", "unreachable", "not_reached"]
        # a value that waits for a restart passes after site
        root = ET.fromstring(render(samples.applied(), "xml"))
        assert root.attrib["failures"] == root.attrib["errors"] == "0"
        assert any("wanted CPUs 0-15" in (item.text or "") for item in root.iter("system-out"))


class TestPrometheus:
    def samples(self, made: Made) -> dict[tuple[str, str], float]:
        """The samples; fails unless the text is what the textfile collector accepts."""
        text = render(made, "prom")
        assert text.endswith("# EOF\n") and "\n\n" not in text
        found: dict[tuple[str, str], float] = {}
        family = ""
        seen = set()
        for line in text.splitlines()[:-1]:
            if line.startswith("# TYPE "):
                family, kind = line.split()[2:]
                assert kind == "gauge" and family not in seen
                seen.add(family)
            elif line.startswith("# HELP "):
                assert line.split()[2] == family and "\\" not in line
            else:
                match = SAMPLE.fullmatch(line)
                assert match and match[1] == family, line
                assert (match[1], match[2]) not in found, "the same labels twice"
                found[match[1], match[2]] = float(match[3])
        return found

    def test_it_is_valid(self, made: Made) -> None:
        found = self.samples(made)
        assert sum(value for (name, _labels), value in found.items() if name == "zpower_run_result") == 1
        assert sum(value for (name, _labels), value in found.items() if name == "zpower_hosts") == len(made["hosts"])

    def test_values(self) -> None:
        found = self.samples(samples.site())
        for name, labels, value in (
            ("run_begun_timestamp_seconds", 'kind="verify"', 1795168800),
            ("run_ended_timestamp_seconds", 'kind="verify"', 1795168933),
            ("run_result", 'kind="verify",result="error"', 1),
            ("hosts", 'kind="verify",outcome="unreachable"', 2),
            ("rows", 'kind="verify",verdict="waived"', 1),
            ("host_checked", 'kind="verify",host="app9"', 0),
            ("host_failing_rows", 'kind="verify",host="app4"', 1),
            ("tuning_failing_hosts", 'kind="verify",tuning="rps"', 3),
            ("waiver_days_left", 'tuning="sap_profile",subject="*",owner="Grace Hopper",hosts="app4"', -19),
        ):
            assert found[f"zpower_{name}", labels] == value, name
        assert ("zpower_host_failing_rows", 'kind="verify",host="app9"') not in found
        assert "zpower_run_ended_timestamp_seconds" not in render(samples.unfinished(), "prom")
        # names that become equal do not spoil the file
        names = ["app1", "app1 ", "app1\x00", "app 1", "app  1"]
        self.samples(build(run(), names, {name: result("ok", "", [row()]) for name in names}))
